"""Theorem 2.1: the convergence of Shooting."""

import numpy as np
import pytest

from shotgun import theory

RECORDED = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000]


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("correlation", [0.0, 1.0])
def test_mean_suboptimality_of_shooting_is_below_the_bound_at_every_recorded_t(
    random_problem, optimum, loss, correlation
):
    problem = random_problem(0, 30, 20, loss, correlation=correlation)
    x_star, F_star = optimum(problem)
    F = np.mean([theory.shooting(problem, RECORDED, seed=k).F for k in range(20)], axis=0)
    assert np.all(F - F_star <= theory.theorem_2_1_bound(problem, x_star, RECORDED))


def test_bound_at_t_0_already_exceeds_f_of_the_start(random_problem, optimum):
    problem = random_problem(1, 30, 20, "squared")
    x_star, _ = optimum(problem)
    assert theory.theorem_2_1_bound(problem, x_star, 0) >= problem.objective(np.zeros(20))


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_shooting_never_raises_f(random_problem, loss):
    problem = random_problem(2, 30, 20, loss, correlation=1.0)
    F = theory.shooting(problem, range(1, 400)).F
    assert np.all(np.diff(F) <= 1e-12 * F[0])
