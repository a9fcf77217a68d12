"""Where there are many minima, or none, a fit ends all the same and nothing runs away."""

from __future__ import annotations

import numpy as np
import pytest

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
