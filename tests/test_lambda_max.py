"""lambda_max is where the weights begin, and F0, which tol is relative to, is F there."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import shotgun
from conftest import OPTIONS, D, N, make_data
from reference import Reference
from shotgun.solve import ENGINES


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("name", list(OPTIONS))
def test_lambda_max_separates_zeros_from_nonzeros(name: str, loss: str, sparse: bool) -> None:
    data = make_data(N, D, loss, density=0.6 if sparse else 1.0)
    A = sp.csc_matrix(data.A) if sparse else data.A
    options = OPTIONS[name]
    penalised = np.asarray(options.get("penalty_factor", np.ones(D))) > 0
    rest = np.clip(0.0, *(options.get("bounds", (-np.inf, np.inf))))
    rest = np.broadcast_to(np.where(np.isnan(rest), 0.0, rest), D)
    lam_max = shotgun.lambda_max(A, data.y, loss, **options)
    assert lam_max > 0
    for lam in (lam_max * (1 + 1e-9), 2 * lam_max):
        fit = shotgun.solve(A, data.y, lam, loss, tol=1e-9, **options)
        np.testing.assert_allclose(fit.x[penalised], rest[penalised], atol=1e-6)
    below = shotgun.solve(A, data.y, 0.98 * lam_max, loss, tol=1e-9, **options)
    assert np.abs(below.x - rest)[penalised].max() > 1e-5


def test_lambda_max_of_least_squares_is_the_largest_correlation() -> None:
    data = make_data(N, D)
    assert shotgun.lambda_max(data.A, data.y) == pytest.approx(np.abs(data.A.T @ data.y).max())
    centred = data.y - data.y.mean()
    assert shotgun.lambda_max(data.A, data.y, fit_intercept=True) == pytest.approx(
        np.abs(data.A.T @ centred).max()
    )


@pytest.mark.parametrize("working_set", [True, False])
@pytest.mark.parametrize("engine", ENGINES)
def test_at_lambda_max_the_answer_is_exactly_zero_without_an_epoch(
    engine: str, working_set: bool
) -> None:
    data = make_data(N, D)
    lam = shotgun.lambda_max(data.A, data.y) * (1 + 1e-12)
    fit = shotgun.solve(data.A, data.y, lam, engine=engine, working_set=working_set)
    assert (fit.status, fit.n_epochs) == ("converged", 0)
    np.testing.assert_array_equal(fit.x, 0.0)
    assert fit.objective == pytest.approx(0.5 * data.y @ data.y)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("name", list(OPTIONS))
def test_tolerance_is_tol_times_f_at_zero_with_the_free_part_at_its_best(
    name: str, loss: str
) -> None:
    data = make_data(N, D, loss)
    options = OPTIONS[name]
    fit = shotgun.solve(data.A, data.y, 1.0, loss, tol=1e-3, x0=np.full(D, 0.1), **options)
    reference = Reference.of(data.A, data.y, 1.0, loss, **options)
    assert fit.tolerance == pytest.approx(1e-3 * reference.objective(reference.null()), rel=1e-8)


def test_f0_of_least_squares_with_an_intercept_is_the_variance() -> None:
    data = make_data(N, D)
    y = data.y + 100
    fit = shotgun.solve(data.A, y, 1.0, fit_intercept=True, tol=1e-3)
    assert fit.tolerance == pytest.approx(1e-3 * 0.5 * ((y - y.mean()) ** 2).sum())
