"""The catalogue: sizes as promised, unit columns, the same data each time, what sets each apart."""

from __future__ import annotations

import os

import numpy as np
import pytest
import scipy.sparse as sp

import shotgun
from shotgun.study.problems import Category, catalogue, every, find, missing, unit_columns
from shotgun.study.problems.sparco import blocks
from shotgun.study.problems.wavelets import basis, daubechies, picture_basis

SMALL = [p for p in every() if not p.file and p.n * min(p.d, 20_000) <= 10_000_000]


def column_norms(A):
    squares = A.multiply(A).sum(axis=0) if sp.issparse(A) else (A * A).sum(axis=0)
    return np.sqrt(np.asarray(squares).ravel())


def test_names_are_unique():
    names = [p.name for p in every()]
    assert len(names) == len(set(names))


def test_35_problems_need_no_data_and_ten_of_them_are_sparcos():
    generated = [p for p in every() if not p.file]
    assert len(generated) >= 35
    assert sum(p.category is Category.SPARCO for p in generated) >= 10
    assert {p.category for p in generated} == set(Category)


def test_sizes_span_those_of_the_paper():
    sizes = {c: [(p.n, p.d) for p in every() if p.category is c] for c in Category}
    assert min(sizes[Category.IMAGING]) == (477, 954)
    assert max(sizes[Category.IMAGING]) == (32768, 65536)
    assert min(sizes[Category.CAMERA]) == (410, 1024)
    assert max(sizes[Category.CAMERA]) == (4770, 16384)
    assert max(d for _, d in sizes[Category.TEXT]) == 5_845_762


def test_without_data_the_real_ones_are_left_out_and_said_to_be(monkeypatch):
    monkeypatch.delenv("SHOTGUN_DATA", raising=False)
    assert all(not p.file for p in catalogue())
    assert {p.name for p in missing()} >= {"ball64_singlepixcam", "mug05_12_12"}
    with pytest.raises(ValueError, match="SHOTGUN_DATA"):
        find("ball64_singlepixcam").load()


def test_an_unknown_name_is_refused():
    with pytest.raises(ValueError, match="no problem nonsense"):
        find("nonsense")


@pytest.mark.parametrize("problem", SMALL, ids=lambda p: p.name)
def test_a_problem_has_its_size_and_unit_columns(problem):
    A, y = problem.load()
    assert A.shape == (problem.n, problem.d)
    assert y.shape == (problem.n,)
    norms = column_norms(A)
    assert np.allclose(norms[norms > 0], 1.0, atol=1e-5)
    assert np.mean(norms == 0) < 0.5
    if problem.loss == "logistic":
        assert set(np.unique(y)) == {-1.0, 1.0}


@pytest.mark.parametrize("name", ["sparco011_gausspike", "signs_477", "news_small"])
def test_a_problem_is_the_same_each_time(name):
    (A, y), (B, z) = find(name).load(), find(name).load()
    assert abs(A - B).max() == 0
    assert np.array_equal(y, z)


def test_cameras_with_0_1_masks_have_p_star_3_and_those_with_signs_a_large_one():
    assert shotgun.ideal_p(find("china32_01").load()[0]) == 3
    assert shotgun.ideal_p(find("flower32_pm").load()[0]) > 100


def test_sparse_imaging_is_of_signs_and_spreads_over_its_rows():
    A, _ = find("signs_477").load()
    assert np.allclose(np.abs(A.data), A.data.max())
    assert np.all(np.diff(A.indptr) == 36)
    assert shotgun.spectral_radius(A, tol=1e-3) == pytest.approx((1 + np.sqrt(2)) ** 2, rel=0.05)


def test_sparcos_own_properties():
    orthonormal, _ = find("sparco002_blocksig").load()
    assert shotgun.spectral_radius(orthonormal) == pytest.approx(1.0, abs=1e-6)
    two_bases, _ = find("sparco003_cosspike_new").load()
    assert shotgun.spectral_radius(two_bases) == pytest.approx(2.0, abs=1e-4)
    assert np.count_nonzero(np.abs(np.diff(blocks(1023))) > 1e-9) == 11


@pytest.mark.parametrize("moments", [1, 2, 4])
def test_wavelets_are_orthonormal_and_annihilate_polynomials(moments):
    taps = daubechies(moments)
    assert len(taps) == 2 * moments
    high = taps[::-1] * (-1.0) ** np.arange(2 * moments)
    for power in range(moments):
        assert high @ np.arange(2.0 * moments) ** power == pytest.approx(0, abs=1e-8)
    for W in (basis(64, moments), picture_basis(16, moments)):
        assert abs(W.T @ W - sp.identity(W.shape[0])).max() < 1e-10


def test_unit_columns_leave_empty_ones():
    A = np.array([[3.0, 0.0], [4.0, 0.0]])
    for given in (A, sp.csc_matrix(A)):
        scaled = unit_columns(given.copy())
        assert column_norms(scaled).tolist() == [1.0, 0.0]


@pytest.mark.skipif("SHOTGUN_DATA" not in os.environ, reason="SHOTGUN_DATA is not set")
@pytest.mark.parametrize("problem", [p for p in catalogue() if p.file and p.d < 30_000])
def test_real_data_have_the_sizes_of_the_catalogue(problem):
    A, y = problem.load()
    assert A.shape == (problem.n, problem.d)
    assert y.shape == (problem.n,)


@pytest.mark.skipif("SHOTGUN_DATA" not in os.environ, reason="SHOTGUN_DATA is not set")
def test_rho_of_the_papers_cameras_is_as_printed():
    assert round(shotgun.spectral_radius(find("ball64_singlepixcam").load()[0]), 1) == 2047.8
    assert round(shotgun.spectral_radius(find("mug32_singlepixcam").load()[0]), 4) == 6.4967
