"""A dense problem of the size of the paper's zeta: 500 thousand samples, 2 thousand features.

    python benchmarks/zeta.py [--rows 500000] [--lam 1] [--threads 2] [--home memory|disk|cluster]

Sparse logistic regression, float32, a tenth held out. First what it takes to predict well: passes
over A, seconds and held-out error of fits that may take more and more epochs, up to a gap of 1e-4,
begun with fewer samples and cold (from x0 = 0), where A is in memory, on disk (with the bytes that
were read) or on a Dask cluster of two processes. Then, in memory, F and held-out error of plain
Shotgun CDN, of block SVRG (a round of which reads A five times) and of stochastic gradient descent
at the best of 14 constant rates, chosen by F after one pass over a tenth.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from process import bytes_read

import shotgun
from shotgun.study.problems.dense import zeta
from shotgun.study.solvers import svrg
from shotgun.study.solvers.sgd import best_rate, runs
from shotgun.study.watch import Watch

HELD = 0.1
STOPS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 100_000)  # after so many epochs


class Judge:
    """F on the samples to learn from, errors on the others."""

    def __init__(self, A: np.ndarray, y: np.ndarray, lam: float) -> None:
        self.train = round((1 - HELD) * len(y))
        self.A, self.y, self.lam = A, y, lam

    def error(self, x: np.ndarray) -> float:
        margins = self.y[self.train :] * (self.A[self.train :] @ x.astype(np.float32))
        return float((margins <= 0).mean())

    def objective(self, x: np.ndarray) -> float:
        margins = self.y[: self.train] * (self.A[: self.train] @ x.astype(np.float32))
        losses = np.logaddexp(0, -margins.astype(np.float64)).sum()
        return float(losses + self.lam * np.abs(x, dtype=np.float64).sum())

    def say(self, name: str, seconds: float, x: np.ndarray) -> None:
        print(
            f"{name:22s} {seconds:8.2f} s  F {self.objective(x):.8g}  held-out error "
            f"{self.error(x):.4f}"
            f"  {np.count_nonzero(x)} weights",
            flush=True,
        )


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


@contextmanager
def at_home(A: np.ndarray, home: str) -> Iterator[Any]:
    """The same matrix elsewhere."""
    if home == "memory":
        yield A
    elif home == "disk":
        with tempfile.TemporaryDirectory() as folder:
            yield shotgun.disk.write(sp.csc_array(A), Path(folder) / "matrix")
    else:
        import dask.array as da
        from distributed import Client, LocalCluster

        cluster = LocalCluster(2, threads_per_worker=1, dashboard_address=":0")
        with cluster, Client(cluster):
            chunks = (-(-len(A) // 8), A.shape[1])
            yield shotgun.dask.matrix(da.from_array(np.ascontiguousarray(A), chunks=chunks))


@dataclass(frozen=True)
class Look:
    """A fit, as it was judged."""

    epochs: int
    gap: float  # over F at x = 0
    passes: float
    seconds: float
    read: float  # bytes
    error: float


def look(judge: Judge, A: Any, epochs: int, cold: bool, threads: int | None) -> Look:
    x0 = np.zeros(A.shape[1]) if cold else None
    before, begin = bytes_read(), time.perf_counter()
    fit = shotgun.solve(
        A,
        judge.y[: judge.train],
        judge.lam,
        "logistic",
        tol=1e-4,
        max_epochs=epochs,
        x0=x0,
        n_threads=threads,
        trace=True,
    )
    seconds = time.perf_counter() - begin
    gap, passes = fit.gap / fit.null_objective, fit.trace[-1]["passes"]
    return Look(fit.n_epochs, gap, passes, seconds, bytes_read() - before, judge.error(fit.x))


def growing(judge: Judge, home: str, threads: int | None) -> None:
    """What it takes to be within 0.1 % of the last held-out error, and stay there."""
    size = (8 if home == "disk" else 4) * judge.train * judge.A.shape[1]
    print(
        f"{home:10}{'epochs':>8}{'gap':>10}{'passes':>8}{'seconds':>9}{'reads':>7}"
        f"{'held-out error':>16}"
    )
    needed = {}
    with at_home(judge.A[: judge.train], home) as A:
        for kind in ("cold", "growing"):
            looks = [look(judge, A, most, kind == "cold", threads) for most in STOPS]
            for seen in looks:
                print(
                    f"  {kind:8}{seen.epochs:8d}{seen.gap:10.0e}{seen.passes:8.1f}"
                    f"{seen.seconds:9.2f}{seen.read / size:7.2f}{seen.error:16.5f}",
                    flush=True,
                )
            final = looks[-1].error
            late = max(
                (k for k, s in enumerate(looks) if abs(s.error - final) > 1e-3 * final), default=-1
            )
            needed[kind] = looks[late + 1]
    cold, grown = needed["cold"], needed["growing"]
    print(
        f"  within 0.1 % of the final error: cold {cold.passes:.1f} passes, growing "
        f"{grown.passes:.1f}, ratio {grown.passes / cold.passes:.2f} (seconds "
        f"{grown.seconds / cold.seconds:.2f}); peak {peak():.1f} GiB",
        flush=True,
    )


def cdn(judge: Judge, threads: int | None) -> None:
    """The paper's: P coordinates at once on all samples, no working set."""
    for epochs in (1, 2, 4, 8, 16):
        begin = time.perf_counter()
        fit = shotgun.solve(
            judge.A[: judge.train],
            judge.y[: judge.train],
            judge.lam,
            "logistic",
            engine="shotgun_cdn",
            working_set=False,
            max_epochs=epochs,
            n_threads=threads,
        )
        judge.say(f"Shotgun CDN, {fit.n_epochs} epochs", time.perf_counter() - begin, fit.x)


def variance_reduced(judge: Judge, rounds: int) -> None:
    watch = Watch(judge.objective, look=lambda x: {"error": judge.error(x)})
    svrg.solve(judge.A[: judge.train], judge.y[: judge.train], judge.lam, watch, rounds=rounds + 1)
    for done, mark in enumerate(watch.marks[1:], 1):
        print(
            f"{f'block SVRG, {done} rounds':22s} {mark.seconds:8.2f} s  F {mark.objective:.8g}  "
            f"held-out error {mark.extras['error']:.4f}",
            flush=True,
        )


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
    parser.add_argument("--columns", type=int, default=2_000)
    parser.add_argument("--home", choices=("memory", "disk", "cluster"), default="memory")
    parser.add_argument("--lam", type=float, default=1.0)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--passes", type=int, default=8, help="of SGD over the samples")
    options = parser.parse_args()
    judge = Judge(*zeta(options.rows, options.columns, seed=21), options.lam)
    growing(judge, options.home, options.threads)
    if options.home != "memory":
        return
    cdn(judge, options.threads)
    variance_reduced(judge, 8)
    sgd(judge, options.passes)
    print(f"peak {peak():.1f} GiB, of which A {judge.A.nbytes / 2**30:.1f} and SGD's rows as much")


if __name__ == "__main__":
    main()
