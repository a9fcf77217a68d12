"""svmlight: a label and index:value of a sample on each line. The core reads it, in parallel."""

from __future__ import annotations

import os
from typing import IO

import numpy as np

import shotgun._core as _core
from shotgun.io import Data, Source
from shotgun.problem import Columns, sound


def read(source: Source) -> Data:
    """A as columns, and the labels."""
    options = _core.SvmlightOptions()
    options.zero_based = source.zero_based
    options.features = source.n_features
    options.threads = source.n_threads
    single = source.dtype == np.float32
    if source.is_plain:
        with open(source.path, "rb") as file:
            before = os.fstat(file.fileno())
            args = (source.name, single, options)
            parts = _core.svmlight_file(file.fileno(), before.st_size, *args)
            after = os.fstat(file.fileno())
        if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
            raise ValueError(f"{source.name}: changed while it was read")
    else:
        parts = _core.svmlight_bytes(source.load(), source.name, single, options)
    if line := parts["qid_line"]:
        source.notes.append(f"line {line}: qid is ignored, here and below")
    shape = (len(parts["y"]), len(parts["starts"]) - 1)
    A = Columns(parts["values"], parts["rows"], parts["starts"], shape)
    return Data(A, parts["y"], weights=parts["weights"], zero_based=parts["zero_based"])


def write(file: IO[bytes], data: Data) -> None:
    """A line for each sample; indices begin with 1."""
    from scipy.sparse import csr_array

    if data.y is None or data.y.dtype.kind not in "fiub":
        raise ValueError("svmlight needs a target of numbers")
    if data.offset is not None:
        raise ValueError("svmlight has no place for an offset")
    A = csr_array(sound(data.A))
    A.sum_duplicates()
    labels = list(map(_plain, data.y.tolist()))
    if data.weights is not None:
        labels = [f"{a}:{_plain(w)}" for a, w in zip(labels, data.weights.tolist(), strict=True)]
    for i, label in enumerate(labels):
        row = slice(A.indptr[i], A.indptr[i + 1])
        entries = zip((A.indices[row] + 1).tolist(), A.data[row].tolist(), strict=True)
        line = " ".join([label, *(f"{j}:{_plain(value)}" for j, value in entries)])
        file.write(line.encode() + b"\n")


def _plain(number: float) -> str:
    """The shortest text that is read as the same number."""
    return repr(float(number)).removesuffix(".0")
