"""Assumptions 2.1 and 3.1 hold with beta = 1 (squared) and 1/4 (logistic), and not with less."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shotgun import theory

LOSS = st.sampled_from(["squared", "logistic"])
SEED = st.integers(0, 2**32 - 1)


def holds(sides: theory.Sides, size: float) -> bool:
    """Up to rounding: both sides are sums of terms of size `size` squared."""
    return sides.left <= sides.right + 1e-12 * (1.0 + size**2)


@settings(deadline=None)
@given(seed=SEED, loss=LOSS, n=st.integers(1, 8), d=st.integers(1, 6), scale=st.floats(1e-3, 1e3))
def test_assumption_2_1_holds_for_any_single_weight_update(random_problem, seed, loss, n, d, scale):
    problem = random_problem(seed, n, d, loss)
    rng = np.random.default_rng(seed)
    xhat, j = scale * rng.random(2 * d), int(rng.integers(2 * d))
    assert holds(theory.assumption_2_1(problem, xhat, j, scale * rng.standard_normal()), 10 * scale)


@settings(deadline=None)
@given(seed=SEED, loss=LOSS, n=st.integers(1, 8), d=st.integers(1, 6), scale=st.floats(1e-3, 1e3))
def test_assumption_3_1_holds_for_any_parallel_update(random_problem, seed, loss, n, d, scale):
    problem = random_problem(seed, n, d, loss)
    rng = np.random.default_rng(seed)
    xhat, Delta = scale * rng.random(2 * d), scale * rng.standard_normal(2 * d)
    assert holds(theory.assumption_3_1(problem, xhat, Delta), 10 * scale)


def test_assumption_2_1_is_assumption_3_1_of_one_weight(random_problem):
    problem = random_problem(0, 10, 4, "logistic")
    xhat = np.full(8, 0.5)
    single = theory.assumption_2_1(problem, xhat, 6, 0.3)
    assert single == pytest.approx(theory.assumption_3_1(problem, xhat, 0.3 * np.eye(8)[6]))


def test_assumptions_are_equalities_for_the_squared_loss(random_problem):
    problem = random_problem(1, 10, 4, "squared")
    rng = np.random.default_rng(1)
    sides = theory.assumption_3_1(problem, rng.random(8), rng.standard_normal(8))
    assert sides.left == pytest.approx(sides.right)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_no_smaller_beta_satisfies_assumption_2_1(random_problem, loss):
    problem = random_problem(2, 10, 4, loss)
    problem.loss = replace(problem.loss, beta=0.99 * problem.loss.beta)
    # At x = 0 the logistic loss has its largest curvature, 1/4.
    sides = theory.assumption_2_1(problem, np.zeros(8), 3, 1e-2)
    assert sides.left > sides.right
