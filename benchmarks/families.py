"""The synthetic families of the benchmark tables, seeded and named as in the tables."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

Family = tuple[Any, np.ndarray]
DRAWS = 4_000_000  # words drawn at once, in each thread


def text_like(n: int, d: int, per_row: int, seed: int, exponent: float = 1.1) -> sp.csc_matrix:
    """Rows of `per_row` words drawn by a power law, tf-idf weighted, of unit norm."""
    rng = np.random.default_rng(seed)
    popularity = 1.0 / np.arange(1, d + 1) ** exponent
    cumulative = np.cumsum(popularity / popularity.sum())
    words = np.searchsorted(cumulative, rng.random(n * per_row)).clip(max=d - 1)
    rows = np.repeat(np.arange(n, dtype=np.int32), per_row)
    shuffle = rng.permutation(d).astype(np.int32)
    counts = sp.csr_matrix((np.ones(n * per_row), (rows, shuffle[words])), shape=(n, d))
    counts.sum_duplicates()
    return tf_idf(counts.tocsc())


def tf_idf(columns: sp.csc_matrix) -> sp.csc_matrix:
    """Counts of words, weighted in place; rows then have unit norm."""
    n = columns.shape[0]
    frequency = np.diff(columns.indptr)
    idf = np.log(n / np.maximum(frequency, 1)) + 1.0
    columns.data *= np.repeat(idf, frequency)
    norms = np.sqrt(np.bincount(columns.indices, columns.data**2, minlength=n))
    columns.data /= norms[columns.indices]
    columns.has_canonical_format = True
    return columns


def huge_text(n: int, d: int, words: int, seed: int, exponent: float) -> sp.csc_matrix:
    """As `text_like`, in chunks of rows made in parallel; `words` drawn, fewer distinct ones."""
    shuffle = np.random.default_rng(seed).permutation(d).astype(np.int32)
    step = DRAWS // words

    def chunk(first: int) -> sp.csr_matrix:
        rows = min(step, n - first)
        drawn = power_law(np.random.default_rng((seed, first)).random((rows, words)), d, exponent)
        drawn = np.sort(shuffle[drawn])
        new = np.ones((rows, words), dtype=bool)
        new[:, 1:] = drawn[:, 1:] != drawn[:, :-1]
        starts = np.flatnonzero(new)
        counts = np.diff(starts, append=new.size).astype(np.float32)
        indptr = np.concatenate([[0], np.cumsum(new.sum(axis=1))])
        return sp.csr_matrix((counts, drawn.ravel()[starts], indptr), shape=(rows, d))

    with ThreadPoolExecutor() as pool:
        rows = sp.vstack(list(pool.map(chunk, range(0, n, step))), format="csr")
    columns = rows.tocsc()
    del rows
    return tf_idf(columns.astype(np.float64))


def power_law(u: np.ndarray, d: int, exponent: float) -> np.ndarray:
    """Uniform numbers to 0..d-1, so that j comes up about as often as (j + 1)^-exponent."""
    if exponent == 1.0:
        x = np.exp(u * np.log(d + 1.0))
    else:
        power = 1.0 - exponent
        x = (1.0 + u * ((d + 1.0) ** power - 1.0)) ** (1.0 / power)
    return (x.astype(np.int32) - 1).clip(0, d - 1)


def planted(A: Any, k: int, noise: float, seed: int) -> np.ndarray:
    """A x + noise for x with k weights on columns that occur often enough to matter."""
    rng = np.random.default_rng(seed)
    n, d = A.shape
    if sp.issparse(A):
        counts = np.diff(A.indptr)
        pool = np.flatnonzero(counts >= np.sort(counts)[-min(d, 20 * k)])
    else:
        pool = np.arange(d)
    x = np.zeros(d)
    x[rng.choice(pool, min(k, len(pool)), replace=False)] = rng.standard_normal(min(k, len(pool)))
    z = A @ x
    return z + noise * z.std() * rng.standard_normal(n)


def labels(A: Any, k: int, noise: float, seed: int) -> np.ndarray:
    """-1 and +1, as many of each: the halves of what `planted` gives."""
    z = planted(A, k, noise, seed)
    return np.where(z > np.median(z), 1.0, -1.0)


def ar_gaussian(n: int, d: int, rho: float, seed: int, dtype: Any = np.float64) -> np.ndarray:
    """Gaussian rows whose neighbouring columns correlate by rho, Fortran order."""
    rng = np.random.default_rng(seed)
    A = np.empty((n, d), dtype=dtype, order="F")
    A[:, 0] = rng.standard_normal(n)
    for j in range(1, d):
        A[:, j] = rho * A[:, j - 1] + np.sqrt(1 - rho**2) * rng.standard_normal(n)
    return A


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
