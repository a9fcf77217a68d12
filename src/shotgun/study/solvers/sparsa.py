"""SpaRSA: a sequence of separable quadratic approximations, accepted non-monotonically.

S. J. Wright, R. D. Nowak and M. A. T. Figueiredo, Sparse Reconstruction by Separable
Approximation, 2009. With its adaptive continuation.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from shotgun.study.solvers.lasso import dual_objective, given, next_tau, shrink
from shotgun.study.watch import Vector, Watch


def solve(
    A: Any,
    y: Any,
    lam: float,
    watch: Watch,
    *,
    tol: float = 0.01,
    continuation: bool = True,
    zeta: float = 0.2,
    stage_tol: float = 1e-5,
    M: int = 5,
    sigma: float = 0.01,
    eta: float = 2.0,
    alpha_min: float = 1e-30,
    alpha_max: float = 1e30,
    min_iter: int = 5,
    max_iter: int = 10_000,
) -> Vector:
    """Minimise F until the duality gap is at most `tol` times F.

    A step is accepted if phi falls by sigma/2 alpha ||step||^2 below the largest of the last
    `M` + 1; else alpha grows by `eta`. `continuation` descends to lam by tau = `zeta`
    ||A'(Ax - y)||_inf, each stage ending when phi changes by less than `stage_tol` of itself.
    """
    A, At, y = given(A, y, lam)
    x, r = np.zeros(A.shape[1]), -y
    g, alpha = At @ r, 1.0
    tau = next_tau(g, lam, zeta) if continuation else lam
    phis = deque([0.5 * r @ r], M + 1)
    for k in range(1, max_iter + 1):
        while True:
            new = shrink(x - g / alpha, tau / alpha)
            dx = new - x
            Adx = A @ dx
            phi = 0.5 * (r + Adx) @ (r + Adx) + tau * np.abs(new).sum()
            if phi <= max(phis) - sigma / 2 * alpha * (dx @ dx) or alpha >= alpha_max:
                break
            if watch.overdue():
                return x
            alpha *= eta
        x, r = new, r + Adx
        g = At @ r
        if watch(x):
            break
        still = not dx.any()
        change = abs(phis[-1] - phi)
        phis.append(phi)
        if not still:
            alpha = float(np.clip(Adx @ Adx / (dx @ dx), alpha_min, alpha_max))
        if tau > lam:
            if change <= stage_tol * phi:
                tau = next_tau(g, lam, zeta)
                phis = deque([0.5 * r @ r + tau * np.abs(x).sum()], M + 1)
        elif still or (k >= min_iter and phi - dual_objective(r, g, y, lam) <= tol * phi):
            break
    return x
