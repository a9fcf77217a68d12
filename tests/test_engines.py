"""The engines differ in how they descend, never in what they find; all but one in no bit."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import shotgun
from conftest import make_data
from losses import DETERMINISTIC
from reference import Reference

ENGINES = (*DETERMINISTIC, "asynchronous")
PHASES = ("scan", "certify", "screen", "select", "pack", "shoot")


@cache
def large_problem(sparse: bool, loss: str) -> tuple[Any, Any, float]:
    """Large enough that work is worth sharing: several slabs of rows, 10^5 non-zeros and more."""
    rng = np.random.default_rng(0)
    if sparse:
        n, d = 4000, 1000
        A = sp.random(n, d, density=0.06, format="csc", rng=rng, data_rvs=rng.standard_normal)
    else:
        n, d = 2000, 200
        A = np.asfortranarray(rng.standard_normal((n, d)) + 0.3 * rng.standard_normal((n, 1)))
    truth = np.where(rng.random(d) < 0.05, rng.standard_normal(d), 0.0)
    score = A @ truth + rng.standard_normal(n)
    y = score if loss == "squared" else np.sign(score + rng.logistic(size=n))
    return A, y, 0.05 * shotgun.lambda_max(A, y, loss)


def fingerprint(fit: Any) -> tuple[Any, ...]:
    """All that a fit answers, timings and threads apart, to the bit."""
    rows = [
        tuple(row[k] for k in row if k not in ("threads", "seconds", *PHASES)) for row in fit.trace
    ]
    return (
        fit.x.tobytes(),
        fit.intercept,
        fit.objective,
        fit.gap,
        fit.status,
        repr(fit.rho),
        repr(rows),
    )


@pytest.mark.parametrize("P", [1, 4, 32, 100])
@pytest.mark.parametrize("engine", DETERMINISTIC)
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_the_bits_do_not_depend_on_the_number_of_threads(
    sparse: bool, loss: str, engine: str, P: int
) -> None:
    A, y, lam = large_problem(sparse, loss)
    for working_set in (True, False):
        fits = [
            shotgun.solve(
                A,
                y,
                lam,
                loss,
                engine=engine,
                P=P,
                n_threads=n_threads,
                working_set=working_set,
                tol=1e-4,
                max_epochs=5,
                trace=True,
            )
            for n_threads in (1, 2, 3, 8)
        ]
        assert len(fits[0].trace) > 1
        for fit in fits[1:]:
            assert fingerprint(fit) == fingerprint(fits[0])
        assert {row["threads"] for row in fits[0].trace} == {1}
        if engine in ("bundle", "block") and P >= 32:
            for fit, n_threads in zip(fits[1:], (2, 3, 8), strict=True):
                assert 1 < max(row["threads"] for row in fit.trace) <= n_threads


@pytest.mark.parametrize(
    "options",
    [
        {"fit_intercept": True},
        {"standardize": True},
        {"standardize": True, "fit_intercept": True, "l2": 3.0, "bounds": (-0.1, 0.2)},
        {"weights": True, "penalty_factor": True, "fit_intercept": True},
    ],
    ids=lambda o: "+".join(o),
)
@pytest.mark.parametrize("engine", DETERMINISTIC)
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_the_bits_do_not_depend_on_threads_with_any_option(
    sparse: bool, loss: str, engine: str, options: dict[str, Any]
) -> None:
    A, y, lam = large_problem(sparse, loss)
    rng = np.random.default_rng(1)
    given = dict(options)
    if given.pop("weights", False):
        given["weights"] = rng.uniform(0, 2, A.shape[0])
    if given.pop("penalty_factor", False):
        given["penalty_factor"] = np.where(np.arange(A.shape[1]) < 5, 0.0, 1.0)
    fits = [
        shotgun.solve(
            A,
            y,
            lam,
            loss,
            engine=engine,
            n_threads=t,
            tol=1e-4,
            max_epochs=5,
            trace=True,
            **given,
        )
        for t in (1, 3)
    ]
    assert fits[0].n_epochs > 0
    assert fingerprint(fits[0]) == fingerprint(fits[1])


@pytest.mark.parametrize("n_threads", [2, 3, 8])
def test_converting_and_scanning_give_the_same_bits_for_any_number_of_threads(
    n_threads: int,
) -> None:
    A, y, lam = large_problem(True, "squared")
    dense, y_dense, lam_dense = large_problem(False, "squared")
    for M, target, weight in (
        (A.tocsr(), y, lam),
        (np.ascontiguousarray(dense), y_dense, lam_dense),
    ):
        one = shotgun.solve(M, target, weight, n_threads=1)
        many = shotgun.solve(M, target, weight, n_threads=n_threads)
        np.testing.assert_array_equal(many.x, one.x)
        assert shotgun.lambda_max(M, target, n_threads=n_threads) == shotgun.lambda_max(
            M, target, n_threads=1
        )
        assert shotgun.spectral_radius(M, n_threads=n_threads) == shotgun.spectral_radius(
            M, n_threads=1
        )


@pytest.mark.parametrize("P", ["auto", 1, 4, 32, 100])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_all_engines_find_the_same_minimum(sparse: bool, loss: str, P: Any) -> None:
    A, y, lam = large_problem(sparse, loss)
    fits = {
        engine: shotgun.solve(A, y, 3 * lam, loss, engine=engine, P=P, tol=1e-5)
        for engine in ENGINES
    }
    best = min(fit.objective for fit in fits.values())
    for engine, fit in fits.items():
        assert fit.status == "converged", engine
        assert fit.gap <= fit.tolerance, engine
        assert fit.objective - best <= fit.gap, engine
        assert fit.engine == engine or engine == "auto"


@pytest.mark.parametrize("order", ["random", "cyclic"])
@pytest.mark.parametrize("engine", ["shooting", "bundle"])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_cyclic_and_random_order_both_end_certified(engine: str, order: str, loss: str) -> None:
    data = make_data(80, 60, loss, rank=3)
    lam = data.lam_max / 10
    fit = shotgun.solve(data.A, data.y, lam, loss, engine=engine, order=order, working_set=False)
    reference = Reference.of(data.A, data.y, lam, loss)
    assert fit.status == "converged"
    assert fit.objective - reference.objective(reference.solve()) <= fit.gap


def test_cyclic_order_ignores_the_seed_and_random_order_follows_it() -> None:
    data = make_data(80, 60, rank=3)

    def fit(order: str, seed: int) -> Any:
        return shotgun.solve(
            data.A, data.y, 1.0, engine="shooting", order=order, seed=seed, working_set=False
        ).x

    np.testing.assert_array_equal(fit("cyclic", 1), fit("cyclic", 2))
    np.testing.assert_array_equal(fit("random", 1), fit("random", 1))
    assert (fit("random", 1) != fit("random", 2)).any()


def test_one_cyclic_epoch_of_shooting_is_algorithm_1_by_hand() -> None:
    data = make_data(30, 10)
    lam, x, r = 2.0, np.zeros(10), data.y.copy()
    for j in range(10):
        a = data.A[:, j]
        pull = a @ r + (a @ a) * x[j]
        new = np.sign(pull) * max(abs(pull) - lam, 0.0) / (a @ a)
        r -= a * (new - x[j])
        x[j] = new
    fit = shotgun.solve(
        data.A,
        data.y,
        lam,
        engine="shooting",
        order="cyclic",
        working_set=False,
        max_epochs=1,
        n_threads=1,
    )
    assert (fit.n_epochs, fit.n_updates) == (1, 10)
    np.testing.assert_allclose(fit.x, x, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("working_set", [True, False])
@pytest.mark.parametrize("P", [8, 64, 1000])
@pytest.mark.parametrize("n_threads", [1, 2, 8])
def test_asynchronous_ends_certified_far_above_p_star(
    P: int, n_threads: int, working_set: bool
) -> None:
    # rho is close to d: P* = 2, and undamped updates diverge from P = 4.
    rng = np.random.default_rng(0)
    A = np.asfortranarray(rng.standard_normal((300, 1)) + 0.3 * rng.standard_normal((300, 200)))
    y = A[:, :5] @ [1.0, -2.0, 1.0, 0.5, 0.5] + 0.1 * rng.standard_normal(300)
    assert shotgun.ideal_p(A) <= 2
    lam = 0.01 * shotgun.lambda_max(A, y)
    fit = shotgun.solve(
        A,
        y,
        lam,
        engine="asynchronous",
        P=P,
        n_threads=n_threads,
        working_set=working_set,
        trace=True,
        tol=1e-4,
    )
    assert fit.status == "converged"
    best = shotgun.solve(A, y, lam, tol=1e-9)
    assert fit.objective - best.objective <= fit.gap <= fit.tolerance
    objectives = [row["objective"] for row in fit.trace]
    assert max(objectives) == objectives[0]


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("P", [8, 1000])
def test_asynchronous_keeps_the_bounds_whatever_the_interleaving(loss: str, P: int) -> None:
    A, y, lam = large_problem(True, loss)
    lo, hi = -0.01, 0.02
    fit = shotgun.solve(
        A, y, lam / 5, loss, engine="asynchronous", P=P, n_threads=4, bounds=(lo, hi), tol=1e-4
    )
    assert fit.status == "converged"
    assert fit.x.min() == lo
    assert fit.x.max() == hi


@pytest.mark.parametrize("engine", ["bundle", "block"])
def test_p_above_the_number_of_columns_is_all_of_them(engine: str) -> None:
    data = make_data(60, 10)
    fit = shotgun.solve(data.A, data.y, 1.0, engine=engine, P=10**9, working_set=False)
    assert fit.status == "converged"
    assert fit.P == 10


@pytest.mark.parametrize("P", [1, 3, 16])
@pytest.mark.parametrize("engine", ["bundle", "block"])
def test_p_is_what_was_asked_for(engine: str, P: int) -> None:
    data = make_data(60, 40)
    fit = shotgun.solve(data.A, data.y, 1.0, engine=engine, P=P, working_set=False)
    assert fit.P == P


def test_bundle_of_one_is_shooting() -> None:
    data = make_data(60, 40, rank=2)
    fits = [
        shotgun.solve(
            data.A, data.y, 1.0, engine=engine, P=1, order="cyclic", working_set=False, max_epochs=3
        )
        for engine in ("shooting", "bundle")
    ]
    np.testing.assert_allclose(fits[0].x, fits[1].x, rtol=1e-9, atol=1e-12)


def test_bundles_above_p_star_need_no_more_than_a_few_times_the_epochs_of_shooting() -> None:
    # Undamped updates diverge here; step-size damping would cost a factor of d / P*.
    data = make_data(200, 64, rank=2)
    lam = data.lam_max / 100
    epochs = {
        P: shotgun.solve(
            data.A, data.y, lam, engine="bundle", P=P, working_set=False, tol=1e-4
        ).n_epochs
        for P in (1, 4, 16)
    }
    assert epochs[16] <= 8 * epochs[1]


def test_block_of_all_columns_solves_a_small_problem_in_a_few_epochs() -> None:
    data = make_data(200, 32)
    fit = shotgun.solve(
        data.A, data.y, data.lam_max / 10, engine="block", P=32, working_set=False, tol=1e-8
    )
    assert fit.status == "converged"
    assert fit.n_epochs <= 10


@pytest.mark.parametrize(
    ("sparse", "shift", "loss", "fit_intercept", "chosen"),
    [
        (False, 0.0, "squared", False, "block"),
        (False, 5.0, "squared", False, "newton"),  # all columns share a direction,
        (False, 5.0, "squared", True, "block"),  # unless the intercept takes it away
        (False, 0.0, "logistic", False, "block"),
        (False, 5.0, "logistic", False, "newton"),
        (True, 0.0, "squared", False, "newton"),
    ],
)
def test_auto_chooses_engine_and_p_from_the_data_and_not_by_threads(
    sparse: bool, shift: float, loss: str, fit_intercept: bool, chosen: str
) -> None:
    A, y, lam = large_problem(sparse, loss)
    A = A if sparse else A + shift
    fits = [
        shotgun.solve(A, y, lam, loss, fit_intercept=fit_intercept, n_threads=t, tol=1e-3)
        for t in (1, 2, 8)
    ]
    assert {fit.engine for fit in fits} == {chosen}
    assert len({fit.P for fit in fits}) == 1


@pytest.mark.parametrize("sparse", [False, True])
def test_a_crowded_problem_has_the_same_bits_for_any_number_of_threads(sparse: bool) -> None:
    data = make_data(600, 6000, density=0.2 if sparse else 1.0)
    A = sp.csc_array(data.A) if sparse else data.A
    fits = [
        shotgun.solve(A, data.y, data.lam_max / 200, n_threads=t, tol=1e-3, trace=True)
        for t in (1, 2, 8)
    ]
    assert len({row["lam"] for row in fits[0].trace}) == 2  # by way of a larger one
    assert len({fingerprint(fit) for fit in fits}) == 1


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_newton_works_in_parallel_to_the_same_bits(loss: str, sparse: bool) -> None:
    data = make_data(4000, 300, loss, density=0.3 if sparse else 1.0)
    A = sp.csc_array(data.A) if sparse else data.A
    fits = [
        shotgun.solve(
            A, data.y, data.lam_max / 50, loss, engine="newton", n_threads=threads, trace=True
        )
        for threads in (1, 2, 3, 8)
    ]
    for threads, fit in zip((1, 2, 3, 8), fits, strict=True):
        assert fit.engine == "newton"
        assert (max(row["threads"] for row in fit.trace) > 1) == (threads > 1)
        assert np.array_equal(fit.x, fits[0].x)
        assert fit.gap == fits[0].gap
