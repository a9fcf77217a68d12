"""liblinear's parallel edition; a module of the same name, so an environment of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
from liblinear.liblinear import parameter

from solvers import liblinear_official
from solvers.liblinear_official import prepare

__all__ = ["logistic", "prepare"]

if "nr_thread" not in parameter._names:
    raise ImportError("this liblinear is not the multicore one")


def logistic(A: Any, y: np.ndarray, lam: float, tol: float, n_threads: int, intercept: bool) -> Any:
    more = f"-m {n_threads}"
    return liblinear_official.logistic(A, y, lam, tol, n_threads, intercept, more)
