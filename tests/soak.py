"""Mixed fits in many threads, and the memory that they leave behind.

    python tests/soak.py --minutes 30

Every loss, engine and layout, paths, cross-validations, fits that are stopped and input that is
refused, drawn at random, in eight Python threads. A fit with the same parameters must give the
bits that it gave before.

Memory is looked at while nothing runs, in two ways: bytes in use, which is what was asked of the
allocator and not given back, and resident bytes, which is what the system has lent. Of either, the
median of the last tenth of the samples may not exceed that of the first tenth after the warm-up by
more than --most. The warm-up is every job once, for what Python loads at first use, strings that
come and go until Python's table of them has its final size (it doubles once, by 1.9 MiB, when it
has seen that many), and a fifth of the time.

So that both tell of fits and not of allocators, the script starts itself again with ALLOCATORS.
glibc has a heap for each of eight threads, and what is free at the end of one stays resident:
malloc_trim() gives back the end of the first heap only. Each grows to the most that its threads
ever had at once, which is a matter of who met whom: in half an hour by 2 MiB, while the bytes in
use stood still. Python keeps 1 MiB for small objects as long as one of them lives.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import hashlib
import os
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import shotgun
from shotgun import _core
from shotgun.linear import Lasso
from shotgun.linear_cv import LassoCV
from shotgun.logistic import LogisticRegression
from shotgun.solve import ENGINES
from trust import note

Job = Callable[[], bytes | None]  # what must be the same each time, if anything

N, D = 300, 120
WARM_UP = 0.2  # of the time
ALLOCATORS = {"PYTHONMALLOC": "malloc", "MALLOC_ARENA_MAX": "1"}  # one heap for everything
SAMPLES = 200  # in all


def layouts(folder: str) -> dict[str, Any]:
    """One matrix in all forms that a fit takes."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((N, D)) * (rng.random((N, D)) < 0.3)
    A += rng.standard_normal((N, 3)) @ rng.standard_normal((3, D)) * (A != 0)
    wide = sp.csc_array(A)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    shotgun.disk.write(sp.csc_array(A), f"{folder}/A")
    return {
        "C": np.ascontiguousarray(A),
        "Fortran": np.asfortranarray(A),
        "float32": np.asfortranarray(A, dtype=np.float32),
        "CSR": sp.csr_array(A),
        "CSC": sp.csc_array(A),
        "CSC, 64 bit": wide,
        "disk": shotgun.disk.open(f"{folder}/A"),
    }


def targets(loss: str) -> Any:
    rng = np.random.default_rng(1)
    z = rng.standard_normal(N)
    if _core.losses()[loss] == _core.Targets.classes:
        return np.where(z > 0, 1.0, -1.0)
    return np.abs(np.round(3 * z)) if loss == "poisson" else z


def fit(A: Any, loss: str, engine: str, lam: float, threads: int) -> bytes | None:
    s = shotgun.solve(A, targets(loss), lam, loss, engine=engine, n_threads=threads, tol=1e-4)
    assert s.status == "converged", s
    return None if engine == "asynchronous" else s.x.tobytes()


def path(A: Any, loss: str) -> bytes:
    p = shotgun.path(A, targets(loss), n_lams=8, eps=0.05, loss=loss, n_threads=2, tol=1e-4)
    return bytes(p.X.toarray().tobytes())


def classes(A: Any) -> bytes:
    y = np.digitize(targets("squared"), [-0.5, 0.5])
    return bytes(LogisticRegression(C=0.1, n_jobs=2, tol=1e-3).fit(A, y).coef_.tobytes())


def cross_validation(A: Any) -> bytes:
    model = LassoCV(alphas=5, cv=3, n_jobs=2, tol=1e-3).fit(A, targets("squared"))
    return bytes(model.mse_path_.tobytes())


def saved(A: Any, folder: str) -> bytes:
    file = Path(folder) / f"{threading.get_ident()}.shotgun"
    Lasso(alpha=0.01).fit(A, targets("squared")).save(file)
    return bytes(shotgun.load(file).coef_.tobytes())


def stopped(A: Any) -> None:
    s = shotgun.solve(A, targets("squared"), 1e-3, tol=0.0, callback=lambda row: True)
    assert s.status in ("stopped", "precision")


def failed(A: Any) -> None:
    def fail(row: Any) -> bool:
        raise ArithmeticError

    with suppress(ArithmeticError):
        shotgun.solve(A, targets("squared"), 1e-3, tol=0.0, callback=fail)


def late(A: Any) -> None:
    shotgun.solve(A, targets("logistic"), 1e-6, "logistic", tol=0.0, deadline=1e-3)


def refused(A: Any) -> None:
    y = targets("squared")
    y[3] = np.nan
    try:
        shotgun.solve(A, y, 1.0)
    except ValueError:
        return
    raise AssertionError("NaN was taken")


def jobs(folder: str) -> list[Job]:
    """All there is to do."""
    A = layouts(folder)
    losses, dense = list(_core.losses()), A["Fortran"]
    fits: list[Job] = [
        lambda form=form, loss=loss, engine=engine, lam=lam, threads=threads: fit(
            form, loss, engine, lam, threads
        )
        for form in A.values()
        for loss in losses
        for engine in ENGINES
        for lam, threads in ((8.0, 1), (3.0, 2))
    ]
    paths: list[Job] = [
        lambda form=form, loss=loss: path(form, loss) for form in A.values() for loss in losses
    ]
    others: list[Job] = [
        lambda: classes(dense),
        lambda: classes(A["CSR"]),
        lambda: cross_validation(dense),
        lambda: cross_validation(A["CSC"]),
        lambda: saved(dense, folder),
        *(
            lambda do=do, form=form: do(form)
            for do in (stopped, failed, late)
            for form in A.values()
        ),
        lambda: refused(dense),
    ]
    return fits + paths + others * 3


class Soak:
    """Threads that work until it is time to look at the memory, and go on."""

    def __init__(self, all_jobs: list[Job], threads: int, seed: int) -> None:
        self.jobs, self.threads, self.seed = all_jobs, threads, seed
        self.known: dict[int, bytes] = {}  # digests: what is kept here must not count
        self.fits, self.failures = 0, list[BaseException]()
        self._lock = threading.Lock()

    def run(self, seconds: float) -> np.ndarray:
        """Memory, sampled evenly, at rest, after every job has been done once."""
        self.side_by_side([range(t, len(self.jobs), self.threads) for t in range(self.threads)])
        for k in range(1 << 18):
            sys.intern(f"{k} comes and goes")
        sizes = np.zeros((SAMPLES, len(Memory._fields)))  # now: what is kept here must not count
        draws = [random.Random(self.seed + t) for t in range(self.threads)]
        end = time.monotonic()
        for k in range(SAMPLES):
            end += seconds / SAMPLES
            self.side_by_side([self.drawn(draw, end) for draw in draws])
            sizes[k] = memory()
        return sizes

    def drawn(self, draw: random.Random, end: float) -> Iterator[int]:
        while time.monotonic() < end:
            yield draw.randrange(len(self.jobs))

    def side_by_side(self, numbers: Sequence[Iterable[int]]) -> None:
        """The jobs of these numbers, a thread for each list of them."""
        workers = [threading.Thread(target=self.work, args=(some,)) for some in numbers]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        if self.failures:
            raise self.failures[0]

    def work(self, numbers: Iterable[int]) -> None:
        try:
            for number in numbers:
                if self.failures:
                    return
                self.one(number)
        except BaseException as failure:
            self.failures.append(failure)

    def one(self, number: int) -> None:
        result = self.jobs[number]()
        digest = b"" if result is None else hashlib.sha256(result).digest()
        with self._lock:
            self.fits += 1
            if self.known.setdefault(number, digest) != digest:
                raise AssertionError(f"job {number} has other bits than before")


class Memory(NamedTuple):
    """Bytes; those of files are not counted, as they come and go with what others do."""

    in_use: int
    resident: int


class Mallinfo2(ctypes.Structure):
    """What glibc tells of its heap: ten numbers, of which two count here."""

    _fields_ = [
        ("first", 4 * ctypes.c_size_t),
        ("hblkhd", ctypes.c_size_t),  # bytes of large blocks
        ("between", 2 * ctypes.c_size_t),
        ("uordblks", ctypes.c_size_t),  # bytes of all others that are in use
        ("last", 2 * ctypes.c_size_t),
    ]


def memory() -> Memory:
    gc.collect()
    libc = ctypes.CDLL(None)
    libc.malloc_trim(0)
    libc.mallinfo2.restype = Mallinfo2
    heap = libc.mallinfo2()
    status = Path("/proc/self/status").read_text().splitlines()
    [line] = (line for line in status if line.startswith("RssAnon:"))
    return Memory(heap.uordblks + heap.hblkhd, 1024 * int(line.split()[1]))


def growth(sizes: Sequence[float]) -> float:
    """Of the median of the last tenth over that of the first tenth after the warm-up."""
    kept = sizes[int(WARM_UP * len(sizes)) :]
    tenth = max(1, len(kept) // 10)
    return median(kept[-tenth:]) / median(kept[:tenth]) - 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--most", type=float, default=0.01, help="growth that is allowed")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if not ALLOCATORS.items() <= os.environ.items():
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | ALLOCATORS)
    with tempfile.TemporaryDirectory() as folder:
        soak = Soak(jobs(folder), given.threads, given.seed)
        sizes = soak.run(60 * given.minutes)
    print("        in use  resident, MiB")
    for share in range(0, 100, 10):
        in_use, resident = sizes[share * len(sizes) // 100] / 2**20
        print(f"{share:3d} % {in_use:9.2f} {resident:9.2f}")
    grew = {
        "growth of bytes in use": growth(sizes[:, 0].tolist()),
        "of resident bytes": growth(sizes[:, 1].tolist()),
    }
    told = ", ".join(f"{name} {100 * part:.2f} %" for name, part in grew.items())
    print(f"{soak.fits} fits in {given.minutes:g} minutes: {told}")
    note({"soak": {"minutes": given.minutes, "fits": soak.fits, **grew}})
    return 0 if max(grew.values()) <= given.most else 1


if __name__ == "__main__":
    sys.exit(main())
