"""Losses where they are hard to minimise: classes told apart, counts of zero, far starts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import shotgun
from conftest import D, N, make_data
from losses import CDN, DETERMINISTIC, LOSSES, every_loss, problem
from reference import CLASSES, Reference


@pytest.mark.parametrize("engine", [*DETERMINISTIC, "asynchronous"])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("loss", CLASSES)
def test_separable_classes_end_certified(loss: str, fit_intercept: bool, engine: str) -> None:
    A = np.random.default_rng(0).standard_normal((N, 5))
    y = np.sign(A @ [1, 2, 0, 0, -1])
    largest = shotgun.lambda_max(A, y, loss)
    options: Any = {"fit_intercept": fit_intercept, "engine": engine, "max_epochs": 50_000}
    for ratio in (1e-2, 1e-4, 1e-6):
        fit = shotgun.solve(A, y, ratio * largest, loss, **options)
        assert fit.status in ("converged", "precision")
        assert np.isfinite(fit.x).all()
        assert 0 <= fit.objective < 0.2 * N


@pytest.mark.parametrize("engine", [*DETERMINISTIC, "asynchronous"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_counts_of_zero_end(fit_intercept: bool, engine: str) -> None:
    A = np.abs(make_data(N, D).A)
    fit = shotgun.solve(A, np.zeros(N), 1.0, "poisson", fit_intercept=fit_intercept, engine=engine)
    assert fit.status in ("converged", "precision")
    assert np.isfinite(fit.x).all()
    assert np.isfinite(fit.intercept)
    assert 0 <= fit.objective <= N
    if fit_intercept:
        assert not fit.x.any()
        assert fit.objective <= 1e-6


@pytest.mark.parametrize("lam", [0.0, 1e-9, 0.1])
def test_counts_of_zero_beside_a_free_column_have_a_finite_intercept(lam: float) -> None:
    # The minimum is at infinity, and on the way there the last curvature underflows.
    A = np.array([[-1.7382664], [-1.33664279]])
    fit = shotgun.solve(A, np.zeros(2), lam, "poisson", fit_intercept=True, penalty_factor=[0.0])
    assert np.isfinite([fit.intercept, *fit.x]).all()
    assert (fit.status, fit.objective, fit.gap) == ("converged", 0.0, 0.0)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_counts_of_a_million_are_fitted_alike_by_every_engine(fit_intercept: bool) -> None:
    data = make_data(N, 4)
    y = np.round(1e6 * np.exp(0.3 * data.A[:, 0]))
    given = {"loss": "poisson", "fit_intercept": fit_intercept}
    lam = 1e-3 * shotgun.lambda_max(data.A, y, **given)
    best = shotgun.solve(data.A, y, lam, tol=1e-9, **given)
    reference = Reference.of(data.A, y, lam, **given)
    for engine in (*DETERMINISTIC, "asynchronous"):
        fit = shotgun.solve(data.A, y, lam, engine=engine, **given)
        assert fit.status == "converged"
        assert fit.objective - best.objective <= fit.gap
        here = reference.objective(reference.inner(fit.x, fit.intercept))
        assert fit.objective == pytest.approx(here, rel=1e-9)


@pytest.mark.parametrize("engine", ["auto", *CDN])
@pytest.mark.parametrize("size", [250.0, -250.0, 1e4, -1e4])
@every_loss
def test_an_intercept_takes_back_any_common_offset(loss: Any, size: float, engine: str) -> None:
    A, y = problem(loss)
    given = loss | {"fit_intercept": True, "engine": engine}
    lam = 0.1 * shotgun.lambda_max(A, y, fit_intercept=True, **loss)
    plain = shotgun.solve(A, y, lam, **given)
    moved = shotgun.solve(A, y, lam, offset=np.full(N, size), **given)
    assert moved.status == "converged"
    assert moved.tolerance == pytest.approx(plain.tolerance, rel=1e-6)
    assert moved.objective == pytest.approx(plain.objective, abs=plain.gap + moved.gap)
    assert moved.intercept + size == pytest.approx(plain.intercept, abs=1e-2)


@every_loss
@pytest.mark.parametrize("size", [1e4, -1e4])
def test_an_offset_of_ten_thousand_does_not_overflow(loss: Any, size: float) -> None:
    A, y = problem(loss)
    o = np.zeros(N)
    o[3] = size
    if loss["loss"] == "poisson" and size > 0:
        with pytest.raises((ValueError, OverflowError)):
            shotgun.solve(A, y, 1.0, offset=o, **loss)
        return
    fit = shotgun.solve(A, y, 1.0, offset=o, **loss)
    assert fit.status in ("converged", "precision")
    assert np.isfinite([*fit.x, fit.objective, fit.gap]).all()


@every_loss
@pytest.mark.parametrize("options", [{}, {"fit_intercept": True}, {"standardize": True}])
def test_a_row_of_weight_0_is_absent(loss: Any, options: Any) -> None:
    A, y = problem(loss)
    w = np.ones(N)
    w[[0, 7, 30]] = 0.0
    wild = A.copy()
    wild[w == 0] *= 1e6  # beyond any exponential
    fit = shotgun.solve(wild, y, 2.0, weights=w, tol=1e-9, **loss, **options)
    without = shotgun.solve(A[w > 0], y[w > 0], 2.0, tol=1e-9, **loss, **options)
    assert fit.status == without.status == "converged"
    assert fit.objective == pytest.approx(without.objective, abs=fit.gap + without.gap)
    assert fit.tolerance == pytest.approx(without.tolerance, rel=1e-9)


@every_loss
def test_columns_of_any_size_are_features_of_their_own_lambda(loss: Any) -> None:
    A, y = problem(loss)
    size = 10.0 ** np.linspace(-100, 100, D)
    plain = shotgun.solve(A, y, 2.0, tol=1e-8, **loss)
    scaled = shotgun.solve(A * size, y, 2.0, penalty_factor=size, tol=1e-8, **loss)
    assert scaled.status == "converged"
    assert scaled.objective == pytest.approx(plain.objective, abs=plain.gap + scaled.gap)


@every_loss
def test_float32_integers_and_lists_are_the_same_problem(loss: Any) -> None:
    A, y = problem(loss)
    A = np.round(4 * A)
    plain = shotgun.solve(A, y, 5.0, **loss)
    for form in (A.astype(np.float32), A.astype(np.int64), A.tolist(), sp.csr_array(A)):
        assert shotgun.solve(form, y.tolist(), 5.0, **loss).objective == pytest.approx(
            plain.objective, abs=2 * plain.tolerance
        )


def test_a_start_where_f_is_infinite_is_not_kept() -> None:
    A, y = problem(LOSSES["poisson"])
    fit = shotgun.solve(A, y, 1.0, "poisson", x0=np.full(A.shape[1], 1e3))
    assert fit.status == "converged"
    assert fit.objective == pytest.approx(shotgun.solve(A, y, 1.0, "poisson").objective, rel=1e-5)


@pytest.mark.parametrize("offset", [-60.0, -26.0, 30.0])
def test_poisson_rates_may_begin_far_from_the_counts(offset: float) -> None:
    rng = np.random.default_rng(5)
    A = rng.standard_normal((200, 5))
    y = rng.poisson(np.exp(0.5 * A[:, 0])).astype(float)
    A = np.column_stack([A, np.ones(200)])
    options: Any = {"offset": np.full(200, offset), "penalty_factor": [1, 1, 1, 1, 1, 0]}
    fit = shotgun.solve(A, y, 1.0, "poisson", **options)
    near = shotgun.solve(A, y, 1.0, "poisson", penalty_factor=options["penalty_factor"])
    assert fit.objective == pytest.approx(near.objective, rel=1e-5)
    assert fit.x[5] + offset == pytest.approx(near.x[5], abs=1e-2)


@pytest.mark.parametrize("seed", range(40, 70))
def test_an_epoch_that_misses_the_one_weight_to_move_is_not_the_last(seed: int) -> None:
    A = np.random.RandomState(0).uniform(size=(30, 3))  # seed 65 draws without it
    y = np.arange(30) % 3 == 2
    fit = shotgun.solve(
        A, y, 1.0, "logistic", engine="asynchronous", fit_intercept=True, n_threads=1, seed=seed
    )
    assert fit.status == "converged"


def test_what_float64_cannot_improve_ends_soon() -> None:
    rng = np.random.default_rng(6)
    A = rng.standard_normal((200, 5))
    y = A[:, 0] + rng.standard_t(1.5, size=200)
    lam = 1e-12 * shotgun.lambda_max(A, y, "huber")
    fit = shotgun.solve(A, y, lam, "huber", engine="newton")
    assert fit.status in ("converged", "precision")
    assert fit.n_epochs < 2000


def test_the_gap_covers_what_rounding_makes_of_a_perfect_fit() -> None:
    # Margins of 1 up to rounding: F is its square, though float64 may see none of it.
    y = np.array([1.0, -1.0, 1.0, -1.0])
    for seed in range(60):
        A = np.random.default_rng(seed).standard_normal((4, 6))
        fit = shotgun.solve(A, y, 1e-40, "squared_hinge", fit_intercept=True, tol=1e-9)
        reference = Reference.of(A, y, 1e-40, "squared_hinge", fit_intercept=True)
        assert fit.gap >= reference.objective(reference.inner(fit.x, fit.intercept)) - 1e-37


def test_classes_that_are_told_apart_take_few_epochs_however_small_lam_is() -> None:
    rng = np.random.default_rng(1)
    A = sp.random(1000, 600, 0.05, random_state=rng, format="csc")
    z = A @ (rng.standard_normal(600) * (rng.random(600) < 0.2))
    y = np.where(z > np.median(z), 1.0, -1.0)
    fits = [
        shotgun.solve(A, y, lam, "logistic", tol=1e-4, fit_intercept=True) for lam in (1e-2, 1e-4)
    ]
    assert [fit.status for fit in fits] == ["converged"] * 2
    assert fits[1].objective < 1.0  # of 1000 samples
    assert fits[1].n_epochs < 4 * fits[0].n_epochs


def test_along_a_path_weights_of_classes_told_apart_grow_together() -> None:
    rng = np.random.default_rng(1)
    A = sp.random(1000, 600, 0.05, random_state=rng, format="csc")
    z = A @ (rng.standard_normal(600) * (rng.random(600) < 0.2))
    y = np.where(z > np.median(z), 1.0, -1.0)
    lams = [1.0, 0.1, 1e-2, 1e-3, 1e-4]
    options: Any = {"loss": "logistic", "fit_intercept": True, "tol": 1e-4}
    path = shotgun.path(A, y, lams, **options)
    cold = [shotgun.solve(A, y, lam, **options) for lam in lams]
    assert set(path.statuses) == {"converged"}
    assert sum(path[k].n_epochs for k in (3, 4)) < sum(cold[k].n_epochs for k in (3, 4)) / 4


def test_centring_is_that_of_the_weights_and_not_of_what_an_engine_kept() -> None:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((3, 6))
    y = np.array([1.0, -1.0, -1.0])
    fit = shotgun.solve(
        A,
        y,
        0.0,
        "squared_hinge",
        standardize=True,
        l2=1e-6,
        engine="block",
        tol=1e-9,
        working_set=False,
    )
    scale = A.std(axis=0)
    lack = np.maximum(0, 1 - y * ((A - A.mean(axis=0)) @ fit.x))
    F = (lack**2).sum() + 0.5e-6 * ((scale * fit.x) ** 2).sum()
    assert fit.objective == pytest.approx(F, rel=1e-12)
