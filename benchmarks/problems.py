"""The problems of the tables: rows by name, their objective, and files to hand them over.

F(x, b) = sum_i L(a_i'x + b, y_i) + lam ||x||_1, where L(z, y) is 1/2 (z - y)^2 (the Lasso) or
log(1 + exp(-yz)) with y = -1 or +1 (logistic regression); a path is many lam at once.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, logit

REAL = (
    "debian_size_bigram",
    "nycflights_delay",
    "mice_snp_bmi",
    "riboflavin",
    "we8there",
    "mug05_12_12",
    "ball64_singlepixcam",
)
CLASSES = (
    "rcv1",
    "imdb_bigram",
    "farm_ads",
    "a9a",
    "mnist_parity",
    "leukemia_golub",
    "colon_alon",
    "arcene",
    "madelon",
)
N_LAMS, EPS = 100, 1e-3


@dataclass(frozen=True)
class Problem:
    """A, y, the lam to solve for in falling order, whether b is free, and the loss."""

    A: Any
    y: np.ndarray
    lams: np.ndarray
    intercept: bool = False
    loss: str = "squared"


@dataclass(frozen=True)
class Goal:
    """What a run must reach to count: the worst value of `measure` over all lam."""

    measure: str
    ours: float
    peers: float

    @property
    def name(self) -> str:
        if self.ours == self.peers:
            return f"{self.ours:.0e}"
        return f"{self.ours:.0e} certified, peers {self.measure} {self.peers:.0e}"

    def target(self, solver: str) -> float:
        return self.ours if solver == "shotgun" else self.peers


USUAL = (Goal("suboptimality", 1e-3, 1e-3), Goal("suboptimality", 1e-6, 1e-6))
# Nobody brings a whole dense path to 1e-6, so there the gap counts: ours is what `tol` certifies,
# relative to F at x = 0; a peer's is computed from its X, relative to F at each lam.
DENSE_PATH = (Goal("suboptimality", 1e-3, 1e-3), Goal("gap", 1e-4, 2e-2))
LOGISTIC_PATH = (Goal("suboptimality", 1e-3, 1e-3), Goal("suboptimality", 1e-5, 1e-5))


@dataclass(frozen=True)
class Row:
    """One line of the table; `lam` as given, else lam_max / `ratio`, else a path."""

    name: str
    source: str
    ratio: float = 0.0
    lam: float = 0.0
    path: bool = False
    csr: bool = False
    goals: tuple[Goal, ...] = USUAL
    intercept: bool = False
    loss: str = "squared"

    @property
    def real(self) -> bool:
        return self.source in REAL + CLASSES

    def build(self) -> Problem:
        from families import FAMILIES  # here, since a peer's environment has no shotgun

        A, y = real_data(self.source) if self.real else FAMILIES[self.source]()
        largest = lambda_max(A, y, self.intercept, self.loss)
        lams = grid(largest) if self.path else np.array([self.lam or largest / self.ratio])
        return Problem(A.tocsr() if self.csr else A, y, lams, self.intercept, self.loss)


def table() -> Iterator[Row]:
    """The fixed rows; real data only where SHOTGUN_DATA says where it is."""
    yield from lasso_rows()
    yield from logistic_rows()


def lasso_rows() -> Iterator[Row]:
    for source, ratios in {"S": (10, 100, 500), "XL": (20,), "D": (10, 100), "T": (100,)}.items():
        for ratio in ratios:
            yield Row(f"{source}/{ratio}", source, ratio)
    yield Row("C@0.5", "C", lam=0.5)
    yield Row("C/100", "C", 100)
    yield from (Row(f"S/{ratio}-csr", "S", ratio, csr=True) for ratio in (10, 100, 500))
    yield Row("path-S", "S", path=True)
    yield Row("path-D", "D", path=True, goals=DENSE_PATH)
    for source in REAL if os.environ.get("SHOTGUN_DATA") else ():
        for ratio in (10, 100):
            yield Row(f"{source}/{ratio}", source, ratio, intercept=True)


def logistic_rows() -> Iterator[Row]:
    row = partial(Row, loss="logistic")
    yield row("LR@1", "LR", lam=1.0)
    yield row("LR/100", "LR", 100)
    yield row("Z@1", "Z", lam=1.0)
    yield row("Z32@1", "Z32", lam=1.0)
    yield row("W/10", "W", 10)
    yield row("path-LR", "LR", path=True, goals=LOGISTIC_PATH)
    for source in CLASSES if os.environ.get("SHOTGUN_DATA") else ():
        for intercept, mark in ((False, ""), (True, "+b")):
            yield row(f"{source}@1{mark}", source, lam=1.0, intercept=intercept)
            yield row(f"{source}/100{mark}", source, 100, intercept=intercept)


def real_data(name: str) -> tuple[Any, np.ndarray]:
    """A data set from the folder SHOTGUN_DATA, as float64 columns; of two classes, -1 and +1."""
    A, y, _ = read_matrix(Path(os.environ["SHOTGUN_DATA"]) / f"{name}.npz")
    A = A.astype(np.float64, copy=False)
    if name == "mnist_parity":
        A /= 255  # grey values, as everyone scales them
    return A, np.where(y == y.max(), 1.0, -1.0) if name in CLASSES else y


def read_matrix(file: Path) -> tuple[Any, np.ndarray, dict[str, np.ndarray]]:
    """(A, y, the rest) of an npz file that holds `X` or the parts of a compressed matrix.

    A keeps the type it is stored in.
    """
    with np.load(file) as parts:
        rest = {name: parts[name] for name in parts.files}
    y = rest.pop("y").astype(np.float64, copy=False)
    if "X" in rest:
        return np.asfortranarray(rest.pop("X")), y, rest
    kind = sp.csr_matrix if rest.pop("csr", False) else sp.csc_matrix
    data, indices, indptr, shape = (rest.pop(k) for k in ("data", "indices", "indptr", "shape"))
    return kind((data, indices, indptr), tuple(shape)), y, rest


def save(problem: Problem, file: Path) -> None:
    """For a process of another environment, in the format of the real data."""
    A = problem.A
    rest = {name: getattr(problem, name) for name in ("y", "lams", "intercept", "loss")}
    if sp.issparse(A):
        rest |= {"data": A.data, "indices": A.indices, "indptr": A.indptr, "shape": A.shape}
        rest["csr"] = A.format == "csr"
    else:
        rest["X"] = A
    np.savez(file, **rest)


def load(file: Path) -> Problem:
    A, y, rest = read_matrix(file)
    return Problem(A, y, rest["lams"], bool(rest["intercept"]), str(rest["loss"]))


def tiny(like: Problem) -> Problem:
    """A small problem of the same kind: what a solver compiles or loads, it does on this."""
    rng = np.random.default_rng(0)
    A: Any = np.asfortranarray(rng.standard_normal((20, 10)), dtype=like.A.dtype)
    if sp.issparse(like.A):
        A = sp.csc_matrix(A).asformat(like.A.format)
    lams = grid(1.0)[: len(like.lams)]
    y = rng.standard_normal(20)
    return Problem(A, np.sign(y) if like.loss == "logistic" else y, lams, like.intercept, like.loss)


def null_predictor(y: np.ndarray, intercept: bool, loss: str) -> float:
    """What x = 0 predicts for every row: the best b, or 0."""
    if not intercept:
        return 0.0
    return float(logit((y > 0).mean()) if loss == "logistic" else y.mean())


def null_objective(problem: Problem) -> float:
    """F at x = 0."""
    z = null_predictor(problem.y, problem.intercept, problem.loss)
    return total_loss(np.full_like(problem.y, z), problem.y, problem.loss)


def lambda_max(A: Any, y: np.ndarray, intercept: bool = False, loss: str = "squared") -> float:
    """The largest derivative of the losses at x = 0."""
    z = null_predictor(y, intercept, loss)
    pull = y * expit(-y * z) if loss == "logistic" else y - z
    return float(np.abs(A.T @ pull).max())


def total_loss(z: np.ndarray, y: np.ndarray, loss: str) -> float:
    if loss == "logistic":
        return float(np.logaddexp(0.0, -y * z).sum())
    return float((z - y) @ (z - y) / 2)


def grid(largest: float, count: int = N_LAMS, eps: float = EPS) -> np.ndarray:
    """Log-spaced from lam_max down."""
    return largest * np.logspace(0, np.log10(eps), count)


def objectives(problem: Problem, X: Any, b: np.ndarray) -> np.ndarray:
    """F at every column of X with its b, in float64."""
    X = sp.csc_matrix(X, dtype=np.float64)
    F = np.empty(len(problem.lams))
    for k, lam in enumerate(problem.lams):
        x = X[:, [k]]
        z = np.asarray(problem.A @ x.toarray()).ravel() + b[k]
        F[k] = total_loss(z, problem.y, problem.loss) + lam * np.abs(x.data).sum()
    return F


def gaps(problem: Problem, X: Any) -> np.ndarray:
    """Duality gaps of the Lasso without intercept, residuals scaled into the dual's constraints."""
    X = sp.csc_matrix(X)
    gap = np.empty(len(problem.lams))
    for k, lam in enumerate(problem.lams):
        x = X[:, [k]].toarray().ravel()
        r = problem.y - problem.A @ x
        theta = r * min(1.0, lam / np.abs(problem.A.T @ r).max())
        move = r - theta
        gap[k] = move @ move / 2 + lam * np.abs(x).sum() - theta @ (problem.A @ x)
    return gap
