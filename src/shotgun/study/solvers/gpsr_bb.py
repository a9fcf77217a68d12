"""GPSR_BB: gradient projection with Barzilai-Borwein steps, on x = u - v with u, v >= 0.

M. A. T. Figueiredo, R. D. Nowak and S. J. Wright, Gradient Projection for Sparse Reconstruction:
Application to Compressed Sensing and Other Inverse Problems, 2007. Without debiasing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shotgun.study.solvers.lasso import given, next_tau
from shotgun.study.watch import Vector, Watch


def solve(
    A: Any,
    y: Any,
    lam: float,
    watch: Watch,
    *,
    tol: float = 0.01,
    monotone: bool = True,
    continuation: bool = True,
    zeta: float = 0.2,
    stage_tol: float = 1e-5,
    alpha_min: float = 1e-30,
    alpha_max: float = 1e30,
    min_iter: int = 5,
    max_iter: int = 10_000,
) -> Vector:
    """Minimise F until the LCP estimate of the distance to the solution, relative to
    ||x||_inf, is at most `tol`.

    `continuation` descends to lam by tau = `zeta` ||A'(Ax - y)||_inf, each stage ending when the
    objective changes by less than `stage_tol` of itself.
    """
    A, At, y = given(A, y, lam)
    u, v, r = np.zeros(A.shape[1]), np.zeros(A.shape[1]), -y
    g, alpha = At @ r, 1.0
    tau = next_tau(g, lam, zeta) if continuation else lam
    f = 0.5 * r @ r
    for k in range(1, max_iter + 1):
        du = np.maximum(u - alpha * (tau + g), 0.0) - u
        dv = np.maximum(v - alpha * (tau - g), 0.0) - v
        Adx = A @ (du - dv)
        gamma = Adx @ Adx
        slope = (tau + g) @ du + (tau - g) @ dv
        step = float(np.clip(-slope / gamma, 0.0, 1.0)) if monotone and gamma > 0 else 1.0
        u, v = u + step * du, v + step * dv
        both = np.minimum(u, v)
        u, v = u - both, v - both
        r = r + step * Adx
        g = At @ r
        delta = du @ du + dv @ dv
        alpha = float(np.clip(delta / gamma, alpha_min, alpha_max)) if gamma > 0 else alpha_max
        if watch(u - v):
            break
        f, before = 0.5 * r @ r + tau * (u.sum() + v.sum()), f
        if tau > lam:
            if abs(f - before) <= stage_tol * before:
                tau = next_tau(g, lam, zeta)
                f = 0.5 * r @ r + tau * (u.sum() + v.sum())
        elif delta == 0 or (k >= min_iter and lcp(u, v, g, lam) <= tol):
            break
    return np.asarray(u - v)


def lcp(u: Vector, v: Vector, g: Vector, lam: float) -> float:
    """How far from complementary are z = (u, v) >= 0 and the gradient there, relative to z."""
    residual = max(np.abs(np.minimum(u, lam + g)).max(), np.abs(np.minimum(v, lam - g)).max())
    return float(residual / max(1e-6, u.max(), v.max()))
