"""Lemma 3.3 with its sign corrected; as printed it fails."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shotgun import theory


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    loss=st.sampled_from(["squared", "logistic"]),
    n=st.integers(1, 6),
    d=st.integers(1, 3),
    P=st.integers(1, 4),
    correlation=st.sampled_from([0.0, 1.0, 10.0]),
    zeros=st.floats(0.0, 1.0),
)
def test_corrected_lemma_holds(random_problem, seed, loss, n, d, P, correlation, zeros):
    problem = random_problem(seed, n, d, loss, correlation=correlation)
    rng = np.random.default_rng(seed)
    xhat = np.where(rng.random(2 * d) < zeros, 0.0, rng.random(2 * d))
    bound = theory.lemma_3_3_bound(problem, xhat, P)
    scale = problem.duplicated_objective(xhat) + abs(bound)
    assert theory.expected_change(problem, xhat, P) <= bound + 1e-12 * scale


def test_printed_lemma_fails_on_two_identical_columns():
    problem = theory.Problem(np.ones((1, 2)), np.ones(1), 0.0)
    xhat, P = np.zeros(4), 2
    # delta = (1, 1, 0, 0): one of the two draws is useful w.p. 1/2 (change -1/2), both w.p. 1/4
    # (the second undoes the first), none w.p. 1/4.
    assert theory.expected_change(problem, xhat, P) == pytest.approx(-0.25)
    assert theory.lemma_3_3_bound(problem, xhat, P) == pytest.approx(0.0)
    assert theory.lemma_3_3_bound(problem, xhat, P, printed=True) == pytest.approx(-1.0)


def test_printed_lemma_would_promise_unlimited_speedup_to_a_diverging_p():
    problem = theory.Problem(np.ones((1, 2)), np.ones(1), 0.0)
    xhat = np.full(4, 100.0)
    for P in (3, 4, 5):
        assert theory.expected_change(problem, xhat, P) > 0.0
        assert theory.lemma_3_3_bound(problem, xhat, P, printed=True) < 0.0


def test_corrected_lemma_is_tight_and_needs_rho_of_the_duplicated_features():
    # Identical columns, no weight near 0, lam = 0: delta is Ahat'Ahat's leading eigenvector.
    d, P = 3, 3
    problem = theory.Problem(np.ones((1, d)), np.ones(1), 0.0)
    xhat = np.full(2 * d, 100.0)
    change = theory.expected_change(problem, xhat, P)
    assert change == pytest.approx(theory.lemma_3_3_bound(problem, xhat, P))
    delta = -problem.duplicated_gradient(xhat)
    rho_of_A = theory.spectral_radius(problem.A)
    with_rho_of_A = P * np.mean(-(delta**2) + 0.5 * (1 + (P - 1) * rho_of_A / (2 * d)) * delta**2)
    assert change > with_rho_of_A


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_enumeration_over_multisets_is_the_mean_over_ordered_draws(random_problem, loss):
    d, P = 2, 3
    problem = random_problem(0, 5, d, loss)
    xhat = np.array([0.3, 0.0, 0.0, 0.7])
    delta = np.maximum(-xhat, -problem.duplicated_gradient(xhat) / problem.loss.beta)
    changes = []
    for draws in product(range(2 * d), repeat=P):
        Delta = sum(delta[j] * np.eye(2 * d)[j] for j in draws)
        changes.append(problem.duplicated_objective(xhat + Delta))
    change = np.mean(changes) - problem.duplicated_objective(xhat)
    assert theory.expected_change(problem, xhat, P) == pytest.approx(change)


def test_for_the_squared_loss_the_proofs_first_line_is_an_equality(random_problem):
    # P E_j[delta g + 1/2 delta^2] + 1/2 P (P-1) E_i E_j[delta_i (Ahat'Ahat)_ij delta_j]
    d, P = 3, 3
    problem = random_problem(1, 6, d, "squared", correlation=1.0)
    xhat = np.array([0.3, 0.0, 0.0, 0.0, 0.7, 0.0])
    gradient = problem.duplicated_gradient(xhat)
    delta = np.maximum(-xhat, -gradient)
    Ahat = np.hstack([problem.A, -problem.A])
    pairs = np.sum((Ahat @ delta) ** 2) / (2 * d) ** 2
    change = P * np.mean(delta * gradient + 0.5 * delta**2) + 0.5 * P * (P - 1) * pairs
    assert theory.expected_change(problem, xhat, P) == pytest.approx(change)


def test_spectral_radius_of_duplicated_features_is_twice_that_of_a(random_problem):
    for shape in ((5, 9), (9, 5)):
        A = random_problem(2, *shape, "squared").A
        Ahat = np.hstack([A, -A])
        rho = np.linalg.eigvalsh(Ahat.T @ Ahat)[-1]
        assert theory.duplicated_spectral_radius(A) == pytest.approx(rho)
        assert theory.spectral_radius(A) == pytest.approx(rho / 2)
