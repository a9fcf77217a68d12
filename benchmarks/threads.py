"""What a second thread brings: wall time of fits to 1e-6 on 1 and 2 threads, phase by phase.

    python benchmarks/threads.py [--repeat 7] [--rows D/100,T/100,S/500,XL/20]
        [--beside 2] [--heedless]

Interleaved, least of the repeats, for the whole fit and for each phase by itself; `--beside N` has
N other programs want the processor all the time, and `--heedless` does not let a fit that waits for
them go on alone (docs/decisions/crowd.md).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from problems import table

import shotgun
from shotgun import _core

PHASES = ("scan", "certify", "screen", "select", "pack", "shoot")


def spent(fit: shotgun.Solution) -> dict[str, float]:
    """Seconds of the fit, of what comes before its first round, and of each phase."""
    phases = {phase: sum(row[phase] for row in fit.trace) for phase in PHASES}
    start = fit.trace[0]["seconds"] - sum(fit.trace[0][phase] for phase in PHASES)
    return {"fit": fit.seconds, "start": start, **phases}


@contextmanager
def beside(count: int) -> Iterator[None]:
    """So many programs that do nothing, as fast as they can."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for program in busy:
            program.kill()
            program.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--rows", default="D/100,T/100,S/500,XL/20")
    parser.add_argument("--beside", type=int, default=0, help="programs that want the cores too")
    parser.add_argument("--heedless", action="store_true", help="never go on alone")
    options = parser.parse_args()
    _core.heed_crowds(not options.heedless)
    with beside(options.beside):
        compare(options.rows.split(","), options.repeat)


def compare(names: list[str], repeat: int) -> None:
    rows = {row.name: row for row in table()}
    for name in names:
        problem = rows[name].build()
        least: dict[int, dict[str, float]] = {}
        for _ in range(repeat):
            for threads in (1, 2):
                fit = shotgun.solve(
                    problem.A,
                    problem.y,
                    float(problem.lams[0]),
                    problem.loss,
                    fit_intercept=problem.intercept,
                    n_threads=threads,
                    trace=True,
                )
                now = spent(fit)
                before = least.setdefault(threads, now)
                least[threads] = {part: min(now[part], before[part]) for part in now}
        parts = (
            f"{part} {1e3 * one:.1f} -> {1e3 * two:.1f} ({one / max(two, 1e-9):.2f} x)"
            for part, one, two in zip(least[1], least[1].values(), least[2].values(), strict=True)
        )
        print(f"{name:8s} ms: " + ", ".join(parts), flush=True)


if __name__ == "__main__":
    main()
