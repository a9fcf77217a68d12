"""Parallel SGD is an average: of one instance SGD itself, of many near it where samples abound."""

from __future__ import annotations

import numpy as np
import pytest

from shotgun.study.solvers import parallel_sgd, sgd

from .logistic_problems import classes, made, on_all, problem


def test_where_samples_abound_it_comes_as_near_as_sgd() -> None:
    p = classes(*made(20_000, 5, 6))
    for solve in (sgd.solve, parallel_sgd.solve):
        assert p.excess(solve(p.A, p.y, p.lam, p.watch(), trial=3, passes=3)) < 0.01


@on_all
def test_it_is_better_than_nothing_where_samples_are_few(name: str) -> None:
    p = problem(name)
    x = parallel_sgd.solve(p.A, p.y, p.lam, p.watch(), trial=10, passes=10)
    assert p.excess(x) >= -1e-12
    assert p.objective(x) < p.objective(0 * x)


def test_it_is_the_average_of_runs_on_shares_that_cover_the_samples() -> None:
    p = problem("sparse")
    samples = sgd.Samples.of(p.A, p.y, p.lam)
    shares = np.array_split(np.random.default_rng(7).permutation(len(p.y)), 8)
    assert sorted(np.concatenate(shares)) == list(range(len(p.y)))
    runs = [sgd.Steps(samples, 0.1, share=share, seed=7 + k) for k, share in enumerate(shares)]
    for run in runs:
        run.go(3)
    x = parallel_sgd.solve(p.A, p.y, p.lam, p.watch(), rate=0.1, passes=3, seed=7)
    assert x.tolist() == np.mean([run.x for run in runs], axis=0).tolist()


@pytest.mark.parametrize("instances", [1, 8])
def test_the_same_seed_gives_the_same_bits_for_any_number_of_threads(instances: int) -> None:
    p = problem("sparse")

    def run(seed: int, n_threads: int) -> list[float]:
        options = {"instances": instances, "trial": 2, "passes": 4, "seed": seed}
        x = parallel_sgd.solve(p.A, p.y, p.lam, p.watch(), n_threads=n_threads, **options)
        return x.tolist()

    assert run(3, 1) == run(3, 2)
    assert run(3, 1) != run(4, 1)


def test_more_instances_than_samples_are_as_many() -> None:
    p = problem("wide")
    n = len(p.y)
    ways = [
        parallel_sgd.solve(p.A, p.y, p.lam, p.watch(), rate=0.1, passes=2, instances=count)
        for count in (n, 3 * n)
    ]
    assert ways[0].tolist() == ways[1].tolist()
