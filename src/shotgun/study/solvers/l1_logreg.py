"""L1_logreg: interior point method, Newton steps by preconditioned conjugate gradients.

K. Koh, S.-J. Kim, S. Boyd: An interior-point method for large-scale l1-regularized logistic
regression, JMLR 8, 2007, without the intercept. Minimises t (losses + lam 1'u) less the logarithms
of u + x and u - x, for growing t; stops on the duality gap.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import entr, expit

from shotgun.problem import encode_labels
from shotgun.study.solvers.lasso import conjugate_gradients
from shotgun.study.watch import Vector, Watch

GROWTH = 2.0  # of t, after a step of at least LONG
LONG = 0.5
SLOPE, SHORTER = 0.01, 0.5  # of the line search
PRECISION = 0.3  # of a Newton step, relative to the gap
PCG_STEPS, SEARCHES = 5000, 100  # at most


@dataclass
class Problem:
    """A, each row times its class, so that margins are products with it."""

    A: Any
    y: Vector
    lam: float

    @classmethod
    def of(cls, A: Any, y: Any, lam: float) -> Problem:
        A = A.astype(np.float64, copy=False)  # in float32 the gap would not be a bound
        return cls(A, encode_labels(y, A.shape[0], None), lam)

    def times(self, v: Vector) -> Vector:
        return np.asarray(self.y * (self.A @ v))

    def transposed_times(self, v: Vector) -> Vector:
        return np.asarray(self.A.T @ (self.y * v))

    def squares(self, weights: Vector) -> Vector:
        """The diagonal of A'WA."""
        if sp.issparse(self.A):
            return np.asarray(self.A.power(2).T @ weights)
        return np.asarray(np.einsum("ij,i,ij->j", self.A, weights, self.A))

    def losses(self, margins: Vector) -> float:
        return float(np.logaddexp(0, -margins).sum())

    def gap(self, x: Vector, margins: Vector) -> float:
        """F less the dual objective at the gradient, scaled to be feasible."""
        wrong = expit(-margins)
        steepest = float(np.abs(self.transposed_times(wrong)).max())
        dual = wrong * min(1.0, self.lam / steepest) if steepest > 0 else wrong
        F = self.losses(margins) + self.lam * float(np.abs(x).sum())
        return F - float((entr(dual) + entr(1 - dual)).sum())


@dataclass
class Barrier:
    """The function of x and u that t stands for, around one point."""

    problem: Problem
    t: float
    x: Vector
    u: Vector
    margins: Vector

    def value(self, dx: Vector, du: Vector, d_margins: Vector) -> float:
        """Some way on; infinite outside the domain."""
        x, u = self.x + dx, self.u + du
        if not (np.abs(x) < u).all():
            return np.inf
        smooth = self.problem.losses(self.margins + d_margins) + self.problem.lam * float(u.sum())
        return self.t * smooth - float(np.log(u + x).sum() + np.log(u - x).sum())

    def direction(
        self, guess: Vector, gap: float, overdue: Callable[[], bool]
    ) -> tuple[Vector, Vector, float]:
        """Newton's, u being eliminated, and its slope."""
        x, u, t, A = self.x, self.u, self.t, self.problem
        wrong = expit(-self.margins)
        inside = (u - x) * (u + x)
        g_x = -t * A.transposed_times(wrong) + 2 * x / inside
        g_u = t * A.lam - 2 * u / inside
        # the mixed part of the barrier's Hessian over that of u
        to_u = -2 * u * x / (u * u + x * x)
        u_curve = 2 * (u * u + x * x) / inside**2
        schur = 2 / (u * u + x * x)
        curve = t * wrong * (1 - wrong)

        def product(v: Vector) -> Vector:
            return A.transposed_times(curve * A.times(v)) + schur * v

        norm = float(np.sqrt(g_x @ g_x + g_u @ g_u))
        diagonal = A.squares(curve) + schur
        dx = conjugate_gradients(
            product,
            to_u * g_u - g_x,
            guess,
            tol=min(0.1, PRECISION * gap / max(norm, 1e-300)),
            max_iter=PCG_STEPS,
            overdue=overdue,
            precondition=lambda r: r / diagonal,
        )
        du = -g_u / u_curve - to_u * dx
        return dx, du, float(g_x @ dx + g_u @ du)


def solve(
    A: Any, y: Any, lam: float, watch: Watch, *, tol: float = 1e-8, max_iter: int = 400
) -> Vector:
    """Logistic regression, `y` being of two classes, until the gap is `tol` for each sample."""
    problem = Problem.of(A, y, lam)
    n, d = A.shape
    x, u, dx = np.zeros(d), np.ones(d), np.zeros(d)
    margins, t, length = np.zeros(n), 1 / lam, 1.0
    for _ in range(max_iter):
        gap = problem.gap(x, margins)
        if watch(x) or gap <= tol * n:
            break
        if length >= LONG:
            t = max(min(GROWTH * 2 * d / gap, GROWTH * t), t)
        barrier = Barrier(problem, t, x, u, margins)
        dx, du, slope = barrier.direction(dx, gap, watch.overdue)
        d_margins = problem.times(dx)
        here, length = barrier.value(0 * dx, 0 * du, 0 * d_margins), 1.0
        for _ in range(SEARCHES):
            ahead = barrier.value(length * dx, length * du, length * d_margins)
            if ahead <= here + SLOPE * length * slope:
                break
            length *= SHORTER
        else:
            break  # rounding: no step is seen to lower the value
        x, u, margins = x + length * dx, u + length * du, margins + length * d_margins
    return x
