"""read and write: data from a file of any supported format, and into one.

======== ============================================ ==========================================
format   suffixes                                     target
======== ============================================ ==========================================
svmlight .svm .svmlight .libsvm                       the labels
csv, tsv .csv, .tsv .tab                              a column, by name or position
parquet  .parquet .pq                                 likewise
arrow    .arrow .feather .ipc                         likewise
npz      .npz (of scipy.sparse, or arrays A or X)     the array y, or another by name; a file
mtx      .mtx (Matrix Market)                         a column by position; a file
disk     a folder (see :mod:`shotgun.disk`)           its own
======== ============================================ ==========================================

Text may be compressed: .gz, .xz, .bz2, .zst. Pickles are never read. A file that claims to be, or
unpacks to, more than 256 MB and 100 times its size is refused unless `max_bytes` allows it.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import stat
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np

from shotgun import market
from shotgun.compressed import (
    CHUNK,
    OPENERS,
    create_packed,
    most_bytes,
    open_packed,
    too_large,
)
from shotgun.problem import (
    Columns,
    Elsewhere,
    check_choice,
    check_count,
    check_threads,
    sound,
)

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Name: TypeAlias = "str | os.PathLike[str]"


@dataclass(frozen=True)
class Data:
    """What a file holds.

    Attributes
    ----------
    A : ndarray (Fortran order) or sparse array of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,), or None
        Numbers, or strings where the target is a column of strings.
    feature_names : list of str, or None where the file has none
    weights, offset : ndarray of shape (n_samples,), or None
    zero_based : bool, or None
        Of svmlight: whether its first index is 0. Files that belong together should be read alike:
        one that happens to have no index 0 does not show it.

    Examples
    --------
    >>> import numpy as np, shotgun
    >>> data = shotgun.io.Data(np.eye(2), y=np.array([1.0, 2.0]), feature_names=["age", "height"])
    >>> shotgun.solve(data.A, data.y, lam=0.5).x.tolist()
    [0.5, 1.5]
    """

    A: Any
    y: Array | None = field(default=None, repr=False)
    feature_names: list[str] | None = field(default=None, repr=False)
    weights: Array | None = field(default=None, repr=False)
    offset: Array | None = field(default=None, repr=False)
    zero_based: bool | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        n, d = self.A.shape
        for name in ("y", "weights", "offset"):
            vector = getattr(self, name)
            if vector is not None and np.shape(vector) != (n,):
                raise ValueError(f"{name} must have shape ({n},), not {np.shape(vector)}")
        if self.feature_names is not None and len(self.feature_names) != d:
            raise ValueError(f"{len(self.feature_names)} feature names for {d} features")


@dataclass(frozen=True)
class Source:
    """The file that is read, and how."""

    path: str
    target: Name | int | None
    weights: Name | int | None
    offset: Name | int | None
    impute: str | None
    n_features: int | None
    zero_based: bool | None
    dtype: np.dtype[Any]
    n_threads: int
    max_bytes: int | None = None
    before: int = 0  # rows of a table that have been read already
    notes: list[str] = field(default_factory=list)  # what the user should know

    @property
    def name(self) -> str:
        return "<stdin>" if self.path == "-" else self.path

    @property
    def is_plain(self) -> bool:
        """Whether it is a file whose bytes are the text: neither compressed nor a pipe."""
        if self.path == "-" or Path(self.path).suffix.lower() in OPENERS:
            return False
        return stat.S_ISREG(os.stat(self.path).st_mode)

    def open(self) -> contextlib.AbstractContextManager[IO[bytes]]:
        """The bytes, decompressed."""
        if self.path == "-":
            return contextlib.nullcontext(sys.stdin.buffer)
        file: IO[bytes] = open_packed(self.path, self.max_bytes)
        return file

    def load(self) -> bytearray:
        """All bytes, decompressed."""
        content, chunk = bytearray(), memoryview(bytearray(CHUNK))
        with self.open() as file, self.blamed("cannot be read"):
            while size := file.readinto(chunk):  # type: ignore[attr-defined]
                content += chunk[:size]
        return content

    def seekable(self) -> contextlib.AbstractContextManager[IO[bytes]]:
        """The bytes, which can be read at any position."""
        return BytesIO(self.load()) if self.path == "-" else open(self.path, "rb")

    def size(self, content: bytearray) -> int:
        """Of the file itself, in which the content may be compressed; of a pipe what came."""
        known = self.path != "-" and os.path.isfile(self.path)
        return os.path.getsize(self.path) if known else len(content)

    def check_claim(self, claimed: int, size: int) -> None:
        """Before anything is allocated for them: may a file of that size become so many bytes?"""
        most = most_bytes(size, self.max_bytes)
        if claimed > most:
            raise too_large(claimed, most)

    @contextlib.contextmanager
    def blamed(self, what: str = "") -> Iterator[None]:
        """Errors of the libraries that read for us, with the file's name."""
        try:
            yield
        except (FileNotFoundError, PermissionError, IsADirectoryError, MemoryError):
            raise
        except Exception as error:
            reason = str(error) or type(error).__name__
            raise ValueError(": ".join(filter(None, (self.name, what, reason)))) from error


@dataclass(frozen=True)
class Format:
    """How files of one kind are told, read and written."""

    suffixes: tuple[str, ...]
    read: Callable[[Source], Data]
    write: Callable[[IO[bytes], Data], None] | None = None
    options: tuple[str, ...] = ("target", "weights", "offset")  # of read, besides dtype
    text: bool = True  # may be compressed


def read(
    path: Name,
    target: Name | int | None = None,
    *,
    format: str | None = None,
    weights: Name | int | None = None,
    offset: Name | int | None = None,
    impute: str | None = None,
    n_features: int | None = None,
    zero_based: bool | None = None,
    dtype: Any = np.float64,
    n_threads: int | None = None,
    max_bytes: int | None = None,
    light: bool = False,
) -> Data:
    """Read A, and y if it is there, from a file.

    Parameters
    ----------
    path : str or path
        "-" is the standard input.
    target : str, int or path, optional
        Which column (tables, Matrix Market) or array (npz) is y; for npz and Matrix Market also a
        file that holds it. svmlight has its own.
    format : str, optional
        svmlight, csv, tsv, parquet, arrow, npz, mtx or disk. Told by `path` unless given.
    weights, offset : as `target`, optional
        The weights of the samples and the known part of the linear predictor. Weights of svmlight
        files stand in the lines: `label:weight index:value ...`.
    impute : {"mean", "median", "zero"}, optional
        What replaces missing values of tables. They are refused unless this is given. Where a
        string is missing, no value of that column is set.
    n_features : int, optional
        Of svmlight files: at least as many as the largest index tells.
    zero_based : bool, optional
        Whether the indices of an svmlight file begin with 0; unless given, they do if there is a 0.
    dtype : {float64, float32}
        Of A.
    n_threads : int, optional
        For svmlight.
    max_bytes : int, optional
        What the file may unpack to, or say that it holds; unless given, the more of 256 MB and 100
        times its size. It is refused beyond that: a few bytes can claim more than any memory.
    light : bool
        Of svmlight: leave A as `shotgun.problem.Columns`, which :func:`shotgun.solve` takes, and
        scipy unloaded.

    Returns
    -------
    Data
        With A, y, feature_names, weights and offset. Columns of strings become one column of zeros
        and ones for each of their values, called `column=value`; A is sparse if there are many.

    Examples
    --------
    >>> import shotgun, tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "tiny.svm"
    ...     _ = file.write_text("1 1:0.5 3:2\\n-1 2:1\\n")
    ...     data = shotgun.io.read(file)
    >>> data.A.toarray().tolist(), data.y.tolist()
    ([[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]], [1.0, -1.0])
    """
    source = Source(
        path=os.fspath(path),
        target=target,
        weights=weights,
        offset=offset,
        impute=None if impute is None else check_choice("impute", impute, _IMPUTE),
        n_features=None if n_features is None else check_count("n_features", n_features),
        zero_based=zero_based,
        dtype=check_float(dtype),
        n_threads=check_threads(n_threads),
        max_bytes=None if max_bytes is None else check_count("max_bytes", max_bytes),
    )
    name = format_of(source.path, format)
    for option in ("target", "weights", "offset", "impute", "n_features", "zero_based"):
        if getattr(source, option) is not None and option not in FORMATS[name].options:
            raise ValueError(f"{source.name}: {option} does not apply to files of format {name}")
    data = FORMATS[name].read(source)
    if isinstance(data.A, Columns) and not light:
        data = replace(data, A=data.A.tocsc())
    for note in source.notes:
        warnings.warn(f"{source.name}: {note}", stacklevel=2)
    if 0 in data.A.shape:
        n, d = data.A.shape
        raise ValueError(f"{source.name}: no data: {n} samples of {d} features")
    return data


def write(path: Name, data: Data, *, format: str | None = None) -> None:
    """Write A, y and what else there is as svmlight, npz, csv, tsv or parquet.

    The file appears whole or not at all. Columns of tables are called as the features are, and `y`,
    `weights` and `offset`; svmlight, whose indices begin with 1, keeps no names. In csv and tsv a
    name or text that a spreadsheet would compute (=, +, -, @ and no number) gets an apostrophe
    before it. "-" is the standard output.

    Examples
    --------
    >>> import numpy as np, shotgun, tempfile
    >>> from pathlib import Path
    >>> data = shotgun.io.Data(np.array([[0.5, 2.0]]), y=np.array([3.0]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     shotgun.io.write(Path(folder) / "tiny.svm", data)
    ...     (Path(folder) / "tiny.svm").read_text()
    '3 1:0.5 2:2\\n'
    """
    target = os.fspath(path)
    name = format_of(target, format)
    write_to = FORMATS[name].write
    if write_to is None:
        able = ", ".join(sorted(name for name in FORMATS if FORMATS[name].write))
        raise ValueError(f"{target}: cannot write {name}; formats that can be written: {able}")
    if isinstance(data.A, Elsewhere):
        data = replace(data, A=data.A.to_memory())
    elif isinstance(data.A, Columns):
        data = replace(data, A=data.A.tocsc())
    if target == "-":
        write_to(sys.stdout.buffer, data)
        return
    part = f"{target}.{os.getpid()}.part"
    try:
        with create_packed(part, compressed_as=target) as file:
            write_to(file, data)
        os.replace(part, target)
    finally:
        Path(part).unlink(missing_ok=True)


def format_of(path: str, format: str | None = None) -> str:
    """The format's name: as given, or as the suffix tells."""
    if format is not None:
        return check_choice("format", format, tuple(FORMATS))
    if os.path.isdir(path):
        return "disk"
    if path == "-":
        raise ValueError("standard input and output have no suffix: give format")
    suffixes = [s.lower() for s in Path(path).suffixes]
    packed = bool(suffixes) and suffixes[-1] in OPENERS
    suffix = "".join(suffixes[-2:-1] if packed else suffixes[-1:])
    for name, form in FORMATS.items():
        if suffix in form.suffixes and (form.text or not packed):
            return name
    if suffix in (".pkl", ".pickle", ".joblib"):
        raise ValueError(f"{path}: pickles are not read: they may run any code")
    known = (
        f"{name} ({' '.join(form.suffixes)})" for name, form in FORMATS.items() if form.suffixes
    )
    raise ValueError(f"{path}: the suffix does not tell the format; give it: {', '.join(known)}")


def check_float(dtype: Any) -> np.dtype[Any]:
    checked: np.dtype[Any] = np.dtype(dtype)
    if checked not in (np.dtype(np.float64), np.dtype(np.float32)):
        raise ValueError(f"dtype must be float64 or float32, not {checked}")
    return checked


_FORMULA = tuple("=+-@\t\r\n＝＋－＠")  # the wide ones are computed, too


def harmless(text: str) -> str:
    """As a cell that no spreadsheet computes: a formula behind an apostrophe."""
    return f"'{text}" if text.startswith(_FORMULA) and not is_number(text) else text


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# The formats


def _later(name: str, *kind: str) -> Callable[..., Any]:
    """`module.function`, loaded when there is such a file: pyarrow and scipy take their time."""
    module, function = name.split(".")

    def loaded(*args: Any) -> Any:
        return getattr(importlib.import_module(f"shotgun.{module}"), function)(*args, *kind)

    return loaded


def _read_mtx(source: Source) -> Data:
    from shotgun.vectors import split_off

    content = source.load()
    with source.blamed():
        A = market.read(BytesIO(content))
        source.check_claim(8 * sum(A.shape), source.size(content))
        A, vectors = split_off(source, sound(A), {})
        return Data(A, **vectors)


def _read_disk(source: Source) -> Data:
    from shotgun import disk

    A = disk.open(source.path, source.max_bytes)
    return Data(A, A.y, A.feature_names)


_IMPUTE = ("mean", "median", "zero")
_TABLE = ("target", "weights", "offset", "impute")

FORMATS: dict[str, Format] = {
    "svmlight": Format(
        (".svm", ".svmlight", ".libsvm"),
        _later("svmlight.read"),
        _later("svmlight.write"),
        options=("n_features", "zero_based"),
    ),
    "csv": Format((".csv",), _later("tables.read", "csv"), _later("tables.write", "csv"), _TABLE),
    "tsv": Format(
        (".tsv", ".tab"), _later("tables.read", "tsv"), _later("tables.write", "tsv"), _TABLE
    ),
    "parquet": Format(
        (".parquet", ".pq"),
        _later("tables.read", "parquet"),
        _later("tables.write", "parquet"),
        _TABLE,
        text=False,
    ),
    "arrow": Format(
        (".arrow", ".feather", ".ipc"), _later("tables.read", "arrow"), None, _TABLE, text=False
    ),
    "npz": Format((".npz",), _later("npz.read"), _later("npz.write"), text=False),
    "mtx": Format((".mtx",), _read_mtx),
    "disk": Format((), _read_disk, options=()),
}
