"""Tables (CSV, TSV, Parquet, Arrow) as numbers, by pyarrow."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import IO, Any

import numpy as np
import scipy.sparse as sp

from shotgun.compressed import needs
from shotgun.io import Array, Data, Source, harmless, is_number
from shotgun.problem import sound

try:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv
    import pyarrow.feather
    import pyarrow.parquet
except ImportError:
    raise needs("pyarrow", "CSV, Parquet and Arrow files") from None

_SPARSE_BELOW = 0.25  # of the entries can be non-zero: A is sparse
_DENSE_CELLS = 1 << 27  # a sparse matrix with more is not written as a table


@dataclass(frozen=True)
class Column:
    """One column of the table: numbers, or which of its levels each row has; NaN or -1: none."""

    name: str
    values: Array
    levels: list[str] | None = None

    @property
    def feature_names(self) -> list[str]:
        if self.levels is None:
            return [self.name]
        return [f"{self.name}={level}" for level in self.levels]

    @property
    def missing(self) -> Array:
        return np.asarray(np.isnan(self.values) if self.levels is None else self.values < 0)


def read(source: Source, kind: str) -> Data:
    """The table as A, and those of its columns that are not features."""
    table = _load(source, kind)
    names = _names(source, table)
    roles = {
        role: _position(source, role, getattr(source, role), names)
        for role in ("target", "weights", "offset")
    }
    taken = [j for j in roles.values() if j is not None]
    if len(set(taken)) < len(taken):
        raise ValueError(f"{source.name}: target, weights and offset must be different columns")
    features = [
        _feature(source, name, table.column(j)) for j, name in enumerate(names) if j not in taken
    ]
    features = _imputed(source, features)
    target, weights, offset = (
        None if j is None else _vector(source, names[j], table.column(j), strings=role == "target")
        for role, j in roles.items()
    )
    return Data(
        _matrix(features, table.num_rows, source.dtype),
        target,
        [name for part in features for name in part.feature_names],
        weights,
        offset,
    )


def _load(source: Source, kind: str) -> Any:
    if kind in ("csv", "tsv"):
        return _load_csv(source, "," if kind == "csv" else "\t")
    with source.seekable() as file, source.blamed():
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        return (_load_parquet if kind == "parquet" else _load_arrow)(source, file, size)


def _load_parquet(source: Source, file: IO[bytes], size: int) -> Any:
    table = pyarrow.parquet.ParquetFile(file)
    source.check_claim(8 * table.metadata.num_rows * table.metadata.num_columns, size)
    return _gathered(source, table.iter_batches(), table.schema_arrow, size)


def _load_arrow(source: Source, file: IO[bytes], size: int) -> Any:
    reader = pa.ipc.open_file(file)
    batches = (reader.get_batch(k) for k in range(reader.num_record_batches))
    return _gathered(source, batches, reader.schema, size)


def _gathered(source: Source, batches: Iterable[Any], schema: Any, size: int) -> Any:
    """A part at a time, so that a file that unpacks to far more is noticed."""
    gathered, unpacked = [], 0
    for batch in batches:
        unpacked += batch.nbytes
        source.check_claim(unpacked, size)
        gathered.append(batch)
    return pa.Table.from_batches(gathered, schema)


def _load_csv(source: Source, delimiter: str) -> Any:
    # In memory of Arrow's own: its threads let go of it late, perhaps when Python has ended.
    stream = pa.BufferOutputStream()
    stream.write(source.load())
    content = stream.getvalue()
    parse = pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    convert = pa.csv.ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=False)

    def load(**options: Any) -> Any:
        reading = pa.csv.ReadOptions(**options)
        return pa.csv.read_csv(pa.BufferReader(content), reading, parse, convert)

    with source.blamed():
        try:
            table = load()
        except pa.ArrowInvalid:  # perhaps only the first block has misled it about a type
            size = max(1, min(content.size, 2**31 - 1))
            table = load(use_threads=False, block_size=size)
        if all(map(is_number, table.column_names)):
            source.notes.append("no header: columns are called f0, f1, ...")
            table = load(use_threads=False, autogenerate_column_names=True)
        return table


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


def _feature(source: Source, name: str, column: Any) -> Column:
    if _is_string(column.type):
        return _one_hot(source, name, column)
    return Column(name, _numbers(source, name, column))


def _is_string(kind: Any) -> bool:
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_dictionary)
    return any(test(kind) for test in tests)


def _numbers(source: Source, name: str, column: Any) -> Array:
    """float64, NaN where there is none."""
    kind, types = column.type, pa.types
    if types.is_boolean(kind):
        column = pc.cast(column, pa.uint8())
    elif not (
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_decimal(kind)
        or types.is_null(kind)
    ):
        raise ValueError(
            f"{source.name}: column {name!r} holds {kind}: neither numbers nor strings nor booleans"
        )
    values = pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    if np.isinf(values).any():
        raise ValueError(f"{_cell(source, name, np.isinf(values))}: infinite")
    return np.asarray(values)


def _one_hot(source: Source, name: str, column: Any) -> Column:
    encoded = column.combine_chunks()
    if not pa.types.is_dictionary(encoded.type):
        encoded = pc.dictionary_encode(encoded)
    values = np.array([str(value) for value in encoded.dictionary.to_pylist()], dtype=object)
    codes = pc.fill_null(pc.cast(encoded.indices, pa.int64()), -1).to_numpy(zero_copy_only=False)
    if not pa.types.is_dictionary(column.type):
        _note_word(source, name, values, codes)
    used = np.unique(codes[codes >= 0])
    order = used[np.argsort(values[used], kind="stable")]
    rank = np.full(len(values) + 1, -1)  # the last one is that of what is missing
    rank[order] = np.arange(len(order))
    return Column(name, rank[codes], levels=values[order].tolist())


def _note_word(source: Source, name: str, values: Array, codes: Array) -> None:
    """Numbers, but for a word here and there, were hardly meant as classes."""
    words = np.array([not is_number(value) for value in values], dtype=bool)
    of_word = (codes >= 0) & np.append(words, False)[codes]
    if 0 < of_word.sum() < (codes >= 0).sum() / 2:
        word = values[codes[np.argmax(of_word)]]
        note = f"{word!r:.40} is no number: the values of this column are taken as classes"
        source.notes.append(f"{_where(name, of_word)}: {note}")


def _cell(source: Source, name: str, where: Array) -> str:
    return f"{source.name}: {_where(name, where)}"


def _where(name: str, where: Array) -> str:
    """The first row of those, counted from 1 below the header."""
    return f"row {int(np.argmax(where)) + 1}, column {name!r}"


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


def _vector(source: Source, name: str, column: Any, strings: bool) -> Array:
    """A target, weights or offset, in which nothing may be missing."""
    if strings and _is_string(column.type):
        values = np.array(column.to_pylist(), dtype=object)
        missing = np.array([value is None for value in values], dtype=bool)
        if not missing.any():
            if not pa.types.is_dictionary(column.type):
                _note_word(source, name, values, np.arange(len(values)))
            return values.astype(str)
    else:
        values = _numbers(source, name, column)
        missing = np.isnan(values)
        if not missing.any():
            return values
    raise ValueError(f"{_cell(source, name, missing)}: missing value")


def _matrix(features: list[Column], n: int, dtype: np.dtype[Any]) -> Any:
    widths = [len(part.feature_names) for part in features]
    if len(features) < _SPARSE_BELOW * sum(widths):
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
