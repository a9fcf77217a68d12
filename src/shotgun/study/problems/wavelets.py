"""Orthonormal wavelets as sparse matrices, periodic at the borders."""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
import scipy.sparse as sp

Array = np.ndarray[Any, Any]


def daubechies(moments: int) -> Array:
    """The scaling filter of 2 * `moments` taps with so many vanishing moments; 1 is Haar's.

    By spectral factorisation: the zeros inside the unit circle of the half-band polynomial, and
    as many at -1 as there are moments.
    """
    half_band = [comb(moments - 1 + k, k) for k in range(moments)]
    taps = np.array([1.0])
    for zero in np.roots(half_band[::-1]):  # in y = (2 - z - 1/z) / 4
        pair = np.roots([1.0, 4 * zero - 2, 1.0])
        taps = np.convolve(taps, [1.0, -pair[np.abs(pair).argmin()]])
    taps = np.real(taps)
    for _ in range(moments):
        taps = np.convolve(taps, [1.0, 1.0])
    return np.asarray(taps * (np.sqrt(2) / taps.sum()))


def analysis_step(length: int, taps: Array) -> sp.csr_matrix:
    """One level: the upper half of the rows smooths, the lower half takes differences."""
    high = taps[::-1] * (-1.0) ** np.arange(len(taps))
    start = 2 * np.arange(length // 2)[:, None]
    columns = (start + np.arange(len(taps))) % length
    rows = np.broadcast_to(np.arange(length // 2)[:, None], columns.shape)
    values = [np.broadcast_to(filter_, columns.shape) for filter_ in (taps, high)]
    return sp.csr_matrix(
        (
            np.concatenate([values[0].ravel(), values[1].ravel()]),
            (
                np.concatenate([rows.ravel(), rows.ravel() + length // 2]),
                np.concatenate([columns.ravel()] * 2),
            ),
        ),
        shape=(length, length),
    )


def basis(length: int, moments: int, levels: int = 5) -> sp.csc_matrix:
    """Columns are the wavelets of signals of this length, a power of two."""
    return _descend(length, moments, levels, lambda step: step, np.arange)


def picture_basis(side: int, moments: int, levels: int = 5) -> sp.csc_matrix:
    """Columns are the wavelets of square pictures, read row by row."""

    def corner(length: int) -> Array:
        return np.add.outer(side * np.arange(length), np.arange(length)).ravel()

    return _descend(side, moments, levels, lambda step: sp.kron(step, step), corner)


def _descend(length: int, moments: int, levels: int, lift: Any, corner: Any) -> sp.csc_matrix:
    """The levels in turn, each on what the one before has smoothed."""
    taps = daubechies(moments)
    size = corner(length).size
    analysis = sp.identity(size, format="csr")
    for level in range(levels):
        smoothed = length >> level
        if smoothed < len(taps):
            break
        step = lift(analysis_step(smoothed, taps)).tocoo()
        where = corner(smoothed)
        rest = np.setdiff1d(np.arange(size), where)
        rows = np.concatenate([where[step.row], rest])
        columns = np.concatenate([where[step.col], rest])
        values = np.concatenate([step.data, np.ones(len(rest))])
        analysis = sp.csr_matrix((values, (rows, columns)), shape=(size, size)) @ analysis
    return analysis.T.tocsc()
