"""Block SVRG: the optimum stays where it is, F never rises, and small curvature is not missed."""

from __future__ import annotations

import numpy as np
import pytest

import shotgun
from shotgun.study.solvers import svrg
from shotgun.study.solvers.svrg import Blocks

from .logistic_problems import on_all, problem


@on_all
def test_the_optimum_is_reached_and_f_never_rises(name: str) -> None:
    p = problem(name)
    watch = p.watch()
    assert p.excess(svrg.solve(p.A, p.y, p.lam, watch, rounds=300)) < 1e-6
    values = np.array([mark.objective for mark in watch.marks])
    rounding = 1e-7 if p.A.dtype == np.float32 else 1e-12
    assert (np.diff(values) <= rounding * values[0]).all()


@on_all
def test_a_sweep_leaves_the_optimum_where_it_is(name: str) -> None:
    p = problem(name)
    best = shotgun.solve(p.A, p.y, p.lam, "logistic", tol=1e-13).x
    blocks = Blocks(p.A, p.y, p.lam, 4, 3)
    value, slopes, gradient = blocks.survey(best)
    assert value * len(p.y) == pytest.approx(p.best, rel=1e-6)
    lengths = blocks.steps(np.random.default_rng(0))
    for k in range(len(blocks.batches)):
        x = best.copy()
        blocks.sweep(k, x, slopes[k], gradient, lengths, [1, 0, 2])
        np.testing.assert_allclose(x, best, atol=1e-4)


def test_the_survey_is_f_and_its_gradient_however_a_is_cut() -> None:
    p = problem("sparse")
    x = np.random.default_rng(2).standard_normal(p.A.shape[1])
    n = len(p.y)
    whole = p.A.T @ (-p.y / (1 + np.exp(p.y * (p.A @ x)))) / n
    for samples, features in ((1, 1), (3, 7), (1000, 1000)):
        value, _, gradient = Blocks(p.A, p.y, p.lam, samples, features).survey(x)
        assert value * n == pytest.approx(p.objective(x))
        np.testing.assert_allclose(gradient, whole, atol=1e-12)


def test_the_curvature_is_the_largest_of_a_block() -> None:
    p = problem("correlated")
    batch = Blocks(p.A, p.y, p.lam, 1, 1).batches[0]
    largest = np.linalg.norm(p.A, 2) ** 2 / (4 * len(p.y))
    found = batch.curvature(0, np.random.default_rng(0))
    assert 0.9 * largest <= found <= largest * (1 + 1e-12)


def test_the_same_seed_gives_the_same_bits() -> None:
    p = problem("sparse")
    runs = [svrg.solve(p.A, p.y, p.lam, p.watch(), rounds=3, seed=seed) for seed in (1, 1, 2)]
    assert runs[0].tolist() == runs[1].tolist() != runs[2].tolist()
