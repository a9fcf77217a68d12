"""A fit ends at its tolerance, a limit, a callback's word or the last bits, and says which."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import shotgun
from conftest import D, Data, N, make_data
from reference import Reference
from shotgun.solve import ENGINES


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


def test_epochs_of_the_null_model_are_not_charged_to_max_epochs() -> None:
    rng = np.random.default_rng(2)
    A, y = rng.standard_normal((300, 40)), rng.standard_normal(300)
    factor = np.r_[np.zeros(12), np.ones(28)]
    fit = shotgun.solve(A, y, 1.0, penalty_factor=factor, max_epochs=5, tol=1e-14)
    assert fit.n_epochs <= 5


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("working_set", [True, False])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_deadline_ends_a_fit_in_time(engine: str, working_set: bool, loss: str) -> None:
    rng = np.random.default_rng(0)
    A = np.asfortranarray(rng.standard_normal((400, 1)) + 0.01 * rng.standard_normal((400, 2000)))
    y = A[:, :20].sum(1) + rng.standard_normal(400)
    y = y if loss == "squared" else np.sign(y)
    lam = 1e-6 * shotgun.lambda_max(A, y, loss)
    begin = time.thread_time()  # of the fit's own: others on the machine cannot lengthen it
    fit = shotgun.solve(
        A, y, lam, loss, engine=engine, working_set=working_set, deadline=0.05, tol=1e-13
    )
    assert time.thread_time() - begin < 0.4
    assert fit.status == "deadline"
    assert fit.gap > fit.tolerance
    assert fit.objective == pytest.approx(Reference.of(A, y, lam, loss).objective(fit.x), rel=1e-9)


def test_a_deadline_of_0_returns_a_valid_point(hard: Data) -> None:
    fit = shotgun.solve(hard.A, hard.y, 1.0, deadline=0.0)
    assert fit.status == "deadline"
    assert np.isfinite(fit.x).all()
    assert fit.objective <= 0.5 * hard.y @ hard.y * (1 + 1e-12)
    assert fit.gap >= 0


def test_an_infinite_deadline_is_none_and_a_negative_one_is_refused(data: Data) -> None:
    fit = shotgun.solve(data.A, data.y, 1.0, deadline=np.inf)
    assert fit.status == "converged"
    for deadline in (-1.0, -np.inf, np.nan):
        with pytest.raises(ValueError, match=r"^deadline must be"):
            shotgun.solve(data.A, data.y, 1.0, deadline=deadline)


def test_a_deadline_holds_while_free_weights_are_fitted() -> None:
    rng = np.random.default_rng(3)
    A, y = rng.standard_normal((3000, 300)), rng.standard_normal(3000)
    factor = np.r_[np.zeros(290), np.ones(10)]
    begin = time.thread_time()
    fit = shotgun.solve(A, y, 1.0, penalty_factor=factor, deadline=0.05)
    assert time.thread_time() - begin < 0.5
    assert fit.status == "deadline"


@pytest.mark.parametrize("deadline", [0.0, 1e-4, 1e-3, 5e-3, 2e-2])
def test_the_gap_bounds_the_error_wherever_a_deadline_falls(deadline: float) -> None:
    # Several runs of columns, the signal in the last: a scan cut short would miss it.
    rng = np.random.default_rng(0)
    A = np.asfortranarray(rng.standard_normal((500, 4000)))
    y = 3 * A[:, -50:].sum(axis=1)
    best = shotgun.solve(A, y, 1.0, tol=1e-9)
    fit = shotgun.solve(A, y, 1.0, deadline=deadline)
    assert fit.objective - best.objective <= fit.gap


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


def test_the_tolerance_is_what_the_gap_was_held_against() -> None:
    fit = shotgun.solve(np.eye(3), np.full(3, 0.1), 1.0, fit_intercept=True)
    assert fit.null_objective > 0  # but nothing else than rounding
    assert fit.status == "converged"
    assert fit.gap <= fit.tolerance
