"""glmnet's Fortran (python-glmnet), without standardising."""

from __future__ import annotations

from typing import Any

import numpy as np
from glmnet import ElasticNet


def fit(A: Any, y: np.ndarray, lams: np.ndarray, tol: float, intercept: bool) -> ElasticNet:
    model = ElasticNet(
        lambda_path=lams / len(y),
        standardize=False,
        fit_intercept=intercept,
        n_splits=0,
        tol=tol,
        max_iter=10**9,
    )
    # the kindest way to call it: `fit` would send CSC through CSR and back first
    model._fit(A, y, np.ones(len(y)), None)
    if model.n_lambda_ < len(lams):
        raise RuntimeError(f"stopped after {model.n_lambda_} of {len(lams)} lam")
    return model


def solve(A: Any, y: np.ndarray, lam: float, tol: float, n_threads: int, intercept: bool) -> Any:
    model = fit(A, y, np.array([lam]), tol, intercept)
    return model.coef_path_[:, 0], model.intercept_path_[0]


def path(A: Any, y: np.ndarray, lams: np.ndarray, tol: float, n_threads: int) -> Any:
    return fit(A, y, lams, tol, False).coef_path_
