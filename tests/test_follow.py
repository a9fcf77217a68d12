"""Where descent is long, the minimum is reached all the same."""

from __future__ import annotations

import numpy as np
import pytest

import shotgun
from shotgun.study.problems import find


def test_where_descent_is_long_the_minimum_is_reached_exactly() -> None:
    A, y = find("china32_01").load()  # masks of 0 and 1: nearly collinear
    fits = [shotgun.solve(A, y, 0.5, tol=1e-8, engine=engine) for engine in ("auto", "newton")]
    exact, descended = fits
    assert {fit.status for fit in fits} == {"converged"}
    assert exact.objective == pytest.approx(descended.objective, rel=1e-9)
    assert 4 * exact.n_updates < descended.n_updates
    assert exact.gap < 0.1 * exact.tolerance


@pytest.mark.parametrize("start", [False, True], ids=["cold", "from x0"])
@pytest.mark.parametrize(("n", "d"), [(40, 60), (100, 150), (52, 17), (50, 50)])
def test_small_lams_of_dense_columns_that_depend_on_each_other_converge(
    n: int, d: int, start: bool
) -> None:
    for seed in range(2):
        rng = np.random.default_rng(seed)
        A, y = rng.standard_normal((n, d)), rng.standard_normal(n)
        A[:, 1], A[:, 5] = A[:, 0], -A[:, 4]
        A[:, 3] = A[:, 2] + 1e-7 * rng.standard_normal(n)
        factor = np.r_[[2.0, 1, 1, 2, 1, 3] if seed % 2 else np.ones(6), np.ones(d - 6)]
        x0 = rng.standard_normal(d) if start else None
        for ratio in (1e-2, 1e-3, 1e-4):
            lam = ratio * shotgun.lambda_max(A, y, penalty_factor=factor)
            fit = shotgun.solve(A, y, lam, penalty_factor=factor, x0=x0, tol=1e-8)
            assert fit.status == "converged"
            assert fit.certificate == "gap"
