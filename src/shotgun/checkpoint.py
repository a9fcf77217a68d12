"""Fits that can be interrupted: what is certified so far is kept in a file, and continued."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import scipy.sparse as sp

import shotgun._core as _core
from shotgun import tensors
from shotgun.model import fingerprint
from shotgun.path import Path, Run, collect, continued
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
    for name, value in options.items():
        if isinstance(value, np.generic | np.ndarray):  # of numpy's numbers JSON knows nothing
            options[name] = value.item()
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

_FACTS: dict[str, Any] = {  # of a fit, and their types
    "intercept": float,
    "objective": float,
    "gap": float,
    "tolerance": float,
    "null_objective": float,
    "certificate": str,
    "status": str,
    "n_rounds": int,
    "n_epochs": int,
    "n_updates": int,
    "n_screened": int,
    "P": int,
    "rho": (float, type(None)),
    "engine": str,
    "seconds": float,
}
STEP = 10  # fits from one writing to the next


def pack_path(fits: Path, same: Record) -> bytes:
    """The bytes of a file; `same` is the identity of data and options."""
    record = {"kind": "path", "identity": same, "d": fits.X.shape[0], "fits": fits._facts}
    return tensors.pack(record, {"lams": fits.lams, **pack_csc("X", fits.X)})


def unpack_path(record: Record, kept: Tensors, file: str) -> Path:
    """The fits of a file."""
    d, told = record.get("d"), record.get("fits")
    try:
        if type(d) is not int or not 0 < d < 2**31:
            raise ValueError("d is missing")
        lams, X = vector(kept, "lams"), unpack_csc("X", kept, d)
        if not isinstance(told, list) or not all(map(_complete, told)):
            raise ValueError("what is told of the fits is incomplete")
        if not len(told) == X.shape[1] == len(lams):
            raise ValueError("some fits are incomplete")
    except ValueError as error:
        raise ModelError(f"{file}: {error}") from error
    return collect(lams, X, told, [None] * len(told))


def _complete(told: Any) -> bool:
    return (
        isinstance(told, dict)
        and told.keys() == _FACTS.keys()
        and all(isinstance(told[name], kind) for name, kind in _FACTS.items())
        and all(type(v) is not bool for v in told.values())
        and all(0 <= v < 2**63 for v in told.values() if isinstance(v, int))
    )


def certified(fits: Path) -> Path:
    """Those that nothing has cut short."""
    short = fits.statuses[-1:] in (["stopped"], ["deadline"])
    return fits.first(len(fits) - short)


def resume_path(file: str, same: Record) -> Path:
    """What an interrupted path has left in a file."""
    return certified(unpack_path(*read_same(file, "path", same), file))


class Checkpoint:
    """A file that a path is kept in while it is fitted.

    It is fitted in steps, each of which begins with nothing but what is in the file: so a path that
    was interrupted ends with the same bits as one that was not.
    """

    def __init__(self, file: Any, same: Record) -> None:
        self.file, self.same = os.fspath(file), same

    def follow(self, grid: _core.Grid, run: Run) -> Path:
        """The fits of a grid, behind those of the file."""
        fits, total = self._begun(), len(grid.lams)
        while True:
            upto = min(total, (0 if fits is None else len(fits)) // STEP * STEP + STEP)
            part = _core.Grid()
            part.lams, part.l2s, part.deviance = grid.lams[:upto], grid.l2s[:upto], grid.deviance
            fits = continued(fits, part, run)
            tensors.write(self.file, pack_path(certified(fits), self.same))
            if upto == total or len(certified(fits)) < upto:
                return fits

    def _begun(self) -> Path | None:
        """Whole steps: what comes behind them is fitted again, from where it was fitted before."""
        if not os.path.exists(self.file):
            return None
        fits = resume_path(self.file, self.same)
        return fits.first(len(fits) // STEP * STEP)
