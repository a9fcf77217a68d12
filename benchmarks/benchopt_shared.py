"""What the benchopt benchmarks share, over the solvers of compare.py."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import problems
import solvers
from benchopt import BaseDataset, BaseObjective, BaseSolver
from benchopt.stopping_criterion import SufficientProgressCriterion
from families import FAMILIES, planted, text_like


class L1Objective(BaseObjective):
    """F of problems.py, summed over the lam of a path."""

    loss = "squared"
    min_benchopt_version = "1.10"
    sampling_strategy = "tolerance"
    # some do not move over four orders of magnitude of their tolerance
    stopping_criterion = SufficientProgressCriterion(patience=8, strategy="tolerance")

    def lams(self, largest: float) -> Any:
        raise NotImplementedError

    def set_data(self, A: Any, y: np.ndarray) -> None:
        largest = problems.lambda_max(A, y, self.fit_intercept, self.loss)
        lams = np.array(self.lams(largest))
        self.problem = problems.Problem(A, y, lams, self.fit_intercept, self.loss)

    def get_objective(self) -> dict[str, Any]:
        return {"problem": self.problem}

    def evaluate_result(self, X: Any, b: np.ndarray) -> dict[str, float]:
        return {"value": float(problems.objectives(self.problem, X, b).sum())}

    def get_one_result(self) -> dict[str, Any]:
        count = len(self.problem.lams)
        return {"X": np.zeros((self.problem.A.shape[1], count)), "b": np.zeros(count)}


class SharedSolver(BaseSolver):
    """`name` picks the file in benchmarks/solvers; the tolerance is benchopt's to tighten."""

    parameters = {"n_threads": [1]}

    def skip(self, problem: problems.Problem) -> tuple[bool, str | None]:
        try:
            module = solvers.load(self.name)
        except ImportError as error:
            return True, str(error)
        why = solvers.refusal(module, problem)
        return bool(why), why or None

    def set_objective(self, problem: problems.Problem) -> None:
        self.problem = problem
        self.module = solvers.load(self.name)
        self.container = solvers.preparer(self.module)(problem.A)

    def warm_up(self) -> None:
        tiny = problems.tiny(self.problem)
        container = solvers.preparer(self.module)(tiny.A)
        solvers.run(self.module, container, tiny, 1e-3, self.n_threads)

    def get_next(self, tolerance: float) -> float:
        return min(tolerance, 1.0) / 10**0.5

    def run(self, tolerance: float) -> None:
        tol = min(tolerance, 1.0)  # benchopt starts at infinity
        self.fit = solvers.run(self.module, self.container, self.problem, tol, self.n_threads)

    def get_result(self) -> dict[str, Any]:
        return dict(zip(("X", "b"), self.fit, strict=True))


class FamilyDataset(BaseDataset):
    """The synthetic families of the tables."""

    def get_data(self) -> dict[str, Any]:
        A, y = FAMILIES[self.family]()
        return {"A": A, "y": y}


class TinyDataset(BaseDataset):
    """For trying things out."""

    targets = staticmethod(planted)

    def get_data(self) -> dict[str, Any]:
        A = text_like(300, 1000, 20, seed=0)
        return {"A": A, "y": self.targets(A, 20, 0.5, seed=1)}


class RealDataset(BaseDataset):
    """Data sets of the folder SHOTGUN_DATA."""

    def skip(self) -> tuple[bool, str | None]:
        missing = not os.environ.get("SHOTGUN_DATA")
        return missing, "SHOTGUN_DATA is not set" if missing else None

    def get_data(self) -> dict[str, Any]:
        A, y = problems.real_data(self.data)
        return {"A": A, "y": y}
