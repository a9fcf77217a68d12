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
    taken,
    taken_by,
)
from shotgun.solve import Solution, facts, forward, make_options, rows, until


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
        Of each fit; `gaps` bound F - F* where `certificates` says "gap".
    tolerance : float
        What each gap had to reach: tol * F0.
    n_epochs : ndarray of shape (k,)
        Of each fit.
    statuses, certificates : list of str
        Of each fit, as in :class:`shotgun.Solution`.
    seconds : float
        Wall time in the core.

    Examples
    --------
    >>> import numpy as np, shotgun
    >>> p = shotgun.path(np.eye(3), np.array([3.0, -2.0, 0.5]), n_lams=5, eps=0.1)
    >>> len(p), p.X.shape, set(p.statuses)
    (5, (3, 5), {'converged'})
    >>> all(fit.gap <= p.tolerance for fit in p)
    True
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
    _facts: list[dict[str, Any]] = field(repr=False)
    _fits: list[_core.Solution | None] = field(repr=False)  # None: a file has told of it

    def __len__(self) -> int:
        return len(self._facts)

    def __getitem__(self, k: int) -> Solution:
        k = range(len(self))[k]
        fit = self._fits[k]
        trace = [] if fit is None else rows(fit)
        return Solution(x=self._weights(k), screened=None, trace=trace, **self._facts[k])

    def __iter__(self) -> Iterator[Solution]:
        return (self[k] for k in range(len(self)))

    @property
    def certificates(self) -> list[str]:
        """Of each fit, as in :class:`shotgun.Solution`."""
        return [fact["certificate"] for fact in self._facts]

    def _weights(self, k: int) -> Vector:
        x = np.zeros(self.X.shape[0])
        entries = slice(*self.X.indptr[k : k + 2])
        x[self.X.indices[entries]] = self.X.data[entries]
        return x

    def first(self, k: int) -> Path:
        """The first k of its fits."""
        return collect(self.lams[:k], self.X[:, :k], self._facts[:k], self._fits[:k])

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
    start: Path | None = None,
    checkpoint: Any = None,
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
    start : Path, optional
        Fits of the first of `lams`, which are taken as they are; the others follow.
    checkpoint : path, optional
        A file that is written, whole or not at all, after every ten fits. If it is there, and of
        the same data and options, the path is continued, and ends as if it had never been
        interrupted; the fits that the file tells of have no trace.
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
    left, A = until(deadline), taken(A)
    given = locals() | {"n_threads": check_threads(n_threads)}
    options = make_options(**taken_by(make_options, given))
    grid = _grid(lams, n_lams, eps, deviance, l2)
    given |= {"lam": 1.0, "l2": grid.l2s[0] if grid.l2s else l2}
    design, statement = state_problem(**taken_by(state_problem, given))

    def run(grid: _core.Grid) -> list[_core.Solution]:
        return _core.path(design, statement, options, grid, left(), forward(callback))

    if checkpoint is None:
        return continued(start, grid, run)
    if start is not None:
        raise ValueError("start and checkpoint exclude each other")
    from shotgun.checkpoint import Checkpoint, identity

    grid.lams = grid.lams or grid.below(_core.lambda_max(design, statement, options))
    vectors = (
        y,
        weights,
        offset,
        penalty_factor,
        *(() if bounds is None else bounds),
        grid.lams,
        grid.l2s or l2,
    )
    same = identity(A, *vectors, **{name: given[name] for name in _SAME})
    return Checkpoint(checkpoint, same).follow(grid, run)


_SAME = (  # next to data and grid, in what a checkpoint continues
    "loss",
    "delta",
    "deviance",
    "fit_intercept",
    "standardize",
    "engine",
    "P",
    "tol",
    "working_set",
    "order",
    "max_epochs",
    "seed",
)


def _grid(lams: Any, n_lams: Any, eps: Any, deviance: Any, l2: Any) -> _core.Grid:
    grid = _core.Grid()
    grid.count = check_count("n_lams", n_lams)
    grid.eps = check_number("eps", eps)
    if not 0 < grid.eps < 1:
        raise ValueError(f"eps must lie strictly between 0 and 1, got {eps}")
    if deviance is not None:
        grid.deviance = check_number("deviance", deviance)
    if lams is not None:
        if np.ndim(lams) != 1 or not np.size(lams):
            raise ValueError("lams must be a non-empty vector")
        wanted = check_vector("lams", lams, len(lams))
        if (wanted < 0).any():
            raise ValueError(f"lams must not be negative, got {wanted.min()}")
        grid.lams = wanted.tolist()
    if np.ndim(l2) > 0:
        if lams is None:
            raise ValueError("l2 must be a number unless lams are given")
        grid.l2s = [check_number("l2", v) for v in check_vector("l2", l2, len(grid.lams))]
    return grid


Run = Callable[[_core.Grid], list[_core.Solution]]


def continued(start: Path | None, grid: _core.Grid, run: Run) -> Path:
    """The fits of a grid, of which the first ones may be there."""
    if start is None:
        return _collected(run(grid))
    done = len(start)
    if list(start.lams) != grid.lams[:done]:
        raise ValueError("start must be a path of the first of lams")
    if done == len(grid.lams):
        return start
    rest = _core.Grid()
    rest.lams, rest.l2s, rest.deviance = grid.lams[done:], grid.l2s[done:], grid.deviance
    if done:
        rest.x0, rest.last = start._weights(done - 1), start.lams[-1]
    more = _collected(run(rest))
    return collect(
        np.concatenate([start.lams, more.lams]),
        sp.hstack([start.X, more.X], format="csc"),
        start._facts + more._facts,
        start._fits + more._fits,
    )


def _collected(fits: list[_core.Solution]) -> Path:
    starts = np.cumsum([0] + [len(fit.support) for fit in fits])
    weights = np.concatenate([fit.weights for fit in fits])
    support = np.concatenate([fit.support for fit in fits])
    X = sp.csc_array((weights, support, starts), shape=(fits[0].size, len(fits)))
    lams = np.array([fit.lam for fit in fits])
    return collect(lams, X, [facts(fit) for fit in fits], list(fits))


def collect(
    lams: Vector,
    X: sp.csc_array,
    facts: list[dict[str, Any]],
    fits: list[_core.Solution | None],
) -> Path:
    """A path of what is known of its fits."""
    return Path(
        lams=lams,
        X=X,
        intercepts=np.array([fact["intercept"] for fact in facts]),
        objectives=np.array([fact["objective"] for fact in facts]),
        gaps=np.array([fact["gap"] for fact in facts]),
        tolerance=facts[0]["tolerance"] if facts else 0.0,
        n_epochs=np.array([fact["n_epochs"] for fact in facts], dtype=np.int64),
        statuses=[fact["status"] for fact in facts],
        seconds=sum(fact["seconds"] for fact in facts),
        _facts=facts,
        _fits=fits,
    )
