"""What the processor counts during Shotgun's updates, as far as `perf` may read it (section 4.3).

Two fits are counted, of which one goes on for more epochs: their difference is the updates alone,
without the interpreter and the making of the problem.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import Any, NamedTuple

EVENTS = (
    "cycles",
    "instructions",
    "cache-references",
    "cache-misses",
    "L1-dcache-load-misses",
    "dTLB-load-misses",
    "stalled-cycles-backend",
)
EPOCHS = (1, 201)
PROGRAM = """
import shotgun
from shotgun.study.problems import find
A, y = find({problem!r}).load()
how = dict(engine="asynchronous", P={threads}, n_threads={threads}, working_set=False, tol=0)
print(shotgun.solve(A, y, 0.5, max_epochs={epochs}, **how).n_updates)
"""
REFUSED = ("<not supported>", "<not counted>")


class Counted(NamedTuple):
    """Events of a whole process; `refused` are those that the system has no count of."""

    counts: dict[str, float]
    refused: list[str]


def read(text: str) -> Counted:
    """What `perf stat -x ;` writes: count, unit, event and more in each line."""
    counted = Counted({}, [])
    for line in text.splitlines():
        count, _, event, *_ = [*line.split(";"), "", "", ""]
        name = event.removesuffix(":u")  # of the user's own code, where the kernel's is private
        if name not in EVENTS:
            continue
        if count in REFUSED:
            counted.refused.append(name)
        else:
            counted.counts[name] = float(count)
    return counted


def measure(problem: str, threads: tuple[int, ...], limit: float) -> dict[str, Any]:
    """For each number of threads the events of one update; and why there are none, or fewer."""
    if shutil.which("perf") is None:
        return {"runs": [], "why": "perf is not installed"}
    runs: list[dict[str, Any]] = []
    refused: list[str] = []
    for count in threads:
        few, short, said = _fit(problem, count, EPOCHS[0], limit)
        if not short.counts:
            return {"runs": [], "why": _why(short.refused, said)}
        many, long, _ = _fit(problem, count, EPOCHS[1], limit)
        more = {name: long.counts[name] - counted for name, counted in short.counts.items()}
        each = {name: events / (many - few) for name, events in more.items()}
        runs.append({"threads": count, "per_update": each})
        refused = long.refused
    return {"runs": runs, "why": _why(refused, "") if refused else ""}


def _fit(problem: str, threads: int, epochs: int, limit: float) -> tuple[int, Counted, str]:
    """The updates of a fit, its events, and all that perf had to say."""
    program = PROGRAM.format(problem=problem, threads=threads, epochs=epochs)
    told = ["perf", "stat", "-x", ";", "-e", ",".join(EVENTS), sys.executable, "-c", program]
    done = subprocess.run(told, capture_output=True, text=True, timeout=limit, check=False)
    return int(done.stdout or 0), read(done.stderr), done.stderr.strip()


def _why(refused: list[str], said: str) -> str:
    if refused:
        return f"perf says that this system does not support {', '.join(refused)}"
    return f"perf reads none here: {said.splitlines()[0] if said else 'no output'}"
