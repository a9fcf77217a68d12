"""Fits over a Dask cluster of two local processes, against memory and against dask-glm.

    python benchmarks/cluster.py [sparse] [dense]

sparse: text-like, 30k x 100k, squared and logistic, lam_max/20 and /100, relative gap 1e-6;
rounds, the objective against that of a fit in memory (both to 1e-10), and the bytes that moved
against those of the model in docs/scale.md. dense: 200k x 200, logistic with an L1 penalty,
against the solvers of dask-glm (`pip install dask-glm`): after as many iterations as they need for
our objective, and stopped by their own rule.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
from dask import annotate, compute, delayed
from distributed import Client, LocalCluster, wait

import shotgun
from shotgun.dask import Matrix, matrix
from shotgun.study.problems.generated import huge_text, planted

SHARDS, WORKERS = 8, 2
REST = 1.0  # seconds: workers clear up after a fit, while the next one may have begun


class Counted:
    """What a fit asks of a matrix, counted: the bytes that docs/scale.md says will move."""

    def __init__(self, A: Matrix) -> None:
        self.A, self.scans, self.fetches, self.seconds = A, 0, 0, 0.0
        self.sent = self.answers = self.between = 0  # bytes
        object.__setattr__(A, "scan", self.count(type(A).scan, "scans"))
        object.__setattr__(A, "_survey", self.count(type(A)._survey, "scans"))
        object.__setattr__(A, "_sparse", self.count(type(A)._sparse, "fetches"))

    def count(self, ask: Callable[..., Any], kind: str) -> Callable[..., Any]:
        def asked(*arguments: Any) -> Any:
            begin = time.perf_counter()
            answer = ask(self.A, *arguments)
            self.seconds += time.perf_counter() - begin
            setattr(self, kind, getattr(self, kind) + 1)
            parts = answer if isinstance(answer, tuple) else (answer,)
            given = [part for part in arguments if part is not None]
            self.sent += sum(part.nbytes for part in given)
            self.answers += sum(part.nbytes for part in parts)
            which = sum(part.nbytes for part in given if part.dtype == np.int32)
            self.between += (WORKERS - 1) * which  # the worker that gets it hands it on
            if kind == "scans":  # a tree of sums, each of which may be of two workers' numbers
                self.between += (SHARDS - 1) * answer.nbytes
            return answer

        return asked


def loopback() -> int:
    """Bytes that processes of this machine have sent to each other."""
    lines = Path("/proc/net/dev").read_text().splitlines()
    return int(next(line.split()[9] for line in lines if line.strip().startswith("lo:")))


def received(client: Client) -> int:
    """Bytes that the workers have got from each other."""

    def of_worker(dask_worker: Any) -> int:
        return sum(record["total"] for record in dask_worker.transfer_incoming_log)

    return sum(client.run(of_worker).values())


def sparse(client: Client) -> None:
    A = huge_text(30_000, 100_000, 100, seed=3, exponent=1.0).tocsr()
    y = planted(A.tocsc(), 300, 0.5, seed=4)
    bounds = np.linspace(0, A.shape[0], SHARDS + 1).astype(int)
    B = matrix([delayed(A[first:last]) for first, last in pairwise(bounds)])
    print(f"sparse {A.shape[0]} x {A.shape[1]}, {A.nnz * 12 / 1e6:.0f} MB, {SHARDS} shards")
    targets = {"squared": y, "logistic": y > np.median(y)}
    for loss, part in [(loss, part) for loss in targets for part in (20, 100)]:
        target = targets[loss]
        how: dict[str, Any] = {"loss": loss, "fit_intercept": True}
        lam = shotgun.lambda_max(A, target, **how) / part
        begin = time.perf_counter()
        shotgun.solve(A, target, lam, **how)
        here = time.perf_counter() - begin
        counted, before, sent = Counted(B), received(client), loopback()
        begin = time.perf_counter()
        s = shotgun.solve(B, target, lam, **how)
        there = time.perf_counter() - begin
        between, sent = received(client) - before, loopback() - sent
        model = 2 * counted.sent + counted.answers + counted.between  # sent by the scheduler
        print(
            f"  {loss}, lam_max/{part}: {s.n_rounds} rounds, gap {s.gap / s.null_objective:.1e}, "
            f"{there:.2f} s ({counted.scans} scans and {counted.fetches} fetches "
            f"{counted.seconds:.2f} s; memory {here:.2f} s)\n"
            f"    MB: sent {counted.sent / 1e6:.1f}, answers {counted.answers / 1e6:.1f}, between "
            f"workers {between / 1e6:.1f} (at most {counted.between / 1e6:.1f}), network "
            f"{sent / 1e6:.1f} (at most {model / 1e6:.1f})"
        )
        exact = [shotgun.solve(X, target, lam, tol=1e-10, **how).objective for X in (A, B)]
        print(f"    objective off by {abs(exact[1] / exact[0] - 1):.1e}")


def dense(client: Client) -> None:
    random = da.random.default_rng(7)
    workers = list(client.scheduler_info()["workers"])
    with annotate(workers=lambda key: workers[key[1] % 2] if isinstance(key, tuple) else workers):
        X = random.standard_normal((200_000, 200), chunks=(25_000, 200))  # half of it on each
    X = X.persist(optimize_graph=False)  # which would forget where
    truth = np.where(np.arange(200) < 30, 0.3, 0.0)
    y = (
        (random.random(200_000, chunks=25_000) < 1 / (1 + da.exp(-(X @ truth))))
        .astype(float)
        .persist()
    )
    wait([X, y])
    lam = 100.0
    print("dense 200000 x 200, logistic, lam 100; least seconds of 5, in turns")
    # In parts: put together by a worker, they would all stay there.
    local, labels = (np.concatenate(compute(*part.to_delayed().ravel())) for part in (X, y))
    signs = np.where(labels > 0, 1.0, -1.0)

    def objective(x: Any) -> float:
        return float(np.logaddexp(0, -signs * (local @ x)).sum() + lam * np.abs(x).sum())

    fit = partial(shotgun.solve, X, labels, lam, "logistic")
    first_order = partial(glm, X, y, lam, "proximal_grad", 9)
    turns = [(timed(fit), timed(first_order)) for _ in range(5)]
    fits, others = zip(*turns, strict=True)
    ours, s = min(fits, key=itemgetter(0))
    theirs, x = min(others, key=itemgetter(0))
    print(
        f"  shotgun: {ours:.2f} s, F {s.objective:.6f}, {s.n_rounds} rounds, "
        f"gap {s.gap / s.null_objective:.1e}\n  dask-glm proximal_grad, 9 iterations: "
        f"{theirs:.2f} s, F off by {objective(x) / s.objective - 1:.1e}: {theirs / ours:.1f} times "
        "as long",
        flush=True,
    )
    for name, iterations in (("admm", 5), ("proximal_grad", None)):
        seconds, x = timed(partial(glm, X, y, lam, name, iterations))
        told = "its own rule" if iterations is None else f"{iterations} iterations"
        off = objective(x) / s.objective - 1
        print(f"  dask-glm {name}, {told}: {seconds:.2f} s, F off by {off:.1e}", flush=True)


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    time.sleep(REST)
    begin = time.perf_counter()
    answer = run()
    return time.perf_counter() - begin, answer


def glm(X: Any, y: Any, lam: float, name: str, iterations: int | None) -> Any:
    from dask_glm import algorithms
    from dask_glm.families import Logistic

    how = {"regularizer": "l1", "lamduh": lam, "family": Logistic}
    if iterations is not None:
        how |= {"abstol": 0, "reltol": 0} if name == "admm" else {"tol": 0}
        how["max_iter"] = iterations
    return np.asarray(getattr(algorithms, name)(X, y, **how))


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["sparse", "dense"]
    cluster = LocalCluster(WORKERS, threads_per_worker=1, dashboard_address=":0")
    with cluster, Client(cluster) as client:
        for part in wanted:
            {"sparse": sparse, "dense": dense}[part](client)
