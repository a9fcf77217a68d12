"""FPC_AS: shrinkage finds the support and the signs, a smooth problem on them finds the weights.

Z. Wen, W. Yin, D. Goldfarb and Y. Zhang, A Fast Algorithm for Sparse Reconstruction Based on
Shrinkage, Subspace Optimization, and Continuation, 2010. The paper wants ||A|| <= 1: here A stays
as it is, and the steps tau are in units of 1 / ||A||^2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shotgun.study.solvers.lasso import columns, conjugate_gradients, given, shrink, transposed
from shotgun.study.watch import Vector, Watch


@dataclass(frozen=True)
class Point:
    """x, Ax - y and the gradient g = A'(Ax - y)."""

    x: Vector
    r: Vector
    g: Vector

    def psi(self, mu: float) -> float:
        return float(0.5 * self.r @ self.r + mu * np.abs(self.x).sum())

    def violation(self, mu: float) -> float:
        """The largest component of the least subgradient of psi."""
        on, off = np.abs(self.g + mu * np.sign(self.x)), np.maximum(np.abs(self.g) - mu, 0.0)
        return float(np.where(self.x != 0, on, off).max())


def solve(
    A: Any,
    y: Any,
    lam: float,
    watch: Watch,
    *,
    gtol: float = 1e-6,
    eta: float = 0.1,
    max_sub: int = 50,
    max_iter: int = 1000,
    **shrinkage: Any,
) -> Vector:
    """Minimise F until no component of its least subgradient exceeds `gtol`.

    Shrinkages and, when they stall, at most `max_sub` steps of CG in the subspace that they found.
    Continuation: each stage that ends lowers mu by `eta` or more. More keywords: Shrinkage's.
    """
    A, At, y = given(A, y, lam)
    shrinking = Shrinkage(A, At, **shrinkage)
    at = shrinking.start(y)
    mu = max(10 * lam, eta * float(np.abs(At @ y).max()))
    shrinking.restart(at, mu)
    for _ in range(max_iter):
        start, at = at, shrinking.step(at, mu)
        if watch(at.x) or at.violation(lam) <= gtol:
            break
        stalled = shrinking.stalled(start, at, mu)
        if stalled:
            shrunk, at = at, suboptimise(A, At, y, at, mu, max_sub, watch)
            if at is not shrunk:
                if watch(at.x) or at.violation(lam) <= gtol:
                    break
                shrinking.restart(at, mu)
        if mu > lam and (stalled or at.violation(lam) < at.violation(mu)):
            largest = np.abs(at.g[at.x == 0]).max(initial=0.0)
            mu = max(lam, eta * min(mu, float(largest) or mu))
            shrinking.restart(at, mu)
            shrinking.delta = shrinking.delta_0
        elif at is start:  # neither moves it
            break
    return at.x


class Shrinkage:
    """x -> S(x - tau g, tau mu) with Barzilai-Borwein steps tau and a non-monotone line search.

    They stall after `max_shrink`, or after `min_shrink` on a new support: when the violation is
    below `tol_start` ||x|| and tau ||g|| on the support above `delta` times their move; delta
    then grows by `gamma`.
    """

    def __init__(
        self,
        A: Any,
        At: Any,
        tau_min: float = 1e-4,
        tau_max: float = 1e3,
        zeta: float = 0.85,
        sigma: float = 1e-3,
        beta: float = 0.5,
        delta: float = 10.0,
        gamma: float = 10.0,
        tol_start: float = 1e-6,
        min_shrink: int = 3,
        max_shrink: int = 20,
    ) -> None:
        self.A, self.At, self.zeta, self.sigma, self.beta = A, At, zeta, sigma, beta
        self.rho = squared_norm(A, At)
        n, d = A.shape
        self.tau_0 = float(np.clip(2.665 - 1.665 * n / d, 1.0, 1.999)) / self.rho
        self.tau_min, self.tau_max = tau_min / self.rho, tau_max / self.rho
        self.delta, self.delta_0, self.gamma, self.tol_start = delta, delta, gamma, tol_start
        self.min_shrink, self.max_shrink = min_shrink, max_shrink
        self.count, self.explored = 0, np.zeros(d, dtype=bool)

    def start(self, y: Vector) -> Point:
        x = self.At @ y / self.rho
        r = self.A @ x - y
        return Point(x, r, self.At @ r)

    def restart(self, at: Point, mu: float) -> None:
        self.tau, self.Q, self.C = self.tau_0, 1.0, at.psi(mu)

    def step(self, at: Point, mu: float) -> Point:
        """The next point, or this one if it is where shrinkage stays."""
        self.count += 1
        d = shrink(at.x - self.tau * at.g, self.tau * mu) - at.x
        Ad = self.A @ d
        slope = at.g @ d + mu * (np.abs(at.x + d).sum() - np.abs(at.x).sum())
        alpha, psi = 1.0, np.inf
        while psi > self.C + self.sigma * alpha * slope:
            if alpha * np.abs(d).max() <= 1e-16 * np.abs(at.x).max():
                return at
            x, r = at.x + alpha * d, at.r + alpha * Ad
            psi = 0.5 * r @ r + mu * np.abs(x).sum()
            alpha *= self.beta
        self.Q, Q = self.zeta * self.Q + 1, self.Q
        self.C = (self.zeta * Q * self.C + psi) / self.Q
        curvature = Ad @ Ad
        tau = d @ d / curvature if curvature > 0 else self.tau_max
        self.tau = float(np.clip(tau, self.tau_min, self.tau_max))
        return Point(x, r, self.At @ r)

    def stalled(self, before: Point, at: Point, mu: float) -> bool:
        support, moved = at.x != 0, np.linalg.norm(at.x - before.x)
        late = self.count > self.max_shrink or moved == 0
        if not late:
            if self.count < self.min_shrink or np.array_equal(support, self.explored):
                return False
            near = at.violation(mu) <= self.tol_start * max(1.0, float(np.linalg.norm(at.x)))
            if not near or self.tau * np.linalg.norm(at.g[support]) <= self.delta * moved:
                return False
            self.delta *= self.gamma
        self.count, self.explored = 0, support
        return True


def squared_norm(A: Any, At: Any, n_iter: int = 20) -> float:
    """||A||^2, from below, by power iteration."""
    v = np.random.default_rng(0).standard_normal(A.shape[1])
    rho = 0.0
    for _ in range(n_iter):
        v = At @ (A @ (v / np.linalg.norm(v)))
        rho = float(np.linalg.norm(v))
        if rho == 0:
            return 1.0
    return rho


def suboptimise(
    A: Any, At: Any, y: Vector, at: Point, mu: float, max_sub: int, watch: Watch
) -> Point:
    """Minimise psi over the weights that are not zero, their signs kept, by CG from where they are.

    With more of them than samples, only the n/2 largest are kept. What CG sends across zero stays
    there, or else all of the step ends at the first crossing: whichever is better.
    """
    n, J = len(y), at.x != 0
    if J.sum() > n:
        J = np.abs(at.x) > np.partition(np.abs(at.x), -(n // 2) - 1)[-(n // 2) - 1]
    if not J.any():
        return at
    A_J, x_J = columns(A, J), at.x[J]
    At_J, signs = transposed(A_J), np.sign(at.x[J])
    w = conjugate_gradients(
        lambda v: At_J @ (A_J @ v),
        At_J @ y - mu * signs,
        x_J,
        tol=1e-7,
        max_iter=max_sub,
        overdue=watch.overdue,
    )
    crossing = w * signs < 0
    alpha = (x_J[crossing] / (x_J - w)[crossing]).min(initial=1.0)
    best, lowest = None, at.psi(mu)
    for v in (np.where(crossing, 0.0, w), x_J + alpha * (w - x_J)):
        r = A_J @ v - y
        psi = 0.5 * r @ r + mu * np.abs(v).sum()
        if psi < lowest:
            best, lowest = (v, r), psi
    if best is None:
        return at
    x = np.zeros_like(at.x)
    x[J] = best[0]
    return Point(x, best[1], At @ best[1])
