"""Ours, shown to a watch: the optimum is reached, and F falls from look to look."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shotgun
from shotgun.study.solvers import cdn

from .logistic_problems import on_all, problem


@on_all
@pytest.mark.parametrize("engine", ["shooting_cdn", "shotgun_cdn"])
def test_the_optimum_is_reached_and_f_never_rises(name: str, engine: str) -> None:
    p = problem(name)
    watch = p.watch()
    assert p.excess(cdn.solve(p.A, p.y, p.lam, watch, engine=engine)) < 1e-9
    values = np.array([mark.objective for mark in watch.marks])
    assert len(values) > 3
    assert (np.diff(values) <= 1e-12 * values[0]).all()


@on_all
def test_as_shipped_the_answer_is_certified_and_marks_lead_to_it(name: str) -> None:
    p = problem(name)
    watch = p.watch()
    x = cdn.as_shipped(p.A, p.y, p.lam, watch)
    assert x.tolist() == shotgun.solve(p.A, p.y, p.lam, "logistic").x.tolist()
    assert len(watch.marks) > 2
    objectives = [mark.objective for mark in watch.marks]
    assert objectives == sorted(objectives, reverse=True)
    assert objectives[-1] == p.objective(x)
    seconds = [mark.seconds for mark in watch.marks]
    assert seconds == sorted(seconds)


@pytest.mark.parametrize("solve", [cdn.solve, cdn.as_shipped])
def test_the_limit_ends_a_fit(solve: Any) -> None:
    p = problem("sparse")
    watch = p.watch(limit=0.0)
    solve(p.A, p.y, p.lam, watch)
    assert len(watch.marks) == 1


def test_the_target_ends_a_fit() -> None:
    p = problem("sparse")
    watch = p.watch(target=1.05 * p.best)
    assert 1e-6 < p.excess(cdn.solve(p.A, p.y, p.lam, watch)) <= 0.05


def test_the_answer_is_never_worse_than_x0() -> None:
    p = problem("sparse")
    x0 = cdn.solve(p.A, p.y, p.lam, p.watch(target=1.05 * p.best))
    watch = p.watch()
    cdn.solve(p.A, p.y, p.lam, watch, x0=x0)
    assert watch.marks[0].objective <= p.objective(x0)


def test_the_same_seed_gives_the_same_bits_for_any_number_of_threads() -> None:
    p = problem("sparse")

    def run(seed: int, n_threads: int) -> list[float]:
        watch = p.watch(target=1.001 * p.best)
        return cdn.solve(p.A, p.y, p.lam, watch, seed=seed, n_threads=n_threads).tolist()

    assert run(3, 1) == run(3, 2)
    assert run(3, 1) != run(4, 1)
