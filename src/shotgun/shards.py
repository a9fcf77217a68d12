"""Row shards, larger than memory together, become a matrix on disk: count, bucket, sort.

Each block of rows that fits into memory is turned into columns and laid aside (a run). The columns
of a tile are then together in every run, one after the other: a tile is read from all of them in
one piece each, and its rows ascend by themselves.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import shotgun._core as _core
from shotgun import disk, io
from shotgun.compressed import open_packed, packed_bytes
from shotgun.problem import Columns, check_count, check_threads, check_vector

MEMORY = 2 << 30  # bytes
_TILE = 64 << 20  # bytes: fewer threads make tiles of so many rather than more of them smaller ones
_MOST = np.iinfo(np.int32).max
# NumPy parses headers by `ast`, which CPython 3.11 cannot do in two threads at once.
_OPENING = threading.Lock()


@dataclass(frozen=True)
class Block:
    """Rows of a file, as columns; `end` is where the next block of the file begins."""

    A: Any
    y: Any
    names: list[str] | None
    end: int | None
    lines: int = 0  # of the file, up to its end; of a table: rows
    read: int | None = None  # bytes so far of a compressed file, of which `end` counts more


@dataclass(frozen=True)
class Run:
    """A block that has been laid aside."""

    folder: Path
    n: int

    @classmethod
    def of(cls, folder: Path) -> Run:
        info = json.loads((folder / "info.json").read_text())
        return cls(folder, info["n"])

    @property
    def d(self) -> int:
        return len(self.array("indptr")) - 1

    @property
    def has_y(self) -> bool:
        return (self.folder / "y.npy").exists()

    def array(self, name: str) -> Any:
        with _OPENING:
            return np.load(self.folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)


def convert(
    sources: Sequence[io.Name],
    path: io.Name,
    *,
    target: Any = None,
    format: str | None = None,
    dtype: Any = np.float64,
    zero_based: bool | None = None,
    max_bytes: int | None = None,
    memory: int = MEMORY,
    n_threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> disk.Matrix:
    """Turn files of rows into a matrix on disk, in bounded memory.

    Parameters
    ----------
    sources : list of paths
        Of any format that :func:`shotgun.io.read` reads, of one number of features. svmlight files
        may be of any size; so may CSV and TSV (with a header, not compressed), Parquet and Arrow
        files (each record batch has to fit into memory) that hold numbers only. A CSV column is
        one of numbers if the beginning of the file says so: a text later on is an error. Of the
        other files each has to fit into memory.
    path : path
        The folder to be made. Beside it, `path`.partial keeps what has been read: after an
        interruption, or where the disk was full, the same call goes on from there.
    target, format, dtype, zero_based, max_bytes, n_threads
        As of :func:`shotgun.io.read`.
    memory : int
        Bytes to be used, about.
    progress : callable, optional
        Called with the number of bytes read so far and of all.

    Returns
    -------
    shotgun.disk.Matrix

    Examples
    --------
    >>> import shotgun, tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = [Path(folder) / f"part-{k}.svm" for k in range(2)]
    ...     for file in files:
    ...         _ = file.write_text("1 1:0.5 3:2\\n-1 2:1\\n")
    ...     matrix = shotgun.shards.convert(files, Path(folder) / "matrix")
    >>> matrix.shape, matrix.y.tolist()
    ((4, 3), [1.0, -1.0, 1.0, -1.0])
    """
    if Path(path).exists():
        raise FileExistsError(f"{path}: exists already")
    threads, memory = check_threads(n_threads), check_count("memory", memory)
    files = [os.fspath(source) for source in sources]
    name = _format(files, format)
    for option, value, where in (("target", target, False), ("zero_based", zero_based, True)):
        if value is not None and (name == "svmlight") is not where:
            raise ValueError(f"{option} does not apply to files of format {name}")
    folder = Path(path).with_name(f"{Path(path).name}.partial")
    job = _Job(folder, files, name, memory)
    how = {"target": target, "format": name, "dtype": io.check_float(dtype).name}
    stated, reading = {"zero_based": zero_based}, {"max_bytes": max_bytes, "n_threads": threads}
    statement = job.begin(how | stated)
    with _telling_what_remains(folder):
        for k, source in enumerate(job.sources):
            for block in job.blocks(k, source, how | reading):
                job.lay_aside(k, block)
                if progress is not None:
                    here = block.read or block.end or job.sizes[k]
                    progress(job.bytes_before(k) + here, sum(job.sizes))
        if job.state(how | stated) != statement:
            raise ValueError("sources: a file changed while it was read")
        made = job.merge(path, np.dtype(dtype), zero_based, threads)
    shutil.rmtree(job.folder)
    return made


@contextmanager
def _telling_what_remains(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in disk.FULL:
            raise
        what = f"{error.strerror}; {folder} keeps what has been read: the same call goes on there"
        raise OSError(error.errno, what, error.filename) from error


def _format(files: list[str], format: str | None) -> str:
    """The one that all files have."""
    formats = sorted({io.format_of(file, format) for file in files})
    if len(formats) != 1:
        raise ValueError(f"sources must be files of one format, not of {formats}")
    if formats == ["disk"]:
        raise ValueError(f"{files[0]}: is a matrix on disk already")
    return formats[0]


class _Job:
    """A conversion, and the folder where it keeps what it has done."""

    def __init__(self, folder: Path, sources: list[str], format: str, memory: int) -> None:
        self.folder, self.sources, self.format, self.memory = folder, sources, format, memory
        self.sizes = [os.stat(source).st_size for source in sources]
        self.runs: list[Run] = []
        self.names: list[str] | None = None

    def state(self, how: dict[str, Any]) -> str:
        """What tells this job, and its files as they are now, from others."""
        stats = [(os.path.abspath(s), os.stat(s)) for s in self.sources]
        stamps = [[name, stat.st_size, stat.st_mtime_ns] for name, stat in stats]
        return json.dumps([stamps, self.memory, how], default=os.fspath)

    def begin(self, how: dict[str, Any]) -> str:
        """Go on where the same job was interrupted, or start afresh."""
        statement = self.state(how)
        note = self.folder / "job.json"
        if not note.exists() and self.folder.exists() and any(self.folder.iterdir()):
            raise FileExistsError(f"{self.folder}: is in the way, and no conversion left it there")
        if not note.exists() or note.read_text() != statement:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir(parents=True)
            disk.save_text(note, statement)
        return statement

    def bytes_before(self, k: int) -> int:
        return sum(self.sizes[:k])

    def blocks(self, k: int, source: str, how: dict[str, Any]) -> Iterator[Block]:
        """Those of file k that have not been laid aside yet."""
        end, lines = 0, 0
        for i in itertools.count():
            folder = self._place(k, i)
            if not folder.exists():
                break
            self.runs.append(Run.of(folder))
            info = json.loads((folder / "info.json").read_text())
            self.names, end, lines = info["names"], info["end"], info["lines"]
            if end is None:
                return
        window = max(1, self.memory // 8)
        if self.format == "svmlight":
            yield from svmlight_blocks(source, end, lines, window, how)
        elif (parts := table_parts(source, lines, window, how)) is not None:
            for data, until in parts:
                lines += data.A.shape[0]
                yield Block(data.A, data.y, data.feature_names, until, lines)
        else:
            data = io.read(source, light=False, **how)
            yield Block(data.A, data.y, data.feature_names, None)

    def _place(self, k: int, i: int) -> Path:
        return self.folder / f"{k:05d}-{i:05d}"

    def lay_aside(self, k: int, block: Block) -> None:
        """The block as columns, in a folder of its own, which appears whole or not at all."""
        import scipy.sparse as sp

        A = sp.csc_array(block.A)
        A.sum_duplicates()
        self._check_like_others(k, A.shape[1], block)
        if block.names is not None and self.names is not None and block.names != self.names:
            raise ValueError(f"{self.sources[k]}: other features than in {self.sources[0]}")
        self.names = block.names
        i = sum(run.folder.name.startswith(f"{k:05d}-") for run in self.runs)
        folder, part = self._place(k, i), self.folder / "part"
        starts = np.asarray(A.indptr, np.int64)
        arrays = {"data": A.data, "indices": A.indices.astype(np.int32), "indptr": starts}
        if block.y is not None:
            arrays["y"] = check_vector(f"{self.sources[k]}: y", block.y, A.shape[0])
        info = {"n": A.shape[0], "names": block.names, "end": block.end, "lines": block.lines}
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        try:
            for name, array in arrays.items():
                disk.save(part / f"{name}.npy", array)
            disk.save_text(part / "info.json", json.dumps(info))
            disk.rename(part, folder)
        finally:
            shutil.rmtree(part, ignore_errors=True)
        self.runs.append(Run.of(folder))

    def _check_like_others(self, k: int, d: int, block: Block) -> None:
        """svmlight alone may have features that were never seen before."""
        if not self.runs:
            return
        if self.format != "svmlight" and d != self.runs[0].d:
            raise ValueError(f"{self.sources[k]}: {d} features, others have {self.runs[0].d}")
        if (block.y is not None) is not self.runs[0].has_y:
            raise ValueError(f"{self.sources[k]}: some files have a target and others have none")

    def merge(
        self, path: io.Name, dtype: np.dtype[Any], zero_based: bool | None, threads: int
    ) -> disk.Matrix:
        """All runs, tile by tile."""
        n, d = sum(run.n for run in self.runs), max((run.d for run in self.runs), default=0)
        sizes = np.zeros(max(d, 1), np.int64)
        for run in self.runs:
            here = np.diff(run.array("indptr"))
            sizes[: len(here)] += here
        skip = self._first_index(sizes, zero_based)
        if not n or d <= skip:
            raise ValueError(f"{', '.join(self.sources)}: no samples, or no features")
        if n > _MOST:
            raise ValueError(f"{n} samples: a matrix on disk has at most {_MOST}")
        threads = max(1, min(threads, self.memory // (8 * _TILE)))
        tile_bytes = min(disk.TILE, self.memory // (8 * threads))
        with disk.writing(path) as writer, ThreadPoolExecutor(threads) as pool:
            bounds = disk.tile_bounds(sizes[skip:], dtype.itemsize + 4, tile_bytes)

            def tile(bound: tuple[int, int]) -> None:
                first, last = bound
                arrays = self._columns(first + skip, last + skip, sizes, dtype)
                writer.tile(first, *arrays)

            list(pool.map(tile, bounds))
            writer.finish((n, d - skip), dtype, self._targets(), self.names)
        return disk.open(path, max_bytes=sys.maxsize)  # all of which has been here

    def _first_index(self, sizes: Any, zero_based: bool | None) -> int:
        """svmlight is read as if its indices began with 0; whether they do is seen only now."""
        if self.format != "svmlight":
            return 0
        if zero_based is False and sizes[0]:
            raise ValueError(f"{self.sources[0]}: an index of 0, though zero_based is False")
        return int(sizes[0] == 0 if zero_based is None else not zero_based)

    def _columns(
        self, first: int, last: int, sizes: Any, dtype: np.dtype[Any]
    ) -> tuple[Any, Any, Any]:
        """Columns [first, last) of all runs, one under the other."""
        starts = np.concatenate([[0], np.cumsum(sizes[first:last])])
        data, indices = np.empty(starts[-1], dtype), np.empty(starts[-1], np.int32)
        free, row = starts[:-1].copy(), 0
        for run in self.runs:
            ends = np.asarray(run.array("indptr")[first : last + 1])
            if len(ends) > 1:
                here = np.diff(ends)
                k = len(here)
                to = np.repeat(free[:k] - (ends[:-1] - ends[0]), here) + np.arange(here.sum())
                data[to] = run.array("data")[ends[0] : ends[-1]]
                indices[to] = run.array("indices")[ends[0] : ends[-1]] + row
                free[:k] += here
            row += run.n
        return data, indices, starts

    def _targets(self) -> Any:
        if not self.runs[0].has_y:
            return None
        return np.concatenate([run.array("y") for run in self.runs])


def svmlight_blocks(
    path: str, begin: int, lines: int, window: int, how: dict[str, Any]
) -> Iterator[Block]:
    """Whole lines of text, about `window` bytes at a time, from byte `begin` on."""
    options = _core.SvmlightOptions()
    options.zero_based, options.threads = True, how["n_threads"]
    with open_packed(path, how["max_bytes"]) as file:
        pass_over(file, begin)
        rest, end, last = b"", begin, False
        while not last:
            text = rest + file.read(window)
            last = len(text) < len(rest) + window
            cut = len(text) if last else text.rfind(b"\n") + 1
            text, rest = text[:cut], text[cut:]
            if not text:
                continue
            single = how["dtype"] == "float32"
            found = _core.svmlight_bytes(
                np.frombuffer(text, np.uint8), path, single, options, lines
            )
            if found["weights"] is not None:
                raise ValueError(f"{path}: a matrix on disk does not keep weights of samples")
            end += len(text)
            lines += text.count(b"\n")
            shape = (len(found["y"]), len(found["starts"]) - 1)
            A = Columns(found["values"], found["rows"], found["starts"], shape).tocsc()
            read = None if last or file.seekable() else packed_bytes(file)
            yield Block(A, found["y"], None, None if last else end, lines, read)


def table_parts(
    path: str, rows: int, window: int, how: dict[str, Any]
) -> Iterator[tuple[io.Data, int | None]] | None:
    """Rows of a table after the first ones, and where they end; None: it has to be read whole."""
    if how["format"] not in ("csv", "tsv", "parquet", "arrow"):
        return None
    from shotgun import tables

    source = io.Source(
        path,
        target=how["target"],
        weights=None,
        offset=None,
        impute=None,
        n_features=None,
        zero_based=None,
        dtype=np.dtype(how["dtype"]),
        n_threads=how["n_threads"],
        max_bytes=how["max_bytes"],
    )
    return tables.read_parts(source, how["format"], window, rows)


def pass_over(file: Any, count: int) -> None:
    """Past the first `count` bytes, of a file that may be compressed."""
    if file.seekable():
        file.seek(count)
        return
    while count > 0:
        count -= len(file.read(min(count, 1 << 20)))
