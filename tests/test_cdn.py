"""Shooting CDN and Shotgun CDN: the paper's section 4.2."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shotgun
from losses import CDN, every_loss, problem
from reference import Reference, loss_slopes


@every_loss
def test_shotgun_cdn_of_one_is_shooting_cdn(loss: Any) -> None:
    A, y = problem(loss, d=60)
    lam = 0.05 * shotgun.lambda_max(A, y, **loss)
    for most in (1, 3, 10):  # the active set of each must be the other's
        fits = [
            shotgun.solve(
                A,
                y,
                lam,
                engine=engine,
                P=1,
                order="cyclic",
                working_set=False,
                max_epochs=most,
                tol=1e-9,
                **loss,
            )
            for engine in CDN
        ]
        assert fits[0].n_updates == fits[1].n_updates
        np.testing.assert_allclose(fits[0].x, fits[1].x, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("engine", CDN)
@every_loss
def test_an_active_set_saves_updates(loss: Any, engine: str) -> None:
    A, y = problem(loss, d=400)
    lam = 0.2 * shotgun.lambda_max(A, y, **loss)
    fit = shotgun.solve(A, y, lam, engine=engine, working_set=False, tol=1e-8, **loss)
    assert fit.status == "converged"
    assert fit.n_updates < 0.7 * 400 * fit.n_epochs


@every_loss
def test_one_cyclic_epoch_of_shooting_cdn_is_newton_along_each_column(loss: Any) -> None:
    A, y = problem(loss, d=6)
    lam = 0.2 * shotgun.lambda_max(A, y, **loss)
    x, delta = np.zeros(6), loss.get("delta", 1.35)
    reference = Reference.of(A, y, lam, **loss)
    for j in range(6):
        g, h = loss_slopes(loss["loss"], A @ x, y, delta)
        slope = A[:, j] @ g
        curvature = A[:, j] ** 2 @ h
        step = np.zeros(6)
        step[j] = -np.sign(slope) * max(abs(slope) - lam, 0.0) / curvature
        while step.any():
            promised = slope * step[j] + lam * abs(step[j])
            if reference.objective(x + step) - reference.objective(x) <= 0.01 * promised:
                break
            step /= 2
        x += step
    fit = shotgun.solve(
        A,
        y,
        lam,
        engine="shooting_cdn",
        order="cyclic",
        working_set=False,
        max_epochs=1,
        tol=1e-12,
        **loss,
    )
    assert (fit.n_epochs, fit.n_updates) == (1, 6)
    np.testing.assert_allclose(fit.x, x, rtol=1e-9, atol=1e-12)
