"""GLMNET: cyclic coordinate descent along a path of lams, in Fortran (PyPI: python-glmnet).

J. Friedman, T. Hastie and R. Tibshirani, Regularization Paths for Generalized Linear Models via
Coordinate Descent, 2010.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import scipy.sparse as sp

from shotgun.problem import canonical, check_count
from shotgun.study.solvers.lasso import dense, given
from shotgun.study.watch import Vector, Watch


def solve(
    A: Any,
    y: Any,
    lam: float,
    watch: Watch,
    *,
    n_lambda: int = 100,
    tol: float = 1e-7,
    max_iter: int = 100_000,
) -> Vector:
    """The end of a path to lam, shown to the watch when it is there: it cannot be stopped before.

    `n_lambda` is the number of lams per published path, which ends at lam_max / 10000 (n > d) or
    lam_max / 100; ours has their spacing. An operator becomes dense.
    """
    ElasticNet = elastic_net()
    A, At, y = given(A, y, lam)
    lams = path(
        float(np.abs(At @ y).max()), lam, 1e-4 if A.shape[0] > A.shape[1] else 0.01, n_lambda
    )
    model = ElasticNet(
        lambda_path=lams / len(y),
        standardize=False,
        fit_intercept=False,
        n_splits=0,
        tol=tol,
        max_iter=max_iter,
    )
    # `fit` would send CSC through CSR and back first; of columns in any but canonical order the
    # Fortran makes wrong inner products
    X = sp.csc_matrix(canonical(A)) if sp.issparse(A) else dense(A)
    model._fit(X, y, np.ones(len(y)), None)
    x = np.ascontiguousarray(model.coef_path_[:, -1])
    watch(x)
    return x


def elastic_net() -> Any:
    try:
        return importlib.import_module("glmnet").ElasticNet
    except ImportError as error:
        message = "GLMNET needs the package python-glmnet: pip install python-glmnet"
        raise ImportError(message) from error


def path(lam_max: float, lam: float, ratio: float, n_lambda: int) -> Vector:
    """lam_max, ..., lam, as close as n_lambda lams from lam_max to ratio * lam_max are."""
    if lam >= lam_max:
        return np.array([lam])
    steps = np.log(lam / lam_max) / np.log(ratio) * (check_count("n_lambda", n_lambda, least=2) - 1)
    return np.geomspace(lam_max, lam, max(2, int(np.ceil(steps)) + 1))
