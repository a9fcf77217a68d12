"""The data that the options name: here, or on a cluster."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import shotgun
from shotgun import io
from shotgun.io import Data
from shotgun.kinds import KINDS
from shotgun.options import Given


def read(given: Given, **more: Any) -> Data:
    """The data of a file."""
    return io.read(
        given.data,
        target=column(given.target),
        format=given.format,
        weights=column(getattr(given, "weights", None)),
        offset=column(given.offset),
        impute=given.impute,
        n_threads=getattr(given, "threads", None),
        max_bytes=given.max_bytes,
        **more,
    )


def column(name: str | None) -> str | int | None:
    """A column's number if it is one, else its name."""
    return int(name) if name is not None and name.removeprefix("-").isdecimal() else name


@contextmanager
def samples(given: Given, **more: Any) -> Iterator[Data]:
    """Data with something to predict: here or, with --workers or --scheduler, on a cluster."""
    if given.workers is None and given.scheduler is None:
        yield read_samples(given, **more)
        return
    if given.workers is not None and given.scheduler is not None:
        raise ValueError("give --workers or --scheduler, not both")
    from distributed import Client

    here = {"n_workers": given.workers, "threads_per_worker": 1, "dashboard_address": ":0"}
    with Client(given.scheduler) if given.scheduler else Client(**here):
        yield read_shards(given)


def read_samples(given: Given, **more: Any) -> Data:
    """Data with something to predict."""
    return with_target(given, read(given, **more))


def files(given: Given) -> list[str]:
    """Those that match a pattern, in the order of their names; or the one of that name."""
    if os.path.exists(given.data):
        return [given.data]
    return sorted(glob.glob(given.data)) or [given.data]


def read_shards(given: Given) -> Data:
    """The data of files that match a pattern, or of a matrix on disk, read by a cluster."""
    for option in ("weights", "offset"):
        if getattr(given, option) is not None:
            raise ValueError(f"--{option} does not apply to data on a cluster")
    found = files(given)
    if io.format_of(found[0], given.format) == "disk":
        A = shotgun.dask.matrix(shotgun.disk.open(found[0], given.max_bytes))
    else:
        how = {"target": column(given.target), "format": given.format, "impute": given.impute}
        how["max_bytes"] = given.max_bytes
        A = shotgun.dask.read(found, **how)
    return with_target(given, Data(A, A.y, A.feature_names))


def with_target(given: Given, data: Data) -> Data:
    if data.y is None:
        raise ValueError(f"{given.data}: give --target: which column is to be predicted?")
    check_target(given, data)
    return data


def check_target(given: Given, data: Data) -> None:
    if not KINDS[given.loss].classify and np.asarray(data.y).dtype.kind not in "fiub":
        raise ValueError(f"{given.data}: the target holds text: --loss logistic tells classes")


def note_source(model: Any, data: Data) -> None:
    """What the model has to know of the file, to read others like it."""
    if data.feature_names is not None:
        model.feature_names_in_ = np.array(data.feature_names, dtype=object)
    if data.zero_based is not None:
        model.data_["zero_based"] = bool(data.zero_based)
