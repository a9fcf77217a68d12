"""Checks what the user hands over and makes the views that the core reads.

Everything wrong with the input is found here or in the core's first pass over A, before anything is
computed, and is reported with the argument's name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, TypeAlias

import numpy as np

import shotgun._core as _core

Vector: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float64]]

LOSSES: dict[str, _core.Targets] = _core.losses()
SEEDS = 2**64 - 1  # the largest seed
_MOST = np.iinfo(np.int32).max
_THREADS = 4096


@dataclass(frozen=True)
class Columns:
    """Compressed columns in place of scipy's: to load scipy takes longer than most fits."""

    data: np.ndarray[Any, Any]
    indices: np.ndarray[Any, Any]
    indptr: np.ndarray[Any, Any]
    shape: tuple[int, int]

    format: ClassVar[str] = "csc"

    @property
    def nnz(self) -> int:
        return len(self.data)

    def tocsc(self) -> Any:
        """scipy's array, without a copy."""
        from scipy.sparse import csc_array

        A = csc_array((self.data, self.indices, self.indptr), shape=self.shape)
        A.has_canonical_format = True
        return A


def is_sparse(A: Any) -> bool:
    """Whether it is a sparse matrix of scipy, or `Columns`."""
    return hasattr(type(A), "tocsc")  # not of A: a table may have a column of any name


class Elsewhere:
    """A matrix that is not in memory, but on disk or on a cluster."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    nnz: int
    dense: bool  # whether it leaves no zero out
    checksums: np.ndarray[Any, Any]  # of all that it holds: what tells it from others
    ndim = 2

    def design(self) -> _core.Design:
        """What the core reads."""
        raise NotImplementedError

    def columns(self, which: Any) -> Any:
        """Some of the columns, in memory."""
        raise NotImplementedError

    def __getitem__(self, key: tuple[slice, Any]) -> Any:
        """A[:, which]: :meth:`columns`."""
        rows, which = key
        if rows != slice(None):
            raise TypeError("of a matrix that is not in memory, take whole columns: A[:, which]")
        return self.columns(which)

    def spans(self) -> list[slice]:
        """The columns in runs that memory holds."""
        return [slice(0, self.shape[1])]

    def to_memory(self) -> Any:
        """All of it."""
        return self.columns(slice(None))

    def __matmul__(self, x: Any) -> np.ndarray[Any, Any]:
        """A @ x, a span at a time; of one without a column that x uses nothing is read."""
        x = x.toarray() if is_sparse(x) else np.asarray(x)
        if x.ndim not in (1, 2) or len(x) != self.shape[1]:
            raise ValueError(f"x must have {self.shape[1]} rows, not shape {x.shape}")
        used = np.flatnonzero(x if x.ndim == 1 else x.any(axis=1))
        product = np.zeros((self.shape[0], *x.shape[1:]), np.result_type(x, self.dtype))
        for span in self.spans():
            here = used[slice(*np.searchsorted(used, (span.start, span.stop)))]
            if here.size:
                product += self.columns(here) @ x[here]
        return product


def on_cluster(A: Any) -> bool:
    """Whether it is a collection of Dask's, a list of its objects, or made of them."""
    one = A[0] if isinstance(A, list) and A else A
    return type(one).__module__.startswith(("dask.", "distributed.", "shotgun.dask"))


def settled(A: Any) -> Any:
    """A as it is; a collection of Dask's as a matrix on its cluster."""
    if isinstance(A, Elsewhere) or not on_cluster(A):
        return A
    from shotgun.dask import matrix

    return matrix(A)


def taken(A: Any) -> Any:
    """A as an array, as CSC or CSR, or elsewhere; what is one of these stays as it is."""
    A = settled(A)
    if isinstance(A, Elsewhere):
        return A
    A = A if is_sparse(A) else np.asarray(A)
    _check_shape(A.shape)
    return _compressed(A, "A") if is_sparse(A) else A


def make_design(A: Any, n_threads: int) -> _core.Design:
    """View of A for the core: no copy of Fortran-order or CSC input, one conversion of the rest."""
    A = taken(A)
    if isinstance(A, Elsewhere):
        return A.design()
    if is_sparse(A):
        return _sparse_design(A, n_threads)
    return _dense_design(A, n_threads)


def _check_shape(shape: tuple[int, ...]) -> None:
    if len(shape) != 2:
        raise ValueError(f"A must have two dimensions, not {len(shape)}")
    n, d = shape
    if n == 0 or d == 0:
        raise ValueError(f"A must have at least one row and one column; its shape is {n} x {d}")
    if n > _MOST or d > _MOST:
        raise ValueError(f"A may have at most {_MOST} rows and columns; its shape is {n} x {d}")


def float_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """float32 stays, every other real type becomes float64."""
    if dtype.kind not in "fiub":
        raise TypeError(f"A must hold real numbers, not {dtype}")
    return np.dtype(np.float32 if dtype in (np.float32, np.float16) else np.float64)


def _dense_design(array: np.ndarray[Any, Any], n_threads: int) -> _core.Design:
    array = array.astype(float_dtype(array.dtype), order="K", copy=False)
    if not array.dtype.isnative or not array.flags.aligned:
        array = array.astype(array.dtype.newbyteorder("="), order="F")
    n, d = array.shape
    size = array.itemsize
    columns_contiguous = (n == 1 or array.strides[0] == size) and (
        d == 1 or (array.strides[1] >= n * size and array.strides[1] % size == 0)
    )
    if not columns_contiguous:
        if array.strides[1] == size and array.strides[0] >= d * size:
            array = _core.fortran(array, n_threads).reshape((n, d), order="F")
        else:
            array = np.asfortranarray(array)
    return _core.dense(array)


def _sparse_design(A: Any, n_threads: int) -> _core.Design:
    indptr, indices, data = _canonical(A, n_threads)
    n, d = A.shape
    if A.format == "csr":
        indptr, indices, data = _core.transpose(indptr, indices, data, d, n_threads)
    return _core.csc(indptr, indices, data, n)


def canonical(A: Any) -> Any:
    """A, a sparse matrix as CSC or CSR of floats whose entries ascend, each but once.

    A is never written to; what else it may be stays as it is.
    """
    if not is_sparse(A):
        return A
    import scipy.sparse as sp

    A = _compressed(A, "A")
    indptr, indices, data = _canonical(A, check_threads(None))
    kind = sp.csr_array if A.format == "csr" else sp.csc_array
    return kind((data, indices, indptr), shape=A.shape)


def _canonical(A: Any, n_threads: int) -> tuple[np.ndarray[Any, Any], ...]:
    """indptr, indices and data of CSC or CSR, the latter two without spare room at their end."""
    dtype = float_dtype(A.data.dtype)
    indptr, indices, ascend = _structure(A, "A", n_threads)
    used = slice(indptr[-1])
    indices, data = indices[used], np.ascontiguousarray(A.data[used], dtype=dtype)
    if ascend:
        return indptr, indices, data
    import scipy.sparse as sp

    kind = sp.csr_array if A.format == "csr" else sp.csc_array
    tidy = kind((data.copy(), indices.copy(), indptr.copy()), shape=A.shape)
    tidy.sum_duplicates()
    return *_index_arrays(tidy, "A"), tidy.data


def sound(A: Any, name: str = "A") -> Any:
    """A, of which every entry is where it may be: scipy's own code computes without a look.

    A sparse matrix becomes CSC or CSR, what else it may be stays as it is.
    """
    if is_sparse(A):
        A = _compressed(A, name)
        _structure(A, name, check_threads(None))
    return A


def _compressed(A: Any, name: str) -> Any:
    """A sparse matrix as CSC or CSR; of other kinds it is checked first that entries are inside."""
    if A.format in ("csc", "csr"):
        return A
    kind = f"{name} is not a valid {A.format.upper()} matrix"
    try:
        A = A.tocoo()
        places = list(zip(("row", "column"), A.coords, A.shape, strict=True))
    except Exception as error:  # of whatever kind scipy raises where parts do not fit together
        raise ValueError(f"{kind}: {error}") from None
    for what, where, size in places:
        if where.size and not 0 <= where.min() <= where.max() < size:
            raise ValueError(f"{kind}: it has {size} {what}s, and an entry is in none of them")
    return A.tocsc()


def _structure(
    A: Any, name: str, n_threads: int
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], bool]:
    """indptr and indices, which fit A and each other, and whether entries ascend."""
    lines, width = A.shape if A.format == "csr" else A.shape[::-1]
    indptr, indices = _index_arrays(A, name)
    if len(indptr) != lines + 1:
        raise ValueError(f"{name}.indptr has length {len(indptr)}, not {lines + 1}")
    if np.shape(A.data) != indices.shape:
        shape = np.shape(A.data)
        raise ValueError(f"{name} has data of shape {shape} but {len(indices)} indices")
    if not lines:  # sparse matrices without columns or rows hold nothing
        return indptr, indices, True
    problem, canonical = _core.structure(indptr, indices, width, n_threads)
    if problem:
        raise ValueError(f"{name} is not a valid {A.format.upper()} matrix: {problem}")
    return indptr, indices, canonical


def _index_arrays(A: Any, name: str) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    arrays = [np.asarray(A.indptr), np.asarray(A.indices)]
    for part, array in zip(("indptr", "indices"), arrays, strict=True):
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise ValueError(f"{name}.{part} must be a vector of integers, not {array.dtype}")
    wide = not all(np.can_cast(array.dtype, np.int32) for array in arrays)
    indptr, indices = (np.ascontiguousarray(a, np.int64 if wide else np.int32) for a in arrays)
    return indptr, indices


def check_vector(name: str, values: Any, size: int, finite: bool = True) -> Vector:
    """A float64 vector of the right length, or an error that names the argument."""
    array = np.asarray(values)
    if array.dtype.kind == "O":  # numbers of several kinds, perhaps
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{name} must hold real numbers: {error}") from None
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name} must hold real numbers, not {array.dtype}")
    vector = np.ascontiguousarray(array, dtype=np.float64)
    if vector.shape != (size,):
        raise ValueError(f"{name} must have shape ({size},), not {vector.shape}")
    if finite and not np.isfinite(vector).all():
        where = int(np.flatnonzero(~np.isfinite(vector))[0])
        raise ValueError(f"{name} contains NaN or infinity, first at position {where}")
    if not finite and np.isnan(vector).any():
        where = int(np.flatnonzero(np.isnan(vector))[0])
        raise ValueError(f"{name} contains NaN, first at position {where}")
    return vector


def check_number(name: str, value: Any, least: float = 0.0) -> float:
    """A finite real number of at least `least`."""
    try:
        if isinstance(value, str):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number, not {value!r}") from None
    if not np.isfinite(number) or number < least:
        raise ValueError(f"{name} must be finite and at least {least:g}, not {value!r}")
    return number


def check_count(name: str, value: Any, least: int = 1, most: int = 2**63 - 1) -> int:
    """An integer between `least` and `most`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} must be an integer, not {value!r}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, not {value}")
    if value > most:
        raise ValueError(f"{name} must be at most {most}, not {value}")
    return int(value)


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """One of a few words."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, not {value!r}")
    return str(value)


def check_threads(n_threads: int | None) -> int:
    """The number of threads asked for, else the process's default."""
    if n_threads is None:
        return int(_core.default_threads())
    return check_count("n_threads", n_threads, most=_THREADS)


def encode_labels(y: Any, size: int, weights: Vector | None) -> Vector:
    """Two classes of any kind, in sorted order, as -1 and +1; rows of weight 0 do not count."""
    labels = np.asarray(y)
    if labels.shape != (size,):
        raise ValueError(f"y must have shape ({size},), not {labels.shape}")
    if labels.dtype.kind in "fc" and not np.isfinite(labels).all():
        raise ValueError("y contains NaN or infinity")
    try:
        classes, codes = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise TypeError(f"y must hold labels of one kind: {error}") from None
    present = classes if weights is None else classes[np.unique(codes[weights > 0])]
    if len(classes) != 2 or len(present) != 2:
        few = present[:5].tolist()
        shown = ", ".join(map(repr, few)) + (", ..." if len(present) > 5 else "")
        raise ValueError(f"y must hold exactly two classes for a classifying loss, not {shown}")
    return np.ascontiguousarray(2.0 * codes - 1.0)


def check_target(y: Any, size: int, loss: str, weights: Vector | None) -> Vector:
    """The target as the loss wants it."""
    if LOSSES[loss] == _core.Targets.classes:
        return encode_labels(y, size, weights)
    vector = check_vector("y", y, size)
    if LOSSES[loss] == _core.Targets.counts:
        _refuse_negative(vector, f"y must not be negative for the {loss} loss")
    return vector


def _refuse_negative(vector: Vector, what: str) -> None:
    if (vector < 0).any():
        where = int(np.flatnonzero(vector < 0)[0])
        raise ValueError(f"{what}; position {where} is {vector[where]:g}")


def check_weights(weights: Any, size: int) -> Vector:
    """Non-negative sample weights, not all zero."""
    vector = check_vector("weights", weights, size)
    _refuse_negative(vector, "weights must not be negative")
    if not vector.any():
        raise ValueError("weights must not all be zero")
    return vector


def check_penalty_factor(factor: Any, size: int) -> Vector:
    """Non-negative factors; 0 leaves a feature free, infinity excludes it."""
    vector = check_vector("penalty_factor", factor, size, finite=False)
    _refuse_negative(vector, "penalty_factor must not be negative")
    return vector


def check_bounds(
    bounds: Any, size: int, factor: Vector | None
) -> tuple[Vector | None, Vector | None]:
    """(lo, hi), each a number, a vector or None; None where nothing bounds."""
    if bounds is None:
        return None, None
    try:
        lo, hi = bounds
    except (TypeError, ValueError):
        raise ValueError("bounds must be a pair (lo, hi)") from None
    lo = _bound("bounds[0]", -np.inf if lo is None else lo, size)
    hi = _bound("bounds[1]", np.inf if hi is None else hi, size)
    bad = (lo > hi) | (lo == np.inf) | (hi == -np.inf)
    if bad.any():
        j = int(np.flatnonzero(bad)[0])
        raise ValueError(
            f"bounds must satisfy lo <= hi; feature {j} has lo = {lo[j]:g}, hi = {hi[j]:g}"
        )
    if factor is not None:
        outside = np.isinf(factor) & ((lo > 0) | (hi < 0))
        if outside.any():
            j = int(np.flatnonzero(outside)[0])
            raise ValueError(f"bounds of feature {j} exclude 0, but its penalty_factor is infinite")
    return (lo if np.isfinite(lo).any() else None), (hi if np.isfinite(hi).any() else None)


def _bound(name: str, value: Any, size: int) -> Vector:
    if np.ndim(value) == 0:
        value = np.full(size, value)
    return check_vector(name, value, size, finite=False)


def taken_by(function: Callable[..., Any], given: dict[str, Any]) -> dict[str, Any]:
    """Of the arguments of :func:`shotgun.solve`, by name, those that a part of it takes."""
    return {name: given[name] for name in _parameters(function)}


@cache
def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(inspect.signature(function).parameters)


def state_problem(
    A: Any,
    y: Any,
    lam: Any,
    loss: str,
    *,
    delta: Any,
    n_threads: int,
    fit_intercept: bool,
    standardize: bool,
    weights: Any,
    offset: Any,
    penalty_factor: Any,
    l2: Any,
    bounds: Any,
) -> tuple[_core.Design, _core.Statement]:
    """Everything that defines F, checked, as the core wants it."""
    statement = _core.Statement()
    statement.loss = check_choice("loss", loss, tuple(LOSSES))
    statement.delta = check_number("delta", delta)
    if statement.delta == 0:
        raise ValueError("delta must be positive")
    statement.lam = check_number("lam", lam)
    statement.l2 = check_number("l2", l2)
    design = make_design(A, n_threads)
    n, d = design.rows, design.cols
    w = None if weights is None else check_weights(weights, n)
    statement.weights = w
    statement.y = check_target(y, n, loss, w)
    if offset is not None:
        statement.offset = check_vector("offset", offset, n)
    factor = None if penalty_factor is None else check_penalty_factor(penalty_factor, d)
    statement.factor = factor
    statement.lo, statement.hi = check_bounds(bounds, d, factor)
    statement.intercept = bool(fit_intercept)
    statement.standardize = bool(standardize)
    return design, statement
