"""adelie: grpnet with all its early exits off; needs NumPy 1, so an environment of its own."""

from __future__ import annotations

from typing import Any

import adelie
import numpy as np
import scipy.sparse as sp


def fit(A: Any, glm: Any, lams: np.ndarray, tol: float, n_threads: int, intercept: bool) -> Any:
    view = adelie.matrix.sparse if sp.issparse(A) else adelie.matrix.dense
    state = adelie.grpnet(
        view(A, n_threads=n_threads),
        glm,
        lmda_path=lams / A.shape[0],
        tol=tol,
        irls_tol=tol,
        max_iters=10**9,
        early_exit=False,
        adev_tol=1,
        ddev_tol=0,
        intercept=intercept,
        n_threads=n_threads,
        progress_bar=False,
    )
    if len(state.lmdas) < len(lams):
        raise RuntimeError(f"stopped after {len(state.lmdas)} of {len(lams)} lam")
    return state


def one(A: Any, glm: Any, lam: float, tol: float, n_threads: int, intercept: bool) -> Any:
    state = fit(A, glm, np.array([lam]), tol, n_threads, intercept)
    return state.betas.toarray().ravel(), state.intercepts[0]


def classes(y: np.ndarray) -> Any:
    return adelie.glm.binomial((y > 0).astype(np.float64))


def solve(A: Any, y: np.ndarray, lam: float, tol: float, n_threads: int, intercept: bool) -> Any:
    return one(A, adelie.glm.gaussian(y), lam, tol, n_threads, intercept)


def path(A: Any, y: np.ndarray, lams: np.ndarray, tol: float, n_threads: int) -> Any:
    return fit(A, adelie.glm.gaussian(y), lams, tol, n_threads, False).betas.T


def logistic(A: Any, y: np.ndarray, lam: float, tol: float, n_threads: int, intercept: bool) -> Any:
    return one(A, classes(y), lam, tol, n_threads, intercept)


def logistic_path(A: Any, y: np.ndarray, lams: np.ndarray, tol: float, n_threads: int) -> Any:
    return fit(A, classes(y), lams, tol, n_threads, False).betas.T
