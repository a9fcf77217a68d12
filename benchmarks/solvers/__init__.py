"""Shotgun and its peers behind one door; one file each, and what they share.

A solver's file defines, as far as it can,
    solve(A, y, lam, tol, n_threads, intercept) -> (x, b)      the Lasso
    path(A, y, lams, tol, n_threads) -> X, d x len(lams)       the Lasso, by a path of its own
    logistic, logistic_path    as these two, for logistic regression, y being -1 and +1
    prepare(A)                 what it reads A from, if not columns: made outside the clock
    ALWAYS_INTERCEPT = True    if b cannot be held at 0
    NO_INTERCEPT = (loss, )    the losses for which b cannot be free, or only penalised
`tol` is a relative wish: smaller is better, in the solver's own unit.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
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
    "scikit-learn liblinear": "scikit_learn_liblinear",
    "scikit-learn saga": "scikit_learn_saga",
    "celer": "celer_glm",
    "skglm": "skglm_glm",
    "glmnet": "glmnet_fortran",
    "liblinear-official": "liblinear_official",
    "liblinear-multicore": "liblinear_multicore",
    "snapml": "snapml_logistic",
    "xgboost": "xgboost_shotgun",
    "adelie": "adelie_grpnet",
}
# what cannot live beside the others: NumPy 1, and a module of the same name as another's
ELSEWHERE = ("adelie", "liblinear-multicore")

# loss -> the functions for one lam and for a path, and what to say of a solver without them
DOORS = {"squared": ("solve", "path"), "logistic": ("logistic", "logistic_path")}
OTHER_LOSS = {"squared": "no Lasso", "logistic": "no logistic regression"}


def load(name: str) -> ModuleType:
    return importlib.import_module(f"solvers.{SOLVERS[name]}")


def columns(A: Any, dtype: Any = np.float64) -> Any:
    """What most read: float64 CSC with 32-bit indices, or Fortran order."""
    return narrow(A.tocsc(), dtype) if sp.issparse(A) else np.asfortranarray(A, dtype=dtype)


def rows(A: Any) -> Any:
    """float64 CSR with 32-bit indices, or C order."""
    return narrow(A.tocsr(), np.float64) if sp.issparse(A) else np.ascontiguousarray(A, np.float64)


def narrow(A: Any, dtype: Any) -> Any:
    indices, indptr = (a.astype(np.int32, copy=False) for a in (A.indices, A.indptr))
    return type(A)((A.data.astype(dtype, copy=False), indices, indptr), A.shape)


def preparer(solver: ModuleType) -> Callable[[Any], Any]:
    """What brings A into the solver's own container."""
    return getattr(solver, "prepare", columns)


def refusal(solver: ModuleType, problem: Problem) -> str:
    """Why the solver cannot take the problem, or nothing."""
    one, many = DOORS[problem.loss]
    if not hasattr(solver, one):
        return OTHER_LOSS[problem.loss]
    if len(problem.lams) > 1 and not hasattr(solver, many):
        return "no path"
    if problem.intercept and problem.loss in getattr(solver, "NO_INTERCEPT", ()):
        return "no free intercept"
    if not problem.intercept and hasattr(solver, "ALWAYS_INTERCEPT"):
        return "always fits an intercept"
    return ""


def run(
    solver: ModuleType, container: Any, problem: Problem, tol: float, n_threads: int
) -> tuple[Any, np.ndarray]:
    """X (d x number of lam) and b."""
    one, many = DOORS[problem.loss]
    if len(problem.lams) > 1:
        X = getattr(solver, many)(container, problem.y, problem.lams, tol, n_threads)
        return X, np.zeros(len(problem.lams))
    fit, lam = getattr(solver, one), float(problem.lams[0])
    x, b = fit(container, problem.y, lam, tol, n_threads, problem.intercept)
    return np.asarray(x).reshape(-1, 1), np.array([float(b)])
