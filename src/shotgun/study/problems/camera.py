"""The single-pixel camera (Duarte et al., 2008): photographs seen through random masks."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.fft import dctn

from shotgun.scene import photograph
from shotgun.study.problems import real
from shotgun.study.problems.generated import Array
from shotgun.study.problems.line import Category, Problem

Data = tuple[Array, Array]


def lights(name: str, height: int, width: int, part: float) -> Array:
    """The brightest part of a photograph on black: sparse in its pixels, as the paper's ball."""
    picture = photograph(name, height, width)
    return np.asarray(np.maximum(picture - np.quantile(picture, 1 - part), 0.0))


def open_and_shut(scene: str, side: int, masks: int, seed: int) -> Data:
    """0/1 masks of the pixels, as Ball64's: all columns share a direction, so that P* = 3."""
    shutters = np.random.default_rng(seed).random((masks, side * side)) < 0.499
    A = shutters.astype(np.float64)
    y = A @ lights(scene, side, side, 0.2).ravel()
    return A, 100.0 * y / np.linalg.norm(y)


def plus_and_minus(scene: str, side: int, masks: int, seed: int) -> Data:
    """-1/+1 masks, and cosines, in which photographs are sparse; as Mug32's, P* is large."""
    rng = np.random.default_rng(seed)
    signs = 2.0 * rng.integers(0, 2, size=(masks, side, side)) - 1
    y = signs.reshape(masks, -1) @ photograph(scene, side, side).ravel()
    A = dctn(signs, axes=(1, 2), norm="ortho", overwrite_x=True).reshape(masks, -1)
    return A, 100.0 * y / np.linalg.norm(y)


def lines() -> list[Problem]:
    kinds = {"01": open_and_shut, "pm": plus_and_minus}
    seed = 200
    table = [
        ("china", 32, 410, "01", True),
        ("flower", 32, 410, "pm", True),
        ("china", 64, 1638, "01", False),
        ("flower", 64, 1638, "01", False),
        ("china", 64, 1638, "pm", False),
        ("flower", 96, 3686, "01", False),
        ("china", 128, 4770, "01", False),
    ]
    made = [
        Problem(
            f"{scene}{side}_{kind}",
            Category.CAMERA,
            masks,
            side**2,
            f"scikit-learn's {scene}.jpg through random {'0/1' if kind == '01' else '-1/+1'} masks",
            partial(kinds[kind], scene, side, masks, seed),
            seed,
            quick=quick,
        )
        for scene, side, masks, kind, quick in table
    ]
    return made + real.lines(
        Category.CAMERA,
        {
            "ball64_singlepixcam": (1638, 4096, "the paper's own (Rice University)", True),
            "mug32_singlepixcam": (410, 1024, "the paper's own (Rice University)", True),
        },
    )
