"""Shooting CDN and Shotgun CDN: ours.

The paper's section 4.2, after G.-X. Yuan, K.-W. Chang, C.-J. Hsieh, C.-J. Lin: A comparison of
optimization methods and software for large-scale l1-regularized linear classification, JMLR 11,
2010. As in the paper by default (no working set); `as_shipped` is what users of the package get.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import shotgun._core as _core
from shotgun.problem import check_threads, state_problem
from shotgun.solve import Solution, make_options, solution
from shotgun.study.watch import Vector, Watch, now

MOST = 100_000  # epochs
PLAIN: dict[str, Any] = {
    "delta": 1.35,
    "fit_intercept": False,
    "standardize": False,
    "weights": None,
    "offset": None,
    "penalty_factor": None,
    "l2": 0.0,
    "bounds": None,
}


class Fits:
    """Fits of one problem, stated once."""

    def __init__(self, A: Any, y: Any, lam: float, n_threads: int | None, **options: Any) -> None:
        threads = check_threads(n_threads)
        self._options = make_options(n_threads=threads, order="random", max_epochs=0, **options)
        self._problem = state_problem(A, y, lam, "logistic", n_threads=threads, **PLAIN)

    def __call__(
        self, epochs: int, seed: int, seconds: float, x0: Vector | None = None
    ) -> Solution:
        """After so many epochs from x0, or so many seconds."""
        self._options.max_epochs, self._options.seed = epochs, seed
        fit = _core.solve(*self._problem, self._options, x0, seconds)
        return solution(fit, trace=False)


def solve(
    A: Any,
    y: Any,
    lam: float,
    watch: Watch,
    *,
    engine: str = "shotgun_cdn",
    P: int | str = 8,
    n_threads: int | None = None,
    tol: float = 1e-10,
    x0: Any = None,
    seed: int = 0,
) -> Vector:
    """Logistic regression by `engine`, looked at after 1, 2, ... epochs, later less often.

    Each stretch starts where the last one ended; the clock runs for what starting costs.
    """
    fits = Fits(A, y, lam, n_threads, engine=engine, P=P, tol=tol, working_set=False, seed=seed)
    x, done, status = x0, 0, "max_epochs"
    while status == "max_epochs":
        epochs = 1 + done // 10
        fit = fits(epochs, seed + done, watch.left(), x)
        x, status, done = fit.x, fit.status, done + epochs
        if watch(x):
            break
    return np.asarray(x)


def as_shipped(
    A: Any,
    y: Any,
    lam: float,
    watch: Watch,
    *,
    n_threads: int | None = None,
    tol: float = 1e-6,
    seed: int = 0,
) -> Vector:
    """Logistic regression as `shotgun.solve` does it: working sets, growing samples, any engine.

    No stretch of such a fit is a fit. So there is a whole one, then one from the beginning for half
    as many epochs, a quarter, ..., each with the clock set back: what a mark says is what a user
    gets who stops there, and none says more than that of a longer fit, which began the same way;
    longer ones that end higher are left out.
    All of them together end at the watch's limit.
    """
    fits = Fits(A, y, lam, n_threads, engine="auto", P="auto", tol=tol, working_set=True, seed=seed)
    begin = now()
    answer, epochs = None, MOST
    while epochs > 0 and (answer is None or begin.passed() < watch.limit):
        watch.restart()
        fit = fits(epochs, seed, max(0.0, watch.limit - begin.passed()))
        watch(fit.x)
        answer, epochs = fit.x if answer is None else answer, min(epochs, fit.n_epochs) // 2
    earliest = np.minimum.accumulate([mark.seconds for mark in watch.marks])
    marks = [mark._replace(seconds=s) for mark, s in zip(watch.marks, earliest, strict=True)]
    lowest = np.minimum.accumulate([mark.objective for mark in marks[::-1]])
    watch.marks[:] = [m for m, F in zip(marks[::-1], lowest, strict=True) if m.objective <= F]
    return np.asarray(answer)
