"""Block SVRG: variance-reduced proximal steps over blocks of samples and blocks of features.

L. Xiao, T. Zhang: A proximal stochastic gradient method with progressive variance reduction, SIAM
J. Optim. 24, 2014; over blocks of both kinds: T. Zhao, M. Yu, Y. Wang, R. Arora, H. Liu:
Accelerated mini-batch randomized block coordinate descent method, NIPS 2014. Here all blocks of
features take their turn on a block of samples, so that its part of Ax is computed once. A round
that raises F is taken back, and steps are halved.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import expit

from shotgun.problem import encode_labels
from shotgun.study.solvers.lasso import shrink
from shotgun.study.watch import Vector, Watch

SMALLEST = 64  # samples of a block
POWERS = 8  # products for the largest curvature of a block
PROBES = 3  # blocks of samples on which it is looked for


class Batch:
    """Some samples: their rows, cut into blocks of features."""

    def __init__(self, pieces: list[Any], y: Vector) -> None:
        self.y, self._pieces = y, pieces
        self._transposed = [piece.T for piece in pieces]

    def slopes(self, z: Vector) -> Vector:
        """Of the losses."""
        return np.asarray(-self.y * expit(-self.y * z))

    def times(self, block: int, v: Vector) -> Vector:
        A = self._pieces[block]
        return np.asarray(A @ v.astype(A.dtype), dtype=np.float64)

    def transposed_times(self, block: int, v: Vector) -> Vector:
        A = self._transposed[block]
        return np.asarray(A @ v.astype(A.dtype), dtype=np.float64)

    def curvature(self, block: int, rng: np.random.Generator) -> float:
        """The largest of the mean loss along the features of a block, by the power method."""
        v = rng.standard_normal(self._pieces[block].shape[1])
        largest = 0.0
        for _ in range(POWERS):
            v = self.transposed_times(block, self.times(block, v / np.linalg.norm(v)))
            largest = float(np.linalg.norm(v))
            if largest == 0:
                break
        return largest / (4 * len(self.y))


class Blocks:
    """A in blocks of samples (each count-th of them) times blocks of features."""

    def __init__(self, A: Any, y: Any, lam: float, samples: int, features: int) -> None:
        n, d = A.shape
        count = max(1, min(samples, n // SMALLEST))
        ends = np.linspace(0, d, min(features, d) + 1).astype(int).tolist()
        self.n, self.lam = n, lam / n
        self.features = [slice(a, b) for a, b in pairwise(ends)]
        labels = encode_labels(y, n, None)
        A = A.tocsr().astype(np.float64) if sp.issparse(A) else np.ascontiguousarray(A)
        self.batches = []
        for k in range(count):
            part = A[k::count].tocsc() if sp.issparse(A) else A[k::count]
            pieces = [part[:, block] for block in self.features]
            self.batches.append(Batch(pieces, labels[k::count]))

    def predict(self, batch: Batch, x: Vector) -> Vector:
        parts = [batch.times(J, x[block]) for J, block in enumerate(self.features)]
        return np.asarray(np.sum(parts, axis=0))

    def survey(self, x: Vector) -> tuple[float, list[Vector], Vector]:
        """F over n, the slopes of all losses, batch by batch, and the gradient."""
        total, slopes, gradient = 0.0, [], np.zeros(len(x))
        for batch in self.batches:
            z = self.predict(batch, x)
            slopes.append(batch.slopes(z))
            total += float(np.logaddexp(0, -batch.y * z).sum())
            for J, block in enumerate(self.features):
                gradient[block] += batch.transposed_times(J, slopes[-1])
        return total / self.n + self.lam * float(np.abs(x).sum()), slopes, gradient / self.n

    def steps(self, rng: np.random.Generator) -> list[float]:
        """One over the largest curvature that a few batches show, for each block of features."""
        probes = rng.choice(len(self.batches), min(PROBES, len(self.batches)), replace=False)
        largest = [
            max(self.batches[k].curvature(J, rng) for k in probes)
            for J in range(len(self.features))
        ]
        return [1 / curvature if curvature > 0 else 0.0 for curvature in largest]

    def sweep(
        self, k: int, x: Vector, old: Vector, gradient: Vector, lengths: Any, order: Any
    ) -> None:
        """Batch k moves each block of x; `old` and `gradient` are its slopes and all's before."""
        batch = self.batches[k]
        z = self.predict(batch, x)
        for J in order:
            block, length = self.features[J], lengths[J]
            change = batch.transposed_times(J, batch.slopes(z) - old) / len(batch.y)
            goal = shrink(x[block] - length * (change + gradient[block]), length * self.lam)
            z += batch.times(J, goal - x[block])
            x[block] = goal


def solve(
    A: Any,
    y: Any,
    lam: float,
    watch: Watch,
    *,
    samples: int = 32,
    features: int = 8,
    rounds: int = 1000,
    seed: int = 0,
) -> Vector:
    """Logistic regression, by so many blocks of `samples` and of `features`."""
    blocks = Blocks(A, y, lam, samples, features)
    rng = np.random.default_rng(seed)
    lengths = blocks.steps(rng)
    kept = np.zeros(A.shape[1])
    value, slopes, gradient = blocks.survey(kept)
    for _ in range(rounds):
        if watch(kept) or not any(lengths):
            break
        x = kept.copy()
        for k in rng.permutation(len(blocks.batches)):
            order = rng.permutation(len(blocks.features))
            blocks.sweep(k, x, slopes[k], gradient, lengths, order)
        reached, new_slopes, new_gradient = blocks.survey(x)
        if reached > value:
            lengths = [length / 2 for length in lengths]
            continue
        gained, kept, value = value - reached, x, reached
        slopes, gradient = new_slopes, new_gradient
        if gained <= 1e-14 * value:
            break
    return kept
