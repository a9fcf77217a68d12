"""Warm starts: no answer is worse than x0, and x0 itself stays as it is."""

from __future__ import annotations

import numpy as np
import pytest

import shotgun
from conftest import OPTIONS, D, N, make_data
from reference import Reference
from shotgun.solve import ENGINES


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


def test_a_fit_that_has_no_time_to_look_at_a_keeps_x0() -> None:
    data = make_data(1000, 2000)
    lam = data.lam_max / 10
    best = shotgun.solve(data.A, data.y, lam)
    fit = shotgun.solve(data.A, data.y, lam, x0=best.x, deadline=0.0, n_threads=1)
    assert fit.status == "deadline"
    assert fit.objective <= best.objective * (1 + 1e-12)
    assert fit.n_screened == 0


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
