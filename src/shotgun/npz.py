"""npz: archives of arrays, of numpy or of scipy.sparse, looked through before they are loaded."""

from __future__ import annotations

import math
import os
import zipfile
from typing import IO, Any

import numpy as np
from scipy.sparse import csc_array, load_npz

from shotgun.compressed import most_bytes
from shotgun.io import Array, Data, Source
from shotgun.problem import is_sparse, sound
from shotgun.vectors import split_off

_VECTORS = ("y", "weights", "offset", "feature_names")  # of an archive


def read(source: Source) -> Data:
    """A, and the vectors that the archive has beside it."""
    with source.seekable() as file, source.blamed():
        size = _check_archive(source, file)
        archive = np.load(file, allow_pickle=False)
        if isinstance(archive, np.ndarray):
            raise ValueError("holds one array, not an archive of them")
        saved = "format" in archive.files  # by scipy.sparse.save_npz
        arrays = {name: archive[name] for name in archive.files if not saved or name in _VECTORS}
        if saved:
            file.seek(0)
            A = load_npz(file)
        elif "indptr" in arrays:
            parts = (arrays["data"], arrays["indices"], arrays["indptr"])
            A = csc_array(parts, shape=tuple(arrays["shape"]))
        else:
            A = arrays.get("A", arrays.get("X"))
            if A is None or A.ndim != 2:
                raise ValueError("holds neither a matrix A or X nor a sparse matrix")
        source.check_claim(8 * sum(A.shape), size)  # before it is turned into columns
        A, vectors = split_off(source, sound(A), arrays)
        names = arrays.get("feature_names")
        return Data(A, **vectors, feature_names=None if names is None else names.tolist())


def _check_archive(source: Source, file: IO[bytes]) -> int:
    """Before anything is allocated: the arrays of an archive are as large as they say. Its size."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    if not zipfile.is_zipfile(file):  # numpy will say what it is instead
        file.seek(0)
        return size
    with zipfile.ZipFile(file) as archive:
        entries = archive.infolist()
        source.check_claim(sum(entry.file_size for entry in entries), size)
        for entry in entries:
            with archive.open(entry) as array:
                if entry.file_size != sum(_npy_sizes(array)):
                    raise ValueError(f"{entry.filename}: not of the size that it claims")
    file.seek(0)
    return size


def _npy_sizes(file: IO[bytes]) -> tuple[int, int]:
    """The bytes of the header of an array, and of what follows."""
    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise ValueError("an array of a version that is not read here")
    of_version = (np.lib.format.read_array_header_1_0, np.lib.format.read_array_header_2_0)
    shape, _, dtype = of_version[version[0] - 1](file)
    if dtype.hasobject:
        raise ValueError("pickles are not read: they may run any code")
    if not dtype.itemsize:
        raise ValueError(f"must hold numbers or texts, not {dtype}, of which any takes no room")
    return file.tell(), math.prod(shape) * dtype.itemsize


def write(file: IO[bytes], data: Data) -> None:
    """An archive of A, or of its parts if it is sparse, and of the vectors that there are."""
    arrays: dict[str, Any] = {}
    if is_sparse(data.A):
        A = sound(data.A).tocsc()
        arrays |= {"data": A.data, "indices": A.indices, "indptr": A.indptr, "shape": A.shape}
    else:
        arrays["A"] = data.A
    for name in _VECTORS:
        value = getattr(data, name)
        if value is not None:
            arrays[name] = _plain(name, value)
    np.savez_compressed(file, **arrays)


def _plain(name: str, values: Any) -> Array:
    """As an array of no objects, in which every text takes as much as the longest one."""
    array = np.asarray(values, dtype=object if isinstance(values, list) else None)
    if array.dtype.kind != "O":
        return array
    lengths = [len(str(value)) for value in array]
    size = 4 * len(lengths) * max(lengths, default=0)
    if size > most_bytes(sum(lengths), None):
        raise ValueError(f"{name}: {max(lengths)} letters are too many for npz: write parquet")
    return array.astype(str)
