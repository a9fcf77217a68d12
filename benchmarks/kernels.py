"""Plain shooting against the simplest hand-written C++ loop, on the same matrix in the same run.

    python benchmarks/kernels.py

Prints non-zeros per second of `shotgun.solve(engine="shooting", working_set=False, n_threads=1)`
and of `kernels_naive.cpp` (dot, soft threshold, axpy; system compiler, -O3), for compressed and
dense columns in cyclic and in random order, beside the machine's read bandwidth. Runs are
interleaved, minima are taken, and the clock is the thread's own, so that other jobs disturb little.
Both start at x = 0; the time of the first epochs is subtracted from that of more, so what is set up
once does not count, while the certificate that `solve` looks at now and then does.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import shotgun

FEW, MANY = 20, 100  # epochs; time is that of MANY less that of FEW


def compile_naive(folder: str) -> ctypes.CDLL:
    """The hand-written loop as a shared library."""
    source = Path(__file__).with_name("kernels_naive.cpp")
    library = Path(folder) / "naive.so"
    compiler = os.environ.get("CXX", "c++")
    subprocess.run([compiler, "-O3", "-shared", "-fPIC", source, "-o", library], check=True)
    naive = ctypes.CDLL(str(library))
    naive.read_all.restype = ctypes.c_uint64
    return naive


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def seconds(body: Callable[[], Any]) -> float:
    begin = time.thread_time()
    body()
    return time.thread_time() - begin


def read_bandwidth(naive: ctypes.CDLL, repeats: int = 5) -> float:
    """Bytes per second of one thread reading 256 MB in order."""
    data = np.ones(32 * 1024 * 1024)
    size = ctypes.c_int64(data.size)
    return data.nbytes / min(
        seconds(lambda: naive.read_all(size, pointer(data))) for _ in range(repeats)
    )


def sparse_problem(n: int = 20_000, d: int = 40_000, per_row: int = 75, seed: int = 0):
    """Text-like: few non-zeros per row, some columns far longer than others."""
    rng = np.random.default_rng(seed)
    columns = np.minimum((d * rng.random(n * per_row) ** 3).astype(np.int64), d - 1)
    rows = np.repeat(np.arange(n), per_row)
    A = sp.csc_matrix((rng.random(n * per_row) + 0.5, (rows, columns)), shape=(n, d))
    A.sum_duplicates()
    truth = np.where(rng.random(d) < 0.01, rng.normal(size=d), 0.0)
    return A, A @ truth + rng.normal(size=n)


def dense_problem(n: int = 2_000, d: int = 2_000, seed: int = 0):
    """Correlated columns, so that many epochs are needed."""
    rng = np.random.default_rng(seed)
    A = np.asfortranarray(rng.normal(size=(n, d)) + rng.normal(size=(n, 1)))
    truth = np.where(rng.random(d) < 0.1, rng.normal(size=d), 0.0)
    return A, A @ truth + rng.normal(size=n)


@dataclass(frozen=True)
class Row:
    """One comparison: non-zeros per second of both, and bytes per non-zero of A."""

    columns: str
    order: str
    ours: float
    naive: float
    bytes_each: int

    @property
    def ratio(self) -> float:
        return self.ours / self.naive


class Naive:
    """The hand-written loop on one problem."""

    def __init__(self, library: ctypes.CDLL, A: Any, y: np.ndarray, lam: float) -> None:
        self.library, self.A, self.y, self.lam = library, A, y, ctypes.c_double(lam)
        squares = A.multiply(A).sum(0) if sp.issparse(A) else np.einsum("ij,ij->j", A, A)
        self.norm2 = np.ascontiguousarray(np.asarray(squares).ravel())

    def run(self, order: np.ndarray) -> tuple[float, np.ndarray]:
        """Seconds for the updates in `order`, and the weights they lead to."""
        x, r = np.zeros(self.A.shape[1]), self.y.copy()
        size, n = ctypes.c_int64(order.size), ctypes.c_int64(len(r))
        tail = (pointer(self.norm2), self.lam, pointer(x), pointer(r))
        head = (size, pointer(order))
        if sp.issparse(self.A):
            parts = [pointer(p) for p in (self.A.data, self.A.indices, self.A.indptr)]
            return seconds(lambda: self.library.csc_epochs(*head, *parts, *tail)), x
        return seconds(lambda: self.library.dense_epochs(*head, n, pointer(self.A), *tail)), x


def orders(d: int, order: str, epochs: int) -> np.ndarray:
    """The coordinates of all epochs, made outside the clock."""
    rng = np.random.default_rng(0)
    one = np.arange(d)
    return np.concatenate([one if order == "cyclic" else rng.permutation(d) for _ in range(epochs)])


def compare(library: ctypes.CDLL, A: Any, y: np.ndarray, order: str, repeats: int = 7) -> Row:
    """Interleaved minima of both, per epoch."""
    sparse = sp.issparse(A)
    nnz = A.nnz if sparse else A.size
    lam = 0.001 * shotgun.lambda_max(A, y)
    naive = Naive(library, A, y, lam)
    all_updates = orders(A.shape[1], order, MANY)
    few_updates = all_updates[: FEW * A.shape[1]]

    def ours(epochs: int) -> shotgun.Solution:
        s = shotgun.solve(
            A,
            y,
            lam,
            engine="shooting",
            order=order,
            working_set=False,
            n_threads=1,
            tol=0.0,
            max_epochs=epochs,
        )
        assert s.n_epochs == epochs, f"{s.status} after {s.n_epochs} epochs: too easy a problem"
        return s

    times: dict[str, list[float]] = {"ours few": [], "ours many": [], "few": [], "many": []}
    for _ in range(repeats):
        times["ours many"].append(seconds(lambda: ours(MANY)))
        times["many"].append(naive.run(all_updates)[0])
        times["ours few"].append(seconds(lambda: ours(FEW)))
        times["few"].append(naive.run(few_updates)[0])
    best = {name: min(t) for name, t in times.items()}
    if order == "cyclic":  # the same updates in the same order: the same weights
        np.testing.assert_allclose(ours(MANY).x, naive.run(all_updates)[1], rtol=0, atol=1e-6)
    work = nnz * (MANY - FEW)
    return Row(
        "CSC" if sparse else "dense",
        order,
        work / (best["ours many"] - best["ours few"]),
        work / (best["many"] - best["few"]),
        12 if sparse else 8,
    )


def measure(repeats: int = 7) -> tuple[float, list[Row]]:
    """Bandwidth and all comparisons."""
    with tempfile.TemporaryDirectory() as folder:
        library = compile_naive(folder)
        bandwidth = read_bandwidth(library)
        rows = [
            compare(library, A, y, order, repeats)
            for A, y in (sparse_problem(), dense_problem())
            for order in ("cyclic", "random")
        ]
    return bandwidth, rows


def main() -> None:
    bandwidth, rows = measure()
    print(f"read bandwidth, one thread: {bandwidth / 1e9:.1f} GB/s\n")
    print("columns  order    shotgun        naive          ratio   shotgun reads A at")
    for row in rows:
        print(
            f"{row.columns:<8} {row.order:<8} {row.ours / 1e6:6.0f} Mnnz/s  "
            f"{row.naive / 1e6:6.0f} Mnnz/s   {row.ratio:5.2f}   "
            f"{row.ours * row.bytes_each / 1e9:5.1f} GB/s"
        )


if __name__ == "__main__":
    main()
