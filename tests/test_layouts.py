"""All layouts, element and index types are the same problem."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import shotgun
from conftest import LAYOUTS, SMALL, Data, make_data

N, D = SMALL


def dense_layouts(A: Any) -> dict[str, Any]:
    n, d = A.shape
    roomy = np.zeros((n + 3, d + 2), order="F")
    roomy[:n, :d] = A
    wide = np.zeros((n, 2 * d))
    wide[:, ::2] = A
    return {
        "fortran": np.asfortranarray(A),
        "C": np.ascontiguousarray(A),
        "rows of a larger Fortran array": roomy[:n, :d],
        "rows of a larger C array": np.ascontiguousarray(roomy)[:n, :d],
        "every second column": wide[:, ::2],
        "reversed rows": np.asfortranarray(A[::-1])[::-1],
        "reversed columns": np.asfortranarray(A[:, ::-1])[:, ::-1],
        "big-endian": A.astype(">f8"),
        "list of lists": A.tolist(),
        "unaligned": unaligned(A),
    }


def unaligned(A: Any) -> Any:
    raw = np.zeros(A.size * 8 + 1, dtype=np.uint8)
    view = raw[1:].view(np.float64) if (raw[1:].ctypes.data % 8) else raw[:-1].view(np.float64)
    view = view.reshape(A.shape, order="F")
    view[...] = A
    return view


@pytest.mark.parametrize("name", list(dense_layouts(np.ones((2, 2)))))
@pytest.mark.parametrize("shape", [(100, 40), (40, 100), (1, 7), (7, 1), (1, 1)])
def test_every_dense_layout_gives_the_same_bits(name: str, shape: tuple[int, int]) -> None:
    data = make_data(*shape, seed=3)
    lam = data.lam_max / 10
    expected = shotgun.solve(data.A, data.y, lam)
    assert expected.x.any()
    fit = shotgun.solve(dense_layouts(data.A)[name], data.y, lam)
    np.testing.assert_array_equal(fit.x, expected.x)
    assert fit.objective == expected.objective


def sparse_layouts(M: Any) -> dict[str, Any]:
    layouts = {}
    for form in ("csc", "csr"):
        for kind in ("matrix", "array"):
            for index in (np.int32, np.int64):
                made = getattr(sp, f"{form}_{kind}")(M)
                made.indptr, made.indices = made.indptr.astype(index), made.indices.astype(index)
                layouts[f"{form}_{kind} {index.__name__}"] = made
    layouts["coo_matrix"] = sp.coo_matrix(M)
    layouts["coo_array"] = sp.coo_array(M)
    layouts["lil_matrix"] = sp.lil_matrix(M)
    return layouts


@pytest.mark.parametrize("name", list(sparse_layouts(sp.csc_matrix(np.ones((2, 2))))))
@pytest.mark.parametrize("shape", [(300, 120), (40, 100), (1, 7), (7, 1)])
def test_every_sparse_layout_gives_the_same_bits(name: str, shape: tuple[int, int]) -> None:
    data = make_data(*shape, density=0.3 if min(shape) > 1 else 1.0, seed=3)
    lam = data.lam_max / 10
    M = sp.csc_matrix(data.A)
    expected = shotgun.solve(M, data.y, lam)
    assert expected.x.any()
    fit = shotgun.solve(sparse_layouts(M)[name], data.y, lam)
    np.testing.assert_array_equal(fit.x, expected.x)
    assert fit.objective == expected.objective


@pytest.mark.parametrize("engine", ["shooting", "block", "newton"])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_sparse_and_dense_are_the_same_problem(engine: str, loss: str) -> None:
    data = make_data(100, 40, loss, density=0.3)
    lam = data.lam_max / 10
    dense = shotgun.solve(data.A, data.y, lam, loss, engine=engine, tol=1e-11)
    sparse = shotgun.solve(sp.csc_matrix(data.A), data.y, lam, loss, engine=engine, tol=1e-11)
    assert sparse.objective == pytest.approx(dense.objective, rel=1e-10)
    np.testing.assert_allclose(sparse.x, dense.x, atol=1e-4)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_float32_is_accumulated_in_float64(layout: Any, loss: str) -> None:
    data = make_data(2000, 20, loss)
    A = data.A.astype(np.float32)
    lam = data.lam_max / 10
    single = shotgun.solve(layout(A), data.y, lam, loss, tol=1e-12)
    double = shotgun.solve(layout(A.astype(np.float64)), data.y, lam, loss, tol=1e-12)
    assert single.status == double.status == "converged"
    assert single.objective == pytest.approx(double.objective, rel=1e-12)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int64, np.bool_, np.float16])
@pytest.mark.parametrize("sparse", [False, True])
def test_small_number_types_are_taken_by_value(dtype: Any, sparse: bool) -> None:
    data = make_data(60, 12, density=0.5)
    A = np.clip(np.rint(2 * data.A), 0, 1 if dtype is np.bool_ else 100).astype(dtype)
    make = sp.csc_matrix if sparse else np.asarray
    wide = A.astype(np.float32 if dtype is np.float16 else np.float64)
    given = A if sparse is False or dtype is not np.float16 else wide  # scipy has no float16
    fit = shotgun.solve(make(given), data.y, 1.0)
    np.testing.assert_array_equal(fit.x, shotgun.solve(make(wide), data.y, 1.0).x)


def test_a_table_may_have_a_column_of_any_name(data: Data) -> None:
    names = ["tocsc", *map(str, range(1, D))]
    s = shotgun.solve(pd.DataFrame(data.A, columns=names), data.y, 1.0)
    assert s.x.tobytes() == shotgun.solve(data.A, data.y, 1.0).x.tobytes()


def test_vectors_of_any_type_and_stride_are_taken_by_value(data: Data) -> None:
    y = np.rint(data.y)
    expected = shotgun.solve(data.A, y, 1.0, weights=np.full(N, 2.0), x0=np.ones(D))
    for given in (y.astype(np.int32), y.tolist(), np.repeat(y, 2)[::2], y.astype(">f4")):
        fit = shotgun.solve(data.A, given, 1.0, weights=np.full(N, 2), x0=[1] * D)
        np.testing.assert_array_equal(fit.x, expected.x)


@pytest.mark.parametrize("shape", [(257, 130), (1, 300), (300, 1), (33, 31)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_c_order_is_converted_exactly(shape: tuple[int, int], dtype: Any, n_threads: int) -> None:
    A = np.random.default_rng(0).standard_normal((shape[0], shape[1] + 3)).astype(dtype)
    for view in (A[:, :-3].copy(), A[:, :-3]):
        out = shotgun._core.fortran(view, n_threads).reshape(view.shape, order="F")
        np.testing.assert_array_equal(out, view)


@pytest.mark.parametrize("shape", [(3000, 500), (500, 3000), (1, 50), (50, 1)])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_csr_is_converted_exactly(shape: tuple[int, int], index: Any, n_threads: int) -> None:
    M = sp.random(*shape, density=0.1, format="csr", rng=np.random.default_rng(0))
    indptr, indices, values = shotgun._core.transpose(
        M.indptr.astype(index), M.indices.astype(index), M.data, shape[1], n_threads
    )
    expected = M.tocsc()
    np.testing.assert_array_equal(indptr, expected.indptr)
    np.testing.assert_array_equal(indices, expected.indices)
    np.testing.assert_array_equal(values, expected.data)
