"""multinomial: one model of many classes, certified.

With the other classes at rest, the loss of class k is a logistic loss with an offset: a sweep has
the core fit one class after the other, which finds the support. Newton steps on the support then
move all classes at once, for which sweeps alone need dozens of rounds.

Weights and gradients have shape (k, d), scores and probabilities (k, n). Columns count as centred
where the intercept absorbs it or standardising asks for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

import shotgun._core as _core
from shotgun._threads import one_blas_thread
from shotgun.problem import Vector, check_number, check_threads, check_vector, state_problem
from shotgun.solve import make_options

Matrix: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.float64]]
Mask: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]
Row: TypeAlias = dict[str, Any]

_BLOCK = 1 << 22  # entries of A that are looked at, and converted to float64, at once
_AMBITION = 0.01  # what a sweep leaves of the gap, were it not for the other classes
_UNSEEN = 2.0**-50  # relative to F: changes that its rounding hides
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
        Looks at all of A; passes over the working set, of the class that had most.
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
        For each class, over all rounds.
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

    The others are those of :func:`multinomial`.

    Returns
    -------
    list of MultinomialSolution
    """
    seconds = np.inf if deadline is None else check_number("deadline", deadline)
    options = make_options(
        engine=engine,
        P=P,
        n_threads=check_threads(n_threads),
        tol=tol,
        working_set=True,
        order=order,
        max_epochs=max_epochs,
        seed=seed,
    )
    strengths = [check_number("lam", lam) for lam in np.atleast_1d(np.asarray(lams))]
    ridges = [check_number("l2", v) for v in np.broadcast_to(l2, len(strengths))]
    problem = _state(
        A,
        y,
        offset,
        lam=strengths[0],
        n_threads=options.threads,
        fit_intercept=fit_intercept,
        standardize=standardize,
        weights=weights,
        penalty_factor=penalty_factor,
        l2=ridges[0],
        bounds=bounds,
    )
    x = None if x0 is None else _check_start(x0, problem)
    watch = _Watch(options.tol, options.max_epochs, time.monotonic() + seconds, callback)
    fits: list[MultinomialSolution] = []
    with one_blas_thread():
        for lam, ridge in zip(strengths, ridges, strict=True):
            fits.append(_fit(problem.at(lam, ridge), options, x, watch))
            if fits[-1].status in ("deadline", "stopped"):
                break
            x = fits[-1].x
    return fits


# --- The problem ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Problem:
    """F, every vector written out, and the same as the core knows it (of one class)."""

    A: Any
    design: _core.Design
    statement: _core.Statement
    classes: np.ndarray[Any, Any]
    Y: Matrix
    w: Vector
    offset: Matrix
    mean: Vector  # of the columns, zero where they are not centred
    norm2: Vector  # their squared norms about it
    scale: Vector  # the unit of each weight's penalty
    lo: Vector
    hi: Vector
    lam: Vector
    l2: Vector

    def at(self, lam: float, l2: float) -> _Problem:
        """With another penalty."""
        self.statement.lam, self.statement.l2 = lam, l2
        factor = self.statement.factor
        with np.errstate(invalid="ignore"):
            lams = lam * self.scale * (1.0 if factor is None else factor)
        if factor is not None:
            lams[np.isinf(factor)] = np.inf
        return replace(self, lam=lams, l2=l2 * self.scale**2)

    @property
    def intercept(self) -> bool:
        return self.statement.intercept

    @property
    def loose(self) -> Mask:
        """The weights that are neither penalised nor bounded on both sides: no scale of the dual
        point makes it feasible for them."""
        loose = (self.lam == 0) & (self.l2 == 0) & (np.isinf(self.lo) | np.isinf(self.hi))
        return np.asarray(loose)

    def scores(self, x: Matrix, b: Vector) -> Matrix:
        z = self.offset + (b - x @ self.mean)[:, None]
        for columns, A in _blocks(self.A):
            if x[:, columns].any():
                z += (A @ x[:, columns].T).T
        return z

    def scan(self, u: Matrix) -> Matrix:
        c = np.empty((len(u), len(self.mean)))
        for columns, A in _blocks(self.A):
            c[:, columns] = (A.T @ u.T).T
        return np.asarray(c - np.outer(u.sum(axis=1), self.mean))

    def penalty(self, x: Matrix) -> float:
        used = np.flatnonzero(x.any(axis=0))
        x = x[:, used]
        return float((self.lam[used] * np.abs(x) + self.l2[used] / 2 * x**2).sum())

    def losses(self, z: Matrix) -> float:
        others = _log_sum(np.where(self.Y == 1, -np.inf, z)) - (self.Y * z).sum(axis=0)
        return float(self.w @ np.logaddexp(0.0, others))

    def excess(self, p: Matrix) -> Matrix:
        """p - Y, to the last digit also where p is all but 1."""
        others = np.where(self.Y == 1, 0.0, p)
        return np.where(self.Y == 1, -others.sum(axis=0), others)

    def place(self, x: Matrix, b: Vector, z: Matrix | None = None) -> _Point:
        z = self.scores(x, b) if z is None else z
        return _Point(x, b, z, self.losses(z) + self.penalty(x))


@dataclass(frozen=True)
class _Point:
    """Weights, intercepts of the centred columns, scores, and F."""

    x: Matrix
    b: Vector
    z: Matrix
    F: float


def _state(A: Any, y: Any, offset: Any, **options: Any) -> _Problem:
    """Everything that defines F, checked."""
    A = A.tocsc() if sp.issparse(A) else np.asfortranarray(A)
    if A.dtype not in (np.float32, np.float64) and A.dtype.kind in "fiub":
        A = A.astype(np.float64)
    labels = np.asarray(y)
    design, statement = state_problem(
        A, np.zeros(len(labels)), loss="squared", delta=1.0, offset=None, **options
    )
    statement.loss = "logistic"
    n, d = A.shape
    w = np.ones(n) if statement.weights is None else np.asarray(statement.weights)
    classes, Y = _indicators(labels, w)
    empty = np.flatnonzero(Y @ w == 0)
    if statement.intercept and empty.size:
        raise ValueError(f"class {classes[empty[0]]} of y has no sample with weight")
    mean, norm2 = _moments(A, w, statement.intercept or statement.standardize)
    if not np.isfinite(norm2).all():
        _core.lambda_max(design, statement, _core.Options())  # says where, if A is not finite
        raise ValueError("A holds numbers too large to square")
    varied = statement.standardize & (norm2 > 0)
    return _Problem(
        A=A,
        design=design,
        statement=statement,
        classes=classes,
        Y=Y,
        w=w,
        offset=_check_offset(offset, Y.shape),
        mean=mean,
        norm2=norm2,
        scale=np.where(varied, np.sqrt(norm2 / w.sum()), 1.0),
        lo=np.full(d, -np.inf) if statement.lo is None else np.asarray(statement.lo),
        hi=np.full(d, np.inf) if statement.hi is None else np.asarray(statement.hi),
        lam=np.zeros(d),
        l2=np.zeros(d),
    )


def _indicators(labels: np.ndarray[Any, Any], w: Vector) -> tuple[np.ndarray[Any, Any], Matrix]:
    """The classes, and for each of them which samples are in it; rows of weight 0 do not count."""
    if labels.ndim == 2:
        classes, Y = np.arange(labels.shape[1]), labels.T
        one = np.isin(Y, (0, 1)).all(axis=0) & (Y.sum(axis=0) == 1)
        if not one[w > 0].all():
            where = int(np.flatnonzero(~one & (w > 0))[0])
            raise ValueError(f"y must mark one class per sample; row {where} does not")
    elif labels.ndim != 1:
        raise ValueError(f"y must have one or two dimensions, not {labels.ndim}")
    else:
        if labels.dtype.kind in "fc" and not np.isfinite(labels).all():
            raise ValueError("y contains NaN or infinity")
        classes = np.unique(labels[w > 0])
        Y = labels == classes[:, None]
    if len(classes) < 2:
        raise ValueError(f"y must hold at least two classes, not {len(classes)}")
    return classes, np.ascontiguousarray(Y, dtype=np.float64)


def _check_offset(offset: Any, shape: tuple[int, ...]) -> Matrix:
    k, n = shape
    if offset is None:
        return np.zeros((k, n))
    if np.shape(offset) != (n, k):
        raise ValueError(f"offset must have shape ({n}, {k}), not {np.shape(offset)}")
    return np.array([check_vector("offset", column, n) for column in np.asarray(offset).T])


def _check_start(x0: Any, problem: _Problem) -> Matrix:
    k, d = len(problem.Y), len(problem.mean)
    if np.shape(x0) != (k, d):
        raise ValueError(f"x0 must have shape ({k}, {d}), not {np.shape(x0)}")
    return np.array([check_vector("x0", row, d) for row in np.asarray(x0)])


def _blocks(A: Any) -> Iterator[tuple[slice, Any]]:
    """The columns of A in float64, as few at a time as is needed not to copy all of it."""
    n, d = A.shape
    width = d if sp.issparse(A) and A.dtype == np.float64 else max(1, _BLOCK // n)
    for first in range(0, d, width):
        columns = slice(first, min(first + width, d))
        yield columns, A[:, columns].astype(np.float64, copy=False)


@np.errstate(over="ignore", invalid="ignore")
def _moments(A: Any, w: Vector, centred: bool) -> tuple[Vector, Vector]:
    """The means of the columns, zero unless centred, and their squared norms about them."""
    n, d = A.shape
    mean, norm2, total = np.zeros(d), np.zeros(d), w.sum()
    for columns, B in _blocks(A):
        m = mean[columns]
        if centred:
            m[:] = B.T @ w / total
        if sp.issparse(B):
            about = B.data - np.repeat(m, np.diff(B.indptr))
            of_rows = sp.csc_array((w[B.indices], B.indices, B.indptr), shape=B.shape)
            absent = total - of_rows.sum(axis=0)
            of_rows.data *= about**2
            norm2[columns] = of_rows.sum(axis=0) + np.maximum(absent, 0.0) * m**2
        else:
            norm2[columns] = ((B - m) ** 2).T @ w
    constant = norm2 <= (1e-16 * n) ** 2 * (norm2 + total * mean**2)
    norm2[constant & np.isfinite(norm2)] = 0.0
    return mean, norm2


def _log_sum(z: Matrix) -> Vector:
    """log sum_k exp(z_k) of every sample."""
    top = z.max(axis=0)
    return np.asarray(top + np.log(np.exp(z - top).sum(axis=0)))


# --- The certificate ------------------------------------------------------------------------------
#
# For any u with sum_i u_ik = 0 (if there is an intercept) that has v = Y + u / w on the simplex,
#   F(x) - F* <= sum_i w_i KL(v_i || p_i) + sum_kj [phi_j(x_kj) + phi_j*(-c_kj) + x_kj c_kj],
# c = A~'u. We take v = Y + scale * (p - Y), p moved a little for the intercepts, with the largest
# scale that keeps every phi_j* finite.


@dataclass(frozen=True)
class _Certificate:
    gap: float
    exact: bool  # else estimated from the gradients of loose weights
    screened: Mask


def _certify(problem: _Problem, point: _Point) -> _Certificate:
    log_p = point.z - _log_sum(point.z)
    p = np.exp(log_p)
    e = problem.excess(p)
    e = _centred(problem, e) if problem.intercept else e
    u = problem.w * e
    c = problem.scan(u)
    scale = _feasible_scale(problem, c)
    rounding = _rounding(problem, point, u)
    rows = _divergence(problem.Y + scale * e, p, log_p) @ problem.w
    estimate, exact = _loose_gap(problem, point, p, u, c)
    found = float(rows) + _column_gap(problem, point.x, -scale * c) + estimate + rounding
    nearest = np.broadcast_to(np.clip(0.0, problem.lo, problem.hi), point.x.shape)
    at_worst = point.F - problem.penalty(nearest) + rounding  # the gap at u = 0
    reach = np.sqrt(problem.norm2 * found)  # the Hessian of the losses is at most w/2
    zero = (scale * np.abs(c) + reach < problem.lam).all(axis=0)
    zero &= (problem.lo <= 0) & (problem.hi >= 0) & exact
    return _Certificate(min(found, at_worst), exact or at_worst < found, zero)


def _centred(problem: _Problem, e: Matrix) -> Matrix:
    """p - Y for a p mixed with as much of one constant distribution as makes w (p - Y) sum to 0."""
    counts, sums, total = problem.Y @ problem.w, e @ problem.w, problem.w.sum()
    share = max(0.0, float((sums / (counts + sums)).max()))
    rest = np.maximum(share * counts - (1 - share) * sums, 0.0)
    return np.asarray((1 - share) * e - share * problem.Y + (rest / total)[:, None])


def _divergence(v: Matrix, p: Matrix, log_p: Matrix) -> Vector:
    """KL(v || p) of every sample, from terms that are each >= 0."""
    log_v = np.log(v, out=np.zeros_like(v), where=v > 0)
    return np.asarray(np.maximum(v * (log_v - log_p) - v + p, 0.0).sum(axis=0))


def _feasible_scale(problem: _Problem, c: Matrix) -> float:
    unbounded = np.where(c < 0, np.isinf(problem.hi), np.isinf(problem.lo))
    tied = unbounded & (problem.l2 == 0) & ~problem.loose & (np.abs(c) > problem.lam)
    lam = np.broadcast_to(problem.lam, c.shape)
    return float((lam[tied] / np.abs(c[tied])).min(initial=1.0))


def _column_gap(problem: _Problem, x: Matrix, pull: Matrix) -> float:
    """The columns' brackets; where l2 and bounds are absent, a weight at zero has none."""
    plain = (problem.l2 == 0) & np.isinf(problem.lo) & np.isinf(problem.hi)
    some = ~problem.loose & (problem.lam < np.inf) & (x.any(axis=0) | ~plain)
    x, pull = x[:, some], pull[:, some]
    lam, l2, lo, hi = (v[some] for v in (problem.lam, problem.l2, problem.lo, problem.hi))
    excess = np.maximum(np.abs(pull) - lam, 0.0)
    far = np.divide(excess, l2, out=np.where(excess > 0, np.inf, 0.0), where=l2 > 0)
    best = np.clip(np.copysign(far, pull), lo, hi)
    best[np.isinf(best)] = 0.0  # the scale is feasible: what is left of the excess is rounding
    value = lam * np.abs(x) + l2 / 2 * x**2 - pull * x
    least = lam * np.abs(best) + l2 / 2 * best**2 - pull * best
    return float(np.maximum(value - least, 0.0).sum())


def _loose_gap(
    problem: _Problem, point: _Point, p: Matrix, u: Matrix, c: Matrix
) -> tuple[float, bool]:
    """The decrease that the gradients of loose weights promise; whether they are but rounding."""
    loose = problem.loose
    if not loose.any():
        return 0.0, True
    x, c, norm2 = point.x[:, loose], c[:, loose], problem.norm2[loose]
    inward = np.where(c > 0, x > problem.lo[loose], x < problem.hi[loose])
    slope = np.where(inward, np.abs(c), 0.0)
    beta = np.outer((p * (1 - p)) @ problem.w / problem.w.sum(), norm2)
    newton = np.divide(slope**2, 2 * beta, out=np.zeros_like(slope), where=beta > 0)
    norms = np.sqrt(norm2 + problem.mean[loose] ** 2 * problem.w.sum())
    negligible = 1e-9 * norms * _norm(problem, u)
    exact = problem.statement.lam > 0 and bool((slope <= negligible).all())
    return float((slope * np.abs(x) + newton).sum()), exact


def _norm(problem: _Problem, u: Matrix) -> float:
    """The norm that is dual to that of the weighted columns."""
    present = problem.w > 0
    return float(np.sqrt((u[:, present] ** 2 / problem.w[present]).sum()))


def _rounding(problem: _Problem, point: _Point, u: Matrix) -> float:
    """What rounding may hide of scores, gradients and F, as in the core's `rounding_unit`."""
    terms, total = len(problem.w) + np.count_nonzero(point.x), problem.w.sum()
    unit = 2.0**-53 * (16 + 4 * np.sqrt(terms))
    norms = np.sqrt(problem.norm2 + problem.mean**2 * total)
    reach = (np.abs(point.x) @ norms).sum() + np.abs(point.b).sum() * np.sqrt(total)
    return float(unit * (reach * _norm(problem, u) + abs(point.F)))


# --- Descent --------------------------------------------------------------------------------------


@dataclass
class _Watch:
    """When to end a fit, and what was spent on it."""

    tol: float
    max_epochs: int
    end: float
    callback: Callable[[Row], Any] | None
    epochs: Vector = field(init=False)  # of each class
    null: Vector = field(init=False)  # F0 of each class, were it alone
    last: _core.Solution | None = field(init=False, default=None)

    def begin(self, k: int, null: float) -> None:
        self.epochs, self.null = np.zeros(k), np.full(k, null / k)

    def left(self) -> float:
        return max(0.0, self.end - time.monotonic())

    def verdict(self, row: Row) -> str:
        """Why to stop, if so."""
        if self.callback is not None and self.callback(row):
            return "stopped"
        if self.left() == 0:
            return "deadline"
        return "max_epochs" if self.epochs.max() >= self.max_epochs else ""


def _fit(
    problem: _Problem, options: _core.Options, x: Matrix | None, watch: _Watch
) -> MultinomialSolution:
    """Certify, sweep, Newton: a handful of rounds."""
    began, k = time.monotonic(), len(problem.Y)
    null = _null(problem)
    point = null if x is None else _start(problem, x, null)
    watch.begin(k, null.F)
    lower, best, least, idle = -np.inf, np.inf, np.inf, 0
    trace: list[Row] = []
    while True:
        proof = _certify(problem, point)
        lower = max(lower, point.F - proof.gap) if proof.exact else lower
        gap = min(proof.gap, point.F - lower)
        trace.append(_row(problem, point, gap, watch, len(trace), time.monotonic() - began))
        if gap <= watch.tol * null.F:
            return _solution(problem, point, null, proof, "converged", watch, trace)
        progress = best - point.F > _UNSEEN * abs(point.F) or gap < 0.9 * least
        best, least, idle = min(best, point.F), min(least, gap), 0 if progress else idle + 1
        status = watch.verdict(trace[-1]) or ("precision" if idle == 3 else "")
        if status:
            return _solution(problem, point, null, proof, status, watch, trace)
        point = _sweep(problem, point, _AMBITION * 0.1**idle * gap / k, options, watch)
        moving = (point.x != 0) | (problem.lam == 0)
        point = _newton(problem, point, moving, _STEPS, _PRODUCTS << min(len(trace) - 1, 6))
        point = problem.place(_balance(problem, point.x), point.b)


def _null(problem: _Problem) -> _Point:
    """No features but those that are free among penalised ones, and the best intercepts."""
    k, total = len(problem.Y), problem.w.sum()
    b = np.log(problem.Y @ problem.w / total) if problem.intercept else np.zeros(k)
    x = np.tile(np.clip(0.0, problem.lo, problem.hi), (k, 1))
    free = problem.loose & (problem.statement.lam > 0)
    point = _newton(problem, problem.place(x, b), np.tile(free, (k, 1)), 100, 1000, 0.0)
    if not np.isfinite(point.F):
        raise ValueError("F at x = 0 is not finite: offset or weights are too large")
    return point


def _start(problem: _Problem, x: Matrix, null: _Point) -> _Point:
    """The weights asked for with the best intercepts, unless no features are better."""
    x = np.where(np.isinf(problem.lam), 0.0, np.clip(x, problem.lo, problem.hi))
    point = _newton(
        problem, problem.place(x, null.b), np.zeros(x.shape, dtype=bool), 100, 1000, 0.0
    )
    return point if point.F < null.F else null


def _sweep(
    problem: _Problem, point: _Point, target: float, options: _core.Options, watch: _Watch
) -> _Point:
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


def _balance(problem: _Problem, x: Matrix) -> Matrix:
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


class _Space:
    """The weights that may move, and the intercepts, as one vector."""

    def __init__(self, problem: _Problem, moving: Mask) -> None:
        self.problem, self.moving = problem, moving
        self.k, self.j = np.nonzero(moving)
        self.forward, self.backward = _products(problem.A, moving)
        self.lam, self.l2, self.lo, self.hi, self.mean, self.norm2 = (
            v[self.j]
            for v in (
                problem.lam,
                problem.l2,
                problem.lo,
                problem.hi,
                problem.mean,
                problem.norm2,
            )
        )

    def scores(self, v: Vector) -> Matrix:
        """How the scores change along v."""
        x, b = self.split(v)
        shift = b - np.bincount(self.k, x * self.mean, len(b))
        return np.asarray(self.forward(x) + shift[:, None])

    def gradient(self, u: Matrix) -> Vector:
        """Its transpose."""
        sums = u.sum(axis=1)
        of_x = self.backward(u) - self.mean * sums[self.k]
        return self.join(of_x, sums)

    def split(self, v: Vector) -> tuple[Vector, Vector]:
        m = len(self.j)
        return v[:m], v[m:] if self.problem.intercept else np.zeros(len(self.problem.Y))

    def join(self, x: Vector, b: Vector) -> Vector:
        return np.concatenate([x, b]) if self.problem.intercept else x


def _products(
    A: Any, moving: Mask
) -> tuple[Callable[[Vector], Matrix], Callable[[Matrix], Vector]]:
    """A times the moving weights, and its transpose: of sparse columns each class has its own."""
    if sp.issparse(A):
        own = sp.block_diag([A[:, np.flatnonzero(m)] for m in moving], format="csc")
        own = own.astype(np.float64, copy=False)
        return lambda x: (own @ x).reshape(len(moving), -1), lambda u: own.T @ u.ravel()
    used = np.flatnonzero(moving.any(axis=0))
    shared = np.asarray(A if len(used) == A.shape[1] else A[:, used], dtype=np.float64)
    moving = moving[:, used]

    def forward(x: Vector) -> Matrix:
        all_of_them = np.zeros(moving.shape)
        all_of_them[moving] = x
        return np.asarray(all_of_them @ shared.T)

    return forward, lambda u: (u @ shared)[moving]


def _newton(
    problem: _Problem,
    point: _Point,
    moving: Mask,
    steps: int,
    products: int,
    little: float = 1e-8,
) -> _Point:
    """Newton steps of the moving weights and the intercepts, until they promise little more."""
    space, first, last = None, 0.0, np.inf
    for _ in range(steps):
        moving = moving & (point.x > problem.lo) & (point.x < problem.hi)
        if not (moving.any() or problem.intercept):
            break
        if space is None or not np.array_equal(moving, space.moving):
            space, last = _Space(problem, moving), np.inf
        step, promise = _newton_step(problem, point, space, products)
        seen = promise > _UNSEEN * abs(point.F)
        better = _search(problem, point, space, step) if seen or promise < last / 2 else None
        if better is None:
            break
        point, first, last = better, max(first, promise), np.inf if seen else promise
        kept = moving & ((point.x != 0) | (problem.lam == 0))
        if promise <= little * first and seen and np.array_equal(kept, moving):
            break
        moving = kept
    return point


def _newton_step(
    problem: _Problem, point: _Point, space: _Space, products: int
) -> tuple[Vector, float]:
    """The minimum of the quadratic model on the orthant of the weights, and twice its decrease."""
    x, w = point.x[space.moving], problem.w
    p = np.exp(point.z - _log_sum(point.z))
    none = np.zeros(len(p))
    slopes = space.join(space.lam * np.sign(x) + space.l2 * x, none)
    gradient = space.gradient(w * problem.excess(p)) + slopes
    ridge = space.join(space.l2, none)
    h = (p * (1 - p)) @ w
    diagonal = space.join(h[space.k] / w.sum() * space.norm2, h) + ridge

    def hessian(v: Vector) -> Vector:
        z = space.scores(v)
        return np.asarray(space.gradient(w * p * (z - (p * z).sum(axis=0))) + ridge * v)

    diagonal[diagonal == 0] = 1.0
    step = _conjugate_gradients(hessian, -gradient, diagonal, products)
    return step, -float(gradient @ step)


def _conjugate_gradients(
    hessian: Callable[[Vector], Vector], residual: Vector, diagonal: Vector, products: int
) -> Vector:
    """hessian(x) = residual to a hundredth, preconditioned by the diagonal."""
    x = np.zeros_like(residual)
    direction = residual / diagonal
    size = float(residual @ direction)
    enough = 1e-4 * size
    for _ in range(products):
        product = hessian(direction)
        curvature = float(direction @ product)
        if curvature <= 1e-14 * float(direction @ (diagonal * direction)):
            break
        x += size / curvature * direction
        residual = residual - size / curvature * product
        scaled = residual / diagonal
        last, size = size, float(residual @ scaled)
        if size <= enough:
            break
        direction = scaled + size / last * direction
    return x


def _search(problem: _Problem, point: _Point, space: _Space, step: Vector) -> _Point | None:
    """The first of ever shorter steps that lowers F, as far as float64 can see.

    Weights stop at zero and at their bounds. If the others cannot do without them, the next step to
    try is the one that ends where the first of them stops.
    """
    here = point.x[space.moving]
    step_x, step_b = space.split(step)
    walled = (space.lam > 0) & (here * step_x < 0)
    end = np.where(walled, 0.0, np.where(step_x > 0, space.hi, space.lo))
    reach = np.divide(end - here, step_x, out=np.full(len(here), np.inf), where=step_x != 0)
    for length in (1.0, 0.4, 0.16, *(reach.min(initial=0.064) * 0.4 ** np.arange(8))):
        there = np.where(reach <= length, end, here + length * step_x)
        x = point.x.copy()
        x[space.moving] = there
        b = point.b + length * step_b
        z = point.z + space.scores(space.join(there - here, b - point.b))
        better = problem.place(x, b, z)
        rise = better.F - point.F
        if rise < _UNSEEN * abs(point.F):
            return better
    return None


# --- What is told ---------------------------------------------------------------------------------


def _row(
    problem: _Problem, point: _Point, gap: float, watch: _Watch, count: int, seconds: float
) -> Row:
    """A row of the trace; its last four are of the last class that was fitted."""
    last = watch.last.trace[-1] if watch.last else None
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
    problem: _Problem,
    point: _Point,
    null: _Point,
    proof: _Certificate,
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
