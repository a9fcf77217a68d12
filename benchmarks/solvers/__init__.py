"""Shotgun and its peers behind one door; one file each, and what they share.

A solver's file defines
    solve(A, y, lam, tol, n_threads, intercept) -> (x, b)
    path(A, y, lams, tol, n_threads) -> X, d x len(lams)    if it has a path of its own
    prepare(A, n_threads)      what it reads A from, if not columns: made outside the clock
    ALWAYS_INTERCEPT = True    if b cannot be held at 0
`tol` is a relative wish: smaller is better, in the solver's own unit.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import numpy as np
import scipy.sparse as sp
from problems import Problem

OURS = "shotgun"
# name in the tables -> module
SOLVERS = {
    OURS: "ours",
    "scikit-learn": "scikit_learn",
    "celer": "celer_lasso",
    "skglm": "skglm_lasso",
    "glmnet": "glmnet_fortran",
    "xgboost": "xgboost_shotgun",
    "adelie": "adelie_grpnet",
}


def load(name: str) -> ModuleType:
    return importlib.import_module(f"solvers.{SOLVERS[name]}")


def columns(A: Any) -> Any:
    """What most read: float64 CSC with 32-bit indices, or Fortran order."""
    if not sp.issparse(A):
        return np.asfortranarray(A, dtype=np.float64)
    A = A.tocsc()
    indices, indptr = (a.astype(np.int32, copy=False) for a in (A.indices, A.indptr))
    return sp.csc_matrix((A.data, indices, indptr), A.shape)


def prepare(solver: ModuleType, A: Any, n_threads: int) -> Any:
    """A in the solver's own container."""
    return solver.prepare(A, n_threads) if hasattr(solver, "prepare") else columns(A)


def refusal(solver: ModuleType, is_path: bool, intercept: bool) -> str:
    """Why the solver cannot take such a problem, or nothing."""
    if is_path and not hasattr(solver, "path"):
        return "no path"
    if not intercept and hasattr(solver, "ALWAYS_INTERCEPT"):
        return "always fits an intercept"
    return ""


def run(
    solver: ModuleType, container: Any, problem: Problem, tol: float, n_threads: int
) -> tuple[Any, np.ndarray]:
    """X (d x number of lam) and b."""
    if len(problem.lams) > 1:
        X = solver.path(container, problem.y, problem.lams, tol, n_threads)
        return X, np.zeros(len(problem.lams))
    lam = float(problem.lams[0])
    x, b = solver.solve(container, problem.y, lam, tol, n_threads, problem.intercept)
    return np.asarray(x).reshape(-1, 1), np.array([float(b)])
