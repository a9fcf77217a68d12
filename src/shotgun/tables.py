"""Tables (CSV, TSV, Parquet, Arrow) as numbers, by pyarrow."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import IO, Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from shotgun.compressed import needs
from shotgun.io import Array, Data, Source, harmless, is_number
from shotgun.problem import sound

try:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv
    import pyarrow.parquet
except ImportError:
    raise needs("pyarrow", "CSV, Parquet and Arrow files") from None

_SPARSE_BELOW = 0.25  # of the entries can be non-zero: A is sparse
_DENSE_CELLS = 1 << 27  # a sparse matrix with more is not written as a table
_AHEAD = 40  # blocks of a CSV file that Arrow reads before they are asked for
_CONVERT: dict[str, Any] = {"strings_can_be_null": True, "quoted_strings_can_be_null": False}

# Some rows, and about how many bytes of the file have been read with them.
Batches: TypeAlias = "Iterable[tuple[Any, int]]"


@dataclass(frozen=True)
class Column:
    """One column of the table: numbers, or which of its levels each row has; NaN or -1: none."""

    name: str
    values: Array
    levels: list[str] | None = None

    @property
    def width(self) -> int:
        return 1 if self.levels is None else len(self.levels)

    @property
    def feature_names(self) -> list[str]:
        if self.levels is None:
            return [self.name]
        return [f"{self.name}={level}" for level in self.levels]

    @property
    def missing(self) -> Array:
        return np.asarray(np.isnan(self.values) if self.levels is None else self.values < 0)


@dataclass(frozen=True)
class Loaded:
    """A table; what its file calls the columns and their types; and the size of the file."""

    table: Any
    schema: Any
    size: int


def read(source: Source, kind: str) -> Data:
    """The table as A, and those of its columns that are not features."""
    return _data(source, _load(source, kind))


def read_parts(
    source: Source, kind: str, most: int, done: int
) -> Iterator[tuple[Data, int | None]] | None:
    """What `read` gives, from row `done` on, in parts of at most `most` bytes as float64; and about
    how many bytes of the file have been read with each, None at its end. None at all where it is
    small, or has to be read whole: the values of strings may be anywhere in it.
    """
    if not source.is_plain:
        return None
    with source.blamed():
        size, stream = os.path.getsize(source.path), _STREAMS[kind](source, most)
    if stream is None or not all(_is_number(field.type) for field in stream[0]):
        return None
    schema, batches = stream

    def found() -> Iterator[tuple[Data, int | None]]:
        before = done
        rows = _rows(most, schema)
        for table, end in _regrouped(source, schema.empty_table(), batches, rows, done, size):
            yield _data(replace(source, before=before), Loaded(table, schema, size)), end
            before += table.num_rows

    return found()


def _rows(most: int, schema: Any) -> int:
    return max(1, most // (8 * max(1, len(schema))))


def _regrouped(
    source: Source, waiting: Any, batches: Batches, rows: int, skip: int, size: int
) -> Iterator[tuple[Any, int | None]]:
    """Tables of so many rows, without the first ones."""
    unpacked = 0
    with source.blamed():
        for batch, end in batches:
            unpacked += _unpacked(batch)
            source.check_claim(unpacked, size)
            more = pa.Table.from_batches([batch.slice(min(skip, batch.num_rows))])
            skip -= batch.num_rows - more.num_rows
            waiting = pa.concat_tables([waiting, more])
            while waiting.num_rows > rows:
                yield waiting.slice(0, rows), end
                waiting = waiting.slice(rows)
    yield waiting, None


def _stream_csv(source: Source, delimiter: str, most: int) -> tuple[Any, Batches] | None:
    """Of the types that the first block has, but any number may have a fraction later."""
    if 4 * os.path.getsize(source.path) <= most:  # a cell: two bytes at least, and then eight
        return None
    block = min(max(most // _AHEAD, 1 << 16), 2**31 - 1)
    reading = pa.csv.ReadOptions(use_threads=False, block_size=block)  # so errors tell their row

    def start(file: Any, types: dict[str, Any]) -> Any:
        convert = pa.csv.ConvertOptions(column_types=types, **_CONVERT)
        return pa.csv.open_csv(file, reading, _parsing(delimiter), convert)

    try:
        with pa.OSFile(source.path) as file, start(file, {}) as first:
            schema = first.schema
        del first  # and the blocks that it has read ahead
        numbers = [field for field in schema if _is_number(field.type)]
        kinds = {f.name: f.type if f.type == pa.bool_() else pa.float64() for f in numbers}
        file = pa.OSFile(source.path)
        reader = start(file, kinds)
    except pa.ArrowInvalid:  # whatever is odd about its beginning
        return None
    if all(map(is_number, schema.names)):
        return None
    return reader.schema, ((batch, file.tell()) for batch in reader)


def _stream_parquet(source: Source, most: int) -> tuple[Any, Batches] | None:
    file = pa.OSFile(source.path)
    about = _about_parquet(source, file, file.size())
    schema, n = about.schema_arrow, about.metadata.num_rows
    rows = _rows(most, schema)
    if n <= rows:
        return None
    # Else a row group, which may be the file, is read before any of it is unpacked.
    how: dict[str, Any] = {"buffer_size": max(8 * rows, 4096), "pre_buffer": False}
    batches = enumerate(pyarrow.parquet.ParquetFile(file, **how).iter_batches(rows), 1)
    return schema, ((batch, file.size() * min(k * rows, n) // n) for k, batch in batches)


def _stream_arrow(source: Source, _: int) -> tuple[Any, Batches]:
    file = pa.OSFile(source.path)
    reader = pa.ipc.open_file(file)
    _check_types(reader.schema)
    count = reader.num_record_batches
    return reader.schema, (
        (reader.get_batch(k), file.size() * (k + 1) // count) for k in range(count)
    )


_STREAMS: dict[str, Callable[[Source, int], tuple[Any, Batches] | None]] = {
    "csv": lambda source, most: _stream_csv(source, ",", most),
    "tsv": lambda source, most: _stream_csv(source, "\t", most),
    "parquet": _stream_parquet,
    "arrow": _stream_arrow,
}


def _data(source: Source, loaded: Loaded) -> Data:
    table, schema = loaded.table, loaded.schema
    names = _names(source, table)
    roles = {
        role: _position(source, role, getattr(source, role), names)
        for role in ("target", "weights", "offset")
    }
    taken = [j for j in roles.values() if j is not None]
    if len(set(taken)) < len(taken):
        raise ValueError(f"{source.name}: target, weights and offset must be different columns")
    features = [
        _feature(source, schema.field(j), table.column(j))
        for j in range(len(names))
        if j not in taken
    ]
    _check_claim(source, features, loaded)
    features = _imputed(source, features)
    target, weights, offset = (
        None if j is None else _vector(source, schema.field(j), table.column(j), role == "target")
        for role, j in roles.items()
    )
    return Data(
        _matrix(features, table.num_rows, source.dtype),
        target,
        [name for part in features for name in part.feature_names],
        weights,
        offset,
    )


def _load(source: Source, kind: str) -> Loaded:
    if kind in ("csv", "tsv"):
        return _load_csv(source, "," if kind == "csv" else "\t")
    with source.blamed():
        opened = _own(source.load()) if source.path == "-" else pa.OSFile(source.path)
        with opened as file:
            return (_load_parquet if kind == "parquet" else _load_arrow)(source, file, file.size())


def _own(content: bytearray) -> Any:
    """A file of Arrow's own: its threads let go of it late, perhaps when Python has ended."""
    stream = pa.BufferOutputStream()
    stream.write(content)
    return pa.BufferReader(stream.getvalue())


def _load_parquet(source: Source, file: Any, size: int) -> Loaded:
    """Strings as dictionaries: a long one that many rows have is in the file, and here, once."""
    about = _about_parquet(source, file, size)
    schema = about.schema_arrow
    strings = [field.name for field in schema if _is_string(field.type)]
    table = pyarrow.parquet.ParquetFile(file, read_dictionary=strings)
    parts = (table.read_row_group(k) for k in range(about.metadata.num_row_groups))
    return Loaded(_gathered(source, parts, table.schema_arrow, size), schema, size)


def _about_parquet(source: Source, file: Any, size: int) -> Any:
    """The file, of which nothing but what it says of itself has been read."""
    about = pyarrow.parquet.ParquetFile(file)
    metadata = about.metadata
    groups = [metadata.row_group(k) for k in range(metadata.num_row_groups)]
    source.check_claim(8 * metadata.num_rows * metadata.num_columns, size)
    source.check_claim(sum(group.total_byte_size for group in groups), size)
    _check_types(about.schema_arrow)
    return about


def _load_arrow(source: Source, file: Any, size: int) -> Loaded:
    reader = pa.ipc.open_file(file)
    _check_types(reader.schema)
    batches = (reader.get_batch(k) for k in range(reader.num_record_batches))
    parts = (pa.Table.from_batches([batch]) for batch in batches)
    return Loaded(_gathered(source, parts, reader.schema, size), reader.schema, size)


def _gathered(source: Source, parts: Iterable[Any], schema: Any, size: int) -> Any:
    """A part at a time, so that a file that unpacks to far more, or will as float64, is noticed."""
    gathered, unpacked = [schema.empty_table()], 0
    for part in parts:
        unpacked += _unpacked(part)
        source.check_claim(unpacked, size)
        gathered.append(part)
    return pa.concat_tables(gathered)


def _unpacked(part: Any) -> int:
    return int(max(part.nbytes, 8 * part.num_rows * part.num_columns))


def _parsing(delimiter: str) -> Any:
    return pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)


def _load_csv(source: Source, delimiter: str) -> Loaded:
    content = source.load()
    size, file = source.size(content), _own(content)
    del content
    parse, convert = _parsing(delimiter), pa.csv.ConvertOptions(**_CONVERT)

    def load(**options: Any) -> Any:
        reading = pa.csv.ReadOptions(**options)
        file.seek(0)
        return pa.csv.read_csv(file, reading, parse, convert)

    with source.blamed():
        try:
            table = load()
        except pa.ArrowInvalid:  # perhaps only the first block has misled it about a type
            block = max(1, min(file.size(), 2**31 - 1))
            table = load(use_threads=False, block_size=block)
        if all(map(is_number, table.column_names)):
            source.notes.append("no header: columns are called f0, f1, ...")
            table = load(use_threads=False, autogenerate_column_names=True)
        _check_types(table.schema)
        return Loaded(table, table.schema, size)


def _check_types(schema: Any) -> None:
    """Before anything is unpacked: what else there is may be of any size."""
    for field in schema:
        if not (_is_string(field.type) or _is_number(field.type)):
            raise _odd(field)


def _odd(field: Any) -> ValueError:
    wanted = "neither numbers nor strings nor booleans"
    return ValueError(f"column {field.name!r} holds {field.type}: {wanted}")


def _check_claim(source: Source, features: list[Column], loaded: Loaded) -> None:
    """Before A and its names are made: both repeat what the file says once."""
    widths = sum(part.width for part in features)
    cells = 0 if _is_sparse(features) else (source.before + loaded.table.num_rows) * widths
    letters = sum(part.width * len(part.name) for part in features)
    with source.blamed():
        source.check_claim(8 * cells + letters, loaded.size)


def _names(source: Source, table: Any) -> list[str]:
    names = list(table.column_names)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{source.name}: two columns are called {twice!r}")
    return names


def _position(source: Source, role: str, wanted: Any, names: list[str]) -> int | None:
    if wanted is None:
        return None
    if not isinstance(wanted, int):
        wanted = os.fspath(wanted)
        if wanted in names:
            return names.index(wanted)
    elif -len(names) <= wanted < len(names):
        return wanted % len(names)
    few = difflib.get_close_matches(str(wanted), names, 3) or names[:10]
    some = ", ".join(few) + (", ..." if len(few) < len(names) else "")
    raise ValueError(f"{source.name}: no column {wanted!r} for {role}; there are {some}")


def _feature(source: Source, field: Any, column: Any) -> Column:
    if _is_string(field.type):
        return _one_hot(source, field, column)
    return Column(field.name, _numbers(source, field, column))


def _is_string(kind: Any) -> bool:
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_dictionary)
    return any(test(kind) for test in tests)


def _is_number(kind: Any) -> bool:
    types = pa.types
    tests = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean, types.is_null)
    return any(test(kind) for test in tests)


def _numbers(source: Source, field: Any, column: Any) -> Array:
    """float64, NaN where there is none."""
    if not _is_number(field.type):
        raise ValueError(f"{source.name}: {_odd(field)}")
    if pa.types.is_boolean(field.type):
        column = pc.cast(column, pa.uint8())
    values = pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    if np.isinf(values).any():
        raise ValueError(f"{_cell(source, field.name, np.isinf(values))}: infinite")
    return np.asarray(values)


def _texts(source: Source, field: Any, column: Any) -> tuple[Array, Array]:
    """The texts of a column, each once, and which of them each row has; -1: none."""
    encoded = column.combine_chunks()
    if not pa.types.is_dictionary(encoded.type):
        encoded = pc.dictionary_encode(encoded)
    values = encoded.dictionary.to_pylist()
    codes = pc.fill_null(pc.cast(encoded.indices, pa.int64()), -1).to_numpy(zero_copy_only=False)
    missing = np.array([value is None for value in values] + [True])  # the last one is that of -1
    codes = np.where(missing[codes], -1, codes)
    texts = np.array([str(value) for value in values], dtype=object)
    if not pa.types.is_dictionary(field.type):
        _note_word(source, field.name, texts, codes)
    return texts, codes


def _one_hot(source: Source, field: Any, column: Any) -> Column:
    texts, codes = _texts(source, field, column)
    used = np.unique(codes[codes >= 0])
    order = used[np.argsort(texts[used], kind="stable")]
    rank = np.full(len(texts) + 1, -1)  # the last one is that of what is missing
    rank[order] = np.arange(len(order))
    return Column(field.name, rank[codes], levels=texts[order].tolist())


def _note_word(source: Source, name: str, values: Array, codes: Array) -> None:
    """Numbers, but for a word here and there, were hardly meant as classes."""
    words = np.array([not is_number(value) for value in values], dtype=bool)
    of_word = (codes >= 0) & np.append(words, False)[codes]
    if 0 < of_word.sum() < (codes >= 0).sum() / 2:
        word = values[codes[np.argmax(of_word)]]
        note = f"{word!r:.40} is no number: the values of this column are taken as classes"
        source.notes.append(f"{_where(source, name, of_word)}: {note}")


def _cell(source: Source, name: str, where: Array) -> str:
    return f"{source.name}: {_where(source, name, where)}"


def _where(source: Source, name: str, where: Array) -> str:
    """The first row of those, counted from 1 below the header."""
    return f"row {source.before + int(np.argmax(where)) + 1}, column {name!r}"


def _imputed(source: Source, features: list[Column]) -> list[Column]:
    """Without missing values."""
    gaps = [part for part in features if part.missing.any()]
    if not gaps:
        return features
    if source.impute is None:
        cell = _cell(source, gaps[0].name, gaps[0].missing)
        raise ValueError(f"{cell}: missing value; impute (mean, median, zero) would replace it")
    some = ", ".join(part.name for part in gaps[:5]) + (", ..." if len(gaps) > 5 else "")
    count = sum(int(part.missing.sum()) for part in gaps)
    source.notes.append(f"{count} missing values imputed ({source.impute}) in column(s) {some}")
    return [
        replace(part, values=_filled(part.values, part.missing, source.impute))
        if part.levels is None
        else part
        for part in features
    ]


def _filled(values: Array, missing: Array, impute: str) -> Array:
    known = values[~missing]
    if impute == "zero" or not len(known):
        fill = 0.0
    else:
        fill = float(np.mean(known) if impute == "mean" else np.median(known))
    return np.where(missing, fill, values)


def _vector(source: Source, field: Any, column: Any, strings: bool) -> Array:
    """A target, weights or offset, in which nothing may be missing. Texts are objects, as an array
    of strings would give each of them the room of the longest one."""
    if strings and _is_string(field.type):
        texts, codes = _texts(source, field, column)
        missing = codes < 0
        values = texts[codes] if not missing.any() else codes
    else:
        values = _numbers(source, field, column)
        missing = np.isnan(values)
    if missing.any():
        raise ValueError(f"{_cell(source, field.name, missing)}: missing value")
    return values


def _is_sparse(features: list[Column]) -> bool:
    return len(features) < _SPARSE_BELOW * sum(part.width for part in features)


def _matrix(features: list[Column], n: int, dtype: np.dtype[Any]) -> Any:
    widths = [part.width for part in features]
    if _is_sparse(features):
        return sp.hstack([_sparse(part, n, dtype) for part in features], "csc")
    A = np.zeros((n, sum(widths)), dtype=dtype, order="F")
    for part, end in zip(features, np.cumsum(widths), strict=True):
        if part.levels is None:
            A[:, end - 1] = part.values
        else:
            rows = np.flatnonzero(~part.missing)
            A[rows, end - len(part.levels) + part.values[rows]] = 1
    return A


def _sparse(part: Column, n: int, dtype: np.dtype[Any]) -> Any:
    if part.levels is None:
        return sp.csc_array(part.values[:, None].astype(dtype))
    rows = np.flatnonzero(~part.missing)
    entries = (np.ones(len(rows), dtype=dtype), (rows, part.values[rows]))
    return sp.csc_array(entries, shape=(n, len(part.levels)))


def write(file: IO[bytes], data: Data, kind: str) -> None:
    """The features, then y, weights and offset."""
    if sp.issparse(data.A) and data.A.shape[0] * data.A.shape[1] > _DENSE_CELLS:
        raise ValueError("A is sparse and too large for a table: write svmlight or npz")
    A = sound(data.A).tocsc() if sp.issparse(data.A) else data.A
    names = data.feature_names or [f"f{j}" for j in range(A.shape[1])]
    columns = [
        A[:, [j]].toarray().ravel() if sp.issparse(A) else A[:, j] for j in range(len(names))
    ]
    others = {name: getattr(data, name) for name in ("y", "weights", "offset")}
    others = {name: vector for name, vector in others.items() if vector is not None}
    names, columns = [*names, *others], [*columns, *others.values()]
    if len(set(names)) < len(names):
        raise ValueError("feature names must differ from each other, and from y, weights, offset")
    table = pa.table([pa.array(column) for column in columns], names=names)
    if kind == "parquet":
        pyarrow.parquet.write_table(table, file)
    else:
        table = _harmless(table)
        delimiter = "," if kind == "csv" else "\t"
        pa.csv.write_csv(table, file, pa.csv.WriteOptions(delimiter=delimiter))


def _harmless(table: Any) -> Any:
    """Its names and texts as cells that no spreadsheet computes."""
    for j, column in enumerate(table.columns):
        if _is_string(column.type):
            column = pa.array([harmless(text) for text in column.to_pylist()])
        table = table.set_column(j, harmless(table.column_names[j]), column)
    return table
