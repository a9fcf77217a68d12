"""SGD + Shotgun: the hybrid that the paper's discussion suggests.

SGD copes with many samples, Shotgun with many features: SGD goes first, as long as it pays, and
Shotgun CDN finishes from where it came.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shotgun.study.solvers import cdn
from shotgun.study.solvers.sgd import FIRST, best_rate, looks, runs
from shotgun.study.watch import Vector, Watch

PAYS = 0.02  # the part of F that a quarter more passes must gain


def solve(
    A: Any,
    y: Any,
    lam: float,
    watch: Watch,
    *,
    rate: float | None = None,
    trial: float = 0.25,
    passes: float = 20,
    seed: int = 0,
    n_threads: int | None = None,
    **options: Any,
) -> Vector:
    """Logistic regression; `passes` of SGD at most, further options as in :func:`cdn.solve`.

    `rate` and `trial` as in :func:`shotgun.study.solvers.sgd.follow`; the trial is short, since the
    rate need be good only for the beginning.
    """
    start = runs(A, y, lam, seed=seed)
    if rate is None:
        rate = best_rate(start, watch, trial=trial, n_threads=n_threads)
    x, reached, run = np.zeros(A.shape[1]), A.shape[0] * np.log(2), start(rate)
    for look in looks(FIRST, passes):
        run.go(look)
        there = run.x
        if watch(there):
            return there
        before, now = reached, watch.marks[-1].objective
        if now < reached:
            x, reached = there, now
        if now > (1 - PAYS) * before:
            break
    return cdn.solve(A, y, lam, watch, x0=x, seed=seed, n_threads=n_threads, **options)
