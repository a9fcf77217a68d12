"""Blocks of columns: each fits its room, and steps to the minimum of the model it is given."""

from __future__ import annotations

import numpy as np
import pytest

import shotgun
from shotgun.blocks import Model, Partition, Weights, step


def test_blocks_fit_their_room_and_columns_keep_their_place():
    partition = Partition(np.array([4.0, 3.0, 2.0, 20.0, 1.0, 5.0]), room=8.0)
    first = partition.take_in(np.array([3, 0, 1, 4]))
    assert [block.tolist() for block in first] == [[0, 1], [3], [4]]  # 3 has more than a room
    assert [block.tolist() for block in partition.take_in(np.array([1, 5, 2]))] == [[2, 5]]
    assert partition.block_of.tolist() == [0, 0, 3, 1, 2, 3]
    assert partition.places(np.array([5, 1, 3])).tolist() == [1, 1, 0]
    assert not partition.take_in(np.arange(6))


@pytest.mark.parametrize("intercept", [False, True])
def test_a_block_of_all_columns_steps_to_the_minimum(intercept):
    rng = np.random.default_rng(0)
    A, y = rng.standard_normal((30, 8)), rng.standard_normal(30) + 2
    x = rng.standard_normal(8)
    h = rng.uniform(0.5, 2, 30)
    h[3] = 0.0
    best = shotgun.solve(
        A / 2, y, 1.5, weights=h, l2=0.3, bounds=(-0.4, 0.5), fit_intercept=intercept, tol=1e-12
    )
    weights = Weights(
        np.arange(8), x, np.full(8, 0.5), np.full(8, 1.5), np.full(8, -0.4), np.full(8, 0.5)
    )
    model = Model(0.3, h * (A @ x / 2 - y), h, intercept, 1e-12)
    goal, dz = step(A, weights, model)
    np.testing.assert_allclose(goal, best.x, atol=1e-6)
    np.testing.assert_allclose(A @ x / 2 + dz, A @ best.x / 2 + best.intercept, atol=1e-6)
