"""Parallel SGD: instances on disjoint random shares of the samples, averaged.

M. Zinkevich, M. Weimer, A. Smola, L. Li: Parallelized stochastic gradient descent, NIPS 2010.
The instances never hear of each other: what is shown is the average, were it taken now.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from shotgun.problem import check_threads
from shotgun.study.solvers.sgd import Samples, Start, Steps, follow
from shotgun.study.watch import Vector, Watch


class Average:
    """Instances that go the same number of passes, each over its own share."""

    def __init__(self, instances: list[Steps], threads: int) -> None:
        self.rate = instances[0].rate
        self._instances, self._threads = instances, threads

    @property
    def x(self) -> Vector:
        return np.asarray(np.mean([run.x for run in self._instances], axis=0))

    def go(self, passes: float) -> None:
        with ThreadPoolExecutor(self._threads) as pool:
            list(pool.map(lambda run: run.go(passes), self._instances))


def runs(
    A: Any, y: Any, lam: float, *, instances: int = 8, seed: int = 0, n_threads: int | None = None
) -> Start:
    """Of one problem, one average for each rate."""
    samples, threads = Samples.of(A, y, lam), check_threads(n_threads)
    order = np.random.default_rng(seed).permutation(len(samples.y))
    shares = np.array_split(order, min(instances, len(order)))

    def start(rate: float) -> Average:
        return Average(
            [Steps(samples, rate, share=share, seed=seed + k) for k, share in enumerate(shares)],
            threads,
        )

    return start


def solve(
    A: Any,
    y: Any,
    lam: float,
    watch: Watch,
    *,
    instances: int = 8,
    seed: int = 0,
    n_threads: int | None = None,
    **how: Any,
) -> Vector:
    """Logistic regression; parameters as in :func:`shotgun.study.solvers.sgd.solve`."""
    start = runs(A, y, lam, instances=instances, seed=seed, n_threads=n_threads)
    return follow(start, watch, n_threads=n_threads, **how)
