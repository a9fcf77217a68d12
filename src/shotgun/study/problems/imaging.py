"""Sparse compressed imaging: as the camera, but with very sparse masks of -1 and +1."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from shotgun.study.problems import real
from shotgun.study.problems.camera import lights
from shotgun.study.problems.generated import Array, sparse_signs
from shotgun.study.problems.line import Category, Problem

PER_COLUMN = 36  # as in the paper's mug05_12_12


def compressed(scene: str, n: int, d: int, seed: int) -> tuple[Any, Array]:
    """n sums of pixels of a photograph's lights, each with a sign or left out."""
    height = max(k for k in range(1, int(d**0.5) + 1) if d % k == 0 and d // k <= 640)
    A = sparse_signs(n, d, PER_COLUMN, seed)
    x = 100.0 * lights(scene, height, d // height, 0.08).ravel()
    noise = np.random.default_rng(seed + 1).standard_normal(n)
    return A, A @ x + 0.1 * noise


def lines() -> list[Problem]:
    seed = 300
    sizes = [477, 1024, 2048, 4096, 8192, 12410, 16384, 32768]
    made = [
        Problem(
            f"signs_{n}",
            Category.IMAGING,
            n,
            2 * n,
            f"scikit-learn's {scene}.jpg, sums with {PER_COLUMN} signs per pixel",
            partial(compressed, scene, n, 2 * n, seed),
            seed,
            quick=n in (477, 2048),
        )
        for n, scene in zip(sizes, ["china", "flower"] * 4, strict=True)
    ]
    own = {"mug05_12_12": (12410, 24820, "the paper's own", True)}
    return made + real.lines(Category.IMAGING, own)
