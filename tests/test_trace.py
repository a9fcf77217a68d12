"""What a fit tells a callback and its trace on the way: F never rises, and every gap is true."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shotgun
from conftest import D, Data, N, make_data
from reference import Reference
from shotgun.solve import ENGINES


def test_a_callback_is_told_what_the_design_promises(hard: Data) -> None:
    seen: list[dict[str, Any]] = []
    fit = shotgun.solve(hard.A, hard.y, 0.1 * hard.lam_max, callback=seen.append, trace=True)
    assert fit.status == "converged"
    assert {"round", "epoch", "objective", "gap", "working_set", "P", "seconds"} <= set(seen[0])
    assert seen == fit.trace or str(seen) == str(fit.trace)  # NaN != NaN in rho
    assert seen[-1]["epoch"] == fit.n_epochs
    assert seen[-1]["gap"] <= fit.tolerance


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
