"""GLMNET against the optimum, if it is installed."""

from __future__ import annotations

import itertools
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from shotgun.study.solvers import ENDLESS
from shotgun.study.solvers.glmnet import path, solve
from shotgun.study.watch import Watch


def backwards(A):
    """The same matrix, the entries of each column stored from the last row to the first."""
    turned = A.copy()
    for start, end in itertools.pairwise(A.indptr):
        turned.indices[start:end] = A.indices[start:end][::-1]
        turned.data[start:end] = A.data[start:end][::-1]
    turned.has_sorted_indices = False
    return turned


def test_it_reaches_the_optimum(lasso):
    pytest.importorskip("glmnet")
    watch = lasso.watch()
    assert lasso.solved(solve(lasso.A, lasso.y, lasso.lam, watch, **ENDLESS["GLMNET"]))
    assert len(watch.marks) == 1


def test_the_order_of_indices_does_not_matter():
    pytest.importorskip("glmnet")
    rng = np.random.default_rng(0)
    A = sp.random_array((300, 50), density=0.1, format="csc", rng=rng)
    y = A @ rng.standard_normal(50)
    x, same = (solve(M, y, 0.1, Watch(lambda x: 0.0)) for M in (A, backwards(A)))
    np.testing.assert_array_equal(x, same)


def test_its_absence_is_told_with_the_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "glmnet", None)
    with pytest.raises(ImportError, match="pip install python-glmnet"):
        solve(np.eye(3), np.ones(3), 0.5, Watch(lambda x: 0.0))


def test_the_path_goes_from_the_largest_lam_to_the_one_asked_for_at_the_published_pace():
    lams = path(10.0, 1.0, 0.01, 100)
    assert lams[0] == 10.0
    assert lams[-1] == pytest.approx(1.0)
    assert len(lams) == 51
    assert path(10.0, 11.0, 0.01, 100).tolist() == [11.0]
