"""Cross-validation that can be interrupted: the fits of each fold are kept, and continued."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from shotgun import tensors
from shotgun.checkpoint import Interrupts, pack_csc, read_same, unpack_csc, vector
from shotgun.estimator import GridFits
from shotgun.model import fingerprint
from shotgun.problem import Vector
from shotgun.selection import Data, Job
from shotgun.tensors import ModelError, Record, Tensors


class Interrupted(Exception):
    """A signal ended the fit early."""


class Folds:
    """The fits of each fold, as far as they got, in a file if there is one."""

    def __init__(self, file: str | None, same: Record, stop: Interrupts) -> None:
        self.file, self.same, self.stop = file, same, stop
        self.kept: dict[str, GridFits] = {}
        self._lock = threading.Lock()

    def resume(self, file: str) -> None:
        """Take what an interrupted cross-validation has left in a file."""
        self.kept |= unpack(*read_same(file, "folds", self.same), file)

    def count(self) -> int:
        """How many fits there are."""
        return sum(map(len, self.kept.values()))

    def fits(self, weights: Vector, job: Job, fit: Callable[[Job], GridFits]) -> GridFits:
        """The fits of one fold along a grid: those that are kept, then the others."""
        name = fingerprint(np.empty((0, 0)), weights, job.strengths, most=None)["hash"]
        done = self.kept.get(name)
        if done is None:
            fits = fit(job)
        elif len(done) == len(job.strengths):
            return done
        else:
            fits = _then(done, fit(replace(job, strengths=job.strengths[len(done) :])))
        with self._lock:
            certified = _certified(fits)
            if certified is not None:
                self.kept[name] = certified
                self.write()
        return fits

    def write(self) -> None:
        """Write what there is."""
        if self.file is None or self.file == "-":
            return
        record: Record = {"kind": "folds", "identity": self.same, "folds": {}}
        kept: Tensors = {}
        for name, fits in self.kept.items():
            record["folds"][name] = {"targets": len(fits.coefs), "d": fits.coefs[0].shape[0]}
            kept |= {f"{name}.intercepts": fits.intercepts, f"{name}.n_iter": fits.n_iter}
            for k, coefs in enumerate(fits.coefs):
                kept |= pack_csc(f"{name}.{k}", coefs)
        tensors.write(self.file, tensors.pack(record, kept))


def resumable(estimator: type, folds: Folds, **parameters: Any) -> Any:
    """A *CV estimator whose folds are kept, and which an interrupt stops before the refit."""

    class Resumable(estimator):  # type: ignore[misc]
        def _fit_fold(self, data: Data, job: Job, weights: Vector, how: Record) -> GridFits:
            fit = super()._fit_fold
            return folds.fits(weights, job, lambda rest: fit(data, rest, weights, how))

        def _choose(self, *found: Any) -> int:
            if folds.stop.signal is not None:
                raise Interrupted
            return int(super()._choose(*found))

    Resumable.__name__ = estimator.__name__
    return Resumable(**parameters)


def _certified(fits: GridFits) -> GridFits | None:
    """Without the fit that was stopped; None where others are not certified either."""
    if not fits.unfinished:
        return fits
    if len(fits.unfinished) > 1 or fits.unfinished[0].status != "stopped" or len(fits) == 1:
        return None
    k = len(fits) - 1
    return GridFits(
        [coefs[:, :k] for coefs in fits.coefs], fits.intercepts[:k], fits.n_iter[:k], []
    )


def _then(done: GridFits, more: GridFits) -> GridFits:
    return GridFits(
        coefs=[sp.hstack(pair, format="csc") for pair in zip(done.coefs, more.coefs, strict=True)],
        intercepts=np.concatenate([done.intercepts, more.intercepts]),
        n_iter=np.concatenate([done.n_iter, more.n_iter]),
        unfinished=more.unfinished,
    )


def unpack(record: Record, kept: Tensors, file: str) -> dict[str, GridFits]:
    """The folds of a file."""
    try:
        folds = _dict(record.get("folds"))
        return {name: _unpack_fits(name, _dict(folds[name]), kept) for name in folds}
    except ValueError as error:
        raise ModelError(f"{file}: {error}") from error


def _unpack_fits(name: str, about: Record, kept: Tensors) -> GridFits:
    d, targets = about.get("d"), about.get("targets")
    if type(d) is not int or not 0 < d < 2**31 or type(targets) is not int or targets < 1:
        raise ValueError("a fold is incomplete")
    coefs = [unpack_csc(f"{name}.{k}", kept, d) for k in range(targets)]
    intercepts, n_iter = kept.get(f"{name}.intercepts"), vector(kept, f"{name}.n_iter")
    sizes = {X.shape[1] for X in coefs} | {len(n_iter)}
    if intercepts is None or sizes != {len(n_iter)} or intercepts.shape != (len(n_iter), targets):
        raise ValueError("a fold is incomplete")
    return GridFits(coefs, intercepts, n_iter, [])


def _dict(value: Any) -> Record:
    if not isinstance(value, dict):
        raise ValueError("the folds are missing")
    return value
