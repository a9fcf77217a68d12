"""The matrix that the shards make together: what the loop asks of it, the cluster answers."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import CancelledError
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import dask
import numpy as np
import scipy.sparse as sp
from dask.delayed import Delayed, delayed

import shotgun._core as _core
from shotgun import disk
from shotgun.blocks import Asked, Partition, Weights, step
from shotgun.dask.shard import Array, ShardError
from shotgun.gram import Gram, is_tall
from shotgun.problem import Elsewhere

MEMORY = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")  # bytes of this machine
LIGHT = 2.0**26  # bytes that rather come here than be asked about round after round
FEW = 2.0**22  # bytes of answers that workers do not add up among themselves

# v and y travel with the tasks, by intent: so the scheduler can run them again
QUIET = {"distributed.admin.large-graph-warning-threshold": "1 TB"}


@dataclass(frozen=True, eq=False)
class Matrix(Elsewhere):
    """A matrix on a cluster: what `shotgun.solve`, `path` and the estimators take in place of A.

    Attributes
    ----------
    shards : list of Delayed
        Kept by the workers.
    starts : ndarray
        The first row (tiles: column) of each shard, and where the last one ends.
    shape : (n, d)
    dtype : float32 or float64
    nnz : int
    y : ndarray of shape (n,), or None
    feature_names : list of str, or None
    dense : bool
        Whether all shards are.
    tiled : shotgun.disk.Matrix, or None
        What the shards are tiles of; None where they are rows.
    room : float
        Bytes that columns may take here. A working set that takes more stays with the workers.
    """

    shards: list[Delayed] = field(repr=False)
    starts: Array = field(repr=False)
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    nnz: int
    y: Array | None = field(repr=False)
    feature_names: list[str] | None = field(repr=False)
    dense: bool
    tiled: disk.Matrix | None = field(repr=False)
    room: float = field(default=0.25 * MEMORY, repr=False)

    @cached_property
    def checksums(self) -> Array:  # type: ignore[override]
        """Of all numbers, read when somebody asks what tells them from others."""
        if self.tiled is not None:
            return self.tiled.checksums
        return np.concatenate(compute([shard.checksums() for shard in self.shards]))

    def design(self) -> _core.Design:
        """What the core asks."""
        kind = "remote_dense" if self.dense else "remote"
        made = getattr(_core, f"{kind}{8 * self.dtype.itemsize}")
        gram = Gram(self) if self._tall() else None
        far = self._far() if gram is None else gram.far()
        scan = self.scan if gram is None else gram.scan
        asked = (scan, self._survey, self._dense if self.dense else self._sparse)
        design: _core.Design = made(*self.shape, self.nnz, *asked, self._head, far)
        return design

    def _head(self, rows: int) -> _core.Design | None:
        """The first rows: here if they are light, else the shards that have them."""
        if self.tiled is not None:
            return None
        last = int(np.searchsorted(self.starts, rows))
        starts = np.minimum(self.starts[: last + 1], rows)
        shards = [
            *self.shards[: last - 1],
            *dask.persist(self.shards[last - 1].head(starts[-1] - starts[-2])),
        ]
        nnz = self.nnz * rows // self.shape[0]
        few = replace(self, shards=shards, starts=starts, shape=(rows, self.shape[1]), nnz=nnz)
        return few._here() if few._light() else few.design()

    def _here(self) -> _core.Design:
        """All of it, fetched."""
        every = np.arange(self.shape[1], dtype=np.int32)
        if self.dense:
            return _core.dense(self._dense(every).T)
        starts, rows, values = self._sparse(every)
        return _core.csc(starts.astype(np.int32), rows, values, self.shape[0])

    def _each(self) -> int:
        """Bytes of an entry and its light copy."""
        return self.dtype.itemsize + 4 + (0 if self.dense else 8)

    def _light(self) -> bool:
        return self._each() * self.nnz <= min(self.room, LIGHT)

    def _tall(self) -> bool:
        """Whether it does not come here, but A'HA, which is cheap beside it."""
        dense_rows = self.dense and self.tiled is None
        return dense_rows and is_tall(*self.shape) and not self._light()

    def _far(self) -> Any:
        """What the core has to know if columns stay with the workers."""
        if self._light():
            return None
        each = self._each()
        if each * self.nnz <= self.room:
            return None
        if self.tiled is None:
            entries = self._summed(lambda shard, rows: shard.entries(), self.shape[1])
        else:
            entries = np.concatenate(compute([shard.entries() for shard in self.shards]))
        sizes = each * entries.astype(np.float64)
        far = Far(self, Partition(sizes, self.room))
        return sizes, self.room, self.product, lambda *told: far.propose(Asked.of(*told))

    def product(self, which: Array, steps: Array) -> Array:
        """sum_k steps_k a_k, for columns that stay with the workers."""
        if self.tiled is None:
            columns, lengths = delayed(which), delayed(steps)
            return np.concatenate(compute([s.product(columns, lengths) for s in self.shards]))
        parts = self._of_tiles(which, lambda shard, inside, at: shard.product(inside, steps[at]))
        return np.asarray(np.sum(parts, axis=0))

    def columns(self, which: Any) -> sp.csc_array:
        """Some of the columns, here."""
        which = np.arange(self.shape[1], dtype=np.int32)[which]
        if self.dense:
            return sp.csc_array(self._dense(which).T)
        starts, rows, values = self._sparse(which)
        return sp.csc_array((values, rows, starts), shape=(self.shape[0], len(which)))

    def scan(self, v: Array, which: Array | None = None) -> Array:
        """A'v, for the columns `which` or all."""
        if self.tiled is None:
            shared = None if which is None else delayed(which)
            answer = self.shape[1] if which is None else len(which)
            return self._summed(lambda shard, rows: shard.scan(v[rows], shared), answer)
        shared = delayed(v)
        if which is None:
            return np.concatenate(compute([shard.scan(shared, None) for shard in self.shards]))
        out = np.empty(len(which))
        parts = self._of_tiles(which, lambda shard, inside, _: shard.scan(shared, inside))
        out[np.argsort(self._tile_of(which), kind="stable")] = np.concatenate(parts)
        return out

    def _survey(self, w: Array | None, v: Array) -> Array:
        if self.tiled is None:
            return self._summed(
                lambda shard, rows: shard.survey(None if w is None else w[rows], v[rows]),
                3 * self.shape[1],
            )
        weights, shared = delayed(w), delayed(v)
        parts = compute([shard.survey(weights, shared) for shard in self.shards])
        return np.concatenate(parts, axis=1)

    def normal(self, h: Array, light: bool) -> Array:
        """A'h and A'HA of shards of rows, one below the other."""
        d = self.shape[1]
        return self._summed(lambda shard, rows: shard.normal(h[rows], light), (1 + d) * d)

    def _sparse(self, which: Array) -> tuple[Array, Array, Array]:
        """Where each of the columns starts, rows and values."""
        if self.tiled is None:
            A = sp.vstack([*map(sp.csc_array, self._parts(which))], "csc", self.dtype)
        else:
            parts = self._of_tiles(which, lambda shard, inside, _: shard.columns(inside))
            order = np.argsort(self._tile_of(which), kind="stable")
            A = sp.hstack(parts, "csc")[:, np.argsort(order)]
        return A.indptr.astype(np.int64), A.indices.astype(np.int32, copy=False), A.data

    def _dense(self, which: Array) -> Array:
        """A column in each row."""
        columns = np.empty((len(which), self.shape[0]), self.dtype)
        bounds = zip(self._parts(which), self.starts[:-1], self.starts[1:], strict=True)
        for part, first, last in bounds:
            columns[:, first:last] = part.T
        return columns

    def _parts(self, which: Array) -> list[Any]:
        shared = delayed(which)
        return compute([shard.columns(shared) for shard in self.shards])

    def _summed(self, ask: Callable[[Any, slice], Delayed], answer: int) -> Array:
        """The sum of what the row shards answer, in the order of a tree, the same for any workers:
        of their tasks, unless all answers, of so many numbers each, are few enough to come here."""
        bounds = zip(self.shards, self.starts[:-1], self.starts[1:], strict=True)
        parts = [ask(shard, slice(first, last)) for shard, first, last in bounds]
        few = 8 * answer * len(parts) <= FEW
        add = np.add if few else delayed(np.add, pure=False)
        parts = compute(parts) if few else parts
        while len(parts) > 1:
            pairs = zip(parts[::2], parts[1::2], strict=False)
            parts = [add(*pair) for pair in pairs] + parts[len(parts) - len(parts) % 2 :]
        total: Array = parts[0] if few else compute(parts)[0]
        return total

    def _tile_of(self, which: Array) -> Array:
        return np.searchsorted(self.starts, which, "right") - 1

    def _of_tiles(self, which: Array, ask: Callable[[Any, Array, Array], Delayed]) -> list[Any]:
        """What the tiles of these columns answer, in the order of the tiles."""
        return compute(self._asked(which, ask))

    def _asked(self, which: Array, ask: Callable[[Any, Array, Array], Delayed]) -> list[Delayed]:
        """ask(tile, those of the columns that it has, where they are in `which`), for each tile."""
        tile = self._tile_of(which)
        each = [(t, np.flatnonzero(tile == t)) for t in np.unique(tile)]
        return [
            ask(self.shards[t], (which[at] - self.starts[t]).astype(np.int32), at) for t, at in each
        ]

    def block(self, which: Array) -> Delayed:
        """Some columns, which must ascend, on a worker."""
        if self.tiled is None:
            return delayed(_stacked)([shard.columns(which) for shard in self.shards], self.dtype)
        parts = self._asked(which, lambda shard, inside, _: shard.columns(inside))
        return delayed(sp.hstack)(parts, "csc")


def _stacked(parts: list[Any], dtype: np.dtype[Any]) -> Any:
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.asfortranarray(np.concatenate(parts), dtype)
    return sp.vstack([*map(sp.csc_array, parts)], "csc", dtype)


class Far:
    """The working set of a fit, in blocks that the workers keep."""

    def __init__(self, matrix: Matrix, partition: Partition) -> None:
        self.matrix, self.partition = matrix, partition
        self.blocks: list[Delayed] = []

    def propose(self, asked: Asked) -> tuple[Array, Array]:
        """The weights that each block wants, the others at rest, and what all that adds to z."""
        if asked.means.any():
            raise ValueError(
                "to standardize without an intercept, the columns that matter must fit in memory"
            )
        which, x = asked.which, asked.x
        made = [self.matrix.block(block) for block in self.partition.take_in(which)]
        self.blocks += dask.persist(*made)
        block_of, places = self.partition.block_of[which], self.partition.places(which)
        wanted = [(b, np.flatnonzero(block_of == b)) for b in np.unique(block_of)]
        enough = asked.model.enough / len(wanted)
        shared = delayed(replace(asked.model, enough=enough), traverse=False)
        parts = (places, x, asked.inv_scale, asked.lam, asked.lo, asked.hi)
        owned = [Weights(*(part[at] for part in parts)) for _, at in wanted]
        steps = compute(
            [
                delayed(step)(self.blocks[b], delayed(own, traverse=False), shared)
                for (b, _), own in zip(wanted, owned, strict=True)
            ]
        )
        goal, dz = x.copy(), np.zeros(self.matrix.shape[0])
        for (_, at), (there, change) in zip(wanted, steps, strict=True):
            goal[at] = there
            dz += change
        return goal, dz


def compute(asked: list[Any]) -> list[Any]:
    """The answers, from the current client's cluster or from threads."""
    try:
        with dask.config.set(QUIET):
            # direct: answers do not pass by the scheduler
            return list(dask.compute(*asked, optimize_graph=False, direct=True))
    except CancelledError as error:
        raise ShardError(
            "shards were lost with a worker, and nobody knows how to make them again: give shards "
            f"that are read or computed, not scattered ({error})"
        ) from error
