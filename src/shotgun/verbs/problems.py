"""What the options say is to be fitted."""

from __future__ import annotations

from typing import Any

import numpy as np

import shotgun
from shotgun.io import Data
from shotgun.kinds import KINDS
from shotgun.options import Given
from shotgun.tensors import Record


def options(given: Given) -> Record:
    """What all estimators are told."""
    return {
        "tol": given.tol,
        "fit_intercept": not given.no_intercept,
        "standardize": given.standardize,
        "deadline": given.deadline,
        "n_jobs": given.threads,
        "random_state": given.seed,
    }


def one_against_rest(given: Given, y: Any) -> list[Any]:
    """The targets: one of numbers or two classes, else one for each class."""
    if not KINDS[given.loss].classify:
        return [y]
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"{given.data}: there is but one class, {classes[0]}")
    return [codes == k for k in range(1 if len(classes) == 2 else 0, len(classes))]


def chosen_lam(given: Given, data: Data, targets: list[Any]) -> float:
    """By --lam or --lam-ratio."""
    lam, ratio = given.lam, given.lam_ratio
    if lam is not None and ratio is not None:
        raise ValueError("give --lam or --lam-ratio, not both")
    if lam is None:
        lam = (0.1 if ratio is None else ratio) * largest_lam(given, data, targets)
    if lam == 0 and KINDS[given.loss].classify:
        raise ValueError("--lam must be positive for a loss of classes")
    return float(lam)


def largest_lam(given: Given, data: Data, targets: list[Any]) -> float:
    """The least lam without a weight."""
    problem = {
        "loss": str(given.loss),
        "weights": data.weights,
        "offset": data.offset,
        "fit_intercept": not given.no_intercept,
        "standardize": getattr(given, "standardize", False),
        "n_threads": given.threads,
    }
    return max(shotgun.lambda_max(data.A, target, **problem) for target in targets)


def grid(given: Given, largest: float) -> Any:
    """The lams of a path."""
    if not 0 < given.eps < 1:
        raise ValueError(f"--eps must lie strictly between 0 and 1, not {given.eps}")
    if largest == 0:
        raise ValueError(f"{given.data}: no feature has to do with the target")
    return np.geomspace(largest, given.eps * largest, given.n_lams)
