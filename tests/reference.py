"""A slow solver that shares nothing with the core: the minimum of F to the last digits, proved.

Small problems only, in extended precision. Every kink and bound of F is rounded off by a barrier,
which Newton's method follows as it fades; the weights that are then free to move are taken to their
minimum by Newton's method on them alone. `error` is the answer's own duality gap.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

Vector = NDArray[np.longdouble]
Exact = np.longdouble

CLASSES = ("logistic", "squared_hinge")
STEEPEST = {"squared": 1.0, "logistic": 0.25, "squared_hinge": 2.0, "huber": 1.0}  # curvatures


def loss_values(loss: str, z: Any, y: Any, delta: float = 1.35) -> Any:
    """L(z, y) in the precision of z, straight from its definition."""
    if loss == "squared":
        return (z - y) ** 2 / 2
    if loss == "logistic":
        return np.logaddexp(0 * z, -y * z)
    if loss == "squared_hinge":
        return np.maximum(0, 1 - y * z) ** 2
    if loss == "huber":
        r = np.abs(z - y)
        return np.where(r <= delta, r**2 / 2, delta * (r - delta / 2))
    if loss == "poisson":
        with np.errstate(over="ignore", invalid="ignore"):  # a step too long is infinitely bad
            excess = z - np.log(np.where(y > 0, y, 1).astype(z.dtype))  # of the log of the rate
            small = excess * excess * (0.5 + excess * (1 / 6 + excess / 24))
            growth = np.where(np.abs(excess) < 1e-6, small, np.expm1(excess) - excess)
            return np.where(y > 0, y * growth, np.exp(z))
    raise ValueError(f"unknown loss {loss!r}")


def loss_slopes(loss: str, z: Any, y: Any, delta: float = 1.35) -> tuple[Any, Any]:
    """dL/dz and d2L/dz2."""
    if loss == "squared":
        return z - y, np.ones_like(z)
    if loss == "logistic":
        p = np.exp(-np.logaddexp(0 * z, y * z))
        return -y * p, p * (1 - p)
    if loss == "squared_hinge":
        lack = np.maximum(0, 1 - y * z)
        return -2 * y * lack, np.where(lack > 0, 2.0, 0.0)
    if loss == "huber":
        inside = np.clip(z - y, -delta, delta)
        return inside, np.where(inside == z - y, 1.0, 0.0)
    if loss == "poisson":
        return np.exp(z) - y, np.exp(z)
    raise ValueError(f"unknown loss {loss!r}")


def loss_conjugates(loss: str, u: Any, y: Any, delta: float = 1.35) -> Any:
    """sup_z uz - L(z, y), for u inside its domain (of huber: |u| <= delta)."""
    if loss in ("squared", "huber"):
        return u * (u / 2 + y)
    if loss == "logistic":
        p = -y * u
        return _entropy(p) + _entropy(1 - p)
    if loss == "squared_hinge":
        p = -y * u
        return p * (p / 4 - 1)
    if loss == "poisson":
        return _entropy(u + y) - (u + y) - _entropy(y) + y
    raise ValueError(f"unknown loss {loss!r}")


def _entropy(p: Any) -> Any:
    return np.where(p > 0, p * np.log(np.where(p > 0, p, 1)), 0)


@dataclass
class Reference:
    """One problem with every option of F spelt out: dense A, the intercept as a last column."""

    A: Vector
    y: Vector
    loss: str
    delta: float
    lam: Vector
    l2: Vector
    lo: Vector
    hi: Vector
    weights: Vector
    offset: Vector
    scale: Vector
    mean: Vector
    intercept: bool
    some_lam: bool

    @classmethod
    def of(
        cls,
        A: Any,
        y: Any,
        lam: float,
        loss: str = "squared",
        *,
        delta: float = 1.35,
        fit_intercept: bool = False,
        standardize: bool = False,
        weights: Any = None,
        offset: Any = None,
        penalty_factor: Any = None,
        l2: float = 0.0,
        bounds: Any = None,
    ) -> Reference:
        A = np.asarray(A.toarray() if sp.issparse(A) else A, dtype=Exact)
        n, d = A.shape
        y = np.asarray(y)
        if loss in CLASSES:
            y = np.where(y == np.unique(y)[1], 1.0, -1.0)
        w = np.ones(n, Exact) if weights is None else np.asarray(weights, dtype=Exact)
        factor = np.ones(d) if penalty_factor is None else np.asarray(penalty_factor, float)
        lo, hi = (None, None) if bounds is None else bounds
        lo = np.broadcast_to(-np.inf if lo is None else lo, d).astype(Exact)
        hi = np.broadcast_to(np.inf if hi is None else hi, d).astype(Exact)
        mean, scale = np.zeros(d, Exact), np.ones(d, Exact)
        if standardize or fit_intercept:  # the intercept is then that of columns about their means
            mean = w @ A / w.sum()
            spread = np.sqrt(w @ (A - mean) ** 2 / w.sum())
            varies = spread > (1e-12 if standardize else 1e-17) * np.abs(mean)
            scale = np.where(varies & standardize, spread, scale)
            A = np.where(varies, A - mean, 0) / scale
        present = w > 0
        lam_j = np.where(np.isinf(factor), np.inf, lam * np.where(np.isinf(factor), 0, factor))
        columns = [A, np.ones((n, 1), Exact)] if fit_intercept else [A]

        def more(values: Any, last: float) -> Vector:
            values = np.append(values, last) if fit_intercept else values
            return np.asarray(values, dtype=Exact)

        return cls(
            A=np.hstack(columns)[present],
            y=y[present].astype(Exact),
            loss=loss,
            delta=delta,
            lam=more(lam_j, 0.0),
            l2=more(np.full(d, l2), 0.0),
            lo=more(lo * scale, -np.inf),
            hi=more(hi * scale, np.inf),
            weights=w[present],
            offset=np.broadcast_to(0 if offset is None else offset, n)[present].astype(Exact),
            scale=scale,
            mean=mean,
            intercept=fit_intercept,
            some_lam=lam > 0,
        )

    def inner(self, x: Any, intercept: float = 0.0) -> Vector:
        """The weights of the standardised columns, the intercept last, from those of A."""
        v = np.asarray(x, dtype=Exact) * self.scale
        return np.append(v, intercept + self.mean @ x) if self.intercept else v

    def outer(self, v: Vector) -> tuple[Vector, float]:
        """x and the constant of the linear predictor A @ x + constant."""
        x = (v[:-1] if self.intercept else v) / self.scale
        return x, float((v[-1] if self.intercept else 0.0) - self.mean @ x)

    def value(self, v: Any) -> Any:
        """F, in extended precision."""
        losses = loss_values(self.loss, self.A @ v + self.offset, self.y, self.delta)
        on = v != 0
        return self.weights @ losses + self.lam[on] @ np.abs(v[on]) + self.l2 @ v**2 / 2

    def objective(self, v: Any) -> float:
        """F, rounded."""
        return float(self.value(np.asarray(v, dtype=Exact)))

    def derivatives(self, v: Any, flat: float = 0.0) -> tuple[Vector, Vector]:
        """Gradient and Hessian of the smooth part; `flat` is the curvature where there is none."""
        slope, curvature = self.slopes(v)
        g = self.weights * slope
        h = self.weights * np.where(curvature > 0, curvature, flat)
        H = self.A.T @ (h[:, None] * self.A) + np.diag(self.l2)
        return self.A.T @ g + self.l2 * v, H

    def slopes(self, v: Any) -> tuple[Vector, Vector]:
        """Of each row's loss."""
        with np.errstate(over="ignore"):
            return loss_slopes(self.loss, self.A @ v + self.offset, self.y, self.delta)

    def violations(self, v: Any, gradient: Vector) -> Vector:
        """How far zero is from the subdifferential of F: the one-sided descent slopes."""
        lam = np.where(np.isinf(self.lam), 0.0, self.lam)
        fixed = np.isinf(self.lam)
        up = np.where((v < self.hi) & ~fixed, gradient + np.where(v >= 0, lam, -lam), 0.0)
        down = np.where((v > self.lo) & ~fixed, gradient + np.where(v > 0, lam, -lam), 0.0)
        return np.maximum(np.maximum(-up, down), 0.0)

    def violation(self, v: Any) -> float:
        """The largest of them."""
        return float(self.violations(v, self.derivatives(v)[0]).max(initial=0.0))

    def null(self) -> Vector:
        """x = 0 within the bounds; the intercept and the weights of factor 0 at their best."""
        held = (self.lam > 0) | (not self.some_lam)
        if self.intercept:
            held[-1] = False
        at = np.clip(0.0, self.lo, self.hi)
        lo, hi = np.where(held, at, self.lo), np.where(held, at, self.hi)
        return replace(self, lo=lo, hi=hi).solve()

    @cached_property
    def at_null(self) -> float:
        """F0."""
        return self.objective(self.null())

    def solve(self, near: Any = None) -> Vector:
        """The minimiser, with columns of norm one. If it is `near` a point, that saves time; what
        is accepted is what proves itself, wherever it comes from."""
        norms = np.sqrt(self.weights @ self.A**2)
        moves = ~np.isinf(self.lam) & (self.lo < self.hi) & (norms > 0)
        v = np.where(np.isinf(self.lam), 0, np.clip(0, self.lo, self.hi)).astype(Exact)
        if not moves.any():
            return v
        s = norms[moves]
        smaller = replace(
            self,
            A=self.A[:, moves] / s,
            lam=self.lam[moves] / s,
            l2=self.l2[moves] / s**2,
            lo=self.lo[moves] * s,
            hi=self.hi[moves] * s,
            offset=self.offset + self.A[:, ~moves] @ v[~moves],
        )
        with np.errstate(over="ignore", invalid="ignore"):  # of steps that are not made
            found = Barrier(smaller).minimise(None if near is None else near[moves] * s) / s
        v[moves] = np.clip(found, self.lo[moves], self.hi[moves])
        return v

    def error(self, v: Vector) -> float:
        """Upper bound on F(v) - F*: the duality gap. A weight that nothing penalises, whose slope
        is not quite zero, is charged with that slope times its size, or its distance to the minimum
        along it."""
        w, (slope, curvature) = self.weights, self.slopes(v)
        pull = -(self.A.T @ (w * slope))
        open_side = np.isinf(np.where(pull > 0, self.hi, self.lo)) & (self.l2 == 0)
        free = open_side & (self.lam == 0)
        limited = open_side & (self.lam > 0) & (np.abs(pull) > self.lam)
        scale = np.min(self.lam[limited] / np.abs(pull[limited]), initial=1.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            far = np.sign(pull) * (np.abs(scale * pull) - self.lam) / self.l2
        aim = np.where(self.l2 > 0, far, np.where(pull > 0, self.hi, self.lo))
        inside = (np.abs(scale * pull) <= self.lam) | open_side
        x = np.clip(np.where(inside, 0, aim), self.lo, self.hi)
        on = x != 0
        columns = scale * pull * x - self.l2 * x**2 / 2
        columns[on] -= self.lam[on] * np.abs(x[on])
        u = scale * slope
        rows = loss_conjugates(self.loss, u, self.y, self.delta) - u * self.offset
        bend = (w * curvature) @ self.A[:, free] ** 2
        far = np.abs(pull[free]) / np.where(bend > 0, bend, 1)
        missing = np.abs(pull[free]) @ (np.abs(v[free]) + far)
        return float(self.value(v) + w @ rows + columns.sum() + missing)


@dataclass
class Barrier:
    """F with columns of norm one, its kinks and bounds rounded off by `mu`.

    lam |v| becomes the least lam t - mu log(t - v) - mu log(t + v) over t; a bound adds
    -mu log(distance). mu (v / far)^2 / 2 keeps weights that nothing else holds from leaving along
    a direction in which F is flat.
    """

    F: Reference
    mu: Any = 0.0
    far: Any = 1.0

    def value(self, v: Vector) -> Any:
        m = self.kinks()
        t = m + np.hypot(v, m)
        on = m > 0
        walls = [np.sum(np.log(room[np.isfinite(room)])) for room in self.rooms(v)]
        kinks = np.sum(self.F.lam * (t - np.abs(v))) - self.mu * np.sum(np.log(t[on]))
        held = self.mu * np.sum((v / self.far) ** 2) / 2
        return self.F.value(v) + kinks - self.mu * sum(walls) + held

    def kinks(self) -> Vector:
        lam = self.F.lam
        return np.where(lam > 0, self.mu / np.where(lam > 0, lam, 1), 0)

    def rooms(self, v: Vector) -> tuple[Vector, Vector]:
        """How far it is to the bounds, and never nothing."""
        least = np.finfo(Exact).eps * np.abs(v) + np.finfo(Exact).tiny
        return np.maximum(v - self.F.lo, least), np.maximum(self.F.hi - v, least)

    def derivatives(self, v: Vector) -> tuple[Vector, Vector]:
        g, H = self.F.derivatives(v, flat=1e-6)
        m = self.kinks()
        r = np.hypot(v, m)
        size, t = np.where(m > 0, r, 1), np.where(m > 0, m + r, 1)
        below, above = self.rooms(v)
        g = g + np.where(m > 0, self.F.lam * v / t, 0) - self.mu / below + self.mu / above
        curvature = np.where(m > 0, self.F.lam * m / (size * t), 0)
        curvature = curvature + self.mu / below**2 + self.mu / above**2 + self.mu / self.far**2
        return g + self.mu * v / self.far**2, H + np.diag(curvature)

    def minimise(self, near: Vector | None = None) -> Vector:
        F = self.F
        v, self.far = self.inside()
        best = v if near is None else self.polish(near)
        error = F.error(best)
        walls = 2 * (F.lam > 0).sum() + np.isfinite(F.lo).sum() + np.isfinite(F.hi).sum()
        walls = max(walls, 1)
        self.mu = 1e-2 * F.value(v) / walls
        for _ in range(40):
            if error <= 1e-16 * F.value(best) or walls * self.mu < 1e-18 * F.value(v):
                break
            v = self.descend(v)
            u = self.polish(v)
            self.mu /= 20
            if (left := F.error(u)) < error:
                best, error = u, left
        return best

    def inside(self) -> tuple[Vector, Any]:
        """A point with room on all sides, not much higher than zero is, and what is far for a
        weight."""
        F = self.F
        zero = np.clip(np.zeros(len(F.lam), Exact), F.lo, F.hi)
        size = np.abs(F.derivatives(zero)[0]).max() / 10
        size = size if size > 0 else Exact(1)
        for _ in range(60):
            room = np.minimum(size, (F.hi - F.lo) / 4)
            v = np.clip(zero, F.lo + room, F.hi - room)
            if F.value(v) <= 10 * F.value(zero):
                break
            size /= 4
        return v, 100 * np.maximum(size, np.abs(v).max())

    def descend(self, v: Vector) -> Vector:
        """Newton's method with backtracking."""
        for _ in range(200):
            g, H = self.derivatives(v)
            step = _solve(H, -g)
            promised = -(g @ step)
            if not promised > self.mu / 100:
                break
            here, t = self.value(v), self.longest(v, step)
            while not self.value(v + t * step) <= here - 1e-4 * t * promised:
                t /= 2
                if t < 1e-9:
                    return v
            v = v + t * step
        return v

    def longest(self, v: Vector, step: Vector) -> Any:
        """The part of the step that stays inside."""
        below, above = self.rooms(v)
        with np.errstate(divide="ignore"):
            room = np.where(step < 0, below, above) / np.abs(step)
        return min(Exact(1), Exact(0.99) * room.min())

    def polish(self, v: Vector) -> Vector:
        """The weights that the barrier holds at zero or at a bound are put there, and the others
        are moved to their minimum, as long as that helps."""
        F = self.F
        g = F.derivatives(v)[0]
        below, above = self.rooms(v)
        idle = (F.lam > 0) & (F.lam - np.abs(g) > np.abs(v))
        slope = g + F.lam * np.sign(v)
        u = np.where(idle, 0, np.where(below < slope, F.lo, np.where(above < -slope, F.hi, v)))
        u = np.where(np.isfinite(u), np.clip(u, F.lo, F.hi), v)
        on = np.flatnonzero((u > F.lo) & (u < F.hi) & ~idle)
        best, error = v, F.error(v)
        for _ in range(12):
            if (left := F.error(u)) < error:
                best, error = u, left
            if error <= 1e-17 * F.value(best):
                break
            g, H = F.derivatives(u)
            slope = g[on] + F.lam[on] * np.sign(v[on])
            u = u.copy()
            u[on] += _solve(H[np.ix_(on, on)], -slope)
            if (F.lam * v * u < 0).any():
                break
            u = np.clip(u, F.lo, F.hi)
        return best


def _solve(H: Vector, b: Vector) -> Vector:
    """Nearly H^-1 b, after H's diagonal is made one: by elimination in extended precision."""
    size = np.sqrt(np.where(np.diag(H) > 0, np.diag(H), 1))
    largest = np.abs(b / size).max(initial=0)
    if not largest > 0:
        return 0 * b
    rows = np.column_stack([H / size / size[:, None], b / size / largest])
    rows[np.diag_indices(len(b))] += 1e-17
    for k in range(len(b)):  # H is positive definite: no pivots
        rows[k] /= rows[k, k]
        others = np.arange(len(b)) != k
        rows[others] -= np.outer(rows[others, k], rows[k])
    return rows[:, -1] * largest / size


def assert_optimal(fit: Any, reference: Reference, tol: float) -> None:
    """x is feasible, F is what F(x) is, within tol of the minimum, and the gap covers the rest."""
    v = reference.inner(fit.x, fit.intercept)
    best = reference.objective(reference.solve(near=v))
    rounding = 1e-12 * (1 + abs(best))
    assert (v >= reference.lo - rounding).all()
    assert (v <= reference.hi + rounding).all()
    if not reference.intercept:
        assert fit.intercept == pytest.approx(-reference.mean @ fit.x, abs=rounding)
    here = reference.objective(v)
    assert fit.objective == pytest.approx(here, abs=rounding)
    assert fit.status == "converged"
    assert fit.gap <= fit.tolerance
    assert here - best >= -rounding
    assert fit.gap >= here - best - 1e-14 * (1 + abs(best))
    assert fit.tolerance == pytest.approx(tol * reference.at_null, rel=1e-6)
