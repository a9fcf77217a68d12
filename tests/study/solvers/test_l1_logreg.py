"""L1_logreg reaches the optimum, and its duality gap bounds what is left at every point."""

from __future__ import annotations

import numpy as np
import pytest

from shotgun.study.solvers import l1_logreg
from shotgun.study.solvers.l1_logreg import Barrier, Problem

from .logistic_problems import on_all, problem


@on_all
def test_it_ends_when_the_gap_is_1e_8_for_each_sample(name: str) -> None:
    p = problem(name)
    x = l1_logreg.solve(p.A, p.y, p.lam, p.watch())
    assert -1e-12 <= p.excess(x) < 1e-7
    stated = Problem.of(p.A, p.y, p.lam)
    assert stated.gap(x, stated.times(x)) <= 1e-8 * len(p.y) + 1e-9


@on_all
def test_the_gap_is_never_less_than_what_is_left(name: str) -> None:
    p = problem(name)
    stated = Problem.of(p.A, p.y, p.lam)
    rng = np.random.default_rng(0)
    points = [scale * rng.standard_normal(p.A.shape[1]) for scale in (0.0, 0.01, 0.3, 5.0)]
    limited = l1_logreg.solve(p.A, p.y, p.lam, p.watch(target=1.01 * p.best))
    for x in [*points, limited]:
        assert stated.gap(x, stated.times(x)) >= p.objective(x) - p.best - 1e-9


def test_the_direction_solves_newtons_equations() -> None:
    p = problem("correlated")
    rng = np.random.default_rng(1)
    x = 0.1 * rng.standard_normal(p.A.shape[1])
    u = np.abs(x) + rng.uniform(0.1, 1.0, len(x))
    stated = Problem.of(p.A, p.y, p.lam)
    barrier = Barrier(stated, 3.0, x, u, stated.times(x))
    dx, du, slope = barrier.direction(np.zeros(len(x)), 1e-12, lambda: False)

    def value(step: float) -> float:
        return barrier.value(step * dx, step * du, step * stated.times(dx))

    small = 1e-4
    first = (value(small) - value(-small)) / (2 * small)
    second = (value(small) + value(-small) - 2 * value(0)) / small**2
    assert first == pytest.approx(slope, rel=1e-4)
    assert second == pytest.approx(-slope, rel=1e-3)  # d'Hd = -d'g


def test_outside_the_domain_the_barrier_is_infinite() -> None:
    p = problem("tall")
    d = p.A.shape[1]
    zero, none = np.zeros(d), np.zeros(len(p.y))
    barrier = Barrier(Problem.of(p.A, p.y, p.lam), 1.0, zero, np.ones(d), none)
    assert barrier.value(zero + 1.0, zero, none) == np.inf
    assert np.isfinite(barrier.value(zero + 0.9, zero, none))


def test_above_lam_max_all_weights_vanish() -> None:
    p = problem("tall")
    x = l1_logreg.solve(p.A, p.y, 25 * p.lam, p.watch())
    np.testing.assert_allclose(x, 0.0, atol=1e-6)
