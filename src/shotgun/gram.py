"""Tall matrices that stay where they are: A'HA is all that a Newton step has to know of them.

Of n samples and d features, n far larger, whoever has some of the rows answers with d^2 numbers
instead of them; their sum and A'g make the Newton model of F, which is then minimised here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeAlias

import numpy as np

from shotgun._threads import one_blas_thread
from shotgun.blocks import Asked, Model, Weights, step

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

_WIDEST = 512  # most features
_ROWS = 1024  # looked at at once
_NEAR = 0.1  # of the curvature: a step by the old one leaves about this part of the way
_GETS_ON = 0.03  # of the gap before: more, and a new curvature is worth what it costs
_SAME = 1e-13  # of a gradient's length: rounding
_RANGE = 1e-25, 1e30  # of sums of squares in float32
_CLEAR = 1e-4  # of the largest eigenvalue: what float32 tells from nothing by a hundredth
_CARE = 1e-3  # of the gap that blocks are solved to: here more costs next to nothing
_NOTHING = 1e-14  # of the largest eigenvalue: rounding


class Tall(Protocol):
    """Who has the rows."""

    @property
    def shape(self) -> tuple[int, int]:
        """n, d."""

    def normal(self, h: Array, light: bool) -> Array:
        """A'h and A'HA, one below the other; multiplied in float32, if that will do."""

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
        self._light = True  # while float32 tells the columns apart
        self._gap = np.inf  # before the last step
        self._scanned: tuple[Array, Array] | None = None  # v and A'v
        self._products: deque[tuple[Array, Array]] = deque(maxlen=2)

    def far(self) -> tuple[Array, float, Any, Any]:
        """What the core has to know of columns that stay elsewhere: each takes something, and there
        is no room for any."""
        return np.ones(self.A.shape[1]), 0.0, self.add, lambda *told: self.propose(Asked.of(*told))

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

    def propose(self, asked: Asked) -> tuple[Array, Array]:
        """The weights that minimise the Newton model, and what going there adds to z."""
        which, x, inv_scale, model = asked.which, asked.x, asked.inv_scale, asked.model
        g, h = model.g, model.h
        self._light &= h is not None  # where nothing changes, one step by the exact is the last
        h = np.ones(len(g)) if h is None else h
        curved, sums = self._curvature(h, asked.gap)
        sums = sums[:, which] * inv_scale
        pull, curvature = sums[0], inv_scale[:, None] * sums[1:][which]
        total = curved.sum()
        centre = pull / total if model.intercept else asked.means * inv_scale
        v, dots = self._slope(g)
        slope = dots[which] * inv_scale - centre * v.sum()
        # sum_i h_i (a_i - c)(a_i - c)'
        cross = np.outer(centre, pull)
        curvature = curvature - cross - cross.T + total * np.outer(centre, centre)
        weights = Weights(np.arange(len(x)), x, np.ones(len(x)), asked.lam, asked.lo, asked.hi)
        with one_blas_thread():
            root, g_root = _root(curvature, slope)
            rooted = Model(model.l2, g_root, None, False, _CARE * model.enough)
            goal, _ = step(root, weights, rooted)
        level = -g.sum() / h.sum() if model.intercept else 0.0
        constant = level - centre @ (goal - x)
        dz = self.add(which, inv_scale * goal) - self.add(which, inv_scale * x)
        return goal, dz + constant

    def _curvature(self, h: Array, gap: float) -> tuple[Array, Array]:
        """h, A'h and A'HA; of an h that is nearly this one, as long as steps by it get on."""
        if self._h is None or not self._serves(self._h, h, gap):
            self._h, self._sums = h, self.A.normal(h, self._light)
            if self._light and not _clear(self._sums, h.sum()):
                self._light, self._sums = False, self.A.normal(h, False)
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


def is_tall(n: int, d: int) -> bool:
    """Whether d^2 numbers are few beside n d."""
    return 0 < d <= _WIDEST and n >= 16 * d


# What whoever has tall rows answers, reading a few rows at a time, so that the cache has them, into
# memory that is there already. What overflows is for the client to see.


@contextmanager
def _row_blocks(n: int) -> Iterator[Iterator[slice]]:
    """Rows 0 to n - 1, a few at a time; on one thread: another number would round otherwise."""
    with one_blas_thread(), np.errstate(over="ignore", under="ignore", invalid="ignore"):
        yield (slice(first, min(n, first + _ROWS)) for first in range(0, n, _ROWS))


def dots(A: Array, v: Array) -> Array:
    """A'v."""
    out = np.zeros(A.shape[1])
    with _row_blocks(len(A)) as blocks:
        for rows in blocks:
            out += v[rows] @ A[rows]
    return out


def product(A: Array, x: Array) -> Array:
    """Ax."""
    z = np.empty(len(A))
    with _row_blocks(len(A)) as blocks:
        for rows in blocks:
            np.matmul(A[rows], x, out=z[rows])
    return z


def moments(A: Array, w: Array | None, v: Array) -> Array:
    """sum_i w_i a_ij, sum_i w_i a_ij^2 and a_j'v, one below the other; w = 1 where absent. The
    squares may vanish, but not to nothing: that would mean that the column holds nothing."""
    out, squares = np.zeros((3, A.shape[1])), np.empty((_ROWS, A.shape[1]))
    with _row_blocks(len(A)) as blocks:
        for rows in blocks:
            part = A[rows].astype(np.float64, copy=False)
            weight, square = np.ones(len(part)) if w is None else w[rows], squares[: len(part)]
            np.multiply(part, part, out=square)
            out += weight @ part, weight @ square, v[rows] @ part
    out[1][out[1] == 0] = np.finfo(np.float64).smallest_subnormal
    return out


def normal(A: Array, h: Array, light: bool) -> Array:
    """A'h and A'HA, one below the other: exactly symmetric, h being no less than 0."""
    n, d = A.shape
    dtype = np.float32 if light else np.float64
    out, root = np.zeros((1 + d, d)), np.sqrt(h)[:, None].astype(dtype)
    order: Any = "F" if A.flags.f_contiguous else "C"
    weighed, square = np.empty((_ROWS, d), dtype, order), np.empty((d, d), dtype)
    with _row_blocks(n) as blocks:
        for rows in blocks:
            part = weighed[: rows.stop - rows.start]
            np.copyto(part, A[rows], casting="same_kind")
            part *= root[rows]
            out[0] += root[rows, 0] @ part
            out[1:] += np.matmul(part.T, part, out=square)
    return out


def _clear(sums: Array, total: float) -> bool:
    """Whether the columns, each of norm 1, and the constant are far from collinear, and so is
    float32 from the ends of its range."""
    M = np.block([[np.full((1, 1), total), sums[:1]], [sums[:1].T, sums[1:]]])
    squares = M.diagonal()
    if not (np.isfinite(M).all() and _RANGE[0] < squares.min() and squares.max() < _RANGE[1]):
        return False
    with one_blas_thread():
        values = np.linalg.eigvalsh(M / np.sqrt(squares) / np.sqrt(squares)[:, None])
    return bool(values[0] > _CLEAR * values[-1])


def _root(curvature: Array, slope: Array) -> tuple[Array, Array]:
    """R and r with R'R the curvature and R'r the slope; columns of any unit are alike."""
    units = np.sqrt(np.maximum(curvature.diagonal(), 0.0))
    units[units == 0] = 1.0
    values, vectors = np.linalg.eigh(curvature / units / units[:, None])
    kept = values > _NOTHING * values[-1]
    kept[-1] = True
    roots, vectors = np.sqrt(np.maximum(values[kept], 0.0)), vectors[:, kept]
    along = np.divide((slope / units) @ vectors, roots, np.zeros(len(roots)), where=roots > 0)
    return np.asfortranarray(roots[:, None] * vectors.T * units), along
