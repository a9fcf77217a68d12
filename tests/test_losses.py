"""Every loss is minimised, certified and reported alike; each agrees with others that know it."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from sklearn.linear_model import LogisticRegression, PoissonRegressor
from sklearn.svm import LinearSVC

import shotgun
from conftest import OPTIONS, D, N, half_free, make_data
from losses import DETERMINISTIC, LOSSES, either_form, every_loss, problem
from reference import CLASSES, Reference, assert_optimal, loss_slopes, loss_values


@cache
def solved(name: str, option: str, sparse: bool, ratio: float) -> Any:
    """The problem, its lam and its reference."""
    given = LOSSES[name] | OPTIONS[option]
    A, y = problem(given, sparse, rank=2)
    lam = ratio * shotgun.lambda_max(A, y, **given)
    return A, y, lam, Reference.of(A, y, lam, **given)


# The minimum


@either_form
@pytest.mark.parametrize("ratio", [0.5, 0.05, 0.005])
@pytest.mark.parametrize("option", list(OPTIONS))
@pytest.mark.parametrize("name", list(LOSSES))
def test_the_minimum_is_found_and_the_gap_covers_the_error(
    name: str, option: str, ratio: float, sparse: bool
) -> None:
    A, y, lam, reference = solved(name, option, sparse, ratio)
    fit = shotgun.solve(A, y, lam, **LOSSES[name], **OPTIONS[option])
    assert_optimal(fit, reference, 1e-6)
    assert fit.certificate == ("gradient" if half_free(OPTIONS[option]) else "gap")


@pytest.mark.parametrize("working_set", [True, False])
@pytest.mark.parametrize("engine", [*DETERMINISTIC[1:], "asynchronous"])
@pytest.mark.parametrize("name", list(LOSSES))
def test_every_engine_reaches_the_gap(name: str, engine: str, working_set: bool) -> None:
    for option in ("plain", "intercept", "standardize", "standardize, intercept", "everything"):
        A, y, lam, reference = solved(name, option, True, 0.05)
        fit = shotgun.solve(
            A, y, lam, engine=engine, working_set=working_set, **LOSSES[name], **OPTIONS[option]
        )
        assert_optimal(fit, reference, 1e-6)
        assert fit.engine == engine


@every_loss
def test_the_reference_agrees_with_l_bfgs_on_positive_and_negative_parts(loss: Any) -> None:
    A, y = problem(loss)
    lam = 0.05 * shotgun.lambda_max(A, y, **loss)

    def value(parts: Any) -> Any:
        z = A @ (parts[:D] - parts[D:])
        slope = A.T @ loss_slopes(loss["loss"], z, y, loss.get("delta", 1.35))[0]
        F = loss_values(loss["loss"], z, y, loss.get("delta", 1.35)).sum() + lam * parts.sum()
        return F, np.append(slope, -slope) + lam

    theirs = scipy.optimize.minimize(
        value,
        np.zeros(2 * D),
        jac=True,
        bounds=[(0, None)] * (2 * D),
        method="L-BFGS-B",
        options={"ftol": 0, "gtol": 1e-9, "maxiter": 10_000, "maxfun": 20_000},
    )
    reference = Reference.of(A, y, lam, **loss)
    assert reference.objective(reference.solve()) == pytest.approx(theirs.fun, rel=1e-9)


@every_loss
def test_a_penalty_alone_moves_nothing_and_no_penalty_leaves_no_slope(loss: Any) -> None:
    A, y = problem(loss, n=200, d=4)
    none = shotgun.solve(A, y, 1e9, **loss)
    assert not none.x.any()
    free = shotgun.solve(A, y, 0.0, l2=1e-3, tol=1e-12, **loss)
    reference = Reference.of(A, y, 0.0, l2=1e-3, **loss)
    assert reference.violation(free.x) <= 1e-3


@either_form
@every_loss
@pytest.mark.parametrize("option", ["plain", "intercept", "weights", "offset", "standardize"])
def test_lambda_max_is_the_smallest_lam_without_weights(
    option: str, loss: Any, sparse: bool
) -> None:
    A, y = problem(loss, sparse)
    given = loss | OPTIONS[option]
    largest = shotgun.lambda_max(A, y, **given)
    above = shotgun.solve(A, y, largest * (1 + 1e-9), tol=1e-9, **given)
    assert (above.status, above.n_epochs, above.x.any()) == ("converged", 0, False)
    assert shotgun.solve(A, y, 0.98 * largest, tol=1e-9, **given).x.any()


@either_form
@every_loss
def test_a_path_meets_cold_solves(loss: Any, sparse: bool) -> None:
    A, y = problem(loss, sparse, d=80)
    for option in ("plain", "intercept", "everything unbounded", "l2"):
        given = loss | {k: v for k, v in OPTIONS[option].items() if k != "penalty_factor"}
        path = shotgun.path(A, y, n_lams=6, eps=0.02, tol=1e-8, **given)
        assert set(path.statuses) == {"converged"}
        for k, lam in enumerate(path.lams):
            cold = shotgun.solve(A, y, lam, tol=1e-8, **given)
            assert abs(path.objectives[k] - cold.objective) <= path.gaps[k] + cold.gap
            assert path.gaps[k] <= path.tolerance


# Threads and orders


@either_form
@pytest.mark.parametrize("engine", DETERMINISTIC)
@every_loss
def test_the_bits_do_not_depend_on_the_number_of_threads(
    loss: Any, engine: str, sparse: bool
) -> None:
    A, y = problem(loss, sparse, n=2500, d=80)
    lam = 0.05 * shotgun.lambda_max(A, y, **loss)
    for options in ({}, {"fit_intercept": True, "working_set": False}):
        one, two = (
            shotgun.solve(
                A, y, lam, engine=engine, n_threads=t, tol=1e-4, max_epochs=8, **loss, **options
            )
            for t in (1, 2)
        )
        assert one.n_epochs > 0
        assert np.array_equal(one.x, two.x)
        assert (one.intercept, one.objective, one.gap) == (two.intercept, two.objective, two.gap)


# Others who know these losses


@either_form
def test_poisson_agrees_with_scikit_learn_under_a_ridge(sparse: bool) -> None:
    A, y = problem(LOSSES["poisson"], sparse, n=150)
    l2 = 3.0
    for fit_intercept in (False, True):
        fit = shotgun.solve(A, y, 1e-9, "poisson", l2=l2, fit_intercept=fit_intercept, tol=1e-12)
        theirs = PoissonRegressor(
            alpha=l2 / len(y), fit_intercept=fit_intercept, tol=1e-10, max_iter=10_000
        ).fit(A, y)
        np.testing.assert_allclose(fit.x, theirs.coef_, atol=1e-5)
        assert fit.intercept == pytest.approx(theirs.intercept_, abs=1e-5)


@either_form
@pytest.mark.parametrize("lam", [30.0, 3.0, 0.3])
def test_squared_hinge_agrees_with_liblinear(lam: float, sparse: bool) -> None:
    A, y = problem(LOSSES["squared hinge"], sparse, n=150)
    fit = shotgun.solve(A, y, lam, "squared_hinge", tol=1e-9)
    theirs = LinearSVC(
        penalty="l1", dual=False, C=1 / lam, fit_intercept=False, tol=1e-9, max_iter=100_000
    ).fit(A, y)
    reference = Reference.of(A, y, lam, "squared_hinge")
    F = reference.objective(theirs.coef_.ravel())
    assert fit.objective - 1e-9 * F <= F <= fit.objective * (1 + 1e-6)
    np.testing.assert_allclose(fit.x, theirs.coef_.ravel(), atol=1e-3)


@either_form
@pytest.mark.parametrize("lam", [10.0, 1.0, 0.1])
def test_logistic_agrees_with_liblinear(lam: float, sparse: bool) -> None:
    A, y = problem(LOSSES["logistic"], sparse, n=150)
    fit = shotgun.solve(A, y, lam, "logistic", tol=1e-9)
    theirs = LogisticRegression(
        l1_ratio=1.0, solver="liblinear", C=1 / lam, fit_intercept=False, tol=1e-10, max_iter=10_000
    ).fit(A, y)
    F = Reference.of(A, y, lam, "logistic").objective(theirs.coef_.ravel())
    assert fit.objective - 1e-9 * F <= F <= fit.objective * (1 + 1e-6)


def test_huber_with_a_huge_delta_is_least_squares_and_with_a_tiny_one_least_deviations() -> None:
    data = make_data(N, D, "huber")
    lam = 0.1 * shotgun.lambda_max(data.A, data.y)
    huge = shotgun.solve(data.A, data.y, lam, "huber", delta=1e9, tol=1e-10)
    squared = shotgun.solve(data.A, data.y, lam, tol=1e-10)
    assert huge.objective == pytest.approx(squared.objective, rel=1e-9)
    np.testing.assert_allclose(huge.x, squared.x, atol=1e-4)
    delta = 1e-6  # F / delta is then sum |r| + (lam / delta) |x| within n delta / 2
    tiny = shotgun.solve(data.A, data.y, 2 * delta, "huber", delta=delta, tol=1e-6)
    assert tiny.status == "converged"
    program = scipy.optimize.linprog(
        np.r_[np.full(2 * D, 2.0), np.ones(2 * N)],
        A_eq=np.hstack([data.A, -data.A, np.eye(N), -np.eye(N)]),
        b_eq=data.y,
    )
    assert tiny.objective / delta == pytest.approx(program.fun, rel=1e-5)


def test_gross_errors_pull_the_squared_loss_but_not_huber() -> None:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((200, 3))
    y = A @ [2.0, 0.0, -1.0] + 0.1 * rng.standard_normal(200)
    y[:10] += 1e4
    assert np.abs(shotgun.solve(A, y, 0.1, "huber").x - [2, 0, -1]).max() < 0.2
    assert np.abs(shotgun.solve(A, y, 0.1).x - [2, 0, -1]).max() > 5


# Arguments


@pytest.mark.parametrize("loss", CLASSES)
def test_one_class_is_refused(loss: str) -> None:
    A = make_data(N, D).A
    with pytest.raises(ValueError, match="y must hold exactly two classes"):
        shotgun.solve(A, np.ones(N), 1.0, loss)
    with pytest.raises(ValueError, match="y must hold exactly two classes"):
        shotgun.solve(A, np.arange(N) % 3, 1.0, loss)


def test_classes_are_in_sorted_order_for_every_classifying_loss() -> None:
    A, y = problem(LOSSES["squared hinge"])
    plain = shotgun.solve(A, y, 1.0, "squared_hinge")
    named = shotgun.solve(A, np.where(y > 0, "yes", "no"), 1.0, "squared_hinge")
    np.testing.assert_array_equal(named.x, plain.x)


@pytest.mark.parametrize("function", [shotgun.solve, shotgun.path, shotgun.lambda_max])
def test_a_negative_count_is_named_with_its_place(function: Any) -> None:
    A, y = problem(LOSSES["poisson"])
    y[5] = -2.0
    given = {"lam": 1.0} if function is shotgun.solve else {}
    with pytest.raises(ValueError, match=r"y must not be negative.* position 5 is -2"):
        function(A, y, loss="poisson", **given)


def test_a_count_need_not_be_whole_and_a_small_one_below_zero_is_one() -> None:
    A, y = problem(LOSSES["poisson"])
    assert shotgun.solve(A, y + 0.5, 1.0, "poisson").status == "converged"
    with pytest.raises(ValueError, match="position 0"):
        shotgun.solve(A, np.full(N, -1e-300), 1.0, "poisson")


@pytest.mark.parametrize("function", [shotgun.solve, shotgun.path, shotgun.lambda_max])
@pytest.mark.parametrize("delta", [0, -1, np.nan, np.inf, "big", None])
def test_a_bad_delta_is_named(function: Any, delta: Any) -> None:
    A, y = problem(LOSSES["huber"])
    given = {"lam": 1.0} if function is shotgun.solve else {}
    with pytest.raises((ValueError, TypeError), match="delta must be"):
        function(A, y, loss="huber", delta=delta, **given)


def test_an_unknown_loss_is_told_which_there_are() -> None:
    data = make_data(N, D)
    with pytest.raises(ValueError, match=r"loss must be one of .*'squared_hinge'.*not 'hinge'"):
        shotgun.solve(data.A, data.y, 1.0, "hinge")
