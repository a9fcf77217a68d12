"""Where the other Shotgun in use returns a bad model without a word, ours is certified."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
import pytest

import shotgun


def correlated(rows: int) -> tuple[Any, Any, float]:
    """Two columns that are all but one, y, and a small lam."""
    rng = np.random.default_rng(0)
    both = rng.standard_normal((rows, 1)) + 0.1 * rng.standard_normal((rows, 2))
    A = np.asfortranarray(both, dtype=np.float32)
    y = A[:, 0] + rng.standard_normal(rows)
    return A, y, 0.001 * shotgun.lambda_max(A, y, fit_intercept=True)


def test_correlated_columns_are_certified() -> None:
    A, y, lam = correlated(100_000)
    how: dict[str, Any] = {"P": 2, "n_threads": 2, "fit_intercept": True}
    fits = [shotgun.solve(A, y, lam, engine=engine, **how) for engine in ("auto", "bundle")]
    best = min(fit.objective for fit in fits)
    for fit in fits:
        assert fit.status == "converged"
        assert fit.objective - best <= fit.gap <= 1e-6 * fit.null_objective


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="on one core threads meet by chance")
def test_there_xgboost_loses_its_way() -> None:
    # Steps that do not know of each other go twice as far as they should, from x = 0 to where F is
    # as large again (and back, in the next round).
    xgboost = pytest.importorskip("xgboost")
    # So many rows that both threads are in the midst of their columns whoever else is about.
    A, y, lam = correlated(5_000_000)
    best = shotgun.solve(A, y, lam, fit_intercept=True).objective
    data = xgboost.DMatrix(A, label=y)
    settings = {
        "booster": "gblinear",
        "updater": "shotgun",
        "objective": "reg:squarederror",
        "base_score": 0.0,
        "alpha": lam / len(y),
        "lambda": 0.0,
        "eta": 1.0,
        "nthread": 2,
        "verbosity": 0,
    }

    def objective() -> float:
        booster = xgboost.train(settings, data, num_boost_round=1)
        model = json.loads(booster.save_raw("json"))["learner"]["gradient_booster"]["model"]
        *x, intercept = model["weights"]
        return float(0.5 * np.sum((A @ x + intercept - y) ** 2) + lam * np.abs(x).sum())

    assert any(objective() > 1.5 * best for _ in range(30))
