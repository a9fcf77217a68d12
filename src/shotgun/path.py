"""path: many lams, each fit warm from the last, every one certified."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

import shotgun._core as _core
from shotgun.problem import (
    Vector,
    check_count,
    check_number,
    check_threads,
    check_vector,
    state_problem,
)
from shotgun.solve import Solution, forward, make_options, solution


@dataclass(frozen=True)
class Path:
    """Fits along a path of lams; `path[k]` is the k-th :class:`shotgun.Solution`.

    Attributes
    ----------
    lams : ndarray of shape (k,)
        As asked for, or from lambda_max downwards. Fewer than asked for if the path ended early.
    X : sparse array of shape (d, k), CSC
        The weights, one column per lam.
    intercepts, objectives, gaps : ndarray of shape (k,)
        Of each fit; `gaps` bound F - F*.
    tolerance : float
        What each gap had to reach: tol * F0.
    n_epochs : ndarray of shape (k,)
        Of each fit.
    statuses : list of str
        Of each fit, as in :class:`shotgun.Solution`.
    seconds : float
        Wall time in the core.
    """

    lams: Vector
    X: sp.csc_array = field(repr=False)
    intercepts: Vector = field(repr=False)
    objectives: Vector = field(repr=False)
    gaps: Vector = field(repr=False)
    tolerance: float
    n_epochs: np.ndarray[Any, np.dtype[np.int64]] = field(repr=False)
    statuses: list[str] = field(repr=False)
    seconds: float
    _fits: list[_core.Solution] = field(repr=False)
    _tol: float = field(repr=False)

    def __len__(self) -> int:
        return len(self._fits)

    def __getitem__(self, k: int) -> Solution:
        return solution(self._fits[k], self._tol, trace=True)

    def __iter__(self) -> Iterator[Solution]:
        return (self[k] for k in range(len(self)))

    @property
    def trace(self) -> list[dict[str, Any]]:
        """The rounds of all fits, one after the other; `lam` tells which fit each belongs to."""
        return [row for fit in self for row in fit.trace]


def path(
    A: Any,
    y: Any,
    lams: Any = None,
    n_lams: int = 100,
    eps: float = 1e-3,
    loss: str = "squared",
    *,
    delta: float = 1.35,
    deviance: float | None = None,
    engine: str = "auto",
    P: int | str = "auto",
    n_threads: int | None = None,
    tol: float = 1e-6,
    working_set: bool = True,
    fit_intercept: bool = False,
    standardize: bool = False,
    weights: Any = None,
    offset: Any = None,
    penalty_factor: Any = None,
    l2: Any = 0.0,
    bounds: Any = None,
    order: str = "random",
    max_epochs: int = 100_000,
    deadline: float | None = None,
    seed: int = 0,
    callback: Callable[[dict[str, Any]], Any] | None = None,
) -> Path:
    """Fit a whole path of lams.

    Each fit starts from the last one, looks first at the columns that the sequential strong rule
    expects to move, and ends with a certificate over all columns, as :func:`shotgun.solve` does.
    What is known of A, its packed columns and their Gram matrices are shared along the path.

    Parameters
    ----------
    A, y, loss, delta
        As in :func:`shotgun.solve`.
    lams : array of shape (k,), optional
        In the order to fit them; decreasing is fastest. Default: `n_lams` of them, evenly
        on a log scale, from :func:`shotgun.lambda_max` down to `eps` times that.
    n_lams, eps : int, float
        Of the default grid.
    deviance : float, optional
        End the path once the losses have fallen by this part of what they are at x = 0. Default:
        never.
    max_epochs : int
        Of each fit.
    deadline : float, optional
        Seconds for the whole path; the fits that were made are returned, the last one with status
        "deadline".
    callback : callable, optional
        Called with each round's row; returning True ends the path.
    l2 : float or array of shape (k,)
        As in :func:`shotgun.solve`; with `lams` also one for each of them (the elastic net keeps
        their ratio).
    engine, P, n_threads, tol, working_set, fit_intercept, standardize, weights, offset,
    penalty_factor, bounds, order, seed
        As in :func:`shotgun.solve`.

    Returns
    -------
    Path

    Examples
    --------
    >>> import numpy as np, shotgun
    >>> p = shotgun.path(np.eye(3), np.array([3.0, -2.0, 0.5]), lams=[2.5, 1.0])
    >>> p.X.toarray().T.tolist()
    [[0.5, 0.0, 0.0], [2.0, -1.0, 0.0]]
    """
    n_threads = check_threads(n_threads)
    options = make_options(
        engine=engine,
        P=P,
        n_threads=n_threads,
        tol=tol,
        working_set=working_set,
        order=order,
        max_epochs=max_epochs,
        seed=seed,
    )
    grid = _grid(lams, n_lams, eps, deviance, l2)
    design, statement = state_problem(
        A,
        y,
        1.0,
        loss,
        delta=delta,
        n_threads=n_threads,
        fit_intercept=fit_intercept,
        standardize=standardize,
        weights=weights,
        offset=offset,
        penalty_factor=penalty_factor,
        l2=grid.l2s[0] if grid.l2s else l2,
        bounds=bounds,
    )
    seconds = np.inf if deadline is None else check_number("deadline", deadline)
    fits = _core.path(design, statement, options, grid, seconds, forward(callback))
    return _collect(fits, design.cols, options.tol)


def _grid(lams: Any, n_lams: Any, eps: Any, deviance: Any, l2: Any) -> _core.Grid:
    grid = _core.Grid()
    grid.count = check_count("n_lams", n_lams)
    grid.eps = check_number("eps", eps)
    if not 0 < grid.eps < 1:
        raise ValueError(f"eps must lie strictly between 0 and 1, got {eps}")
    if deviance is not None:
        grid.deviance = check_number("deviance", deviance)
    if lams is not None:
        wanted = np.asarray(lams, dtype=float)
        if wanted.ndim != 1 or wanted.size == 0 or not np.isfinite(wanted).all():
            raise ValueError("lams must be a non-empty vector of finite numbers")
        if (wanted < 0).any():
            raise ValueError(f"lams must not be negative, got {wanted.min()}")
        grid.lams = wanted.tolist()
    if np.ndim(l2) > 0:
        grid.l2s = [check_number("l2", v) for v in check_vector("l2", l2, len(grid.lams))]
    return grid


def _collect(fits: list[_core.Solution], d: int, tol: float) -> Path:
    starts = np.cumsum([0] + [len(fit.support) for fit in fits])
    X = sp.csc_array(
        (
            np.concatenate([fit.weights for fit in fits]),
            np.concatenate([fit.support for fit in fits]),
            starts,
        ),
        shape=(d, len(fits)),
    )
    return Path(
        lams=np.array([fit.lam for fit in fits]),
        X=X,
        intercepts=np.array([fit.intercept for fit in fits]),
        objectives=np.array([fit.objective for fit in fits]),
        gaps=np.array([fit.gap for fit in fits]),
        tolerance=tol * fits[0].null_objective,
        n_epochs=np.array([fit.n_epochs for fit in fits]),
        statuses=[fit.status.name for fit in fits],
        seconds=sum(fit.seconds for fit in fits),
        _fits=fits,
        _tol=tol,
    )
