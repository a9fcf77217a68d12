"""adelie: grpnet with all its early exits off; needs NumPy 1, so an environment of its own."""

from __future__ import annotations

from typing import Any

import adelie
import numpy as np
import scipy.sparse as sp

from solvers import columns


def prepare(A: Any, n_threads: int) -> Any:
    kind = adelie.matrix.sparse if sp.issparse(A) else adelie.matrix.dense
    return kind(columns(A), n_threads=n_threads)


def fit(A: Any, y: np.ndarray, lams: Any, tol: float, n_threads: int, intercept: bool) -> Any:
    state = adelie.grpnet(
        A,
        adelie.glm.gaussian(y),
        lmda_path=lams / len(y),
        tol=tol,
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


def solve(A: Any, y: np.ndarray, lam: float, tol: float, n_threads: int, intercept: bool) -> Any:
    state = fit(A, y, np.array([lam]), tol, n_threads, intercept)
    return state.betas.toarray().ravel(), state.intercepts[0]


def path(A: Any, y: np.ndarray, lams: np.ndarray, tol: float, n_threads: int) -> Any:
    return fit(A, y, lams, tol, n_threads, False).betas.T
