"""Fits that begin with fewer samples: what they show, and that they do no harm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import shotgun


def tall(seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    A = np.asfortranarray(rng.standard_normal((6400, 20)))
    return A, np.where(A[:, :3].sum(axis=1) + rng.standard_normal(6400) > 0, 1.0, -1.0)


def test_few_samples_come_first_where_there_are_many() -> None:
    A, y = tall(0)
    lam = shotgun.lambda_max(A, y, "logistic") / 1000
    fit = shotgun.solve(A, y, lam, "logistic", trace=True)
    assert [row["samples"] for row in fit.trace] == sorted(row["samples"] for row in fit.trace)
    assert {row["samples"] for row in fit.trace} == {400, 1600, 6400}
    assert [row["round"] for row in fit.trace] == list(range(len(fit.trace)))
    assert [row["epoch"] for row in fit.trace] == sorted(row["epoch"] for row in fit.trace)
    assert fit.status == "converged"
    for plain in ({"working_set": False}, {"x0": np.zeros(20)}):
        straight = shotgun.solve(A, y, lam, "logistic", trace=True, **plain)
        assert {row["samples"] for row in straight.trace} == {6400}
        assert abs(straight.objective - fit.objective) <= fit.gap + straight.gap


def test_few_samples_of_sparse_columns_come_first_in_memory_and_on_disk(tmp_path: Path) -> None:
    A, y = tall(3)
    B = sp.csc_array(np.where(np.abs(A) > 1, A, 0.0))
    on_disk = shotgun.disk.write(B, tmp_path / "matrix", tile_bytes=20_000)
    lam = shotgun.lambda_max(B, y, "logistic") / 1000
    fits = [
        shotgun.solve(X, y, lam, "logistic", fit_intercept=True, trace=True) for X in (B, on_disk)
    ]
    for fit in fits:
        assert {row["samples"] for row in fit.trace} == {400, 1600, 6400}
        assert [row["passes"] for row in fit.trace] == sorted(row["passes"] for row in fit.trace)
    np.testing.assert_array_equal(fits[0].x, fits[1].x)
    assert fits[0].gap == fits[1].gap
    dense = shotgun.solve(B.toarray(), y, lam, "logistic", fit_intercept=True)
    assert abs(dense.objective - fits[0].objective) <= dense.gap + fits[0].gap


@pytest.mark.parametrize("intercept", [False, True])
def test_few_samples_that_are_not_like_the_others_do_no_harm(intercept: bool) -> None:
    A, y = tall(1)
    order = np.argsort(y, kind="stable")  # the first half is of one class
    lam = shotgun.lambda_max(A, y, "logistic") / 1000
    sorted_fit, fit = (
        shotgun.solve(a, b, lam, "logistic", fit_intercept=intercept)
        for a, b in ((np.asfortranarray(A[order]), y[order]), (A, y))
    )
    assert sorted_fit.status == "converged"
    assert abs(sorted_fit.objective - fit.objective) <= fit.gap + sorted_fit.gap


def test_samples_that_mislead_change_neither_the_tolerance_nor_the_start() -> None:
    rng = np.random.default_rng(4)
    A = rng.standard_normal((4000, 3))
    y = np.sign(A @ [3.0, -2.0, 1.0])
    y[:1000] *= -1
    y[-5] *= -1
    null = 4000 * np.log(2)
    assert shotgun.solve(A, y, 1.0, "logistic").tolerance == pytest.approx(1e-6 * null)
    for most in range(1, 6):
        assert shotgun.solve(A, y, 1.0, "logistic", max_epochs=most).objective <= null


def test_a_fit_may_be_stopped_while_few_samples_are_fitted() -> None:
    A, y = tall(2)
    fit = shotgun.solve(A, y, 1.0, "logistic", callback=lambda row: row["samples"] == 1600)
    assert fit.status == "stopped"
    assert fit.objective <= 6400 * np.log(2)
    assert fit.gap >= 0
    first = shotgun.solve(A, y, 1.0, "logistic", callback=lambda row: True)
    assert (first.status, first.n_rounds) == ("stopped", 0)
