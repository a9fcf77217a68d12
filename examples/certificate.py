"""A small single-pixel camera: solve a Lasso, print what certifies it.

A scene of 1024 pixels, most of them dark, is seen through 410 random +-1 masks, each of which gives
one number (the problem of the paper's Fig. 2). The Lasso finds the scene again.
"""

from __future__ import annotations

import numpy as np

import shotgun


def camera(pixels: int = 1024, masks: int = 410, bright: int = 25, seed: int = 0):
    """Random masks with unit columns, and noisy measurements of a sparse scene."""
    rng = np.random.default_rng(seed)
    A = np.asfortranarray(rng.choice([-1.0, 1.0], size=(masks, pixels)) / np.sqrt(masks))
    scene = np.zeros(pixels)
    scene[rng.choice(pixels, bright, replace=False)] = rng.uniform(0.5, 2.0, bright)
    return A, A @ scene + 0.02 * rng.normal(size=masks), scene


A, y, scene = camera()
lam = 0.05 * shotgun.lambda_max(A, y)

print("The data:")
print(shotgun.report(A))

s = shotgun.solve(A, y, lam)
found = np.flatnonzero(np.abs(s.x) > 0.1)
print("\nThe fit:")
print(f"engine           {s.engine}, {s.status} after {s.n_rounds} rounds, {s.n_epochs} epochs")
print(f"objective        {s.objective:.12f}")
print(f"certificate      F(x) - F* <= {s.gap:.2e}, asked for {s.tolerance:.2e}")
print(
    f"bright pixels    {np.isin(np.flatnonzero(scene), found).sum()} of {(scene > 0).sum()} found,"
    f" {np.isin(found, np.flatnonzero(scene), invert=True).sum()} false"
)

print("\nShooting (one weight at a time) against Shotgun (P at once), to the same certificate:")
for engine, P in [("shooting", 1), ("bundle", shotgun.ideal_p(A))]:
    s = shotgun.solve(A, y, lam, engine=engine, P=P, working_set=False)
    steps = -(-s.n_updates // s.P)
    print(
        f"{engine:<9} P = {s.P:<4} {s.n_updates:>6} updates in {steps:>6} steps,"
        f"  F = {s.objective:.9f}, gap {s.gap:.1e}"
    )
