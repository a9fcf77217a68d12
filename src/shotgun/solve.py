"""solve: one fit, certified."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

import shotgun._core as _core
from shotgun.problem import (
    SEEDS,
    Vector,
    check_choice,
    check_count,
    check_number,
    check_threads,
    check_vector,
    state_problem,
    taken_by,
)

Mask = np.ndarray[Any, np.dtype[np.bool_]]

ENGINES: tuple[str, ...] = tuple(_core.Engine.__members__)


@dataclass(frozen=True)
class Solution:
    """A fit and its certificate.

    Attributes
    ----------
    x : ndarray of shape (d,)
        The weights, on the scale of A's columns.
    intercept : float
        The constant of the linear predictor A @ x + intercept.
    objective : float
        F(x, intercept).
    gap : float
        Upper bound on F - F*, in float64, for this x, rounding included.
    tolerance : float
        What the gap had to reach: tol * F0, or what rounding makes of the targets where F0 is no
        more than that.
    null_objective : float
        F0: F with every weight at zero (or as near to it as its bounds allow), and the intercept
        and the free weights (factor 0) at their best.
    certificate : {"gap", "gradient"}
        "gradient" where weights that nothing penalises (lam = 0 or factor 0, without l2 or a bound
        on each side) leave no duality gap: `gap` is then estimated from the projected gradient.
    status : {"converged", "max_epochs", "deadline", "stopped", "precision"}
        "precision": no step lowers F in float64.
    n_rounds, n_epochs, n_updates : int
        Looks at all of A, passes over the working set, coordinate updates.
    P, rho : int, float or None
        Weights moved at once (by newton: the support), and the spectral radius of a working set
        as far as 5 % of the work could tell it.
    engine : str
        The engine that ran.
    n_screened : int
        Features proved to be zero (or at a bound) in every solution.
    screened : ndarray of shape (d,), bool, or None
        The features proved to be zero in every solution; not known of a path's fits.
    seconds : float
        Wall time in the core.
    trace : list of dict
        One row per round, if asked for.

    Examples
    --------
    >>> import numpy as np, shotgun
    >>> s = shotgun.solve(np.eye(3), np.array([3.0, -2.0, 0.5]), lam=1.0)
    >>> s.objective, s.gap <= s.tolerance, s.null_objective
    (4.125, True, 6.625)
    """

    x: Vector = field(repr=False)
    intercept: float
    objective: float
    gap: float
    tolerance: float
    null_objective: float
    certificate: str
    status: str
    n_rounds: int
    n_epochs: int
    n_updates: int
    n_screened: int
    P: int
    rho: float | None
    engine: str
    screened: Mask | None = field(repr=False)
    seconds: float
    trace: list[dict[str, Any]] = field(repr=False)


_PROGRESS = (
    "lam",
    "samples",
    "round",
    "epoch",
    "updates",
    "passes",
    "objective",
    "gap",
    "working_set",
    "active",
    "P",
    "rho",
)
_SECONDS = ("threads", "seconds", "scan", "certify", "screen", "select", "pack", "shoot")


def _row(row: Any) -> dict[str, Any]:
    return {name: getattr(row, name) for name in _PROGRESS + _SECONDS}


def make_options(
    *,
    engine: str,
    P: Any,
    n_threads: int,
    tol: Any,
    working_set: bool,
    order: str,
    max_epochs: Any,
    seed: Any,
) -> _core.Options:
    options = _core.Options()
    options.engine = _core.Engine[check_choice("engine", engine, ENGINES)]
    options.P = 0 if isinstance(P, str) and P == "auto" else check_count("P", P)
    options.threads = n_threads
    options.tol = check_number("tol", tol)
    options.cyclic = check_choice("order", order, ("random", "cyclic")) == "cyclic"
    options.max_epochs = check_count("max_epochs", max_epochs, least=0)
    options.seed = check_count("seed", seed, least=0, most=SEEDS)
    options.working_set = bool(working_set)
    return options


def solve(
    A: Any,
    y: Any,
    lam: float,
    loss: str = "squared",
    *,
    delta: float = 1.35,
    engine: str = "auto",
    P: int | str = "auto",
    n_threads: int | None = None,
    tol: float = 1e-6,
    working_set: bool = True,
    x0: Any = None,
    fit_intercept: bool = False,
    standardize: bool = False,
    weights: Any = None,
    offset: Any = None,
    penalty_factor: Any = None,
    l2: float = 0.0,
    bounds: Any = None,
    order: str = "random",
    max_epochs: int = 100_000,
    deadline: float | None = None,
    seed: int = 0,
    trace: bool = False,
    callback: Callable[[dict[str, Any]], Any] | None = None,
) -> Solution:
    r"""Minimise an L1-regularised loss, with a certificate.

    .. math:: F(x, b) = \sum_i w_i L(a_i'x + b + o_i, y_i)
              + \lambda \sum_j p_j |x_j| + \tfrac{l_2}{2} \|x\|^2

    exactly, on A as given, over all x between the bounds.

    Parameters
    ----------
    A : array or sparse matrix of shape (n, d)
        float32 or float64; dense in C or Fortran order, scipy CSC or CSR with any index type.
        Fortran order and CSC are read in place (`indices` and `indptr` being of one type, int32 or
        int64), the others are converted once. Never written to.
    y : array of shape (n,)
        Targets; for a classifying loss, any two values (the larger is the positive class), for
        "poisson" numbers >= 0.
    lam : float
        Weight of the L1 norm against the *sum* of losses.
    loss : {"squared", "logistic", "squared_hinge", "huber", "poisson"}
        1/2 (z - y)^2; log(1 + exp(-yz)); max(0, 1 - yz)^2; the squared loss up to
        ``|z - y| = delta`` and linear beyond; exp(z) - yz less its least value over z (half the
        Poisson deviance).
    delta : float
        Of the Huber loss.
    engine : str
        "auto", "shooting", "bundle", "block", "newton", "asynchronous", "shooting_cdn" or
        "shotgun_cdn". How to descend, not what to find: all reach the same certified gap. All but
        "asynchronous" give the same bits for any number of threads. The last two are the paper's
        Shooting CDN and Shotgun CDN: Newton steps along coordinates with a line search on the loss
        itself, over an active set of weights (their plain form has `working_set=False`); with an
        intercept or standardising, on quadratic models of it.
    P : int or "auto"
        Coordinates updated at once; independent of the number of threads.
    n_threads : int, optional
        Default: threadpoolctl's limit, OMP_NUM_THREADS, or the processors of this process.
    tol : float
        Stop when gap <= tol * F0, F0 being F with every weight at zero (or as near to it as its
        bounds allow), and the intercept and the free weights (factor 0) at their best.
    working_set : bool
        False runs the plain algorithm on all columns.
    x0 : array of shape (d,), optional
        Where to start. The answer is never worse.
    fit_intercept : bool
        Fit b, unpenalised.
    standardize : bool
        Penalise the weights of centred columns of unit variance, implicitly: sparse stays sparse.
        x, x0 and bounds keep the scale of A.
    weights, offset : array of shape (n,), optional
        w and o above.
    penalty_factor : array of shape (d,), optional
        p above: 0 leaves a feature free, infinity excludes it.
    l2 : float
        Weight of the squared norm (elastic net).
    bounds : (lo, hi), optional
        Numbers, vectors or None each.
    order : {"random", "cyclic"}
        Order of the coordinates in an epoch (of "shooting", "bundle", "shooting_cdn" and
        "shotgun_cdn"; the other engines have their own).
    max_epochs : int
        An epoch is one update of every feature in the working set; those on fewer samples count.
    deadline : float, optional
        Seconds, from the call on, after which the best point so far is returned with status
        "deadline". What was begun is ended first: a scan of A at most.
    seed : int
        Of the random order.
    trace : bool
        Record one row per round; its `lam` is a larger one on the way to the lam asked for, and its
        `samples` fewer than all, where that is faster. `passes` are entries of A that were looked
        at so far, by scans, epochs and products, over those that there are.
    callback : callable, optional
        Called with each row, those on the way included; returning True stops the fit.

    Returns
    -------
    Solution

    Examples
    --------
    >>> import numpy as np, shotgun
    >>> A = np.eye(3); y = np.array([3.0, -2.0, 0.5])
    >>> s = shotgun.solve(A, y, lam=1.0)
    >>> s.x.tolist(), s.status
    ([2.0, -1.0, 0.0], 'converged')
    """
    left = until(deadline)
    given = locals() | {"n_threads": check_threads(n_threads)}
    options = make_options(**taken_by(make_options, given))
    design, statement = state_problem(**taken_by(state_problem, given))
    start = None if x0 is None else check_vector("x0", x0, design.cols)
    s = _core.solve(design, statement, options, start, left(), forward(callback))
    return solution(s, trace, screened=_screened(s))


def until(deadline: Any) -> Callable[[], float]:
    """What is left of a deadline, which counts from now: what converts A has its share of it."""
    never = deadline is None or deadline == np.inf
    end = np.inf if never else perf_counter() + check_number("deadline", deadline)
    return lambda: max(0.0, end - perf_counter())


def forward(callback: Callable[[dict[str, Any]], Any] | None) -> Callable[[Any], bool] | None:
    """What the core calls with a row of the trace."""
    return None if callback is None else lambda row: bool(callback(_row(row)))


def _screened(s: _core.Solution) -> Mask:
    zero = np.ones(s.size, dtype=bool)
    zero[s.open] = False
    zero[s.support] = False
    return zero


def solution(s: _core.Solution, trace: bool, screened: Mask | None = None) -> Solution:
    """What the core found, as users see it."""
    x = np.zeros(s.size)
    x[s.support] = s.weights
    return Solution(x=x, screened=screened, trace=rows(s) if trace else [], **facts(s))


def facts(s: _core.Solution) -> dict[str, Any]:
    """What the core tells of a fit, but for its vectors and rows."""
    return {
        "intercept": s.intercept,
        "objective": s.objective,
        "gap": s.gap,
        "tolerance": s.tolerance,
        "null_objective": s.null_objective,
        "certificate": "gap" if s.certified_by_gap else "gradient",
        "status": s.status.name,
        "n_rounds": s.n_rounds,
        "n_epochs": s.n_epochs,
        "n_updates": s.n_updates,
        "n_screened": s.n_screened,
        "P": s.P,
        "rho": None if np.isnan(s.rho) else s.rho,
        "engine": s.engine.name,
        "seconds": s.seconds,
    }


def rows(s: _core.Solution) -> list[dict[str, Any]]:
    """The trace of a fit."""
    return [_row(row) for row in s.trace]


def lambda_max(
    A: Any,
    y: Any,
    loss: str = "squared",
    *,
    delta: float = 1.35,
    n_threads: int | None = None,
    fit_intercept: bool = False,
    standardize: bool = False,
    weights: Any = None,
    offset: Any = None,
    penalty_factor: Any = None,
    l2: float = 0.0,
    bounds: Any = None,
) -> float:
    """Smallest lam for which every penalised weight is zero, or at its bound nearest to zero.

    Parameters are those of :func:`solve`.

    Examples
    --------
    >>> import numpy as np, shotgun
    >>> A = np.eye(3); y = np.array([3.0, -2.0, 0.5])
    >>> shotgun.lambda_max(A, y)
    3.0
    >>> shotgun.solve(A, y, lam=3.0).x.tolist()
    [0.0, 0.0, 0.0]
    """
    given = locals() | {"n_threads": check_threads(n_threads), "lam": 1.0}
    design, statement = state_problem(**taken_by(state_problem, given))
    options = _core.Options()
    options.threads = given["n_threads"]
    return float(_core.lambda_max(design, statement, options))
