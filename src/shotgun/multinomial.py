"""multinomial: one model of many classes, certified.

With the other classes at rest, the loss of class k is a logistic loss with an offset: a sweep has
the core fit one class after the other, which finds the support. Newton steps on the support then
move all classes at once, for which sweeps alone need dozens of rounds.

Weights and gradients have shape (k, d), scores and probabilities (k, n). Columns count as centred
where the intercept absorbs it or standardising asks for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np

import shotgun._core as _core
from shotgun._threads import one_blas_thread
from shotgun.newton import UNSEEN, newton_steps
from shotgun.problem import Vector, check_number, check_threads, taken_by
from shotgun.softmax import (
    Certificate,
    Mask,
    Matrix,
    Point,
    Softmax,
    certify,
    check_start,
    state,
)
from shotgun.solve import make_options, until

Row: TypeAlias = dict[str, Any]

_AMBITION = 0.01  # what a sweep leaves of the gap, were it not for the other classes
_EPOCHS = 20  # most of a class in a sweep: Newton steps do the rest
_STEPS = 10  # most Newton steps in a round
_PRODUCTS = 20  # most products with the Hessian in a step, twice as many in each further round


@dataclass(frozen=True)
class MultinomialSolution:
    """A fit of all classes and its certificate.

    Attributes
    ----------
    classes : ndarray of shape (k,)
        The labels, sorted; their numbers if y was a matrix.
    x : ndarray of shape (k, d)
        The weights, on the scale of A's columns.
    intercept : ndarray of shape (k,)
        The constants of the scores A @ x.T + intercept; fitted ones sum to zero.
    objective, gap, tolerance, null_objective, certificate, status
        Of all classes together, as in :class:`shotgun.Solution`.
    n_rounds, n_epochs : int
        Looks at all of A; passes over the working set, of the class that had most. A Newton step of
        all classes counts as one.
    screened : ndarray of shape (d,), bool
        The features proved to be zero for every class in every solution.
    P, rho, engine
        Of the last class fitted, as in :class:`shotgun.Solution`.
    seconds : float
        Wall time.
    trace : list of dict
        One row per round.
    """

    classes: np.ndarray[Any, Any]
    x: Matrix = field(repr=False)
    intercept: Vector
    objective: float
    gap: float
    tolerance: float
    null_objective: float
    certificate: str
    status: str
    n_rounds: int
    n_epochs: int
    screened: Mask = field(repr=False)
    P: int
    rho: float | None
    engine: str
    seconds: float
    trace: list[Row] = field(repr=False)


def multinomial(A: Any, y: Any, lam: float, **options: Any) -> MultinomialSolution:
    r"""Minimise an L1-regularised multinomial loss, with a certificate.

    .. math:: F(x, b) = \sum_i w_i \Bigl(\log \sum_k e^{z_{ik}} - z_{i y_i}\Bigr)
              + \sum_k \Bigl(\lambda \sum_j p_j |x_{kj}| + \tfrac{l_2}{2} \|x_k\|^2\Bigr),
              \qquad z_{ik} = a_i'x_k + b_k + o_{ik}, \quad lo \le x_k \le hi

    Of weights that the losses cannot tell apart (those of a feature may all be shifted by the same
    number) the ones with the least penalty are taken; where that leaves a choice, unpenalised
    weights and intercepts sum to zero over the classes.

    Parameters
    ----------
    A : array or sparse matrix of shape (n, d)
        As in :func:`shotgun.solve`.
    y : array of shape (n,) or (n, k)
        Labels, or for every class whether a sample belongs to it.
    lam : float
        Weight of the L1 norm against the sum of losses.
    x0 : array of shape (k, d), optional
        Where to start. The answer is never worse.
    offset : array of shape (n, k), optional
        o above.
    max_epochs : int
        For each class, over all rounds, Newton steps included.
    callback : callable, optional
        Called with each round's row; returning True stops the fit.
    engine, P, n_threads, tol, fit_intercept, standardize, weights, penalty_factor, l2, bounds,
    order, deadline, seed
        As in :func:`shotgun.solve`; factors and bounds are the same for all classes.

    Returns
    -------
    MultinomialSolution

    Examples
    --------
    >>> import numpy as np
    >>> from shotgun.multinomial import multinomial
    >>> s = multinomial(np.eye(3), ["a", "b", "c"], 0.5)
    >>> (s.x > 0).tolist(), s.status
    ([[True, False, False], [False, True, False], [False, False, True]], 'converged')
    """
    [fit] = multinomial_path(A, y, [lam], **options)
    return fit


def multinomial_path(
    A: Any,
    y: Any,
    lams: Any,
    *,
    engine: str = "auto",
    P: int | str = "auto",
    n_threads: int | None = None,
    tol: float = 1e-6,
    x0: Any = None,
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
    callback: Callable[[Row], Any] | None = None,
) -> list[MultinomialSolution]:
    """Fit many lams, each from where the last one ended.

    Parameters not listed here are those of :func:`multinomial`.

    Parameters
    ----------
    lams : array of shape (m,)
        In the order to fit them; decreasing is fastest.
    l2 : float or array of shape (m,)
        One for all, or one for each lam.
    max_epochs : int
        Of each fit.
    deadline : float, optional
        Seconds for the whole path, which then ends early; its last fit has status "deadline".
    callback : callable, optional
        Called with each round's row; returning True ends the path.

    Returns
    -------
    list of MultinomialSolution
    """
    left = until(deadline)
    given = locals() | {"n_threads": check_threads(n_threads), "working_set": True}
    options = make_options(**taken_by(make_options, given))
    strengths = [check_number("lam", lam) for lam in np.atleast_1d(np.asarray(lams))]
    ridges = [check_number("l2", v) for v in np.broadcast_to(l2, len(strengths))]
    problem = state(given | {"lam": strengths[0], "l2": ridges[0]})
    x = None if x0 is None else check_start(x0, problem)
    watch = _Watch(options.tol, options.max_epochs, left, callback)
    fits: list[MultinomialSolution] = []
    with one_blas_thread():
        for lam, ridge in zip(strengths, ridges, strict=True):
            fits.append(_fit(problem.at(lam, ridge), options, x, watch))
            if fits[-1].status in ("deadline", "stopped"):
                break
            x = fits[-1].x
    return fits


@dataclass
class _Watch:
    """When to end a fit, and what was spent on it."""

    tol: float
    max_epochs: int
    left: Callable[[], float]  # of the deadline
    callback: Callable[[Row], Any] | None
    epochs: Vector = field(init=False)  # of each class
    null: Vector = field(init=False)  # F0 of each class, were it alone
    last: _core.Solution | None = field(init=False, default=None)

    def begin(self, k: int, null: float) -> None:
        self.epochs, self.null = np.zeros(k), np.full(k, null / k)

    def over(self) -> bool:
        return self.left() == 0

    def left_epochs(self) -> int:
        """That the class with most of them may still have."""
        return max(0, self.max_epochs - int(self.epochs.max()))

    def verdict(self, row: Row) -> str:
        """Why to stop, if so."""
        if self.callback is not None and self.callback(row):
            return "stopped"
        if self.over():
            return "deadline"
        return "" if self.left_epochs() else "max_epochs"


def _fit(
    problem: Softmax, options: _core.Options, x: Matrix | None, watch: _Watch
) -> MultinomialSolution:
    """Certify, sweep, Newton: a handful of rounds."""
    began, k = perf_counter(), len(problem.Y)
    null = _null(problem)
    point = null if x is None else _start(problem, x, null)
    watch.begin(k, null.F)
    lower, best, least, idle = -np.inf, np.inf, np.inf, 0
    trace: list[Row] = []
    while True:
        proof = certify(problem, point)
        lower = max(lower, point.F - proof.gap) if proof.exact else lower
        gap = min(proof.gap, point.F - lower)
        trace.append(_row(problem, point, gap, watch, len(trace), perf_counter() - began))
        status = watch.verdict(trace[-1])
        progress = best - point.F > UNSEEN * abs(point.F) or gap < 0.9 * least
        best, least, idle = min(best, point.F), min(least, gap), 0 if progress else idle + 1
        if gap <= watch.tol * null.F and status != "stopped":
            status = "converged"
        status = status or ("precision" if idle == 3 else "")
        if status:
            return _solution(problem, point, null, proof, status, watch, trace)
        point = _sweep(problem, point, _AMBITION * 0.1**idle * gap / k, options, watch)
        moving = (point.x != 0) | (problem.lam == 0)
        products = _PRODUCTS << min(len(trace) - 1, 6)
        steps = min(_STEPS, watch.left_epochs())
        point, tried = newton_steps(problem, point, moving, steps, products, over=watch.over)
        watch.epochs += tried
        point = problem.place(_balance(problem, point.x), point.b)


def _null(problem: Softmax) -> Point:
    """No features but those that are free among penalised ones, and the best intercepts."""
    k, total = len(problem.Y), problem.w.sum()
    b = np.log(problem.Y @ problem.w / total) if problem.intercept else np.zeros(k)
    x = np.tile(np.clip(0.0, problem.lo, problem.hi), (k, 1))
    free = problem.loose & (problem.statement.lam > 0)
    point, _ = newton_steps(problem, problem.place(x, b), np.tile(free, (k, 1)), 100, 1000, 0.0)
    if not np.isfinite(point.F):
        raise ValueError("F at x = 0 is not finite: offset or weights are too large")
    return point


def _start(problem: Softmax, x: Matrix, null: Point) -> Point:
    """The weights asked for with the best intercepts, unless no features are better."""
    x = np.where(np.isinf(problem.lam), 0.0, np.clip(x, problem.lo, problem.hi))
    point, _ = newton_steps(
        problem, problem.place(x, null.b), np.zeros(x.shape, dtype=bool), 100, 1000, 0.0
    )
    return point if point.F < null.F else null


def _sweep(
    problem: Softmax, point: Point, target: float, options: _core.Options, watch: _Watch
) -> Point:
    """Fit one class after the other, each to a gap of `target`, and balance their weights."""
    later = np.logaddexp.accumulate(point.z[::-1], axis=0)[::-1]
    before = np.full(len(problem.w), -np.inf)
    x, b, ask = point.x.copy(), point.b.copy(), problem.statement
    for k in range(len(x)):
        others = np.logaddexp(before, later[k + 1]) if k + 1 < len(x) else before
        ask.y, ask.offset = 2 * problem.Y[k] - 1, problem.offset[k] - others
        options.tol = target / watch.null[k] if watch.null[k] > 0 else 0.0
        options.max_epochs = max(0, min(_EPOCHS, watch.max_epochs - int(watch.epochs[k])))
        fit = _core.solve(problem.design, ask, options, x[k], watch.left())
        watch.last, watch.null[k] = fit, fit.null_objective
        watch.epochs[k] += fit.n_epochs
        x[k] = 0.0
        x[k, fit.support] = fit.weights
        b[k] = fit.intercept + x[k] @ problem.mean if problem.intercept else 0.0
        scores = problem.A[:, fit.support].astype(np.float64, copy=False) @ fit.weights
        before = np.logaddexp(before, scores + (fit.intercept + problem.offset[k]))
    swept = problem.place(_balance(problem, x), b - b.mean() if problem.intercept else b)
    return swept if swept.F <= point.F else point


def _balance(problem: Softmax, x: Matrix) -> Matrix:
    """Shift the weights of each feature by the number that makes their penalty least.

    The losses do not see it. The minimum of sum_k lam |x_k + s| + l2/2 (x_k + s)^2 over s is the
    median of the -x_k and of the points where the slope of the second term is that of the first.
    """
    k, used = len(x), np.flatnonzero(x.any(axis=0))
    v, lam, l2 = x[:, used], problem.lam[used], problem.l2[used]
    slopes = np.outer(k - 2.0 * np.arange(k + 1), lam)
    mean, (low, high) = v.mean(axis=0), np.sort(v, axis=0)[[(k - 1) // 2, k // 2]]
    end = np.where(mean <= (low + high) / 2, low, high)  # of a flat part: one more weight is zero
    with np.errstate(divide="ignore", invalid="ignore"):
        points = slopes / (k * l2) - mean
    points = np.where((l2 == 0) & (slopes == 0), -np.where(lam > 0, end, mean), points)
    shift = np.median(np.concatenate([-v, points]), axis=0)
    lo, hi = problem.lo[used], problem.hi[used]
    v = v + np.clip(shift, lo - v.min(axis=0), hi - v.max(axis=0))
    for bound in (lo, hi):  # which the core's scaling may have missed by a bit
        v = np.where(np.isclose(v, bound, rtol=2.0**-50, atol=0.0), bound, v)
    balanced = x.copy()
    balanced[:, used] = v
    return balanced


def _row(
    problem: Softmax, point: Point, gap: float, watch: _Watch, count: int, seconds: float
) -> Row:
    """A row of the trace; its last four are of the last class that was fitted."""
    rows = watch.last.trace if watch.last else []  # a deadline may leave none
    last = rows[-1] if rows else None
    return {
        "lam": problem.statement.lam,
        "round": count,
        "epoch": int(watch.epochs.max()),
        "objective": point.F,
        "gap": gap,
        "seconds": seconds,
        "working_set": last.working_set if last else 0,
        "active": last.active if last else len(problem.mean),
        "P": last.P if last else 0,
        "rho": last.rho if last else np.nan,
    }


def _solution(
    problem: Softmax,
    point: Point,
    null: Point,
    proof: Certificate,
    status: str,
    watch: _Watch,
    trace: list[Row],
) -> MultinomialSolution:
    intercept, last = point.b - point.x @ problem.mean, watch.last
    return MultinomialSolution(
        classes=problem.classes,
        x=point.x,
        intercept=intercept - intercept.mean() if problem.intercept else intercept,
        objective=point.F,
        gap=trace[-1]["gap"],
        tolerance=watch.tol * null.F,
        null_objective=null.F,
        certificate="gap" if proof.exact else "gradient",
        status=status,
        n_rounds=len(trace),
        n_epochs=trace[-1]["epoch"],
        screened=proof.screened,
        P=trace[-1]["P"],
        rho=None if np.isnan(trace[-1]["rho"]) else trace[-1]["rho"],
        engine=last.engine.name if last else "auto",
        seconds=trace[-1]["seconds"],
        trace=trace,
    )
