"""Runs solvers for compare.py, in a process (and environment) of its own.

    python benchmarks/worker.py

Reads one JSON request per line: problem (a file), solver, tol, threads, gap (compute it?), warm
(compile and load first?). Answers "started", then the seconds once the fit is done, then what it
reached: so that the caller's limit holds for the fit alone. The last problem is kept, and whoever
compiles does it once for all problems of a kind.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import problems
import solvers
from threadpoolctl import threadpool_limits

# Threads of OpenBLAS and OpenMP spin on for a while after what they last did, in a core that the
# next solver needs: every fit begins on a machine at rest.
REST = 0.2


class Desk:
    """The problem and the containers the solvers read it from."""

    def __init__(self) -> None:
        self.file = ""
        self.warmed: set[tuple[Any, ...]] = set()

    def lay_out(self, file: str) -> None:
        if file == self.file:
            return
        self.file, self.problem = file, problems.load(Path(file))
        self.tiny = problems.tiny(self.problem)
        self.rows_first = getattr(self.problem.A, "format", "") == "csr"
        self.containers: dict[Callable[[Any], Any], Any] = {}

    def warm_up(self, name: str, threads: int) -> None:
        p = self.problem
        kind = (name, type(p.A), p.A.dtype, p.loss, p.intercept, len(p.lams) > 1)
        if kind not in self.warmed:
            solver = solvers.load(name)
            container = solvers.preparer(solver)(self.tiny.A)
            solvers.run(solver, container, self.tiny, 1e-3, threads)
            self.warmed.add(kind)

    def container(self, name: str) -> Any:
        """A as the solver reads it, kept and shared; from rows everyone converts, every time."""
        prepare = solvers.preparer(solvers.load(name))
        if self.rows_first:
            return prepare(self.problem.A)
        if prepare not in self.containers:
            self.containers[prepare] = prepare(self.problem.A)
        return self.containers[prepare]

    def handle(
        self, problem: str, solver: str, tol: float, threads: int, gap: bool, warm: bool
    ) -> Any:
        """The messages of one request."""
        self.lay_out(problem)
        module = solvers.load(solver)
        if why := solvers.refusal(module, self.problem):
            yield {"refused": why}
            return
        if warm:
            self.warm_up(solver, threads)
        if not self.rows_first:
            self.container(solver)
        time.sleep(REST)
        yield {"started": True}
        with threadpool_limits(threads):
            begin = time.perf_counter()
            A = self.container(solver)
            X, b = solvers.run(module, A, self.problem, tol, threads)
            seconds = time.perf_counter() - begin
        yield {"seconds": seconds}
        gaps = problems.gaps(self.problem, X).tolist() if gap else None
        yield {"F": problems.objectives(self.problem, X, b).tolist(), "gaps": gaps}


def answers(desk: Desk, request: str) -> Any:
    try:
        yield from desk.handle(**json.loads(request))
    except ImportError as error:
        yield {"refused": f"not installed: {error}"}
    except Exception as error:
        yield {"error": f"{type(error).__name__}: {error}"}


def main() -> None:
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what solvers print must not mix with the answers
    warnings.simplefilter("ignore")
    desk = Desk()
    for request in sys.stdin:
        for message in answers(desk, request):
            print(json.dumps(message), file=replies, flush=True)


if __name__ == "__main__":
    main()
