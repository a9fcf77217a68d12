"""scikit-learn's LogisticRegression by SAGA: rows at random, with variance reduction."""

from __future__ import annotations

from typing import Any

import numpy as np

from solvers.scikit_learn_liblinear import fit, prepare

__all__ = ["logistic", "prepare"]


def logistic(A: Any, y: np.ndarray, lam: float, tol: float, n_threads: int, intercept: bool) -> Any:
    return fit("saga", A, y, lam, tol, intercept)
