"""Where there are many minima, or none, a fit ends all the same and nothing runs away."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import shotgun
from conftest import N
from reference import Reference
from shotgun.solve import ENGINES


@pytest.mark.parametrize("engine", ENGINES)
def test_identical_columns_are_solved(engine: str) -> None:
    rng = np.random.default_rng(0)
    column = rng.standard_normal(N)
    A = np.asfortranarray(np.tile(column[:, None], 64))
    y = column + 0.1 * rng.standard_normal(N)
    fit = shotgun.solve(A, y, 1.0, engine=engine, P=64)
    one = shotgun.solve(column[:, None], y, 1.0, tol=1e-12)
    assert fit.status == "converged"
    assert fit.x.sum() == pytest.approx(one.x[0], abs=1e-3)
    assert fit.objective == pytest.approx(one.objective, abs=fit.gap + one.gap)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_values_of_categories_that_add_up_to_the_same_are_certified(
    loss: str, fit_intercept: bool
) -> None:
    """The columns of each category add up to one, and with an intercept to nothing: along these
    directions only the penalty decides."""
    rng = np.random.default_rng(3)
    n, levels = 4000, [12, 9, 7, 5, 5]
    values = [rng.integers(0, k, size=n) for k in levels]
    places = np.stack(values, axis=1) + np.cumsum([0, *levels[:-1]])
    rows = np.repeat(np.arange(n), len(levels))
    A = sp.csc_matrix((np.ones(rows.size), (rows, places.ravel())), shape=(n, sum(levels)))
    z = A @ rng.normal(size=A.shape[1]) + rng.normal(size=n)
    y = np.where(z > 0, 1.0, -1.0) if loss == "logistic" else z
    fits = [
        shotgun.solve(A, y, 0.01, loss, fit_intercept=fit_intercept, tol=1e-9, n_threads=t)
        for t in (1, 2)
    ]
    assert fits[0].status == "converged"
    assert fits[0].n_epochs < 100  # coordinate descent takes tens of thousands
    np.testing.assert_array_equal(fits[0].x, fits[1].x)
    slow = shotgun.solve(
        A, y, 0.01, loss, fit_intercept=fit_intercept, engine="shooting", max_epochs=100
    )
    assert fits[0].objective - fits[0].gap <= slow.objective
    assert slow.objective - slow.gap <= fits[0].objective


@pytest.mark.parametrize("working_set", [True, False])
def test_free_columns_that_explain_every_sample_do_not_run_away(working_set: bool) -> None:
    """As many weights without penalty as samples, one column far from centred: a singular problem,
    in whose null space weights could grow without end."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        n, d = int(rng.integers(2, 6)), int(rng.integers(4, 8))
        A = rng.normal(size=(n, d))
        A[:, rng.integers(d)] += 1e4
        y = rng.normal(size=n)
        factor = np.where(rng.random(d) < 0.7, 0.0, 1.0)
        s = shotgun.solve(
            A, y, 1e-5, fit_intercept=True, penalty_factor=factor, working_set=working_set
        )
        assert s.objective <= 0.5 * np.sum((y - y.mean()) ** 2) * (1 + 1e-9)
        assert np.abs(s.x).max() < 1e6


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("lam", [0.0, 1e-12, 1e-6, 1e-3])
def test_separable_logistic_ends(engine: str, fit_intercept: bool, lam: float) -> None:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((N, 5))
    y = np.sign(A @ [1, 2, 0, 0, -1])
    fit = shotgun.solve(
        A, y, lam, "logistic", engine=engine, fit_intercept=fit_intercept, max_epochs=3000
    )
    assert np.isfinite(fit.x).all()
    assert np.isfinite(fit.objective)
    assert 0 <= fit.objective < 0.1 * N * np.log(2)
    assert (
        fit.gap <= max(fit.objective * (1 + 1e-9), fit.tolerance) or fit.certificate == "gradient"
    )
    assert fit.status in ("converged", "max_epochs", "precision")
    if lam >= 1e-3:
        assert fit.status == "converged"


def test_separable_logistic_with_one_class_per_sign_of_a_feature_ends() -> None:
    A = np.linspace(-1, 1, 20)[:, None]
    fit = shotgun.solve(A, np.sign(A[:, 0]), 0.0, "logistic", max_epochs=500)
    assert np.isfinite(fit.x).all()
    assert fit.objective < 1e-2


@pytest.mark.parametrize("seed", range(5))
def test_a_gap_of_free_columns_that_are_nearly_alike_is_not_called_one(seed: int) -> None:
    """Their weights may have far to go along a slope that is next to nothing."""
    rng = np.random.default_rng(seed)
    a = rng.standard_normal(133)
    A = np.column_stack([a, (a * (1 - 1e-6)).astype(np.float32)])
    y = np.where(np.arange(133) == 0, 1.0, -1.0)
    how = {"fit_intercept": True, "offset": rng.standard_normal(133)}
    how |= {"weights": rng.uniform(0, 3, 133), "penalty_factor": np.zeros(2)}
    fit = shotgun.solve(A, y, 1e-10, "logistic", **how)
    reference = Reference.of(A, y, 1e-10, "logistic", **how)
    v = reference.inner(fit.x, fit.intercept)
    off = reference.value(v) - reference.value(reference.solve(near=v))
    assert fit.certificate == "gradient" or off <= fit.gap
