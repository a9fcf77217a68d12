"""A part of a matrix: what a worker has, and what it answers for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

import shotgun._core as _core
from shotgun import disk, gram, io
from shotgun.problem import Columns, Elsewhere, canonical, float_dtype

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


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
    A: Any  # Columns, an array in Fortran order (or as it was, if tall) or a tile on disk
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
        dense = isinstance(self.A, np.ndarray)
        return Facts(replace(self, A=None), self.A.shape, int(nnz), dense, _dtype(self.A))

    def checksums(self) -> Array:
        """Its shape and checksums of all its numbers."""
        A = self.A
        parts = (A.data, A.indices, A.indptr) if isinstance(A, Columns) else (A.ravel("K"),)
        return np.array([*A.shape, *map(disk.checksum, parts)], np.uint64)

    def scan(self, v: Array, which: Array | None) -> Array:
        """Its part of A'v, for the columns `which` or all."""
        with _blamed(self.name):
            if self._by_rows():
                dots = gram.dots(self.A, v)
                return dots if which is None else dots[which]
            return _core.scan(self._design(), v, which)

    def survey(self, w: Array | None, v: Array) -> Array:
        """Sums, squares and A'v of all its columns."""
        with _blamed(self.name):
            if self._by_rows():
                return gram.moments(self.A, w, v)
            found = np.stack(_core.survey(self._design(), w, v))
            if isinstance(self.A, disk.Matrix):
                self.A.trust()  # the core has looked at it
            return found

    def columns(self, which: Array) -> Any:
        """Its part of some columns, as dense or as sparse as they are."""
        with _blamed(self.name):
            if isinstance(self.A, Elsewhere):
                return self.A.columns(which)
            A = self._readable()
            if sp.issparse(A):
                return A[:, which]
            all_of_them = np.array_equal(which, np.arange(A.shape[1]))
            return A if all_of_them else A.T[which].T  # column after column

    def normal(self, h: Array, light: bool) -> Array:
        """Its part of A'h and A'HA, one below the other."""
        with _blamed(self.name):
            return gram.normal(self.A, h, light)

    def head(self, rows: int) -> Shard:
        """Its first rows."""
        some = self._readable()[:rows]
        # In one piece: parts of columns would travel row by row.
        A = _arranged(some) if sp.issparse(some) else np.asfortranarray(some)
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
        with _blamed(self.name):
            if isinstance(self.A, np.ndarray) and 4 * len(which) > self.A.shape[1]:
                x = np.zeros(self.A.shape[1])  # reading all costs less than copying these
                x[which] = steps
                return gram.product(self.A, x)
            A = self.columns(which)
            return np.asarray(A @ steps) if sp.issparse(A) else gram.product(A, steps)

    def rows(self, of_rows: Callable[..., Array], offset: Array | None) -> Array:
        """What a function says of its rows."""
        with _blamed(self.name):
            return of_rows(self._readable(), offset=offset)

    def _by_rows(self) -> bool:
        return isinstance(self.A, np.ndarray) and not self.A.flags.f_contiguous

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


def load(name: str, part: Any) -> Shard:
    """A shard in an order that scans can read."""
    with _blamed(name):
        y = names = zero_based = None
        if isinstance(part, io.Data):
            part, y, names, zero_based = part.A, part.y, part.feature_names, part.zero_based
        elif isinstance(part, tuple):
            part, y = part
        if hasattr(part, "to_numpy"):
            names, part = [str(column) for column in part.columns], part.to_numpy()
        A = _arranged(part)
        if y is not None and np.shape(y)[:1] != A.shape[:1]:
            raise ValueError(f"{np.shape(y)[0]} targets for {A.shape[0]} rows")
        return Shard(name, A, None if y is None else np.asarray(y), names, zero_based)


def read_file(name: str, how: dict[str, Any]) -> Shard:
    """A shard from a file."""
    with _blamed(name):
        data = io.read(name, n_threads=1, **how)
    return load(name, data)


def _arranged(A: Any) -> Any:
    """Columns one after the other; tall rows stay as they are."""
    if not sp.issparse(A):
        A = np.asarray(A)
        if A.ndim != 2:
            raise ValueError(f"a shard must have two dimensions, not {A.ndim}")
        A = np.asarray(A, dtype=float_dtype(A.dtype))
        if gram.is_tall(*A.shape) and A.flags.c_contiguous:
            return A
        if A.flags.c_contiguous and A.size:  # the core turns it faster than numpy does
            return _core.fortran(A, 1).reshape(A.shape, order="F")
        return np.asfortranarray(A)
    A = sp.csc_array(canonical(A))
    wide = np.int64 if A.indptr.dtype == np.int64 else np.int32
    return Columns(A.data, A.indices.astype(wide), A.indptr.astype(wide), A.shape)


def _dtype(A: Any) -> np.dtype[Any]:
    dtype: np.dtype[Any] = A.data.dtype if isinstance(A, Columns) else A.dtype
    return dtype
