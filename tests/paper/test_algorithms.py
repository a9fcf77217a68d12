"""Algorithms 1 and 2: what they compute, and where they go."""

from itertools import islice

import numpy as np
import pytest

from shotgun import theory


def test_x_is_first_half_minus_second_half():
    x = np.array([1.5, -2.0, 0.0])
    assert np.array_equal(theory.to_duplicated(x), [1.5, 0.0, 0.0, 0.0, 2.0, 0.0])
    assert np.array_equal(theory.from_duplicated(theory.to_duplicated(x)), x)


def test_printed_map_back_gives_a_worse_objective(random_problem, optimum):
    problem = random_problem(0, 20, 8, "squared")
    x, F = optimum(problem)
    xhat = theory.to_duplicated(x)
    printed = xhat[8:] - xhat[:8]
    assert problem.duplicated_objective(xhat) == pytest.approx(F)
    assert problem.objective(printed) > problem.objective(np.zeros(8)) > F


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_duplicated_gradient_is_the_derivative_of_the_objective(random_problem, loss):
    problem = random_problem(1, 12, 5, loss)
    xhat = np.random.default_rng(1).random(10)
    h = 1e-6
    numeric = [
        (problem.duplicated_objective(xhat + h * e) - problem.duplicated_objective(xhat - h * e))
        / (2 * h)
        for e in np.eye(10)
    ]
    assert problem.duplicated_gradient(xhat) == pytest.approx(numeric, abs=1e-6)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_shotgun_with_p_1_is_shooting(random_problem, loss):
    problem = random_problem(2, 30, 12, loss)
    one = theory.shooting(problem, [1, 10, 700], seed=5)
    two = theory.shotgun(problem, 1, [1, 10, 700], seed=5)
    np.testing.assert_allclose(one.F, two.F, rtol=1e-12)
    assert one.x == pytest.approx(two.x, abs=1e-12)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("weights", ["duplicated", "signed"])
def test_shotgun_reaches_the_optimum_of_l1_problem(random_problem, optimum, loss, weights):
    problem = random_problem(3, 40, 20, loss)
    x_star, F_star = optimum(problem)
    run = theory.shotgun(problem, 3, [8000], weights=weights)
    assert run.F[0] == pytest.approx(F_star, rel=1e-9)
    assert run.x == pytest.approx(x_star, abs=1e-4)
    assert problem.objective(run.x) == pytest.approx(F_star, rel=1e-9)


def test_squared_loss_signed_shooting_reaches_lasso_of_scikit_learn(random_problem):
    linear_model = pytest.importorskip("sklearn.linear_model")
    problem = random_problem(4, 40, 20, "squared")
    lasso = linear_model.Lasso(alpha=problem.lam / 40, fit_intercept=False, tol=1e-14)
    run = theory.shotgun(problem, 1, [8000], weights="signed")
    assert run.x == pytest.approx(lasso.fit(problem.A, problem.y).coef_, abs=1e-6)


def test_same_weight_drawn_twice_moves_twice():
    problem = theory.Problem(np.ones((1, 1)), np.ones(1), 0.0)
    run = theory.shotgun(problem, 2, [1, 2, 3], weights="signed")
    assert np.array_equal(run.F, [0.5, 0.5, 0.5])
    assert np.array_equal(run.x, [2.0])


def test_same_weight_drawn_twice_is_clipped_at_zero_in_duplicated_space():
    problem = theory.Problem(np.ones((1, 1)), np.ones(1), 0.1)
    clipped = 0
    for seed in range(50):
        for at in islice(theory.shotgun_iterates(problem, 5, seed=seed), 5):
            assert at.weights.min() >= 0.0
            assert at.Ax == pytest.approx(problem.A @ theory.from_duplicated(at.weights))
            clipped += int(at.weights.min() == 0.0 < at.weights.max())
    assert clipped > 0


def test_multiset_draws_each_weight_uniformly_and_with_replacement():
    rng, counts, repeats = np.random.default_rng(0), np.zeros(6), 0
    for chosen, times in islice(theory.multisets(rng, 6, 4), 3000):
        assert np.sum(times * np.ones(len(chosen))) == 4
        counts[chosen] += times
        repeats += len(chosen) < 4
    assert counts / counts.sum() == pytest.approx(np.full(6, 1 / 6), abs=0.01)
    # P(4 draws of 6 are all different) = 5/6 * 4/6 * 3/6
    assert repeats / 3000 == pytest.approx(1 - 60 / 216, abs=0.03)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("weights", ["duplicated", "signed"])
def test_step_1_over_p_never_raises_f_where_full_step_diverges(random_problem, loss, weights):
    problem = random_problem(6, 20, 30, loss, correlation=3.0)
    P = 16 * theory.ideal_p(problem.A)
    T = range(1, 300)
    damped = theory.shotgun(problem, P, T, weights=weights, step=1 / P)
    F = np.append(problem.objective(np.zeros(30)), damped.F)
    assert np.all(np.diff(F) <= 1e-12 * F[0])
    if loss == "squared" and weights == "signed":
        assert np.isinf(theory.shotgun(problem, P, T, weights=weights).F[-1])


def test_step_1_over_p_is_slower_than_the_full_step_below_ideal_p(random_problem, optimum):
    problem = random_problem(7, 60, 40, "squared")
    _, F_star = optimum(problem)
    P = theory.ideal_p(problem.A)
    full = theory.iterations_to_tolerance(problem, P, F_star)
    damped = theory.iterations_to_tolerance(problem, P, F_star, step=1 / P)
    assert 2 * full < damped < np.inf


def test_columns_that_are_not_unit_are_refused():
    with pytest.raises(ValueError, match="unit norm"):
        theory.Problem(2 * np.eye(2), np.ones(2), 0.1)


def test_labels_other_than_plus_minus_one_are_refused():
    with pytest.raises(ValueError, match=r"-1 or \+1"):
        theory.Problem(np.eye(2), np.array([0.0, 1.0]), 0.1, "logistic")
