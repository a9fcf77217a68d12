"""`solve` finds the minimum of F, whatever F has in it, and proves it."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import shotgun
from conftest import OPTIONS, D, N, half_free, make_data, offset, weights
from reference import Reference, assert_optimal
from shotgun.solve import ENGINES


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("name", list(OPTIONS))
def test_the_minimum_is_found_and_the_gap_covers_the_error(
    name: str, loss: str, engine: str, sparse: bool
) -> None:
    data = make_data(N, D, loss, rank=2, density=0.6 if sparse else 1.0)
    A = sp.csc_matrix(data.A) if sparse else data.A
    options = OPTIONS[name]
    for lam, working_set in itertools.product((data.lam_max / 3, data.lam_max / 30), (True, False)):
        fit = shotgun.solve(
            A, data.y, lam, loss, engine=engine, working_set=working_set, tol=1e-7, **options
        )
        assert_optimal(fit, Reference.of(data.A, data.y, lam, loss, **options), 1e-7)
        assert fit.certificate == ("gradient" if half_free(options) else "gap")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("working_set", [True, False])
def test_more_features_than_samples(engine: str, loss: str, working_set: bool) -> None:
    data = make_data(30, 150, loss, rank=3, seed=5)
    lam = data.lam_max / 5
    for options in ({}, {"fit_intercept": True, "standardize": True}):
        fit = shotgun.solve(
            data.A, data.y, lam, loss, engine=engine, working_set=working_set, **options
        )
        assert_optimal(fit, Reference.of(data.A, data.y, lam, loss, **options), 1e-6)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("working_set", [True, False])
@pytest.mark.parametrize("sparse", [False, True])
def test_nonnegative_least_squares_is_lam_0_with_bounds(
    engine: str, working_set: bool, sparse: bool
) -> None:
    data = make_data(60, D, density=0.7 if sparse else 1.0)
    A = sp.csc_matrix(data.A) if sparse else data.A
    fit = shotgun.solve(
        A, data.y, 0.0, bounds=(0.0, None), engine=engine, working_set=working_set, tol=1e-9
    )
    assert (fit.x >= 0).all()
    assert fit.status == "converged"
    reference = Reference.of(data.A, data.y, 0.0, bounds=(0.0, None))
    assert fit.objective == pytest.approx(reference.objective(reference.solve()), rel=1e-8)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("options", [{}, {"fit_intercept": True}, {"weights": weights()}])
def test_lam_0_is_least_squares_certified_by_the_gradient(engine: str, options: Any) -> None:
    data = make_data(N, 6)
    fit = shotgun.solve(data.A, data.y, 0.0, engine=engine, tol=1e-9, **options)
    assert fit.certificate == "gradient"
    assert fit.status == "converged"
    reference = Reference.of(data.A, data.y, 0.0, **options)
    best = reference.objective(reference.solve())
    assert fit.objective == pytest.approx(best, rel=1e-7)
    x = reference.outer(reference.solve())[0]
    np.testing.assert_allclose(fit.x, x, atol=1e-3 * np.abs(x).max())


def test_lam_0_with_l2_is_ridge_certified_by_a_gap() -> None:
    data = make_data(N, D)
    fit = shotgun.solve(data.A, data.y, 0.0, l2=2.0, tol=1e-10)
    assert fit.certificate == "gap"
    ridge = np.linalg.solve(data.A.T @ data.A + 2 * np.eye(D), data.A.T @ data.y)
    np.testing.assert_allclose(fit.x, ridge, atol=1e-4)
    assert_optimal(fit, Reference.of(data.A, data.y, 0.0, l2=2.0), 1e-10)


def test_lam_0_within_a_box_is_certified_by_a_gap() -> None:
    data = make_data(N, D)
    fit = shotgun.solve(data.A, data.y, 0.0, bounds=(-0.2, 0.2), tol=1e-9)
    assert fit.certificate == "gap"
    assert_optimal(fit, Reference.of(data.A, data.y, 0.0, bounds=(-0.2, 0.2)), 1e-9)


@pytest.mark.parametrize("lam", [0.0, 1.0])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("engine", ENGINES)
def test_an_infinite_factor_excludes_even_at_lam_0(lam: float, loss: str, engine: str) -> None:
    data = make_data(N, 6, loss)
    factor = [1.0, np.inf, 1.0, 1.0, np.inf, 0.0]
    fit = shotgun.solve(
        data.A, data.y, lam, loss, penalty_factor=factor, engine=engine, x0=np.ones(6), l2=0.1
    )
    assert fit.x[1] == fit.x[4] == 0
    without = shotgun.solve(
        data.A[:, [0, 2, 3, 5]], data.y, lam, loss, penalty_factor=[1, 1, 1, 0], l2=0.1
    )
    assert fit.objective == pytest.approx(without.objective, abs=fit.gap + without.gap)


@pytest.mark.parametrize("d", [1, 3000])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_with_every_feature_excluded_the_intercept_is_all(d: int, sparse: bool, loss: str) -> None:
    data = make_data(20, d, loss)
    A = sp.csc_matrix(data.A) if sparse else data.A
    none = np.full(d, np.inf)
    assert shotgun.lambda_max(A, data.y, loss, penalty_factor=none) == 0
    fit = shotgun.solve(A, data.y, 1.0, loss, penalty_factor=none, fit_intercept=True)
    assert fit.status == "converged"
    assert not fit.x.any()
    share = (data.y > 0).mean()
    best = data.y.mean() if loss == "squared" else np.log(share / (1 - share))
    assert fit.intercept == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("options", [{}, {"fit_intercept": True}, {"standardize": True}])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_row_of_weight_0_is_absent(loss: str, options: Any, sparse: bool) -> None:
    data = make_data(60, D, loss, density=0.5)
    w = np.ones(60)
    w[[0, 7, 30, 59]] = 0.0
    A = data.A.copy()
    A[w == 0] *= 1e6  # nothing in an absent row may matter
    here = w > 0
    form = sp.csc_matrix if sparse else np.asarray
    fit = shotgun.solve(form(A), data.y, 1.0, loss, weights=w, tol=1e-9, **options)
    without = shotgun.solve(form(A[here]), data.y[here], 1.0, loss, tol=1e-9, **options)
    assert fit.status == without.status == "converged"
    assert fit.objective == pytest.approx(without.objective, abs=fit.gap + without.gap)
    assert fit.tolerance == pytest.approx(without.tolerance, rel=1e-9)
    np.testing.assert_allclose(fit.x, without.x, atol=1e-3)
    assert shotgun.lambda_max(form(A), data.y, loss, weights=w, **options) == pytest.approx(
        shotgun.lambda_max(form(A[here]), data.y[here], loss, **options), rel=1e-9
    )


def test_a_weight_of_2_is_the_row_twice() -> None:
    data = make_data(N, D)
    rows = np.append(np.arange(N), [3, 5])
    w = np.ones(N)
    w[[3, 5]] = 2.0
    fit = shotgun.solve(data.A, data.y, 1.0, weights=w, tol=1e-9)
    twice = shotgun.solve(data.A[rows], data.y[rows], 1.0, tol=1e-9)
    assert fit.objective == pytest.approx(twice.objective, abs=fit.gap + twice.gap)


def test_an_offset_is_subtracted_from_y_in_least_squares() -> None:
    data = make_data(N, D)
    fit = shotgun.solve(data.A, data.y, 1.0, offset=offset(), tol=1e-9)
    shifted = shotgun.solve(data.A, data.y - offset(), 1.0, tol=1e-9)
    assert fit.objective == pytest.approx(shifted.objective, abs=fit.gap + shifted.gap)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("sparse", [False, True])
def test_scaled_columns_are_features_of_their_own_lambda(
    loss: str, engine: str, sparse: bool
) -> None:
    # The footnote of section 2: columns a_j s_j with one lam are columns a_j with lam / s_j.
    data = make_data(N, D, loss, density=0.6)
    s = np.random.default_rng(4).uniform(0.1, 10.0, D)
    form = sp.csc_matrix if sparse else np.asfortranarray
    options: dict[str, Any] = {"engine": engine, "tol": 1e-8}
    scaled = shotgun.solve(form(data.A * s), data.y, 1.0, loss, **options)
    own = shotgun.solve(form(data.A), data.y, 1.0, loss, penalty_factor=1 / s, **options)
    assert own.x.any()
    assert scaled.objective == pytest.approx(own.objective, abs=scaled.gap + own.gap)
    np.testing.assert_allclose(scaled.x * s, own.x, atol=2e-3)


@st.composite
def problems(draw: Any) -> tuple[Any, dict[str, Any]]:
    """Any problem that F can state: shapes, zeros, repeated columns, every option."""
    n, d = draw(st.integers(2, 25)), draw(st.integers(1, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    A = rng.standard_normal((n, d)) * 10.0 ** draw(st.integers(-3, 3))
    A *= rng.random((n, d)) < draw(st.sampled_from([1.0, 0.6, 0.2]))
    if draw(st.booleans()):
        A[:, d // 2] = A[:, 0]
    loss = draw(st.sampled_from(["squared", "logistic"]))
    y = rng.standard_normal(n) + 1
    if loss == "logistic":
        y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)  # both classes, hard to separate
    options: dict[str, Any] = {
        "loss": loss,
        "fit_intercept": draw(st.booleans()),
        "standardize": draw(st.booleans()),
        "l2": draw(st.sampled_from([0.0, 0.1, 10.0])),
    }
    if draw(st.booleans()):
        options["weights"] = rng.uniform(0.1, 3.0, n) * (np.arange(n) % 5 != 4)
    if draw(st.booleans()):
        options["offset"] = rng.standard_normal(n)
    if draw(st.booleans()):
        options["penalty_factor"] = rng.choice([0.5, 1.0, 3.0, np.inf], d)
    if draw(st.booleans()):
        size = 10.0 ** draw(st.integers(-3, 1)) / np.abs(A).max(initial=1e-3)
        options["bounds"] = (-size * rng.random(d), size * rng.random(d))
    return (A, y), options


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    problems(),
    st.sampled_from([0.5, 0.1, 0.01]),
    st.sampled_from(ENGINES),
    st.booleans(),
    st.booleans(),
)
def test_any_problem_is_solved_and_its_gap_is_true(
    problem: Any, ratio: float, engine: str, working_set: bool, sparse: bool
) -> None:
    (A, y), options = problem
    lam = ratio * shotgun.lambda_max(A, y, **options)
    given_A = sp.csr_matrix(A) if sparse else A
    fit = shotgun.solve(given_A, y, lam, engine=engine, working_set=working_set, **options)
    reference = Reference.of(A, y, lam, **options)
    best = reference.objective(reference.solve())
    here = reference.objective(reference.inner(fit.x, fit.intercept))
    assert fit.status == "converged"
    assert fit.gap <= fit.tolerance or best <= 1e-12
    assert fit.objective == pytest.approx(here, rel=1e-10, abs=1e-12)
    assert fit.gap >= here - best - 1e-12 * (1 + abs(best))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_one_sample_and_one_feature_are_enough(engine: str, loss: str) -> None:
    if loss == "squared":
        fit = shotgun.solve([[2.0]], [3.0], 1.0, engine=engine)
        assert fit.x[0] == pytest.approx(1.25, rel=1e-3)  # (2 * 3 - 1) / 4
    else:
        fit = shotgun.solve([[2.0], [-2.0]], [1, 0], 1.0, loss, engine=engine, tol=1e-9)
        # 2 log(1 + exp(-2x)) + x has its minimum where 4 / (1 + exp(2x)) = 1.
        assert fit.x[0] == pytest.approx(np.log(3) / 2, rel=1e-3)


@pytest.mark.parametrize("engine", ["shooting", "bundle", "block", "newton", "auto"])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("tol", [1e-8, 1e-10, 1e-12])
def test_tight_tolerances_are_reached(engine: str, loss: str, tol: float) -> None:
    data = make_data(N, D, loss)
    fit = shotgun.solve(data.A, data.y, data.lam_max / 10, loss, engine=engine, tol=tol)
    assert fit.status == "converged"
    assert_optimal(fit, Reference.of(data.A, data.y, data.lam_max / 10, loss), tol)


def test_the_same_call_gives_the_same_bits_and_seeds_matter() -> None:
    data = make_data(60, 80, rank=4)
    first = shotgun.solve(data.A, data.y, 1.0, engine="shooting", seed=1)
    np.testing.assert_array_equal(
        first.x, shotgun.solve(data.A, data.y, 1.0, engine="shooting", seed=1).x
    )
    other = shotgun.solve(data.A, data.y, 1.0, engine="shooting", seed=2)
    assert (first.x != other.x).any()
    assert other.objective == pytest.approx(first.objective, abs=first.gap + other.gap)


def test_a_solution_is_frozen_and_prints_its_certificate() -> None:
    data = make_data(N, D)
    fit = shotgun.solve(data.A, data.y, 1.0)
    assert "gap=" in repr(fit)
    assert "converged" in repr(fit)
    with pytest.raises(AttributeError):
        fit.gap = 0.0  # type: ignore[misc]
