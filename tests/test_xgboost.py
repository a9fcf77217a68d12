"""Where the other Shotgun in use returns a bad model without a word, ours is certified."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import shotgun

FITS = 20


def xgboost_shotgun(A: Any, y: Any, lam: float) -> tuple[Any, float]:
    """gblinear's weights and intercept after three rounds of its updater "shotgun"."""
    xgboost = pytest.importorskip("xgboost")
    settings = {
        "booster": "gblinear",
        "updater": "shotgun",
        "objective": "reg:squarederror",
        "base_score": 0.0,
        "alpha": lam / len(y),
        "lambda": 0.0,
        "eta": 1.0,
        "nthread": 64,
        "verbosity": 0,
    }
    booster = xgboost.train(settings, xgboost.DMatrix(A, label=y), num_boost_round=3)
    model = json.loads(booster.save_raw("json"))["learner"]["gradient_booster"]["model"]
    weights = np.array(model["weights"])
    return weights[:-1], weights[-1]


def test_correlated_columns_are_certified_where_xgboost_loses_its_way() -> None:
    # Columns that are all but one: updates that do not know of each other overshoot together.
    rng = np.random.default_rng(0)
    A = np.asfortranarray(rng.standard_normal((2000, 1)) + 0.01 * rng.standard_normal((2000, 200)))
    y = A[:, 0] + rng.standard_normal(2000)
    lam = 0.01 * shotgun.lambda_max(A, y, fit_intercept=True)

    def objective(x: Any, intercept: float) -> float:
        return float(0.5 * np.sum((A @ x + intercept - y) ** 2) + lam * np.abs(x).sum())

    best = np.inf
    for engine in ("auto", "bundle"):
        fit = shotgun.solve(A, y, lam, engine=engine, P=64, n_threads=1, fit_intercept=True)
        assert fit.status == "converged"
        assert fit.gap <= 1e-6 * fit.null_objective
        best = min(best, objective(fit.x, fit.intercept))
        assert objective(fit.x, fit.intercept) - best <= fit.gap
    for _ in range(FITS):
        theirs = objective(*xgboost_shotgun(A, y, lam))
        if theirs > 1.1 * best:
            return
    pytest.skip(f"XGBoost's threads did not meet in {FITS} fits")
