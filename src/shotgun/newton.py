"""Newton steps of a multinomial model: all classes at once, on the weights that may move.

Conjugate gradients find the minimum of the quadratic model on the orthant of the weights; a search
then goes as far along it as lowers F.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from shotgun.problem import Elsewhere, Vector
from shotgun.softmax import Mask, Matrix, Point, Softmax, log_sum

UNSEEN = 2.0**-50  # relative to F: changes that its rounding hides


def newton_steps(
    problem: Softmax,
    point: Point,
    moving: Mask,
    steps: int,
    products: int,
    little: float = 1e-8,
    over: Callable[[], bool] = lambda: False,
) -> tuple[Point, int]:
    """Newton steps of the moving weights and the intercepts, until they promise little more; how
    many were tried.

    Once time is `over`, the step at hand is made as far as it is known.
    """
    space, first, last, tried = None, 0.0, np.inf, 0
    while tried < steps:
        if over():
            break
        moving = moving & (point.x > problem.lo) & (point.x < problem.hi)
        if not (moving.any() or problem.intercept):
            break
        if space is None or not np.array_equal(moving, space.moving):
            space, last = _Space(problem, moving), np.inf
        step, promise = _step(problem, point, space, products, over)
        tried += 1
        seen = promise > UNSEEN * abs(point.F)
        better = _search(problem, point, space, step) if seen or promise < last / 2 else None
        if better is None:
            break
        point, first, last = better, max(first, promise), np.inf if seen else promise
        kept = moving & ((point.x != 0) | (problem.lam == 0))
        if promise <= little * first and seen and np.array_equal(kept, moving):
            break
        moving = kept
    return point, tried


class _Space:
    """The weights that may move, and the intercepts, as one vector."""

    def __init__(self, problem: Softmax, moving: Mask) -> None:
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
    if sp.issparse(A) or isinstance(A, Elsewhere):
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


def _step(
    problem: Softmax, point: Point, space: _Space, products: int, over: Callable[[], bool]
) -> tuple[Vector, float]:
    """The minimum of the quadratic model on the orthant of the weights, and twice its decrease."""
    x, w = point.x[space.moving], problem.w
    p = np.exp(point.z - log_sum(point.z))
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
    step = _conjugate_gradients(hessian, -gradient, diagonal, products, over)
    return step, -float(gradient @ step)


def _conjugate_gradients(
    hessian: Callable[[Vector], Vector],
    residual: Vector,
    diagonal: Vector,
    products: int,
    over: Callable[[], bool],
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
        if size <= enough or over():
            break
        direction = scaled + size / last * direction
    return x


def _search(problem: Softmax, point: Point, space: _Space, step: Vector) -> Point | None:
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
        if rise < UNSEEN * abs(point.F):
            return better
    return None
