"""Hard_l0: planted signals come back."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from shotgun.study.solvers.hard_l0 import solve, threshold
from shotgun.study.watch import Watch


def residual(A, y):
    return Watch(lambda x: 0.5 * float(((A @ x - y) ** 2).sum()), limit=20.0)


def planted(kind, lasso_of, s, seed=0):
    """A matrix of nearly orthogonal columns of unit norm, and a signal of s weights."""
    rng = np.random.default_rng(seed)
    if kind == "gaussian":
        A = rng.standard_normal((100, 200)) / 10
    elif kind == "signs":
        A = sp.random_array((200, 300), density=0.1, rng=rng, format="csr")
        A.data = np.sign(A.data - 0.5) / np.sqrt(20)
    else:
        A = lasso_of(kind).A
    truth = np.zeros(A.shape[1])
    where = rng.choice(A.shape[1], s, replace=False)
    truth[where] = rng.choice([-1.0, 1.0], s) * (1 + rng.random(s))
    return A, truth


@pytest.mark.parametrize("kind", ["gaussian", "signs", "tall", "cosines"])
@pytest.mark.parametrize("seed", range(3))
def test_it_recovers_a_planted_sparse_signal(lasso_of, kind, seed):
    A, truth = planted(kind, lasso_of, 4, seed)
    x = solve(A, A @ truth, 1.0, residual(A, A @ truth), s=4)
    np.testing.assert_allclose(x, truth, atol=1e-5)


def test_noise_moves_a_planted_signal_by_no_more_than_noise(lasso_of):
    A, truth = planted("gaussian", lasso_of, 10)
    y = A @ truth + 0.001 * np.random.default_rng(1).standard_normal(100)
    x = solve(A, y, 1.0, residual(A, y), s=10)
    assert np.linalg.norm(x - truth) < 0.02
    assert (np.flatnonzero(x) == np.flatnonzero(truth)).all()


def test_a_fixed_step_recovers_it_too_if_the_norm_of_the_matrix_is_below_one(lasso_of):
    A, truth = planted("gaussian", lasso_of, 4)
    A = A / (1.01 * np.linalg.norm(A, 2))
    x = solve(A, A @ truth, 1.0, residual(A, A @ truth), s=4, step=1.0)
    np.testing.assert_allclose(x, truth, atol=1e-4)


def test_the_residual_never_rises_and_no_iterate_has_more_than_s_weights(lasso_of):
    lasso = lasso_of("correlated")
    watch = residual(lasso.A, lasso.y)
    watch.look = lambda x: {"size": float(np.count_nonzero(x))}
    solve(lasso.A, lasso.y, 1.0, watch, s=7)
    values = np.array([mark.objective for mark in watch.marks])
    assert (np.diff(values) <= 1e-12 * values[0]).all()
    assert max(mark.extras["size"] for mark in watch.marks) <= 7


def test_thresholding_keeps_the_largest():
    assert threshold(np.array([1.0, -3.0, 2.0, 0.0]), 2).tolist() == [0.0, -3.0, 2.0, 0.0]


@pytest.mark.parametrize("s", [0, 4, 1.5])
def test_a_bad_sparsity_is_named(s):
    with pytest.raises((ValueError, TypeError), match="s must"):
        solve(np.eye(3), np.ones(3), 1.0, residual(np.eye(3), np.ones(3)), s=s)
