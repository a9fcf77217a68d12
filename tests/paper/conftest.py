"""Problems for the theorems: small random ones, and the two single-pixel cameras of Fig. 2."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from shotgun import theory

Vector = NDArray[np.float64]


@pytest.fixture(autouse=True, scope="module")
def one_blas_thread() -> Iterator[None]:
    """The matrices are small: threads of a BLAS would only wait for each other."""
    with threadpool_limits(1, user_api="blas"):
        yield


def _random_problem(
    seed: int, n: int, d: int, loss: str, *, lam_ratio: float = 0.1, correlation: float = 0.0
) -> theory.Problem:
    rng = np.random.default_rng(seed)
    shared = rng.standard_normal((n, 1))
    A = theory.unit_columns(rng.standard_normal((n, d)) + correlation * shared)
    x = np.where(rng.random(d) < 0.3, rng.standard_normal(d), 0.0)
    y = A @ x + 0.1 * rng.standard_normal(n)
    if loss == "logistic":
        y = np.where(y > 0, 1.0, -1.0)
    lam_max = np.abs(A.T @ theory.LOSSES[loss].derivative(np.zeros(n), y)).max()
    return theory.Problem(A, y, lam_ratio * lam_max, loss)


@pytest.fixture(scope="session")
def random_problem() -> Callable[..., theory.Problem]:
    """Maker of a random problem: (seed, n, d, loss, lam_ratio=, correlation=)."""
    return _random_problem


def _optimum(problem: theory.Problem) -> tuple[Vector, float]:
    """x* and F(x*) of a small problem: (4) is smooth with bounds, which is L-BFGS-B's job."""
    found = minimize(
        problem.duplicated_objective,
        np.zeros(2 * problem.d),
        jac=problem.duplicated_gradient,
        bounds=[(0.0, None)] * (2 * problem.d),
        method="L-BFGS-B",
        options={"maxiter": 20_000, "maxfun": 100_000, "ftol": 1e-16, "gtol": 1e-12},
    )
    x = theory.from_duplicated(found.x)
    return x, problem.objective(x)


@pytest.fixture(scope="session")
def optimum() -> Callable[[theory.Problem], tuple[Vector, float]]:
    """Maker of (x*, F(x*)) by a solver that has nothing to do with coordinate descent."""
    return _optimum


@pytest.fixture(scope="session")
def real_camera() -> Callable[[str, float], theory.Problem]:
    """Loader of one of the paper's own cameras: (name, lam), columns scaled to unit norm."""

    def load(name: str, lam: float) -> theory.Problem:
        folder = os.environ.get("SHOTGUN_DATA")
        if not folder:
            pytest.skip("SHOTGUN_DATA is not set: the paper's own cameras are not at hand")
        with np.load(Path(folder) / f"{name}.npz") as data:
            A, y = data["X"].astype(np.float64), data["y"].astype(np.float64)
        return theory.Problem(theory.unit_columns(A), y, lam)

    return load
