"""Theorem 3.1: the change of F is at most sequential progress plus interference."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shotgun import theory


def change_of(problem: theory.Problem, xhat: np.ndarray, draws: list[int]) -> float:
    """F(x + Delta x) - F(x) where deltas of the same weight add."""
    gradient = problem.duplicated_gradient(xhat)
    Delta = np.zeros(2 * problem.d)
    for j in draws:
        Delta[j] += max(-xhat[j], -gradient[j] / problem.loss.beta)
    return problem.duplicated_objective(xhat + Delta) - problem.duplicated_objective(xhat)


@settings(deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 8),
    d=st.integers(1, 8),
    P=st.integers(1, 12),
    correlation=st.sampled_from([0.0, 1.0, 10.0]),
    zeros=st.floats(0.0, 1.0),
)
def test_change_of_f_is_at_most_progress_plus_interference(
    random_problem, seed, n, d, P, correlation, zeros
):
    problem = random_problem(seed, n, d, "squared", correlation=correlation)
    rng = np.random.default_rng(seed)
    xhat = np.where(rng.random(2 * d) < zeros, 0.0, rng.random(2 * d))
    draws = rng.integers(2 * d, size=P).tolist()
    terms = theory.theorem_3_1_terms(problem, xhat, draws)
    scale = problem.duplicated_objective(xhat) + abs(sum(terms))
    assert change_of(problem, xhat, draws) <= sum(terms) + 1e-12 * scale


def test_bound_is_an_equality_when_no_update_meets_zero(random_problem):
    problem = random_problem(0, 10, 4, "squared")
    xhat, draws = np.full(8, 100.0), [0, 3, 3, 6]
    terms = theory.theorem_3_1_terms(problem, xhat, draws)
    assert change_of(problem, xhat, draws) == pytest.approx(sum(terms), rel=1e-9)


def test_one_update_has_no_interference(random_problem):
    problem = random_problem(1, 10, 4, "squared", correlation=3.0)
    terms = theory.theorem_3_1_terms(problem, np.zeros(8), [2])
    assert terms.interference == pytest.approx(0.0, abs=1e-15)
    assert terms.sequential_progress <= 0.0


def test_orthonormal_columns_do_not_interfere():
    problem = theory.Problem(np.eye(4), np.array([3.0, -2.0, 1.0, 5.0]), 0.1)
    terms = theory.theorem_3_1_terms(problem, np.zeros(8), [0, 5, 2, 3])
    assert terms.interference == pytest.approx(0.0, abs=1e-14)
    assert terms.sequential_progress == pytest.approx(-0.5 * (2.9**2 + 1.9**2 + 0.9**2 + 4.9**2))


def test_identical_columns_interfere_p_minus_1_times_the_progress():
    P = 5
    problem = theory.Problem(np.ones((1, P)), np.ones(1), 0.0)
    terms = theory.theorem_3_1_terms(problem, np.zeros(2 * P), range(P))
    assert terms.interference == pytest.approx(-(P - 1) * terms.sequential_progress)
