"""Theorem 3.2: the convergence of Shotgun, its limits rho = 1 and rho = d, and its slip."""

import math

import numpy as np
import pytest

from shotgun import theory

RECORDED = [1, 2, 5, 10, 20, 50, 100, 200, 500]


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("weights", ["duplicated", "signed"])
@pytest.mark.parametrize("correlation", [0.0, 0.5, 2.0])
def test_mean_suboptimality_is_below_the_bounds_at_every_recorded_t(
    random_problem, optimum, loss, weights, correlation
):
    problem = random_problem(0, 40, 30, loss, correlation=correlation)
    x_star, F_star = optimum(problem)
    P_star = theory.ideal_p(problem.A)
    for P in sorted({1, math.ceil(P_star / 2), P_star}):
        assert theory.theorem_3_2_condition(problem, P)
        F = theory.mean_objective(problem, P, RECORDED, runs=10, weights=weights)
        printed = theory.theorem_3_2_bound(problem, x_star, P, RECORDED)
        proved = theory.theorem_3_2_bound_proved(problem, x_star, P, RECORDED)
        assert np.all(printed <= proved)
        assert np.all(F - F_star <= printed)
    # P_star = ceil(d/rho) >= d/rho, at which the second bound is the first
    at_ideal_p = theory.theorem_3_2_bound_at_ideal_p(problem, x_star, RECORDED)
    assert np.all(F - F_star <= at_ideal_p)


def test_second_bound_is_the_first_at_p_equal_2d_over_rho(random_problem, optimum):
    problem = random_problem(1, 40, 30, "squared")
    x_star, _ = optimum(problem)
    P = 2 * problem.d / theory.duplicated_spectral_radius(problem.A)
    first = theory.theorem_3_2_bound(problem, x_star, 1, RECORDED) / P
    assert theory.theorem_3_2_bound_at_ideal_p(problem, x_star, RECORDED) == pytest.approx(first)


def test_with_p_1_theorem_3_2_is_theorem_2_1(random_problem, optimum):
    problem = random_problem(2, 40, 30, "logistic")
    x_star, _ = optimum(problem)
    shooting = theory.theorem_2_1_bound(problem, x_star, RECORDED)
    assert np.array_equal(theory.theorem_3_2_bound(problem, x_star, 1, RECORDED), shooting)
    proved = theory.theorem_3_2_bound_proved(problem, x_star, 1, RECORDED)
    assert proved == pytest.approx(shooting)


def test_condition_is_p_below_d_over_rho_plus_1(random_problem):
    problem = random_problem(3, 40, 30, "squared", correlation=0.5)
    limit = problem.d / theory.spectral_radius(problem.A) + 1
    P_star = theory.ideal_p(problem.A)
    assert P_star < limit <= P_star + 1
    for P in range(1, 31):
        assert theory.theorem_3_2_condition(problem, P) == (limit > P)


def test_condition_with_rho_of_a_would_admit_a_diverging_p():
    # d identical columns: rho(A'A) = d, so 2d/rho + 1 = 3 in place of 2.
    problem = theory.Problem(np.ones((1, 8)), np.ones(1), 1e-3)
    F = theory.mean_objective(problem, 3, [100], weights="signed")
    assert 2 * 8 / theory.spectral_radius(problem.A) + 1 == pytest.approx(3)
    assert theory.mean_objective(problem, 1, [100], weights="signed")[0] < 2e-3
    assert np.isinf(F[0])


def test_rho_1_gives_p_star_d_and_parallel_updates_on_different_weights_are_exact():
    d = 64
    problem = theory.Problem(np.eye(d), np.linspace(1, 2, d), 0.1)
    F_star = problem.objective(problem.y - 0.1)
    assert theory.spectral_radius(problem.A) == pytest.approx(1.0)
    assert theory.ideal_p(problem.A) == d
    T = [theory.iterations_to_tolerance(problem, P, F_star) * P for P in (1, 2, 4, 8, 16)]
    assert max(T) <= 1.25 * T[0]


@pytest.mark.parametrize("P", [1, 16, 32, 64])
def test_rho_1_without_penalty_f_falls_by_the_lemmas_factor(P):
    # A weight drawn m times has its error multiplied by 1 - m, and
    # E[(1 - m)^2] = (1 - P/d)^2 + P/d (1 - 1/d); at P = d only 1/d is gained per iteration.
    d, T = 64, 3
    problem = theory.Problem(np.eye(d), np.ones(d), 0.0)
    factor = (1 - P / d) ** 2 + P / d * (1 - 1 / d)
    mean_F = theory.mean_objective(problem, P, [T], runs=600, weights="signed")[0]
    assert mean_F == pytest.approx(d / 2 * factor**T, rel=0.05)


def test_rho_d_gives_p_star_1_and_two_updates_undo_each_other():
    d = 16
    problem = theory.Problem(np.ones((1, d)), np.ones(1), 0.0)
    assert theory.spectral_radius(problem.A) == pytest.approx(d)
    assert theory.ideal_p(problem.A) == 1
    assert not theory.theorem_3_2_condition(problem, 2)
    one = theory.shotgun(problem, 1, [1], weights="signed")
    two = theory.shotgun(problem, 2, [1, 2, 10, 100], weights="signed")
    three = theory.shotgun(problem, 3, [1, 2, 10, 100], weights="signed")
    assert one.F[0] == 0.0
    np.testing.assert_allclose(two.F, 0.5)
    assert three.F[:2] == pytest.approx([2.0, 8.0])
    assert np.isinf(three.F[-1])


def test_printed_bound_fails_on_signed_weights_near_the_limit_and_the_proved_one_holds():
    # Two nearly identical columns: rho = 2 - 2e-4, P = 2 < d/rho + 1 = 2.0001.
    angle = 1e-2
    A = np.array([[np.cos(angle), np.cos(angle)], [np.sin(angle), -np.sin(angle)]])
    problem = theory.Problem(A, np.array([np.cos(angle), 0.0]), 0.0)
    x_star = np.array([0.5, 0.5])
    assert problem.objective(x_star) == pytest.approx(0.0, abs=1e-15)
    assert theory.theorem_3_2_condition(problem, 2)
    T = [10, 30, 100, 300, 1000]
    signed = theory.mean_objective(problem, 2, T, weights="signed")
    assert np.all(signed > 3 * theory.theorem_3_2_bound(problem, x_star, 2, T))
    assert np.all(signed <= theory.theorem_3_2_bound_proved(problem, x_star, 2, T))
    duplicated = theory.mean_objective(problem, 2, T, runs=30, weights="duplicated")
    assert np.all(duplicated <= theory.theorem_3_2_bound(problem, x_star, 2, T))


def test_proved_bound_is_refused_beyond_the_condition():
    problem = theory.Problem(np.ones((1, 4)), np.ones(1), 0.0)
    with pytest.raises(ValueError, match="condition"):
        theory.theorem_3_2_bound_proved(problem, np.full(4, 0.25), 2, 10)
