"""The competitors of the paper's study, each from its published algorithm, one file each.

Each file defines solve(A, y, lam, watch, *, ...) -> x, which minimises the paper's F and shows its
iterates to the watch. Those of `LASSO` have F(x) = 1/2 ||Ax - y||^2 + lam ||x||_1 (Hard_l0: the
first term, over s-sparse x) for A an array, a scipy sparse matrix or a scipy LinearOperator; those
of `LOGISTIC` have logistic losses in its place, y being of two classes, for A an array or a sparse
matrix. Keywords are the published parameters with their published values. ours.py and cdn.py run
this package.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

from shotgun.problem import check_choice
from shotgun.study.watch import Vector

# name in the paper -> file
LASSO = {
    "L1_LS": "l1_ls",
    "FPC_AS": "fpc_as",
    "GPSR_BB": "gpsr_bb",
    "SpaRSA": "sparsa",
    "Hard_l0": "hard_l0",
    "GLMNET": "glmnet",
    "LARS": "lars",
}

# the same for logistic regression -> file, function, what it is told
LOGISTIC: dict[str, tuple[str, str, dict[str, Any]]] = {
    "Shotgun": ("cdn", "as_shipped", {}),
    "Shooting CDN": ("cdn", "solve", {"engine": "shooting_cdn", "P": 1}),
    "Shotgun CDN": ("cdn", "solve", {}),
    "SGD": ("sgd", "solve", {"passes": 10**6}),
    "Parallel SGD": ("parallel_sgd", "solve", {"passes": 10**6}),
    "SMIDAS": ("smidas", "solve", {"passes": 10**6}),
    "SGD + Shotgun": ("hybrid", "solve", {}),
    "SVRG": ("svrg", "solve", {"rounds": 10**6}),
    "L1_logreg": ("l1_logreg", "solve", {"tol": 1e-12}),
}

# what takes away each one's own idea of the end, so that the watch decides; GLMNET cannot be
# watched, and is asked for what reaches a relative suboptimality of 1e-4 nearly everywhere
ENDLESS: dict[str, dict[str, Any]] = {
    "L1_LS": {"reltol": 1e-12, "max_iter": 10**9},
    "FPC_AS": {"gtol": 0.0, "max_iter": 10**9},
    "GPSR_BB": {"tol": 0.0, "max_iter": 10**9},
    "SpaRSA": {"tol": 0.0, "max_iter": 10**9},
    "Hard_l0": {"max_iter": 10**9},
    "GLMNET": {"tol": 1e-9, "max_iter": 10**9},
    "LARS": {},
}


def solver(name: str) -> Callable[..., Vector]:
    """The `solve` of a competitor, imported when asked for."""
    file = LASSO[check_choice("solver", name, tuple(LASSO))]
    solve: Callable[..., Vector] = importlib.import_module(f"{__name__}.{file}").solve
    return solve


def classifier(name: str) -> Callable[..., Vector]:
    """The same for logistic regression."""
    file, function, told = LOGISTIC[check_choice("solver", name, tuple(LOGISTIC))]
    solve = getattr(importlib.import_module(f"{__name__}.{file}"), function)
    return functools.partial(solve, **told)
