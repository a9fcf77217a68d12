"""Working sets that do not fit where the fit runs: blocks of columns, each solved by who has it.

The d-GLMNET of Trofimov and Genkin (2015). Every block minimises the same Newton model of F as if
it were alone; the loop then searches along the sum of their steps, which lowers F: already the mean
of the steps does, F being convex.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from shotgun.solve import solve

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


class Partition:
    """Columns in blocks of at most `room` bytes; one that has a place keeps it."""

    def __init__(self, sizes: Array, room: float) -> None:
        self.sizes, self.room = sizes, room
        self.blocks: list[Array] = []
        self.block_of = np.full(len(sizes), -1, np.int32)
        self._place = np.zeros(len(sizes), np.int32)

    def take_in(self, which: Array) -> list[Array]:
        """New blocks for the columns that have none."""
        fresh = np.sort(which[self.block_of[which] < 0])
        filled = np.cumsum(self.sizes[fresh])
        made, first = [], 0
        while first < len(fresh):
            begin = filled[first] - self.sizes[fresh[first]]
            last = max(first + 1, int(np.searchsorted(filled, begin + self.room, "right")))
            made.append(fresh[first:last])
            self.block_of[fresh[first:last]] = len(self.blocks) + len(made) - 1
            self._place[fresh[first:last]] = np.arange(last - first)
            first = last
        self.blocks += made
        return made

    def places(self, which: Array) -> Array:
        """Where columns are in their block."""
        return self._place[which]


@dataclass(frozen=True)
class Model:
    """The Newton model of F: rows of gradient g and curvature h, and what is enough."""

    l2: float
    g: Array
    h: Array | None  # None: one
    intercept: bool
    enough: float  # of its gap


@dataclass(frozen=True)
class Asked:
    """What the core asks of columns that stay elsewhere: where a step would lead to.

    Columns count as (a - mean) inv_scale; x and what penalises it are of these.
    """

    which: Array
    x: Array
    means: Array
    inv_scale: Array
    lam: Array
    lo: Array
    hi: Array
    gap: float  # of F
    model: Model

    @classmethod
    def of(cls, *told: Any) -> Asked:
        """In the order of core/bindings/matrices.cpp."""
        return cls(*(*told[:8], Model(*told[8:])))


class Weights(NamedTuple):
    """Those of some columns of a block, and what penalises them."""

    inside: Array  # which columns of the block
    x: Array
    inv_scale: Array
    lam: Array
    lo: Array
    hi: Array


def step(A: Any, weights: Weights, model: Model) -> tuple[Array, Array]:
    """The weights of a block that minimise the model, the others at rest, and what that adds to z.

    The model is least squares: sum_i h_i/2 (z_i - t_i)^2 with t = A x - g/h.
    """
    A = A[:, weights.inside]
    A = A * weights.inv_scale  # a copy: what is kept stays as it is
    h = np.ones(len(model.g)) if model.h is None else model.h
    pull = np.divide(model.g, h, out=np.zeros(len(h)), where=h > 0)
    target = A @ weights.x - pull
    most = float(weights.lam.max())
    level = np.average(target, weights=h) if model.intercept else 0.0
    null = 0.5 * float(h @ (target - level) ** 2)
    fit = solve(
        A,
        target,
        most,
        weights=h,
        penalty_factor=weights.lam / most if most > 0 else None,
        l2=model.l2,
        bounds=(weights.lo, weights.hi),
        x0=weights.x,
        fit_intercept=model.intercept,
        tol=model.enough / null if null > 0 else 0.0,
        n_threads=1,
    )
    return fit.x, A @ (fit.x - weights.x) + fit.intercept
