"""Matrix Market: matrices as text."""

from __future__ import annotations

import os
from io import BytesIO
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def read(content: BytesIO) -> Any:
    """The matrix. Its body is read by numpy: scipy's reader crashes where lines are not as it
    expects them. Nothing is allocated before it is known that what is announced can be there."""
    from scipy.io import mminfo

    rows, columns, entries, kind, field, symmetry = mminfo(content)
    if not rows or not columns:
        raise ValueError(f"no data: {rows} samples of {columns} features")
    if field == "complex" or symmetry == "hermitian":
        raise ValueError("A must hold real numbers, not complex ones")
    if symmetry != "general" and rows != columns:
        raise ValueError(f"{symmetry}, but {rows} x {columns}")
    stored = entries if symmetry == "general" else entries // 2 - rows
    least = 2 if kind == "array" else 4  # bytes of an entry and what separates it from the next
    size = content.seek(0, os.SEEK_END)
    if stored * least > size + 1:
        raise ValueError(f"announces {entries} entries, which {size} bytes cannot hold")
    content.seek(0)
    while (line := content.readline()).startswith(b"%") or not line.strip():
        pass  # up to the sizes
    if kind == "array":
        return _array(content, (rows, columns), symmetry)
    return _entries(content, (rows, columns), entries, field == "pattern", symmetry)


def _array(content: BytesIO, shape: tuple[int, int], symmetry: str) -> Array:
    values = np.array(content.read().split(), dtype=np.float64)
    if symmetry == "general":
        return values.reshape(shape, order="F")
    skew = symmetry == "skew-symmetric"
    columns, rows = np.triu_indices(shape[1], k=int(skew))  # the lower triangle, by columns
    A = np.zeros(shape)
    A[rows, columns] = values
    A[columns, rows] = -values if skew else values
    return A


def _entries(
    content: BytesIO, shape: tuple[int, int], entries: int, pattern: bool, symmetry: str
) -> Any:
    from scipy.sparse import coo_array

    width = 2 if pattern else 3
    table = np.loadtxt(content, ndmin=2, comments="%") if entries else np.empty((0, width))
    if table.shape != (entries, width):
        raise ValueError(
            f"{table.shape[0]} lines of {table.shape[1]} numbers for {entries} entries"
        )
    where, values = table[:, :2] - 1, np.ones(entries) if pattern else table[:, 2]
    inside = (where >= 0) & (where < shape) & (where == np.floor(where))
    if not inside.all():
        bad = where[np.argmin(inside.all(axis=1))] + 1
        raise ValueError(f"no place ({bad[0]:g}, {bad[1]:g}) in {shape[0]} x {shape[1]}")
    rows, columns = where.T.astype(np.int64)
    if symmetry != "general":
        below = rows != columns
        mirrored = -values if symmetry == "skew-symmetric" else values
        rows, columns, values = (
            np.concatenate([rows, columns[below]]),
            np.concatenate([columns, rows[below]]),
            np.concatenate([values, mirrored[below]]),
        )
    return coo_array((values, (rows, columns)), shape=shape)
