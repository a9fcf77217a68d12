"""A dense problem of the size of the paper's zeta: 500 thousand samples, 2 thousand features.

    python benchmarks/zeta.py [--rows 500000] [--lam 1] [--threads 2]

Sparse logistic regression, float32, a tenth held out. Seconds, F and held-out error of fits that
were given more and more epochs, then to a gap of 1e-4; against stochastic gradient descent
at the best of 14 constant rates, chosen by F after one pass over a tenth.
"""

from __future__ import annotations

import argparse
import resource
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import shotgun
from shotgun.study.solvers.sgd import best_rate, runs
from shotgun.study.watch import Watch

COLUMNS, HELD = 2_000, 0.1


def data(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian columns in Fortran order, each mixed with the one before; labels from a tenth."""
    A = np.empty((rows, COLUMNS), dtype=np.float32, order="F")

    def column(j: int) -> None:
        A[:, j] = np.random.default_rng((21, j)).standard_normal(rows, dtype=np.float32)

    with ThreadPoolExecutor() as pool:
        list(pool.map(column, range(COLUMNS)))
    for j in range(1, COLUMNS):
        A[:, j] = 0.5 * A[:, j - 1] + np.float32(np.sqrt(0.75)) * A[:, j]
    rng = np.random.default_rng(22)
    x = np.zeros(COLUMNS, dtype=np.float32)
    x[rng.choice(COLUMNS, COLUMNS // 10, replace=False)] = rng.standard_normal(COLUMNS // 10)
    z = A @ x
    z += z.std() * rng.standard_normal(rows, dtype=np.float32)
    return A, np.where(z > 0, 1.0, -1.0)


class Judge:
    """F on the samples to learn from, errors on the others."""

    def __init__(self, A: np.ndarray, y: np.ndarray, lam: float) -> None:
        self.train = round((1 - HELD) * len(y))
        self.A, self.y, self.lam = A, y, lam

    def say(self, name: str, seconds: float, x: np.ndarray) -> None:
        x = x.astype(np.float32)
        margins = self.y * (self.A @ x).astype(np.float64)
        losses = np.logaddexp(0, -margins[: self.train]).sum()
        F = losses + self.lam * float(np.abs(x, dtype=np.float64).sum())
        errors = float((margins[self.train :] <= 0).mean())
        print(
            f"{name:22s} {seconds:8.2f} s  F {F:.8g}  held-out error {errors:.4f}"
            f"  {np.count_nonzero(x)} weights",
            flush=True,
        )


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def ours(judge: Judge, threads: int | None) -> None:
    A, y = judge.A[: judge.train], judge.y[: judge.train]
    for epochs in (1, 2, 4, 8, 16, 100_000):
        begin = time.perf_counter()
        fit = shotgun.solve(
            A, y, judge.lam, "logistic", tol=1e-4, max_epochs=epochs, n_threads=threads
        )
        seconds = time.perf_counter() - begin
        judge.say(f"shotgun, {fit.status}", seconds, fit.x)
    print(f"{'':22s} gap {fit.gap / fit.tolerance * 1e-4:.1e} of F at x = 0, peak {peak():.1f} GiB")


def rate_of(rows: np.ndarray, y: np.ndarray, lam: float) -> float:
    def F(x: np.ndarray) -> float:
        return float(np.logaddexp(0, -y * (rows @ x.astype(np.float32))).sum() + lam * abs(x).sum())

    return best_rate(runs(rows, y, lam), Watch(F), trial=1)


def sgd(judge: Judge, passes: int) -> None:
    y = judge.y[: judge.train]
    rows = np.ascontiguousarray(judge.A[: judge.train])
    some = judge.train // 10
    rate = rate_of(rows[:some], y[:some], judge.lam / 10)
    run, seconds = runs(rows, y, judge.lam)(rate), 0.0
    for done in sorted({1, 2, 4, 8, passes}):
        if done > passes:
            break
        begin = time.perf_counter()
        run.go(done)
        seconds += time.perf_counter() - begin
        judge.say(f"SGD {rate:.2g}, {done} passes", seconds, run.x)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--lam", type=float, default=1.0)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--passes", type=int, default=8, help="of SGD over the samples")
    options = parser.parse_args()
    judge = Judge(*data(options.rows), options.lam)
    ours(judge, options.threads)
    sgd(judge, options.passes)
    print(f"peak {peak():.1f} GiB, of which A {judge.A.nbytes / 2**30:.1f} and SGD's rows as much")


if __name__ == "__main__":
    main()
