"""Any bytes as npz, Matrix Market, CSV or TSV, or as the target of a matrix: refused by an error
that names the file, or sound.

    python tests/fuzz/readers.py -max_total_time=600 FOLDER tests/fuzz/corpus/readers

The first byte tells the format. First come all the changes of one value in good files, then the
fuzzer's own.
"""

from __future__ import annotations

import io
import random
import re
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Iterator
from inspect import isfunction
from pathlib import Path

import atheris
import numpy as np
from model import tried

from shotgun import compressed, market, npz, problem, tables, vectors
from shotgun import io as formats
from shotgun.problem import is_sparse, sound

SUFFIXES = ["npz", "mtx", "csv", "tsv", "y.npy", "y.mtx", "y.txt"]
MANY = 1 << 20  # bytes that a file may become
WORDS = ["", "-1", "0", "1.5", "1e400", "nan", "inf", "99999999999999999999", "x", '"', "\0", "%"]
SHAPES = [(), (0,), (-1,), (3,), (2**40,), (2**62, 4), (True,), (1, 2, 3)]
TYPES = ["<f8", ">f8", "<i4", "<u8", "|O", "|V8", "<U0", "<U1", "|b1", "<c16", "<M8[s]"]
NUMBERS = [-1, 0, 1, 2, 7, 2**31 - 1, 2**31, -(2**63), 2**63 - 1]
FOLDER = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))

MATRIX = FOLDER / "beside.npz"
np.savez(MATRIX, A=np.ones((3, 2)))


def look(content: bytes) -> None:
    """What the reader makes of it."""
    if not content:
        return
    path = FOLDER / f"a.{SUFFIXES[content[0] % len(SUFFIXES)]}"
    path.write_bytes(content[1:])
    target = None
    if ".y." in path.name:
        path, target = MATRIX, path
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            data = formats.read(path, target, max_bytes=MANY, n_threads=1)
    except ValueError as error:
        if str(error).startswith(str(path)):
            return
        raise
    assert data.A.ndim == 2
    assert data.A.dtype == np.float64
    if is_sparse(data.A):
        sound(data.A)
        assert abs(data.A).sum() >= 0 or not np.isfinite(data.A.data).all()
    if np.prod(data.A.shape) < 1000:
        again = FOLDER / "again.npz"
        formats.write(again, data)
        assert formats.read(again).A.shape == data.A.shape


def neighbours(content: bytes) -> Iterator[bytes]:
    """The files that differ from this one in one value."""
    if SUFFIXES[content[0]] == "y.npy":
        yield from (content[:1] + other for other in other_arrays(content[1:]))
        return
    if SUFFIXES[content[0]] == "npz":
        arrays = unpacked(content[1:])
        for name, array in arrays.items():
            yield content[:1] + packed({k: v for k, v in arrays.items() if k != name})
            for other in other_arrays(array):
                yield content[:1] + packed(arrays | {name: other})
        return
    words = re.split(rb"([\s,]+)", content[1:])
    for k in range(len(words)):
        for word in WORDS:
            yield content[:1] + b"".join([*words[:k], word.encode(), *words[k + 1 :]])


def other_arrays(array: bytes) -> Iterator[bytes]:
    """An array with another header, or another number in it."""
    values = np.load(io.BytesIO(array), allow_pickle=False)
    raw = values.tobytes()
    for shape in SHAPES:
        yield npy(shape, values.dtype.str, raw)
    for kind in TYPES:
        yield npy(values.shape, kind, raw)
    yield from (npy(values.shape, values.dtype.str, part) for part in (raw[:-1], raw + b"\0", b""))
    if values.dtype.kind not in "if":
        return
    for k in range(values.size):
        for number in NUMBERS:
            other = values.astype(np.float64 if values.dtype.kind == "f" else np.int64)
            other.flat[k] = number
            yield npy(values.shape, other.dtype.str, other.tobytes())


def npy(shape: tuple[int, ...], kind: str, raw: bytes) -> bytes:
    buffer = io.BytesIO()
    header = {"descr": kind, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(buffer, header)
    return buffer.getvalue() + raw


def unpacked(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(arrays: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            archive.writestr(zipfile.ZipInfo(name), array)
    return buffer.getvalue()


def mutate(content: bytes, most: int, seed: int) -> bytes:
    """Another file: of an archive, most of the time, another array."""
    rng = random.Random(seed)
    if content and SUFFIXES[content[0] % len(SUFFIXES)] == "npz" and rng.random() < 0.8:
        try:
            arrays = unpacked(content[1:])
            name = rng.choice(list(arrays))
            arrays[name] = atheris.Mutate(arrays[name], len(arrays[name]) + 8)
            return (content[:1] + packed(arrays))[:most]
        except Exception:  # of whatever kind a broken archive raises: its bytes are changed
            pass
    return bytes(atheris.Mutate(content, most))


if __name__ == "__main__":
    for module in (formats, compressed, market, npz, problem, tables, vectors):
        for function in filter(isfunction, list(vars(module).values())):
            if function.__module__ == module.__name__:
                atheris.instrument_func(function)
    tried(look, neighbours, Path(__file__).parent / "corpus/readers")
    atheris.Setup(sys.argv, look, custom_mutator=lambda *args: mutate(bytes(args[0]), *args[1:]))
    atheris.Fuzz()
