"""Every loss is minimised, certified and reported alike; each agrees with others that know it."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression, PoissonRegressor
from sklearn.svm import LinearSVC

import shotgun
from conftest import OPTIONS, D, N, half_free, make_data
from reference import CLASSES, Reference, assert_optimal, loss_slopes, loss_values

LOSSES: dict[str, dict[str, Any]] = {
    "squared": {"loss": "squared"},
    "logistic": {"loss": "logistic"},
    "squared hinge": {"loss": "squared_hinge"},
    "huber": {"loss": "huber"},
    "huber, small delta": {"loss": "huber", "delta": 0.2},
    "poisson": {"loss": "poisson"},
}
CDN = ("shooting_cdn", "shotgun_cdn")
DETERMINISTIC = ("auto", "shooting", "bundle", "block", "newton", *CDN)

every_loss = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES.keys())
either_form = pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])


def problem(loss: Any, sparse: bool = False, n: int = N, d: int = D, **kind: Any) -> Any:
    """A random problem of the loss's kind."""
    data = make_data(n, d, loss["loss"], density=0.6 if sparse else 1.0, **kind)
    return (sp.csc_array(data.A) if sparse else data.A), data.y


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


@every_loss
def test_shotgun_cdn_of_one_is_shooting_cdn(loss: Any) -> None:
    A, y = problem(loss, d=60)
    lam = 0.05 * shotgun.lambda_max(A, y, **loss)
    for most in (1, 3, 10):  # the active set of each must be the other's
        fits = [
            shotgun.solve(
                A,
                y,
                lam,
                engine=engine,
                P=1,
                order="cyclic",
                working_set=False,
                max_epochs=most,
                tol=1e-9,
                **loss,
            )
            for engine in CDN
        ]
        assert fits[0].n_updates == fits[1].n_updates
        np.testing.assert_allclose(fits[0].x, fits[1].x, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("engine", CDN)
@every_loss
def test_an_active_set_saves_updates(loss: Any, engine: str) -> None:
    A, y = problem(loss, d=400)
    lam = 0.2 * shotgun.lambda_max(A, y, **loss)
    fit = shotgun.solve(A, y, lam, engine=engine, working_set=False, tol=1e-7, **loss)
    assert fit.status == "converged"
    assert fit.n_updates < 0.7 * 400 * fit.n_epochs


@every_loss
def test_one_cyclic_epoch_of_shooting_cdn_is_newton_along_each_column(loss: Any) -> None:
    A, y = problem(loss, d=6)
    lam = 0.2 * shotgun.lambda_max(A, y, **loss)
    x, delta = np.zeros(6), loss.get("delta", 1.35)
    reference = Reference.of(A, y, lam, **loss)
    for j in range(6):
        g, h = loss_slopes(loss["loss"], A @ x, y, delta)
        slope = A[:, j] @ g
        curvature = A[:, j] ** 2 @ h
        step = np.zeros(6)
        step[j] = -np.sign(slope) * max(abs(slope) - lam, 0.0) / curvature
        while step.any():
            promised = slope * step[j] + lam * abs(step[j])
            if reference.objective(x + step) - reference.objective(x) <= 0.01 * promised:
                break
            step /= 2
        x += step
    fit = shotgun.solve(
        A,
        y,
        lam,
        engine="shooting_cdn",
        order="cyclic",
        working_set=False,
        max_epochs=1,
        tol=1e-12,
        **loss,
    )
    assert (fit.n_epochs, fit.n_updates) == (1, 6)
    np.testing.assert_allclose(fit.x, x, rtol=1e-9, atol=1e-12)


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


# Hard cases


@pytest.mark.parametrize("engine", [*DETERMINISTIC, "asynchronous"])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("loss", CLASSES)
def test_separable_classes_end_certified(loss: str, fit_intercept: bool, engine: str) -> None:
    A = np.random.default_rng(0).standard_normal((N, 5))
    y = np.sign(A @ [1, 2, 0, 0, -1])
    largest = shotgun.lambda_max(A, y, loss)
    for ratio in (1e-2, 1e-4, 1e-6):
        fit = shotgun.solve(
            A, y, ratio * largest, loss, fit_intercept=fit_intercept, engine=engine, max_epochs=5000
        )
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
