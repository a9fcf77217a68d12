"""Shotgun: certified, parallel solver for L1-regularised models."""

from typing import TYPE_CHECKING

from shotgun._threads import register_threadpoolctl as _register
from shotgun.parallelism import Parallelism, ideal_p, report, spectral_radius
from shotgun.path import Path, path
from shotgun.solve import Solution, lambda_max, solve

if TYPE_CHECKING:
    from shotgun.linear import ElasticNet, Lasso, SparseHuberRegressor, SparsePoissonRegressor
    from shotgun.logistic import LinearSVC, LogisticRegression

_LAZY = {  # what needs scikit-learn, and where it is
    "ElasticNet": "shotgun.linear",
    "Lasso": "shotgun.linear",
    "LinearSVC": "shotgun.logistic",
    "LogisticRegression": "shotgun.logistic",
    "SparseHuberRegressor": "shotgun.linear",
    "SparsePoissonRegressor": "shotgun.linear",
}

__all__ = [
    "ElasticNet",
    "Lasso",
    "LinearSVC",
    "LogisticRegression",
    "Parallelism",
    "Path",
    "Solution",
    "SparseHuberRegressor",
    "SparsePoissonRegressor",
    "ideal_p",
    "io",
    "lambda_max",
    "path",
    "report",
    "solve",
    "spectral_radius",
    "theory",
]

_register()


def __getattr__(name: str) -> object:
    """Load what is not always needed at first use (SPEC 1)."""
    import importlib

    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("shotgun-l1")
    if name in ("io", "theory"):
        return importlib.import_module(f"shotgun.{name}")
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'shotgun' has no attribute {name!r}")
