"""What solvers of the Lasso share: A in any of its forms, shrinkage, continuation, the gap, CG."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from shotgun.problem import check_number, check_vector
from shotgun.study.watch import Vector

Mask = npt.NDArray[np.bool_]

LARGEST = 4 * 2**30  # bytes of a sparse matrix or an operator made dense


def given(A: Any, y: Any, lam: Any) -> tuple[Any, Any, Vector]:
    """A, its transpose and y, in float64: both sides of A are then multiplied by `@`."""
    if not isinstance(A, LinearOperator):
        if not sp.issparse(A):
            A = np.asarray(A)
        elif A.format not in ("csc", "csr"):
            A = A.tocsc()
        if A.ndim != 2:
            raise ValueError(f"A must have two dimensions, not {A.ndim}")
        A = A.astype(np.float64, copy=False)
    y = check_vector("y", y, A.shape[0])
    if check_number("lam", lam) == 0:
        raise ValueError("lam must be positive")
    At = transposed(A)
    with np.errstate(over="ignore", invalid="ignore"):
        finite = np.isfinite(At @ y).all()
    if not finite:
        raise ValueError("A contains NaN or infinity, or A'y overflows")
    return A, At, y


def transposed(A: Any) -> Any:
    return A.adjoint() if isinstance(A, LinearOperator) else A.T


def columns(A: Any, J: Mask) -> Any:
    """A_J."""
    if not isinstance(A, LinearOperator):
        return A[:, J]

    def matvec(v: Vector) -> Vector:
        x = np.zeros(len(J))
        x[J] = v.ravel()
        return np.asarray(A @ x)

    return LinearOperator(
        (A.shape[0], int(J.sum())), matvec=matvec, rmatvec=lambda r: A.rmatvec(r)[J], dtype=float
    )


def dense(A: Any) -> npt.NDArray[np.float64]:
    """A as an array in Fortran order, or an error before the machine runs out of memory."""
    if not isinstance(A, np.ndarray) and 8 * A.shape[0] * A.shape[1] > LARGEST:
        raise MemoryError(f"A is too large to be made dense: {A.shape[0]} x {A.shape[1]}")
    if isinstance(A, LinearOperator):
        A = A @ np.eye(A.shape[1])
    return np.asfortranarray(A.toarray() if sp.issparse(A) else A)


def shrink(v: Vector, threshold: float) -> Vector:
    """Soft thresholding: argmin over x of 1/2 ||x - v||^2 + threshold ||x||_1."""
    return np.asarray(np.sign(v) * np.maximum(np.abs(v) - threshold, 0.0))


def next_tau(g: Vector, lam: float, zeta: float) -> float:
    """Adaptive continuation: the next stage's weight on the way down to lam; g = A'(Ax - y)."""
    return max(lam, zeta * float(np.abs(g).max()))


def dual_objective(z: Vector, g: Vector, y: Vector, lam: float) -> float:
    """The dual at z = Ax - y scaled until ||A'nu||_inf <= lam; g = A'z. At most F*."""
    nu = z * min(1.0, lam / max(float(np.abs(g).max()), np.finfo(float).tiny))
    return float(-0.5 * nu @ nu - nu @ y)


def conjugate_gradients(
    H: Callable[[Vector], Vector],
    b: Vector,
    x: Vector,
    *,
    tol: float,
    max_iter: int,
    overdue: Callable[[], bool],
    precondition: Callable[[Vector], Vector] = lambda r: r,
) -> Vector:
    """x with ||Hx - b|| <= tol ||b||, or as near as `max_iter` steps from the x given lead."""
    r = b - H(x)
    p = precondition(r)
    rz, enough = r @ p, tol * np.linalg.norm(b)
    for _ in range(max_iter):
        if np.linalg.norm(r) <= enough or overdue():
            break
        Hp = H(p)
        curvature = p @ Hp
        if curvature <= 0:
            break
        x = x + (rz / curvature) * p
        r = r - (rz / curvature) * Hp
        z = precondition(r)
        rz, before = r @ z, rz
        p = z + (rz / before) * p
    return x
