"""Shards of rows become columns on disk, in bounded memory."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csc_array
from sklearn.datasets import dump_svmlight_file

import shotgun
from shotgun import io, shards


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
