"""Tall matrices that stay where they are: A'HA is all that a Newton step has to know of them.

Of n samples and d features, n far larger, whoever has some of the rows answers with d^2 numbers
instead of them; their sum and A'g make the Newton model of F, which is then minimised here.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Protocol, TypeAlias

import numpy as np

from shotgun._threads import one_blas_thread
from shotgun.blocks import Model, Weights, step

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


class Tall(Protocol):
    """Who has the rows."""

    @property
    def shape(self) -> tuple[int, int]:
        """n, d."""

    def normal(self, h: Array) -> Array:
        """A'h and A'HA, one below the other."""

    def scan(self, v: Array, which: Array | None) -> Array:
        """A'v, for the columns `which` or all."""

    def product(self, which: Array, steps: Array) -> Array:
        """A x, for an x that has these steps at some columns and is zero elsewhere."""


class Gram:
    """The Newton models of a fit."""

    def __init__(self, A: Tall) -> None:
        self.A = A
        self._h: Array | None = None  # for which the sums are
        self._sums = np.empty((0, 0))
        self._gap = np.inf  # before the last step
        self._scanned: tuple[Array, Array] | None = None  # v and A'v
        self._products: deque[tuple[Array, Array]] = deque(maxlen=2)

    def far(self) -> tuple[Array, float, Any, Any]:
        """What the core has to know of columns that stay elsewhere: each takes something, and there
        is no room for any."""
        return np.ones(self.A.shape[1]), 0.0, self.add, self.propose

    def scan(self, v: Array, which: Array | None) -> Array:
        """A'v, for the columns `which` or all: what the loop certifies by is the slope of the next
        step, where all have a say."""
        self._scanned = v, self.A.scan(v, None)
        return self._scanned[1] if which is None else self._scanned[1][which]

    def add(self, which: Array, steps: Array) -> Array:
        """A x; the loop asks for the one at a step's end again."""
        x = np.zeros(self.A.shape[1])
        x[which] = steps
        if not x.any():
            return np.zeros(self.A.shape[0])
        for known, product in self._products:
            if np.array_equal(known, x):
                return product
        self._products.append((x, self.A.product(which, steps)))
        return self._products[-1][1]

    def propose(
        self,
        which: Array,
        x: Array,
        means: Array,
        inv_scale: Array,
        lam: Array,
        lo: Array,
        hi: Array,
        gap: float,
        l2: float,
        g: Array,
        h: Array | None,
        intercept: bool,
        enough: float,
    ) -> tuple[Array, Array]:
        """The weights that minimise the Newton model, and what going there adds to z."""
        h = np.ones(len(g)) if h is None else h
        curved, sums = self._curvature(h, gap)
        sums = sums[:, which] * inv_scale
        pull, curvature = sums[0], inv_scale[:, None] * sums[1:][which]
        total = curved.sum()
        centre = pull / total if intercept else means * inv_scale
        v, dots = self._slope(g)
        slope = dots[which] * inv_scale - centre * v.sum()
        # sum_i h_i (a_i - c)(a_i - c)'
        cross = np.outer(centre, pull)
        curvature = curvature - cross - cross.T + total * np.outer(centre, centre)
        weights = Weights(np.arange(len(x)), x, np.ones(len(x)), lam, lo, hi)
        with one_blas_thread():
            root, g_root = _root(curvature, slope)
            goal, _ = step(root, weights, Model(l2, g_root, None, False, _CARE * enough))
        level = -g.sum() / h.sum() if intercept else 0.0
        constant = level - centre @ (goal - x)
        dz = self.add(which, inv_scale * goal) - self.add(which, inv_scale * x)
        return goal, dz + constant

    def _curvature(self, h: Array, gap: float) -> tuple[Array, Array]:
        """h, A'h and A'HA; of an h that is nearly this one, as long as steps by it get on."""
        if self._h is None or not self._serves(self._h, h, gap):
            self._h, self._sums = h, self.A.normal(h)
        self._gap = gap
        return self._h, self._sums

    def _serves(self, old: Array, h: Array, gap: float) -> bool:
        moved = np.abs(h - old).sum()
        near = moved <= _NEAR * h.sum()
        return bool(moved == 0 or (near and gap <= _GETS_ON * self._gap))

    def _slope(self, g: Array) -> tuple[Array, Array]:
        """g and A'g, or what the dual point has, which is g but for what makes its sum nothing."""
        if self._scanned is not None:
            v, dots = self._scanned
            if np.abs(v - g).sum() <= _SAME * np.abs(g).sum():
                return v, dots
        return g, self.A.scan(g, None)


_NEAR = 0.1  # of the curvature: a step by the old one leaves about this part of the way
_GETS_ON = 0.03  # of the gap before: more, and a new curvature is worth what it costs
_SAME = 1e-13
_CARE = 1e-3  # of the gap that blocks are solved to: here more costs next to nothing
_NOTHING = 1e-14  # of the largest eigenvalue: rounding


def _root(curvature: Array, slope: Array) -> tuple[Array, Array]:
    """R and r with R'R the curvature and R'r the slope."""
    values, vectors = np.linalg.eigh(curvature)
    kept = values > _NOTHING * values[-1]
    kept[-1] = True
    roots, vectors = np.sqrt(np.maximum(values[kept], 0.0)), vectors[:, kept]
    along = np.divide(slope @ vectors, roots, out=np.zeros(len(roots)), where=roots > 0)
    return np.asfortranarray(roots[:, None] * vectors.T), along
