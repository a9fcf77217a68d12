"""xgboost's gblinear with its updater "shotgun": float32, lock-free, always with an intercept."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import xgboost

ALWAYS_INTERCEPT = True


def prepare(A: Any) -> xgboost.DMatrix:
    return xgboost.DMatrix(A)


def boost(A: xgboost.DMatrix, lam: float, tol: float, n_threads: int, loss: dict[str, Any]) -> Any:
    """It has no tolerance that ends a fit: 1 / tol rounds."""
    settings = {
        "booster": "gblinear",
        "updater": "shotgun",
        "alpha": lam / A.num_row(),
        "lambda": 0.0,
        "eta": 1.0,
        "nthread": n_threads,
        "verbosity": 0,
    }
    booster = xgboost.train(settings | loss, A, num_boost_round=math.ceil(1 / tol))
    model = json.loads(booster.save_raw("json"))["learner"]["gradient_booster"]["model"]
    weights = np.array(model["weights"])
    return weights[:-1], weights[-1]


def solve(
    A: xgboost.DMatrix, y: np.ndarray, lam: float, tol: float, n_threads: int, intercept: bool
) -> Any:
    A.set_label(y)
    loss = {"objective": "reg:squarederror", "base_score": 0.0}
    return boost(A, lam, tol, n_threads, loss)


def logistic(
    A: xgboost.DMatrix, y: np.ndarray, lam: float, tol: float, n_threads: int, intercept: bool
) -> Any:
    A.set_label(y > 0)
    loss = {"objective": "binary:logistic", "base_score": 0.5}
    return boost(A, lam, tol, n_threads, loss)
