"""A matrix on a Dask cluster: shards of rows, or tiles of columns, where the workers have them.

::

    client = distributed.Client("tcp://...")
    shotgun.Lasso(alpha=0.1).fit(X, y)                      # dask.array or dask.dataframe
    A = shotgun.dask.read(["part-0.svm", "part-1.svm"])     # each file read by a worker
    shotgun.solve(A, A.y, lam=1.0)

The loop runs here and owns x and Ax. In a round every worker answers for the shards that it has: a
scan is a task for each shard and a tree of sums over them, and the columns that matter travel here,
once. Shards never change and rounds leave nothing behind, so that a lost worker costs what it had
and no more; sums run in the order of the shards, so that the answer has the same bits for any
number of workers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

try:
    import dask
    import dask.array
    from dask.delayed import Delayed, delayed
except ImportError as error:
    raise ImportError("matrices on a cluster need: pip install 'shotgun-l1[dask]'") from error

import shotgun._core as _core
from shotgun import disk, io
from shotgun.blocks import Model, Partition, Weights, step
from shotgun.gram import Gram
from shotgun.model import fingerprint
from shotgun.problem import Columns, Elsewhere, check_number, check_vector, float_dtype, sound

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Name: TypeAlias = "str | os.PathLike[str]"

MEMORY = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")  # bytes of this machine
LIGHT = 2.0**26  # bytes that rather come here than be asked about round after round

# v and y travel with the tasks, by intent: so the scheduler can run them again
_QUIET = {"distributed.admin.large-graph-warning-threshold": "1 TB"}


class ShardError(ValueError):
    """What went wrong on a worker, and with which shard."""


@contextmanager
def _blamed(name: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise ShardError(f"{name}: {error}") from error


@dataclass(frozen=True)
class Shard:
    """A part of a matrix, as a worker has it."""

    name: str
    A: Any  # Columns, an array in Fortran order or a tile on disk
    y: Array | None = None
    feature_names: list[str] | None = None
    zero_based: bool | None = None

    def __sizeof__(self) -> int:  # what the scheduler believes
        if isinstance(self.A, Columns):
            return sum(int(part.nbytes) for part in (self.A.data, self.A.indices, self.A.indptr))
        return int(getattr(self.A, "nbytes", 1000))

    def facts(self) -> Facts:
        """What the client has to know."""
        nnz = self.A.nnz if hasattr(self.A, "nnz") else self.A.size
        digest = int(fingerprint(self.A)["hash"][:16], 16)
        dense = isinstance(self.A, np.ndarray)
        return Facts(replace(self, A=None), self.A.shape, int(nnz), dense, _dtype(self.A), digest)

    def scan(self, v: Array, which: Array | None) -> Array:
        """Its part of A'v, for the columns `which` or all."""
        with _blamed(self.name):
            return _core.scan(self._design(), v, which)

    def survey(self, w: Array | None, v: Array) -> Array:
        """Sums, squares and A'v of all its columns."""
        with _blamed(self.name):
            return np.stack(_core.survey(self._design(), w, v))

    def columns(self, which: Array) -> Any:
        """Its part of some columns, as dense or as sparse as they are."""
        with _blamed(self.name):
            if isinstance(self.A, Elsewhere):
                return self.A.columns(which)
            A = self._readable()
            if sp.issparse(A):
                return A[:, which]
            all_of_them = np.array_equal(which, np.arange(A.shape[1]))
            return A if all_of_them else A.T[which].T  # whole columns, not rows

    def normal(self, h: Array, g: Array) -> Array:
        """Its part of A'g, A'h and A'HA, one below the other."""
        with _blamed(self.name):
            design = self._design()
            parts = [_core.scan(design, g, None), _core.scan(design, h, None)]
            return np.concatenate([*parts, _core.gram(design, h)]).reshape(-1, self.A.shape[1])

    def head(self, rows: int) -> Shard:
        """Its first rows."""
        some = self._readable()[:rows]
        # In one piece: parts of columns would travel row by row.
        A = _by_columns(some) if sp.issparse(some) else np.asfortranarray(some)
        return replace(self, A=A, y=None)

    def entries(self) -> Array:
        """How many each of its columns has."""
        with _blamed(self.name):
            if isinstance(self.A, disk.Matrix):
                return np.diff(self.A.starts)
            if isinstance(self.A, Columns):
                return np.diff(self.A.indptr)
            return np.full(self.A.shape[1], self.A.shape[0])

    def product(self, which: Array, steps: Array) -> Array:
        """Its part of A x, for an x that has these steps at some columns and is zero elsewhere."""
        A = self.columns(which)
        if sp.issparse(A):
            return np.asarray(A @ steps)
        z = np.zeros(A.shape[0])
        for a, length in zip(A.T, steps, strict=True):  # BLAS would round as its threads do
            z += length * a
        return z

    def rows(self, of_rows: Callable[..., Array], offset: Array | None) -> Array:
        """What a function says of its rows."""
        with _blamed(self.name):
            return of_rows(self._readable(), offset=offset)

    def _design(self) -> _core.Design:
        if isinstance(self.A, Columns):
            return _core.csc(self.A.indptr, self.A.indices, self.A.data, self.A.shape[0])
        design: _core.Design = self.A.design() if hasattr(self.A, "design") else _core.dense(self.A)
        return design

    def _readable(self) -> Any:
        return self.A.tocsc() if isinstance(self.A, Columns) else self.A


@dataclass(frozen=True)
class Facts:
    """What is known of a shard without having it."""

    shard: Shard  # but for its A
    shape: tuple[int, int]
    nnz: int
    dense: bool
    dtype: np.dtype[Any]
    checksum: int


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
    checksums: Array = field(repr=False)
    y: Array | None = field(repr=False)
    feature_names: list[str] | None = field(repr=False)
    dense: bool
    tiled: disk.Matrix | None = field(repr=False)
    room: float = field(default=0.25 * MEMORY, repr=False)

    def design(self) -> _core.Design:
        """What the core asks."""
        kind = "remote_dense" if self.dense else "remote"
        made = getattr(_core, f"{kind}{8 * self.dtype.itemsize}")
        asked = (self._scan, self._survey, self._dense if self.dense else self._sparse)
        design: _core.Design = made(*self.shape, self.nnz, *asked, self._head, self._far())
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
        """Whether A'HA is cheap beside A."""
        n, d = self.shape
        return self.dense and self.tiled is None and 0 < d <= 512 and n >= 16 * d

    def _far(self) -> Any:
        """What the core has to know if columns stay with the workers."""
        if self._light():
            return None
        if self._tall():
            gram = Gram(self)
            return np.ones(self.shape[1]), 0.0, gram.add, gram.propose
        each = self._each()
        if each * self.nnz <= self.room:
            return None
        if self.tiled is None:
            entries = self._summed(lambda shard, rows: shard.entries())
        else:
            entries = np.concatenate(_compute([shard.entries() for shard in self.shards]))
        sizes = each * entries.astype(np.float64)
        return sizes, self.room, self.product, Far(self, Partition(sizes, self.room)).propose

    def product(self, which: Array, steps: Array) -> Array:
        """sum_k steps_k a_k, for columns that stay with the workers."""
        if self.tiled is None:
            columns, lengths = delayed(which), delayed(steps)
            return np.concatenate(_compute([s.product(columns, lengths) for s in self.shards]))
        parts = self._of_tiles(which, lambda shard, inside, at: shard.product(inside, steps[at]))
        return np.asarray(np.sum(parts, axis=0))

    def columns(self, which: Any) -> sp.csc_array:
        """Some of the columns, here."""
        which = np.arange(self.shape[1], dtype=np.int32)[which]
        if self.dense:
            return sp.csc_array(self._dense(which).T)
        starts, rows, values = self._sparse(which)
        return sp.csc_array((values, rows, starts), shape=(self.shape[0], len(which)))

    def _scan(self, v: Array, which: Array | None) -> Array:
        if self.tiled is None:
            shared = None if which is None else delayed(which)
            return self._summed(lambda shard, rows: shard.scan(v[rows], shared))
        shared = delayed(v)
        if which is None:
            return np.concatenate(_compute([shard.scan(shared, None) for shard in self.shards]))
        out = np.empty(len(which))
        parts = self._of_tiles(which, lambda shard, inside, _: shard.scan(shared, inside))
        out[np.argsort(self._tile_of(which), kind="stable")] = np.concatenate(parts)
        return out

    def _survey(self, w: Array | None, v: Array) -> Array:
        if self.tiled is None:
            return self._summed(
                lambda shard, rows: shard.survey(None if w is None else w[rows], v[rows])
            )
        weights, shared = delayed(w), delayed(v)
        parts = _compute([shard.survey(weights, shared) for shard in self.shards])
        return np.concatenate(parts, axis=1)

    def scan(self, v: Array) -> Array:
        """A'v."""
        return self._scan(v, None)

    def normal(self, h: Array, g: Array) -> Array:
        """A'g, A'h and A'HA of shards of rows, one below the other."""
        return self._summed(lambda shard, rows: shard.normal(h[rows], g[rows]))

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
        return _compute([shard.columns(shared) for shard in self.shards])

    def _summed(self, ask: Callable[[Any, slice], Delayed]) -> Array:
        """The sum of what the row shards answer: a tree of tasks, the same for any workers."""
        bounds = zip(self.shards, self.starts[:-1], self.starts[1:], strict=True)
        parts = [ask(shard, slice(first, last)) for shard, first, last in bounds]
        add = delayed(np.add, pure=False)
        while len(parts) > 1:
            pairs = zip(parts[::2], parts[1::2], strict=False)
            parts = [add(*pair) for pair in pairs] + parts[len(parts) - len(parts) % 2 :]
        total: Array = _compute(parts)[0]
        return total

    def _tile_of(self, which: Array) -> Array:
        return np.searchsorted(self.starts, which, "right") - 1

    def _of_tiles(self, which: Array, ask: Callable[[Any, Array, Array], Delayed]) -> list[Any]:
        """What the tiles of these columns answer, in the order of the tiles."""
        return _compute(self._asked(which, ask))

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

    def propose(
        self,
        which: Array,
        x: Array,
        means: Array,
        inv_scale: Array,
        lam: Array,
        lo: Array,
        hi: Array,
        *model: Any,
    ) -> tuple[Array, Array]:
        """The weights that each block wants, the others at rest, and what all that adds to z."""
        if means.any():
            raise ValueError(
                "to standardize without an intercept, the columns that matter must fit in memory"
            )
        made = [self.matrix.block(block) for block in self.partition.take_in(which)]
        self.blocks += dask.persist(*made)
        block_of, places = self.partition.block_of[which], self.partition.places(which)
        wanted = [(b, np.flatnonzero(block_of == b)) for b in np.unique(block_of)]
        whole = Model(*model)
        shared = delayed(replace(whole, gap=whole.gap / len(wanted)), traverse=False)
        asked = [
            Weights(*(part[at] for part in (places, x, inv_scale, lam, lo, hi))) for _, at in wanted
        ]
        steps = _compute(
            [
                delayed(step)(self.blocks[b], delayed(own, traverse=False), shared)
                for (b, _), own in zip(wanted, asked, strict=True)
            ]
        )
        goal, dz = x.copy(), np.zeros(self.matrix.shape[0])
        for (_, at), (there, change) in zip(wanted, steps, strict=True):
            goal[at] = there
            dz += change
        return goal, dz


def matrix(A: Any, y: Any = None, room: float | None = None) -> Matrix:
    """A matrix on the cluster of the current `distributed.Client` (without one, in threads).

    Parameters
    ----------
    A : dask.array, dask.dataframe, list of delayed objects or futures, or shotgun.disk.Matrix
        An array's chunks are dense or sparse (scipy's); they become shards of rows. A list is of
        shards of rows: arrays, sparse matrices, data frames, :class:`shotgun.io.Data` or pairs of
        one of these and the targets. A matrix on disk becomes tiles of columns; workers must find
        it where it is.
    y : array, Dask collection or list of them, optional
        The targets, where they do not come with the shards.
    room : float, optional
        Bytes that columns may take here, by default a quarter of the memory. A working set that
        takes more stays with the workers, in blocks of this size.
    """
    made = _tiles(A) if isinstance(A, disk.Matrix) else _assemble(*_settle(_shards(_rows(A))))
    if room is not None:
        made = replace(made, room=check_number("room", room))
    if y is None:
        return made
    target = np.concatenate(_compute(y)) if isinstance(y, list) else np.asarray(y)
    if target.shape[:1] != made.shape[:1]:
        raise ValueError(f"y must have {made.shape[0]} rows, not {len(target)}")
    return replace(made, y=target)


def read(files: Sequence[Name], **how: Any) -> Matrix:
    """Rows in files of one kind, each read by a worker, which must find it where it is.

    Parameters
    ----------
    files : list of paths
        Of any format that :func:`shotgun.io.read` reads; in the order of the rows.
    **how
        As of :func:`shotgun.io.read`: target, format, dtype, ...
    """
    names = [os.fspath(file) for file in files]
    if not names:
        raise ValueError("files must name at least one")
    shards, facts = _settle([delayed(_read)(name, how) for name in names])
    widest = max(fact.shape[1] for fact in facts)
    based = {fact.shard.zero_based for fact in facts}
    if based != {None} and (len(based) > 1 or len({fact.shape[1] for fact in facts}) > 1):
        zero_based = True in based  # a file that happens to have no index 0 does not show it
        moved = zero_based and any(
            not fact.shard.zero_based and fact.shape[1] == widest for fact in facts
        )
        width = max(widest + moved, how.get("n_features") or 0)
        same = how | {"zero_based": zero_based, "n_features": width}
        shards, facts = _settle([delayed(_read)(name, same) for name in names])
    return _assemble(shards, facts)


def map_rows(of_rows: Callable[..., Array], A: Any, offset: Any = None) -> dask.array.Array:
    """A Dask array of what `of_rows(rows, offset=...)` says; computed when it is asked for."""
    shards, sizes, d = _lazy(A) if offset is None else ([], [], None)
    if d is None:  # of a list of shards, or against an offset, more has to be known
        A = A if isinstance(A, Matrix) else matrix(A)
        shards, sizes, d = A.shards, np.diff(A.starts).tolist(), A.shape[1]
        if A.tiled is not None:
            shards = [delayed(Shard(str(A.tiled.path), A.tiled), traverse=False)]
            sizes = [A.shape[0]]
    like = of_rows(sp.csr_array((1, d)))
    known: list[Any] = [None] * len(shards)
    if offset is not None:
        vector = check_vector("offset", offset, int(sum(sizes)))
        known = np.split(vector, np.cumsum(sizes)[:-1].astype(int))
    function = delayed(of_rows)
    blocks = [
        dask.array.from_delayed(shard.rows(function, part), (size, *like.shape[1:]), like.dtype)
        for shard, size, part in zip(shards, sizes, known, strict=True)
    ]
    return dask.array.concatenate(blocks, allow_unknown_chunksizes=True)


def _lazy(A: Any) -> tuple[list[Delayed], list[float], int | None]:
    """Shards of a collection before anything is computed, their rows and their columns."""
    if isinstance(A, Matrix | list):
        return [], [], None
    shards = _shards(_rows(A))
    sizes = A.chunks[0] if isinstance(A, dask.array.Array) else [np.nan] * len(shards)
    return shards, list(sizes), A.shape[1]


def _shards(parts: list[Any]) -> list[Delayed]:
    names = [f"shard {k} of {len(parts)}" for k in range(len(parts))]
    return [delayed(_load)(name, part) for name, part in zip(names, parts, strict=True)]


def _rows(A: Any) -> list[Any]:
    """A collection as delayed shards of rows."""
    if isinstance(A, list):
        if not A:
            raise ValueError("A must have at least one shard")
        return A
    if isinstance(A, dask.array.Array):
        if A.ndim != 2:
            raise ValueError(f"A must have two dimensions, not {A.ndim}")
        whole_rows = A if A.numblocks[1] == 1 else A.rechunk({1: -1})
        return list(whole_rows.to_delayed().ravel())
    if hasattr(A, "to_delayed"):
        return list(A.to_delayed())
    raise TypeError(f"A must be a Dask collection or a list of shards, not {type(A).__name__}")


def _load(name: str, part: Any) -> Shard:
    """On a worker: a shard in the order in which scans read it."""
    with _blamed(name):
        y = names = zero_based = None
        if isinstance(part, io.Data):
            part, y, names, zero_based = part.A, part.y, part.feature_names, part.zero_based
        elif isinstance(part, tuple):
            part, y = part
        if hasattr(part, "to_numpy"):
            names, part = [str(column) for column in part.columns], part.to_numpy()
        A = _by_columns(part)
        if y is not None and np.shape(y)[:1] != A.shape[:1]:
            raise ValueError(f"{np.shape(y)[0]} targets for {A.shape[0]} rows")
        return Shard(name, A, None if y is None else np.asarray(y), names, zero_based)


def _read(name: str, how: dict[str, Any]) -> Shard:
    with _blamed(name):
        data = io.read(name, n_threads=1, **how)
    return _load(name, data)


def _by_columns(A: Any) -> Any:
    if not sp.issparse(A):
        A = np.asarray(A)
        if A.ndim != 2:
            raise ValueError(f"a shard must have two dimensions, not {A.ndim}")
        A = np.asarray(A, dtype=float_dtype(A.dtype))
        if A.flags.c_contiguous and A.size:  # the core turns it faster than numpy does
            return _core.fortran(A, 1).reshape(A.shape, order="F")
        return np.asfortranarray(A)
    A = sp.csc_array(sound(A), dtype=float_dtype(A.dtype))
    if not A.has_canonical_format:
        A = A.copy()
        A.sum_duplicates()
    wide = np.int64 if A.indptr.dtype == np.int64 else np.int32
    return Columns(A.data, A.indices.astype(wide), A.indptr.astype(wide), A.shape)


def _dtype(A: Any) -> np.dtype[Any]:
    dtype: np.dtype[Any] = A.data.dtype if isinstance(A, Columns) else A.dtype
    return dtype


def _tiles(A: disk.Matrix) -> Matrix:
    """A matrix on disk, each tile a shard of its own."""
    parts = []
    for k, tile in enumerate(A.tiles):
        width = tile.last - tile.first
        own = replace(tile, first=0, last=width)
        part = disk.Matrix(A.path, (A.shape[0], width), A.dtype, (own,), None, None)
        parts.append(delayed(Shard)(f"tile {k} of {A.path}", part))
    starts = np.array([tile.first for tile in A.tiles] + [A.shape[1]])
    known = (A.shape, A.dtype, A.nnz, A.checksums, A.y, A.feature_names)
    return Matrix(list(dask.persist(*parts)), starts, *known, dense=False, tiled=A)


def _settle(parts: list[Delayed]) -> tuple[list[Delayed], list[Facts]]:
    """Shards that the workers keep from now on, and what is known of them."""
    with dask.config.set(_QUIET):
        shards = list(dask.persist(*parts))
    try:
        return shards, _compute([shard.facts() for shard in shards])
    except ShardError:
        raise
    except Exception as error:  # of what the shards are made of
        for k, shard in enumerate(shards):
            if any(getattr(part, "status", None) == "error" for part in shard.dask.values()):
                raise ShardError(f"shard {k} of {len(shards)}: {error}") from error
        raise


def _assemble(shards: list[Delayed], facts: list[Facts]) -> Matrix:
    """Shards of rows that fit together."""
    first = facts[0]
    for fact in facts:
        name, other = fact.shard.name, first.shard.name
        if fact.shape[1] != first.shape[1]:
            raise ShardError(f"{name}: {fact.shape[1]} features, but {other} has {first.shape[1]}")
        if fact.shard.feature_names != first.shard.feature_names:
            raise ShardError(f"{name}: other feature names than {other}")
        if (fact.shard.y is None) != (first.shard.y is None):
            raise ShardError(f"{name}: targets in some shards only")
    starts = np.concatenate([[0], np.cumsum([fact.shape[0] for fact in facts])])
    targets = [fact.shard.y for fact in facts if fact.shard.y is not None]
    return Matrix(
        shards=shards,
        starts=starts,
        shape=(int(starts[-1]), first.shape[1]),
        dtype=np.result_type(*(fact.dtype for fact in facts)),
        nnz=sum(fact.nnz for fact in facts),
        checksums=np.array([fact.checksum for fact in facts], dtype=np.uint64),
        y=np.concatenate(targets) if targets else None,
        feature_names=first.shard.feature_names,
        dense=all(fact.dense for fact in facts),
        tiled=None,
    )


def _compute(asked: list[Any]) -> list[Any]:
    """The answers, from the current client's cluster or from threads."""
    try:
        with dask.config.set(_QUIET):
            # direct: answers do not pass by the scheduler
            return list(dask.compute(*asked, optimize_graph=False, direct=True))
    except CancelledError as error:
        raise ShardError(
            "shards were lost with a worker, and nobody knows how to make them again: give shards "
            f"that are read or computed, not scattered ({error})"
        ) from error
