"""L1_LS against the optimum, and its certificate."""

from __future__ import annotations

import numpy as np

from shotgun.study.solvers import ENDLESS
from shotgun.study.solvers.l1_ls import backtrack, gram_diagonal, hessian, preconditioner, solve
from shotgun.study.watch import Watch


def test_it_reaches_the_optimum(lasso):
    assert lasso.solved(solve(lasso.A, lasso.y, lasso.lam, lasso.watch(), **ENDLESS["L1_LS"]))


def test_the_gap_it_stops_at_bounds_the_suboptimality(lasso):
    for reltol in (0.1, 1e-3, 1e-6):
        watch = Watch(lasso.F, limit=20.0)
        x = solve(lasso.A, lasso.y, lasso.lam, watch, reltol=reltol)
        assert lasso.F(x) - lasso.best <= reltol * lasso.best * (1 + 1e-9)


def test_the_hessian_and_its_preconditioner_agree_where_columns_are_orthogonal():
    rng = np.random.default_rng(0)
    A = np.linalg.qr(rng.standard_normal((9, 5)))[0] * rng.uniform(0.5, 2.0, 5)
    q1, q2, t = rng.uniform(0.5, 2.0, 5), rng.uniform(0.5, 2.0, 5), 3.0
    v = rng.standard_normal(10)
    there = hessian(A, A.T, q1, q2, t)(v)
    np.testing.assert_allclose(preconditioner(gram_diagonal(A), q1, q2, t)(there), v)


def test_the_diagonal_of_the_gram_matrix_is_exact_or_its_mean(lasso_of):
    for kind in ("gaussian", "sparse", "wide"):
        A = lasso_of(kind).A
        np.testing.assert_allclose(
            gram_diagonal(A), np.linalg.norm(A @ np.eye(A.shape[1]), axis=0) ** 2
        )
    A = lasso_of("cosines").A
    mean = (np.linalg.norm(A @ np.eye(256), axis=0) ** 2).mean()
    np.testing.assert_allclose(gram_diagonal(A), mean, rtol=0.5)


def test_a_step_stays_between_the_bounds():
    x, u = np.zeros(2), np.ones(2)
    dx, du = np.array([10.0, 0.0]), np.zeros(2)
    s = backtrack(x, u, np.array([-5.0, 0.0]), dx, du, dx, -50.0, 1.0, 1.0, 0.01, 0.5)
    assert s > 0
    assert (np.abs(x + s * dx) < u + s * du).all()
