"""What comes from strangers runs nothing, leads nowhere and takes no more memory than it may."""

from __future__ import annotations

import ast
import bz2
import csv
import gzip
import io
import json
import lzma
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
import scipy.io
import scipy.sparse as sp
import zstandard

import shotgun
from shotgun import compressed, disk, shards, tensors
from shotgun.cli import visible
from shotgun.io import Data, read, write
from shotgun.model import encode
from shotgun.verbs.predict import line

SOURCES = sorted(Path(shotgun.__file__).parent.rglob("*.py"))


# No code in data


def _calls(tree: ast.AST) -> list[tuple[str, ast.Call]]:
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [(ast.unparse(call.func), call) for call in calls]


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_nothing_that_could_run_a_file_is_imported_or_called(source: Path) -> None:
    tree = ast.parse(source.read_text())
    imported = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    words = {name.split(".")[0] for name in imported}
    assert not words & {"pickle", "cloudpickle", "dill", "marshal", "shelve", "yaml", "tarfile"}
    called = {name for name, _ in _calls(tree)}
    assert not called & {"eval", "exec", "compile", "joblib.load", "os.system", "__import__"}
    for name, call in _calls(tree):
        options = {option.arg: ast.unparse(option.value) for option in call.keywords}
        assert options.get("allow_pickle", "False") == "False"
        assert options.get("shell", "False") == "False"
        if name in ("np.load", "numpy.load"):
            assert "allow_pickle" in options, "say so"


# Bombs

LINE = b"1 1:1\n"
MANY = 1 << 16  # bytes that are allowed in these tests


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit, at a size that a test can go beyond."""
    monkeypatch.setattr(compressed, "_LEAST", MANY)


TEXT = LINE * (8 * MANY // len(LINE))
PACKERS = {
    "a.svm.gz": gzip.compress,
    "a.svm.xz": lzma.compress,
    "a.svm.bz2": bz2.compress,
    "a.svm.zst": zstandard.compress,
    "a.csv.gz": gzip.compress,
    "a.mtx.gz": gzip.compress,
}


@pytest.mark.parametrize("name", PACKERS)
def test_text_that_unpacks_to_far_more_is_refused(name: str, tmp_path: Path, small: None) -> None:
    path = tmp_path / name
    path.write_bytes(PACKERS[name](TEXT))
    with pytest.raises(ValueError, match=r"a\.\w+\.\w+: .*max_bytes"):
        read(path)


def test_what_a_file_may_become_can_be_raised(tmp_path: Path, small: None) -> None:
    path = tmp_path / "a.svm.gz"
    path.write_bytes(gzip.compress(TEXT))
    assert read(path, max_bytes=9 * MANY).A.shape == (8 * MANY // len(LINE), 1)


def test_honest_text_is_compressed_a_hundred_times_at_most(tmp_path: Path, small: None) -> None:
    rng = np.random.default_rng(0)
    lines = [f"{rng.normal()} {j}:{rng.normal()}\n" for j in range(1, 6_000)]
    text = "".join(lines).encode()
    assert len(text) > 2 * MANY
    path = tmp_path / "a.svm.gz"
    path.write_bytes(gzip.compress(text))
    assert read(path).A.nnz == len(lines)


def test_a_bomb_is_not_converted_either(tmp_path: Path, small: None) -> None:
    path = tmp_path / "a.svm.zst"
    path.write_bytes(zstandard.compress(b"1" * (64 * MANY)))  # a line that never ends
    with pytest.raises(ValueError, match="max_bytes"):
        shards.convert([path], tmp_path / "matrix")
    assert not (tmp_path / "matrix").exists()


def test_a_piece_of_zstandard_is_small_when_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "a.svm.zst"
    path.write_bytes(zstandard.compress(bytes(1 << 26)))
    with compressed.open_packed(str(path)) as file:
        file.read(1)
        assert len(file.raw._file.raw._ready) <= compressed._PIECE << 15


def archive(path: Path, arrays: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in arrays.items():
            file.writestr(f"{name}.npy", content)
    return path


def npy(shape: Any, content: bytes = b"", descr: str = "<f8") -> bytes:
    """An array's header, and whatever follows."""
    buffer = io.BytesIO()
    header = {"descr": descr, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(buffer, header)
    return buffer.getvalue() + content


@pytest.mark.parametrize(
    ("shape", "content"),
    [((2**40, 2**10), bytes(8)), ((2**31, 2), bytes(16)), ((1, 1), b""), ((1, 1), bytes(16))],
)
def test_an_archive_that_claims_what_it_does_not_hold_is_refused(
    shape: Any, content: bytes, tmp_path: Path
) -> None:
    path = archive(tmp_path / "a.npz", {"A": npy(shape, content)})
    with pytest.raises(ValueError, match=r"a\.npz: A\.npy: not of the size that it claims"):
        read(path)


def test_an_archive_that_unpacks_to_far_more_is_refused(tmp_path: Path, small: None) -> None:
    path = tmp_path / "a.npz"
    np.savez_compressed(path, A=np.zeros((8, MANY)), y=np.zeros(8))
    with pytest.raises(ValueError, match=r"a\.npz: .*max_bytes"):
        read(path)
    assert read(path, max_bytes=10**8).A.shape == (8, MANY)


@pytest.mark.parametrize("form", ["coo", "csr", "bsr", "dia"])
def test_a_sparse_matrix_of_more_columns_than_its_file_is_worth_is_refused(
    form: str, tmp_path: Path, small: None
) -> None:
    sp.save_npz(tmp_path / "a.npz", sp.coo_array(([1.0], ([0], [0])), (2, MANY)).asformat(form))
    with pytest.raises(ValueError, match="max_bytes"):
        read(tmp_path / "a.npz")
    (tmp_path / "a.mtx").write_text(
        f"%%MatrixMarket matrix coordinate real general\n2 {MANY} 1\n1 1 1\n"
    )
    with pytest.raises(ValueError, match="max_bytes"):
        read(tmp_path / "a.mtx")


def test_what_is_compressed_is_allowed_as_much_as_its_file_is_worth(
    tmp_path: Path, small: None
) -> None:
    text = market(f"coordinate real general\n2 {MANY} 1\n%{'x' * (MANY // 2)}\n1 1 1\n")
    (tmp_path / "a.mtx").write_bytes(text)  # whose hundredfold is enough
    assert read(tmp_path / "a.mtx").A.shape == (2, MANY)
    (tmp_path / "a.mtx.gz").write_bytes(gzip.compress(text))
    with pytest.raises(ValueError, match=r"a\.mtx\.gz: becomes .*max_bytes"):
        read(tmp_path / "a.mtx.gz")


def test_a_target_that_claims_what_it_does_not_hold_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, A=np.ones((2, 2)))
    (tmp_path / "y.npy").write_bytes(npy((2**40,)))
    with pytest.raises(ValueError, match=r"a\.npz"):
        read(path, target=tmp_path / "y.npy")


def market(text: str) -> bytes:
    return f"%%MatrixMarket matrix {text}".encode()


SPARSE_VECTOR = market("coordinate real general\n2 1000000000000 1\n1 1 1\n")
TARGETS = {
    "y.mtx": SPARSE_VECTOR,
    "y.mtx.gz": gzip.compress(SPARSE_VECTOR),
    "y.txt.gz": gzip.compress(b"1\n" * MANY),
    "y.txt.bz2": bz2.compress(b"1\n" * MANY),
    "y.txt.xz": lzma.compress(b"1\n" * MANY),
    "y.txt.zst": zstandard.compress(b"1\n" * MANY),
}


@pytest.mark.parametrize("role", ["target", "weights", "offset"])
@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("matrix", ["a.npz", "a.mtx"])
def test_a_vector_beside_a_matrix_may_become_no_more_than_the_matrix(
    matrix: str, name: str, role: str, tmp_path: Path, small: None
) -> None:
    np.savez(tmp_path / "a.npz", A=np.ones((2, 2)))
    (tmp_path / "a.mtx").write_bytes(market("array real general\n2 2\n1 2 3 4\n"))
    (tmp_path / name).write_bytes(TARGETS[name])
    with pytest.raises(ValueError, match=rf"{matrix}: .*{name}: .*max_bytes"):
        read(tmp_path / matrix, **{role: tmp_path / name})


@pytest.mark.parametrize("kind", ["<U0", "|V0", "|S0"])
def test_an_array_whose_entries_take_no_room_is_refused(kind: str, tmp_path: Path) -> None:
    arrays = {"A": npy((2, 2), bytes(32)), "feature_names": npy((2**40,), descr=kind)}
    with pytest.raises(ValueError, match=r"a\.npz: must hold numbers or texts"):
        read(archive(tmp_path / "a.npz", arrays))
    (tmp_path / "y.npy").write_bytes(npy((2**40,), descr=kind))
    np.savez(tmp_path / "b.npz", A=np.ones((2, 2)))
    with pytest.raises(ValueError, match=r"b\.npz: .*y\.npy: must hold numbers or texts"):
        read(tmp_path / "b.npz", target=tmp_path / "y.npy")


@pytest.mark.parametrize("symmetry", ["symmetric", "skew-symmetric"])
@pytest.mark.parametrize("size", ["1000000000 1", "1 1000000000"])
@pytest.mark.parametrize("kind", ["array", "coordinate"])
def test_what_is_symmetric_is_square(kind: str, size: str, symmetry: str, tmp_path: Path) -> None:
    count = " 1" if kind == "coordinate" else ""
    (tmp_path / "a.mtx").write_bytes(market(f"{kind} real {symmetry}\n{size}{count}\n1 1 1\n"))
    with pytest.raises(ValueError, match=rf"a\.mtx: {symmetry}, but \d+ x \d+"):
        read(tmp_path / "a.mtx")


@pytest.mark.parametrize(
    "text",
    [
        "coordinate real general\n3 3 1000000000000\n1 1 1\n",
        "array real general\n1000000 1000000\n1\n",
        "array real symmetric\n1000000 1000000\n1\n",
        "coordinate pattern symmetric\n9 9 1000000\n1 1\n",
    ],
)
def test_a_matrix_that_announces_what_it_does_not_hold_is_refused(
    text: str, tmp_path: Path
) -> None:
    (tmp_path / "a.mtx").write_text(f"%%MatrixMarket matrix {text}")
    with pytest.raises(ValueError, match=r"a\.mtx: announces \d+ entries"):
        read(tmp_path / "a.mtx")


@pytest.mark.parametrize("body", ["1 2\n3\n4\n", "\n1\n2\n\n3\n4", "1 2 3 4"])
def test_the_lines_of_an_array_of_the_market_may_be_any(body: str, tmp_path: Path) -> None:
    (tmp_path / "a.mtx").write_text(f"%%MatrixMarket matrix array real general\n%\n2 2\n{body}")
    np.testing.assert_array_equal(read(tmp_path / "a.mtx").A, [[1, 3], [2, 4]])


ARRAY, ENTRIES = "array real general\n2 2\n", "coordinate real general\n2 2 2\n"


@pytest.mark.parametrize(
    "text",
    [
        *(ARRAY + body for body in ("1 2 3", "1 2 3 4 5", "1 x 3 4")),
        *(ENTRIES + body for body in ("1 1\n2 2 3", "1 1 1", "0 1 1\n2 2 1", "3 1 1\n1 1 1")),
        *(ENTRIES + body for body in ("1.5 1 1\n1 1 1", "1 1 x\n1 1 1")),
    ],
)
def test_matrices_of_the_market_that_are_not_as_announced_are_refused(
    text: str, tmp_path: Path
) -> None:
    (tmp_path / "a.mtx").write_text(f"%%MatrixMarket matrix {text}")
    with pytest.raises(ValueError, match=r"a\.mtx"):
        read(tmp_path / "a.mtx")


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("symmetry", ["general", "symmetric", "skew-symmetric"])
def test_matrices_of_the_market_are_what_scipy_writes(
    symmetry: str, sparse: bool, tmp_path: Path
) -> None:
    A = np.random.default_rng(0).normal(size=(4, 4))
    A = {"general": A[:, :3], "symmetric": A + A.T, "skew-symmetric": A - A.T}[symmetry]
    stored = sp.coo_array(A) if sparse else A
    scipy.io.mmwrite(tmp_path / "a.mtx", stored, symmetry=symmetry, precision=17)
    found = read(tmp_path / "a.mtx").A
    assert sp.issparse(found) is sparse
    np.testing.assert_array_equal(found.toarray() if sparse else found, A)


@pytest.mark.parametrize("size", ["0 2", "2 0", "0 0"])
def test_a_matrix_without_rows_or_columns_does_not_end_the_process(
    size: str, tmp_path: Path
) -> None:
    (tmp_path / "a.mtx").write_text(f"%%MatrixMarket matrix array real general\n{size}\n1\n")
    with pytest.raises(ValueError, match=r"a\.mtx: no data"):
        read(tmp_path / "a.mtx")


@pytest.mark.parametrize("kind", ["array", "coordinate"])
@pytest.mark.parametrize("symmetric", [True, False])
def test_the_shortest_matrix_of_the_market_is_read(
    kind: str, symmetric: bool, tmp_path: Path
) -> None:
    cells = [(i, j) for j in range(1, 5) for i in range(j if symmetric else 1, 5)]
    array = kind == "array"
    lines = ["1" if array else f"{i} {j}" for i, j in cells]
    field = "real" if array else "pattern"
    size = "4 4" if array else f"4 4 {len(cells)}"
    symmetry = "symmetric" if symmetric else "general"
    text = "\n".join([f"%%MatrixMarket matrix {kind} {field} {symmetry}", size, *lines])
    (tmp_path / "a.mtx").write_text(text)
    A = read(tmp_path / "a.mtx").A
    assert (np.asarray(A.todense() if sp.issparse(A) else A) == 1).all()


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_a_table_that_unpacks_to_far_more_is_refused(
    suffix: str, tmp_path: Path, small: None
) -> None:
    table = pa.table({"a": np.zeros(8 * MANY // 8), "b": np.zeros(8 * MANY // 8)})
    path = tmp_path / f"a.{suffix}"
    if suffix == "parquet":
        pyarrow.parquet.write_table(table, path)
    else:
        pyarrow.feather.write_feather(table, path, compression="zstd")
    assert path.stat().st_size < MANY // 10
    with pytest.raises(ValueError, match="max_bytes"):
        read(path)
    assert read(path, max_bytes=10**8).A.shape == (MANY, 2)


SAVE = {
    "parquet": lambda table, path: pyarrow.parquet.write_table(table, path, compression="zstd"),
    "arrow": lambda table, path: pyarrow.feather.write_feather(table, path, compression="zstd"),
}


@pytest.mark.parametrize("suffix", SAVE)
@pytest.mark.parametrize("count", [1, 100])
def test_long_texts_are_refused(count: int, suffix: str, tmp_path: Path, small: None) -> None:
    words = pa.array([f"{k % count}{'x' * 10_000}" for k in range(1000)])
    if count == 1 and suffix == "parquet":  # where it is kept once; see below
        words = pa.array([[word] for word in words.to_pylist()])
    SAVE[suffix](pa.table({"a": words}), tmp_path / f"a.{suffix}")
    with pytest.raises(ValueError, match=rf"a\.{suffix}: (.*max_bytes|column 'a' holds list)"):
        read(tmp_path / f"a.{suffix}")


@pytest.mark.parametrize("suffix", SAVE)
def test_a_long_text_of_many_rows_is_in_memory_once(
    suffix: str, tmp_path: Path, small: None
) -> None:
    words = pa.array(["x" * 10_000, "y"] * 1000).dictionary_encode()
    if suffix == "parquet":  # in which strings are such dictionaries by themselves
        words = words.cast(pa.string())
    table = pa.table({"a": words, "b": words, "y": words})
    SAVE[suffix](table, tmp_path / f"a.{suffix}")
    data = read(tmp_path / f"a.{suffix}", "y")
    assert data.A.shape == (2000, 4)
    assert data.y is not None
    assert data.y.dtype == object
    assert len({id(text) for text in data.y}) == 2


@pytest.mark.parametrize(
    "column", [pa.nulls(MANY), pa.array([True] * MANY), pa.array(["a"] * MANY)]
)
@pytest.mark.parametrize("suffix", SAVE)
def test_a_table_is_charged_for_the_numbers_that_it_becomes(
    suffix: str, column: Any, tmp_path: Path, small: None
) -> None:
    if pa.types.is_string(column.type):
        column = column.dictionary_encode()
    SAVE[suffix](pa.table({"a": column}), tmp_path / f"a.{suffix}")
    with pytest.raises(ValueError, match=rf"a\.{suffix}: becomes {8 * MANY} bytes"):
        read(tmp_path / f"a.{suffix}")


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", *SAVE])
def test_a_long_name_is_not_repeated_for_ever(suffix: str, tmp_path: Path, small: None) -> None:
    name, path = "n" * 1000, tmp_path / f"a.{suffix}"
    words = [f"w{k}" for k in range(500)]
    if suffix in SAVE:
        SAVE[suffix](pa.table({name: words}), path)
    else:
        text = "\n".join([name, *words]).encode()
        path.write_bytes(gzip.compress(text) if suffix == "csv.gz" else text)
    with pytest.raises(ValueError, match=rf"a\.{suffix}: becomes 500000 bytes"):
        read(path)
    assert read(path, max_bytes=10**6).A.shape == (500, 500)


@pytest.mark.parametrize("suffix", SAVE)
def test_one_long_class_does_not_make_all_of_them_long(suffix: str, tmp_path: Path) -> None:
    words = ["x" * 100_000] + [""] * 99_999  # 40 GB as an array of strings
    SAVE[suffix](pa.table({"a": np.arange(100_000.0), "y": words}), tmp_path / f"a.{suffix}")
    data = read(tmp_path / f"a.{suffix}", "y")
    assert data.y is not None
    assert data.y.tolist() == words


def test_a_model_of_more_features_than_its_file_is_worth_is_refused(
    tmp_path: Path, small: None
) -> None:
    d = 1 << 18
    A = sp.csc_array(([1.0], ([0], [d - 1])), shape=(2, d))
    model = shotgun.Lasso(alpha=0.01).fit(A, [0.0, 1.0])
    model.save(tmp_path / "a.shotgun")
    with pytest.raises(shotgun.ModelError, match="max_bytes"):
        shotgun.load(tmp_path / "a.shotgun")
    loaded = shotgun.load(tmp_path / "a.shotgun", max_bytes=8 * d)
    assert loaded.support_.tolist() == [d - 1]


def forge(path: Path, model: Any, change: Callable[[Any, Any], None]) -> Path:
    """A model's file, with a good checksum, after a change of its record and its tensors."""
    record, kept = tensors.unpack(encode(model), "file")
    change(record, kept)
    path.write_bytes(tensors.pack(record, kept))
    return path


@pytest.mark.parametrize("shape", [[2**31 - 1, 1], [1, 2**31 - 1]])
def test_sparse_weights_may_not_be_more_than_their_file_is_worth_either(
    shape: list[int], tmp_path: Path
) -> None:
    def claim(record: Any, kept: Any) -> None:
        record["coef"] = {"shape": shape, "sparse": True}
        record["certificate"] = {}

    model = shotgun.Lasso(alpha=0.1).fit(np.eye(3), np.arange(3.0))
    path = forge(tmp_path / "a.shotgun", model, claim)
    assert path.stat().st_size < 2000
    with pytest.raises(shotgun.ModelError, match=r"a\.shotgun: becomes 17179869176 bytes"):
        shotgun.load(path)


def test_each_of_many_fits_has_an_intercept_of_its_own(tmp_path: Path) -> None:
    def claim(record: Any, kept: Any) -> None:
        record["coef"]["shape"] = [10**7, 3]
        record["certificate"] = {}

    model = shotgun.Lasso(alpha=0.1).fit(np.eye(3), np.arange(3.0))
    path = forge(tmp_path / "a.shotgun", model, claim)
    with pytest.raises(shotgun.ModelError, match="intercept must be a finite number for each"):
        shotgun.load(path)


@pytest.mark.parametrize("role", ["classes", "feature_names_in"])
def test_one_long_name_does_not_make_all_of_them_long(
    role: str, tmp_path: Path, small: None
) -> None:
    def claim(record: Any, kept: Any) -> None:
        text = json.dumps(["x" * 1000] + [""] * 1000)  # 4 MB as an array of strings
        kept["names"] = np.frombuffer(text.encode(), dtype=np.uint8)
        record[role] = {"tensor": "names", "strings": "U"}

    model = shotgun.LogisticRegression().fit(np.eye(3), [0, 1, 1])
    path = forge(tmp_path / "a.shotgun", model, claim)
    with pytest.raises(shotgun.ModelError, match=r"a\.shotgun: becomes 4004000 bytes.*max_bytes"):
        shotgun.load(path)


def test_a_matrix_that_claims_more_than_its_files_hold_is_refused(tmp_path: Path) -> None:
    disk.write(np.eye(3), tmp_path / "m", y=np.ones(3))
    meta = json.loads((tmp_path / "m/meta.json").read_text())
    meta["tiles"][0]["nnz"] = 9
    (tmp_path / "m/meta.json").write_text(json.dumps(meta))
    with pytest.raises(ValueError, match="not the starts of 9 entries"):
        disk.open(tmp_path / "m")
    meta["shape"] = [2**31 - 1, 3]
    (tmp_path / "m/meta.json").write_text(json.dumps(meta))
    with pytest.raises(ValueError, match=r"m: becomes \d+ bytes or more; max_bytes"):
        disk.open(tmp_path / "m")


# Ways out


@pytest.mark.parametrize(
    "name",
    [
        *("meta.json", "names.json", "y.npy", "tiles", "tiles/00000"),
        *("tiles/00000/indptr.npy", "tiles/00000/data.npy", "tiles/00000/indices.npy"),
    ],
)
def test_links_out_of_a_matrix_are_not_followed(name: str, tmp_path: Path) -> None:
    A = np.arange(12.0).reshape(4, 3)
    disk.write(A, tmp_path / "m", y=np.ones(4), feature_names=["a", "b", "c"])
    (tmp_path / "m" / name).rename(tmp_path / "elsewhere")
    (tmp_path / "m" / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ValueError, match="link"):
        shotgun.solve(disk.open(tmp_path / "m"), np.ones(4), 1.0)


def test_a_matrix_behind_a_link_is_read(tmp_path: Path) -> None:
    disk.write(np.eye(3), tmp_path / "m")
    (tmp_path / "link").symlink_to(tmp_path / "m")
    assert disk.open(tmp_path / "link").shape == (3, 3)


def test_a_pipe_inside_a_matrix_does_not_hang(tmp_path: Path) -> None:
    disk.write(np.eye(3), tmp_path / "m")
    (tmp_path / "m/meta.json").unlink()
    os.mkfifo(tmp_path / "m/meta.json")
    with pytest.raises(ValueError, match="plain file"):
        disk.open(tmp_path / "m")


@pytest.mark.parametrize("where", ["../../elsewhere", "/etc", "tiles/00000/.."])
def test_a_matrix_cannot_say_where_its_tiles_are(where: str, tmp_path: Path) -> None:
    disk.write(np.eye(3), tmp_path / "m")
    meta = json.loads((tmp_path / "m/meta.json").read_text())
    meta["tiles"][0] |= {"folder": where, "path": where, "name": where}
    (tmp_path / "m/meta.json").write_text(json.dumps(meta))
    [tile] = disk.open(tmp_path / "m").tiles
    assert tile.folder == tmp_path / "m/tiles/00000"


# Sparse matrices that lie


def lying(form: str) -> Any:
    """A matrix of scipy's in which an entry is far outside."""
    A = sp.random_array((6, 6), density=0.5, rng=0).asformat(form)
    match form:
        case "csc" | "csr" | "bsr":
            A.indices[2] = 10**6
        case "coo":
            A.coords[0][2] = 10**6
        case "lil":
            A.rows[1] = [10**6]
            A.data[1] = [1.0]
        case "dok":
            A._dict[(10**6, 1)] = 1.0
    return A


FORMS = ["csc", "csr", "bsr", "coo", "lil", "dok"]


@pytest.mark.parametrize("form", FORMS)
def test_an_entry_outside_is_refused_before_anything_is_computed(form: str, tmp_path: Path) -> None:
    y = np.arange(6.0)
    good = shotgun.Lasso().fit(np.eye(6), y)
    classes = shotgun.LogisticRegression().fit(np.eye(6), y % 3)
    calls = [
        lambda A: shotgun.solve(A, y, 0.1),
        lambda A: shotgun.path(A, y),
        lambda A: shotgun.lambda_max(A, y),
        lambda A: shotgun.ideal_p(A),
        lambda A: shotgun.Lasso().fit(A, y),
        lambda A: shotgun.LassoCV(cv=2).fit(A, y),
        lambda A: shotgun.LogisticRegression().fit(A, y % 3),
        lambda A: shotgun.DebiasedLasso().fit(A, y),
        lambda A: shotgun.StabilitySelection().fit(A, y),
        good.predict,
        classes.predict_proba,
        lambda A: disk.write(A, tmp_path / "m"),
        lambda A: write(tmp_path / "a.svm", Data(A, y)),
        lambda A: write(tmp_path / "a.npz", Data(A, y)),
        lambda A: write(tmp_path / "a.csv", Data(A, y)),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"^[AX]\b"):
            call(lying(form))


@pytest.mark.parametrize("form", ["csc", "csr", "bsr"])
@pytest.mark.parametrize("target", [None, 0])
def test_a_file_with_an_entry_outside_is_refused(form: str, target: Any, tmp_path: Path) -> None:
    sp.save_npz(tmp_path / "a.npz", lying(form))
    with pytest.raises(ValueError, match=r"a\.npz: A is not a valid"):
        read(tmp_path / "a.npz", target=target)
    if form == "csc":
        A = lying(form)
        parts = {"data": A.data, "indices": A.indices, "indptr": A.indptr, "shape": A.shape}
        np.savez(tmp_path / "b.npz", **parts)
        with pytest.raises(ValueError, match=r"b\.npz: A is not a valid"):
            read(tmp_path / "b.npz", target=target)


@pytest.mark.parametrize("part", ["indptr", "indices"])
@pytest.mark.parametrize("dtype", [np.uint32, np.uint64, np.float64])
def test_indices_too_large_for_the_core_do_not_wrap(part: str, dtype: Any) -> None:
    A = sp.csc_array(np.ones((3, 3)))
    wrapped = getattr(A, part).astype(dtype)
    wrapped[2] += 2**32 if dtype is not np.uint32 else 2**31
    setattr(A, part, wrapped)
    with pytest.raises(ValueError, match=r"^A"):
        shotgun.solve(A, np.ones(3), 0.1)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", [(3, 0), (0, 3), (0, 0)])
def test_a_sparse_matrix_without_rows_or_columns_is_refused(form: str, shape: Any) -> None:
    A = sp.coo_array(shape).asformat("csr" if form == "bsr" else form)
    for call in (lambda: shotgun.solve(A, [], 0.1), lambda: shotgun.Lasso().fit(A, [])):
        with pytest.raises(ValueError, match=r"row|column|sample|feature"):
            call()


def test_small_index_types_are_taken_by_value() -> None:
    A = sp.csc_array(np.tril(np.ones((3, 3))))
    expected = shotgun.solve(A, [1.0, 2.0, 4.0], 0.1).x
    A.indptr, A.indices = A.indptr.astype(np.uint8), A.indices.astype(np.uint64)
    np.testing.assert_array_equal(shotgun.solve(A, [1.0, 2.0, 4.0], 0.1).x, expected)


# What leaves

FORMULAS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(1)", "\t=1", "\r=1", "\n=1", "＝1"]


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_no_name_or_label_is_a_formula_in_a_spreadsheet(suffix: str, tmp_path: Path) -> None:
    names = [*FORMULAS, "-1", "plain"]
    labels = np.array(["=1+1", "-1", "+1e3"])
    write(tmp_path / f"a.{suffix}", Data(np.ones((3, len(names))), labels, names))
    reader = pa.csv.read_csv
    parse = pa.csv.ParseOptions(delimiter="," if suffix == "csv" else "\t")
    table = reader(tmp_path / f"a.{suffix}", parse_options=parse)
    assert table.column_names == [f"'{name}" for name in FORMULAS] + ["-1", "plain", "y"]
    assert table["y"].to_pylist() == ["'=1+1", "-1", "+1e3"]


def test_no_prediction_is_a_formula_in_a_spreadsheet() -> None:
    plain = [label for label in FORMULAS if label.isprintable()]
    assert [line(label) for label in plain] == [f"'{label}" for label in plain]
    assert [line(label) for label in ("-1", "yes", -1, -0.5, [-1.0, 2.0])] == [
        "-1",
        "yes",
        "-1",
        "-0.5",
        "-1.0\t2.0",
    ]


BETWEEN = ["a\n=1", "a\r\n=1", "a\t=1", "a,=1", "a;+1", 'a","=1', '"=1"', "a\x85=1", '"b', 'c",=1']


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_no_prediction_has_a_formula_in_a_cell_of_its_own(delimiter: str) -> None:
    text = "\n".join(map(line, [*BETWEEN, "Paris, Saint-Denis", "x"]))
    assert len(text.splitlines()) == len(BETWEEN) + 2
    cells = [cell for row in csv.reader(text.splitlines(), delimiter=delimiter) for cell in row]
    assert not [cell for cell in cells if cell.strip().startswith(("=", "+", "-", "@"))]
    assert line("Paris, Saint-Denis") == "Paris, Saint-Denis"
    assert line("a\n=1") == r"a\n=1"


def test_a_name_does_not_steer_the_terminal() -> None:
    assert visible("a\x1b]0;title\x07\x9b2J b\n\tä") == r"a\x1b]0;title\x07\x9b2J b" + "\n\tä"
