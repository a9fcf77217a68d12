"""Lassos of every character, with their optima."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

import shotgun
from shotgun.study.watch import Vector, Watch


@dataclass(frozen=True)
class Lasso:
    """A problem and what it comes to."""

    A: Any
    y: Vector
    lam: float
    best: float  # F*
    x: Vector  # where

    def F(self, x: Vector) -> float:
        r = self.A @ x - self.y
        return float(0.5 * r @ r + self.lam * np.abs(x).sum())

    def watch(self, suboptimality: float = 1e-4, limit: float = 20.0) -> Watch:
        return Watch(self.F, limit=limit, target=self.best * (1 + suboptimality))

    def solved(self, x: Vector, suboptimality: float = 1e-4) -> bool:
        return self.F(x) <= self.best * (1 + suboptimality)


def gaussian(rng: Any) -> Any:
    return rng.standard_normal((60, 100))


def sparse(rng: Any) -> Any:
    return sp.random_array((120, 200), density=0.05, format="csc", rng=rng)


def correlated(rng: Any) -> Any:
    A = rng.standard_normal((80, 60))
    for j in range(1, 60):
        A[:, j] = 0.95 * A[:, j - 1] + 0.3 * A[:, j]
    return A


def wide(rng: Any) -> Any:
    return sp.csr_matrix(rng.standard_normal((40, 400)) * (rng.random((40, 400)) < 0.5))


def tall(rng: Any) -> Any:
    return np.asfortranarray(rng.standard_normal((400, 30)) * rng.uniform(0.5, 2.0, 30))


def cosines(rng: Any) -> LinearOperator:
    """64 of the 256 rows of a discrete cosine transform."""
    rows = rng.choice(256, 64, replace=False)

    def adjoint(r: Vector) -> Vector:
        z = np.zeros(256)
        z[rows] = r.ravel()
        return scipy.fft.idct(z, norm="ortho")

    def product(v: Vector) -> Vector:
        return scipy.fft.dct(v.ravel(), norm="ortho")[rows]

    return LinearOperator((64, 256), matvec=product, rmatvec=adjoint, dtype=np.float64)


KINDS = {make.__name__: make for make in (gaussian, sparse, correlated, wide, tall, cosines)}


def make_lasso(kind: str, ratio: float = 0.1) -> Lasso:
    """A planted sparse signal with noise; lam = ratio * lam_max."""
    rng = np.random.default_rng(len(kind))
    A = KINDS[kind](rng)
    truth = np.zeros(A.shape[1])
    truth[rng.choice(A.shape[1], 6, replace=False)] = rng.choice([-3.0, 3.0], 6)
    y = A @ truth + 0.1 * rng.standard_normal(A.shape[0])
    matrix = A @ np.eye(A.shape[1]) if isinstance(A, LinearOperator) else A
    lam = ratio * shotgun.lambda_max(matrix, y)
    s = shotgun.solve(matrix, y, lam, tol=1e-12)
    return Lasso(A, y, lam, s.objective, s.x)


@pytest.fixture(scope="session", params=KINDS)
def lasso(request: Any) -> Lasso:
    return make_lasso(request.param)


@pytest.fixture(scope="session")
def lasso_of() -> Callable[..., Lasso]:
    """Maker of one problem: (kind, ratio)."""
    return make_lasso


def iterates(solve: Callable[..., Vector], lasso: Lasso, **keywords: Any) -> list[Vector]:
    """What the solver shows to the watch."""
    shown: list[Vector] = []

    def look(x: Vector) -> dict[str, float]:
        shown.append(x.copy())
        return {}

    watch = lasso.watch(1e-9)
    watch.look = look
    solve(lasso.A, lasso.y, lasso.lam, watch, **keywords)
    return shown


@pytest.fixture(scope="session")
def iterates_of() -> Callable[..., list[Vector]]:
    return iterates
