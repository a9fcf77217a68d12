"""What is screened is zero in every solution."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shotgun
from conftest import OPTIONS, D, N, make_data
from reference import Reference


def test_screened_features_are_zero_in_every_solution() -> None:
    data = make_data(50, 400, rank=2)
    lam = data.lam_max / 3
    fit = shotgun.solve(data.A, data.y, lam, tol=1e-9)
    assert fit.n_screened > 300
    exact = shotgun.solve(data.A, data.y, lam, tol=1e-12, working_set=False)
    assert fit.screened is not None
    assert fit.screened.sum() == fit.n_screened
    assert not exact.x[fit.screened].any()
    assert shotgun.path(data.A, data.y, [lam])[0].screened is None


@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge", "huber"])
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
def test_what_is_screened_is_zero_at_the_minimum(loss: str, options: dict[str, Any]) -> None:
    data = make_data(N, D, loss)
    fit = shotgun.solve(data.A, data.y, data.lam_max / 4, loss, **options)
    reference = Reference.of(data.A, data.y, data.lam_max / 4, loss, **options)
    assert fit.screened is not None
    assert fit.screened.any()
    assert np.abs(reference.solve()[: data.A.shape[1]][fit.screened]).max(initial=0.0) < 1e-7


@pytest.mark.parametrize(("size", "target"), [(1e98, 1e60), (1e-99, 1e-65)])
def test_screening_is_safe_where_squares_leave_the_range(size: float, target: float) -> None:
    data = make_data(100, 300)
    lam = data.lam_max / 2
    plain = shotgun.solve(data.A, data.y, lam, tol=1e-9)
    fit = shotgun.solve(size * data.A, target * data.y, lam * size * target, tol=1e-9)
    assert fit.status == "converged"
    assert fit.objective / target**2 == pytest.approx(plain.objective, rel=1e-8)
    assert fit.x * (size / target) == pytest.approx(plain.x, rel=1e-3, abs=1e-6)
