"""liblinear, as its authors publish it: newGLMNET on rows of (index, value) nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from liblinear.liblinearutil import problem, train


def prepare(A: Any) -> problem:
    """From CSR even if dense: it builds nodes from arrays in Python, number by number."""
    return problem(np.zeros(A.shape[0]), sp.csr_matrix(A, dtype=np.float64))


def logistic(
    A: problem,
    y: np.ndarray,
    lam: float,
    tol: float,
    n_threads: int,
    intercept: bool,
    more: str = "",
) -> Any:
    """-R leaves the bias free, which liblinear penalises by default."""
    np.ctypeslib.as_array(A.y, (A.l,))[:] = y
    bias = "-B 1 -R" if intercept else ""
    model = train(A, f"-s 6 -c {1 / lam!r} -e {tol!r} -q {bias} {more}")
    # its own getter would go feature by feature, in Python
    w = np.ctypeslib.as_array(model.w, (A.n,)).copy()
    return (w[:-1], w[-1]) if intercept else (w, 0.0)
