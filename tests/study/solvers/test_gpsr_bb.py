"""GPSR_BB against the optimum, and its monotony."""

from __future__ import annotations

import numpy as np
import pytest

from shotgun.study.solvers import ENDLESS
from shotgun.study.solvers.gpsr_bb import lcp, solve
from shotgun.study.solvers.lasso import given


@pytest.mark.parametrize("monotone", [True, False])
@pytest.mark.parametrize("continuation", [True, False])
def test_it_reaches_the_optimum(lasso, monotone, continuation):
    options = ENDLESS["GPSR_BB"] | {"monotone": monotone, "continuation": continuation}
    assert lasso.solved(solve(lasso.A, lasso.y, lasso.lam, lasso.watch(), **options))


def test_the_objective_never_rises_in_monotone_mode(lasso):
    watch = lasso.watch(1e-9)
    solve(lasso.A, lasso.y, lasso.lam, watch, continuation=False, **ENDLESS["GPSR_BB"])
    values = np.array([mark.objective for mark in watch.marks])
    assert len(values) > 5
    assert (np.diff(values) <= 1e-12 * values[0]).all()


def test_the_objective_may_rise_in_the_other(lasso_of):
    lasso = lasso_of("correlated", 0.01)
    watch = lasso.watch(1e-9)
    options = ENDLESS["GPSR_BB"] | {"monotone": False, "continuation": False}
    solve(lasso.A, lasso.y, lasso.lam, watch, **options)
    values = np.array([mark.objective for mark in watch.marks])
    assert (np.diff(values) > 0).any()


def test_the_lcp_estimate_is_zero_at_the_optimum_alone(lasso):
    A, At, y = given(lasso.A, lasso.y, lasso.lam)
    g = At @ (A @ lasso.x - y)
    u, v = np.maximum(lasso.x, 0.0), np.maximum(-lasso.x, 0.0)
    assert lcp(u, v, g, lasso.lam) < 1e-4
    assert lcp(u + 0.1, v, g, lasso.lam) > 1e-3


def test_continuation_starts_with_fewer_weights(lasso_of, iterates_of):
    lasso = lasso_of("gaussian", 1e-3)
    counts = [np.count_nonzero(x) for x in iterates_of(solve, lasso, **ENDLESS["GPSR_BB"])]
    cold = iterates_of(solve, lasso, **ENDLESS["GPSR_BB"], continuation=False)
    assert counts[0] < np.count_nonzero(cold[0])
