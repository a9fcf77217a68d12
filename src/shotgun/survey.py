"""What data look like before a fit: size, parallelism, columns that are odd."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import numpy as np

from shotgun.inspection import names_of
from shotgun.parallelism import Parallelism, report
from shotgun.problem import Elsewhere, is_sparse


def parallelism(A: Any, weights: Any, centre: bool, n_threads: int | None) -> Parallelism:
    """rho, P* and the engine, for data that are fitted with an intercept (centred) or without."""
    return report(A, weights=weights, centre=centre, n_threads=n_threads, tol=1e-4)


def odd_columns(A: Any, names: Any = None) -> list[str]:
    """Warnings: columns that say nothing, and columns that say the same."""
    zero, constant = np.zeros(A.shape[1], bool), np.zeros(A.shape[1], bool)
    groups: dict[bytes, list[int]] = defaultdict(list)
    for first, block in _blocks(A):
        low, high = _extremes(block)
        here = slice(first, first + block.shape[1])
        zero[here], constant[here] = (low == 0) & (high == 0), (low == high) & (low != 0)
        for j in np.flatnonzero(low != high).tolist():
            groups[_digest(block, j)].append(first + j)
    alike = [group for group in groups.values() if len(group) > 1]
    warnings = []
    if zero.any():
        warnings.append(f"all zero: {_some(np.flatnonzero(zero), names)}")
    if constant.any():
        warnings.append(f"constant: {_some(np.flatnonzero(constant), names)}")
    if alike:
        pairs = [" = ".join(names_of(group[:3], names)) for group in alike[:5]]
        more = f" and {len(alike) - 5} more groups" if len(alike) > 5 else ""
        warnings.append(f"the same: {', '.join(pairs)}{more}")
    return warnings


def _blocks(A: Any) -> Iterator[tuple[int, Any]]:
    """Columns from the first of them on: all at once, or tile by tile where A is on disk."""
    if isinstance(A, Elsewhere):
        yield from ((span.start, A.columns(span)) for span in A.spans())
    else:
        yield 0, A.tocsc() if is_sparse(A) else np.asarray(A)


def _extremes(A: Any) -> tuple[Any, Any]:
    if not is_sparse(A):
        return A.min(axis=0), A.max(axis=0)
    return A.min(axis=0).toarray().ravel(), A.max(axis=0).toarray().ravel()


def _digest(A: Any, j: int) -> bytes:
    """The same for columns that are the same."""
    if not is_sparse(A):
        return blake2b(np.ascontiguousarray(A[:, j]).data, digest_size=16).digest()
    column = slice(A.indptr[j], A.indptr[j + 1])
    digest = blake2b(A.indices[column].data, digest_size=16)
    digest.update(A.data[column].data)
    return digest.digest()


def _some(features: Any, names: Any) -> str:
    few = ", ".join(names_of(features[:5], names))
    return f"{few} and {len(features) - 5} more columns" if len(features) > 5 else few


def target(y: Any) -> str:
    """What there is to predict."""
    values, counts = np.unique(y, return_counts=True)
    if len(values) <= 10:
        return ", ".join(f"{v} ({k})" for v, k in zip(values.tolist(), counts, strict=True))
    if y.dtype.kind not in "fiub":
        return f"{len(values)} classes"
    return f"mean {y.mean():.6g}, deviation {y.std():.6g}, {y.min():.6g} to {y.max():.6g}"
