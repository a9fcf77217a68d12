"""How parallel is a problem? rho, P* = ceil(d / rho) and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import shotgun._core as _core
from shotgun.problem import (
    SEEDS,
    Elsewhere,
    check_count,
    check_number,
    check_threads,
    check_weights,
    is_sparse,
    make_design,
    taken,
)
from shotgun.solve import Solution


def _spectrum(
    A: Any, weights: Any, centre: bool, n_threads: int | None, tol: float, seed: int
) -> tuple[_core.Spectrum, int]:
    threads = check_threads(n_threads)
    tol, seed = check_number("tol", tol), check_count("seed", seed, least=0, most=SEEDS)
    design = make_design(A, threads)
    statement = _core.Statement()
    statement.y = np.zeros(design.rows)
    statement.intercept = centre
    if weights is not None:
        statement.weights = check_weights(weights, design.rows)
    options = _core.Options()
    options.threads = threads
    options.seed = seed
    return _core.spectrum(design, statement, options, tol), int(design.cols)


def spectral_radius(
    A: Any,
    *,
    weights: Any = None,
    centre: bool = False,
    n_threads: int | None = None,
    tol: float = 1e-6,
    seed: int = 0,
) -> float:
    """Spectral radius rho of the column-normalised A'A, to a relative error of `tol`.

    Parameters
    ----------
    A : array or sparse matrix of shape (n, d)
        As in :func:`shotgun.solve`. Columns are normalised implicitly.
    weights : array of shape (n,), optional
        Sample weights w: the matrix is sqrt(W) A.
    centre : bool
        Centre the columns, as an intercept does.
    n_threads, tol, seed
        Threads, relative accuracy, seed of the starting vector.

    Examples
    --------
    >>> import numpy as np, shotgun
    >>> round(shotgun.spectral_radius(np.eye(5)), 6)
    1.0
    """
    return float(_spectrum(A, weights, centre, n_threads, tol, seed)[0].rho)


def ideal_p(
    A: Any,
    *,
    weights: Any = None,
    centre: bool = False,
    n_threads: int | None = None,
    tol: float = 1e-6,
    seed: int = 0,
) -> int:
    """P* = ceil(d / rho), the paper's number of updates at once.

    Keywords as in :func:`spectral_radius`.

    Examples
    --------
    >>> import numpy as np, shotgun
    >>> shotgun.ideal_p(np.eye(5)), shotgun.ideal_p(np.ones((4, 5)))
    (5, 1)
    """
    spectrum, d = _spectrum(A, weights, centre, n_threads, tol, seed)
    return int(_core.ideal_p(d, spectrum.rho))


@dataclass(frozen=True)
class Parallelism:
    """What the data say about parallel updates; `print` it.

    Examples
    --------
    >>> import numpy as np, shotgun
    >>> told = shotgun.report(np.ones((4, 5)))
    >>> told.d, told.ideal_p, round(told.rho, 6)
    (5, 1, 5.0)
    """

    n: int
    d: int
    density: float
    rho: float
    ideal_p: int
    engine: str
    why: str

    def __str__(self) -> str:
        return "\n".join(
            [
                f"shape            {self.n} x {self.d}, {self.density:.3%} non-zero",
                f"rho              {self.rho:.6g}   (1 = uncorrelated, {self.d} = all alike)",
                f"P*               {self.ideal_p}",
                f"expected gain    up to {self.ideal_p} x fewer iterations than Shooting",
                f"engine           {self.engine}: {self.why}",
            ]
        )


def report(
    A: Any,
    *,
    weights: Any = None,
    centre: bool = False,
    n_threads: int | None = None,
    tol: float = 1e-6,
    seed: int = 0,
) -> Parallelism:
    """Describe how parallel A is and which engine `solve` would choose. Parameters as in
    :func:`spectral_radius`.

    Examples
    --------
    >>> import scipy.sparse as sp, shotgun
    >>> print(shotgun.report(sp.eye_array(4, format="csc")))
    shape            4 x 4, 25.000% non-zero
    rho              1   (1 = uncorrelated, 4 = all alike)
    P*               4
    expected gain    up to 4 x fewer iterations than Shooting
    engine           newton: sparse columns; sweeps find the support, parallel products solve on it
    """
    A = taken(A)
    spectrum, d = _spectrum(A, weights, centre, n_threads, tol, seed)
    sparse = not A.dense if isinstance(A, Elsewhere) else is_sparse(A)
    n = A.shape[0]
    return Parallelism(
        n=n,
        d=d,
        density=A.nnz / (n * d) if sparse else 1.0,
        rho=spectrum.rho,
        ideal_p=int(_core.ideal_p(d, spectrum.rho)),
        engine=spectrum.engine.name,
        why=_why(sparse, spectrum),
    )


def _why(sparse: bool, spectrum: _core.Spectrum) -> str:
    """In words, what the core's rule saw (core/engine/choose.hpp)."""
    if spectrum.engine.name == "block":
        return "dense columns, updated in blocks whose Gram matrices are kept"
    if sparse:
        return "sparse columns; sweeps find the support, parallel products solve on it"
    return (
        f"dense columns that share a direction (mean squared cosine {spectrum.shared:.2f}), "
        "which conjugate gradients remove at once"
    )


def of_fit(fit: Solution) -> dict[str, Any]:
    """Of the last working set whose spectral radius was found: rho and P*; what ran: P, engine."""
    known = [row for row in fit.trace if not np.isnan(row["rho"])]
    ideal = _core.ideal_p(known[-1]["working_set"], known[-1]["rho"]) if known else None
    return {"rho": fit.rho, "ideal_p": ideal, "P": fit.P, "engine": fit.engine}
