"""SpaRSA against the optimum, and its rule of acceptance."""

from __future__ import annotations

import numpy as np
import pytest

from shotgun.study.solvers import ENDLESS
from shotgun.study.solvers.lasso import given
from shotgun.study.solvers.sparsa import solve


@pytest.mark.parametrize("continuation", [True, False])
def test_it_reaches_the_optimum(lasso, continuation):
    options = ENDLESS["SpaRSA"] | {"continuation": continuation}
    assert lasso.solved(solve(lasso.A, lasso.y, lasso.lam, lasso.watch(), **options))


def alpha_of(lasso, x, new):
    """The alpha with which new is the shrinkage of x - g / alpha."""
    moved = (new != 0) & (new != x)
    A, At, y = given(lasso.A, lasso.y, lasso.lam)
    g = At @ (A @ x - y)
    return np.median(-(g + lasso.lam * np.sign(new))[moved] / (new - x)[moved])


@pytest.mark.parametrize("M", [0, 5])
def test_each_step_falls_far_enough_below_the_largest_of_the_last_ones(lasso, iterates_of, M):
    sigma = 0.1
    options = ENDLESS["SpaRSA"] | {"continuation": False, "M": M, "sigma": sigma}
    x = [np.zeros(lasso.A.shape[1]), *iterates_of(solve, lasso, **options)]
    phi = [lasso.F(v) for v in x]
    assert len(phi) > 3
    for t in range(1, len(phi)):
        step, alpha = x[t] - x[t - 1], alpha_of(lasso, x[t - 1], x[t])
        fall = max(phi[max(0, t - 1 - M) : t]) - phi[t]
        assert fall >= 0.99 * sigma / 2 * alpha * (step @ step) - 1e-12 * phi[0]


def test_with_no_memory_it_is_monotone_and_with_memory_it_need_not_be(lasso_of, iterates_of):
    lasso = lasso_of("correlated", 0.01)
    rises = {}
    for M in (0, 5):
        options = ENDLESS["SpaRSA"] | {"continuation": False, "M": M}
        phi = np.array([lasso.F(x) for x in iterates_of(solve, lasso, **options)])
        rises[M] = np.diff(phi).max()
    assert rises[0] <= 1e-12 * lasso.best
    assert rises[5] > 1e-6 * lasso.best
