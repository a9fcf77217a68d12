"""Zeros and constants explain nothing; what is nearly constant is not taken for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import shotgun
from conftest import SMALL, Data, make_data
from reference import Reference

N, D = SMALL


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("sparse", [False, True])
def test_all_zero_columns_keep_weight_zero(
    fit_intercept: bool, standardize: bool, loss: str, sparse: bool
) -> None:
    data = make_data(N, D, loss)
    A = data.A.copy()
    A[:, [0, 4, 7]] = 0.0
    options = {"fit_intercept": fit_intercept, "standardize": standardize}
    fit = shotgun.solve(sp.csc_matrix(A) if sparse else A, data.y, 1.0, loss, **options)
    assert fit.status == "converged"
    assert (fit.x[[0, 4, 7]] == 0).all()
    reference = Reference.of(A, data.y, 1.0, loss, **options)
    assert fit.objective == pytest.approx(reference.objective(reference.solve()), abs=fit.gap)


@pytest.mark.parametrize("x0", [None, np.ones(D)])
def test_a_matrix_of_zeros_is_solved(x0: Any) -> None:
    fit = shotgun.solve(np.zeros((N, D)), np.arange(N), 1.0, fit_intercept=True, x0=x0)
    assert fit.status == "converged"
    np.testing.assert_array_equal(fit.x, 0.0)
    assert fit.intercept == pytest.approx((N - 1) / 2)


@pytest.mark.parametrize("value", [0.0, 1.0, -3.7, 1e-200, 1e150])
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_constant_y_with_an_intercept_needs_no_weights(
    data: Data, value: float, standardize: bool, sparse: bool
) -> None:
    A = sp.csr_matrix(data.A) if sparse else data.A
    fit = shotgun.solve(A, np.full(N, value), 1.0, fit_intercept=True, standardize=standardize)
    assert fit.status == "converged"
    assert fit.intercept == pytest.approx(value, rel=1e-12)
    assert np.abs(data.A @ fit.x).max() <= 1e-12 * abs(value)


def test_zero_y_without_an_intercept_is_solved_at_once(data: Data) -> None:
    fit = shotgun.solve(data.A, np.zeros(N), 1.0)
    assert (fit.status, fit.objective, fit.gap) == ("converged", 0.0, 0.0)
    assert not fit.x.any()


def test_constant_columns_are_left_to_the_intercept(data: Data) -> None:
    A = data.A.copy()
    A[:, 2] = 5.0
    for standardize in (False, True):
        fit = shotgun.solve(A, data.y, 1.0, fit_intercept=True, standardize=standardize)
        assert fit.status == "converged"
        assert fit.x[2] == 0


@pytest.mark.parametrize(("lam", "l2"), [(1e-9, 0.0), (0.0, 1e-6)])
@pytest.mark.parametrize("seed", range(40))
def test_a_constant_column_that_is_centred_to_nothing_stays_at_zero(
    seed: int, lam: float, l2: float
) -> None:
    # Its weighted mean is rounded, so that something is left of it, which must not count.
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((2, 5)).astype(np.float32)
    A[:, 4] = rng.standard_normal()
    y, weights = rng.standard_normal(2), rng.uniform(0.1, 3, 2)
    options = {"weights": weights, "bounds": (-rng.random(5), rng.random(5)), "working_set": False}
    for loss, target in (("squared", y), ("logistic", [-1.0, 1.0])):
        fit = shotgun.solve(A, target, lam, loss, l2=l2, standardize=True, **options)
        assert fit.x[4] == 0


def test_a_column_that_is_nearly_constant_is_not_taken_for_one() -> None:
    sign = np.where(np.arange(100_000) % 2, 1.0, -1.0)
    A = (1e12 + sign)[:, None]
    fit = shotgun.solve(A, sign, 1.0, fit_intercept=True)
    assert fit.gap >= fit.objective - 1.0  # F* is just below 1
    warm = shotgun.solve(A, sign, 1.0, fit_intercept=True, x0=[1.0])
    assert warm.objective <= 1.0 + 1e-6


@pytest.mark.parametrize("mean", [1e5, 1e7, 1e8])
@pytest.mark.parametrize("engine", ["auto", "shooting", "block"])
def test_far_off_columns_never_blow_up(mean: float, engine: str) -> None:
    rng = np.random.default_rng(1)
    A, y = rng.standard_normal((200, 50)) + mean, rng.standard_normal(200)
    lam = 0.1 * shotgun.lambda_max(A, y, fit_intercept=True)
    fit = shotgun.solve(A, y, lam, fit_intercept=True, engine=engine)
    null = 0.5 * ((y - y.mean()) ** 2).sum()
    assert fit.objective <= null * (1 + 1e-12)
    assert np.isfinite(fit.x).all()
    assert fit.gap >= 0
    if mean == 1e5:
        assert fit.status == "converged"
