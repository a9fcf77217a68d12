"""A matrix on disk: the same bits as in memory, and nothing that is not what was written."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import shotgun
from shotgun import disk

N, D = 120, 300


def make_matrix(dtype: Any = np.float64, density: float = 0.1) -> tuple[sp.csc_array, Any]:
    random = np.random.default_rng(0)
    A = sp.random_array((N, D), density=density, format="csc", dtype=np.float64, random_state=1)
    A.data[:] = random.standard_normal(A.nnz)
    y = A @ (random.standard_normal(D) * (random.random(D) < 0.1)) + random.standard_normal(N)
    return A.astype(dtype), y


def write(tmp_path: Path, A: Any, y: Any = None) -> disk.Matrix:
    return disk.write(A, tmp_path / "matrix", y, tile_bytes=2000)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge", "huber", "poisson"])
def test_a_fit_has_the_bits_of_one_in_memory(tmp_path: Path, dtype: Any, loss: str) -> None:
    A, y = make_matrix(dtype)
    B = write(tmp_path, A, y)
    assert len(B.tiles) > 5
    target = {"squared": y, "huber": y, "poisson": np.abs(y)}.get(loss, y > 0)
    how: dict[str, Any] = {"loss": loss, "fit_intercept": True, "standardize": True}
    lam = 0.1 * shotgun.lambda_max(A, target, **how)
    assert lam == 0.1 * shotgun.lambda_max(B, target, **how)
    in_memory = shotgun.solve(A, target, lam, **how)
    on_disk = shotgun.solve(B, target, lam, n_threads=2, **how)
    np.testing.assert_array_equal(on_disk.x, in_memory.x)
    assert (on_disk.gap, on_disk.intercept) == (in_memory.gap, in_memory.intercept)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_tiles_of_screened_columns_are_never_read_again(tmp_path: Path, loss: str) -> None:
    A, y = make_matrix(density=0.5)
    scale = np.where(np.arange(D) < 50, 1.0, 0.01)
    A, target = sp.csc_array(A * scale), y if loss == "squared" else y > 0
    how: dict[str, Any] = {"loss": loss, "tol": 1e-8}
    lam = 0.1 * shotgun.lambda_max(A, target, loss=loss)
    B = write(tmp_path, A)
    gone: list[int] = []

    def callback(row: Any) -> None:
        if row["active"] <= 50 and not gone:
            gone.append(row["round"])
            for tile in B.tiles:
                if tile.first >= 50:
                    os.truncate(tile.file("data"), 0)
                    os.truncate(tile.file("indices"), 0)

    fit = shotgun.solve(B, target, lam, callback=callback, **how)
    assert gone[0] < fit.n_rounds
    np.testing.assert_array_equal(fit.x, shotgun.solve(A, target, lam, **how).x)


def test_a_path_has_the_bits_of_one_in_memory(tmp_path: Path) -> None:
    A, y = make_matrix()
    B = write(tmp_path, A)
    np.testing.assert_array_equal(
        shotgun.path(A, y, n_lams=10).X.toarray(), shotgun.path(B, y, n_lams=10).X.toarray()
    )


def test_estimators_and_cross_validation_take_it(tmp_path: Path) -> None:
    A, y = make_matrix()
    B = write(tmp_path, A, y)
    cv: Any = {"scoring": "neg_log_loss", "use_legacy_attributes": False}
    for make, target in (
        (lambda: shotgun.Lasso(0.05), y),
        (lambda: shotgun.LassoCV(cv=3, alphas=5), y),
        (lambda: shotgun.LogisticRegression(), y > 0),
        (lambda: shotgun.LogisticRegressionCV(cv=3, Cs=[0.1, 1], **cv), y > 0),
    ):
        on_disk, in_memory = make().fit(B, target), make().fit(A, target)
        np.testing.assert_array_equal(on_disk.coef_, in_memory.coef_)
        np.testing.assert_allclose(on_disk.predict(B), in_memory.predict(A), rtol=1e-12)


def test_what_was_written_is_read(tmp_path: Path) -> None:
    A, y = make_matrix(np.float32)
    names = [f"x{j}" for j in range(D)]
    B = disk.write(A.tocsr(), tmp_path / "m", y, feature_names=names, tile_bytes=3000)
    assert (B.shape, B.dtype, B.nnz, B.feature_names) == (A.shape, A.dtype, A.nnz, names)
    np.testing.assert_array_equal(B.y, y)
    np.testing.assert_array_equal(B.to_memory().toarray(), A.toarray())
    which = [250, 3, 299, 4, 3]
    np.testing.assert_array_equal(B.columns(which).toarray(), A[:, which].toarray())
    x = np.random.default_rng(3).standard_normal((D, 2)) * (np.arange(D) % 7 == 0)[:, None]
    np.testing.assert_allclose(B @ x, A @ x, rtol=1e-6)
    B.verify()
    there = sorted(file.name for file in (tmp_path / "m").iterdir())
    assert there == ["meta.json", "names.json", "tiles", "y.npy"]


def test_columns_of_ones_keep_no_values(tmp_path: Path) -> None:
    A, y = make_matrix()
    A.data[:] = 1
    B = write(tmp_path, A)
    assert not list((tmp_path / "matrix").rglob("data.npy"))
    np.testing.assert_array_equal(shotgun.solve(B, y, 1.0).x, shotgun.solve(A, y, 1.0).x)


@pytest.mark.parametrize("A", [np.eye(5), np.zeros((4, 3)), np.asfortranarray(np.ones((3, 2)))])
def test_dense_and_empty_columns_are_written(tmp_path: Path, A: Any) -> None:
    np.testing.assert_array_equal(disk.write(A, tmp_path / "m").to_memory().toarray(), A)


def test_nothing_appears_where_writing_fails(tmp_path: Path) -> None:
    A, y = make_matrix()
    with pytest.raises(ValueError, match=r"y must have shape \(120,\)"):
        write(tmp_path, A, y[:5])
    A.data[A.indptr[7]] = np.nan
    with pytest.raises(ValueError, match="NaN or infinity, first seen in column 7"):
        write(tmp_path, A)

    assert not list(tmp_path.iterdir())


FULL = """
import resource, sys
import numpy as np
from shotgun import disk
before = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
try:
    disk.write(np.arange(1.0, 40_001).reshape(200, 200), sys.argv[1])
finally:
    resource.setrlimit(resource.RLIMIT_FSIZE, before)  # what counts lines writes at the end
"""


def test_a_full_disk_is_said_with_the_file_and_leaves_nothing(tmp_path: Path) -> None:
    told = subprocess.run(
        [sys.executable, "-c", FULL, tmp_path / "matrix"], capture_output=True, text=True
    )
    last = told.stderr.splitlines()[-1]
    assert "data.npy" in last
    assert "cannot be written, is the disk full?" in last
    assert not list(tmp_path.iterdir())


KILLED = """
import os, signal, sys
from shotgun import disk
with disk.writing(sys.argv[1]) as writer:
    (writer.folder / "something").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_left_goes_and_what_others_have_stays(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED, tmp_path / "matrix"])
    (left,) = tmp_path.iterdir()
    assert left.name.endswith(".part")
    (tmp_path / "matrix.my.part").mkdir()
    (tmp_path / "matrix.7.part").write_text("a file")
    with disk.writing(tmp_path / "matrix") as other:
        other.folder.rename(busy := tmp_path / "matrix.12.part")  # as if of another process
        write(tmp_path, np.eye(3))
        busy.rename(other.folder)
        shutil.rmtree(tmp_path / "matrix")
        other.tile(0, np.ones(1), np.zeros(1, np.int32), np.array([0, 1]))
        other.finish((1, 1), np.float64, None, None)
    names = sorted(file.name for file in tmp_path.iterdir())
    assert names == ["matrix", "matrix.7.part", "matrix.my.part"]


def test_everything_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[str] = []
    rename = os.rename

    def noted(one: Any, other: Any) -> None:
        if Path(other).name == "matrix":
            every = [one, *Path(one).rglob("*")]
            assert sorted(os.path.realpath(file) for file in every) == sorted(flushed)
        rename(one, other)

    monkeypatch.setattr(os, "fsync", lambda fd: flushed.append(os.readlink(f"/proc/self/fd/{fd}")))
    monkeypatch.setattr(os, "rename", noted)
    write(tmp_path, *make_matrix())
    assert flushed[-1] == os.path.realpath(tmp_path)


def test_what_exists_is_not_overwritten(tmp_path: Path) -> None:
    write(tmp_path, np.eye(3))
    with pytest.raises(FileExistsError, match="exists already"):
        write(tmp_path, np.eye(4))
    assert disk.open(tmp_path / "matrix").shape == (3, 3)


def flip(file: Path) -> None:
    """One bit, near the end."""
    content = bytearray(file.read_bytes())
    content[-3] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize("name", ["data", "indices", "indptr"])
def test_a_flipped_bit_is_found_and_its_file_named(tmp_path: Path, name: str) -> None:
    A, y = make_matrix()
    write(tmp_path, A)
    file = tmp_path / "matrix" / "tiles" / "00002" / f"{name}.npy"
    flip(file)
    with pytest.raises(ValueError, match=rf"00002.{name}\.npy is damaged"):
        shotgun.solve(disk.open(tmp_path / "matrix"), y, 1.0)
    if name != "indptr":
        with pytest.raises(ValueError, match=rf"{name}\.npy is damaged"):
            disk.open(tmp_path / "matrix").verify()


@pytest.mark.parametrize("name", ["data", "indices"])
def test_a_flipped_bit_is_found_by_all_that_python_reads(tmp_path: Path, name: str) -> None:
    A, y = make_matrix()
    write(tmp_path, A)
    model = shotgun.Lasso(0.01).fit(A, y)
    file = tmp_path / "matrix" / "tiles" / "00002" / f"{name}.npy"
    flip(file)
    B = disk.open(tmp_path / "matrix")
    first = B.tiles[2].first
    for use in (
        lambda: model.predict(B),
        B.to_memory,
        lambda: B.columns([first]),
        lambda: B @ np.eye(D)[first],
    ):
        with pytest.raises(ValueError, match=rf"00002.{name}\.npy is damaged"):
            use()
    B @ np.eye(D)[0]  # of which nothing is there


def test_tiles_are_checked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    B = write(tmp_path, make_matrix()[0])
    checked: list[Any] = []
    monkeypatch.setattr(disk.Tile, "verify", lambda tile, _: checked.append(tile))
    for _ in range(2):
        B.to_memory()
        B @ np.ones(D)
    assert checked == list(B.tiles)


@pytest.mark.parametrize("name", ["norms", "means", "names", "y"])
def test_a_changed_vector_is_found(tmp_path: Path, name: str) -> None:
    A, y = make_matrix()
    disk.write(A, tmp_path / "m", y, feature_names=[f"x{j}" for j in range(D)])
    meta = json.loads((tmp_path / "m" / "meta.json").read_text())
    for old in ("norms", "means"):
        np.save(tmp_path / "m" / f"{old}.npy", np.ones(D))
        meta["checksums"][old] = disk.checksum(np.ones(D))
    (tmp_path / "m" / "meta.json").write_text(json.dumps(meta))
    disk.open(tmp_path / "m").verify()
    if name == "names":
        (tmp_path / "m" / "names.json").write_text(json.dumps([f"z{j}" for j in range(D)]))
    else:
        flip(tmp_path / "m" / f"{name}.npy")
    with pytest.raises(ValueError, match=rf"{name}\.\w+ is damaged"):
        disk.open(tmp_path / "m").verify()


def test_a_few_bytes_cannot_claim_any_number_of_rows(tmp_path: Path) -> None:
    write(tmp_path, np.eye(3))
    file = tmp_path / "matrix" / "meta.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"shape": [2**31 - 1, 3]}))
    for read in (disk.open, shotgun.io.read):
        with pytest.raises(ValueError, match=r"matrix: becomes \d+ bytes .* max_bytes"):
            read(tmp_path / "matrix")
    assert disk.open(tmp_path / "matrix", max_bytes=2**40).shape == (2**31 - 1, 3)


@pytest.mark.parametrize("name", ["data", "indices", "indptr", "y"])
def test_a_truncated_or_missing_file_is_named(tmp_path: Path, name: str) -> None:
    A, y = make_matrix()
    write(tmp_path, A, y)
    folder = tmp_path / "matrix"
    file = folder / "y.npy" if name == "y" else folder / "tiles" / "00001" / f"{name}.npy"
    content = file.read_bytes()
    for damaged in (content[:-1], content[:10], b"", content + b"0"):
        file.write_bytes(damaged)
        with pytest.raises(ValueError, match=rf"{name}\.npy"):
            shotgun.solve(disk.open(folder), y, 1.0)
    file.unlink()
    with pytest.raises(FileNotFoundError, match=rf"{name}\.npy"):
        shotgun.solve(disk.open(folder), y, 1.0)


def test_a_tile_that_vanishes_after_opening_is_named(tmp_path: Path) -> None:
    A, y = make_matrix()
    B = write(tmp_path, A)
    shutil.rmtree(tmp_path / "matrix" / "tiles" / "00003")
    with pytest.raises(OSError, match="00003"):
        shotgun.solve(B, y, 1.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "not a matrix on disk"),
        ({"version": 2}, "version 2"),
        ({"shape": [N, D, 1]}, "meta.json"),
        ({"shape": [-1, D]}, "shape"),
        ({"dtype": "object"}, "dtype"),
        ({"tiles": []}, "tiles of 0 columns"),
        ({"tiles": [{"columns": [0, D], "nnz": 10**12, "checksums": {}}]}, "nnz"),
        ({"checksums": {"../y": 1}}, "checksums"),
    ],
)
def test_a_lying_description_is_refused(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    A, _ = make_matrix()
    write(tmp_path, A)
    file = tmp_path / "matrix" / "meta.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    with pytest.raises(ValueError, match=message):
        disk.open(tmp_path / "matrix")
    file.write_text("{")
    with pytest.raises(ValueError, match="not a matrix on disk"):
        disk.open(tmp_path / "matrix")


def test_a_row_that_does_not_exist_is_never_read(tmp_path: Path) -> None:
    """Even where the checksum says that it was written so."""
    A, y = make_matrix()
    write(tmp_path, A)
    meta = tmp_path / "matrix" / "meta.json"
    stated = json.loads(meta.read_text())
    indices = np.load(tmp_path / "matrix" / "tiles" / "00000" / "indices.npy")
    indices[0] = 2**31 - 1
    np.save(tmp_path / "matrix" / "tiles" / "00000" / "indices.npy", indices)
    stated["tiles"][0]["checksums"]["indices"] = disk.checksum(indices)
    meta.write_text(json.dumps(stated))
    with pytest.raises(ValueError, match=r"indices\.npy is damaged"):
        shotgun.solve(disk.open(tmp_path / "matrix"), y, 1.0)
    with pytest.raises(ValueError, match="no such row"):
        disk.open(tmp_path / "matrix").to_memory()


def test_starts_whose_differences_overflow_are_refused(tmp_path: Path) -> None:
    write(tmp_path, np.eye(3))
    starts = np.array([0, 5 * 10**18, -5 * 10**18, 3])
    np.save(tmp_path / "matrix" / "tiles" / "00000" / "indptr.npy", starts)
    meta = tmp_path / "matrix" / "meta.json"
    stated = json.loads(meta.read_text())
    stated["tiles"][0]["checksums"]["indptr"] = disk.checksum(starts)
    meta.write_text(json.dumps(stated))
    with pytest.raises(ValueError, match=r"indptr\.npy: not the starts"):
        disk.open(tmp_path / "matrix")


@pytest.mark.parametrize("text", ["[" * 100_000, "9" * 5000, '{"format": "shotgun matrix"'])
@pytest.mark.parametrize("name", ["meta", "names"])
def test_hostile_json_is_named(tmp_path: Path, name: str, text: str) -> None:
    write(tmp_path, np.eye(3))
    (tmp_path / "matrix" / f"{name}.json").write_text(text)
    with pytest.raises(ValueError, match=rf"{name}\.json: not a matrix on disk"):
        disk.open(tmp_path / "matrix")


def test_names_that_are_no_text_are_refused(tmp_path: Path) -> None:
    write(tmp_path, np.eye(3))
    (tmp_path / "matrix" / "names.json").write_text("[1, {}, null]")
    with pytest.raises(ValueError, match=r"names\.json: not the names of 3 features"):
        disk.open(tmp_path / "matrix")


@pytest.mark.parametrize("header", [b"(", b"'''", b"  x\n y", b"(" * 9000, b"\0"])
def test_a_hostile_header_is_named(tmp_path: Path, header: bytes) -> None:
    write(tmp_path, np.eye(3))
    file = tmp_path / "matrix" / "tiles" / "00000" / "indices.npy"
    file.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(12))
    with pytest.raises(ValueError, match=r"indices\.npy: "):
        disk.open(tmp_path / "matrix").verify()


def test_products_are_of_the_right_size_only(tmp_path: Path) -> None:
    A, _ = make_matrix()
    B = write(tmp_path, A)
    for size in (D - 1, D + 1):
        with pytest.raises(ValueError, match="x must have 300 rows"):
            B @ np.ones(size)
    np.testing.assert_allclose(B @ np.ones(D), A @ np.ones(D))
    np.testing.assert_allclose(B @ sp.csc_array(np.eye(D)[:, :2]), A[:, :2].toarray())
    np.testing.assert_array_equal(B @ np.zeros((D, 2)), np.zeros((N, 2)))
    assert B.columns([]).shape == (N, 0)


def test_a_sparse_model_predicts_from_it(tmp_path: Path) -> None:
    A, y = make_matrix()
    model = shotgun.LogisticRegression().fit(A, y > 0)
    wanted = model.predict(A)
    np.testing.assert_array_equal(model.sparsify().predict(write(tmp_path, A)), wanted)


@pytest.mark.parametrize("A", [np.zeros((0, 3)), np.zeros((3, 0)), np.eye(2) * 1j])
def test_what_cannot_be_read_is_not_written(tmp_path: Path, A: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="A"):
        disk.write(A, tmp_path / "m")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("l1_ratio", [1.0, 0.0])  # few weights; all of them
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_several_classes_have_the_bits_of_a_fit_in_memory(
    tmp_path: Path, dtype: Any, l1_ratio: float
) -> None:
    A, y = make_matrix(dtype)
    B, labels = write(tmp_path, A), np.digitize(y, [-1, 1])
    on_disk, in_memory = (
        shotgun.LogisticRegression(l1_ratio=l1_ratio).fit(X, labels) for X in (B, A)
    )
    np.testing.assert_array_equal(on_disk.coef_, in_memory.coef_)
    np.testing.assert_array_equal(on_disk.intercept_, in_memory.intercept_)
    np.testing.assert_allclose(on_disk.predict_proba(B), in_memory.predict_proba(A), rtol=1e-6)
    with pytest.raises(TypeError, match="whole columns"):
        B[:5, 0]
