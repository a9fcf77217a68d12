"""The multinomial loss and its penalty: what is minimised, and how far a point is from that.

Weights and gradients have shape (k, d), scores and probabilities (k, n). Columns count as centred
where the intercept absorbs it or standardising asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

import shotgun._core as _core
from shotgun.problem import (
    Elsewhere,
    Vector,
    canonical,
    check_vector,
    state_problem,
    taken,
    taken_by,
)

Matrix: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.float64]]
Mask: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]

_BLOCK = 1 << 22  # entries of A that are looked at, and converted to float64, at once


@dataclass(frozen=True)
class Softmax:
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

    def at(self, lam: float, l2: float) -> Softmax:
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
        if isinstance(self.A, np.ndarray):
            for columns, A in _blocks(self.A):
                if x[:, columns].any():
                    z += (A @ x[:, columns].T).T
            return z
        used = np.flatnonzero(x.any(axis=0))  # one sum: tiles of a matrix on disk would round it
        whole = sp.issparse(self.A) and len(used) == x.shape[1]
        A = self.A if whole else self.A[:, used]
        return np.asarray(z + (A.astype(np.float64, copy=False) @ x[:, used].T).T)

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
        others = log_sum(np.where(self.Y == 1, -np.inf, z)) - (self.Y * z).sum(axis=0)
        return float(self.w @ np.logaddexp(0.0, others))

    def excess(self, p: Matrix) -> Matrix:
        """p - Y, to the last digit also where p is all but 1."""
        others = np.where(self.Y == 1, 0.0, p)
        return np.where(self.Y == 1, -others.sum(axis=0), others)

    def place(self, x: Matrix, b: Vector, z: Matrix | None = None) -> Point:
        z = self.scores(x, b) if z is None else z
        return Point(x, b, z, self.losses(z) + self.penalty(x))


@dataclass(frozen=True)
class Point:
    """Weights, intercepts of the centred columns, scores, and F."""

    x: Matrix
    b: Vector
    z: Matrix
    F: float


def state(given: dict[str, Any]) -> Softmax:
    """Everything that defines F, checked; `given` has the arguments of `multinomial` by name."""
    A, labels = canonical(taken(given["A"])), np.asarray(given["y"])
    if not isinstance(A, Elsewhere):
        A = A.tocsc() if sp.issparse(A) else np.asfortranarray(A)
    if A.dtype not in (np.float32, np.float64) and A.dtype.kind in "fiub":
        A = A.astype(np.float64)
    plain = {"A": A, "y": np.zeros(len(labels)), "loss": "squared", "delta": 1.0, "offset": None}
    design, statement = state_problem(**taken_by(state_problem, given | plain))
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
    return Softmax(
        A=A,
        design=design,
        statement=statement,
        classes=classes,
        Y=Y,
        w=w,
        offset=_check_offset(given["offset"], Y.shape),
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


def check_start(x0: Any, problem: Softmax) -> Matrix:
    k, d = len(problem.Y), len(problem.mean)
    if np.shape(x0) != (k, d):
        raise ValueError(f"x0 must have shape ({k}, {d}), not {np.shape(x0)}")
    return np.array([check_vector("x0", row, d) for row in np.asarray(x0)])


def _blocks(A: Any) -> Iterator[tuple[slice, Any]]:
    """The columns of A in float64, as few at a time as is needed not to copy all of it."""
    n, d = A.shape
    if sp.issparse(A) and A.dtype == np.float64:
        yield slice(0, d), A  # a slice of it would be a copy
        return
    width = max(1, _BLOCK // n)
    few = [slice(first, min(first + width, d)) for first in range(0, d, width)]
    for columns in A.spans() if isinstance(A, Elsewhere) else few:
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


def log_sum(z: Matrix) -> Vector:
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
class Certificate:
    gap: float
    exact: bool  # else estimated from the gradients of loose weights
    screened: Mask


def certify(problem: Softmax, point: Point) -> Certificate:
    log_p = point.z - log_sum(point.z)
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
    return Certificate(min(found, at_worst), exact or at_worst < found, zero)


def _centred(problem: Softmax, e: Matrix) -> Matrix:
    """p - Y for a p mixed with as much of one constant distribution as makes w (p - Y) sum to 0."""
    counts, sums, total = problem.Y @ problem.w, e @ problem.w, problem.w.sum()
    share = max(0.0, float((sums / (counts + sums)).max()))
    rest = np.maximum(share * counts - (1 - share) * sums, 0.0)
    return np.asarray((1 - share) * e - share * problem.Y + (rest / total)[:, None])


def _divergence(v: Matrix, p: Matrix, log_p: Matrix) -> Vector:
    """KL(v || p) of every sample, from terms that are each >= 0."""
    log_v = np.log(v, out=np.zeros_like(v), where=v > 0)
    return np.asarray(np.maximum(v * (log_v - log_p) - v + p, 0.0).sum(axis=0))


def _feasible_scale(problem: Softmax, c: Matrix) -> float:
    unbounded = np.where(c < 0, np.isinf(problem.hi), np.isinf(problem.lo))
    tied = unbounded & (problem.l2 == 0) & ~problem.loose & (np.abs(c) > problem.lam)
    lam = np.broadcast_to(problem.lam, c.shape)
    return float((lam[tied] / np.abs(c[tied])).min(initial=1.0))


def _column_gap(problem: Softmax, x: Matrix, pull: Matrix) -> float:
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
    problem: Softmax, point: Point, p: Matrix, u: Matrix, c: Matrix
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


def _norm(problem: Softmax, u: Matrix) -> float:
    """The norm that is dual to that of the weighted columns."""
    present = problem.w > 0
    return float(np.sqrt((u[:, present] ** 2 / problem.w[present]).sum()))


def _rounding(problem: Softmax, point: Point, u: Matrix) -> float:
    """What rounding may hide of scores, gradients and F, as in the core's `rounding_unit`."""
    terms, total = len(problem.w) + np.count_nonzero(point.x), problem.w.sum()
    unit = 2.0**-53 * (16 + 4 * np.sqrt(terms))
    norms = np.sqrt(problem.norm2 + problem.mean**2 * total)
    reach = (np.abs(point.x) @ norms).sum() + np.abs(point.b).sum() * np.sqrt(total)
    return float(unit * (reach * _norm(problem, u) + abs(point.F)))
