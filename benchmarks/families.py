"""The synthetic families of the benchmark tables, seeded and named as in the tables."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from shotgun.study.problems.generated import ar_gaussian, huge_text, labels, planted, text_like

Family = tuple[Any, np.ndarray]


def sparse_text() -> Family:
    A = text_like(20_000, 200_000, 75, seed=1)
    return A, planted(A, 1000, 0.5, seed=2)


def bigrams() -> Family:
    A = text_like(30_000, 2_000_000, 300, seed=3, exponent=1.0)
    return A, planted(A, 1000, 0.5, seed=4)


def largest() -> Family:
    """The paper's largest problem in size and kind: about 1.2e8 non-zeros."""
    A = huge_text(30_000, 5_800_000, 6_230, seed=11, exponent=1.0)
    return A, planted(A, 1000, 0.5, seed=12)


def grown(nnz: float) -> Family:
    """S with about so many non-zeros: more rows and more columns, as many words in a row."""
    n = round(nnz / 60)
    A = huge_text(n, 10 * n, 75, seed=13, exponent=1.1)
    return A, planted(A, 1000, 0.5, seed=14)


def dense_wide() -> Family:
    A = ar_gaussian(2_000, 10_000, 0.5, seed=5)
    return A, planted(A, 100, 0.5, seed=6)


def dense_tall() -> Family:
    A = ar_gaussian(10_000, 1_000, 0.5, seed=7)
    return A, planted(A, 100, 0.5, seed=8)


def compressed_imaging() -> Family:
    """+-1 at 1 %, unit columns (the paper's Sparse Compressed Imaging)."""
    rng = np.random.default_rng(9)
    A = sp.random(8_192, 16_384, 0.01, format="csc", random_state=rng)
    A.data = np.where(rng.random(A.nnz) < 0.5, -1.0, 1.0)
    A.data /= np.sqrt(np.repeat(np.maximum(np.diff(A.indptr), 1), np.diff(A.indptr)))
    return A, planted(A, 800, 0.05, seed=10)


def text_classes() -> Family:
    A = text_like(18_000, 44_000, 75, seed=15)
    return A, labels(A, 500, 0.5, seed=16)


def dense_classes(dtype: Any = np.float64) -> Family:
    A = ar_gaussian(50_000, 2_000, 0.5, seed=17, dtype=dtype)
    return A, labels(A, 100, 0.5, seed=18)


def wide_classes() -> Family:
    A = ar_gaussian(200, 20_000, 0.5, seed=19)
    return A, labels(A, 20, 0.5, seed=20)


FAMILIES: dict[str, Callable[[], Family]] = {
    "S": sparse_text,
    "XL": bigrams,
    "D": dense_wide,
    "T": dense_tall,
    "C": compressed_imaging,
    "LR": text_classes,
    "Z": dense_classes,
    "Z32": partial(dense_classes, np.float32),
    "W": wide_classes,
}
