"""scikit-learn's LogisticRegression by its own copy of liblinear, which penalises the bias."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from solvers import rows as prepare
from solvers.scikit_learn import MOST

__all__ = ["logistic", "prepare"]
NO_INTERCEPT = ("logistic",)


def fit(
    solver: str, A: Any, y: np.ndarray, lam: float, tol: float, intercept: bool
) -> tuple[np.ndarray, float]:
    model = LogisticRegression(
        l1_ratio=1.0,
        C=1 / lam,
        solver=solver,
        tol=tol,
        max_iter=MOST,
        fit_intercept=intercept,
        random_state=0,
    )
    model.fit(A, y)
    return model.coef_, np.ravel(model.intercept_)[0]


def logistic(A: Any, y: np.ndarray, lam: float, tol: float, n_threads: int, intercept: bool) -> Any:
    return fit("liblinear", A, y, lam, tol, intercept)
