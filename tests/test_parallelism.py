"""rho and P* are those of the column-normalised A'A, and the report says so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import shotgun
from conftest import RealData, make_data
from shotgun import disk


def exact_rho(A: Any, weights: Any = None, centre: bool = False) -> float:
    A = np.asarray(A.toarray() if sp.issparse(A) else A, dtype=np.float64)
    w = np.ones(A.shape[0]) if weights is None else np.asarray(weights)
    if centre:
        A = A - w @ A / w.sum()
    A = np.sqrt(w)[:, None] * A
    norms = np.linalg.norm(A, axis=0)
    A = A / np.where(norms > 0, norms, 1.0)
    return float(np.linalg.svd(A, compute_uv=False)[0] ** 2)


@pytest.mark.parametrize("d", [1, 2, 10, 100])
@pytest.mark.parametrize("form", [np.asarray, sp.csc_matrix, sp.csr_matrix])
def test_orthonormal_columns_have_rho_1(d: int, form: Any) -> None:
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((100, d)))[0]
    assert shotgun.spectral_radius(form(Q)) == pytest.approx(1.0, rel=1e-9)
    assert shotgun.ideal_p(form(Q)) == d


@pytest.mark.parametrize("d", [1, 2, 10, 100])
@pytest.mark.parametrize("form", [np.asarray, sp.csc_matrix])
def test_identical_columns_have_rho_d(d: int, form: Any) -> None:
    column = np.random.default_rng(0).standard_normal(50)
    signs = np.where(np.arange(d) % 2, -1.0, 1.0)  # parallel or opposite: the same line
    A = form(np.outer(column, signs * np.arange(1, d + 1)))
    assert shotgun.spectral_radius(A) == pytest.approx(d, rel=1e-9)
    assert shotgun.ideal_p(A) == 1


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1), (50, 20), (20, 50), (200, 300)])
@pytest.mark.parametrize("density", [1.0, 0.3])
@pytest.mark.parametrize("centre", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_rho_is_the_largest_squared_singular_value(
    shape: tuple[int, int], density: float, centre: bool, weighted: bool
) -> None:
    data = make_data(*shape, density=density if min(shape) > 1 else 1.0)
    weights = np.random.default_rng(1).uniform(0.1, 3.0, shape[0]) if weighted else None
    if shape[0] == 1 and centre:  # one row, centred, is nothing
        assert shotgun.spectral_radius(data.A, weights=weights, centre=True) == 0
        return
    expected = exact_rho(data.A, weights, centre)
    for A in (data.A, data.A.astype(np.float32).astype(float), sp.csc_matrix(data.A)):
        rho = shotgun.spectral_radius(A, weights=weights, centre=centre)
        assert rho == pytest.approx(exact_rho(A, weights, centre), rel=1e-6)
    assert shotgun.ideal_p(data.A, weights=weights, centre=centre) == np.ceil(
        shape[1] / expected * (1 - 1e-6)
    )


@pytest.mark.parametrize("ratio", [0.9, 0.999, 1 - 1e-6])
def test_a_second_eigenvalue_close_by_does_not_mislead(ratio: float) -> None:
    # Two pairs of correlated columns: eigenvalues 1 + c and 1 + ratio c, the rest below.
    c = 0.8
    G = np.eye(60)
    G[0, 1] = G[1, 0] = c
    G[2, 3] = G[3, 2] = ratio * c
    A = np.linalg.cholesky(G).T
    assert shotgun.spectral_radius(A) == pytest.approx(1 + c, rel=1e-6)


def test_the_start_vector_does_not_hide_the_largest_eigenvector() -> None:
    # The leading eigenvector has mean zero: a start of ones would be orthogonal to it.
    d = 40
    signs = np.where(np.arange(d) % 2, -1.0, 1.0)
    G = 0.5 * np.eye(d) + 0.5 * np.outer(signs, signs)
    A = np.linalg.cholesky(G).T
    assert shotgun.spectral_radius(A) == pytest.approx(0.5 + 0.5 * d, rel=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_rho_does_not_depend_on_the_seed_or_the_threads(seed: int) -> None:
    data = make_data(300, 200, rank=2)
    rho = shotgun.spectral_radius(data.A, seed=seed)
    assert rho == pytest.approx(exact_rho(data.A), rel=1e-6)
    for n_threads in (1, 2, 8):
        assert shotgun.spectral_radius(data.A, seed=seed, n_threads=n_threads) == rho


def test_zero_columns_count_in_d_but_not_in_rho() -> None:
    data = make_data(50, 20)
    A = np.hstack([data.A, np.zeros((50, 20))])
    rho = shotgun.spectral_radius(A)
    assert rho == pytest.approx(exact_rho(data.A), rel=1e-6)
    assert shotgun.spectral_radius(np.zeros((5, 3))) == 0
    assert shotgun.ideal_p(np.zeros((5, 3))) == 3


def test_constant_columns_vanish_when_centred() -> None:
    data = make_data(50, 20)
    A = np.hstack([data.A, np.full((50, 5), 7.0)])
    assert shotgun.spectral_radius(A, centre=True) == pytest.approx(
        exact_rho(data.A, centre=True), rel=1e-6
    )
    assert shotgun.spectral_radius(A) >= 5


def test_centring_a_shifted_matrix_undoes_the_shift() -> None:
    data = make_data(100, 30)
    shifted = data.A + 1e3
    assert shotgun.spectral_radius(shifted) == pytest.approx(30, rel=1e-3)
    assert shotgun.spectral_radius(shifted, centre=True) == pytest.approx(
        exact_rho(data.A, centre=True), rel=1e-6
    )


def test_a_loose_tolerance_is_still_within_itself() -> None:
    data = make_data(300, 200)
    for tol in (0.3, 1e-2, 1e-4):
        rho = shotgun.spectral_radius(data.A, tol=tol)
        assert exact_rho(data.A) * (1 - tol) <= rho <= exact_rho(data.A) * (1 + 1e-9)


def test_ideal_p_does_not_jump_at_whole_numbers() -> None:
    # Four groups of five identical columns: rho = 5 and d / rho = 4, approached from above.
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((50, 4)))[0]
    assert shotgun.ideal_p(np.repeat(Q, 5, axis=1)) == 4


def test_weights_of_absent_rows_change_nothing() -> None:
    data = make_data(60, 20)
    w = np.ones(60)
    w[::3] = 0
    assert shotgun.spectral_radius(data.A, weights=w) == pytest.approx(
        exact_rho(data.A[w > 0]), rel=1e-6
    )


@pytest.mark.parametrize("form", [np.asarray, sp.csc_matrix])
def test_the_report_prints_what_it_knows(form: Any) -> None:
    data = make_data(80, 30, density=0.25)
    told = shotgun.report(form(data.A))
    assert (told.n, told.d) == (80, 30)
    assert told.rho == pytest.approx(exact_rho(data.A), rel=1e-6)
    assert told.ideal_p == shotgun.ideal_p(data.A)
    if form is sp.csc_matrix:
        assert told.density == pytest.approx((data.A != 0).mean())
    text = str(told)
    for word in ("80 x 30", "rho", f"{told.rho:.6g}", "P*", str(told.ideal_p), "engine"):
        assert word in text
    assert told.engine in text
    assert told.engine == shotgun.solve(form(data.A), data.y, 1.0).engine


def shards_of(A: Any) -> Any:
    dask = pytest.importorskip("dask")
    return [dask.delayed(rows) for rows in (A[:30], A[30:])]


def array_of_dask(A: Any) -> Any:
    return pytest.importorskip("dask.array").from_array(A, chunks=(30, 10))


def frame(A: Any) -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(A, columns=["nnz", *map(str, range(1, A.shape[1]))])


@pytest.mark.parametrize("form", [np.ndarray.tolist, frame, shards_of, array_of_dask])
def test_the_report_of_dense_columns_is_the_same_whatever_holds_them(form: Any) -> None:
    A = make_data(80, 30, rank=2).A
    told, plain = shotgun.report(form(A)), shotgun.report(A)
    assert (told.n, told.d, told.density) == (80, 30, 1.0)
    assert (told.engine, told.why) == (plain.engine, plain.why)


@pytest.mark.parametrize("elsewhere", [False, True])
def test_the_report_of_sparse_columns_says_so(elsewhere: bool, tmp_path: Path) -> None:
    A = sp.coo_array(make_data(80, 30, density=0.25).A)
    told = shotgun.report(disk.write(A, tmp_path / "A") if elsewhere else A)
    assert (told.n, told.d, told.density) == (80, 30, A.nnz / 2400)
    assert told.why.startswith("sparse columns")


@pytest.mark.parametrize("name", ["weights", "tol", "n_threads", "seed"])
@pytest.mark.parametrize("function", [shotgun.spectral_radius, shotgun.ideal_p, shotgun.report])
def test_bad_arguments_are_named(function: Any, name: str) -> None:
    data = make_data(20, 5)
    with pytest.raises(ValueError, match=rf"^{name} must"):
        function(data.A, **{name: -np.ones(20) if name == "weights" else -1})


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_fit_learns_rho_of_its_columns_cheaply(loss: str, fit_intercept: bool) -> None:
    # Correlated columns: a long fit, whose 5 % is plenty for power iteration.
    data = make_data(300, 80, loss, rank=2, seed=1)
    fit = shotgun.solve(
        data.A,
        data.y,
        data.lam_max / 200,
        loss,
        engine="shooting",
        working_set=False,
        fit_intercept=fit_intercept,
        tol=1e-8,
    )
    assert fit.rho is not None
    expected = exact_rho(data.A, centre=fit_intercept)
    assert 0.5 * expected <= fit.rho <= expected * (1 + 1e-6)


def test_a_short_fit_does_not_pay_for_rho() -> None:
    data = make_data(300, 80)
    fit = shotgun.solve(data.A, data.y, data.lam_max / 10, working_set=False, max_epochs=1)
    assert fit.rho is None


def test_bundle_takes_p_from_the_data() -> None:
    alike = make_data(300, 60, rank=1, seed=2)
    fit = shotgun.solve(
        alike.A, alike.y, alike.lam_max / 1000, engine="bundle", working_set=False, tol=1e-10
    )
    assert fit.rho == pytest.approx(exact_rho(alike.A), rel=1e-3)
    assert int(np.ceil(60 / fit.rho * (1 - 1e-6))) == fit.P < 8


@pytest.mark.parametrize(
    ("name", "rho", "ideal_p"),
    [("ball64_singlepixcam", "2047.8", 3), ("mug32_singlepixcam", "6.4967", 158)],
)
def test_the_papers_cameras_have_the_printed_rho(
    real_data: Callable[[str], RealData], name: str, rho: str, ideal_p: int
) -> None:
    A = real_data(name).A
    decimals = len(rho.split(".")[1])
    assert f"{shotgun.spectral_radius(A):.{decimals}f}" == rho
    assert shotgun.ideal_p(A) == ideal_p


@pytest.mark.parametrize(
    ("name", "rho", "ideal_p"),
    [
        ("mug05_12_12", 5.78886, 4288),
        ("a9a", 13.886, 9),
        ("basehock", 225.96, 22),
        ("congress109", 130.71, 8),
        ("diabetes64", 10.774, 6),
        ("sparco003_cosspike", 2.0, 1024),
        ("sparco009_blkheavi", 88.878, 2),
        ("we8there", 27.318, 97),
    ],
)
def test_rho_of_real_data_is_the_recorded_one(
    real_data: Callable[[str], RealData], name: str, rho: float, ideal_p: int
) -> None:
    A = real_data(name).A
    assert shotgun.spectral_radius(A) == pytest.approx(rho, rel=1e-4)
    assert shotgun.ideal_p(A) == ideal_p
