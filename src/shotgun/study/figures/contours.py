"""Fig. 1: two objectives, and what two updates at once do to them."""

from __future__ import annotations

from typing import Any

import numpy as np

from shotgun import theory
from shotgun.study.figures.canvas import panels
from shotgun.study.runs import Results

LAM = 0.15
STEPS = 6


def problem(correlation: float) -> theory.Problem:
    """Two features of unit norm with this inner product."""
    A = np.array([[1.0, correlation], [0.0, np.sqrt(1 - correlation**2)]])
    return theory.Problem(A, A @ np.array([1.0, 0.8]), LAM)


def both_at_once(stated: theory.Problem) -> theory.Vector:
    """The way of x when both weights are updated from the same Ax."""
    at = theory.Iterate(np.array([-0.9, -0.7]), np.zeros(2))
    way = [at.weights.copy()]
    for _ in range(STEPS):
        at.Ax = stated.A @ at.weights
        delta, _ = theory.collective_update(stated, at, np.array([0, 1]), "signed")
        at.weights = at.weights + delta
        way.append(at.weights.copy())
    return np.array(way)


def draw(results: Results) -> Any:
    """Contours, darker being better; nothing is measured, so `results` may be empty."""
    figure, axes = panels(2)
    for ax, correlation, title in zip(
        axes[0],
        (0.0, 0.95),
        ("uncorrelated: both updates help", "correlated: both updates overshoot"),
        strict=True,
    ):
        stated = problem(correlation)
        side = np.linspace(-1.6, 2.8, 161)
        F = np.array([[stated.objective(np.array([a, b])) for a in side] for b in side])
        ax.contourf(side, side, np.log(F - F.min() + 0.05), 24, cmap="Greys_r")
        way = both_at_once(stated)
        ax.plot(*way.T, color="tab:red", marker="o", markersize=4, linewidth=1.6)
        ax.plot(*way[0], color="tab:red", marker="s", markersize=7)
        ax.set(title=title, xlabel="$x_1$", ylabel="$x_2$", xlim=(-1.6, 2.8), ylim=(-1.6, 2.8))
        ax.set_aspect("equal")
    return figure
