"""L1_LS: a log-barrier interior point method whose Newton steps are found by PCG.

S.-J. Kim, K. Koh, M. Lustig, S. Boyd and D. Gorinevsky, An Interior-Point Method for Large-Scale
l1-Regularized Least Squares, 2007. Their objective is twice ours. With bounds -u <= x <= u, it
minimises

    phi_t(x, u) = 1/2 ||Ax - y||^2 + lam sum(u) - 1/t sum(log(u + x) + log(u - x))

for a growing t (their phi_t over t).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from shotgun.study.solvers.lasso import conjugate_gradients, dual_objective, given
from shotgun.study.watch import Vector, Watch


def solve(
    A: Any,
    y: Any,
    lam: float,
    watch: Watch,
    *,
    reltol: float = 1e-3,
    mu: float = 2.0,
    s_min: float = 0.5,
    alpha: float = 0.01,
    beta: float = 0.5,
    xi: float = 0.01,
    max_iter: int = 400,
    max_pcg: int = 5000,
) -> Vector:
    """Minimise F until the duality gap is at most `reltol` times the dual objective.

    t grows by `mu` after steps s >= `s_min`; `alpha` and `beta` are of the backtracking line
    search; PCG stops at a relative residual of min(0.1, xi * gap / ||gradient||).
    """
    A, At, y = given(A, y, lam)
    tau = gram_diagonal(A)
    d = len(tau)
    x, u = np.zeros(d), np.ones(d)
    t, s, dual = 1 / lam, 1.0, -np.inf
    for _ in range(max_iter):
        z = A @ x - y
        g = At @ z
        dual = max(dual, dual_objective(z, g, y, lam))
        gap = 0.5 * z @ z + lam * np.abs(x).sum() - dual
        if watch(x) or gap <= reltol * dual:
            break
        if s >= s_min:
            t = max(min(2 * d * mu / gap, mu * t), t)
        q1, q2 = 1 / (u + x), 1 / (u - x)
        gradient = np.concatenate([g - (q1 - q2) / t, lam - (q1 + q2) / t])
        dx, du = np.split(
            conjugate_gradients(
                hessian(A, At, q1, q2, t),
                -gradient,
                np.zeros(2 * d),
                tol=min(0.1, xi * gap / float(np.linalg.norm(gradient))),
                max_iter=max_pcg,
                overdue=watch.overdue,
                precondition=preconditioner(tau, q1, q2, t),
            ),
            2,
        )
        slope = gradient @ np.concatenate([dx, du])
        s = backtrack(x, u, z, dx, du, A @ dx, slope, lam, t, alpha, beta)
        if s == 0:
            break
        x, u = x + s * dx, u + s * du
    return x


def gram_diagonal(A: Any) -> Vector:
    """The diagonal of A'A; of an operator, the mean of it as a random vector of signs tells."""
    if isinstance(A, LinearOperator):
        d = A.shape[1]
        Av = A @ np.random.default_rng(0).choice([-1.0, 1.0], d)
        return np.full(d, Av @ Av / d)
    squares = A.multiply(A).sum(0) if sp.issparse(A) else np.einsum("ij,ij->j", A, A)
    return np.asarray(squares, dtype=np.float64).ravel()


def hessian(A: Any, At: Any, q1: Vector, q2: Vector, t: float) -> Callable[[Vector], Vector]:
    D1, D2 = (q1**2 + q2**2) / t, (q1**2 - q2**2) / t

    def product(v: Vector) -> Vector:
        vx, vu = np.split(v, 2)
        return np.concatenate([At @ (A @ vx) + D1 * vx + D2 * vu, D2 * vx + D1 * vu])

    return product


def preconditioner(tau: Vector, q1: Vector, q2: Vector, t: float) -> Callable[[Vector], Vector]:
    """The inverse of the Hessian with A'A replaced by its diagonal."""
    D1, D2 = (q1**2 + q2**2) / t, (q1**2 - q2**2) / t
    top = tau + D1
    # top D1 - D2^2, without its cancellation
    determinant = tau * D1 + (2 * q1 * q2 / t) ** 2

    def product(r: Vector) -> Vector:
        rx, ru = np.split(r, 2)
        return np.concatenate([D1 * rx - D2 * ru, top * ru - D2 * rx]) / np.tile(determinant, 2)

    return product


def backtrack(
    x: Vector,
    u: Vector,
    z: Vector,
    dx: Vector,
    du: Vector,
    Adx: Vector,
    slope: float,
    lam: float,
    t: float,
    alpha: float,
    beta: float,
    max_halvings: int = 100,
) -> float:
    """The first step 1, beta, beta^2, ... that stays inside the bounds and lowers phi_t enough."""

    def phi(s: float) -> float:
        new_x, new_u = x + s * dx, u + s * du
        inside = np.concatenate([new_u + new_x, new_u - new_x])
        if inside.min() <= 0:
            return np.inf
        rest = z + s * Adx
        return float(0.5 * rest @ rest + lam * new_u.sum() - np.log(inside).sum() / t)

    s, start = 1.0, phi(0.0)
    for _ in range(max_halvings):
        if phi(s) <= start + alpha * s * slope:
            return s
        s *= beta
    return 0.0
