"""Shotgun: certified, parallel solver for L1-regularised models."""

from shotgun._threads import register_threadpoolctl as _register
from shotgun.multiclass import OneVsRest, one_vs_rest
from shotgun.parallelism import Parallelism, ideal_p, report, spectral_radius
from shotgun.path import Path, path
from shotgun.solve import Solution, lambda_max, solve

__all__ = [
    "OneVsRest",
    "Parallelism",
    "Path",
    "Solution",
    "ideal_p",
    "lambda_max",
    "one_vs_rest",
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
    if name == "theory":
        return importlib.import_module("shotgun.theory")
    raise AttributeError(f"module 'shotgun' has no attribute {name!r}")
