"""skglm: working sets with Anderson acceleration or prox-Newton, compiled in every process."""

from __future__ import annotations

from typing import Any

import numpy as np
from skglm import Lasso, SparseLogisticRegression


def model(kind: Any, y: np.ndarray, lam: float, tol: float, intercept: bool) -> Any:
    """Its tolerance bounds the distance of the gradient from the subdifferential: relative here."""
    alpha = lam / len(y)
    return kind(alpha=alpha, fit_intercept=intercept, tol=tol * alpha, max_iter=1000)


def solve(A: Any, y: np.ndarray, lam: float, tol: float, n_threads: int, intercept: bool) -> Any:
    fit = model(Lasso, y, lam, tol, intercept).fit(A, y)
    return fit.coef_, fit.intercept_ if intercept else 0.0


def path(A: Any, y: np.ndarray, lams: np.ndarray, tol: float, n_threads: int) -> Any:
    return model(Lasso, y, lams[-1], tol, False).path(A, y, lams / len(y))[1]


def logistic(A: Any, y: np.ndarray, lam: float, tol: float, n_threads: int, intercept: bool) -> Any:
    fit = model(SparseLogisticRegression, y, lam, tol, intercept).fit(A, y)
    return fit.coef_, fit.intercept_
