"""What the solvers share."""

from __future__ import annotations

import numpy as np
import pytest

from shotgun.study.solvers import lasso as shared


def test_the_transpose_and_the_columns_are_those_of_the_matrix_in_every_form(lasso):
    A, At, y = shared.given(lasso.A, lasso.y, lasso.lam)
    matrix = shared.dense(A)
    J = np.arange(A.shape[1]) % 3 == 1
    A_J = shared.columns(A, J)
    v = np.random.default_rng(0).standard_normal(J.sum())
    np.testing.assert_allclose(At @ y, matrix.T @ y, atol=1e-12)
    np.testing.assert_allclose(A_J @ v, matrix[:, J] @ v, atol=1e-12)
    np.testing.assert_allclose(shared.transposed(A_J) @ y, matrix[:, J].T @ y, atol=1e-12)


def test_shrinkage_minimises_its_objective():
    v, x = np.array([3.0, -0.5, -2.0]), shared.shrink(np.array([3.0, -0.5, -2.0]), 1.0)
    assert x.tolist() == [2.0, 0.0, -1.0]
    for other in x + 0.1 * np.random.default_rng(0).standard_normal((50, 3)):
        value, least = (0.5 * ((z - v) ** 2).sum() + np.abs(z).sum() for z in (other, x))
        assert value >= least


def test_the_dual_objective_is_at_most_the_optimum_and_meets_it_there(lasso):
    A, At, y = shared.given(lasso.A, lasso.y, lasso.lam)
    rng = np.random.default_rng(0)
    for scale in (0.0, 0.1, 1.0):
        z = A @ (lasso.x + scale * rng.standard_normal(A.shape[1])) - y
        assert shared.dual_objective(z, At @ z, y, lasso.lam) <= lasso.best * (1 + 1e-12)
    z = A @ lasso.x - y
    assert shared.dual_objective(z, At @ z, y, lasso.lam) == pytest.approx(lasso.best, rel=1e-4)


@pytest.mark.parametrize("preconditioned", [False, True])
def test_conjugate_gradients_solve_a_linear_system_in_as_many_steps_as_unknowns(preconditioned):
    rng = np.random.default_rng(0)
    R = rng.standard_normal((12, 8))
    H, b = R.T @ R, rng.standard_normal(8)
    scale = np.diag(H) if preconditioned else np.ones(8)
    x = shared.conjugate_gradients(
        lambda v: H @ v,
        b,
        np.zeros(8),
        tol=0.0,
        max_iter=8,
        overdue=lambda: False,
        precondition=lambda r: r / scale,
    )
    np.testing.assert_allclose(x, np.linalg.solve(H, b), rtol=1e-6)
