"""Shotgun against its peers on the fixed table: one command, one run, everyone's best time.

    python benchmarks/compare.py [--rows S/100,path-D] [--threads 1,2] [--repeat 3] [--timeout 120]

Writes compare.md, compare.json and compare.svg into --out. Real data with SHOTGUN_DATA set.

The rules. A run counts at a target if (F - F*) / F* is at most that, F* being the best that anyone
reached; ours must besides have been certified to that, as it stops by its own gap. Tolerances are
swept by factors of sqrt(10), from the loosest until every target is met, and the fastest run that
meets a target counts. The tolerances that met one are repeated, all solvers interleaved, and minima
are taken; where the fastest takes less than 0.1 s, all that take at most ten times as long run four
times as often. A peer that is faster on fewer threads may use fewer. One process per environment;
compiling and loading are done on a tiny problem first, and the cold time is the first call of a
fresh process, imports excepted (--warm leaves it out). What turns A into a solver's own container
is not timed, what its call does is; in rows from CSR all conversion counts. Whoever is stopped at
the limit, or takes PATIENCE times as long as we do, has no time, and nobody wins against that.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import problems
import report
from problems import Goal, Problem, Row
from solvers import ELSEWHERE, OURS, SOLVERS

import shotgun

TOLERANCES = [10 ** (-k / 2) for k in range(2, 33)]
PATIENCE = 40.0
LONG = 10.0  # a run of so many seconds is repeated once only
# Where somebody takes less than SHORT, whoever takes at most ten times as long as the fastest runs
# MORE times as often: noise is of milliseconds.
SHORT, MORE = 0.1, 4


@dataclass
class Run:
    """One fit: `note` says why there is no time."""

    solver: str
    threads: int
    tol: float
    cold: bool = False
    seconds: float | None = None
    F: list[float] = field(default_factory=list)
    gaps: list[float] | None = None
    note: str = ""


class Worker:
    """A process that holds a problem; killed and started anew when a fit exceeds the limit."""

    def __init__(self, python: str) -> None:
        self.command = [python, str(Path(__file__).with_name("worker.py"))]
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            self.command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
        )
        self.answers: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self.listen, args=(self.process.stdout,), daemon=True).start()
        return self.process

    def listen(self, stream: Any) -> None:
        answers = self.answers
        for line in stream:
            answers.put(line)
        answers.put('{"error": "process died"}')

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def ask(self, request: dict[str, Any], timeout: float) -> dict[str, Any]:
        """What came of the fit: seconds, F, gaps; or `note`."""
        process = self.process or self.start()
        assert process.stdin is not None
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        outcome: dict[str, Any] = {}
        for limit in (None, timeout, None):
            try:
                outcome |= json.loads(self.answers.get(timeout=limit))
            except queue.Empty:
                self.stop()
                return {"note": f"> {timeout:.2g} s"}
            if note := outcome.get("refused") or outcome.get("error"):
                if note == "process died":
                    self.stop()
                return {"note": note}
        return {name: outcome[name] for name in ("seconds", "F", "gaps")}


class Race:
    """All solvers on one row."""

    def __init__(
        self, row: Row, options: argparse.Namespace, file: Path, workers: dict[str, Worker]
    ) -> None:
        self.row, self.options, self.file, self.workers = row, options, file, workers
        problem = row.build()
        problems.save(problem, self.file)
        self.shape = (*problem.A.shape, int(getattr(problem.A, "nnz", problem.A.size)))
        self.null = problems.null_objective(problem)
        self.best = reference(problem, max(options.threads), 5 * options.timeout)
        self.runs: list[Run] = []

    def fit(self, solver: str, threads: int, tol: float, worker: Worker, cold: bool = False) -> Run:
        gap = any(goal.measure == "gap" for goal in self.row.goals)
        request = {"solver": solver, "tol": tol, "threads": threads, "gap": gap, "warm": not cold}
        request["problem"] = str(self.file)
        run = Run(solver, threads, tol, cold, **worker.ask(request, self.limit(solver, cold)))
        if run.F and not np.isfinite(run.F).all():
            run.seconds, run.note = None, "diverged"
        if run.seconds is not None:
            self.best = np.minimum(self.best, run.F)
        self.runs.append(run)
        return run

    def limit(self, solver: str, cold: bool) -> float:
        """Seconds that a fit may take; who needs PATIENCE times as long as we is not waited for."""
        ours = [r.seconds for r in self.runs if r.solver == OURS and r.seconds and not r.cold]
        if cold or solver == OURS or not ours:
            return self.options.timeout
        return min(self.options.timeout, max(PATIENCE * max(ours), 1.0))

    def reached(self, run: Run, goal: Goal) -> float:
        """The run's worst value of the goal's measure; of ours, what it certified."""
        if run.seconds is None:
            return math.inf
        if run.solver == OURS:
            return run.tol if goal.measure == "gap" else run.tol * self.null / float(np.min(run.F))
        if goal.measure == "gap":
            return float(np.max(np.array(run.gaps) / run.F))
        return float(np.max((np.array(run.F) - self.best) / self.best))

    def meets(self, run: Run, goal: Goal) -> bool:
        return self.reached(run, goal) <= goal.target(run.solver)

    def sweep(self, solver: str) -> set[float]:
        """The loosest tolerances that meet each goal."""
        worker = self.workers[self.options.pythons[solver]]
        found: dict[Goal, float] = {}
        for tol in TOLERANCES:
            run = self.fit(solver, max(self.options.threads), tol, worker)
            if run.seconds is None:
                break
            for goal in self.row.goals:
                if self.meets(run, goal):
                    found.setdefault(goal, tol)
            if len(found) == len(self.row.goals):
                break
        return set(found.values())

    def repeat(self, found: dict[str, set[float]]) -> None:
        """Interleaved: every solver at every thread count, again and again."""
        for turn in range(MORE * self.options.repeat):
            times = (self.known(solver, tol) for solver in found for tol in found[solver])
            fastest = min(times, default=math.inf)
            again = 10 * fastest if fastest < SHORT else 0.0
            limit = math.inf if turn == 0 else LONG if turn < self.options.repeat else again
            for threads in self.options.threads:
                for solver, tols in found.items():
                    worker = self.workers[self.options.pythons[solver]]
                    for tol in sorted(tols):
                        if self.known(solver, tol) < limit:
                            self.fit(solver, threads, tol, worker)

    def known(self, solver: str, tol: float) -> float:
        times = [r.seconds for r in self.runs if (r.solver, r.tol) == (solver, tol) and r.seconds]
        return min(times, default=math.inf)

    def cold(self, found: dict[str, set[float]]) -> None:
        """At the tightest goal only."""
        for solver, tols in found.items():
            if tols:
                worker = Worker(self.options.pythons[solver])
                self.fit(solver, max(self.options.threads), min(tols), worker, cold=True)
                worker.stop()

    def run(self) -> dict[str, Any]:
        found = {solver: self.sweep(solver) for solver in self.options.pythons}
        self.repeat(found)
        if not self.options.warm:
            self.cold(found)
        return self.summary()

    def summary(self) -> dict[str, Any]:
        return {
            "row": self.row.name,
            "real": self.row.real,
            "loss": self.row.loss,
            "shape": self.shape,
            "F*": self.best.tolist(),
            "results": [self.result(*which) for which in self.contests()],
            "runs": [self.facts(run) for run in self.runs],
        }

    def facts(self, run: Run) -> dict[str, Any]:
        facts = {name: value for name, value in asdict(run).items() if name not in ("F", "gaps")}
        if run.seconds is not None:
            facts |= {goal.measure: self.reached(run, goal) for goal in self.row.goals}
        return facts

    def contests(self) -> Iterator[tuple[Goal, int, bool]]:
        for goal in self.row.goals:
            yield from ((goal, threads, False) for threads in self.options.threads)
        if not self.options.warm:
            yield self.row.goals[-1], max(self.options.threads), True

    def result(self, goal: Goal, threads: int, cold: bool) -> dict[str, Any]:
        """Everyone's time at one goal, and ours over the best peer's."""
        timed = {s: self.timed(s, goal, threads, cold) for s in self.options.pythons}
        peers = {s: t for s, t in timed.items() if s != OURS and t is not None}
        winner = min(peers, key=peers.__getitem__, default=None)
        ours = timed.get(OURS)
        return {
            "goal": goal.name,
            "threads": threads,
            "cold": cold,
            "seconds": timed,
            "notes": {s: self.excuse(s, goal) for s, t in timed.items() if t is None},
            "best_peer": winner,
            "ratio": ours / peers[winner] if ours and winner else None,
        }

    def timed(self, solver: str, goal: Goal, threads: int, cold: bool) -> float | None:
        """Least time that met the goal; a peer that is faster on fewer threads may use fewer."""
        counts = {threads} if solver == OURS else {t for t in self.options.threads if t <= threads}
        here = (
            run.seconds
            for run in self.runs
            if run.solver == solver and run.cold == cold and run.threads in counts
            if run.seconds is not None and self.meets(run, goal)
        )
        return min(here, default=None)

    def excuse(self, solver: str, goal: Goal) -> str:
        mine = [run for run in self.runs if run.solver == solver]
        if notes := [run.note for run in mine if run.note]:
            return notes[-1]
        return f"only {min(self.reached(run, goal) for run in mine):.0e}"


def reference(problem: Problem, threads: int, budget: float) -> np.ndarray:
    """F* as far as our certificate can tell within the budget; runs of others may lower it."""
    F, begin, x = np.empty(len(problem.lams)), time.perf_counter(), None
    for k, lam in enumerate(problem.lams):
        left = max(budget - (time.perf_counter() - begin), 1.0) / (len(F) - k)
        fit = shotgun.solve(
            problem.A,
            problem.y,
            float(lam),
            problem.loss,
            tol=1e-10,
            x0=x,
            n_threads=threads,
            fit_intercept=problem.intercept,
            deadline=left,
        )
        x, F[k] = fit.x, fit.objective
    return F


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", help="of the table, separated by commas; default all")
    parser.add_argument("--threads", default="1,2", help="counts, separated by commas")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds for one fit")
    parser.add_argument("--warm", action="store_true", help="leave the cold times out")
    parser.add_argument("--add", action="store_true", help="to the rows that --out has already")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("results"))
    for solver in ELSEWHERE:
        default = os.environ.get(f"SHOTGUN_{solver.upper().replace('-', '_')}_PYTHON")
        parser.add_argument(f"--{solver}-python", default=default, dest=solver)
    options = parser.parse_args()
    options.threads = sorted(int(t) for t in options.threads.split(","))
    rows = {row.name: row for row in problems.table()}
    wanted = options.rows.split(",") if options.rows else list(rows)
    if unknown := [name for name in wanted if name not in rows]:
        parser.error(f"no row {unknown[0]}; there are {', '.join(rows)}")
    options.table = [rows[name] for name in wanted]
    options.pythons = dict.fromkeys(SOLVERS, sys.executable)
    for solver in ELSEWHERE:
        options.pythons[solver] = getattr(options, solver)
        if options.pythons[solver] is None:
            del options.pythons[solver]
            print(f"{solver} is left out: no --{solver}-python (see benchmarks/README.md)")
    return options


def earlier(options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """The rows that an earlier run left there."""
    file = options.out / "compare.json"
    rows = json.loads(file.read_text())["rows"] if file.exists() else []
    return {row["row"]: row for row in rows}


def main() -> None:
    options = parse()
    if not os.environ.get("SHOTGUN_DATA"):
        print("real data is left out: SHOTGUN_DATA is not set")
    done = earlier(options) if options.add else {}
    workers = {python: Worker(python) for python in set(options.pythons.values())}
    with tempfile.TemporaryDirectory() as folder:
        for number, row in enumerate(options.table):
            file = Path(folder) / f"{number}.npz"
            done[row.name] = Race(row, options, file, workers).run()
            file.unlink()
            report.write([done[r.name] for r in problems.table() if r.name in done], options.out)
            print(report.line(done[row.name]), flush=True)
    for worker in workers.values():
        worker.stop()
    print(f"\nwritten to {options.out}")


if __name__ == "__main__":
    main()
