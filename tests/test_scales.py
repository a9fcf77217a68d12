"""Columns, targets and weights of any scale are one problem, almost to the ends of float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import shotgun
from conftest import Data, make_data


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("engine", ["shooting", "bundle", "block", "newton", "asynchronous"])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_column_scales_from_1e_minus_150_to_1e150_are_one_problem(
    loss: str, engine: str, fit_intercept: bool, sparse: bool
) -> None:
    # Footnote 1: columns scaled by s with factors s are the same problem, x divided by s.
    data = make_data(50, 12, loss, density=0.7)
    scale = np.ldexp(1.0, np.linspace(-498, 498, 12).astype(int))
    make = sp.csc_matrix if sparse else np.asfortranarray
    options: dict[str, Any] = {"engine": engine, "fit_intercept": fit_intercept, "tol": 1e-10}
    plain = shotgun.solve(make(data.A), data.y, data.lam_max / 10, loss, **options)
    scaled = shotgun.solve(
        make(data.A * scale), data.y, data.lam_max / 10, loss, penalty_factor=scale, **options
    )
    assert scaled.status == "converged"
    assert scaled.objective == pytest.approx(plain.objective, rel=1e-9)
    np.testing.assert_allclose(scaled.x * scale, plain.x, atol=1e-4)


@pytest.mark.parametrize("exponent", [-498, -300, -150, 150, 300, 498])
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("engine", ["shooting", "block", "newton"])
def test_a_matrix_of_any_scale_is_one_problem(
    exponent: int, standardize: bool, engine: str
) -> None:
    data = make_data(50, 12)
    scale = np.ldexp(1.0, exponent)
    options: dict[str, Any] = {
        "engine": engine,
        "standardize": standardize,
        "fit_intercept": standardize,
    }
    plain = shotgun.solve(data.A, data.y, 1.0, tol=1e-10, **options)
    lam = 1.0 if standardize else scale
    scaled = shotgun.solve(scale * data.A, data.y, lam, tol=1e-10, **options)
    assert scaled.status == "converged"
    assert scaled.objective == pytest.approx(plain.objective, rel=1e-9)
    np.testing.assert_allclose(scaled.x * scale, plain.x, atol=1e-4)


def test_standardize_undoes_any_column_scale() -> None:
    data = make_data(50, 12)
    scale = np.ldexp(1.0, np.linspace(-498, 498, 12).astype(int))
    plain = shotgun.solve(data.A, data.y, 1.0, standardize=True, tol=1e-10)
    scaled = shotgun.solve(data.A * scale, data.y, 1.0, standardize=True, tol=1e-10)
    assert scaled.objective == pytest.approx(plain.objective, rel=1e-9)
    np.testing.assert_allclose(scaled.x * scale, plain.x, atol=1e-4)


def test_spectral_radius_does_not_depend_on_column_scales() -> None:
    data = make_data(50, 12)
    scale = np.ldexp(1.0, np.linspace(-498, 498, 12).astype(int))
    assert shotgun.spectral_radius(data.A * scale) == pytest.approx(
        shotgun.spectral_radius(data.A), rel=1e-9
    )


@pytest.mark.parametrize("size", [1e-100, 1e100])
def test_y_of_any_scale_is_one_problem(data: Data, size: float) -> None:
    plain = shotgun.solve(data.A, data.y, 1.0, tol=1e-10)
    scaled = shotgun.solve(data.A, size * data.y, size, tol=1e-10)
    assert scaled.status == "converged"
    np.testing.assert_allclose(scaled.x / size, plain.x, atol=1e-4)


@pytest.mark.parametrize("scale", [1e155, 1e200])
def test_targets_too_large_to_square_are_refused(scale: float) -> None:
    data = make_data(20, 5)
    with pytest.raises(ValueError, match="y, offset, weights or bounds are too large"):
        shotgun.solve(data.A, data.y * scale, 1.0)


@pytest.mark.parametrize(("size", "weight"), [(1e155, 1e-150), (1e200, 1e-150), (1e-150, 1e60)])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_targets_are_weighed_before_they_are_squared(
    loss: str, size: float, weight: float, fit_intercept: bool
) -> None:
    rng = np.random.default_rng(0)
    A, y, w = rng.normal(size=(8, 5)), rng.normal(size=8), rng.uniform(size=8)
    lam = 0.1 * np.abs(A.T @ (w * y)).max()

    def solve(size: float, weight: float) -> shotgun.Solution:
        options = {"loss": loss, "delta": size, "fit_intercept": fit_intercept}
        return shotgun.solve(A, y * size, lam * size * weight, weights=w * weight, **options)

    plain, far = solve(1.0, 1.0), solve(size, weight)
    assert far.status == plain.status == "converged"
    assert far.objective == pytest.approx(plain.objective * size * weight * size, rel=1e-5, abs=0)


@pytest.mark.parametrize("size", [1e-150, 1e-80, 1e-20])
@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_targets_of_a_tiny_unit_have_an_intercept(loss: str, size: float) -> None:
    rng = np.random.default_rng(0)
    A, y = rng.normal(size=(8, 5)), size * (3 + rng.normal(size=8))
    fit = shotgun.solve(A, y, 10 * size, loss=loss, fit_intercept=True, delta=size)
    assert fit.status == "converged"
    centre = np.mean(y) if loss == "squared" else np.median(y)
    assert fit.intercept == pytest.approx(centre, rel=0.1, abs=0)


@pytest.mark.parametrize(("size", "weight"), [(1e86, 1e150), (1e-86, 1e-150), (1e-100, 1e-150)])
@pytest.mark.parametrize("standardize", [False, True])
def test_columns_whose_weighed_squares_are_out_of_range_are_not_constant(
    size: float, weight: float, standardize: bool
) -> None:
    rng = np.random.default_rng(0)
    A, y, options = rng.normal(size=(6, 3)), rng.normal(size=6), {"standardize": standardize}
    plain = shotgun.solve(A, y, 0.1, **options)
    lam = 0.1 * weight * (1 if standardize else size)
    far = shotgun.solve(
        sp.csc_array(size * A), y, lam, weights=np.full(6, weight), tol=1e-8, **options
    )
    assert far.status == "converged"
    assert far.objective == pytest.approx(weight * plain.objective, rel=1e-5, abs=0)


@pytest.mark.parametrize(("size", "weight"), [(1e170, 1e-200), (1e180, 1e-300), (1e-180, 1e300)])
@pytest.mark.parametrize("standardize", [False, True])
def test_beyond_the_range_the_gap_covers_still(
    size: float, weight: float, standardize: bool
) -> None:
    rng = np.random.default_rng(0)
    A, y, options = rng.normal(size=(6, 3)), rng.normal(size=6), {"standardize": standardize}
    best = weight * shotgun.solve(A, y, 0.1, tol=1e-12, **options).objective
    lam = 0.1 * weight * (1 if standardize else size)
    far = shotgun.solve(size * A, y, lam, weights=np.full(6, weight), **options)
    assert far.gap >= far.objective - best * (1 + 1e-9)


@pytest.mark.parametrize("engine", ["auto", "block", "newton"])
def test_tiny_weights_and_tiny_columns_are_one_problem_for_every_engine(engine: str) -> None:
    rng = np.random.default_rng(0)
    A, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    plain = shotgun.solve(A, y, 0.1, engine=engine)
    size, weight = 1e-110, 1e-134
    far = shotgun.solve(
        size * A, y, 0.1 * size * weight, weights=np.full(30, weight), engine=engine
    )
    assert far.status == "converged"
    assert far.objective == pytest.approx(weight * plain.objective, rel=1e-5, abs=0)


def test_a_penalty_out_of_range_proves_nothing() -> None:
    # The conjugate of l2 on a column of 1e146 overflows: its bracket of the gap is not zero.
    fit = shotgun.solve([[1e146]], [1e100], 5e245, l2=1.0)
    assert fit.gap >= fit.objective - 3.75e199  # F*
    fit = shotgun.solve(np.full((3, 1), 1e37), np.full(3, 1e150), 1e187, l2=1e-31, tol=0.0)
    assert fit.gap >= 0
    assert fit.status == "precision"


@pytest.mark.parametrize("size", [1.0, 5.9e-151, 5.9e151])
def test_a_constant_column_is_penalised_alike_at_any_scale(size: float) -> None:
    fit = shotgun.solve(np.full((4, 1), size), np.arange(4.0), 1.0, standardize=True, x0=[0.5])
    assert fit.status == "converged"
    assert fit.x[0] == 0
    assert fit.objective == pytest.approx(7.0)
    kept = shotgun.solve(
        np.full((4, 1), size), np.arange(4.0), 1.0, standardize=True, bounds=(2, 3)
    )
    assert kept.objective == pytest.approx(7.0 + 2.0)  # it explains nothing, and pays lam |x|


@pytest.mark.parametrize(("size", "weight"), [(1e150, 1.0), (1e-150, 1.0), (1e-150, 1e-30)])
def test_columns_whose_squares_near_the_ends_of_the_range_are_fitted(
    size: float, weight: float
) -> None:
    rng = np.random.default_rng(0)
    A, y = size * rng.standard_normal((30, 4)), np.sign(rng.standard_normal(30))
    weights = np.full(30, weight)
    lam = 0.1 * shotgun.lambda_max(A, y, "logistic", weights=weights)
    fit = shotgun.solve(A, y, lam, "logistic", weights=weights)
    same = shotgun.solve(A / size, y, lam / size / weight, "logistic")
    assert fit.status == "converged"
    np.testing.assert_allclose(fit.x * size, same.x, rtol=1e-2)


def test_a_large_column_with_large_weights_is_standardised_like_any_other() -> None:
    A, y = np.array([[1.25730221], [-1.32104863]]), np.array([1.0, -1.0])
    options = {"standardize": True, "weights": np.full(2, 1e150)}
    usual = shotgun.solve(A, y, 1e149, "logistic", **options)
    large = shotgun.solve(1e149 * A, y, 1e149, "logistic", **options)
    np.testing.assert_allclose(1e149 * large.x, usual.x, rtol=1e-5)
    assert usual.x[0] != 0


def test_a_tiny_column_with_a_bound_and_a_large_l2_is_solved() -> None:
    A, y = np.array([[1.25730221e-151], [-1.32104863e-151]]), np.array([1.304e-150, 9.47e-151])
    fit = shotgun.solve(A, y, 0.0, l2=1e24, bounds=(0.5, 1.0))
    assert fit.x[0] == 0.5
    assert fit.objective == pytest.approx(1.25e23)


@pytest.mark.parametrize("lam", [1e181, 1e290])
def test_a_tiny_column_with_a_bound_and_a_large_lam_is_solved(lam: float) -> None:
    A, y = np.array([[1.25730221e-145], [-1.32104863e-145]]), np.array([1.304e-150, 9.47e-151])
    fit = shotgun.solve(A, y, lam, bounds=(0.5, 1.0))
    assert fit.x[0] == 0.5
    assert fit.objective == pytest.approx(lam / 2)
    assert fit.status == "converged"


@pytest.mark.parametrize(("size", "lam"), [(1e-308, 0.0), (2e-313, 5e-324)])
def test_columns_whose_values_are_hardly_numbers_are_fitted(size: float, lam: float) -> None:
    fit = shotgun.solve(np.full((2, 1), size), np.full(2, 1e-6), lam)
    best = lam * (1e-6 / size)
    assert fit.objective <= 1.1 * best + 1e-20


def test_a_path_to_a_large_lam_or_l2_scales_tiny_columns_as_a_fit_does() -> None:
    A, y = np.array([[1.25730221e-145], [-1.32104863e-145]]), np.array([1.304e-150, 9.47e-151])
    bounds = (0.5, 1.0)
    (fit,) = shotgun.path(A, y, [1e290], bounds=bounds)
    assert fit.objective == pytest.approx(5e289)
    *_, fit = shotgun.path(A, y, [1e3, 1.0], l2=[0.0, 1e80], bounds=bounds)
    assert fit.objective == pytest.approx(1.25e79)


def test_gradients_whose_squares_leave_the_range_are_seen_to_move() -> None:
    A = np.array([[0.0, 0.0, 1.0, 0.0], [-1.0, 0.0, 1.0, 1.0]])
    same = shotgun.solve(A, np.full(2, 3.0), 6e-6, tol=1e-14)
    tiny = {"weights": np.full(2, 1e-100), "max_epochs": 2000}
    fit = shotgun.solve(A * 1e-100, np.full(2, 3e-100), 6e-306, **tiny)
    assert fit.gap * 1e300 >= fit.objective * 1e300 - same.objective


@pytest.mark.parametrize("bounds", [None, (0.0, None)])
@pytest.mark.parametrize("working_set", [False, True])
def test_a_gradient_that_leaves_the_range_proves_nothing(bounds: Any, working_set: bool) -> None:
    A, y = np.array([[2.2e135], [-2.3e135]]), np.array([1.3e30, 9.5e29])
    how = {"weights": np.full(2, 1e150), "bounds": bounds, "working_set": working_set}
    fit = shotgun.solve(A, y, 1e291, **how)
    assert fit.status == "precision"
    assert fit.gap >= fit.objective  # nothing better than zero is known
