"""Five problems of sparse logistic regression whose optimum is known."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

import shotgun
from shotgun.study.watch import Watch


@dataclass(frozen=True)
class Classes:
    """A problem, and the least F there is."""

    A: Any
    y: NDArray[np.float64]
    lam: float
    best: float

    def objective(self, x: Any) -> float:
        """F as the paper has it."""
        losses = np.logaddexp(0, -self.y * (self.A @ x)).sum()
        return float(losses + self.lam * np.abs(x).sum())

    def excess(self, x: Any) -> float:
        """How far x is from the optimum, as a part of it."""
        return self.objective(x) / self.best - 1

    def watch(self, **limits: float) -> Watch:
        return Watch(self.objective, **limits)


def classes(A: Any, y: Any, part: float = 1 / 20) -> Classes:
    lam = part * shotgun.lambda_max(A, y, "logistic")
    return Classes(A, y, lam, shotgun.solve(A, y, lam, "logistic", tol=1e-10).objective)


def made(n: int, d: int, seed: int, density: float = 1.0, rank: int = 0) -> tuple[Any, Any]:
    """Columns of unequal norms (correlated if rank > 0) and noisy classes from a few of them."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, d)) * rng.uniform(0.5, 2.0, d)
    A += rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d))
    A *= rng.random((n, d)) < density
    truth = np.where(rng.random(d) < 0.3, rng.standard_normal(d), 0.0)
    return A, np.where(A @ truth + rng.logistic(size=n) > 0, 1.0, -1.0)


@cache
def problem(name: str) -> Classes:
    if name == "tall":
        return classes(*made(600, 20, 1))
    if name == "single precision":
        A, y = made(300, 30, 2)
        return classes(A.astype(np.float32), y)
    if name == "correlated":
        A, y = made(250, 25, 3, rank=2)
        return classes(np.asfortranarray(A), y)
    if name == "sparse":
        A, y = made(400, 100, 4, density=0.1)
        return classes(sp.csr_matrix(A), y)
    A, y = made(100, 250, 5, density=0.2)
    return classes(sp.csc_array(A), y, 1 / 5)


NAMES = ("tall", "single precision", "correlated", "sparse", "wide")
on_all = pytest.mark.parametrize("name", NAMES)
