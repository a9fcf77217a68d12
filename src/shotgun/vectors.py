"""y, weights and offset of a matrix: arrays beside it, columns of it, or files of their own."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from shotgun import market
from shotgun.compressed import OPENERS
from shotgun.io import Name, Source
from shotgun.problem import is_sparse


def split_off(source: Source, A: Any, arrays: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """A in the type that is wanted, without the columns that are y, weights and offset; and those:
    arrays of the archive, columns of A, or files of their own."""
    if A.dtype.kind not in "fiub":
        raise ValueError(f"A must hold real numbers, not {A.dtype}")
    A = A.astype(source.dtype, copy=False)
    wanted = {"y": source.target, "weights": source.weights, "offset": source.offset}
    taken = [j for j in wanted.values() if isinstance(j, int)]
    for j in taken:
        if not -A.shape[1] <= j < A.shape[1]:
            raise ValueError(f"no column {j}: there are {A.shape[1]}")
    columns = A.tocsc() if is_sparse(A) and (taken or A.format not in ("csc", "csr")) else A
    vectors = {
        name: _vector(source, arrays.get(name), arrays, columns, where)
        for name, where in wanted.items()
    }
    if taken:
        columns = columns[:, np.setdiff1d(np.arange(A.shape[1]), np.arange(A.shape[1])[taken])]
    return columns if is_sparse(A) else np.asfortranarray(columns), vectors


def _vector(
    source: Source, default: Any, arrays: dict[str, Any], A: Any, where: Name | int | None
) -> Any:
    if where is None:
        return default
    if isinstance(where, int):
        column = A[:, [where]]
        return (column.toarray() if is_sparse(column) else column).ravel().astype(np.float64)
    if os.fspath(where) in arrays:
        return arrays[os.fspath(where)]
    if not os.path.isfile(where):
        there = f" (there are {', '.join(arrays)})" if arrays else ""
        raise ValueError(f"{os.fspath(where)!r} is neither an array in it{there} nor a file")
    return _read_vector(replace(source, path=os.fspath(where)))


def _read_vector(source: Source) -> Any:
    """An array of numpy; or one number a line or a Matrix Market vector, perhaps compressed."""
    path = Path(source.path)
    with source.blamed():
        if path.suffix == ".npy":  # mapped: one that claims more than there is, is refused
            values = np.load(path, mmap_mode="r", allow_pickle=False)
            if not values.dtype.itemsize:  # of which any number takes no room in the file
                raise ValueError(f"must hold numbers or texts, not {values.dtype}")
            return np.array(values).ravel()
        content = source.load()
        text = path.with_suffix("") if path.suffix.lower() in OPENERS else path
        if text.suffix != ".mtx":
            return np.loadtxt(BytesIO(content), ndmin=1, dtype=np.float64)
        values = market.read(BytesIO(content))
        source.check_claim(8 * math.prod(values.shape), source.size(content))
        return (values.toarray() if is_sparse(values) else values).ravel()
