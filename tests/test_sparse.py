"""Sparse matrices: malformed ones are refused before the core reads them, untidy ones are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import shotgun
from conftest import SMALL, make_data

N, _ = SMALL


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


def in_parts(M: Any) -> Any:
    """The same matrix with every entry there twice, a quarter of it and the rest."""
    twice = np.repeat(np.arange(M.nnz), 2)
    quarters = np.tile([0.25, 0.75], M.nnz) * M.data[twice]
    return type(M)((quarters, M.indices[twice], 2 * M.indptr), shape=M.shape)


@pytest.mark.parametrize("form", ["csc", "csr"])
def test_duplicate_entries_add_up(form: str) -> None:
    data = make_data(60, 20, density=0.3)
    M = sp.csc_matrix(data.A).asformat(form)
    fit = shotgun.solve(in_parts(M), data.y, data.lam_max / 10, tol=1e-10)
    plain = shotgun.solve(M, data.y, data.lam_max / 10, tol=1e-10)
    assert in_parts(M).nnz == 2 * M.nnz
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
