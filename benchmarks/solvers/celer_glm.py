"""celer: working sets with dual extrapolation; prox-Newton on them for logistic regression."""

from __future__ import annotations

from typing import Any

import numpy as np
from celer import Lasso, celer_path

NO_INTERCEPT = ("logistic",)
MOST = 1000  # working sets: the tolerance stops it, or the clock


def solve(A: Any, y: np.ndarray, lam: float, tol: float, n_threads: int, intercept: bool) -> Any:
    model = Lasso(alpha=lam / len(y), fit_intercept=intercept, tol=tol, max_iter=MOST)
    model.fit(A, y)
    return model.coef_, model.intercept_


def path(A: Any, y: np.ndarray, lams: np.ndarray, tol: float, n_threads: int) -> Any:
    return celer_path(A, y, "lasso", alphas=lams / len(y), tol=tol, max_iter=MOST, prune=True)[1]


def logistic(A: Any, y: np.ndarray, lam: float, tol: float, n_threads: int, intercept: bool) -> Any:
    """The kindest way to call it: `LogisticRegression.fit` would go by rows and back first."""
    return logistic_path(A, y, np.array([lam]), tol, n_threads), 0.0


def logistic_path(A: Any, y: np.ndarray, lams: np.ndarray, tol: float, n_threads: int) -> Any:
    return celer_path(A, y, "logreg", alphas=lams, tol=tol, max_iter=MOST, use_PN=True)[1]
