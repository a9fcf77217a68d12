"""`solve` finds the minimum of F, proves it, and says truthfully how it ended."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import shotgun
from conftest import OPTIONS, D, Data, N, half_free, make_data, offset, weights
from reference import Reference, assert_optimal
from shotgun.solve import ENGINES
from shotgun.study.problems import find


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


# Warm starts


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("name", list(OPTIONS))
def test_the_answer_is_never_worse_than_x0(name: str, loss: str, engine: str) -> None:
    data = make_data(N, D, loss)
    lam, options = data.lam_max / 10, OPTIONS[name]
    reference = Reference.of(data.A, data.y, lam, loss, **options)
    start = reference.solve()
    rng = np.random.default_rng(7)
    for spread in (0.0, 1e-9, 1e-3, 1.0, 100.0):
        near = np.clip(start + spread * rng.standard_normal(len(start)), reference.lo, reference.hi)
        near[np.isinf(reference.lam)] = 0.0
        x0, intercept = reference.outer(near)
        begin = reference.objective(reference.inner(x0, intercept))
        for most in (0, 1, 3):
            fit = shotgun.solve(
                data.A, data.y, lam, loss, engine=engine, x0=x0, max_epochs=most, **options
            )
            assert fit.objective <= begin + 1e-12 * (1 + abs(begin))
            v = reference.inner(fit.x, fit.intercept)
            assert reference.objective(v) == pytest.approx(fit.objective, rel=1e-10)


@pytest.mark.parametrize("engine", ENGINES)
def test_starting_at_the_solution_takes_no_epoch(engine: str) -> None:
    data = make_data(N, D)
    first = shotgun.solve(data.A, data.y, 1.0, engine=engine)
    again = shotgun.solve(data.A, data.y, 1.0, engine=engine, x0=first.x)
    assert again.status == "converged"
    assert again.n_epochs == 0
    np.testing.assert_array_equal(again.x, first.x)


def test_x0_outside_the_bounds_is_moved_inside() -> None:
    data = make_data(N, D)
    fit = shotgun.solve(data.A, data.y, 1.0, bounds=(-0.1, 0.1), x0=np.full(D, 5.0), max_epochs=0)
    np.testing.assert_array_equal(fit.x, 0.1)


def test_the_callers_x0_is_not_the_answer_array() -> None:
    data = make_data(N, D)
    x0 = np.zeros(D)
    fit = shotgun.solve(data.A, data.y, 1.0, x0=x0)
    assert fit.x.any()
    assert not x0.any()
    assert not np.shares_memory(fit.x, x0)


# How a fit ends


@pytest.fixture(scope="module")
def hard() -> Data:
    """Strongly correlated columns: thousands of epochs."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((200, 1)) + 0.02 * rng.standard_normal((200, 400))
    return Data(np.asfortranarray(A), A[:, :20].sum(1) + rng.standard_normal(200), "squared")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("working_set", [True, False])
@pytest.mark.parametrize("most", [0, 1, 5])
def test_max_epochs_ends_a_fit(hard: Data, engine: str, working_set: bool, most: int) -> None:
    fit = shotgun.solve(
        hard.A,
        hard.y,
        1e-3 * hard.lam_max,
        engine=engine,
        working_set=working_set,
        max_epochs=most,
        tol=1e-12,
    )
    assert fit.status == "max_epochs"
    assert fit.n_epochs <= most
    assert fit.gap > fit.tolerance
    assert fit.n_updates <= most * hard.A.shape[1]  # an epoch is |W| updates


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("working_set", [True, False])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_deadline_ends_a_fit_in_time(engine: str, working_set: bool, loss: str) -> None:
    rng = np.random.default_rng(0)
    A = np.asfortranarray(rng.standard_normal((400, 1)) + 0.01 * rng.standard_normal((400, 2000)))
    y = A[:, :20].sum(1) + rng.standard_normal(400)
    y = y if loss == "squared" else np.sign(y)
    lam = 1e-6 * shotgun.lambda_max(A, y, loss)
    fit = shotgun.solve(
        A, y, lam, loss, engine=engine, working_set=working_set, deadline=0.05, tol=1e-13
    )
    assert fit.status == "deadline"
    assert fit.gap > fit.tolerance
    assert fit.seconds < 0.4
    assert fit.objective == pytest.approx(Reference.of(A, y, lam, loss).objective(fit.x), rel=1e-9)


def test_a_deadline_of_0_returns_a_valid_point(hard: Data) -> None:
    fit = shotgun.solve(hard.A, hard.y, 1.0, deadline=0.0)
    assert fit.status == "deadline"
    assert np.isfinite(fit.x).all()
    assert fit.objective <= 0.5 * hard.y @ hard.y * (1 + 1e-12)
    assert fit.gap >= 0


@pytest.mark.parametrize("engine", ENGINES)
def test_a_callback_stops_a_fit(hard: Data, engine: str) -> None:
    seen: list[dict[str, Any]] = []

    def stop_at_round_2(state: dict[str, Any]) -> bool:
        seen.append(state)
        return state["round"] >= 2

    fit = shotgun.solve(
        hard.A, hard.y, 1e-3 * hard.lam_max, engine=engine, tol=1e-12, callback=stop_at_round_2
    )
    assert fit.status == "stopped"
    assert [state["round"] for state in seen] == [0, 1, 2]
    assert fit.objective == seen[-1]["objective"]
    assert fit.gap == seen[-1]["gap"]


def test_a_callback_is_told_what_the_design_promises(hard: Data) -> None:
    seen: list[dict[str, Any]] = []
    fit = shotgun.solve(hard.A, hard.y, 0.1 * hard.lam_max, callback=seen.append, trace=True)
    assert fit.status == "converged"
    assert {"round", "epoch", "objective", "gap", "working_set", "P", "seconds"} <= set(seen[0])
    assert seen == fit.trace or str(seen) == str(fit.trace)  # NaN != NaN in rho
    assert seen[-1]["epoch"] == fit.n_epochs
    assert seen[-1]["gap"] <= fit.tolerance


def test_only_a_true_answer_of_the_callback_stops() -> None:
    data = make_data(N, D)
    for answer in (None, False, 0, "", []):
        assert (
            shotgun.solve(data.A, data.y, 1.0, callback=lambda _, a=answer: a).status == "converged"
        )
    for answer in (True, 1, "yes"):
        assert (
            shotgun.solve(data.A, data.y, 1.0, callback=lambda _, a=answer: a).status == "stopped"
        )


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("engine", ENGINES)
def test_an_exception_in_the_callback_is_raised_as_it_is(
    hard: Data, engine: str, kind: type[BaseException]
) -> None:
    error = kind("round 1")
    rounds: list[int] = []

    def fail(state: dict[str, Any]) -> None:
        rounds.append(state["round"])
        if state["round"] == 1:
            raise error

    with pytest.raises(kind) as caught:
        shotgun.solve(hard.A, hard.y, 1e-3 * hard.lam_max, engine=engine, callback=fail, tol=1e-12)
    assert caught.value is error
    assert rounds == [0, 1]


def test_a_fit_may_be_made_inside_a_callback() -> None:
    data = make_data(N, D)
    inner: list[Any] = []
    plain = shotgun.solve(data.A, data.y, 1.0)
    outer = shotgun.solve(
        data.A,
        data.y,
        1.0,
        callback=lambda _: inner.append(shotgun.solve(data.A, data.y, 1.0).x),
    )
    np.testing.assert_array_equal(outer.x, plain.x)
    for x in inner:
        np.testing.assert_array_equal(x, plain.x)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("working_set", [True, False])
def test_tol_0_ends_at_the_precision_of_float64(engine: str, loss: str, working_set: bool) -> None:
    data = make_data(N, D, loss)
    lam = data.lam_max / 10
    fit = shotgun.solve(data.A, data.y, lam, loss, engine=engine, working_set=working_set, tol=0.0)
    assert fit.status == "precision"
    assert fit.tolerance == 0
    reference = Reference.of(data.A, data.y, lam, loss)
    best = reference.objective(reference.solve())
    assert fit.objective == pytest.approx(best, rel=1e-14)
    assert fit.gap > 0
    assert fit.gap >= reference.objective(fit.x) - best - 1e-15 * best
    assert fit.n_epochs < 10_000


@pytest.mark.parametrize("engine", ["shooting", "bundle", "block", "newton", "auto"])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("tol", [1e-8, 1e-10, 1e-12])
def test_tight_tolerances_are_reached(engine: str, loss: str, tol: float) -> None:
    data = make_data(N, D, loss)
    fit = shotgun.solve(data.A, data.y, data.lam_max / 10, loss, engine=engine, tol=tol)
    assert fit.status == "converged"
    assert_optimal(fit, Reference.of(data.A, data.y, data.lam_max / 10, loss), tol)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("working_set", [True, False])
def test_f_never_increases(hard: Data, engine: str, loss: str, working_set: bool) -> None:
    for data in (hard, make_data(100, 300, loss, rank=5)):
        y = data.y if loss == "squared" else np.sign(data.y)
        fit = shotgun.solve(
            data.A,
            y,
            0.02 * data.lam_max,
            loss,
            engine=engine,
            working_set=working_set,
            trace=True,
            tol=1e-5,
            max_epochs=2000,
        )
        objectives = np.array([row["objective"] for row in fit.trace])
        assert len(objectives) > 2
        assert (np.diff(objectives) <= 1e-13 * np.abs(objectives[:-1])).all()
        assert objectives[-1] == fit.objective
        assert objectives[-1] < objectives[0]


@pytest.mark.parametrize("working_set", [True, False])
def test_every_gap_of_the_trace_covers_its_error(working_set: bool) -> None:
    for loss in ("squared", "logistic"):
        data = make_data(N, 100, loss, rank=3)
        lam = data.lam_max / 20
        reference = Reference.of(data.A, data.y, lam, loss)
        best = reference.objective(reference.solve())
        fit = shotgun.solve(data.A, data.y, lam, loss, working_set=working_set, trace=True)
        assert len(fit.trace) > 2
        for row in fit.trace:
            if row["lam"] == lam:  # not one on the way
                assert row["gap"] >= row["objective"] - best - 1e-14 * best


def test_the_trace_is_empty_unless_asked_for() -> None:
    data = make_data(N, D)
    assert shotgun.solve(data.A, data.y, 1.0).trace == []


def test_the_trace_counts_rounds_epochs_and_updates(hard: Data) -> None:
    fit = shotgun.solve(hard.A, hard.y, 0.01 * hard.lam_max, trace=True)
    assert [row["round"] for row in fit.trace] == list(range(fit.n_rounds + 1))
    for name in ("epoch", "updates", "seconds"):
        assert (np.diff([row[name] for row in fit.trace]) >= 0).all()
    assert fit.trace[-1]["updates"] == fit.n_updates
    assert fit.trace[-1]["epoch"] == fit.n_epochs


# lambda_max and F0


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("name", list(OPTIONS))
def test_lambda_max_separates_zeros_from_nonzeros(name: str, loss: str, sparse: bool) -> None:
    data = make_data(N, D, loss, density=0.6 if sparse else 1.0)
    A = sp.csc_matrix(data.A) if sparse else data.A
    options = OPTIONS[name]
    penalised = np.asarray(options.get("penalty_factor", np.ones(D))) > 0
    rest = np.clip(0.0, *(options.get("bounds", (-np.inf, np.inf))))
    rest = np.broadcast_to(np.where(np.isnan(rest), 0.0, rest), D)
    lam_max = shotgun.lambda_max(A, data.y, loss, **options)
    assert lam_max > 0
    for lam in (lam_max * (1 + 1e-9), 2 * lam_max):
        fit = shotgun.solve(A, data.y, lam, loss, tol=1e-9, **options)
        np.testing.assert_allclose(fit.x[penalised], rest[penalised], atol=1e-6)
    below = shotgun.solve(A, data.y, 0.98 * lam_max, loss, tol=1e-9, **options)
    assert np.abs(below.x - rest)[penalised].max() > 1e-5


def test_lambda_max_of_least_squares_is_the_largest_correlation() -> None:
    data = make_data(N, D)
    assert shotgun.lambda_max(data.A, data.y) == pytest.approx(np.abs(data.A.T @ data.y).max())
    centred = data.y - data.y.mean()
    assert shotgun.lambda_max(data.A, data.y, fit_intercept=True) == pytest.approx(
        np.abs(data.A.T @ centred).max()
    )


@pytest.mark.parametrize("working_set", [True, False])
@pytest.mark.parametrize("engine", ENGINES)
def test_at_lambda_max_the_answer_is_exactly_zero_without_an_epoch(
    engine: str, working_set: bool
) -> None:
    data = make_data(N, D)
    lam = shotgun.lambda_max(data.A, data.y) * (1 + 1e-12)
    fit = shotgun.solve(data.A, data.y, lam, engine=engine, working_set=working_set)
    assert (fit.status, fit.n_epochs) == ("converged", 0)
    np.testing.assert_array_equal(fit.x, 0.0)
    assert fit.objective == pytest.approx(0.5 * data.y @ data.y)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("name", list(OPTIONS))
def test_tolerance_is_tol_times_f_at_zero_with_the_free_part_at_its_best(
    name: str, loss: str
) -> None:
    data = make_data(N, D, loss)
    options = OPTIONS[name]
    fit = shotgun.solve(data.A, data.y, 1.0, loss, tol=1e-3, x0=np.full(D, 0.1), **options)
    reference = Reference.of(data.A, data.y, 1.0, loss, **options)
    assert fit.tolerance == pytest.approx(1e-3 * reference.objective(reference.null()), rel=1e-8)


def test_f0_of_least_squares_with_an_intercept_is_the_variance() -> None:
    data = make_data(N, D)
    y = data.y + 100
    fit = shotgun.solve(data.A, y, 1.0, fit_intercept=True, tol=1e-3)
    assert fit.tolerance == pytest.approx(1e-3 * 0.5 * ((y - y.mean()) ** 2).sum())


# Hard cases


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("lam", [0.0, 1e-12, 1e-6, 1e-3])
def test_separable_logistic_ends(engine: str, fit_intercept: bool, lam: float) -> None:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((N, 5))
    y = np.sign(A @ [1, 2, 0, 0, -1])
    fit = shotgun.solve(
        A, y, lam, "logistic", engine=engine, fit_intercept=fit_intercept, max_epochs=3000
    )
    assert np.isfinite(fit.x).all()
    assert np.isfinite(fit.objective)
    assert 0 <= fit.objective < 0.1 * N * np.log(2)
    assert (
        fit.gap <= max(fit.objective * (1 + 1e-9), fit.tolerance) or fit.certificate == "gradient"
    )
    assert fit.status in ("converged", "max_epochs", "precision")
    if lam >= 1e-3:
        assert fit.status == "converged"


def test_separable_logistic_with_one_class_per_sign_of_a_feature_ends() -> None:
    A = np.linspace(-1, 1, 20)[:, None]
    fit = shotgun.solve(A, np.sign(A[:, 0]), 0.0, "logistic", max_epochs=500)
    assert np.isfinite(fit.x).all()
    assert fit.objective < 1e-2


@pytest.mark.parametrize("engine", ENGINES)
def test_identical_columns_are_solved(engine: str) -> None:
    rng = np.random.default_rng(0)
    column = rng.standard_normal(N)
    A = np.asfortranarray(np.tile(column[:, None], 64))
    y = column + 0.1 * rng.standard_normal(N)
    fit = shotgun.solve(A, y, 1.0, engine=engine, P=64)
    one = shotgun.solve(column[:, None], y, 1.0, tol=1e-12)
    assert fit.status == "converged"
    assert fit.x.sum() == pytest.approx(one.x[0], abs=1e-3)
    assert fit.objective == pytest.approx(one.objective, abs=fit.gap + one.gap)


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


def test_screened_features_are_zero_in_every_solution() -> None:
    data = make_data(50, 400, rank=2)
    lam = data.lam_max / 3
    fit = shotgun.solve(data.A, data.y, lam, tol=1e-9)
    assert fit.n_screened > 300
    exact = shotgun.solve(data.A, data.y, lam, tol=1e-12, working_set=False)
    assert fit.screened is not None
    assert fit.screened.sum() == fit.n_screened
    assert not exact.x[fit.screened].any()
    assert shotgun.path(data.A, data.y, [lam])[0].screened is None


@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge", "huber"])
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
def test_what_is_screened_is_zero_at_the_minimum(loss: str, options: dict[str, Any]) -> None:
    data = make_data(N, D, loss)
    fit = shotgun.solve(data.A, data.y, data.lam_max / 4, loss, **options)
    reference = Reference.of(data.A, data.y, data.lam_max / 4, loss, **options)
    assert fit.screened is not None
    assert np.abs(reference.solve()[: data.A.shape[1]][fit.screened]).max(initial=0.0) < 1e-7


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


@pytest.mark.parametrize("deadline", [0.0, 1e-4, 1e-3, 5e-3, 2e-2])
def test_the_gap_bounds_the_error_wherever_a_deadline_falls(deadline: float) -> None:
    # Several runs of columns, the signal in the last: a scan cut short would miss it.
    rng = np.random.default_rng(0)
    A = np.asfortranarray(rng.standard_normal((500, 4000)))
    y = 3 * A[:, -50:].sum(axis=1)
    best = shotgun.solve(A, y, 1.0, tol=1e-9)
    fit = shotgun.solve(A, y, 1.0, deadline=deadline)
    assert fit.objective - best.objective <= fit.gap


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


def test_epochs_of_the_null_model_are_not_charged_to_max_epochs() -> None:
    rng = np.random.default_rng(2)
    A, y = rng.standard_normal((300, 40)), rng.standard_normal(300)
    factor = np.r_[np.zeros(12), np.ones(28)]
    fit = shotgun.solve(A, y, 1.0, penalty_factor=factor, max_epochs=5, tol=1e-14)
    assert fit.n_epochs <= 5


def test_a_deadline_holds_while_free_weights_are_fitted() -> None:
    rng = np.random.default_rng(3)
    A, y = rng.standard_normal((3000, 300)), rng.standard_normal(3000)
    factor = np.r_[np.zeros(290), np.ones(10)]
    fit = shotgun.solve(A, y, 1.0, penalty_factor=factor, deadline=0.05)
    assert fit.status == "deadline"
    assert fit.seconds < 0.5


def test_a_column_that_is_nearly_constant_is_not_taken_for_one() -> None:
    sign = np.where(np.arange(100_000) % 2, 1.0, -1.0)
    A = (1e12 + sign)[:, None]
    fit = shotgun.solve(A, sign, 1.0, fit_intercept=True)
    assert fit.gap >= fit.objective - 1.0  # F* is just below 1
    warm = shotgun.solve(A, sign, 1.0, fit_intercept=True, x0=[1.0])
    assert warm.objective <= 1.0 + 1e-6


def test_a_fit_that_has_no_time_to_look_at_a_keeps_x0() -> None:
    data = make_data(1000, 2000)
    lam = data.lam_max / 10
    best = shotgun.solve(data.A, data.y, lam)
    fit = shotgun.solve(data.A, data.y, lam, x0=best.x, deadline=0.0, n_threads=1)
    assert fit.status == "deadline"
    assert fit.objective <= best.objective * (1 + 1e-12)
    assert fit.n_screened == 0


@pytest.mark.parametrize(("size", "target"), [(1e98, 1e60), (1e-99, 1e-65)])
def test_screening_is_safe_where_squares_leave_the_range(size: float, target: float) -> None:
    data = make_data(100, 300)
    lam = data.lam_max / 2
    plain = shotgun.solve(data.A, data.y, lam, tol=1e-9)
    fit = shotgun.solve(size * data.A, target * data.y, lam * size * target, tol=1e-9)
    assert fit.status == "converged"
    assert fit.objective / target**2 == pytest.approx(plain.objective, rel=1e-8)
    assert fit.x * (size / target) == pytest.approx(plain.x, rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("working_set", [True, False])
def test_free_columns_that_explain_every_sample_do_not_run_away(working_set: bool) -> None:
    """As many weights without penalty as samples, one column far from centred: a singular problem,
    in whose null space weights could grow without end."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        n, d = int(rng.integers(2, 6)), int(rng.integers(4, 8))
        A = rng.normal(size=(n, d))
        A[:, rng.integers(d)] += 1e4
        y = rng.normal(size=n)
        factor = np.where(rng.random(d) < 0.7, 0.0, 1.0)
        s = shotgun.solve(
            A, y, 1e-5, fit_intercept=True, penalty_factor=factor, working_set=working_set
        )
        assert s.objective <= 0.5 * np.sum((y - y.mean()) ** 2) * (1 + 1e-9)
        assert np.abs(s.x).max() < 1e6


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


def test_a_constant_of_an_earlier_fit_leaves_no_rounding_behind() -> None:
    A, y = np.array([[10000.12573022], [9999.86789514]]), np.array([0.94708096, -0.70373524])
    offset = np.array([0.04132598, -2.32503077])
    first = shotgun.solve(A, y, 1e-6, offset=offset, fit_intercept=True)
    again = shotgun.solve(A, y, 20.0, offset=offset, fit_intercept=True, x0=first.x)
    assert first.x[0] != 0
    assert again.x[0] == 0
    target = y - offset
    expected = np.sum((target - target.mean()) ** 2) / 2
    assert again.objective == pytest.approx(expected, rel=4e-15, abs=0)


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


def test_where_descent_is_long_the_minimum_is_reached_exactly() -> None:
    A, y = find("china32_01").load()  # masks of 0 and 1: nearly collinear
    fits = [shotgun.solve(A, y, 0.5, tol=1e-8, engine=engine) for engine in ("auto", "newton")]
    exact, descended = fits
    assert {fit.status for fit in fits} == {"converged"}
    assert exact.objective == pytest.approx(descended.objective, rel=1e-9)
    assert 4 * exact.n_updates < descended.n_updates
    assert exact.gap < 0.1 * exact.tolerance


@pytest.mark.parametrize("start", [False, True], ids=["cold", "from x0"])
@pytest.mark.parametrize(("n", "d"), [(40, 60), (100, 150), (52, 17), (50, 50)])
def test_small_lams_of_dense_columns_that_depend_on_each_other_converge(
    n: int, d: int, start: bool
) -> None:
    for seed in range(2):
        rng = np.random.default_rng(seed)
        A, y = rng.standard_normal((n, d)), rng.standard_normal(n)
        A[:, 1], A[:, 5] = A[:, 0], -A[:, 4]
        A[:, 3] = A[:, 2] + 1e-7 * rng.standard_normal(n)
        factor = np.r_[[2.0, 1, 1, 2, 1, 3] if seed % 2 else np.ones(6), np.ones(d - 6)]
        x0 = rng.standard_normal(d) if start else None
        for ratio in (1e-2, 1e-3, 1e-4):
            lam = ratio * shotgun.lambda_max(A, y, penalty_factor=factor)
            fit = shotgun.solve(A, y, lam, penalty_factor=factor, x0=x0, tol=1e-8)
            assert fit.status == "converged"
            assert fit.certificate == "gap"
