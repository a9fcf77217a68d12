"""Cross-validation that can be interrupted: the fits of each fold are kept, and continued."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from shotgun import tensors
from shotgun.checkpoint import Interrupts, pack_csc, read_same, unpack_csc, vector
from shotgun.estimator import Along
from shotgun.model import fingerprint
from shotgun.progress import Row
from shotgun.tensors import ModelError, Record, Tensors


class Interrupted(Exception):
    """A signal ended the fit early."""


class Folds:
    """The fits of each fold, as far as they got, in a file if there is one."""

    def __init__(self, file: str | None, same: Record, stop: Interrupts) -> None:
        self.file, self.same, self.stop = file, same, stop
        self.kept: dict[str, Along] = {}
        self._lock = threading.Lock()

    def resume(self, file: str) -> None:
        """Take what an interrupted cross-validation has left in a file."""
        self.kept |= unpack(*read_same(file, "folds", self.same), file)

    def count(self) -> int:
        """How many fits there are."""
        return sum(map(len, self.kept.values()))

    def along(self, fit: Callable[..., Along], X: Any, rest: tuple[Any, ...], how: Row) -> Along:
        """The fits of one fold along a grid: those that are kept, then the others."""
        *data, strengths = rest
        name = fingerprint(np.empty((0, 0)), data[1], strengths, most=None)["hash"]
        done = self.kept.get(name)
        if done is not None and len(done) == len(strengths):
            return done
        more = fit(X, *data, strengths[0 if done is None else len(done) :], **how)
        fits = more if done is None else _then(done, more)
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
        def _models(self) -> list[Any]:
            models: list[Any] = super()._models()
            for model in models:
                model._along = _kept(folds, model._along)
            return models

        def _choose(self, *found: Any) -> int:
            if folds.stop.signal is not None:
                raise Interrupted
            return int(super()._choose(*found))

    Resumable.__name__ = estimator.__name__
    return Resumable(**parameters)


def _kept(folds: Folds, fit: Callable[..., Along]) -> Callable[..., Along]:
    return lambda X, *rest, **how: folds.along(fit, X, rest, how)


def _certified(fits: Along) -> Along | None:
    """Without the fit that was stopped; None where others are not certified either."""
    if not fits.unfinished:
        return fits
    if len(fits.unfinished) > 1 or fits.unfinished[0].status != "stopped" or len(fits) == 1:
        return None
    k = len(fits) - 1
    return Along([coefs[:, :k] for coefs in fits.coefs], fits.intercepts[:k], fits.n_iter[:k], [])


def _then(done: Along, more: Along) -> Along:
    return Along(
        coefs=[sp.hstack(pair, format="csc") for pair in zip(done.coefs, more.coefs, strict=True)],
        intercepts=np.concatenate([done.intercepts, more.intercepts]),
        n_iter=np.concatenate([done.n_iter, more.n_iter]),
        unfinished=more.unfinished,
    )


def unpack(record: Record, kept: Tensors, file: str) -> dict[str, Along]:
    """The folds of a file."""
    try:
        folds = _dict(record.get("folds"))
        return {name: _unpack_along(name, _dict(folds[name]), kept) for name in folds}
    except ValueError as error:
        raise ModelError(f"{file}: {error}") from error


def _unpack_along(name: str, about: Record, kept: Tensors) -> Along:
    d, targets = about.get("d"), about.get("targets")
    if type(d) is not int or not 0 < d < 2**31 or type(targets) is not int or targets < 1:
        raise ValueError("a fold is incomplete")
    coefs = [unpack_csc(f"{name}.{k}", kept, d) for k in range(targets)]
    intercepts, n_iter = kept.get(f"{name}.intercepts"), vector(kept, f"{name}.n_iter")
    sizes = {X.shape[1] for X in coefs} | {len(n_iter)}
    if intercepts is None or sizes != {len(n_iter)} or intercepts.shape != (len(n_iter), targets):
        raise ValueError("a fold is incomplete")
    return Along(coefs, intercepts, n_iter, [])


def _dict(value: Any) -> Record:
    if not isinstance(value, dict):
        raise ValueError("the folds are missing")
    return value
