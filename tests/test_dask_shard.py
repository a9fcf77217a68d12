"""What a worker answers for its part of a matrix, whatever order it is in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("dask")

from shotgun.dask.shard import Shard, load


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tall_rows_are_not_copied(dtype: Any) -> None:
    A = np.ones((200, 5), dtype)
    assert load("a", A).A is A
    wide = np.ones((20, 5), dtype)
    assert load("a", wide).A.flags.f_contiguous


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("which", [None, np.array([3], np.int32), np.array([4, 0, 2], np.int32)])
def test_rows_and_columns_answer_alike(which: Any, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((300, 5)).astype(dtype)
    rows, columns = load("a", A), Shard("a", np.asfortranarray(A))
    v, w = rng.standard_normal(300), rng.uniform(size=300)
    near = {"rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(rows.scan(v, which), columns.scan(v, which), **near)
    for weights in (None, w):
        np.testing.assert_allclose(rows.survey(weights, v), columns.survey(weights, v), **near)
    np.testing.assert_allclose(rows.normal(w, False), columns.normal(w, False), **near)
    if which is not None:
        np.testing.assert_array_equal(rows.columns(which), columns.columns(which))
        steps = np.arange(1.0, 1 + len(which))
        np.testing.assert_allclose(rows.product(which, steps), A[:, which] @ steps, rtol=1e-6)
        np.testing.assert_allclose(
            rows.product(which, steps), columns.product(which, steps), **near
        )
    np.testing.assert_array_equal(rows.head(7).A, A[:7])


def test_a_column_too_small_to_square_is_not_empty() -> None:
    A = np.zeros((100, 3))
    A[:, 0], A[3, 1] = 1.0, 1e-170
    rows, columns = load("a", A), Shard("a", np.asfortranarray(A))
    assert (rows.survey(None, np.ones(100))[1] > 0).all()
    np.testing.assert_array_equal(
        rows.survey(None, np.ones(100)), columns.survey(None, np.ones(100))
    )


def test_what_overflows_is_no_warning() -> None:
    A = np.full((100, 2), 1e200)
    sums = load("a", A).survey(None, np.ones(100))
    assert np.isinf(sums[1]).all()
    assert not np.isfinite(load("a", A).normal(np.ones(100), True)).all()
