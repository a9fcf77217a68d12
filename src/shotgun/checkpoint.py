"""Fits that can be interrupted: what is certified so far is kept in a file, and continued."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import numpy as np
import scipy.sparse as sp

from shotgun import tensors
from shotgun.model import fingerprint
from shotgun.path import path
from shotgun.problem import Vector
from shotgun.progress import Row
from shotgun.tensors import Array, ModelError, Record, Tensors


class Interrupts:
    """Notes Ctrl-C and SIGTERM instead of dying of them; the second one counts as usual."""

    signals = (signal.SIGINT, signal.SIGTERM)

    def __init__(self) -> None:
        self.signal: int | None = None

    def __enter__(self) -> Interrupts:
        self._before = {number: signal.signal(number, self._note) for number in self.signals}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, _: FrameType | None) -> None:
        if self.signal is not None:
            raise KeyboardInterrupt
        self.signal = number

    def stops(self, tell: Callable[[Row], Any]) -> Callable[[Row], bool]:
        """A callback for fits: tells of the row, and stops them after a signal."""

        def callback(row: Row) -> bool:
            tell(row)
            return self.signal is not None

        return callback


def identity(A: Any, *vectors: Any, **options: Any) -> Record:
    """What must be the same for a fit to be continued."""
    return {"data": fingerprint(A, *vectors, most=None), "options": options}


def read_same(file: str, kind: str, same: Record) -> tuple[Record, Tensors]:
    """A file that `kind` wrote, if it is of the same data and options."""
    record, kept = tensors.unpack(tensors.read(file), file)
    if record.get("kind") != kind:
        raise ModelError(f"{file}: cannot be resumed: it holds {record.get('kind')!r:.40}")
    there = record.get("identity")
    there = there if isinstance(there, dict) else {}
    if there.get("data") != same["data"]:
        raise ModelError(f"{file}: cannot be resumed: it is of other data")
    options = there.get("options")
    for name, value in same["options"].items():
        if not isinstance(options, dict) or options.get(name) != value:
            raise ModelError(f"{file}: cannot be resumed: {name} is another there")
    return record, kept


def pack_csc(name: str, X: sp.csc_array) -> Tensors:
    return {
        f"{name}.data": X.data,
        f"{name}.indices": X.indices.astype(np.int64),
        f"{name}.indptr": X.indptr.astype(np.int64),
    }


def unpack_csc(name: str, kept: Tensors, d: int) -> sp.csc_array:
    data, indices, indptr = (vector(kept, f"{name}.{k}") for k in ("data", "indices", "indptr"))
    ends = len(indptr) > 0 and indptr[0] == 0 and indptr[-1] == len(indices) == len(data)
    inside = ((indices >= 0) & (indices < d)).all()
    ascend = (indptr[:-1] <= indptr[1:]).all()  # differences might overflow
    if not ends or not ascend or not inside or not np.isfinite(data).all():
        raise ValueError(f"{name} is not a sparse matrix")
    return sp.csc_array((data, indices, indptr), shape=(d, len(indptr) - 1))


def vector(kept: Tensors, name: str) -> Array:
    if name not in kept or kept[name].ndim != 1 or kept[name].dtype.kind not in "fi":
        raise ValueError(f"tensor {name} is missing")
    return kept[name]


# Paths

_COLUMNS = ("lams", "intercepts", "objectives", "gaps", "n_epochs")


@dataclass(frozen=True)
class Fits:
    """Fits along a path of lams, as far as they got; the columns are those of `shotgun.Path`."""

    lams: Vector
    X: sp.csc_array = field(repr=False)
    intercepts: Vector = field(repr=False)
    objectives: Vector = field(repr=False)
    gaps: Vector = field(repr=False)
    n_epochs: Array = field(repr=False)
    statuses: list[str] = field(repr=False)
    tolerance: float

    def __len__(self) -> int:
        return len(self.lams)

    def first(self, k: int) -> Fits:
        """The first k of them."""
        columns = {name: getattr(self, name)[:k] for name in _COLUMNS}
        return Fits(
            **columns, X=self.X[:, :k], statuses=self.statuses[:k], tolerance=self.tolerance
        )

    def then(self, more: Fits) -> Fits:
        """These and more."""
        columns = {
            name: np.concatenate([getattr(self, name), getattr(more, name)]) for name in _COLUMNS
        }
        X = sp.hstack([self.X, more.X], format="csc")
        statuses = self.statuses + more.statuses
        return Fits(**columns, X=X, statuses=statuses, tolerance=more.tolerance)

    def pack(self, same: Record) -> bytes:
        """The bytes of a file; `same` is the identity of data and options."""
        record = {"kind": "path", "identity": same, "d": self.X.shape[0]}
        record |= {"statuses": self.statuses, "tolerance": self.tolerance}
        columns = {name: np.asarray(getattr(self, name)) for name in _COLUMNS}
        return tensors.pack(record, columns | pack_csc("X", self.X))


def unpack_path(record: Record, kept: Tensors, file: str) -> Fits:
    """The fits of a file."""
    d, statuses, tolerance = (record.get(k) for k in ("d", "statuses", "tolerance"))
    try:
        if type(d) is not int or not 0 < d < 2**31 or not isinstance(tolerance, float):
            raise ValueError("d or tolerance is missing")
        columns = {name: vector(kept, name) for name in _COLUMNS}
        X = unpack_csc("X", kept, d)
        if not isinstance(statuses, list) or not all(isinstance(s, str) for s in statuses):
            raise ValueError("statuses are missing")
        if len({X.shape[1], len(statuses), *map(len, columns.values())}) > 1:
            raise ValueError("some fits are incomplete")
    except ValueError as error:
        raise ModelError(f"{file}: {error}") from error
    return Fits(**columns, X=X, statuses=statuses, tolerance=tolerance)


def fit_path(A: Any, y: Any, lams: Vector, begun: Fits | None = None, **options: Any) -> Fits:
    """A path; those lams that were `begun` are taken as they are. Options as in `shotgun.path`."""
    done = 0 if begun is None else len(begun)
    if begun is not None and done == len(lams):
        return begun
    p = path(A, y, lams[done:], **options)
    columns = {name: getattr(p, name) for name in _COLUMNS}
    fits = Fits(**columns, X=p.X, statuses=p.statuses, tolerance=p.tolerance)
    if fits.statuses[-1] == "stopped":
        fits = fits.first(len(fits) - 1)
    return fits if begun is None else begun.then(fits)


def resume_path(file: str, same: Record) -> Fits:
    """What an interrupted path has left in a file."""
    fits = unpack_path(*read_same(file, "path", same), file)
    return fits.first(len(fits) - fits.statuses.count("deadline"))
