"""Shards of rows become columns on disk, in bounded memory."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
import zstandard
from scipy.sparse import csc_array
from sklearn.datasets import dump_svmlight_file

import shotgun
from shotgun import io, shards
from shotgun.compressed import create_packed


def make_file(path: Path, seed: int, n: int = 200, d: int = 50, zero_based: bool = False) -> Any:
    random = np.random.default_rng(seed)
    A = random.standard_normal((n, d)).round(3) * (random.random((n, d)) < 0.2)
    y = random.standard_normal(n).round(3)
    dump_svmlight_file(A, y, str(path), zero_based=zero_based)
    return A, y


@pytest.mark.parametrize("memory", [1 << 30, 20_000])
@pytest.mark.parametrize("zero_based", [False, True])
def test_svmlight_shards_give_what_reading_them_gives(
    tmp_path: Path, memory: int, zero_based: bool
) -> None:
    files = [tmp_path / "a.svm", tmp_path / "b.svm"]
    parts = [make_file(file, k, zero_based=zero_based) for k, file in enumerate(files)]
    made = shards.convert(files, tmp_path / "m", memory=memory)
    A, y = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    np.testing.assert_array_equal(made.to_memory().toarray(), A)
    np.testing.assert_array_equal(made.y, y)
    made.verify()
    assert [file.name for file in sorted(tmp_path.iterdir())] == ["a.svm", "b.svm", "m"]
    if memory == 20_000:
        assert len(made.tiles) > 1


def test_compressed_text_is_read_in_pieces_too(tmp_path: Path) -> None:
    A, _ = make_file(tmp_path / "a.svm", 0)
    with gzip.open(tmp_path / "a.svm.gz", "wb") as file:
        file.write((tmp_path / "a.svm").read_bytes())
    made = shards.convert([tmp_path / "a.svm.gz"], tmp_path / "m", memory=20_000, dtype="float32")
    assert made.dtype == np.float32
    np.testing.assert_array_equal(made.to_memory().toarray(), A.astype(np.float32))


def test_tables_keep_their_names(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    tables = [random.standard_normal((30, 3)).round(3) for _ in range(2)]
    for k, table in enumerate(tables):
        text = "\n".join(["a,b,y", *(",".join(map(str, row)) for row in table)])
        (tmp_path / f"{k}.csv").write_text(text + "\n")
    files = [tmp_path / "0.csv", tmp_path / "1.csv"]
    made = shards.convert(files, tmp_path / "m", target="y")
    assert made.feature_names == ["a", "b"]
    np.testing.assert_array_equal(made.to_memory().toarray(), np.concatenate(tables)[:, :2])
    np.testing.assert_array_equal(made.y, np.concatenate(tables)[:, 2])
    (tmp_path / "1.csv").write_text("a,c,y\n1,2,3\n")
    with pytest.raises(ValueError, match="other features"):
        shards.convert(files, tmp_path / "other", target="y")


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz", ".bz2", ".zst"])
def test_progress_counts_the_bytes_of_the_file_as_it_is(tmp_path: Path, suffix: str) -> None:
    make_file(tmp_path / "a.svm", 0, n=20_000)
    file = tmp_path / f"a.svm{suffix}"
    if suffix:
        with create_packed(str(file), file.name) as packed:
            packed.write((tmp_path / "a.svm").read_bytes())
    seen: list[int] = []
    shards.convert(
        [file], tmp_path / "m", memory=500_000, progress=lambda done, _: seen.append(done)
    )
    assert len(seen) > 5
    assert seen == sorted(seen)
    assert 0 < seen[0] < seen[-1] == file.stat().st_size


def test_after_an_interruption_nothing_is_read_twice(tmp_path: Path) -> None:
    A, _ = make_file(tmp_path / "a.svm", 0, n=400)
    seen: list[int] = []

    def interrupt(done: int, _: int) -> None:
        seen.append(done)
        if len(seen) == 3:
            raise KeyboardInterrupt

    how: dict[str, Any] = {"memory": 20_000}
    with pytest.raises(KeyboardInterrupt):
        shards.convert([tmp_path / "a.svm"], tmp_path / "m", progress=interrupt, **how)
    assert not (tmp_path / "m").exists()
    later: list[int] = []
    made = shards.convert(
        [tmp_path / "a.svm"], tmp_path / "m", progress=lambda done, _: later.append(done), **how
    )
    assert later[0] > seen[-1]
    np.testing.assert_array_equal(made.to_memory().toarray(), A)


def test_another_file_of_that_name_is_read_afresh(tmp_path: Path) -> None:
    make_file(tmp_path / "a.svm", 0, n=400)

    def interrupt(*_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        shards.convert([tmp_path / "a.svm"], tmp_path / "m", memory=20_000, progress=interrupt)
    A, _ = make_file(tmp_path / "a.svm", 1, n=300)
    made = shards.convert([tmp_path / "a.svm"], tmp_path / "m", memory=20_000)
    np.testing.assert_array_equal(made.to_memory().toarray(), A)


FULL = """
import resource, sys
from shotgun import shards
room = int(sys.argv[1])
before = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
try:
    shards.convert([sys.argv[2]], sys.argv[3], memory=1_000_000)
finally:
    resource.setrlimit(resource.RLIMIT_FSIZE, before)  # what counts lines writes at the end
"""


@pytest.mark.parametrize("room", [2000, 200_000])  # for no run; for all, but not for y
def test_a_full_disk_is_said_and_there_it_goes_on(tmp_path: Path, room: int) -> None:
    A, _ = make_file(tmp_path / "a.svm", 0, n=40_000, d=2)
    command = [sys.executable, "-c", FULL, str(room), tmp_path / "a.svm", tmp_path / "m"]
    told = subprocess.run(command, capture_output=True, text=True).stderr.splitlines()[-1]
    assert "cannot be written, is the disk full?" in told
    assert "m.partial keeps what has been read" in told
    assert ".npy" in told
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.svm", "m.partial"]
    kept = {file.name for file in (tmp_path / "m.partial").iterdir()}
    assert "part" not in kept
    assert (len(kept) > 1) is (room == 200_000)
    read: list[int] = []
    made = shards.convert(
        [tmp_path / "a.svm"], tmp_path / "m", memory=1_000_000, progress=lambda *_: read.append(1)
    )
    assert (not read) is (room == 200_000)
    np.testing.assert_array_equal(made.to_memory().toarray(), A)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.svm", "m"]


def test_many_threads_make_fewer_tiles_rather_than_small_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_file(tmp_path / "a.svm", 0)
    asked: list[int] = []
    bounds = shotgun.disk.tile_bounds

    def noted(sizes: Any, entry: int, tile_bytes: int) -> Any:
        asked.append(tile_bytes)
        return bounds(sizes, entry, tile_bytes)

    monkeypatch.setattr(shotgun.disk, "tile_bounds", noted)
    for k, (memory, threads) in enumerate([(2 << 30, 8), (2 << 30, 1), (256 << 20, 8)]):
        shards.convert([tmp_path / "a.svm"], tmp_path / f"m{k}", memory=memory, n_threads=threads)
    assert asked == [64 << 20, 128 << 20, 32 << 20]


def test_an_error_tells_the_line_of_the_file(tmp_path: Path) -> None:
    make_file(tmp_path / "a.svm", 0)
    lines = (tmp_path / "a.svm").read_text().splitlines()
    lines[150] = "1 2:x"
    (tmp_path / "a.svm").write_text("\n".join(lines))
    with pytest.raises(ValueError, match=r"a\.svm:151:3"):
        shards.convert([tmp_path / "a.svm"], tmp_path / "m", memory=20_000)
    assert not (tmp_path / "m").exists()


def test_wrong_sources_are_named(tmp_path: Path) -> None:
    make_file(tmp_path / "a.svm", 0)
    with pytest.raises(ValueError, match="one format"):
        shards.convert([tmp_path / "a.svm", tmp_path / "b.csv"], tmp_path / "m")
    with pytest.raises(FileNotFoundError, match=r"b\.svm"):
        shards.convert([tmp_path / "b.svm"], tmp_path / "m")
    (tmp_path / "w.svm").write_text("1:2 1:3\n")
    with pytest.raises(ValueError, match="weights"):
        shards.convert([tmp_path / "w.svm"], tmp_path / "m")


def test_a_matrix_on_disk_is_read_as_any_file(tmp_path: Path) -> None:
    A, y = make_file(tmp_path / "a.svm", 0)
    shards.convert([tmp_path / "a.svm"], tmp_path / "m")
    data = io.read(tmp_path / "m")
    in_memory = shotgun.solve(csc_array(A), y, 5.0)
    np.testing.assert_array_equal(shotgun.solve(data.A, data.y, 5.0).x, in_memory.x)


def test_frames_of_zstandard_one_after_another_are_all_read(tmp_path: Path) -> None:
    A, _ = make_file(tmp_path / "a.svm", 0)
    packed = zstandard.compress((tmp_path / "a.svm").read_bytes())
    (tmp_path / "a.svm.zst").write_bytes(3 * packed)
    for memory in (1 << 30, 20_000):
        made = shards.convert([tmp_path / "a.svm.zst"], tmp_path / f"m{memory}", memory=memory)
        np.testing.assert_array_equal(made.to_memory().toarray(), np.concatenate([A, A, A]))


@pytest.mark.parametrize(
    "texts",
    [
        ["", "1 1:2 3:4\n"],
        ["# only a remark\n#\n", "1 1:2 3:4\n"],
        ["1\n2\n", "1 1:2 3:4"],
        ["1 1:2\r\n", "1 2:1\r\n2 3:1\r\n"],
        ["1 1:2", "1 5:2"],
    ],
)
@pytest.mark.parametrize("memory", [1 << 30, 64])
def test_odd_files_are_read_like_one(tmp_path: Path, texts: list[str], memory: int) -> None:
    files = [tmp_path / f"{k}.svm" for k in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        file.write_bytes(text.encode())
    (tmp_path / "all.svm").write_bytes("\n".join(texts).encode())
    made, whole = (
        shards.convert(files, tmp_path / "m", memory=memory),
        io.read(tmp_path / "all.svm"),
    )
    np.testing.assert_array_equal(made.to_memory().toarray(), whole.A.toarray())
    np.testing.assert_array_equal(made.y, whole.y)


@pytest.mark.parametrize("text", ["", "# nothing\n", "1\n2\n"])
def test_nothing_to_convert_is_said(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.svm").write_text(text)
    with pytest.raises(ValueError, match=r"a\.svm: no samples, or no features"):
        shards.convert([tmp_path / "a.svm"], tmp_path / "m")


def test_a_slash_after_the_name_changes_nothing(tmp_path: Path) -> None:
    make_file(tmp_path / "a.svm", 0)
    shards.convert([tmp_path / "a.svm"], f"{tmp_path / 'm'}/").verify()
    assert [file.name for file in sorted(tmp_path.iterdir())] == ["a.svm", "m"]


def test_entries_in_any_order_can_be_fitted(tmp_path: Path) -> None:
    parts = {"data": [1.0, 2.0, 3.0], "indices": [2, 0, 1], "indptr": [0, 2, 3], "shape": [3, 2]}
    np.savez(tmp_path / "a.npz", y=np.arange(3.0), **parts)
    made = shards.convert([tmp_path / "a.npz"], tmp_path / "m")
    assert shotgun.solve(made, made.y, 0.1).status == "converged"


def test_files_that_do_not_belong_together_are_named(tmp_path: Path) -> None:
    files = [tmp_path / "a.npz", tmp_path / "b.npz"]
    np.savez(files[0], A=np.eye(3), y=np.arange(3.0))
    np.savez(files[1], A=np.ones((2, 4)), y=np.arange(2.0))
    with pytest.raises(ValueError, match=r"b\.npz: 4 features, others have 3"):
        shards.convert(files, tmp_path / "m")
    np.savez(files[1], A=np.ones((2, 3)))
    with pytest.raises(ValueError, match=r"b\.npz: some files have a target"):
        shards.convert(files, tmp_path / "m")


def test_what_others_keep_in_the_partial_folder_stays(tmp_path: Path) -> None:
    make_file(tmp_path / "a.svm", 0)
    (tmp_path / "m.partial").mkdir()
    (tmp_path / "m.partial" / "thesis").write_text("all of it")
    with pytest.raises(FileExistsError, match=r"m\.partial: is in the way"):
        shards.convert([tmp_path / "a.svm"], tmp_path / "m")
    assert (tmp_path / "m.partial" / "thesis").exists()


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    make_file(tmp_path / "a.svm", 0, n=400)

    def append(*_: int) -> None:
        with (tmp_path / "a.svm").open("a") as file:
            file.write("1 2:3\n")

    with pytest.raises(ValueError, match="changed while it was read"):
        shards.convert([tmp_path / "a.svm"], tmp_path / "m", memory=20_000, progress=append)
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"dtype": "float16"}, "dtype must be"),
        ({"target": "y"}, "target does not apply"),
        ({"memory": 0}, "memory must be at least 1"),
        ({"format": "disk"}, "matrix on disk already"),
    ],
)
def test_wrong_arguments_leave_nothing_behind(
    tmp_path: Path, how: dict[str, Any], message: str
) -> None:
    make_file(tmp_path / "a.svm", 0)
    with pytest.raises(ValueError, match=message):
        shards.convert([tmp_path / "a.svm"], tmp_path / "m", **how)
    assert [file.name for file in tmp_path.iterdir()] == ["a.svm"]


SMALL = 200_000  # memory for 520 rows of six columns at a time


def make_table(n: int = 5000, **columns: Any) -> Any:
    random = np.random.default_rng(3)
    values: dict[str, Any] = {f"f{j}": random.standard_normal(n) for j in range(5)}
    values["f1"] = random.integers(-3, 4, n)
    return pa.table(values | columns | {"y": random.standard_normal(n)})


def save_table(table: Any, file: Path) -> None:
    if file.suffix == ".parquet":
        pa.parquet.write_table(table, file, row_group_size=1300)
    elif file.suffix == ".arrow":
        pa.feather.write_feather(table, str(file), chunksize=700)
    else:
        pa.csv.write_csv(table, file, pa.csv.WriteOptions(delimiter=",\t"[file.suffix == ".tsv"]))


def assert_as_read_whole(made: Any, file: Path, folder: Path) -> None:
    data = io.read(file, "y")
    whole = shotgun.disk.write(data.A, folder, data.y, feature_names=data.feature_names)
    assert made.feature_names == whole.feature_names
    for mine, theirs in (
        (made.to_memory().toarray(), whole.to_memory().toarray()),
        (np.asarray(made.y), np.asarray(whole.y)),
    ):
        assert mine.tobytes() == theirs.tobytes()


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "arrow"])
def test_a_table_larger_than_memory_gives_what_reading_it_whole_gives(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / f"a.{suffix}"
    save_table(make_table(), file)
    seen: list[int] = []
    monkeypatch.setattr(io, "read", None)  # which takes the whole file
    made = shards.convert(
        [file], tmp_path / "m", target="y", memory=SMALL, progress=lambda done, _: seen.append(done)
    )
    monkeypatch.undo()
    assert len(seen) == 10  # 5000 / 520
    assert seen == sorted(seen)
    assert seen[-1] == file.stat().st_size
    assert_as_read_whole(made, file, tmp_path / "whole")


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow"])
def test_little_of_a_large_table_is_in_memory_at_once(tmp_path: Path, suffix: str) -> None:
    table, file, memory = make_table(300_000), tmp_path / f"a.{suffix}", 6 << 20
    if suffix == "parquet":  # one row group
        pa.parquet.write_table(table, file, use_dictionary=False, data_page_size=1 << 16)
    else:
        save_table(table, file)
    before, counted = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    pa.set_memory_pool(counted)
    try:
        shards.convert([file], tmp_path / "m", target="y", memory=memory)
    finally:
        pa.set_memory_pool(before)
    assert table.nbytes > 2 * memory
    assert 0 < counted.max_memory() < memory


def test_whole_numbers_may_have_fractions_in_a_later_block(tmp_path: Path) -> None:
    save_table(make_table(), tmp_path / "a.csv")
    head, *lines = (tmp_path / "a.csv").read_text().splitlines()
    late = [f"{line},{k if k < 4500 else k + 0.25}" for k, line in enumerate(lines)]
    (tmp_path / "a.csv").write_text("\n".join([f"{head},late", *late]))
    made = shards.convert([tmp_path / "a.csv"], tmp_path / "m", target="y", memory=SMALL)
    assert_as_read_whole(made, tmp_path / "a.csv", tmp_path / "whole")


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow"])
def test_a_table_goes_on_at_the_row_where_it_was_interrupted(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"a.{suffix}"
    save_table(make_table(), file)
    seen: list[int] = []

    def interrupt(done: int, _: int) -> None:
        seen.append(done)
        if len(seen) == 2:
            raise KeyboardInterrupt

    how: dict[str, Any] = {"target": "y", "memory": SMALL}
    with pytest.raises(KeyboardInterrupt):
        shards.convert([file], tmp_path / "m", progress=interrupt, **how)
    later: list[int] = []
    made = shards.convert(
        [file], tmp_path / "m", progress=lambda done, _: later.append(done), **how
    )
    assert len(later) == 8
    assert_as_read_whole(made, file, tmp_path / "whole")


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("", r"a\.csv: row 4001, column 'f2': missing value"),
        ("inf", r"a\.csv: row 4001, column 'f2': infinite"),
        ("what", r"a\.csv: .*column #2: Row #4002: .*'what'"),  # of the text: with the header
    ],
)
def test_a_bad_cell_of_a_late_part_is_named_with_its_row_in_the_file(
    tmp_path: Path, cell: str, message: str
) -> None:
    save_table(make_table(), tmp_path / "a.csv")
    lines = (tmp_path / "a.csv").read_text().splitlines()
    cells = lines[4001].split(",")
    lines[4001] = ",".join([*cells[:2], cell, *cells[3:]])
    (tmp_path / "a.csv").write_text("\n".join(lines))
    for _ in range(2):  # the second time it goes on after the parts before
        with pytest.raises(ValueError, match=message):
            shards.convert([tmp_path / "a.csv"], tmp_path / "m", target="y", memory=SMALL)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow"])
def test_a_table_with_strings_is_read_whole(tmp_path: Path, suffix: str) -> None:
    colours = ["red"] * 4000 + ["green", "blue"] * 500  # new ones in the last parts
    save_table(make_table(colour=colours), tmp_path / f"a.{suffix}")
    made = shards.convert([tmp_path / f"a.{suffix}"], tmp_path / "m", target="y", memory=SMALL)
    assert made.feature_names[-3:] == ["colour=blue", "colour=green", "colour=red"]
    assert_as_read_whole(made, tmp_path / f"a.{suffix}", tmp_path / "whole")


def test_a_table_without_header_is_read_whole(tmp_path: Path) -> None:
    save_table(make_table(), tmp_path / "named.csv")
    rows = (tmp_path / "named.csv").read_text().splitlines()[1:]
    (tmp_path / "a.csv").write_text("\n".join(rows))
    with pytest.warns(UserWarning, match="no header"):
        made = shards.convert([tmp_path / "a.csv"], tmp_path / "m", target=5, memory=SMALL)
    assert made.shape == (5000, 5)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow"])
def test_parts_of_a_table_are_counted_together_against_max_bytes(
    tmp_path: Path, suffix: str
) -> None:
    save_table(make_table(), tmp_path / f"a.{suffix}")
    with pytest.raises(ValueError, match="max_bytes, which allows 100000"):
        shards.convert(
            [tmp_path / f"a.{suffix}"], tmp_path / "m", target="y", memory=SMALL, max_bytes=100_000
        )
