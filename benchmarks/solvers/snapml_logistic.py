"""snapml (IBM): parallel coordinate descent on float32; with this penalty its intercept is 0."""

from __future__ import annotations

from typing import Any

import numpy as np
from snapml import LogisticRegression

from solvers import columns

NO_INTERCEPT = ("logistic",)
MOST = 10**7  # epochs: the tolerance stops it, or the clock


def prepare(A: Any) -> Any:
    return columns(A, np.float32)


def logistic(A: Any, y: np.ndarray, lam: float, tol: float, n_threads: int, intercept: bool) -> Any:
    model = LogisticRegression(
        regularizer=lam, dual=False, penalty="l1", n_jobs=n_threads, tol=tol, max_iter=MOST
    )
    model.fit(A, y)
    return model.coef_, 0.0
