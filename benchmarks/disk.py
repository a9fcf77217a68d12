"""A matrix on disk, four times as large as the memory that the fit may use, against one in memory.

    python benchmarks/disk.py [--folder DIR] [--rows 400000] [--threads 2] [--advice]

Text-like, as many columns as rows, 300 words a row; lam_max/20, relative gap 1e-6. The limit is
RLIMIT_DATA (all memory that a process writes to), a quarter of the matrix's bytes; the kernel's
file cache does not count towards it. The cache is emptied before each fit where that is allowed.
Bytes read are what the process asked for (rchar), from the cache or from the disk.

--advice: instead, what a file of random bytes costs by what posix_fadvise says of it: bytes that
come from the disk for reads here and there, seconds of a scan (docs/decisions/disk.md).
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from process import bytes_read

LOSSES = ("squared", "logistic")


def make(folder: str, rows: int) -> None:
    from shotgun import disk
    from shotgun.study.problems.generated import huge_text, planted

    A = huge_text(rows, rows, 300, seed=21, exponent=1.0)
    disk.write(A, folder, planted(A, 1000, 0.5, seed=22))


def bytes_of(folder: str) -> int:
    return sum(file.stat().st_size for file in Path(folder, "tiles").rglob("*.npy"))


def forget_files() -> None:
    try:
        Path("/proc/sys/vm/drop_caches").write_text("1")
    except OSError:
        print("(the file cache could not be emptied)", file=sys.stderr)


def seconds_to_read(folder: str) -> float:
    """All files, from one end to the other."""
    begin, buffer = time.perf_counter(), bytearray(1 << 20)
    for path in sorted(Path(folder, "tiles").rglob("*.npy")):
        with path.open("rb", buffering=0) as file:
            while file.readinto(buffer):
                pass
    return time.perf_counter() - begin


def fit(folder: str, loss: str, lam: float, threads: int, home: str) -> dict[str, Any]:
    """One fit, in this process."""
    import shotgun
    from shotgun import disk

    A: Any = disk.open(folder)
    y = A.y if loss == "squared" else A.y > np.median(A.y)
    reading = 0.0
    if home == "memory":
        reading = seconds_to_read(folder)
        A = A.to_memory()
    else:
        limit = bytes_of(folder) // 4
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    how: dict[str, Any] = {"loss": loss, "n_threads": threads, "fit_intercept": True}
    if not lam:
        lam = shotgun.lambda_max(A, y, **how) / 20
    before, begin = bytes_read(), time.perf_counter()
    s = shotgun.solve(A, y, lam, **how)
    return {
        "lam": lam,
        "reading": reading,
        "seconds": time.perf_counter() - begin,
        "bytes": bytes_read() - before,
        "objective": s.objective,
        "gap": s.gap / s.null_objective,
        "rounds": s.n_rounds,
        "status": s.status,
        "x": [float(np.abs(s.x).sum()), int(np.count_nonzero(s.x))],
    }


def run(folder: str, loss: str, lam: float, threads: int, home: str) -> dict[str, Any]:
    forget_files()
    command = [sys.executable, __file__, "--folder", folder, "--threads", str(threads)]
    done = subprocess.run(
        [*command, "--fit", loss, repr(lam), home], capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(f"{loss}, {home}: {done.stderr.strip().splitlines()[-1]}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def table(folder: str, threads: int) -> None:
    size = bytes_of(folder)
    print(f"{size / 2**30:.2f} GB on disk, {size / 2**32:.2f} GB of memory, {threads} threads")
    print(f"{'':10}{'home':>8}{'seconds':>9}{'reads':>7}{'rounds':>8}{'gap':>9}{'ratio':>7}")
    for loss in LOSSES:
        inside = run(folder, loss, 0.0, threads, "memory")
        outside = run(folder, loss, inside["lam"], threads, "disk")
        allowed = inside["seconds"] + inside["reading"]
        for home, answer, ratio in (("memory", inside, 1.0), ("disk", outside, None)):
            shown = outside["seconds"] / allowed if ratio is None else ratio
            print(
                f"{loss:10}{home:>8}{answer['seconds']:9.1f}{answer['bytes'] / size:7.2f}"
                f"{answer['rounds']:8}{answer['gap']:9.1e}{shown:7.2f}"
            )
        same = inside["objective"] == outside["objective"] and inside["x"] == outside["x"]
        print(f"{'':10}reading once {inside['reading']:.1f} s; the same bits: {same}")


ADVICE = {
    "none": os.POSIX_FADV_NORMAL,
    "sequential": os.POSIX_FADV_SEQUENTIAL,
    "random": os.POSIX_FADV_RANDOM,
}
FILE, PIECE, PLACES = 400 << 20, 1 << 20, 300  # bytes, bytes, how many


def opened(file: Path, advice: str) -> int:
    """A descriptor; nothing of the file is in the cache."""
    descriptor = os.open(file, os.O_RDONLY)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.posix_fadvise(descriptor, 0, 0, ADVICE[advice])
    return descriptor


def here_and_there(file: Path, advice: str, size: int) -> float:
    """Bytes from the disk over those asked for; "mmap": not by pread."""
    descriptor = opened(file, "none" if advice == "mmap" else advice)
    mapped = mmap.mmap(descriptor, FILE, prot=mmap.PROT_READ)
    before = bytes_read("read_bytes")
    for at in np.sort(np.random.default_rng(1).integers(0, FILE - size, PLACES)).tolist():
        if advice == "mmap":
            mapped[at : at + size]
        else:
            os.pread(descriptor, size, at)
    mapped.close()
    os.close(descriptor)
    return (bytes_read("read_bytes") - before) / (PLACES * size)


def scan(file: Path, advice: str) -> float:
    """Seconds, a look at the numbers included."""
    from shotgun import disk

    descriptor, begin = opened(file, advice), time.perf_counter()
    for at in range(0, FILE, PIECE):
        disk.checksum(np.frombuffer(os.pread(descriptor, PIECE, at)))
    os.close(descriptor)
    return time.perf_counter() - begin


def advise(folder: str) -> None:
    file = Path(folder, "bytes")
    with file.open("wb") as opening:
        for _ in range(FILE // PIECE):
            opening.write(os.urandom(PIECE))
        os.fsync(opening)
    for size in (4_000, 16_000, 120_000):
        told = {how: here_and_there(file, how, size) for how in (*ADVICE, "mmap")}
        print(f"{PLACES} reads of {size} bytes:", *(f"{how} {x:.2f}" for how, x in told.items()))
    turns = [{how: scan(file, how) for how in ADVICE} for _ in range(9)]
    medians = {how: float(np.median([turn[how] for turn in turns])) for how in ADVICE}
    print("seconds of a scan:", *(f"{how} {seconds:.2f}" for how, seconds in medians.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", help="where the matrix is kept, or made")
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--advice", action="store_true", help="what posix_fadvise is worth")
    parser.add_argument("--make", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--fit", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.make:
        make(arguments.folder, arguments.rows)
    elif arguments.fit:
        loss, lam, home = arguments.fit
        print(json.dumps(fit(arguments.folder, loss, float(lam), arguments.threads, home)))
    elif arguments.advice:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as scratch:
            advise(scratch)
    else:
        with tempfile.TemporaryDirectory() as scratch:
            folder = arguments.folder or str(Path(scratch) / "matrix")
            if not Path(folder).exists():
                command = [sys.executable, __file__, "--folder", folder, "--make"]
                subprocess.run([*command, "--rows", str(arguments.rows)], check=True)
            table(folder, arguments.threads)


if __name__ == "__main__":
    main()
