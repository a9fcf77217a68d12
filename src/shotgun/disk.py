"""A matrix on disk, larger than memory if need be: whole columns in tiles, as numpy's own files.

::

    matrix/
      meta.json               shape, dtype, version, the tiles, checksums
      y.npy, names.json       where there are targets and names of features
      tiles/00000/data.npy    the values (absent where all are one)
                  indices.npy the rows, int32
                  indptr.npy  where each column begins, int64

Fits read it as they read compressed columns in memory, to the same bits: scans from one end to the
other, and of the columns that matter those alone.
"""

from __future__ import annotations

import errno
import fcntl
import glob
import json
import os
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

import shotgun._core as _core
from shotgun.compressed import most_bytes, too_large
from shotgun.problem import Elsewhere, canonical, check_count, check_vector, float_dtype

Array: TypeAlias = npt.NDArray[Any]
Name: TypeAlias = "str | os.PathLike[str]"

FORMAT, VERSION = "shotgun matrix", 1
TILE = 128 << 20  # bytes of a tile
_DTYPES: dict[str, np.dtype[Any]] = {
    "float64": np.dtype(np.float64),
    "float32": np.dtype(np.float32),
}
_MOST = np.iinfo(np.int32).max
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # why there is no room for more


@dataclass(frozen=True, eq=False)
class Tile:
    """Columns [first, last), in a folder of their own."""

    folder: Path
    first: int
    last: int
    nnz: int
    checksums: dict[str, int]  # of data (unless all are one), indices and indptr

    @property
    def binary(self) -> bool:
        return "data" not in self.checksums

    def file(self, name: str) -> str:
        return str(self.folder / f"{name}.npy")

    def array(self, name: str, dtype: npt.DTypeLike, size: int) -> Array:
        """One of its arrays, mapped; its header is held against what the tile says."""
        return _mapped(self.file(name), dtype, size)

    def verify(self, dtype: np.dtype[Any]) -> None:
        """Read its entries, and raise ValueError where they are not what was written."""
        names = {"indices": np.dtype(np.int32)} | ({} if self.binary else {"data": dtype})
        for name, kind in names.items():
            _verify(self.file(name), self.array(name, kind, self.nnz), self.checksums[name])

    def starts(self) -> Array:
        """Where its columns begin."""
        starts = np.array(self.array("indptr", np.int64, self.last - self.first + 1))
        _verify(self.file("indptr"), starts, self.checksums["indptr"])
        ascend = (starts[:-1] <= starts[1:]).all()  # differences might overflow
        if starts[0] != 0 or starts[-1] != self.nnz or not ascend:
            raise ValueError(f"{self.file('indptr')}: not the starts of {self.nnz} entries")
        return starts


@dataclass(frozen=True, eq=False)
class Matrix(Elsewhere):
    """A matrix on disk: what `shotgun.solve`, `path` and the estimators take in place of A.

    Attributes
    ----------
    path : Path
    shape : (n, d)
    dtype : float32 or float64
    nnz : int
    y : ndarray of shape (n,), or None
    feature_names : list of str, or None

    Examples
    --------
    >>> import numpy as np, shotgun, tempfile
    >>> from pathlib import Path
    >>> A, y = np.eye(3), np.array([3.0, -2.0, 0.5])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     matrix = shotgun.disk.write(A, Path(folder) / "matrix", y)
    ...     shotgun.solve(matrix, matrix.y, lam=1.0).x.tolist()
    [2.0, -1.0, 0.0]
    >>> matrix.shape, matrix.nnz
    ((3, 3), 3)
    """

    path: Path
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    tiles: tuple[Tile, ...] = field(repr=False)
    y: Array | None = field(repr=False)
    feature_names: list[str] | None = field(repr=False)
    vectors: dict[str, int] = field(default_factory=dict, repr=False)  # checksums
    _sound: set[Tile] = field(default_factory=set, repr=False)  # found to be what was written
    dense = False

    def __post_init__(self) -> None:
        self.starts  # noqa: B018 (what is wrong with them is said at once)

    @property
    def nnz(self) -> int:  # type: ignore[override]
        return int(self.starts[-1])

    @property
    def checksums(self) -> Array:  # type: ignore[override]
        sums = [tile.checksums[name] for tile in self.tiles for name in sorted(tile.checksums)]
        return np.array(sums, dtype=np.uint64)

    @cached_property
    def starts(self) -> Array:
        """Where every column begins among all entries, and where the last one ends."""
        starts, before = [np.zeros(1, np.int64)], 0
        for tile in self.tiles:
            starts.append(before + tile.starts()[1:])
            before += tile.nnz
        return np.concatenate(starts)

    def design(self) -> _core.Design:
        """What the core reads."""
        tiles = [
            (
                tile.first,
                None if tile.binary else tile.file("data"),
                0 if tile.binary else _offset(tile.file("data"), self.dtype, tile.nnz),
                tile.checksums.get("data", 0),
                tile.file("indices"),
                _offset(tile.file("indices"), np.int32, tile.nnz),
                tile.checksums["indices"],
            )
            for tile in self.tiles
        ]
        made = _core.disk32 if self.dtype == np.float32 else _core.disk64
        return made(tiles, self.starts, self.shape[0])

    def columns(self, which: Any) -> sp.csc_array:
        """Some of the columns, in memory."""
        which = np.arange(self.shape[1])[which]
        parts = [
            tile_columns(self, tile, which[(tile.first <= which) & (which < tile.last)])
            for tile in self.tiles
        ]
        if not which.size:
            return sp.csc_array((self.shape[0], 0), dtype=self.dtype)
        gathered = sp.csc_array(sp.hstack([part for part in parts if part is not None]))
        if (np.diff(which) > 0).all():
            return gathered
        return gathered[:, np.argsort(np.argsort(which, kind="stable"), kind="stable")]

    def spans(self) -> list[slice]:
        """Tile by tile."""
        return [slice(tile.first, tile.last) for tile in self.tiles]

    def verify(self) -> None:
        """Read everything, and raise ValueError where it is not what was written."""
        for tile in self.tiles:
            tile.starts()
            tile.verify(self.dtype)
        for name, expected in self.vectors.items():
            file, size = str(self.path / f"{name}.npy"), self.shape[0 if name == "y" else 1]
            _verify(file, _mapped(file, np.float64, size), expected)
        self.trust()

    def trust(self) -> None:
        """All tiles have just been read, by others too, and were what was written."""
        self._sound.update(self.tiles)

    def check(self, tile: Tile) -> None:
        """Read a tile whole before any of it is used here, once; the core does so by itself."""
        if tile not in self._sound:
            tile.verify(self.dtype)
            self._sound.add(tile)


def tile_columns(matrix: Matrix, tile: Tile, which: Array) -> sp.csc_array | None:
    """Those of a tile's columns, in order."""
    if not which.size:
        return None
    matrix.check(tile)
    which = np.sort(which) - tile.first
    starts = matrix.starts[tile.first : tile.last + 1] - matrix.starts[tile.first]
    sizes = starts[which + 1] - starts[which]
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    entries: Any = slice(None)
    if not np.array_equal(which, np.arange(tile.last - tile.first)):
        entries = np.repeat(starts[which] - indptr[:-1], sizes) + np.arange(indptr[-1])
    indices = tile.array("indices", np.int32, tile.nnz)[entries]
    if indices.size and not 0 <= indices.min() <= indices.max() < matrix.shape[0]:
        raise ValueError(f"{tile.file('indices')} is damaged: there is no such row")
    if tile.binary:
        data: Array = np.ones(indptr[-1], matrix.dtype)
    else:
        data = tile.array("data", matrix.dtype, tile.nnz)[entries]
    return sp.csc_array((data, indices, indptr), shape=(matrix.shape[0], len(which)))


def open(path: Name, max_bytes: int | None = None) -> Matrix:
    """The matrix in a folder that `write` or `shotgun convert` made.

    A vector of its rows or columns may take `max_bytes`: unless given, the more of 256 MB and 100
    times what its tiles do. It is refused beyond that, as a few bytes can claim any shape.

    Examples
    --------
    >>> import numpy as np, shotgun, tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = shotgun.disk.write(np.eye(3), Path(folder) / "matrix", y=[3.0, -2.0, 0.5])
    ...     matrix = shotgun.disk.open(Path(folder) / "matrix")
    >>> matrix.shape, matrix.y.tolist()
    ((3, 3), [3.0, -2.0, 0.5])
    """
    folder = Path(path)
    meta = _meta(folder / "meta.json")
    for k in range(len(meta["tiles"])):
        for inside in (folder / "tiles", folder / "tiles" / f"{k:05d}"):
            if inside.is_symlink():
                raise ValueError(f"{inside}: a link leads out of the matrix")
    tiles = tuple(
        Tile(folder / "tiles" / f"{k:05d}", first, last, tile["nnz"], tile["checksums"])
        for k, tile in enumerate(meta["tiles"])
        for first, last in [tile["columns"]]
    )
    shape, sums = (meta["shape"][0], meta["shape"][1]), meta["checksums"]
    _check_claim(folder, shape, tiles, "y" in sums, max_bytes)
    y = None
    if "y" in sums:
        y = np.array(_mapped(str(folder / "y.npy"), np.float64, shape[0]))
        _verify(str(folder / "y.npy"), y, sums["y"])
    names = _names(folder / "names.json", shape[1], sums.pop("names", None))
    return Matrix(folder, shape, _DTYPES[meta["dtype"]], tiles, y, names, sums)


def _check_claim(
    folder: Path, shape: tuple[int, int], tiles: tuple[Tile, ...], has_y: bool, given: int | None
) -> None:
    """Before anything is allocated for so many rows: could they be in files of this size?"""
    files = [tile.file(name) for tile in tiles for name in tile.checksums]
    files += [str(folder / "y.npy")] if has_y else []
    most = most_bytes(sum(os.lstat(file).st_size for file in files), given)
    if 8 * max(shape) > most:
        raise ValueError(f"{folder}: {too_large(8 * max(shape), most)}")


def _names(file: Path, d: int, expected: int | None) -> list[str] | None:
    """Those of the features, if there are any."""
    if expected is None and not file.exists():
        return None
    names = _loaded(file)
    texts = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if not texts or len(names) != d:
        raise ValueError(f"{file}: not the names of {d} features")
    if expected is not None:
        _verify(str(file), codes(names), expected)
    found: list[str] = names
    return found


def codes(names: list[str]) -> Array:
    """Names as numbers, for a checksum."""
    return np.frombuffer(json.dumps(names).encode(), np.uint8).astype(np.int32)


def _meta(file: Path) -> dict[str, Any]:
    try:
        meta = _loaded(file)
    except FileNotFoundError:
        what = f"{file.parent}: not a matrix on disk: it has no {file.name}"
        raise FileNotFoundError(what) from None
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise ValueError(f"{file}: not a matrix on disk")
    if meta.get("version") != VERSION:
        raise ValueError(f"{file}: version {meta.get('version')!r}; this reads {VERSION}")
    try:
        _check_meta(meta)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{file}: {error!r}") from None
    return meta


def _loaded(file: Path) -> Any:
    try:
        return json.loads(_regular(file).read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file}: not a matrix on disk: {error}") from None


def _regular(file: Path) -> Path:
    """A file that is what it seems: no link to one elsewhere, and nothing that never ends."""
    if not stat.S_ISREG(file.lstat().st_mode):
        raise ValueError(f"{file}: neither a link nor anything else but a plain file is read")
    return file


def _check_meta(meta: dict[str, Any]) -> None:
    n, d = (check_count("shape", size, most=_MOST) for size in meta["shape"])
    if meta["dtype"] not in _DTYPES:
        raise ValueError(f"dtype {meta['dtype']!r}")
    # norms and means are the columns', which nothing needs: older folders have them
    _check_sums(meta["checksums"], set(), {"y", "norms", "means", "names"})
    before = 0
    for tile in meta["tiles"]:
        first, last = (check_count("columns", j, least=0, most=d) for j in tile["columns"])
        if first != before or last <= first:
            raise ValueError(f"a tile of columns {first} to {last} after column {before}")
        check_count("nnz", tile["nnz"], least=0, most=n * (last - first))
        _check_sums(tile["checksums"], {"indices", "indptr"}, {"data"})
        before = last
    if before != d:
        raise ValueError(f"tiles of {before} columns for a matrix of {d}")


def _check_sums(sums: dict[str, Any], needed: set[str], allowed: set[str]) -> None:
    if not needed <= set(sums) <= needed | allowed:
        raise ValueError(f"checksums of {sorted(sums)}")
    for name, value in sums.items():
        check_count(name, value, least=0, most=2**64 - 1)


def _mapped(file: str, dtype: npt.DTypeLike, size: int) -> Array:
    """An array in a file of numpy's, which must be as large as it has to be."""
    offset = _offset(file, dtype, size)
    if not size:
        return np.zeros(0, dtype)
    return np.memmap(file, dtype, "r", offset, (size,))


def _offset(file: str, dtype: npt.DTypeLike, size: int) -> int:
    """Where the numbers begin, after numpy's header."""
    with _regular(Path(file)).open("rb") as opened:
        try:
            version = np.lib.format.read_magic(opened)
            header = np.lib.format.read_array_header_1_0(opened) if version == (1, 0) else None
        except Exception as error:  # of whatever kind numpy's parser of a hostile header raises
            raise ValueError(f"{file}: {error}") from None
        found = None if header is None else (header[0], header[2])
        if found != ((size,), np.dtype(dtype)):
            raise ValueError(f"{file}: not {size} numbers of type {np.dtype(dtype)}")
        offset = opened.tell()
        if os.fstat(opened.fileno()).st_size != offset + size * np.dtype(dtype).itemsize:
            raise ValueError(f"{file} is damaged: it does not end where it should")
    return offset


def _verify(file: str, numbers: Array, expected: int) -> None:
    if checksum(numbers) != expected:
        raise ValueError(f"{file} is damaged: it does not hold what was written")


def checksum(numbers: Array) -> int:
    """Of an array of int32, int64, float32 or float64; read in pieces."""
    step = 1 << 20
    parts = range(0, len(numbers), step)
    sums = (_core.checksum(np.ascontiguousarray(numbers[at : at + step]), at) for at in parts)
    return sum(sums) % 2**64


def write(
    A: Any,
    path: Name,
    y: Any = None,
    *,
    feature_names: list[str] | None = None,
    tile_bytes: int = TILE,
) -> Matrix:
    """Write a matrix (dense or sparse, in memory) to the folder `path`, which must not exist.

    It appears whole or not at all.

    Examples
    --------
    >>> import numpy as np, shotgun, tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     matrix = shotgun.disk.write(np.eye(3), Path(folder) / "matrix")
    ...     shotgun.lambda_max(matrix, [3.0, -2.0, 0.5])
    3.0
    """
    A = sp.csc_array(canonical(A))
    for size in A.shape:
        check_count("A.shape", size, most=_MOST)
    A = A.astype(float_dtype(A.dtype), copy=False)
    with writing(path) as writer:
        for first, last in tile_bounds(np.diff(A.indptr), A.dtype.itemsize + 4, tile_bytes):
            span = slice(A.indptr[first], A.indptr[last])
            starts = A.indptr[first : last + 1].astype(np.int64) - A.indptr[first]
            writer.tile(first, A.data[span], A.indices[span].astype(np.int32), starts)
        writer.finish(A.shape, A.dtype, y, feature_names)
    return open(path, max_bytes=sys.maxsize)  # which has been here


def tile_bounds(sizes: Array, entry_bytes: int, tile_bytes: int) -> list[tuple[int, int]]:
    """Runs of columns, each as many as a tile holds, and one column at least."""
    ends = np.cumsum(sizes.astype(np.int64) * entry_bytes + 8)
    bounds, first, before = [], 0, 0
    while first < len(sizes):
        last = max(first + 1, int(np.searchsorted(ends, before + tile_bytes, side="right")))
        bounds.append((first, last))
        first, before = last, int(ends[last - 1])
    return bounds


@dataclass
class Writer:
    """Writes a matrix into a folder that is not yet where it will be."""

    folder: Path
    tiles: dict[int, dict[str, Any]] = field(default_factory=dict)  # by first column

    def tile(self, first: int, data: Array, indices: Array, starts: Array) -> None:
        """Columns from `first` on; the rows of each ascending."""
        folder = self.folder / f"at{first}"
        folder.mkdir()
        if not np.isfinite(data).all():
            j = first + int(np.searchsorted(starts, np.flatnonzero(~np.isfinite(data))[0], "right"))
            raise ValueError(f"A contains NaN or infinity, first seen in column {j - 1}")
        arrays = {"data": data, "indices": indices, "indptr": starts}
        if (data == 1).all():
            del arrays["data"]
        for name, array in arrays.items():
            save(folder / f"{name}.npy", array)
        sums = {name: checksum(array) for name, array in arrays.items()}
        span = [first, first + len(starts) - 1]
        self.tiles[first] = {"columns": span, "nnz": len(indices), "checksums": sums}

    def finish(
        self, shape: tuple[int, int], dtype: Any, y: Any, feature_names: list[str] | None
    ) -> None:
        """The tiles under their names, and what is known of the whole."""
        (self.folder / "tiles").mkdir()
        order = sorted(self.tiles)
        for k, first in enumerate(order):
            (self.folder / f"at{first}").rename(self.folder / "tiles" / f"{k:05d}")
        sums = {}
        if y is not None:
            vector = check_vector("y", y, shape[0])
            save(self.folder / "y.npy", vector)
            sums["y"] = checksum(vector)
        if feature_names is not None:
            if len(feature_names) != shape[1]:
                raise ValueError(f"{len(feature_names)} feature names for {shape[1]} features")
            names = list(map(str, feature_names))
            sums["names"] = checksum(codes(names))
            save_text(self.folder / "names.json", json.dumps(names))
        meta = {
            "format": FORMAT,
            "version": VERSION,
            "shape": list(map(int, shape)),
            "dtype": np.dtype(dtype).name,
            "checksums": sums,
            "tiles": [self.tiles[first] for first in order],
        }
        save_text(self.folder / "meta.json", json.dumps(meta, indent=1))


@contextmanager
def writing(path: Name) -> Iterator[Writer]:
    """A folder beside the one to be, which becomes that one where nothing went wrong."""
    target = Path(path)
    if target.exists():
        raise FileExistsError(f"{target}: exists already")
    for left in target.parent.glob(f"{glob.escape(target.name)}.*.part"):
        _remove_if_left(left)
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    part.mkdir(parents=True)
    lock = _lock(part)
    try:
        yield Writer(part)
        rename(part, target)
    finally:
        shutil.rmtree(part, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _remove_if_left(part: Path) -> None:
    """A folder of a process that was killed; one that is at work holds its lock."""
    ours = part.is_dir() and not part.is_symlink() and part.name.split(".")[-2].isdecimal()
    lock = _lock(part) if ours else None
    if lock is not None:
        shutil.rmtree(part, ignore_errors=True)
        os.close(lock)


def _lock(folder: Path) -> int | None:
    """A descriptor by which a process holds a folder as long as it lives; None: another does."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def save(file: Path, array: Array) -> None:
    """np.save; what goes wrong has the file's name."""
    with _naming(file):
        np.save(file, array)


def save_text(file: Path, text: str) -> None:
    with _naming(file):
        file.write_text(text, "utf-8")


def rename(part: Path, target: Path) -> None:
    """A folder under its final name, once all that is in it is on the disk: a machine that fails
    leaves it whole, or not at all."""
    for where, _, names in os.walk(part):
        for name in (*names, "."):
            _flush(Path(where, name))
    os.rename(part, target)
    _flush(target.parent)


def _flush(file: Path) -> None:
    with _naming(file):
        descriptor = os.open(file, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def _naming(file: Path) -> Iterator[None]:
    """Errors of writing a file; of one that does not fit numpy tells neither name nor reason."""
    try:
        yield
    except OSError as error:
        number, reason = error.errno or errno.ENOSPC, error.strerror or error
        full = ", is the disk full?" if number in FULL else ""
        raise OSError(number, f"cannot be written{full} ({reason})", str(file)) from error
