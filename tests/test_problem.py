"""What may be handed to `solve`: every valid form gives the same fit, bad ones a clear error."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import shotgun
from conftest import Data, make_data
from reference import Reference

N, D = 30, 8
LAYOUTS = [np.asfortranarray, np.ascontiguousarray, sp.csc_matrix, sp.csr_matrix]


@pytest.fixture
def data() -> Data:
    return make_data(N, D)


@pytest.fixture
def classes() -> Data:
    return make_data(N, D, "logistic")


def with_entry(values: Any, at: Any, entry: float) -> Any:
    changed = np.array(values, dtype=np.float64)
    changed[at] = entry
    return changed


# Bad input: a ValueError or TypeError whose message starts from the argument's name.


@pytest.mark.parametrize("entry", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("at", [(0, 0), (N - 1, D - 1), (7, 3)])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_not_finite_is_refused(
    data: Data, layout: Any, at: Any, entry: float, dtype: Any
) -> None:
    A = layout(with_entry(data.A, at, entry).astype(dtype))
    with pytest.raises(ValueError, match=r"^A contains NaN or infinity.*row \d+, column \d+"):
        shotgun.solve(A, data.y, 1.0)


def test_a_not_finite_is_located(data: Data) -> None:
    with pytest.raises(ValueError, match=r"row 7, column 3$"):
        shotgun.solve(with_entry(data.A, (7, 3), np.nan), data.y, 1.0)


@pytest.mark.parametrize("options", [{}, {"fit_intercept": True}, {"standardize": True}])
def test_a_not_finite_is_refused_with_every_centring(data: Data, options: Any) -> None:
    with pytest.raises(ValueError, match=r"^A contains NaN"):
        shotgun.solve(with_entry(data.A, (7, 3), np.inf), data.y, 1.0, **options)


def test_a_not_finite_in_an_absent_row_is_refused(data: Data) -> None:
    A = with_entry(data.A, (7, 3), np.nan)
    with pytest.raises(ValueError, match=r"^A contains NaN"):
        shotgun.solve(A, data.y, 1.0, weights=with_entry(np.ones(N), 7, 0.0))


@pytest.mark.parametrize("function", [shotgun.lambda_max, shotgun.spectral_radius])
def test_a_not_finite_is_refused_by_every_function(data: Data, function: Any) -> None:
    A = with_entry(data.A, (7, 3), np.nan)
    arguments = (A, data.y) if function is shotgun.lambda_max else (A,)
    with pytest.raises(ValueError, match=r"^A contains NaN"):
        function(*arguments)


@pytest.mark.parametrize("entry", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["y", "weights", "offset", "x0"])
def test_vectors_not_finite_are_refused(data: Data, name: str, entry: float) -> None:
    size = D if name == "x0" else N
    given = {"y": data.y, name: with_entry(np.ones(size), 5, entry)}
    with pytest.raises(ValueError, match=rf"^{name} contains NaN or infinity.*position 5"):
        shotgun.solve(data.A, given.pop("y"), 1.0, **given)


@pytest.mark.parametrize("entry", [np.nan, np.inf])
def test_labels_not_finite_are_refused(classes: Data, entry: float) -> None:
    with pytest.raises(ValueError, match=r"^y contains NaN or infinity"):
        shotgun.solve(classes.A, with_entry(classes.y, 5, entry), 1.0, "logistic")


def test_penalty_factor_with_nan_is_refused(data: Data) -> None:
    with pytest.raises(ValueError, match=r"^penalty_factor contains NaN"):
        shotgun.solve(data.A, data.y, 1.0, penalty_factor=with_entry(np.ones(D), 5, np.nan))


@pytest.mark.parametrize("size", [N - 1, N + 1, 0, D])
@pytest.mark.parametrize("name", ["y", "weights", "offset"])
def test_row_vectors_of_the_wrong_length_are_refused(data: Data, name: str, size: int) -> None:
    given = {"y": data.y, name: np.ones(size)}
    with pytest.raises(ValueError, match=rf"^{name} must have shape \({N},\)"):
        shotgun.solve(data.A, given.pop("y"), 1.0, **given)


@pytest.mark.parametrize("size", [D - 1, D + 1, 0, N])
@pytest.mark.parametrize("name", ["penalty_factor", "x0"])
def test_column_vectors_of_the_wrong_length_are_refused(data: Data, name: str, size: int) -> None:
    with pytest.raises(ValueError, match=rf"^{name} must have shape \({D},\)"):
        shotgun.solve(data.A, data.y, 1.0, **{name: np.ones(size)})


@pytest.mark.parametrize("side", [0, 1])
def test_bounds_of_the_wrong_length_are_refused(data: Data, side: int) -> None:
    bounds: list[Any] = [-1.0, 1.0]
    bounds[side] = np.full(D + 1, 0.5)
    with pytest.raises(ValueError, match=rf"^bounds\[{side}\] must have shape \({D},\)"):
        shotgun.solve(data.A, data.y, 1.0, bounds=tuple(bounds))


def test_two_dimensional_y_is_refused(data: Data) -> None:
    with pytest.raises(ValueError, match=r"^y must have shape"):
        shotgun.solve(data.A, data.y[:, None], 1.0)
    with pytest.raises(ValueError, match=r"^y must have shape"):
        shotgun.solve(data.A, np.sign(data.y)[:, None], 1.0, "logistic")


@pytest.mark.parametrize("shape", [(0, D), (N, 0), (0, 0)])
@pytest.mark.parametrize("make", [np.zeros, sp.csc_matrix, sp.csr_matrix])
def test_a_without_rows_or_columns_is_refused(shape: tuple[int, int], make: Any) -> None:
    with pytest.raises(ValueError, match=r"^A must have at least one row and one column"):
        shotgun.solve(make(shape), np.zeros(shape[0]), 1.0)


@pytest.mark.parametrize("A", [np.ones(N), np.ones((N, D, 2)), 3.0])
def test_a_not_of_two_dimensions_is_refused(A: Any) -> None:
    with pytest.raises(ValueError, match=r"^A must have two dimensions"):
        shotgun.solve(A, np.ones(N), 1.0)


@pytest.mark.parametrize(
    "A",
    [
        np.ones((N, D)) * 1j,
        np.full((N, D), "a"),
        np.ones((N, D), dtype=object),
        sp.csc_matrix(np.ones((N, D)) * 1j),
    ],
)
def test_a_without_real_numbers_is_refused(A: Any) -> None:
    with pytest.raises(TypeError, match=r"^A must hold real numbers"):
        shotgun.solve(A, np.ones(N), 1.0)


@pytest.mark.parametrize("name", ["y", "weights", "offset", "x0", "penalty_factor"])
def test_vectors_of_words_are_refused(data: Data, name: str) -> None:
    given = {"y": data.y, name: ["a"] * (D if name in ("x0", "penalty_factor") else N)}
    with pytest.raises(TypeError, match=f"^{name} must hold real numbers"):
        shotgun.solve(data.A, given.pop("y"), 1.0, **given)


@pytest.mark.parametrize("value", [-1.0, -1e-300, np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["lam", "tol", "l2"])
def test_negative_or_not_finite_numbers_are_refused(data: Data, name: str, value: float) -> None:
    given = {"lam": 1.0, name: value}
    with pytest.raises(ValueError, match=f"^{name} must be"):
        shotgun.solve(data.A, data.y, **given)


@pytest.mark.parametrize("name", ["lam", "tol", "l2", "deadline"])
def test_numbers_that_are_words_are_refused(data: Data, name: str) -> None:
    given: dict[str, Any] = {"lam": 1.0, name: "much"}
    with pytest.raises(TypeError, match=f"^{name} must be a number"):
        shotgun.solve(data.A, data.y, **given)


@pytest.mark.parametrize("labels", [[0], [1], [0, 1, 2], ["a"], ["a", "b", "c"], [-1, 0, 1, 2]])
def test_other_than_two_classes_are_refused(classes: Data, labels: list[Any]) -> None:
    y = np.array(labels)[np.arange(N) % len(labels)]
    with pytest.raises(ValueError, match=r"^y must hold exactly two classes"):
        shotgun.solve(classes.A, y, 1.0, "logistic")


@pytest.mark.parametrize(
    "pair", [(-1, 1), (0, 1), (1, 2), (False, True), ("ham", "spam"), (-3.5, 1e9), (b"a", b"b")]
)
def test_two_values_of_any_kind_are_the_same_two_classes(classes: Data, pair: Any) -> None:
    plain = shotgun.solve(classes.A, classes.y, 1.0, "logistic")
    y = np.array(pair)[(classes.y > 0).astype(int)]
    named = shotgun.solve(classes.A, y, 1.0, "logistic")
    assert plain.x.any()
    np.testing.assert_array_equal(named.x, plain.x)
    listed = shotgun.solve(classes.A, y.tolist(), 1.0, "logistic")
    np.testing.assert_array_equal(listed.x, plain.x)


@pytest.mark.parametrize("value", [-1.0, -1e-300])
def test_negative_weights_are_refused(data: Data, value: float) -> None:
    with pytest.raises(ValueError, match=r"^weights must not be negative; position 5"):
        shotgun.solve(data.A, data.y, 1.0, weights=with_entry(np.ones(N), 5, value))


def test_weights_that_are_all_zero_are_refused(data: Data) -> None:
    with pytest.raises(ValueError, match=r"^weights must not all be zero"):
        shotgun.solve(data.A, data.y, 1.0, weights=np.zeros(N))


def test_negative_penalty_factor_is_refused(data: Data) -> None:
    with pytest.raises(ValueError, match=r"^penalty_factor must not be negative; position 5"):
        shotgun.solve(data.A, data.y, 1.0, penalty_factor=with_entry(np.ones(D), 5, -1.0))


@pytest.mark.parametrize(
    "bounds",
    [
        (1.0, 0.0),
        (0.0, -1e-9),
        (with_entry(np.zeros(D), 5, 2.0), 1.0),
        (np.inf, np.inf),
        (-np.inf, -np.inf),
    ],
)
def test_lo_above_hi_is_refused(data: Data, bounds: Any) -> None:
    with pytest.raises(ValueError, match=r"^bounds must satisfy lo <= hi"):
        shotgun.solve(data.A, data.y, 1.0, bounds=bounds)


@pytest.mark.parametrize("bounds", [3.0, (1.0,), (0.0, 1.0, 2.0)])
def test_bounds_that_are_no_pair_are_refused(data: Data, bounds: Any) -> None:
    with pytest.raises(ValueError, match=r"^bounds must be a pair"):
        shotgun.solve(data.A, data.y, 1.0, bounds=bounds)


@pytest.mark.parametrize("side", [0, 1])
def test_bounds_with_nan_are_refused(data: Data, side: int) -> None:
    bounds = [-1.0, 1.0]
    bounds[side] = np.nan
    with pytest.raises(ValueError, match=rf"^bounds\[{side}\] contains NaN"):
        shotgun.solve(data.A, data.y, 1.0, bounds=tuple(bounds))


@pytest.mark.parametrize("bounds", [(0.5, 1.0), (-1.0, -0.5)])
def test_bounds_without_zero_for_an_excluded_feature_are_refused(data: Data, bounds: Any) -> None:
    factor = with_entry(np.ones(D), 5, np.inf)
    with pytest.raises(ValueError, match=r"^bounds of feature 5 exclude 0"):
        shotgun.solve(data.A, data.y, 1.0, bounds=bounds, penalty_factor=factor)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("engine", "magic"),
        ("engine", None),
        ("loss", "hinges"),
        ("loss", 3),
        ("order", "up"),
    ],
)
def test_unknown_words_are_refused(data: Data, name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"^{name} must be one of"):
        shotgun.solve(data.A, data.y, 1.0, **{name: value})


@pytest.mark.parametrize("name", ["P", "n_threads", "max_epochs", "seed"])
@pytest.mark.parametrize(("value", "error"), [(-1, ValueError), (1.5, TypeError), ("x", TypeError)])
def test_counts_that_are_none_are_refused(data: Data, name: str, value: Any, error: Any) -> None:
    with pytest.raises(error, match=f"^{name} must be"):
        shotgun.solve(data.A, data.y, 1.0, **{name: value})


@pytest.mark.parametrize("name", ["P", "n_threads"])
def test_zero_at_once_is_refused(data: Data, name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name} must be at least 1"):
        shotgun.solve(data.A, data.y, 1.0, **{name: 0})


# Malformed sparse matrices: refused before the core reads through them.


def break_last_pointer(M: Any) -> None:
    M.indptr[-1] += 5


def break_huge_pointer(M: Any) -> None:
    M.indptr[-1] = np.iinfo(M.indptr.dtype).max


def break_order_of_pointers(M: Any) -> None:
    M.indptr[3] = M.indptr[5] + 1


def break_middle_pointer_out_of_range(M: Any) -> None:
    M.indptr[3] = np.iinfo(M.indptr.dtype).max


def break_negative_pointer(M: Any) -> None:
    M.indptr[3] = -4


def break_first_pointer(M: Any) -> None:
    M.indptr[0] = 1


def break_first_pointer_below(M: Any) -> None:
    M.indptr[0] = -1


def break_short_pointers(M: Any) -> None:
    M.indptr = M.indptr[:-1].copy()


def break_long_pointers(M: Any) -> None:
    M.indptr = np.append(M.indptr, M.indptr[-1])


def break_index_too_large(M: Any) -> None:
    M.indices[4] = max(M.shape)


def break_index_huge(M: Any) -> None:
    M.indices[-1] = np.iinfo(M.indices.dtype).max


def break_index_negative(M: Any) -> None:
    M.indices[4] = -1


def break_short_indices(M: Any) -> None:
    M.indices = M.indices[:-3].copy()


def break_short_data(M: Any) -> None:
    M.data = M.data[:-3].copy()


def break_short_data_and_indices(M: Any) -> None:
    M.data, M.indices = M.data[:-3].copy(), M.indices[:-3].copy()


BREAKERS = [value for name, value in sorted(globals().items()) if name.startswith("break_")]


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("form", ["csc", "csr"])
@pytest.mark.parametrize("breaker", BREAKERS)
def test_malformed_sparse_matrices_are_refused(
    breaker: Callable[[Any], None], form: str, index: Any
) -> None:
    data = make_data(N, N, density=0.3)
    M = sp.csc_matrix(data.A).asformat(form)
    M.indptr, M.indices = M.indptr.astype(index), M.indices.astype(index)
    breaker(M)
    with pytest.raises(ValueError, match=r"^A"):
        shotgun.solve(M, data.y, 1.0)
    with pytest.raises(ValueError, match=r"^A"):
        shotgun.spectral_radius(M)


def shuffled(M: Any, seed: int = 0) -> Any:
    """The same matrix with the entries of each line in random order."""
    rng = np.random.default_rng(seed)
    data, indices = M.data.copy(), M.indices.copy()
    for begin, end in zip(M.indptr[:-1], M.indptr[1:], strict=True):
        order = rng.permutation(end - begin) + begin
        data[begin:end], indices[begin:end] = M.data[order], M.indices[order]
    return type(M)((data, indices, M.indptr), shape=M.shape)


@pytest.mark.parametrize("form", ["csc", "csr"])
def test_unsorted_entries_give_the_same_bits_and_stay_unsorted(form: str) -> None:
    data = make_data(200, 50, density=0.2)
    M = sp.csc_matrix(data.A).asformat(form)
    mixed = shuffled(M)
    indices, values = mixed.indices.copy(), mixed.data.copy()
    assert (indices != M.indices).any()
    fit = shotgun.solve(mixed, data.y, data.lam_max / 10)
    np.testing.assert_array_equal(fit.x, shotgun.solve(M, data.y, data.lam_max / 10).x)
    np.testing.assert_array_equal(mixed.indices, indices)
    np.testing.assert_array_equal(mixed.data, values)


@pytest.mark.parametrize("form", ["csc", "csr"])
def test_duplicate_entries_add_up(form: str) -> None:
    data = make_data(60, 20, density=0.3)
    M = sp.csc_matrix(data.A).asformat(form)
    twice = np.repeat(np.arange(M.nnz), 2)
    quarters = np.tile([0.25, 0.75], M.nnz) * M.data[twice]
    doubled = type(M)((quarters, M.indices[twice], 2 * M.indptr), shape=M.shape)
    fit = shotgun.solve(doubled, data.y, data.lam_max / 10, tol=1e-10)
    plain = shotgun.solve(M, data.y, data.lam_max / 10, tol=1e-10)
    assert doubled.nnz == 2 * M.nnz
    np.testing.assert_allclose(fit.x, plain.x, rtol=1e-6, atol=1e-9)
    assert fit.objective == pytest.approx(plain.objective, rel=1e-12)


def test_explicit_zeros_change_nothing() -> None:
    data = make_data(60, 20, density=0.3)
    M = sp.csc_matrix(data.A)
    rows, columns = np.nonzero(np.ones_like(data.A).T)[::-1]
    full = sp.csc_matrix((data.A[rows, columns], (rows, columns)), shape=data.A.shape)
    assert full.nnz > M.nnz
    fit = shotgun.solve(full, data.y, data.lam_max / 10, tol=1e-12)
    assert fit.objective == pytest.approx(
        shotgun.solve(M, data.y, data.lam_max / 10, tol=1e-12).objective, rel=1e-12
    )


def test_a_table_may_have_a_column_of_any_name(data: Data) -> None:
    names = ["tocsc", *map(str, range(1, D))]
    s = shotgun.solve(pd.DataFrame(data.A, columns=names), data.y, 1.0)
    assert s.x.tobytes() == shotgun.solve(data.A, data.y, 1.0).x.tobytes()


def test_spare_room_at_the_end_of_a_sparse_matrix_is_not_read() -> None:
    data = make_data(60, 20, density=0.3)
    M = sp.csc_matrix(data.A)
    spare = sp.csc_matrix(M.shape)
    spare.indptr = M.indptr
    spare.indices = np.append(M.indices, np.full(7, 10**6, dtype=M.indices.dtype))
    spare.data = np.append(M.data, np.full(7, np.nan))
    np.testing.assert_array_equal(
        shotgun.solve(spare, data.y, data.lam_max / 10).x,
        shotgun.solve(M, data.y, data.lam_max / 10).x,
    )


# All layouts, element and index types are the same problem.


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


# Nothing is written to, and no copy of A is made that is not needed.


def freeze(A: Any) -> None:
    for array in (A.data, A.indices, A.indptr) if sp.issparse(A) else (A,):
        array.flags.writeable = False


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("engine", ["shooting", "bundle", "block", "newton", "asynchronous"])
@pytest.mark.parametrize("options", [{}, {"standardize": True, "fit_intercept": True}])
def test_input_is_never_written_to(layout: Any, engine: str, options: Any) -> None:
    data = make_data(N, D)
    A, y, x0, w = layout(data.A.copy()), data.y.copy(), np.ones(D), np.full(N, 0.5)
    freeze(A)
    for vector in (y, x0, w):
        vector.flags.writeable = False
    fit = shotgun.solve(A, y, 1.0, engine=engine, x0=x0, weights=w, offset=w, **options)
    assert fit.status == "converged"
    np.testing.assert_array_equal(A.toarray() if sp.issparse(A) else A, data.A)
    np.testing.assert_array_equal(y, data.y)
    np.testing.assert_array_equal(x0, np.ones(D))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_read_only_memory_maps_are_read_in_place(tmp_path: Path, order: Any, dtype: Any) -> None:
    data = make_data(60, 12)
    A = data.A.astype(dtype)
    mapped = np.memmap(tmp_path / "A", dtype=dtype, mode="w+", shape=A.shape, order=order)
    mapped[...] = A
    mapped.flush()
    y_mapped = np.memmap(tmp_path / "y", dtype=np.float64, mode="w+", shape=data.y.shape)
    y_mapped[...] = data.y
    y_mapped.flush()
    mapped = np.memmap(tmp_path / "A", dtype=dtype, mode="r", shape=A.shape, order=order)
    y_mapped = np.memmap(tmp_path / "y", dtype=np.float64, mode="r", shape=data.y.shape)
    fit = shotgun.solve(mapped, y_mapped, 1.0)
    np.testing.assert_array_equal(fit.x, shotgun.solve(A, data.y, 1.0).x)


def test_a_sparse_matrix_of_memory_maps_is_read_in_place(tmp_path: Path) -> None:
    data = make_data(60, 12, density=0.4)
    M = sp.csc_matrix(data.A)
    parts = []
    for name in ("data", "indices", "indptr"):
        np.save(tmp_path / f"{name}.npy", getattr(M, name))
        parts.append(np.load(tmp_path / f"{name}.npy", mmap_mode="r"))
    mapped = sp.csc_matrix(tuple(parts), shape=M.shape, copy=False)
    fit = shotgun.solve(mapped, data.y, 1.0)
    np.testing.assert_array_equal(fit.x, shotgun.solve(M, data.y, 1.0).x)


GROWTH = """
import resource, sys
import numpy as np, scipy.sparse as sp, shotgun
form, working_set = sys.argv[1], sys.argv[2] == "yes"
rng = np.random.default_rng(0)
if form == "dense":
    A = np.asfortranarray(rng.standard_normal((500, 40_000)))
    size = A.nbytes
else:
    nnz, d = 10_000_000, 100_000
    indices = np.tile(np.arange(0, 10_000, 100, dtype=np.int32), d)
    starts = np.arange(0, nnz + 1, 100, dtype=np.int32)
    A = sp.csc_matrix((rng.standard_normal(nnz), indices, starts), shape=(10_000, d))
    size = A.data.nbytes + A.indices.nbytes
y = rng.standard_normal(A.shape[0])
shotgun.solve(np.eye(100), np.arange(100.0), 1.0)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
lam = shotgun.lambda_max(A, y)
shotgun.spectral_radius(A, tol=0.1)
for engine in ("shooting", "bundle", "newton", "asynchronous"):
    shotgun.solve(A, y, 0.9 * lam, engine=engine, working_set=working_set, max_epochs=2, trace=True)
grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
print(grown / size)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in bytes elsewhere")
@pytest.mark.parametrize("working_set", ["yes", "no"])
@pytest.mark.parametrize("form", ["dense", "csc"])
def test_fortran_order_and_csc_are_read_without_a_copy(form: str, working_set: str) -> None:
    # 160 MB and 120 MB of A; the vectors of length d and the threads' stacks are allowed a quarter.
    out = subprocess.run(
        [sys.executable, "-c", GROWTH, form, working_set],
        capture_output=True,
        text=True,
        check=True,
    )
    assert float(out.stdout) < 0.25


# Unusual but valid.


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("sparse", [False, True])
def test_all_zero_columns_keep_weight_zero(
    fit_intercept: bool, standardize: bool, loss: str, sparse: bool
) -> None:
    data = make_data(N, D, loss)
    A = data.A.copy()
    A[:, [0, 4, 7]] = 0.0
    options = {"fit_intercept": fit_intercept, "standardize": standardize}
    fit = shotgun.solve(sp.csc_matrix(A) if sparse else A, data.y, 1.0, loss, **options)
    assert fit.status == "converged"
    assert (fit.x[[0, 4, 7]] == 0).all()
    reference = Reference.of(A, data.y, 1.0, loss, **options)
    assert fit.objective == pytest.approx(reference.objective(reference.solve()), abs=fit.gap)


@pytest.mark.parametrize("x0", [None, np.ones(D)])
def test_a_matrix_of_zeros_is_solved(x0: Any) -> None:
    fit = shotgun.solve(np.zeros((N, D)), np.arange(N), 1.0, fit_intercept=True, x0=x0)
    assert fit.status == "converged"
    np.testing.assert_array_equal(fit.x, 0.0)
    assert fit.intercept == pytest.approx((N - 1) / 2)


@pytest.mark.parametrize("value", [0.0, 1.0, -3.7, 1e-200, 1e150])
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_constant_y_with_an_intercept_needs_no_weights(
    data: Data, value: float, standardize: bool, sparse: bool
) -> None:
    A = sp.csr_matrix(data.A) if sparse else data.A
    fit = shotgun.solve(A, np.full(N, value), 1.0, fit_intercept=True, standardize=standardize)
    assert fit.status == "converged"
    assert fit.intercept == pytest.approx(value, rel=1e-12)
    assert np.abs(data.A @ fit.x).max() <= 1e-12 * abs(value)


def test_zero_y_without_an_intercept_is_solved_at_once(data: Data) -> None:
    fit = shotgun.solve(data.A, np.zeros(N), 1.0)
    assert (fit.status, fit.objective, fit.gap) == ("converged", 0.0, 0.0)
    assert not fit.x.any()


def test_constant_columns_are_left_to_the_intercept(data: Data) -> None:
    A = data.A.copy()
    A[:, 2] = 5.0
    for standardize in (False, True):
        fit = shotgun.solve(A, data.y, 1.0, fit_intercept=True, standardize=standardize)
        assert fit.status == "converged"
        assert fit.x[2] == 0


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("engine", ["shooting", "bundle", "block", "newton", "asynchronous"])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_column_scales_from_1e_minus_150_to_1e150_are_one_problem(
    loss: str, engine: str, fit_intercept: bool, sparse: bool
) -> None:
    # Footnote 1: columns scaled by s with factors s are the same problem, x divided by s.
    data = make_data(50, 12, loss, density=0.7)
    scale = np.ldexp(1.0, np.linspace(-498, 498, 12).astype(int))
    make = sp.csc_matrix if sparse else np.asfortranarray
    options: dict[str, Any] = {"engine": engine, "fit_intercept": fit_intercept, "tol": 1e-10}
    plain = shotgun.solve(make(data.A), data.y, data.lam_max / 10, loss, **options)
    scaled = shotgun.solve(
        make(data.A * scale), data.y, data.lam_max / 10, loss, penalty_factor=scale, **options
    )
    assert scaled.status == "converged"
    assert scaled.objective == pytest.approx(plain.objective, rel=1e-9)
    np.testing.assert_allclose(scaled.x * scale, plain.x, atol=1e-4)


@pytest.mark.parametrize("exponent", [-498, -300, -150, 150, 300, 498])
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("engine", ["shooting", "block", "newton"])
def test_a_matrix_of_any_scale_is_one_problem(
    exponent: int, standardize: bool, engine: str
) -> None:
    data = make_data(50, 12)
    scale = np.ldexp(1.0, exponent)
    options: dict[str, Any] = {
        "engine": engine,
        "standardize": standardize,
        "fit_intercept": standardize,
    }
    plain = shotgun.solve(data.A, data.y, 1.0, tol=1e-10, **options)
    lam = 1.0 if standardize else scale
    scaled = shotgun.solve(scale * data.A, data.y, lam, tol=1e-10, **options)
    assert scaled.status == "converged"
    assert scaled.objective == pytest.approx(plain.objective, rel=1e-9)
    np.testing.assert_allclose(scaled.x * scale, plain.x, atol=1e-4)


def test_standardize_undoes_any_column_scale() -> None:
    data = make_data(50, 12)
    scale = np.ldexp(1.0, np.linspace(-498, 498, 12).astype(int))
    plain = shotgun.solve(data.A, data.y, 1.0, standardize=True, tol=1e-10)
    scaled = shotgun.solve(data.A * scale, data.y, 1.0, standardize=True, tol=1e-10)
    assert scaled.objective == pytest.approx(plain.objective, rel=1e-9)
    np.testing.assert_allclose(scaled.x * scale, plain.x, atol=1e-4)


def test_spectral_radius_does_not_depend_on_column_scales() -> None:
    data = make_data(50, 12)
    scale = np.ldexp(1.0, np.linspace(-498, 498, 12).astype(int))
    assert shotgun.spectral_radius(data.A * scale) == pytest.approx(
        shotgun.spectral_radius(data.A), rel=1e-9
    )


@pytest.mark.parametrize("size", [1e-100, 1e100])
def test_y_of_any_scale_is_one_problem(data: Data, size: float) -> None:
    plain = shotgun.solve(data.A, data.y, 1.0, tol=1e-10)
    scaled = shotgun.solve(data.A, size * data.y, size, tol=1e-10)
    assert scaled.status == "converged"
    np.testing.assert_allclose(scaled.x / size, plain.x, atol=1e-4)


@pytest.mark.parametrize("scale", [1e155, 1e200])
def test_targets_too_large_to_square_are_refused(scale: float) -> None:
    data = make_data(20, 5)
    with pytest.raises(ValueError, match="y, offset or weights are too large"):
        shotgun.solve(data.A, data.y * scale, 1.0)


def test_a_penalty_out_of_range_proves_nothing() -> None:
    # The conjugate of l2 on a column of 1e146 overflows: its bracket of the gap is not zero.
    fit = shotgun.solve([[1e146]], [1e100], 5e245, l2=1.0)
    assert fit.gap >= fit.objective - 3.75e199  # F*
    fit = shotgun.solve(np.full((3, 1), 1e37), np.full(3, 1e150), 1e187, l2=1e-31, tol=0.0)
    assert fit.gap >= 0
    assert fit.status == "precision"


@pytest.mark.parametrize("size", [1.0, 5.9e-151, 5.9e151])
def test_a_constant_column_is_penalised_alike_at_any_scale(size: float) -> None:
    fit = shotgun.solve(np.full((4, 1), size), np.arange(4.0), 1.0, standardize=True, x0=[0.5])
    assert fit.status == "converged"
    assert fit.x[0] == 0
    assert fit.objective == pytest.approx(7.0)
    kept = shotgun.solve(
        np.full((4, 1), size), np.arange(4.0), 1.0, standardize=True, bounds=(2, 3)
    )
    assert kept.objective == pytest.approx(7.0 + 2.0)  # it explains nothing, and pays lam |x|


def test_the_tolerance_is_what_the_gap_was_held_against() -> None:
    fit = shotgun.solve(np.eye(3), np.full(3, 0.1), 1.0, fit_intercept=True)
    assert fit.null_objective > 0  # but nothing else than rounding
    assert fit.status == "converged"
    assert fit.gap <= fit.tolerance


def test_one_class_among_the_rows_that_count_is_refused() -> None:
    data = make_data(20, 5, "logistic")
    with pytest.raises(ValueError, match="y must hold exactly two classes"):
        shotgun.solve(data.A, data.y, 1.0, "logistic", weights=(data.y > 0).astype(float))


@pytest.mark.parametrize("name", ["y", "weights", "offset", "x0"])
@pytest.mark.parametrize("dtype", [complex, "U5", "datetime64[s]"])
def test_vectors_of_other_kinds_are_refused_by_name(name: str, dtype: Any) -> None:
    data = make_data(20, 5)
    wrong = {name: np.zeros(5 if name == "x0" else 20).astype("i8").astype(dtype)}
    arguments = {"A": data.A, "y": data.y, "lam": 1.0} | wrong
    with pytest.raises(TypeError, match=f"{name} must hold real numbers"):
        shotgun.solve(**arguments)


@pytest.mark.parametrize("name", ["seed", "P", "max_epochs", "n_threads"])
def test_counts_beyond_the_core_are_refused_by_name(name: str) -> None:
    data = make_data(20, 5)
    with pytest.raises(ValueError, match=f"{name} must be at most"):
        shotgun.solve(data.A, data.y, 1.0, **{name: 2**70})


def test_labels_that_do_not_compare_are_refused_by_name() -> None:
    data = make_data(20, 5, "logistic")
    labels = np.array(["a", None] * 10, dtype=object)
    with pytest.raises(TypeError, match="y must hold labels of one kind"):
        shotgun.solve(data.A, labels, 1.0, "logistic")


def _status(field: str) -> int:
    """Bytes, from the kernel's account of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) * 1024


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads Linux's account of memory")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", ["fortran", "csc int32", "csc int64"])
def test_a_plain_engine_reads_fortran_order_and_csc_in_place(form: str, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    A = np.asfortranarray(rng.normal(size=(20_000, 400)) * (rng.random((20_000, 400)) < 0.5), dtype)
    size = A.nbytes
    if form != "fortran":
        A = sp.csc_array(A)
        index = np.dtype(form.split()[1])
        A.indices, A.indptr = A.indices.astype(index), A.indptr.astype(index)
        size = A.data.nbytes + A.indices.nbytes
    y = rng.normal(size=20_000)
    options: dict[str, Any] = {
        "engine": "shooting",
        "working_set": False,
        "max_epochs": 1,
        "tol": 0.0,
    }
    shotgun.solve(A[:, :2], y, 1.0, **options)  # what is loaded once is not the fit's
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts from here
    before = _status("VmRSS")
    shotgun.solve(A, y, 1.0, **options)
    assert _status("VmHWM") - before < 0.1 * size
