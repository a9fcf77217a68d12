"""SMIDAS: stochastic mirror descent made sparse.

S. Shalev-Shwartz, A. Tewari: Stochastic methods for l1 regularized loss minimization, ICML 2009.
The link is that of the p-norm, p = 2 ln d; every step moves all weights.
"""

from __future__ import annotations

from typing import Any

import shotgun._core as _core
from shotgun.study.solvers import sgd
from shotgun.study.watch import Vector, Watch


def runs(A: Any, y: Any, lam: float, **how: Any) -> sgd.Start:
    """Parameters as in :func:`shotgun.study.solvers.sgd.runs`."""
    return sgd.runs(A, y, lam, method=_core.Smidas, **how)


def solve(A: Any, y: Any, lam: float, watch: Watch, **how: Any) -> Vector:
    """Logistic regression; parameters as in :func:`shotgun.study.solvers.sgd.solve`."""
    return sgd.solve(A, y, lam, watch, method=_core.Smidas, **how)
