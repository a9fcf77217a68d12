"""Matrices on a cluster, from what users have: collections, shards, files."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import dask
import dask.array
import numpy as np
import scipy.sparse as sp
from dask.delayed import Delayed, delayed

from shotgun import disk
from shotgun.dask.cluster import QUIET, Matrix, compute
from shotgun.dask.shard import Array, Facts, Shard, ShardError, load, read_file
from shotgun.problem import check_number, check_vector

Name: TypeAlias = "str | os.PathLike[str]"


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
    target = np.concatenate(compute(y)) if isinstance(y, list) else np.asarray(y)
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
    shards, facts = _settle([delayed(read_file)(name, how) for name in names])
    widest = max(fact.shape[1] for fact in facts)
    based = {fact.shard.zero_based for fact in facts}
    if based != {None} and (len(based) > 1 or len({fact.shape[1] for fact in facts}) > 1):
        zero_based = True in based  # a file that happens to have no index 0 does not show it
        moved = zero_based and any(
            not fact.shard.zero_based and fact.shape[1] == widest for fact in facts
        )
        width = max(widest + moved, how.get("n_features") or 0)
        same = how | {"zero_based": zero_based, "n_features": width}
        shards, facts = _settle([delayed(read_file)(name, same) for name in names])
    return _assemble(shards, facts)


def map_rows(
    of_rows: Callable[..., Array], A: Any, offset: Any = None, d: int | None = None
) -> dask.array.Array:
    """A Dask array of what `of_rows(rows, offset=...)` says; computed when it is asked for.

    `d` is the number of columns of A, which is looked at now if nobody knows it.
    """
    shards, sizes, d = _lazy(A, d) if offset is None else ([], [], None)
    if d is None:  # as against an offset, more has to be known
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


def _lazy(A: Any, d: int | None) -> tuple[list[Delayed], list[float], int | None]:
    """Shards of a collection before anything is computed, their rows and their columns."""
    d = d if isinstance(A, list) else A.shape[1]
    if isinstance(A, Matrix) or d is None:
        return [], [], None
    shards = _shards(_rows(A))
    sizes = A.chunks[0] if isinstance(A, dask.array.Array) else [np.nan] * len(shards)
    return shards, list(sizes), d


def _shards(parts: list[Any]) -> list[Delayed]:
    names = [f"shard {k} of {len(parts)}" for k in range(len(parts))]
    return [delayed(load)(name, part) for name, part in zip(names, parts, strict=True)]


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


def _tiles(A: disk.Matrix) -> Matrix:
    """A matrix on disk, each tile a shard of its own."""
    parts = []
    for k, tile in enumerate(A.tiles):
        width = tile.last - tile.first
        own = replace(tile, first=0, last=width)
        part = disk.Matrix(A.path, (A.shape[0], width), A.dtype, (own,), None, None)
        parts.append(delayed(Shard)(f"tile {k} of {A.path}", part))
    starts = np.array([tile.first for tile in A.tiles] + [A.shape[1]])
    known = (A.shape, A.dtype, A.nnz, A.y, A.feature_names)
    return Matrix(list(dask.persist(*parts)), starts, *known, dense=False, tiled=A)


def _settle(parts: list[Delayed]) -> tuple[list[Delayed], list[Facts]]:
    """Shards that the workers keep from now on, and what is known of them."""
    with dask.config.set(QUIET):
        shards = list(dask.persist(*parts))
    try:
        return shards, compute([shard.facts() for shard in shards])
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
        y=np.concatenate(targets) if targets else None,
        feature_names=first.shard.feature_names,
        dense=all(fact.dense for fact in facts),
        tiled=None,
    )
