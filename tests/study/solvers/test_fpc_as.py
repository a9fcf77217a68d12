"""FPC_AS against the optimum, and its active set."""

from __future__ import annotations

import numpy as np

from shotgun.study.solvers import ENDLESS
from shotgun.study.solvers.fpc_as import Point, Shrinkage, solve, squared_norm, suboptimise
from shotgun.study.solvers.lasso import given
from shotgun.study.watch import Watch


def point(A, y, x):
    r = A @ x - y
    return Point(x, r, A.T @ r)


def test_it_reaches_the_optimum(lasso):
    assert lasso.solved(solve(lasso.A, lasso.y, lasso.lam, lasso.watch(), **ENDLESS["FPC_AS"]))


def test_the_active_set_is_the_support_of_the_solution_and_of_the_signal_if_that_is_easy():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((100, 200))
    truth = np.zeros(200)
    truth[[3, 50, 120, 199]] = [5.0, -4.0, 3.0, -6.0]
    x = solve(A, A @ truth, 5.0, Watch(lambda x: 0.0, limit=20.0))
    assert np.flatnonzero(x).tolist() == [3, 50, 120, 199]
    np.testing.assert_array_equal(np.sign(x), np.sign(truth))


def test_it_stops_where_the_subgradient_is_as_small_as_asked_for(lasso):
    x = solve(lasso.A, lasso.y, lasso.lam, Watch(lasso.F, limit=20.0), gtol=1e-5)
    A, At, y = given(lasso.A, lasso.y, lasso.lam)
    r = A @ x - y
    assert Point(x, r, At @ r).violation(lasso.lam) <= 1e-5


def test_the_violation_is_zero_at_the_optimum_alone():
    y = np.array([3.0, -2.0, 0.5])
    assert point(np.eye(3), y, np.array([2.0, -1.0, 0.0])).violation(1.0) == 0
    assert point(np.eye(3), y, np.array([2.0, -1.0, 0.1])).violation(1.0) > 0.5
    assert point(np.eye(3), y, np.array([2.0, 0.0, 0.0])).violation(1.0) == 1.0


def test_the_subspace_is_solved_exactly_where_no_sign_changes(lasso_of):
    lasso = lasso_of("gaussian")
    A, y, mu = lasso.A, lasso.y, lasso.lam
    started = point(A, y, lasso.x * np.random.default_rng(0).uniform(0.8, 1.2, 100))
    found = suboptimise(A, A.T, y, started, mu, 200, Watch(lasso.F))
    np.testing.assert_allclose(found.x, lasso.x, atol=1e-4)


def test_the_subspace_keeps_signs_and_never_raises_the_objective(lasso_of):
    lasso = lasso_of("correlated")
    A, y, mu = lasso.A, lasso.y, lasso.lam
    for seed in range(10):
        x = np.random.default_rng(seed).standard_normal(60)
        at = point(A, y, x)
        found = suboptimise(A, A.T, y, at, mu, 50, Watch(lasso.F))
        assert found.psi(mu) <= at.psi(mu)
        assert (found.x * x >= 0).all()


def test_shrinkage_meets_its_nonmonotone_bound(lasso_of):
    lasso = lasso_of("correlated")
    shrinking = Shrinkage(lasso.A, lasso.A.T)
    at = shrinking.start(lasso.y)
    shrinking.restart(at, lasso.lam)
    for _ in range(50):
        bound = shrinking.C
        at = shrinking.step(at, lasso.lam)
        assert at.psi(lasso.lam) <= bound * (1 + 1e-12)


def test_the_norm_is_that_of_the_matrix():
    A = np.random.default_rng(0).standard_normal((30, 20))
    assert 0.9 <= squared_norm(A, A.T) / np.linalg.norm(A, 2) ** 2 <= 1 + 1e-12
