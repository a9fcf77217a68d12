"""glmnet's Fortran (python-glmnet), without standardising."""

from __future__ import annotations

from typing import Any

import numpy as np
from glmnet import ElasticNet, LogitNet


def fit(kind: Any, A: Any, y: np.ndarray, lams: np.ndarray, tol: float, intercept: bool) -> Any:
    model = kind(
        lambda_path=lams / len(y),
        standardize=False,
        fit_intercept=intercept,
        n_splits=0,
        tol=tol,
        max_iter=10**9,
    )
    if hasattr(A, "sorted_indices"):  # it takes rows that do not ascend, and answers wrongly
        A = A.sorted_indices() if not A.has_sorted_indices else A
    # the kindest way to call it: `fit` would send CSC through CSR and back first, and weights
    # would make LogitNet copy A once more
    model._fit(A, y, np.ones(len(y)) if kind is ElasticNet else None, None)
    if model.n_lambda_ < len(lams):
        raise RuntimeError(f"stopped after {model.n_lambda_} of {len(lams)} lam")
    return model


def solve(A: Any, y: np.ndarray, lam: float, tol: float, n_threads: int, intercept: bool) -> Any:
    model = fit(ElasticNet, A, y, np.array([lam]), tol, intercept)
    return model.coef_path_[:, 0], model.intercept_path_[0]


def path(A: Any, y: np.ndarray, lams: np.ndarray, tol: float, n_threads: int) -> Any:
    return fit(ElasticNet, A, y, lams, tol, False).coef_path_


def logistic(A: Any, y: np.ndarray, lam: float, tol: float, n_threads: int, intercept: bool) -> Any:
    model = fit(LogitNet, A, y, np.array([lam]), tol, intercept)
    return model.coef_path_[0, :, 0], model.intercept_path_[0, 0]


def logistic_path(A: Any, y: np.ndarray, lams: np.ndarray, tol: float, n_threads: int) -> Any:
    return fit(LogitNet, A, y, lams, tol, False).coef_path_[0]
