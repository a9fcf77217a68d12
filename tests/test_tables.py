"""Tables become numbers: strings one-hot, booleans 0 and 1, missing values refused or imputed."""

from __future__ import annotations

import datetime
import io as stdio
import subprocess
import sys
import warnings
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
import scipy.sparse as sp

import shotgun
from shotgun.io import Data, read, write

PEOPLE = {
    "age": [31.5, 40.0, 22.0],
    "town": ["Köln", "Bonn", "Köln"],
    "member": [True, False, True],
    "visits": [3, 1, 2],
    "bought": ["yes", "no", "yes"],
}
SAVE = {
    "csv": pa.csv.write_csv,
    "tsv": lambda table, path: pa.csv.write_csv(table, path, pa.csv.WriteOptions(delimiter="\t")),
    "parquet": pa.parquet.write_table,
    "feather": pa.feather.write_feather,
    "arrow": lambda table, path: pa.feather.write_feather(table, path, compression="uncompressed"),
}


@pytest.fixture
def save(tmp_path):
    """Write columns, or text, to a file and give its path."""

    def save(content, suffix: str = "parquet") -> str:
        path = str(tmp_path / f"table.{suffix}")
        if isinstance(content, str):
            (tmp_path / f"table.{suffix}").write_text(content)
        else:
            SAVE[suffix](pa.table(content), path)
        return path

    return save


def complaint(path, *args, **options) -> str:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        read(path, *args, **options)
    assert str(caught.value).startswith(f"{path}: ")
    return str(caught.value).removeprefix(f"{path}: ")


@pytest.mark.parametrize("role", ["feature", "target"])
def test_a_word_among_numbers_is_noted(role, save):
    path = save("a,b\n1,5\n2,six\n3,7\n4,seven\n5,9\n", "csv")
    note = "row 2, column 'b': 'six' is no number: the values of this column are taken as classes"
    with pytest.warns(UserWarning, match="is no number") as told:
        data = read(path, target="b" if role == "target" else "a")
    assert [str(w.message) for w in told] == [f"{path}: {note}"]
    if role == "feature":
        assert data.feature_names == ["b=5", "b=7", "b=9", "b=seven", "b=six"]


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["1", "two", "three", "4"]),  # as many words as numbers
        pa.array(["01", "02", "02", "03"]),  # no word
        pa.array(["1", "2", "3", "four"]).dictionary_encode(),  # meant as classes
    ],
)
@pytest.mark.parametrize("target", ["x", "c"])
def test_what_is_meant_as_classes_is_not_noted(column, target, save):
    assert read(save({"x": [1.0, 2.0, 3.0, 4.0], "c": column}), target).A.shape[0] == 4


@pytest.mark.parametrize("suffix", SAVE)
def test_strings_are_one_hot_and_booleans_zero_and_one(save, suffix):
    data = read(save(PEOPLE, suffix), "bought")
    assert data.feature_names == ["age", "town=Bonn", "town=Köln", "member", "visits"]
    expected = [[31.5, 0, 1, 1, 3], [40, 1, 0, 0, 1], [22, 0, 1, 1, 2]]
    np.testing.assert_array_equal(data.A, expected)
    assert data.A.flags.f_contiguous
    assert data.y.tolist() == ["yes", "no", "yes"]


def test_columns_are_taken_by_name_or_position(save):
    path = save(PEOPLE)
    data = read(path, -1, weights="visits", offset=0, dtype=np.float32)
    assert data.feature_names == ["town=Bonn", "town=Köln", "member"]
    assert data.A.dtype == np.float32
    np.testing.assert_array_equal(data.weights, [3, 1, 2])
    np.testing.assert_array_equal(data.offset, [31.5, 40, 22])
    np.testing.assert_array_equal(read(path, "visits").y, [3.0, 1.0, 2.0])
    assert read(path).y is None
    assert complaint(path, "height").startswith("no column 'height' for target; there are age, ")
    assert complaint(path, 5).startswith("no column 5 for target")
    assert complaint(path, "agee").endswith("there are age, ...")
    assert "must be different columns" in complaint(path, "age", weights=0)
    assert "column 'town' holds string" in complaint(path, weights="town")


def test_a_table_from_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", stdio.TextIOWrapper(stdio.BytesIO(b"a,b\n1,2\n")))
    np.testing.assert_array_equal(read("-", "b", format="csv").A, [[1]])


def test_many_values_make_a_sparse_matrix(save):
    rng = np.random.default_rng(0)
    words, x = rng.integers(0, 60, 200).astype(str), rng.normal(size=200)
    data = read(save({"word": words, "x": x}))
    assert sp.issparse(data.A)
    assert data.A.format == "csc"
    assert data.feature_names == [*(f"word={w}" for w in sorted(set(words))), "x"]
    np.testing.assert_array_equal(data.A.sum(axis=1) - x, np.ones(200) + x - x)
    for j, name in enumerate(data.feature_names[:-1]):
        has = data.A[:, [j]].toarray().ravel() == 1
        np.testing.assert_array_equal(has, words == name.removeprefix("word="))


def test_dictionaries_have_only_the_values_that_occur(save):
    column = pa.DictionaryArray.from_arrays(pa.array([2, 0, None, 2]), pa.array([30, 20, 10]))
    with pytest.warns(UserWarning, match="1 missing values"):
        data = read(save({"size": column, "x": [1, 2, 3, 4]}, "feather"), impute="zero")
    assert data.feature_names == ["size=10", "size=30", "x"]
    np.testing.assert_array_equal(data.A, [[1, 0, 1], [0, 1, 2], [0, 0, 3], [1, 0, 4]])


@pytest.mark.parametrize("gap", [None, float("nan")])
def test_missing_values_are_refused_with_row_and_column(save, gap):
    path = save({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, gap]})
    said = "row 3, column 'b': missing value; impute (mean, median, zero) would replace it"
    assert complaint(path) == said
    assert complaint(path, "b", impute="mean") == "row 3, column 'b': missing value"


def test_missing_cells_of_a_text_are_refused(save):
    said = "row 2, column 'town': missing value; impute (mean, median, zero) would replace it"
    assert complaint(save("age,town\n1,Bonn\n2,\n", "csv")) == said
    assert read(save('age,town\n1,Bonn\n2,""\n', "csv")).feature_names[1:] == ["town=", "town=Bonn"]
    assert complaint(save("age,town\n,Bonn\n2,x\n", "csv")).startswith("row 1, column 'age'")


@pytest.mark.parametrize(("impute", "fill"), [("mean", 3.0), ("median", 2.0), ("zero", 0.0)])
def test_missing_values_are_imputed_with_a_note(save, impute, fill):
    path = save({"a": [1.0, 2.0, None, 6.0], "town": ["x", None, "y", "x"], "b": [1, 2, 3, 4]})
    with pytest.warns(UserWarning, match=rf"2 missing values imputed \({impute}\).* a, town"):
        data = read(path, impute=impute)
    np.testing.assert_array_equal(data.A[:, 0], [1, 2, fill, 6])
    np.testing.assert_array_equal(data.A[:, 1:3], [[1, 0], [0, 0], [0, 1], [1, 0]])


def test_a_complete_table_is_imputed_without_a_note(save):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read(save(PEOPLE), impute="mean")


def test_what_is_no_number_is_refused(save):
    days = [datetime.date(2024, 1, k) for k in (1, 2)]
    assert complaint(save({"day": days})).startswith("column 'day' holds date32")
    assert complaint(save({"a": [1.0, float("inf")]})) == "row 2, column 'a': infinite"
    assert complaint(save({"a": [[1], [2]]})).startswith("column 'a' holds list")
    np.testing.assert_array_equal(read(save({"a": [Decimal("1.25")]})).A, [[1.25]])


def test_a_text_without_header_gets_names_with_a_note(save):
    with pytest.warns(UserWarning, match="no header: columns are called f0, f1"):
        data = read(save("1,2,3\n4,5,6\n", "csv"), target=0)
    np.testing.assert_array_equal(data.A, [[2, 3], [5, 6]])
    assert data.feature_names == ["f1", "f2"]


def test_a_type_that_shows_late_is_found(save):
    path = save("a,b\n" + "1,2\n" * 400_000 + "x,3\n", "csv")
    with pytest.warns(UserWarning, match="row 400001, column 'a': 'x' is no number"):
        data = read(path, "b")
    assert data.feature_names == ["a=1", "a=x"]


def test_broken_tables_are_refused_by_name(save):
    assert "Row #3: Expected 2 columns, got 3" in complaint(save("a,b\n1,2\n1,2,3\n", "csv"))
    assert complaint(save("a,a\n1,2\n", "csv")) == "two columns are called 'a'"
    assert complaint(save("a,b\n", "csv")) == "no data: 0 samples of 2 features"
    complaint(save("", "csv"))
    complaint(save("PAR1 is not enough", "parquet"))
    complaint(save("neither is this", "feather"))


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet"])
@pytest.mark.parametrize("as_type", [np.asfortranarray, sp.csc_array])
def test_what_is_written_is_read_again(tmp_path, suffix, as_type):
    rng = np.random.default_rng(1)
    A = rng.normal(size=(20, 3)) * 10.0 ** rng.integers(-300, 300, (20, 3))
    y = np.array(["a", "b"])[rng.integers(0, 2, 20)]
    names = ["x, y", 'quoted "z"', "1"]
    data = Data(as_type(A), y, names, weights=rng.random(20), offset=rng.normal(size=20))
    path = tmp_path / f"a.{suffix}"
    write(path, data)
    again = read(path, "y", weights="weights", offset="offset")
    np.testing.assert_array_equal(again.A, A)
    assert again.feature_names == names
    for name in ("y", "weights", "offset"):
        np.testing.assert_array_equal(getattr(again, name), getattr(data, name))


def test_tables_that_cannot_be_written_are_refused(tmp_path):
    with pytest.raises(ValueError, match="feature names must differ"):
        write(tmp_path / "a.csv", Data(np.ones((1, 1)), np.ones(1), ["y"]))
    with pytest.raises(ValueError, match="too large for a table"):
        write(tmp_path / "a.csv", Data(sp.csc_array((30_000, 30_000))))
    assert list(tmp_path.iterdir()) == []


def test_without_pyarrow_the_extra_is_named(save, monkeypatch):
    path = save(PEOPLE, "csv")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.delitem(sys.modules, "shotgun.tables", raising=False)
    monkeypatch.delattr(shotgun, "tables", raising=False)
    with pytest.raises(ImportError, match=r"need pyarrow: pip install 'shotgun-l1\[cli\]'"):
        read(path)


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_python_may_end_as_soon_as_a_table_is_read(kind, tmp_path):
    """Arrow's threads let go of what they have read a little later."""
    path = str(tmp_path / f"t.{kind}")
    SAVE[kind](pa.table({f"f{j}": list(range(300)) for j in range(9)}), path)
    code = "import sys, shotgun.io; shotgun.io.read(sys.argv[1], target='f8')"
    for _ in range(4):
        subprocess.run([sys.executable, "-c", code, path], check=True)
