"""LARS against the optimum, and its path."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from shotgun.study.problems import find
from shotgun.study.solvers.lars import solve
from shotgun.study.solvers.lasso import shrink
from shotgun.study.watch import Watch


def test_it_reaches_the_optimum(lasso):
    watch = lasso.watch()
    assert lasso.solved(solve(lasso.A, lasso.y, lasso.lam, watch), 1e-9)
    assert len(watch.marks) == 1


def test_the_path_is_linear_between_knots(lasso_of):
    lasso = lasso_of("gaussian")

    def at(lam):
        return solve(lasso.A, lasso.y, lam, Watch(lasso.F))

    lams = np.linspace(0.1, 0.9, 161) * 10 * lasso.lam
    path = np.array([at(lam) for lam in lams])
    bends = np.abs(np.diff(path, 2, axis=0)).max(1) > 1e-9 * np.abs(path).max()
    supports = np.array([np.sign(x) for x in path])
    changes = (np.diff(supports, axis=0) != 0).any(1)
    assert (~bends).sum() > 50
    # a bend comes with a change of support on one of its sides
    assert (changes[:-1] | changes[1:])[bends].all()


def test_columns_that_tie_do_not_lead_it_astray():
    A, y = find("sparco002_blocksig").load()  # orthonormal, so that the optimum is a shrinkage
    x = solve(A, y, 0.5, Watch(lambda x: 0.0))
    np.testing.assert_allclose(x, shrink(A.T @ y, 0.5), atol=1e-7)


def test_it_stops_after_as_many_knots_as_allowed(lasso_of):
    lasso = lasso_of("gaussian")
    x = solve(lasso.A, lasso.y, lasso.lam, lasso.watch(), max_iter=3)
    assert np.count_nonzero(x) <= 3


def test_a_sparse_matrix_that_memory_cannot_hold_dense_is_refused():
    A = sp.csc_array((100_000, 100_000))
    with pytest.raises(MemoryError, match="100000 x 100000"):
        solve(A, np.ones(100_000), 0.5, Watch(lambda x: 0.0))
