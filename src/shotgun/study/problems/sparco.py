"""Problems of the Sparco testbed (van den Berg et al., 2009), rebuilt from their definitions.

Sizes, dictionaries, ensembles and signals are Sparco's; random numbers are numpy's, so that the
draws are others. Pictures and kernels that come as files there are drawn here, and that is said.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.fft import dct, idct

from shotgun.study.problems import real
from shotgun.study.problems.generated import Array
from shotgun.study.problems.line import Category, Problem
from shotgun.study.problems.wavelets import basis, picture_basis

Data = tuple[Any, Array]


def blocks(n: int) -> Array:
    """Donoho and Johnstone's piecewise constant signal."""
    at = np.array([0.1, 0.13, 0.15, 0.23, 0.25, 0.40, 0.44, 0.65, 0.76, 0.78, 0.81])
    heights = np.array([4.0, -5.0, 3.0, -4.0, 5.0, -4.2, 2.1, 4.3, -3.1, 2.1, -4.2])
    t = np.arange(1, n + 1) / n
    return np.asarray((1 + np.sign(t[:, None] - at)) / 2 @ heights)


def spikes(n: int, k: int, rng: np.random.Generator, signs: bool = False) -> Array:
    """k normal numbers, or signs, at random places."""
    x = np.zeros(n)
    x[rng.permutation(n)[:k]] = rng.choice([-1.0, 1.0], k) if signs else rng.standard_normal(k)
    return x


def cosines(n: int, weights: dict[int, float]) -> Array:
    """Weights of cosines, as many as samples, by their frequencies."""
    x = np.zeros(n)
    for frequency, weight in weights.items():
        x[frequency] = np.sqrt(n / 2) * weight
    return x


def cosine_basis(n: int) -> Array:
    """Columns are cosines."""
    return np.asarray(idct(np.identity(n), axis=0, norm="ortho"))


def blocksig() -> Data:
    """2: blocks in Haar's wavelets."""
    return basis(1024, moments=1), blocks(1024)


def cosspike(seed: int) -> Data:
    """3: two cosines and 120 spikes, in cosines and spikes."""
    n = 1024
    A = np.hstack([cosine_basis(n), np.identity(n)])
    x = np.concatenate([cosines(n, {4: 4.0, 12: 2.0}), spikes(n, 120, np.random.default_rng(seed))])
    return A, A @ x


def gcosspike(seed: int) -> Data:
    """5: three cosines and 60 spikes, measured by 300 Gaussian vectors."""
    rng, n = np.random.default_rng(seed), 1024
    measure = rng.standard_normal((300, n)) / np.sqrt(n)
    A = np.hstack([measure @ cosine_basis(n), measure])
    x = np.concatenate([cosines(n, {3: 2.0, 9: 3.0, 20: -1.0}), spikes(n, 60, rng)])
    return A, A @ x


def p3poly(seed: int) -> Data:
    """6: a piecewise cubic, measured by 600 Gaussian vectors, in Daubechies's wavelets."""
    rng, n = np.random.default_rng(seed), 2048
    edges = np.sort(rng.permutation(np.arange(100, n - 100))[:4])
    signal = np.concatenate(
        [
            np.polyval(rng.standard_normal(4), np.linspace(-1, 1, len(piece)))
            for piece in np.split(np.arange(n), edges)
        ]
    )
    measure = rng.standard_normal((600, n)) / np.sqrt(n)
    return measure @ basis(n, moments=4), measure @ signal


def sgnspike(seed: int) -> Data:
    """7: 20 signs, measured by 600 Gaussian vectors."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((600, 2560)) / np.sqrt(600)
    return A, A @ spikes(2560, 20, rng, signs=True)


def heaviside(n: int) -> Data:
    """9 and 10: blocks, in steps."""
    return np.tri(n), blocks(n)


def gausspike(seed: int) -> Data:
    """11: 32 spikes, measured by 256 Gaussian vectors."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((256, 1024))
    return A, A @ spikes(1024, 32, rng)


def dcthdr(seed: int) -> Data:
    """12: 300 weights over three orders of magnitude, seen by 2000 of 8192 cosines."""
    rng, n = np.random.default_rng(seed), 8192
    x = spikes(n, 300, rng, signs=True)
    x[x != 0] *= rng.permutation(np.geomspace(1000, 1, 300))
    kept = np.sort(rng.permutation(n)[:2000])
    A = dct(np.identity(n), axis=0, norm="ortho")[kept]
    return A, A @ x


def soccer_ball(side: int) -> Array:
    """A ball with a dark pentagon and five more at its rim, lit from above; 0 to 1."""
    row, column = (np.mgrid[:side, :side] - (side - 1) / 2) / (0.46 * side)
    inside = row**2 + column**2 <= 1
    angle = np.arctan2(column, -row)
    folded = (angle + np.pi / 5) % (2 * np.pi / 5) - np.pi / 5
    radius = np.hypot(row, column)
    dark = (radius * np.cos(folded) < 0.3) | (radius * np.cos(folded) > 0.8)
    shade = np.sqrt(np.clip(1 - radius**2, 0, 1)) * 0.5 + 0.5 - 0.1 * row
    return np.where(inside, shade * np.where(dark, 0.15, 1.0), 0.0)


def soccer(masks: int, side: int, moments: int, seed: int) -> Data:
    """601 and 602: a ball seen through 0/1 masks, in wavelets."""
    rng = np.random.default_rng(seed)
    measure = rng.integers(0, 2, (masks, side**2)) / np.sqrt(masks)
    picture = soccer_ball(side)
    if moments == 1:
        picture = (picture > 0.5).astype(np.float64)  # 602's is black and white
    return measure @ picture_basis(side, moments), measure @ picture.ravel()


def yinyang(seed: int) -> Data:
    """603: two smooth fields with a curved border, through -1/+1 masks, with noise."""
    rng, side = np.random.default_rng(seed), 64
    row, column = np.mgrid[:side, :side] / side
    border = 0.5 + 0.25 * np.sin(2 * np.pi * row)
    field = np.where(column < border, np.cos(2 * row + column), 0.4 * np.sin(3 * column) - 0.5)
    measure = rng.choice([-1.0, 1.0], (1024, side**2)) / side
    y = measure @ field.ravel() + 0.001 * rng.standard_normal(1024)
    return measure @ picture_basis(side, moments=2), y


def blurspike(seed: int) -> Data:
    """702: spikes on 128 x 128 pixels, blurred over 9 x 9 by 1 / (1 + i^2 + j^2), with noise."""
    rng, side, reach = np.random.default_rng(seed), 128, 4
    x = spikes(side**2, 160, rng, signs=True)
    at = np.arange(side**2)
    A = sp.csc_matrix((side**2, side**2))
    for i in range(-reach, reach + 1):
        for j in range(-reach, reach + 1):
            to = (at // side + i) % side * side + (at % side + j) % side
            A += sp.csc_matrix((np.full(side**2, 1 / (1 + i * i + j * j)), (to, at)), A.shape)
    return A, A @ x + 0.01 * rng.standard_normal(side**2)


def jitter(seed: int) -> Data:
    """902: three cosines of 1000, sampled at every fifth place, more or less."""
    rng, n, step = np.random.default_rng(seed), 1000, 5
    places = np.arange(0, n, step)
    moved = np.round(step / 2 * rng.random(len(places)) * rng.choice([-1, 1], len(places)))
    A = cosine_basis(n)[(places + moved.astype(int)) % n]
    return A, A @ spikes(n, 3, rng)


def spiketrn(seed: int) -> Data:
    """903: a train of spikes behind a wavelet of seismology (Ricker's)."""
    rng, n, width = np.random.default_rng(seed), 1024, 8.0
    t = (np.arange(n) + n // 2) % n - n // 2
    kernel = (1 - (t / width) ** 2) * np.exp(-((t / width) ** 2) / 2)
    A = kernel[np.subtract.outer(np.arange(n), np.arange(n)) % n]
    return A, A @ spikes(n, 40, rng)


def lines() -> list[Problem]:
    seed = 100
    table: list[tuple[str, int, int, Callable[..., Any], bool, str]] = [
        ("sparco002_blocksig", 1024, 1024, blocksig, False, "2, deterministic"),
        ("sparco003_cosspike_new", 1024, 2048, cosspike, False, "3, other draws"),
        ("sparco005_gcosspike", 300, 2048, gcosspike, True, "5, other draws"),
        ("sparco006_p3poly", 600, 2048, p3poly, False, "6, other draws"),
        ("sparco007_sgnspike", 600, 2560, sgnspike, True, "7, other draws"),
        ("sparco009_heaviside", 128, 128, partial(heaviside, 128), False, "9"),
        ("sparco010_heaviside", 1024, 1024, partial(heaviside, 1024), False, "10"),
        ("sparco011_gausspike", 256, 1024, gausspike, True, "11, other draws"),
        ("sparco012_dcthdr", 2000, 8192, dcthdr, False, "12, other draws"),
        ("sparco601_ball", 3200, 4096, partial(soccer, 3200, 64, 4), False, "601, drawn"),
        ("sparco602_ball", 800, 1024, partial(soccer, 800, 32, 1), False, "602, drawn"),
        ("sparco603_yinyang", 1024, 4096, yinyang, False, "603, drawn field"),
        ("sparco702_blurspike", 16384, 16384, blurspike, False, "702, other draws"),
        ("sparco902_jitter_new", 200, 1000, jitter, False, "902, other draws"),
        ("sparco903_spiketrn", 1024, 1024, spiketrn, False, "903, another kernel"),
    ]
    still = (blocksig, heaviside)
    made = []
    for name, n, d, make, quick, what in table:
        drawn = getattr(make, "func", make) not in still
        made.append(
            Problem(
                name,
                Category.SPARCO,
                n,
                d,
                f"Sparco problem {what}",
                partial(make, seed=seed) if drawn else make,
                seed if drawn else None,
                quick=quick,
            )
        )
    return made + real.lines(
        Category.SPARCO,
        {
            "sparco003_cosspike": (1024, 2048, "Sparco problem 3", False),
            "sparco009_blkheavi": (128, 128, "Sparco problem 9", False),
            "sparco601_soccer32": (800, 1024, "Sparco problem 601, scale 1, its picture", False),
            "sparco902_jitter": (200, 1000, "Sparco problem 902", False),
        },
    )
