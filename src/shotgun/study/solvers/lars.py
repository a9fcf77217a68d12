"""LARS: the Lasso's path, from knot to knot, down to lam; scikit-learn's.

B. Efron, T. Hastie, I. Johnstone and R. Tibshirani, Least Angle Regression, 2004, with the Lasso
modification.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path

from shotgun.study.solvers.lasso import dense, given
from shotgun.study.watch import Vector, Watch


def solve(
    A: Any,
    y: Any,
    lam: float,
    watch: Watch,
    *,
    max_iter: int | None = None,
    jitter: float = 1e-10,
) -> Vector:
    """The path's end, shown to the watch when it is there: it cannot be stopped on the way.

    `max_iter` is the number of knots, by default as many as the path has. A becomes dense. Columns
    that tie are not the one at a time that the algorithm assumes, and lead it astray: noise of up
    to `jitter` max |y| parts them, as scikit-learn recommends (LassoLars has it as well).
    """
    A, _, y = given(A, y, lam)
    y = y + jitter * np.abs(y).max(initial=0.0) * np.random.default_rng(0).random(len(y))
    with warnings.catch_warnings():
        # it warns of columns that it drops as degenerate; the watch sees what that costs
        warnings.simplefilter("ignore", ConvergenceWarning)
        _, _, x = lars_path(
            dense(A),
            y,
            method="lasso",
            alpha_min=lam / len(y),
            max_iter=10**9 if max_iter is None else max_iter,
            return_path=False,
        )
    watch(x)
    return np.asarray(x)
