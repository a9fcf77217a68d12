"""Files in, files out: svmlight as scikit-learn reads it, archives, Matrix Market, errors."""

from __future__ import annotations

import bz2
import gzip
import io as stdio
import lzma
import os
import pickle
import sys
import threading

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

import shotgun
import shotgun._core as _core
from shotgun import disk
from shotgun.io import Data, format_of, read, write
from shotgun.model import fingerprint
from shotgun.problem import Columns


@pytest.fixture
def save(tmp_path):
    """Write a file and give its path."""

    def save(name: str, content: str | bytes) -> str:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    return save


def complaint(path, **options) -> str:
    """What is said of the file, without its name."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        read(path, **options)
    assert str(caught.value).startswith(str(path) + ":")
    return str(caught.value).removeprefix(str(path))


def assert_same(A, B):
    """The same bits, in the same places."""
    assert A.shape == B.shape
    A, B = A.tocsc(), B.tocsc()
    np.testing.assert_array_equal(A.indptr, B.indptr)
    np.testing.assert_array_equal(A.indices, B.indices)
    assert A.data.tobytes() == B.data.tobytes()


# svmlight

numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**20), 10**20).map(str),
    st.decimals(-1000, 1000, places=4).map("{:+f}".format),
    st.sampled_from(["1e5", "+.5", "5.", "-0", "1E-07", "1e-400", "123456789.123456789", "007"]),
)
blanks = st.sampled_from([" ", "  ", "\t", " \t "])


@st.composite
def lines(draw, least: int) -> str:
    indices = sorted(draw(st.sets(st.integers(least, 40), max_size=8)))
    parts = [draw(numbers), *(f"{j}:{draw(numbers)}" for j in indices)]
    if draw(st.booleans()):
        parts.insert(1, f"qid:{draw(st.integers(0, 9))}")
    line = draw(st.sampled_from(["", " "])) + draw(blanks).join(parts)
    return line + draw(st.sampled_from(["", " ", " # 3:4", "\r", "#x", "\n", "\n# alone\n"]))


@st.composite
def texts(draw) -> str:
    """Lines as they are found in the wild, at least one of them with an entry."""
    least = draw(st.sampled_from([0, 1]))
    text = "\n".join([*draw(st.lists(lines(least), max_size=8)), f"1 {least}:1"])
    return text + draw(st.sampled_from(["", "\n", "\r\n"]))


@given(texts(), st.sampled_from([None, True, False]), st.sampled_from([np.float64, np.float32]))
def test_any_text_is_read_as_scikit_learn_reads_it(text, zero_based, dtype):
    single = dtype == np.float32
    options = _core.SvmlightOptions()
    options.zero_based = zero_based
    auto = "auto" if zero_based is None else zero_based
    content = text.encode()
    with np.errstate(over="ignore"):
        try:
            X, y = load_svmlight_file(stdio.BytesIO(content), dtype=dtype, zero_based=auto)
        except ValueError:  # a 0 where there must be none
            with pytest.raises(ValueError, match="at least 1"):
                _core.svmlight_bytes(content, "text", single, options)
            return
    if not np.isfinite(X.data).all():
        with pytest.raises(ValueError, match="float32"):
            _core.svmlight_bytes(content, "text", single, options)
        return
    for threads in (1, 2, 5):
        options.threads, options.grain, options.window = threads, 1, 7
        parts = _core.svmlight_bytes(content, "text", single, options)
        shape = (len(parts["y"]), len(parts["starts"]) - 1)
        A = sp.csc_array((parts["values"], parts["rows"], parts["starts"]), shape=shape)
        assert_same(A, X)
        assert A.dtype == dtype
        assert parts["y"].tobytes() == y.tobytes()


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A file of several windows and parts, and what scikit-learn makes of it."""
    path = tmp_path_factory.mktemp("large") / "large.svm"
    rng = np.random.default_rng(0)
    A = sp.random_array((3000, 5000), density=0.01, rng=rng, format="csr")
    dump_svmlight_file(A, rng.integers(0, 2, 3000), str(path), zero_based=False)
    return path, *load_svmlight_file(str(path))


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_the_same_bits_for_any_number_of_threads(large, n_threads):
    path, X, y = large
    data = read(path, n_threads=n_threads)
    assert_same(data.A, X)
    assert data.A.indices.dtype == np.int32
    assert data.A.has_canonical_format
    np.testing.assert_array_equal(data.y, y)
    assert data.feature_names is None
    assert data.weights is None


@pytest.mark.parametrize(
    ("suffix", "compress"),
    [
        (".gz", gzip.compress),
        (".xz", lzma.compress),
        (".bz2", bz2.compress),
        (".zst", zstandard.compress),
    ],
)
def test_compressed_text_is_read_and_written(large, save, tmp_path, suffix, compress):
    text = b"".join(large[0].read_bytes().splitlines(keepends=True)[:200])
    plain = read(save("plain.svm", text))
    packed = save(f"a.svm{suffix}", compress(text[:7]) + compress(text[7:]))  # in two frames
    assert_same(read(packed).A, plain.A)
    broken = save(f"b.svm{suffix}", compress(text)[:-100])
    assert "cannot be read" in complaint(broken)
    assert "cannot be read" in complaint(save(f"c.svm{suffix}", text))
    write(tmp_path / f"d.svm{suffix}", plain)
    assert_same(read(tmp_path / f"d.svm{suffix}", n_features=plain.A.shape[1]).A, plain.A)


def test_standard_input_is_read_and_standard_output_written(monkeypatch, capsysbinary):
    monkeypatch.setattr(sys, "stdin", stdio.TextIOWrapper(stdio.BytesIO(b"1 1:2\n-1 2:0.5\n")))
    data = read("-", format="svmlight")
    np.testing.assert_array_equal(data.A.toarray(), [[2, 0], [0, 0.5]])
    write("-", data, format="svmlight")
    assert capsysbinary.readouterr().out == b"1 1:2\n-1 2:0.5\n"
    with pytest.raises(ValueError, match="no suffix: give format"):
        read("-")


def test_a_pipe_is_read_like_a_file(tmp_path):
    path = tmp_path / "pipe.svm"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(b"1 1:2\n",), daemon=True)
    writer.start()
    assert read(path).A.toarray() == [[2]]
    writer.join()


def test_light_columns_are_those_of_scipy_and_are_solved_alike(large):
    path, *_ = large
    light, plain = read(path, light=True), read(path)
    assert isinstance(light.A, Columns)
    assert (light.A.shape, light.A.nnz) == (plain.A.shape, plain.A.nnz)
    assert_same(light.A.tocsc(), plain.A)
    assert fingerprint(light.A, light.y) == fingerprint(plain.A, plain.y)
    fits = [shotgun.solve(data.A, data.y, 5.0, tol=1e-3) for data in (light, plain)]
    assert fits[0].x.tobytes() == fits[1].x.tobytes()


@pytest.mark.parametrize("name", ["a.svm", "a.csv", "a.parquet"])
def test_light_columns_are_written_as_those_of_scipy(name, save, tmp_path):
    path = save("light.svm", "3 1:0.5 3:2\n-1 2:1 3:4\n")
    (tmp_path / "plain").mkdir()
    for folder, light in ((tmp_path, True), (tmp_path / "plain", False)):
        write(folder / name, read(path, light=light))
    assert (tmp_path / name).read_bytes() == (tmp_path / "plain" / name).read_bytes()


def test_light_columns_are_written_to_disk(save, tmp_path):
    path = save("light.svm", "3 1:0.5 3:2\n-1 2:1 3:4\n")
    matrix = disk.write(read(path, light=True).A, tmp_path / "matrix")
    assert_same(matrix.to_memory(), read(path).A)


def test_weights_stand_behind_labels(save):
    data = read(save("a.svm", "1:0.5 1:1\n-1:2 2:1\n"))
    np.testing.assert_array_equal(data.y, [1, -1])
    np.testing.assert_array_equal(data.weights, [0.5, 2])


def test_qid_is_ignored_with_a_note(save):
    path = save("a.svm", "1 1:1\n2 qid:3 1:2\n1 qid:4 1:3\n")
    with pytest.warns(UserWarning, match=r"a.svm: line 2: qid is ignored"):
        data = read(path)
    np.testing.assert_array_equal(data.A.toarray(), [[1], [2], [3]])


def test_what_the_first_index_was_is_told(save):
    assert read(save("a.svm", "1 0:1 2:1\n")).zero_based is True
    assert read(save("a.svm", "1 1:1 2:1\n")).zero_based is False
    assert read(save("a.svm", "1 1:1 2:1\n"), zero_based=True).zero_based is True


def test_more_features_than_the_text_shows(save):
    path = save("a.svm", "1 1:1\n")
    assert read(path, n_features=9).A.shape == (1, 9)
    assert read(path, zero_based=True).A.shape == (1, 2)
    assert read(path, dtype=np.float32).A.dtype == np.float32


@pytest.mark.parametrize(
    ("text", "where", "expected"),
    [
        ("1 1:1\n1 2:nan\n", ":2:3", "expected index:value with a finite value, not '2:nan'"),
        ("1 1:1\n\n# x\n1 2:1 3:inf\n", ":4:7", "a finite value, not '3:inf'"),
        ("1 1:1e999", ":1:3", "a finite value"),
        ("1 1:1 7\n", ":1:7", "expected index:value, not '7'"),
        ("1 1:1 -7:1\n", ":1:7", "expected index:value"),
        ("a 1:1\n", ":1:1", "expected a finite number or number:weight, not 'a'"),
        ("nan 1:1\n", ":1:1", "expected a finite number"),
        ("1,2 1:1\n", ":1:1", "expected one label"),
        ("1 2:1 1:1 2:5\n", ":1:11", "expected no index twice in a line, not '2:5'"),
        ("1 1:1\n1:3 1:1\n", ":2:1", "expected a label without weight, as before"),
        ("1:-3 1:1\n", ":1:3", "expected a weight of at least 0"),
        ("1 99999999999:1\n", ":1:3", "expected an index of at most"),
        ("1 1:1\x00\n", ":1:6", "expected a blank, not '\\x00'"),
        ("1 1:é\n", ":1:3", "a finite value, not '1:\\xc3\\xa9'"),
        ("# only\n", "", "no data: 0 samples of 0 features"),
        ("1\n-1\n", "", "no data: 2 samples of 0 features"),
    ],
)
def test_what_is_wrong_is_told_with_line_and_column(save, text, where, expected):
    said = complaint(save("a.svm", text))
    assert said.startswith(f"{where}: ")
    assert expected in said


def test_an_index_beyond_n_features_is_told(save):
    path = save("a.svm", "1 1:1\n1 9:1\n")
    assert complaint(path, n_features=3).startswith(":2:3: expected an index of at most 3")


def test_far_faults_have_the_right_line(save):
    text = "1 1:1 2:2\n" * 200_000
    path = save("a.svm", text + "1 1:x\n" + text)
    for n_threads in (1, 2, 5):
        assert complaint(path, n_threads=n_threads).startswith(":200001:3: ")


@given(
    st.integers(1, 6).flatmap(
        lambda d: st.lists(
            st.tuples(
                st.floats(allow_nan=False, allow_infinity=False),
                st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=d, max_size=d),
            ),
            min_size=1,
            max_size=6,
        )
    ),
    st.booleans(),
)
def test_what_is_written_as_svmlight_is_read_again(rows, weighted):
    y = np.array([label for label, _ in rows])
    A = sp.csc_array(np.array([row for _, row in rows]))
    weights = np.abs(y) + 1 if weighted else None
    file = stdio.BytesIO()
    shotgun.io.FORMATS["svmlight"].write(file, Data(A, y, weights=weights))
    options = _core.SvmlightOptions()
    options.features, options.zero_based = A.shape[1], False
    parts = _core.svmlight_bytes(file.getvalue(), "text", False, options)
    B = sp.csc_array((parts["values"], parts["rows"], parts["starts"]), shape=A.shape)
    np.testing.assert_array_equal(A.toarray(), B.toarray())
    np.testing.assert_array_equal(parts["y"], y)
    np.testing.assert_array_equal(parts["weights"], weights)


# npz and Matrix Market


@pytest.fixture
def sparse():
    A = sp.random_array((8, 5), density=0.4, rng=np.random.default_rng(0), format="csc")
    return A, np.arange(8.0)


def test_a_sparse_archive_is_read_again(sparse, tmp_path):
    A, y = sparse
    names = [f"word {j}" for j in range(5)]
    data = Data(A, y, names, weights=y + 1, offset=-y)
    write(tmp_path / "a.npz", data)
    again = read(tmp_path / "a.npz")
    assert_same(again.A, A)
    assert again.feature_names == names
    for name in ("y", "weights", "offset"):
        np.testing.assert_array_equal(getattr(again, name), getattr(data, name))


def test_a_dense_archive_is_read_in_fortran_order(tmp_path):
    A = np.arange(12, dtype=np.int8).reshape(4, 3)
    labels = np.array(["no", "yes", "no", "yes"])
    np.savez(tmp_path / "a.npz", X=A, y=labels, other=np.ones(4))
    data = read(tmp_path / "a.npz")
    np.testing.assert_array_equal(data.A, A)
    assert data.A.flags.f_contiguous
    assert data.A.dtype == np.float64
    np.testing.assert_array_equal(data.y, labels)
    np.testing.assert_array_equal(read(tmp_path / "a.npz", "other").y, np.ones(4))
    assert "there are X, y, other" in complaint(tmp_path / "a.npz", target="third")


@pytest.mark.parametrize("kind", ["csc", "csr", "coo"])
def test_archives_of_scipy_are_read_with_a_target_of_their_own(sparse, tmp_path, kind):
    A, y = sparse
    sp.save_npz(tmp_path / "a.npz", A.asformat(kind))
    np.save(tmp_path / "y.npy", y)
    np.savetxt(tmp_path / "y.txt", y)
    np.savetxt(tmp_path / "y.txt.gz", y)
    assert read(tmp_path / "a.npz").y is None
    for name in ("y.npy", "y.txt", "y.txt.gz"):
        data = read(tmp_path / "a.npz", tmp_path / name)
        assert_same(data.A, A)
        np.testing.assert_array_equal(data.y, y)


def test_a_column_of_a_matrix_can_be_the_target(sparse, save, tmp_path):
    A, _ = sparse
    scipy.io.mmwrite(tmp_path / "a.mtx", A)
    data = read(tmp_path / "a.mtx", target=-1, weights=0)
    assert_same(data.A, A[:, 1:4])
    np.testing.assert_array_equal(data.y, A[:, [4]].toarray().ravel())
    np.testing.assert_array_equal(data.weights, A[:, [0]].toarray().ravel())
    assert "no column 7: there are 5" in complaint(tmp_path / "a.mtx", target=7)
    packed = save("b.mtx.gz", gzip.compress((tmp_path / "a.mtx").read_bytes()))
    assert_same(read(packed).A, A)


def test_a_dense_matrix_market_file_and_a_target_beside_it(tmp_path):
    A = np.arange(6.0).reshape(3, 2)
    scipy.io.mmwrite(tmp_path / "a.mtx", A)
    scipy.io.mmwrite(tmp_path / "y.mtx", np.ones((3, 1)))
    data = read(tmp_path / "a.mtx", tmp_path / "y.mtx")
    np.testing.assert_array_equal(data.A, A)
    np.testing.assert_array_equal(data.y, np.ones(3))
    (tmp_path / "z.mtx.gz").write_bytes(gzip.compress((tmp_path / "y.mtx").read_bytes()))
    np.testing.assert_array_equal(read(tmp_path / "a.mtx", tmp_path / "z.mtx.gz").y, np.ones(3))


@pytest.mark.parametrize("role", ["y", "feature_names"])
def test_one_long_text_is_not_written_as_many_long_ones(role, tmp_path):
    texts = ["x" * 100_000] + [""] * 99_999
    A = sp.csc_array((len(texts), 1) if role == "y" else (1, len(texts)))
    data = Data(A, **{role: np.array(texts, dtype=object) if role == "y" else texts})
    with pytest.raises(ValueError, match=f"{role}: 100000 letters are too many for npz"):
        write(tmp_path / "a.npz", data)
    assert not any(tmp_path.iterdir())


def test_broken_archives_and_matrices_are_refused_by_name(save, tmp_path):
    complaint(save("a.npz", "not an archive"))
    complaint(save("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 x 3\n"))
    np.savez(tmp_path / "b.npz", y=np.ones(3))
    assert "holds neither a matrix A or X" in complaint(tmp_path / "b.npz")
    np.savez(tmp_path / "c.npz", A=np.ones((2, 2)), y=np.ones(3))
    assert "y must have shape (2,), not (3,)" in complaint(tmp_path / "c.npz")
    np.savez(tmp_path / "d.npz", A=np.ones((2, 2), dtype=complex))
    assert "real numbers" in complaint(tmp_path / "d.npz")


def test_pickles_are_never_read(save, tmp_path):
    assert "pickles" in complaint(save("a.pkl", pickle.dumps([1])))
    complaint(save("a.npz", pickle.dumps([1])))
    np.savez(tmp_path / "b.npz", A=np.ones((1, 1)), y=np.array([object()]))
    assert "pickles" in complaint(tmp_path / "b.npz")


# Names, options, atomic files


def test_the_suffix_tells_the_format():
    known = {
        "a.svm": "svmlight",
        "A.LIBSVM.GZ": "svmlight",
        "a.b.csv.zst": "csv",
        "a.tsv": "tsv",
        "a.parquet": "parquet",
        "a.feather": "arrow",
        "a.npz": "npz",
        "a.mtx.bz2": "mtx",
    }
    assert {path: format_of(path) for path in known} == known
    assert format_of("a.t", "svmlight") == "svmlight"
    for unknown in ("a9a", "a9a.t", "a.gz", "a.npz.gz", ".svm"):
        with pytest.raises(ValueError, match="suffix does not tell the format"):
            format_of(unknown)
    with pytest.raises(ValueError, match="format must be one of"):
        format_of("a.svm", "excel")


def test_options_that_do_not_apply_are_refused(save):
    path = save("a.svm", "1 1:1\n")
    assert complaint(path, target="y") == ": target does not apply to files of format svmlight"
    assert "impute does not apply" in complaint(path, impute="mean")
    with pytest.raises(ValueError, match="impute must be one of"):
        read(path, impute="guess")
    with pytest.raises(ValueError, match="dtype must be float64 or float32"):
        read(path, dtype=int)
    with pytest.raises(FileNotFoundError):
        read(path + ".svm")


def test_a_file_appears_whole_or_not_at_all(save, tmp_path):
    path = save("a.svm", "1 1:1\n")
    with pytest.raises(ValueError, match="target of numbers"):
        write(path, Data(np.ones((2, 1)), np.array(["a", "b"])))
    with pytest.raises(ValueError, match="no place for an offset"):
        write(path, Data(np.ones((1, 1)), np.ones(1), offset=np.ones(1)))
    assert os.listdir(tmp_path) == ["a.svm"]
    assert read(path).A.toarray() == [[1]]
    with pytest.raises(ValueError, match="cannot write mtx"):
        write(tmp_path / "a.mtx", read(path))


def test_data_that_do_not_fit_each_other_are_refused():
    with pytest.raises(ValueError, match="weights must have shape"):
        Data(np.ones((2, 1)), weights=np.ones(3))
    with pytest.raises(ValueError, match="3 feature names for 1 features"):
        Data(np.ones((2, 1)), feature_names=["a", "b", "c"])


def test_what_is_read_can_be_solved(large):
    data = shotgun.io.read(large[0])
    s = shotgun.solve(data.A, data.y, 0.5 * shotgun.lambda_max(data.A, data.y))
    assert s.status == "converged"


def test_real_data_is_read_as_it_is_stored(data_folder):
    data = read(data_folder / "congress109.npz")
    assert data.A.shape == (529, 1000)
    assert data.y.shape == (529,)
