"""SMIDAS: x and theta mirror each other, and the optimum is near."""

from __future__ import annotations

import numpy as np
import pytest

import shotgun._core as _core
from shotgun.problem import Vector
from shotgun.study.solvers import sgd, smidas

from .logistic_problems import on_all, problem


@on_all
def test_it_comes_within_three_percent_of_the_optimum(name: str) -> None:
    p = problem(name)
    x = smidas.solve(p.A, p.y, p.lam, p.watch(), trial=30, passes=30)
    assert -1e-12 <= p.excess(x) < 0.03


def link(v: Vector, r: float) -> Vector:
    """The gradient of half the squared r-norm, from its definition."""
    return np.sign(v) * np.abs(v) ** (r - 1) * np.linalg.norm(v, r) ** (2 - r)


@on_all
def test_the_links_of_dual_norms_take_x_to_theta_and_back(name: str) -> None:
    p = problem(name)
    samples = sgd.Samples.of(p.A, p.y, p.lam)
    n, d = p.A.shape
    state = _core.Smidas(np.zeros(d), np.arange(n), samples.lam, 0.05, False, 0)
    big = 2 * np.log(d)
    small = big / (big - 1)
    assert state.p == pytest.approx(big)
    for _ in range(5):
        state.run(samples.rows, samples.y, n // 5)
        x, theta = state.x, state.theta
        scale = np.abs(theta).max()
        np.testing.assert_allclose(link(theta, big), x, rtol=1e-9, atol=1e-12 * np.abs(x).max())
        np.testing.assert_allclose(link(x, small), theta, rtol=1e-6, atol=1e-6 * scale)
        assert np.linalg.norm(x, small) == pytest.approx(np.linalg.norm(theta, big))
        assert x @ theta == pytest.approx(np.linalg.norm(x, small) * np.linalg.norm(theta, big))


def test_a_start_at_x_is_a_start_at_x() -> None:
    p = problem("sparse")
    x = np.random.default_rng(8).standard_normal(p.A.shape[1])
    samples = np.arange(len(p.y))
    state = _core.Smidas(x, samples, 0.01, 0.05, False, 0)
    assert state.x.tolist() == x.tolist()
    np.testing.assert_allclose(link(state.theta, state.p), x, atol=1e-12)


def test_the_same_seed_gives_the_same_bits() -> None:
    p = problem("sparse")
    runs = [
        smidas.solve(p.A, p.y, p.lam, p.watch(), rate=0.05, passes=2, seed=seed)
        for seed in (1, 1, 2)
    ]
    assert runs[0].tolist() == runs[1].tolist() != runs[2].tolist()
