"""A slow solver that shares nothing with the core: the minimum of F to the last digits.

Small problems only. Proximal Newton in plain numpy: each quadratic model is minimised by coordinate
descent on its Gram matrix and finished by solving the linear system of the weights that are free to
move. The answer is accepted on the optimality conditions alone, which `violation` measures.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

Vector = NDArray[np.float64]

CLASSES = ("logistic", "squared_hinge")


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
    with np.errstate(over="ignore"):  # a step too long is infinitely bad
        rate, count = np.exp(z), np.where(y > 0, y, 1).astype(z.dtype)
    return rate - y * z + np.where(y > 0, count * np.log(count) - count, 0)


def loss_slopes(loss: str, z: Any, y: Any, delta: float = 1.35) -> tuple[Any, Any]:
    """dL/dz and d2L/dz2; of the latter a little also where there is none."""
    if loss == "squared":
        return z - y, np.ones_like(z)
    if loss == "logistic":
        p = 0.5 * (1 + np.tanh(-y * z / 2))
        return -y * p, p * (1 - p)
    if loss == "squared_hinge":
        lack = np.maximum(0, 1 - y * z)
        return -2 * y * lack, np.where(lack > 0, 2.0, 1e-3)
    if loss == "huber":
        inside = np.clip(z - y, -delta, delta)
        return inside, np.where(inside == z - y, 1.0, 1e-3)
    return np.exp(z) - y, np.exp(z)


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
        A = np.asarray(A.toarray() if sp.issparse(A) else A, dtype=np.float64)
        n, d = A.shape
        y = np.asarray(y)
        if loss in CLASSES:
            y = np.where(y == np.unique(y)[1], 1.0, -1.0)
        w = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
        factor = np.ones(d) if penalty_factor is None else np.asarray(penalty_factor, float)
        lo, hi = (None, None) if bounds is None else bounds
        lo = np.broadcast_to(-np.inf if lo is None else lo, d).astype(float)
        hi = np.broadcast_to(np.inf if hi is None else hi, d).astype(float)
        mean, scale = np.zeros(d), np.ones(d)
        if standardize:
            mean = w @ A / w.sum()
            spread = np.sqrt(w @ (A - mean) ** 2 / w.sum())
            scale = np.where(spread > 1e-12 * np.abs(mean), spread, 1.0)
        A = (A - mean) / scale
        lam_j = np.where(np.isinf(factor), np.inf, lam * np.where(np.isinf(factor), 0.0, factor))
        columns = [A, np.ones((n, 1))] if fit_intercept else [A]

        def more(values: Vector, last: float) -> Vector:
            return np.append(values, last) if fit_intercept else values

        return cls(
            A=np.hstack(columns),
            y=y.astype(np.float64),
            loss=loss,
            delta=delta,
            lam=more(lam_j, 0.0),
            l2=more(np.full(d, l2), 0.0),
            lo=more(lo * scale, -np.inf),
            hi=more(hi * scale, np.inf),
            weights=w,
            offset=np.zeros(n) if offset is None else np.asarray(offset, dtype=np.float64),
            scale=scale,
            mean=mean,
            intercept=fit_intercept,
            some_lam=lam > 0,
        )

    def inner(self, x: Any, intercept: float = 0.0) -> Vector:
        """The weights of the standardised columns, the intercept last, from those of A."""
        v = np.asarray(x, dtype=np.float64) * self.scale
        return np.append(v, intercept + self.mean @ x) if self.intercept else v

    def outer(self, v: Vector) -> tuple[Vector, float]:
        """x and the constant of the linear predictor A @ x + constant."""
        x = (v[:-1] if self.intercept else v) / self.scale
        return x, float((v[-1] if self.intercept else 0.0) - self.mean @ x)

    def objective(self, v: Vector) -> float:
        """F, in extended precision."""
        z = self.A.astype(np.longdouble) @ v.astype(np.longdouble) + self.offset
        losses = loss_values(self.loss, z, self.y, self.delta)
        on = v != 0
        penalty = (
            np.sum(self.lam[on] * np.abs(v[on]))
            + np.sum(self.l2 * v.astype(np.longdouble) ** 2) / 2
        )
        return float(np.sum(np.where(self.weights > 0, self.weights * losses, 0)) + penalty)

    def derivatives(self, v: Vector) -> tuple[Vector, Vector]:
        """Gradient and Hessian of the smooth part."""
        z = self.A @ v + self.offset
        g, h = loss_slopes(self.loss, z, self.y, self.delta)
        H = self.A.T @ ((self.weights * h)[:, None] * self.A) + np.diag(self.l2)
        return self.A.T @ (self.weights * g) + self.l2 * v, H

    def violation(self, v: Vector, gradient: Vector | None = None) -> float:
        """How far zero is from the subdifferential of F: the largest one-sided descent slope."""
        g = self.derivatives(v)[0] if gradient is None else gradient
        lam = np.where(np.isinf(self.lam), 0.0, self.lam)
        fixed = np.isinf(self.lam)
        up = np.where((v < self.hi) & ~fixed, g + np.where(v >= 0, lam, -lam), 0.0)
        down = np.where((v > self.lo) & ~fixed, g + np.where(v > 0, lam, -lam), 0.0)
        return float(max(np.max(-up, initial=0.0), np.max(down, initial=0.0)))

    def null(self) -> Vector:
        """x = 0 within the bounds; the intercept and the weights of factor 0 at their best."""
        held = (self.lam > 0) | (not self.some_lam)
        if self.intercept:
            held[-1] = False
        at = np.clip(0.0, self.lo, self.hi)
        return self._minimise(np.where(held, at, self.lo), np.where(held, at, self.hi), at)

    @cached_property
    def least(self) -> float:
        """F*."""
        return self.objective(self.solve())

    @cached_property
    def at_null(self) -> float:
        """F0."""
        return self.objective(self.null())

    def solve(self) -> Vector:
        return self._minimise(self.lo, self.hi, np.clip(0.0, self.lo, self.hi))

    def _minimise(self, lo: Vector, hi: Vector, v: Vector) -> Vector:
        saved, self.lo, self.hi = (self.lo, self.hi), lo, hi
        try:
            size = 1 + np.abs(self.A).sum(0).max() * np.abs(self.weights).max()
            for _ in range(200):
                g, H = self.derivatives(v)
                if self.violation(v, g) <= 1e-13 * size:
                    break
                goal = self._minimise_model(g, H, v)
                t, here = 1.0, self.objective(v)
                while self.objective(v + t * (goal - v)) > here and t > 1e-9:
                    t /= 2
                if t <= 1e-9:
                    break
                v = goal if t == 1.0 else v + t * (goal - v)
            assert self.violation(v) <= 1e-8 * size, "the reference did not converge"
            return v
        finally:
            self.lo, self.hi = saved

    def _minimise_model(self, g: Vector, H: Vector, v: Vector) -> Vector:
        """Minimiser of g'(u - v) + (u - v)'H(u - v)/2 + penalty(u) over the bounds."""
        u, r = v.copy(), g.copy()  # r: gradient of the model at u, l2 included in H
        movable = ~np.isinf(self.lam) & (self.lo < self.hi) & (np.diag(H) > 0)
        for sweep in range(20_000):
            for j in np.flatnonzero(movable):
                a = H[j, j]
                pull = a * u[j] - r[j]
                aim = np.sign(pull) * max(abs(pull) - self.lam[j], 0.0) / a
                step = min(max(aim, self.lo[j]), self.hi[j]) - u[j]
                if step:
                    u[j] += step
                    r += step * H[:, j]
            if sweep % 10 == 9:
                r = g + H @ (u - v)
                better = self._polish(g, H, v, u, r, movable)
                if better is not None:
                    return better
                if self.violation(u, r) <= 1e-14 * (1 + np.abs(g).max()):
                    return u
        return u

    def _polish(
        self, g: Vector, H: Vector, v: Vector, u: Vector, r: Vector, movable: Vector
    ) -> Vector | None:
        """The exact minimiser, if the signs and the active bounds of u are already its own."""
        inside = movable & (u > self.lo) & (u < self.hi) & ((u != 0) | (self.lam == 0))
        on = np.flatnonzero(inside)
        best = u.copy()
        if len(on):
            slope = r[on] + self.lam[on] * np.sign(u[on])
            best[on] -= np.linalg.lstsq(H[np.ix_(on, on)], slope, rcond=None)[0]
        same = np.sign(best) == np.sign(u)
        ok = (same | (self.lam == 0)) & (best >= self.lo) & (best <= self.hi)
        if not ok.all():
            return None
        gradient = g + H @ (best - v)
        return best if self.violation(best, gradient) <= 1e-12 * (1 + np.abs(g).max()) else None


def assert_optimal(fit: Any, reference: Reference, tol: float) -> None:
    """x is feasible, F is what F(x) is, within tol of the minimum, and the gap covers the rest."""
    best = reference.least
    v = reference.inner(fit.x, fit.intercept)
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
