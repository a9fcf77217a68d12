"""SGD: one sample at a time, lazy shrinkage, the best of 14 constant rates.

J. Langford, L. Li, T. Zhang: Sparse online learning via truncated gradient, JMLR 10, 2009; the
rates and how they are chosen: the paper's section 4.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

import shotgun._core as _core
from shotgun.problem import check_threads, encode_labels, make_design
from shotgun.study.watch import Vector, Watch

RATES = np.logspace(-4, 0, 14)
FIRST = 1 / 16  # passes before the first look
TRIAL = 10  # passes after which a rate is judged

Method = type[_core.Sgd]


@dataclass(frozen=True)
class Samples:
    """A problem for methods that take one sample after the other: the columns of A'."""

    rows: _core.Design
    y: Vector
    lam: float  # of one sample

    @classmethod
    def of(cls, A: Any, y: Any, lam: float) -> Samples:
        n = A.shape[0]
        return cls(make_design(A.T, 1), encode_labels(y, n, None), lam / n)


class Run(Protocol):
    """Stochastic steps at one rate."""

    rate: float

    @property
    def x(self) -> Vector:
        """Where they led."""

    def go(self, passes: float) -> None:
        """On to so many passes in all."""


class Steps:
    """One method from x (0 where it is None) on the samples of `share` (all of them)."""

    def __init__(
        self,
        samples: Samples,
        rate: float,
        *,
        method: Method = _core.Sgd,
        decay: bool = False,
        x: Any = None,
        share: Any = None,
        seed: int = 0,
    ) -> None:
        x = np.zeros(samples.rows.rows) if x is None else np.ascontiguousarray(x, dtype=np.float64)
        share = np.arange(len(samples.y)) if share is None else np.ascontiguousarray(share)
        self.rate = rate
        self._samples, self._size, self._done = samples, len(share), 0
        self._state = method(x, share, samples.lam, rate, decay, seed)

    @property
    def x(self) -> Vector:
        return self._state.x

    def go(self, passes: float) -> None:
        steps = max(0, round(passes * self._size) - self._done)
        self._state.run(self._samples.rows, self._samples.y, steps)
        self._done += steps


Start = Callable[[float], Run]  # makes the run of a rate


def looks(first: float, last: float) -> Iterator[float]:
    """Numbers of passes after which to look: each a quarter more than the one before."""
    passes = first
    while passes < last:
        yield passes
        passes *= 1.25
    yield last


def best_rate(
    start: Start, watch: Watch, *, trial: float = TRIAL, n_threads: int | None = None
) -> float:
    """That of RATES which leads to the least objective in `trial` passes.

    All go together, in parallel, and end early when the watch's time is over; the watch is not
    shown anything.
    """
    runs = [start(rate) for rate in RATES.tolist()]
    with ThreadPoolExecutor(check_threads(n_threads)) as pool:
        for passes in looks(FIRST, trial):
            list(pool.map(lambda run: run.go(passes), runs))  # noqa: B023
            if watch.overdue():
                break
        reached = list(pool.map(lambda run: watch.objective(run.x), runs))
    return runs[int(np.argmin(reached))].rate


def follow(
    start: Start,
    watch: Watch,
    *,
    rate: float | None = None,
    trial: float = TRIAL,
    passes: float = 1000,
    n_threads: int | None = None,
) -> Vector:
    """Show a run to the watch until that is content.

    Parameters
    ----------
    start : callable
        Makes the run of a rate.
    rate : float, optional
        None: :func:`best_rate`, for which the clock runs. The paper's clock did not: a search
        beforehand gives its curves.
    passes : float
        Over the samples, at most.
    """
    if rate is None:
        rate = best_rate(start, watch, trial=min(trial, passes), n_threads=n_threads)
    run = start(rate)
    for look in looks(FIRST, passes):
        run.go(look)
        if watch(run.x):
            break
    return run.x


def runs(
    A: Any,
    y: Any,
    lam: float,
    *,
    method: Method = _core.Sgd,
    decay: bool = False,
    x0: Any = None,
    seed: int = 0,
) -> Start:
    """Of one problem, one for each rate.

    Parameters
    ----------
    A : array or sparse matrix
        C order and CSR are read in place.
    y : array
        Two classes.
    decay : bool
        A rate that falls as 1 / sqrt(t) instead of a constant one.
    """
    samples = Samples.of(A, y, lam)
    return lambda rate: Steps(samples, rate, method=method, decay=decay, x=x0, seed=seed)


def solve(
    A: Any,
    y: Any,
    lam: float,
    watch: Watch,
    *,
    method: Method = _core.Sgd,
    decay: bool = False,
    x0: Any = None,
    seed: int = 0,
    **how: Any,
) -> Vector:
    """Logistic regression; parameters as in :func:`runs` and :func:`follow`."""
    starts = runs(A, y, lam, method=method, decay=decay, x0=x0, seed=seed)
    return follow(starts, watch, **how)
