"""xgboost's gblinear with its updater "shotgun": float32, lock-free, always with an intercept."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import xgboost

ALWAYS_INTERCEPT = True


def prepare(A: Any, n_threads: int) -> xgboost.DMatrix:
    return xgboost.DMatrix(A, nthread=n_threads)


def solve(
    A: xgboost.DMatrix, y: np.ndarray, lam: float, tol: float, n_threads: int, intercept: bool
) -> Any:
    """It has no tolerance that ends a fit: 1 / tol rounds."""
    A.set_label(y)
    settings = {
        "booster": "gblinear",
        "updater": "shotgun",
        "objective": "reg:squarederror",
        "alpha": lam / len(y),
        "lambda": 0.0,
        "base_score": 0.0,
        "eta": 1.0,
        "nthread": n_threads,
        "verbosity": 0,
    }
    booster = xgboost.train(settings, A, num_boost_round=math.ceil(1 / tol))
    model = json.loads(booster.save_raw("json"))["learner"]["gradient_booster"]["model"]
    weights = np.array(model["weights"])
    return weights[:-1], weights[-1]
