"""shotgun, as anyone would call it."""

from __future__ import annotations

from typing import Any

import numpy as np

import shotgun


def prepare(A: Any, n_threads: int) -> Any:
    return A


def solve(A: Any, y: np.ndarray, lam: float, tol: float, n_threads: int, intercept: bool) -> Any:
    fit = shotgun.solve(A, y, lam, tol=tol, n_threads=n_threads, fit_intercept=intercept)
    return fit.x, fit.intercept


def path(A: Any, y: np.ndarray, lams: np.ndarray, tol: float, n_threads: int) -> Any:
    return shotgun.path(A, y, lams, tol=tol, n_threads=n_threads).X
