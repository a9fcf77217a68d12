"""Fits that begin with fewer samples: what they show, and that they do no harm."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import shotgun
from reference import loss_values


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


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_deadline_that_falls_among_few_samples_keeps_their_weights(
    standardize: bool, sparse: bool
) -> None:
    A, y = tall(6)
    A = np.asfortranarray(A * np.geomspace(0.1, 10, 20) + 1)
    how = {"fit_intercept": True, "standardize": standardize}
    X = sp.csc_array(A) if sparse else A
    whole = shotgun.solve(X, y, 1.0, "logistic", trace=True, **how)
    [first, *_] = (row for row in whole.trace if row["samples"] == 1600)
    deadline = 0.2 + 20 * first["seconds"]  # far more than it takes to get there

    def wait(row: Any) -> None:
        if row["round"] == first["round"]:
            time.sleep(max(0.0, begin + deadline - time.perf_counter()))

    begin = time.perf_counter()
    fit = shotgun.solve(X, y, 1.0, "logistic", deadline=deadline, callback=wait, **how)
    assert (fit.status, fit.n_rounds) == ("deadline", first["round"] + 2)  # the last on all
    scale = A.std(axis=0) if standardize else 1.0
    losses = loss_values("logistic", A @ fit.x + fit.intercept, y)
    assert fit.objective == pytest.approx(losses.sum() + np.abs(scale * fit.x).sum(), rel=1e-12)
    assert fit.objective < 0.8 * fit.null_objective


def test_what_is_wrong_with_the_first_rows_is_named_as_without_them(tmp_path: Path) -> None:
    A, y = tall(7)
    A[0, 3] = np.nan
    with pytest.raises(ValueError, match="row 0, column 3"):
        shotgun.solve(A, y, 1.0, "logistic")
    A[0, 3] = 0.5
    on_disk = shotgun.disk.write(sp.csc_array(A), tmp_path / "matrix")
    file = next((tmp_path / "matrix").rglob("data.npy"))
    values = np.load(file, mmap_mode="r+")
    values[3 * 6400] = np.nan
    values.flush()
    with pytest.raises(ValueError, match=r"data\.npy is damaged"):
        shotgun.solve(on_disk, y, 1.0, "logistic")


def test_passes_are_counted_where_the_first_rows_are_empty() -> None:
    A, y = tall(8)
    A[:2000] = 0
    fit = shotgun.solve(sp.csc_array(A), y, 1.0, "logistic", trace=True)
    assert fit.status == "converged"
    assert [row["passes"] for row in fit.trace] == sorted(row["passes"] for row in fit.trace)
    assert np.isfinite(fit.trace[-1]["passes"])


def test_few_samples_go_on_telling_the_curvature_of_all() -> None:
    rng = np.random.default_rng(5)
    A = rng.standard_normal((20_000, 30), dtype=np.float32)
    for j in range(1, 30):
        A[:, j] += 0.6 * A[:, j - 1]  # so that a model takes several epochs
    y = np.where(A[:, :6].sum(axis=1) + 4 * rng.standard_normal(20_000) > 0, 1.0, -1.0)
    cold, growing = (
        shotgun.solve(A, y, 20.0, "logistic", fit_intercept=True, x0=x0, trace=True)
        for x0 in (np.zeros(30), None)
    )
    assert growing.status == "converged"
    assert abs(growing.objective - cold.objective) <= growing.gap + cold.gap
    assert growing.n_epochs > cold.n_epochs  # on a quarter of the samples, and fewer
    assert growing.trace[-1]["passes"] < 0.7 * cold.trace[-1]["passes"]


def test_few_samples_end_where_more_of_them_change_more() -> None:
    A, y = tall(6)
    fit = shotgun.solve(A, y, 1.0, "logistic", trace=True)
    last = {row["samples"]: row["gap"] / (row["samples"] * np.log(2)) for row in fit.trace}
    assert last[400] > 1e-3
    assert last[1600] > 1e-3
    assert last[6400] <= 1e-6


def test_a_loss_without_a_bound_on_its_curvature_takes_all_samples_at_once() -> None:
    A, _ = tall(7)
    y = np.random.default_rng(8).poisson(np.exp(0.3 * A[:, 0]))
    fit = shotgun.solve(A, y, 1.0, "poisson", trace=True)
    assert {row["samples"] for row in fit.trace} == {6400}


@pytest.mark.parametrize("engine", ["auto", "newton", "bundle", "shooting", "asynchronous"])
@pytest.mark.parametrize("there", [0.0, 1e-3, 0.1])
@pytest.mark.parametrize("intercept", [False, True])
def test_a_column_that_few_samples_hardly_have_is_found(
    engine: str, there: float, intercept: bool
) -> None:
    rng = np.random.default_rng(9)
    A = rng.standard_normal((4000, 5))
    y = np.where(A[:, 4] + A[:, 0] > 0, 1.0, -1.0)
    A[:1000, 4] *= there
    options = {"fit_intercept": intercept, "tol": 1e-5}
    fit = shotgun.solve(A, y, 5.0, "logistic", engine=engine, **options)
    cold = shotgun.solve(A, y, 5.0, "logistic", x0=np.zeros(5), **options)
    assert fit.status == "converged"
    assert abs(fit.objective - cold.objective) <= fit.gap + cold.gap
    assert fit.n_epochs <= 20 * cold.n_epochs + 200


@pytest.mark.parametrize("options", [{"standardize": True}, {"l2": 3.0}, {"bounds": (-0.1, 0.3)}])
@pytest.mark.parametrize("intercept", [False, True])
def test_few_samples_serve_every_form_of_the_problem(
    options: dict[str, Any], intercept: bool
) -> None:
    A, y = tall(10)
    A[:, :5] += 3.0  # far from centred
    options = {**options, "fit_intercept": intercept, "weights": np.arange(6400) % 3, "tol": 1e-8}
    cold = shotgun.solve(A, y, 2.0, "logistic", x0=np.zeros(20), **options)
    fit = shotgun.solve(A, y, 2.0, "logistic", **options)
    assert fit.status == cold.status == "converged"
    assert abs(fit.objective - cold.objective) <= fit.gap + cold.gap
