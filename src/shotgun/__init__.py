"""Shotgun: certified, parallel solver for L1-regularised models."""

import sys as _sys
from types import ModuleType as _Module
from typing import TYPE_CHECKING

from shotgun import _core as _core  # loaded, so that threadpoolctl finds it
from shotgun._threads import register_threadpoolctl as _register

if TYPE_CHECKING:
    from shotgun.displays import ConvergenceDisplay, CVDisplay, PathDisplay
    from shotgun.inference import DebiasedLasso, StabilitySelection
    from shotgun.linear import ElasticNet, Lasso, SparseHuberRegressor, SparsePoissonRegressor
    from shotgun.linear_cv import ElasticNetCV, LassoCV
    from shotgun.logistic import LinearSVC, LogisticRegression
    from shotgun.logistic_cv import LogisticRegressionCV
    from shotgun.model import load
    from shotgun.parallelism import Parallelism, ideal_p, report, spectral_radius
    from shotgun.path import Path, path
    from shotgun.solve import Solution, lambda_max, solve
    from shotgun.tensors import ModelError

_LAZY = {  # where the public names are
    "CVDisplay": "shotgun.displays",
    "ConvergenceDisplay": "shotgun.displays",
    "DebiasedLasso": "shotgun.inference",
    "ElasticNet": "shotgun.linear",
    "ElasticNetCV": "shotgun.linear_cv",
    "Lasso": "shotgun.linear",
    "LassoCV": "shotgun.linear_cv",
    "LinearSVC": "shotgun.logistic",
    "LogisticRegression": "shotgun.logistic",
    "LogisticRegressionCV": "shotgun.logistic_cv",
    "ModelError": "shotgun.tensors",
    "Parallelism": "shotgun.parallelism",
    "Path": "shotgun.path",
    "PathDisplay": "shotgun.displays",
    "Solution": "shotgun.solve",
    "SparseHuberRegressor": "shotgun.linear",
    "SparsePoissonRegressor": "shotgun.linear",
    "StabilitySelection": "shotgun.inference",
    "ideal_p": "shotgun.parallelism",
    "lambda_max": "shotgun.solve",
    "load": "shotgun.model",
    "path": "shotgun.path",
    "report": "shotgun.parallelism",
    "solve": "shotgun.solve",
    "spectral_radius": "shotgun.parallelism",
}

__all__ = [
    "CVDisplay",
    "ConvergenceDisplay",
    "DebiasedLasso",
    "ElasticNet",
    "ElasticNetCV",
    "Lasso",
    "LassoCV",
    "LinearSVC",
    "LogisticRegression",
    "LogisticRegressionCV",
    "ModelError",
    "Parallelism",
    "Path",
    "PathDisplay",
    "Solution",
    "SparseHuberRegressor",
    "SparsePoissonRegressor",
    "StabilitySelection",
    "disk",
    "ideal_p",
    "io",
    "lambda_max",
    "load",
    "path",
    "report",
    "shards",
    "solve",
    "spectral_radius",
    "study",
    "theory",
]

_register()


class _Package(_Module):
    """`shotgun.solve` stays the function when the module of that name is loaded."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _LAZY and isinstance(value, _Module)):
            super().__setattr__(name, value)


_sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> object:
    """Load what is not always needed at first use (SPEC 1)."""
    import importlib

    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("shotgun-l1")
    if name in ("dask", "disk", "io", "page", "shards", "study", "survey", "theory"):
        return importlib.import_module(f"shotgun.{name}")
    if name in _LAZY:
        globals()[name] = getattr(importlib.import_module(_LAZY[name]), name)
        return globals()[name]
    raise AttributeError(f"module 'shotgun' has no attribute {name!r}")
