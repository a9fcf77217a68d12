"""Generators of data: text by a power law, correlated Gaussian columns, planted weights."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import scipy.sparse as sp

Array = np.ndarray[Any, Any]

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


def power_law(u: Array, d: int, exponent: float) -> Array:
    """Uniform numbers to 0..d-1, so that j comes up about as often as (j + 1)^-exponent."""
    if exponent == 1.0:
        x = np.exp(u * np.log(d + 1.0))
    else:
        power = 1.0 - exponent
        x = (1.0 + u * ((d + 1.0) ** power - 1.0)) ** (1.0 / power)
    return np.asarray((x.astype(np.int32) - 1).clip(0, d - 1))


def planted(A: Any, k: int, noise: float, seed: int) -> Array:
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
    return np.asarray(z + noise * z.std() * rng.standard_normal(n))


def labels(A: Any, k: int, noise: float, seed: int) -> Array:
    """-1 and +1, as many of each: the halves of what `planted` gives."""
    z = planted(A, k, noise, seed)
    return np.where(z > np.median(z), 1.0, -1.0)


def ar_gaussian(n: int, d: int, rho: float, seed: int, dtype: Any = np.float64) -> Array:
    """Gaussian rows whose neighbouring columns correlate by rho, Fortran order."""
    rng = np.random.default_rng(seed)
    A = np.empty((n, d), dtype=dtype, order="F")
    A[:, 0] = rng.standard_normal(n)
    for j in range(1, d):
        A[:, j] = rho * A[:, j - 1] + np.sqrt(1 - rho**2) * rng.standard_normal(n)
    return A


def sparse_signs(n: int, d: int, per_column: int, seed: int) -> sp.csc_matrix:
    """Columns with `per_column` entries of -1 or +1, at random, over the root of their number."""
    rng = np.random.default_rng(seed)
    rows = np.concatenate([np.sort(rng.choice(n, per_column, replace=False)) for _ in range(d)])
    signs = np.where(rng.random(d * per_column) < 0.5, -1.0, 1.0) / np.sqrt(per_column)
    starts = np.arange(0, d * per_column + 1, per_column)
    return sp.csc_matrix((signs, rows.astype(np.int32), starts.astype(np.int32)), shape=(n, d))
