"""Hard_l0: iterative hard thresholding, which keeps the s largest weights of each gradient step.

T. Blumensath and M. E. Davies, Iterative Hard Thresholding for Compressed Sensing, 2009; its step
size from Normalized Iterative Hard Thresholding: Guaranteed Stability and Performance, 2010.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shotgun.problem import check_count
from shotgun.study.solvers.lasso import given
from shotgun.study.watch import Vector, Watch


def solve(
    A: Any,
    y: Any,
    lam: float,
    watch: Watch,
    *,
    s: int,
    step: float | None = None,
    c: float = 0.01,
    kappa: float = 2.0,
    tol: float = 1e-16,
    max_iter: int = 10_000,
) -> Vector:
    """Lower ||Ax - y||^2 over x with at most `s` non-zero weights; lam has no part in it.

    `step` fixes the size of the gradient steps (1 in the first paper, which wants ||A|| < 1);
    by default it is the best one for the current support, divided by `kappa` until it is at most
    (1 - c) ||dx||^2 / ||A dx||^2 or the support rests. It ends when ||Ax - y||^2 falls by less
    than `tol` ||y||^2.
    """
    A, At, y = given(A, y, lam)
    s = check_count("s", s, most=A.shape[1])
    x, r = np.zeros(A.shape[1]), y
    for _ in range(max_iter):
        g = At @ r
        if step is not None:
            new = threshold(x + step * g, s)
            Adx = A @ (new - x)
        else:
            new, Adx = normalized_step(A, x, g, s, c, kappa)
        x, r, before = new, r - Adx, r
        if watch(x) or before @ before - r @ r <= tol * (y @ y):
            break
    return x


def threshold(v: Vector, s: int) -> Vector:
    """H_s: all but the s largest set to zero."""
    kept = np.zeros_like(v)
    largest = np.argpartition(-np.abs(v), s - 1)[:s]
    kept[largest] = v[largest]
    return kept


def normalized_step(
    A: Any, x: Vector, g: Vector, s: int, c: float, kappa: float
) -> tuple[Vector, Vector]:
    """The next x and A times the way to it."""
    support = (x if x.any() else threshold(g, s)) != 0
    on_support = np.where(support, g, 0.0)
    Ag = A @ on_support
    mu = on_support @ on_support / (Ag @ Ag) if Ag.any() else 1.0
    while True:
        new = threshold(x + mu * g, s)
        dx = new - x
        Adx = A @ dx
        omega = (dx @ dx) / (Adx @ Adx) if Adx.any() else np.inf
        if mu <= (1 - c) * omega or np.array_equal(new != 0, support):
            return new, Adx
        mu /= kappa
