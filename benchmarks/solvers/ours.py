"""shotgun, as anyone would call it."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import shotgun


def prepare(A: Any) -> Any:
    return A


def solve(
    A: Any,
    y: np.ndarray,
    lam: float,
    tol: float,
    n_threads: int,
    intercept: bool,
    loss: str = "squared",
) -> Any:
    fit = shotgun.solve(A, y, lam, loss, tol=tol, n_threads=n_threads, fit_intercept=intercept)
    return fit.x, fit.intercept


def path(
    A: Any, y: np.ndarray, lams: np.ndarray, tol: float, n_threads: int, loss: str = "squared"
) -> Any:
    return shotgun.path(A, y, lams, loss=loss, tol=tol, n_threads=n_threads).X


logistic = partial(solve, loss="logistic")
logistic_path = partial(path, loss="logistic")
