"""The paper's mathematics, exactly: Algorithms 1 and 2, their assumptions and their bounds.

Bradley, Kyrola, Bickson, Guestrin, "Parallel Coordinate Descent for L1-Regularized Loss
Minimization", ICML 2011. Everything is stated in the paper's symbols for the problem (1)

    min_x F(x) = sum_i L(a_i'x, y_i) + lam * ||x||_1,      diag(A'A) = 1,

and its twin (4) on *duplicated* features, with xhat in R^{2d}_+ and Ahat = [A, -A]:

    min_xhat sum_i L(ahat_i'xhat, y_i) + lam * sum_j xhat_j.

Ahat is never formed: weight j of the 2d weights is column ``j % d`` with sign +1 (j < d) or -1.
There are no safeguards here: with too large a P the simulated algorithm diverges, and says so.
Where the paper slips, the corrected form is the default; `docs/notation.md` lists the slips.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, islice
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.linalg import eigsh
from scipy.special import expit

__all__ = [
    "LOGISTIC",
    "LOSSES",
    "SQUARED",
    "Iterate",
    "Loss",
    "Problem",
    "Run",
    "Sides",
    "Terms",
    "assumption_2_1",
    "assumption_3_1",
    "collective_update",
    "duplicated_spectral_radius",
    "expected_change",
    "from_duplicated",
    "ideal_p",
    "iterations_to_tolerance",
    "lemma_3_3_bound",
    "mean_objective",
    "multisets",
    "shooting",
    "shooting_update",
    "shotgun",
    "shotgun_iterates",
    "spectral_radius",
    "theorem_2_1_bound",
    "theorem_3_1_terms",
    "theorem_3_2_bound",
    "theorem_3_2_bound_at_ideal_p",
    "theorem_3_2_bound_proved",
    "theorem_3_2_condition",
    "to_duplicated",
    "unit_columns",
]

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Indices = NDArray[np.int64]
Weights = Literal["duplicated", "signed"]

DIVERGED = 1e3
"""A run has diverged when F is not finite or exceeds this many times F(x0)."""


# --- The problem (section 2) ---------------------------------------------------------------------


@dataclass(frozen=True)
class Loss:
    """A loss sum_i L(z_i, y_i) at z = Ax, its derivative in z, and beta of equation (6)."""

    name: str
    beta: float
    value: Callable[[Vector, Vector], float]
    derivative: Callable[[Vector, Vector], Vector]


SQUARED = Loss(
    name="squared",
    beta=1.0,
    value=lambda z, y: 0.5 * float((z - y) @ (z - y)),
    derivative=lambda z, y: z - y,
)
LOGISTIC = Loss(
    name="logistic",
    beta=0.25,
    value=lambda z, y: float(np.logaddexp(0.0, -y * z).sum()),
    derivative=lambda z, y: -y * expit(-y * z),
)
LOSSES = {loss.name: loss for loss in (SQUARED, LOGISTIC)}


class Problem:
    """Problem (1) with unit columns, and its twin (4) on duplicated features.

    Parameters
    ----------
    A : array of shape (n, d)
        Design with ||a_j|| = 1; see `unit_columns`.
    y : array of shape (n,)
        Observations: any real numbers for the squared loss, -1 or +1 for the logistic loss.
    lam : float
        The paper's lambda.
    loss : {"squared", "logistic"}

    Examples
    --------
    >>> import numpy as np
    >>> from shotgun import theory
    >>> problem = theory.Problem(np.eye(3), [3.0, -2.0, 0.5], lam=1.0)
    >>> problem.objective(np.zeros(3)), problem.objective(np.array([2.0, -1.0, 0.0]))
    (6.625, 4.125)
    """

    def __init__(self, A: ArrayLike, y: ArrayLike, lam: float, loss: str = "squared") -> None:
        self.A: Matrix = np.asfortranarray(A, dtype=np.float64)
        self.y: Vector = np.asarray(y, dtype=np.float64)
        self.lam = float(lam)
        self.loss = LOSSES[loss]
        if not np.allclose(np.linalg.norm(self.A, axis=0), 1.0, atol=1e-9):
            raise ValueError("A must have columns of unit norm: use unit_columns(A)")
        if loss == "logistic" and not np.all(np.abs(self.y) == 1.0):
            raise ValueError("y must be -1 or +1 for the logistic loss")

    @property
    def d(self) -> int:
        """Number of features; problem (4) has 2d weights."""
        return int(self.A.shape[1])

    def objective(self, x: Vector) -> float:
        """F(x) of equation (1), x in R^d."""
        return self.loss.value(self.A @ x, self.y) + self.lam * float(np.abs(x).sum())

    def duplicated_objective(self, xhat: Vector) -> float:
        """F(xhat) of equation (4); smooth on all of R^{2d}, of which (4) uses R^{2d}_+."""
        z = self.A @ from_duplicated(xhat)
        return self.loss.value(z, self.y) + self.lam * float(xhat.sum())

    def duplicated_gradient(self, xhat: Vector) -> Vector:
        """The gradient of equation (4) in R^{2d}."""
        c = self.A.T @ self.loss.derivative(self.A @ from_duplicated(xhat), self.y)
        return np.concatenate([c, -c]) + self.lam


def unit_columns(A: ArrayLike) -> Matrix:
    """A with every column divided by its norm, so that diag(A'A) = 1 (section 2)."""
    A = np.asarray(A, dtype=np.float64)
    return np.asfortranarray(A / np.linalg.norm(A, axis=0))


def to_duplicated(x: Vector) -> Vector:
    """The xhat in R^{2d}_+ with the least norm that stands for x: [max(x, 0); max(-x, 0)]."""
    return np.concatenate([np.maximum(x, 0.0), np.maximum(-x, 0.0)])


def from_duplicated(xhat: Vector) -> Vector:
    """The x that xhat stands for: x_i = xhat_i - xhat_{d+i}, since ahat_i = [a_i; -a_i].

    Below equation (4) the paper prints the opposite sign.
    """
    d = xhat.shape[0] // 2
    return xhat[:d] - xhat[d:]


def spectral_radius(A: ArrayLike) -> float:
    """The largest eigenvalue of A'A, the paper's rho, from the smaller Gram matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from shotgun import theory
    >>> theory.spectral_radius(np.eye(3)), theory.spectral_radius(np.ones((1, 3)))
    (1.0, 3.0)
    """
    A = np.asarray(A, dtype=np.float64)
    gram = A.T @ A if A.shape[0] > A.shape[1] else A @ A.T
    m = gram.shape[0]
    if m < 64:
        return float(np.linalg.eigvalsh(gram)[-1])
    start = np.random.default_rng(0).standard_normal(m)
    return float(eigsh(gram, k=1, v0=start, return_eigenvectors=False)[0])


def duplicated_spectral_radius(A: ArrayLike) -> float:
    """The largest eigenvalue of Ahat'Ahat, which is 2 rho(A'A) because Ahat Ahat' = 2 AA'."""
    return 2.0 * spectral_radius(A)


def ideal_p(A: ArrayLike) -> int:
    """P* = ceil(d / rho(A'A)), the paper's predicted maximum of P (section 3.1).

    Examples
    --------
    >>> import numpy as np
    >>> from shotgun import theory
    >>> theory.ideal_p(np.eye(3)), theory.ideal_p(np.ones((1, 3)))
    (3, 1)
    """
    d = int(np.shape(A)[1])
    return math.ceil(d / spectral_radius(A) * (1.0 - 1e-9))  # rho = 1 up to rounding gives P* = d


# --- Algorithms 1 and 2 --------------------------------------------------------------------------


@dataclass
class Iterate:
    """Where an algorithm stands: its weights (2d duplicated or d signed) and the matching Ax."""

    weights: Vector
    Ax: Vector

    def objective(self, problem: Problem) -> float:
        """F at this iterate; sum_j |w_j| is the penalty of (1) and, with w >= 0, of (4)."""
        penalty = problem.lam * float(np.abs(self.weights).sum())
        return problem.loss.value(self.Ax, problem.y) + penalty


def shooting_update(problem: Problem, w: Vector, slope: Vector, weights: Weights) -> Vector:
    """The update delta x_j of equation (5), for several weights at once.

    Parameters
    ----------
    problem : Problem
    w : array
        The weights x_j.
    slope : array
        ahat_j' L'(Ax), or a_j' L'(Ax) for signed weights: the slope of the loss in each weight.
    weights : {"duplicated", "signed"}
        "duplicated": max{-x_j, -(grad F)_j / beta}. "signed": the same minimisation of the
        quadratic bound over the whole line with lam |x_j|, that is soft-thresholding.
    """
    beta, lam = problem.loss.beta, problem.lam
    if weights == "duplicated":
        return np.maximum(-w, -(slope + lam) / beta)
    u = w - slope / beta
    return np.copysign(np.maximum(np.abs(u) - lam / beta, 0.0), u) - w


def collective_update(
    problem: Problem, at: Iterate, chosen: Indices, weights: Weights
) -> tuple[Vector, Matrix]:
    """The updates delta x_j of the distinct `chosen` weights, all from the same Ax.

    Returns
    -------
    delta : array of shape (k,)
    columns : array of shape (k, n)
        The columns of Ahat (or A) of the chosen weights, as rows.
    """
    columns: Matrix = problem.A.T[chosen if weights == "signed" else chosen % problem.d]
    if weights == "duplicated":
        columns *= np.where(chosen < problem.d, 1.0, -1.0)[:, None]
    slope = columns @ problem.loss.derivative(at.Ax, problem.y)
    return shooting_update(problem, at.weights[chosen], slope, weights), columns


def multisets(
    rng: np.random.Generator, n_weights: int, P: int
) -> Iterator[tuple[Indices, Vector | float]]:
    """Endless multisets P_t: P weights drawn independently and uniformly, with replacement.

    Yields
    ------
    chosen : array
        The distinct weights of the multiset.
    times : array or 1.0
        How many times each was drawn.
    """
    while True:
        draws = np.sort(rng.integers(n_weights, size=(256, P)), axis=1)
        repeats = (draws[:, 1:] == draws[:, :-1]).any(axis=1)
        for chosen, repeated in zip(draws, repeats, strict=True):
            if repeated:
                distinct, times = np.unique(chosen, return_counts=True)
                yield distinct, times.astype(np.float64)
            else:
                yield chosen, 1.0


def shotgun_iterates(
    problem: Problem,
    P: int,
    *,
    weights: Weights = "duplicated",
    step: float = 1.0,
    seed: int = 0,
) -> Iterator[Iterate]:
    """Algorithm 2 (Shotgun) from x = 0: the same iterate object after each iteration, for ever.

    The same weight drawn twice: its deltas add, (Delta x)_k = sum over i_j = k of delta x_{i_j},
    and in R^{2d}_+ the sum is clipped so that x_k >= 0 ("proper write-conflict resolution").

    Parameters
    ----------
    problem : Problem
    P : int
        Number of parallel updates.
    weights : {"duplicated", "signed"}
        The 2d weights of (4), or the d weights of (1), which Fig. 2 uses.
    step : float
        Multiplies every delta. 1 is Algorithm 2; 1/P is the footnote's, which cannot diverge.
    seed : int
    """
    n_weights = 2 * problem.d if weights == "duplicated" else problem.d
    at = Iterate(np.zeros(n_weights), np.zeros(problem.y.shape[0]))
    for chosen, times in multisets(np.random.default_rng(seed), n_weights, P):
        delta, columns = collective_update(problem, at, chosen, weights)
        delta *= step * times
        if weights == "duplicated":
            np.maximum(delta, -at.weights[chosen], out=delta)
        if delta.any():  # most draws of a sparse problem leave a zero weight at zero
            at.weights[chosen] += delta
            at.Ax += delta @ columns
        yield at


class Run(NamedTuple):
    """F at the recorded iterations, and the last x, mapped back to R^d."""

    iterations: tuple[int, ...]
    F: Vector
    x: Vector


def shotgun(
    problem: Problem,
    P: int,
    iterations: Sequence[int],
    *,
    weights: Weights = "duplicated",
    step: float = 1.0,
    seed: int = 0,
) -> Run:
    """Simulate Algorithm 2 and record F(x^(T)) at each T of the increasing `iterations`.

    The run ends early when it has diverged; F is inf from there on. Parameters are those of
    `shotgun_iterates`.

    Examples
    --------
    >>> import numpy as np
    >>> from shotgun import theory
    >>> problem = theory.Problem(np.eye(3), [3.0, -2.0, 0.5], lam=1.0)
    >>> run = theory.shotgun(problem, 2, [0, 100])
    >>> run.F.tolist(), run.x.tolist()
    ([6.625, 4.125], [2.0, -1.0, 0.0])
    >>> alike = theory.Problem(np.ones((1, 8)), [3.0], lam=1.0)  # P* is 1
    >>> theory.shotgun(alike, 8, [100], weights="signed").F.tolist()
    [inf]
    """
    iterates = shotgun_iterates(problem, P, weights=weights, step=step, seed=seed)
    F0 = problem.objective(np.zeros(problem.d))
    F = np.full(len(iterations), np.inf)
    at, done = Iterate(np.zeros(problem.d), np.zeros(problem.y.shape[0])), 0
    with np.errstate(over="ignore", invalid="ignore"):
        for k, T in enumerate(iterations):
            for at in islice(iterates, T - done):  # noqa: B007  (the last one is wanted)
                pass
            done = T
            value = at.objective(problem)
            if not value <= DIVERGED * F0:
                break
            F[k] = value
    x = from_duplicated(at.weights) if at.weights.size == 2 * problem.d else at.weights
    return Run(tuple(iterations), F, x.copy())


def shooting(problem: Problem, iterations: Sequence[int], *, seed: int = 0) -> Run:
    """Algorithm 1 (Shooting), line by line, on the 2d weights of (4); records F at `iterations`.

    Shotgun with P = 1 is the same algorithm; this one is written as the paper prints it.

    Examples
    --------
    >>> import numpy as np
    >>> from shotgun import theory
    >>> problem = theory.Problem(np.eye(3), [3.0, -2.0, 0.5], lam=1.0)
    >>> theory.shooting(problem, [0, 100]).F.tolist()
    [6.625, 4.125]
    """
    rng = np.random.default_rng(seed)
    d, beta = problem.d, problem.loss.beta
    x, Ax = np.zeros(2 * d), np.zeros(problem.y.shape[0])
    F: list[float] = []
    done = 0
    for T in iterations:
        for j in rng.integers(2 * d, size=T - done):
            a_j = problem.A[:, j] if j < d else -problem.A[:, j - d]
            gradient_j = a_j @ problem.loss.derivative(Ax, problem.y) + problem.lam
            delta = max(-x[j], -gradient_j / beta)
            x[j] += delta
            Ax += delta * a_j
        done = T
        F.append(Iterate(x, Ax).objective(problem))
    return Run(tuple(iterations), np.array(F), from_duplicated(x))


def mean_objective(
    problem: Problem,
    P: int,
    iterations: Sequence[int],
    *,
    runs: int = 10,
    weights: Weights = "duplicated",
    step: float = 1.0,
    seed: int = 0,
) -> Vector:
    """The mean over `runs` runs of F(x^(T)) at each T of `iterations`: E[F(x^(T))], measured."""
    F = [
        shotgun(problem, P, iterations, weights=weights, step=step, seed=seed + run).F
        for run in range(runs)
    ]
    return np.asarray(np.mean(F, axis=0))


def iterations_to_tolerance(
    problem: Problem,
    P: int,
    F_star: float,
    *,
    tolerance: float = 0.005,
    runs: int = 10,
    max_epochs: float = 1000.0,
    every: int | None = None,
    weights: Weights = "signed",
    step: float = 1.0,
    seed: int = 0,
) -> float:
    """Fig. 2's ordinate: the T at which the mean over runs of F comes within 0.5 % of F(x*).

    Parameters
    ----------
    problem, P, weights, step, seed
        As in `shotgun_iterates`; run k has seed ``seed + k``.
    F_star : float
        F(x*).
    tolerance : float
        T is the first with mean F <= (1 + tolerance) F(x*).
    runs : int
        Number of runs averaged.
    max_epochs : float
        Give up after this many passes of d updates.
    every : int, optional
        F is looked at each `every` iterations; a fiftieth of an epoch when not given.

    Returns
    -------
    float
        T, or inf when a run diverged or `max_epochs` were not enough.

    Examples
    --------
    >>> import numpy as np
    >>> from shotgun import theory
    >>> problem = theory.Problem(np.eye(64), np.ones(64), lam=0.1)
    >>> one, eight = (theory.iterations_to_tolerance(problem, P, 6.08) for P in (1, 8))
    >>> 6 < one / eight < 10
    True
    """
    every = every or max(1, problem.d // (50 * P))
    F0 = problem.objective(np.zeros(problem.d))
    all_iterates = [
        shotgun_iterates(problem, P, weights=weights, step=step, seed=seed + run)
        for run in range(runs)
    ]
    with np.errstate(over="ignore", invalid="ignore"):
        for T in range(every, int(max_epochs * problem.d / P) + 1, every):
            F = [
                next(islice(iterates, every - 1, None)).objective(problem)
                for iterates in all_iterates
            ]
            if not max(F) <= DIVERGED * F0:
                return math.inf
            if sum(F) / runs <= (1.0 + tolerance) * F_star:
                return float(T)
    return math.inf


# --- Assumptions and theorems --------------------------------------------------------------------


class Sides(NamedTuple):
    """The two sides of an inequality that should read left <= right."""

    left: float
    right: float


class Terms(NamedTuple):
    """The two terms of Theorem 3.1; their sum bounds the change of F."""

    sequential_progress: float
    interference: float


def assumption_2_1(problem: Problem, xhat: Vector, j: int, delta: float) -> Sides:
    """Both sides of Assumption 2.1 for the single-weight update `delta` of weight j < 2d."""
    moved = xhat.copy()
    moved[j] += delta
    first_order = delta * float(problem.duplicated_gradient(xhat)[j])
    bound = problem.duplicated_objective(xhat) + first_order + problem.loss.beta * delta**2 / 2
    return Sides(problem.duplicated_objective(moved), bound)


def assumption_3_1(problem: Problem, xhat: Vector, Delta: Vector) -> Sides:
    """Both sides of Assumption 3.1 for the parallel update `Delta` in R^{2d}.

    Delta' Ahat'Ahat Delta = ||A (Delta_+ - Delta_-)||^2, so Ahat is not formed.
    """
    A_Delta = problem.A @ from_duplicated(Delta)
    first_order = float(Delta @ problem.duplicated_gradient(xhat))
    second_order = problem.loss.beta / 2 * float(A_Delta @ A_Delta)
    bound = problem.duplicated_objective(xhat) + first_order + second_order
    return Sides(problem.duplicated_objective(xhat + Delta), bound)


def theorem_2_1_bound(problem: Problem, x_star: Vector, T: ArrayLike) -> Vector:
    """Theorem 2.1: E[F(x^(T))] - F(x*) <= d (beta ||x*||^2 + 2 F(x0)) / (T + 1) for Shooting.

    x* may be given in R^d: its least-norm duplicate in R^{2d}_+ has the same norm.

    Examples
    --------
    >>> import numpy as np
    >>> from shotgun import theory
    >>> problem = theory.Problem(np.eye(3), [3.0, -2.0, 0.5], lam=1.0)
    >>> theory.theorem_2_1_bound(problem, np.array([2.0, -1.0, 0.0]), [0, 999]).tolist()
    [54.75, 0.05475]
    """
    return theorem_3_2_bound(problem, x_star, 1, T)


def _all_updates(problem: Problem, xhat: Vector) -> Vector:
    """delta x_j of equation (5) for every j < 2d, whether or not j is drawn."""
    gradient = problem.duplicated_gradient(xhat)
    return np.asarray(np.maximum(-xhat, -gradient / problem.loss.beta))


def theorem_3_1_terms(problem: Problem, xhat: Vector, draws: Sequence[int]) -> Terms:
    """Theorem 3.1: for the Lasso, F(x + Delta x) - F(x) <= sequential progress + interference.

    Parameters
    ----------
    problem : Problem
        With the squared loss.
    xhat : array of shape (2d,)
    draws : sequence of int
        The multiset P_t; each draw counts, a weight drawn twice interferes with itself.

    Examples
    --------
    >>> import numpy as np
    >>> from shotgun import theory
    >>> alike = theory.Problem(np.ones((1, 2)), [3.0], lam=1.0)
    >>> theory.theorem_3_1_terms(alike, np.zeros(4), [0, 1])  # two columns that are the same
    Terms(sequential_progress=-4.0, interference=4.0)
    """
    chosen = np.asarray(draws)
    delta = _all_updates(problem, xhat)[chosen]
    sign = np.where(chosen < problem.d, 1.0, -1.0)
    A_Delta = problem.A[:, chosen % problem.d] @ (sign * delta)
    squares = float(delta @ delta)
    return Terms(-0.5 * squares, 0.5 * (float(A_Delta @ A_Delta) - squares))


def expected_change(problem: Problem, xhat: Vector, P: int) -> float:
    """Lemma 3.3's left side, E[F(x + Delta x) - F(x)], exactly, over all multisets P_t.

    As in the lemma deltas of the same weight add and are not clipped. There are
    (2d + P - 1 choose P) multisets: for small d and P.
    """
    n_weights = 2 * problem.d
    delta = _all_updates(problem, xhat)
    F = problem.duplicated_objective(xhat)
    mean = 0.0
    for draws in combinations_with_replacement(range(n_weights), P):
        times = np.bincount(draws, minlength=n_weights)
        orders = math.factorial(P) / math.prod(math.factorial(int(m)) for m in times)
        change = problem.duplicated_objective(xhat + times * delta) - F
        mean += orders / n_weights**P * change
    return mean


def lemma_3_3_bound(problem: Problem, xhat: Vector, P: int, *, printed: bool = False) -> float:
    """Lemma 3.3's right side, P E_j[delta_j (grad F)_j + beta/2 (1 + (P-1) rho/2d) delta_j^2].

    rho here is that of the 2d duplicated features, rho(Ahat'Ahat) = 2 rho(A'A).

    Parameters
    ----------
    printed : bool
        With the minus sign that the paper prints in place of the plus that its proof gives.

    Examples
    --------
    >>> import numpy as np
    >>> from shotgun import theory
    >>> problem = theory.Problem(np.eye(3), [3.0, -2.0, 0.5], lam=1.0)
    >>> xhat = np.zeros(6)
    >>> theory.expected_change(problem, xhat, 2) <= theory.lemma_3_3_bound(problem, xhat, 2)
    True
    """
    delta, gradient = _all_updates(problem, xhat), problem.duplicated_gradient(xhat)
    interference = _interference(problem, P)
    factor = 1.0 - interference if printed else 1.0 + interference
    per_weight = delta * gradient + problem.loss.beta / 2 * factor * delta**2
    return P * float(per_weight.mean())


def _interference(problem: Problem, P: int) -> float:
    """(P - 1) rho / 2d with rho = rho(Ahat'Ahat), which the proof of Theorem 3.2 wants < 1."""
    return (P - 1) * duplicated_spectral_radius(problem.A) / (2 * problem.d)


def theorem_3_2_condition(problem: Problem, P: int) -> bool:
    """Theorem 3.2's condition P < 2d/rho + 1, rho = rho(Ahat'Ahat): P < d/rho(A'A) + 1."""
    return _interference(problem, P) < 1.0


def theorem_3_2_bound(problem: Problem, x_star: Vector, P: int, T: ArrayLike) -> Vector:
    """Theorem 3.2: E[F(x^(T))] - F(x*) <= d (beta ||x*||^2 + 2 F(x0)) / ((T + 1) P), as printed.

    As P nears the condition's limit this says more than the proof does, and on signed weights it
    then fails: see `theorem_3_2_bound_proved`.

    Examples
    --------
    >>> import numpy as np
    >>> from shotgun import theory
    >>> problem = theory.Problem(np.eye(3), [3.0, -2.0, 0.5], lam=1.0)
    >>> theory.theorem_3_2_bound(problem, np.array([2.0, -1.0, 0.0]), 3, 999).tolist()
    0.01825
    """
    F0 = problem.objective(np.zeros(problem.d))
    scale = problem.d * (problem.loss.beta * float(x_star @ x_star) + 2.0 * F0)
    return scale / ((np.asarray(T, dtype=np.float64) + 1.0) * P)


def theorem_3_2_bound_at_ideal_p(problem: Problem, x_star: Vector, T: ArrayLike) -> Vector:
    """Theorem 3.2's second bound: rho (beta/2 ||x*||^2 + F(x0)) / (T + 1), rho = rho(Ahat'Ahat).

    It is the first bound at P = 2d/rho, which for rho(A'A) is P = d/rho, P* before rounding up.
    """
    F0 = problem.objective(np.zeros(problem.d))
    scale = problem.loss.beta / 2 * float(x_star @ x_star) + F0
    rho = duplicated_spectral_radius(problem.A)
    return rho * scale / (np.asarray(T, dtype=np.float64) + 1.0)


def theorem_3_2_bound_proved(problem: Problem, x_star: Vector, P: int, T: ArrayLike) -> Vector:
    """What the proof of Theorem 3.2 yields: F(x0) times (1 + (P-1)/2d) / (1 - (P-1) rho/2d).

    With e = (P-1) rho/2d, the potential beta/2 ||x - x*||^2 + c F(x) falls in expectation by at
    least P/2d * (F(x) - F(x*)) per iteration when c (1 - e) >= 1 + (P-1)/2d: the corrected lemma
    leaves -(beta/2) (1 - e) delta_j^2 of progress per weight, and E||Delta x||^2 exceeds
    P E_j[delta_j^2] by (P-1)/2d for weights drawn twice. Theorem 3.2 prints c = 1, which is
    right for P = 1. Deltas of the same weight add unclipped, as in the lemma.

    Examples
    --------
    >>> import numpy as np
    >>> from shotgun import theory
    >>> problem = theory.Problem(np.eye(3), [3.0, -2.0, 0.5], lam=1.0)
    >>> bound = theory.theorem_3_2_bound_proved(problem, np.array([2.0, -1.0, 0.0]), 2, 999)
    >>> bool(bound > theory.theorem_3_2_bound(problem, np.array([2.0, -1.0, 0.0]), 2, 999))
    True
    """
    interference = _interference(problem, P)
    if interference >= 1.0:
        raise ValueError("P does not meet Theorem 3.2's condition")
    c = (1.0 + (P - 1) / (2 * problem.d)) / (1.0 - interference)
    F0 = problem.objective(np.zeros(problem.d))
    scale = problem.d * (problem.loss.beta * float(x_star @ x_star) + 2.0 * c * F0)
    return scale / ((np.asarray(T, dtype=np.float64) + 1.0) * P)
