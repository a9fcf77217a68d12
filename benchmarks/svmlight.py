"""Reading svmlight text: shotgun.io against scikit-learn's load_svmlight_file; Linux only.

    python benchmarks/svmlight.py [--megabytes 1000] [--words 200000] [--digits 6] [--threads 2]

Text-like data from a seed, in a temporary directory: 75 words a line, common ones more often. Both
read it in turn, each time in a fresh process, from the system's cache of files. CPU s counts all
threads; peak memory is that of the process less what it had before reading. At the end both have to
have read the same: the same bits of y and of A as CSC. The ratio is that of the least times.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from process import forget_peak, memory

LENGTH = 75  # of a line, in words


def generate(path: Path, size: int, words: int, digits: int) -> None:
    """At least `size` bytes: labels of two kinds, positive weights of so many digits."""
    rng = np.random.default_rng(0)
    written = 0
    with path.open("w") as file:
        while written < size:
            texts = (words ** rng.random((1000, LENGTH))).astype(int)
            values = rng.exponential(size=texts.shape)
            lines = []
            for row, weights, label in zip(texts, values, rng.integers(0, 2, 1000), strict=True):
                unique = np.unique(row)
                entries = zip(unique.tolist(), weights.tolist(), strict=False)
                text = " ".join([f"{j}:{value:.{digits}g}" for j, value in entries])
                lines.append(f"{'+1' if label else '-1'} {text}\n")
            written += file.write("".join(lines))
        file.flush()
        os.fsync(file.fileno())  # nobody shall read while the system still writes


def measure(path: str, reader: str, threads: int) -> dict[str, Any]:
    if reader == "shotgun":
        import shotgun.io
    else:
        from sklearn.datasets import load_svmlight_file
    forget_peak()
    before, start, worked = memory("VmRSS"), time.perf_counter(), time.process_time()
    if reader == "shotgun":
        data = shotgun.io.read(path, n_threads=threads)
        A, y = data.A, data.y
    else:
        A, y = load_svmlight_file(path)
    seconds, beyond = time.perf_counter() - start, memory("VmHWM") - before
    worked = time.process_time() - worked
    parts = (A.data, A.indices, A.indptr)
    size = sum(part.nbytes for part in parts) + y.nbytes
    columns = A.tocsc()
    digest = hashlib.sha256(repr((A.shape, y.tobytes())).encode())
    for part in (columns.data, columns.indices, columns.indptr):
        digest.update(part.astype(part.dtype.kind + "8", copy=False))
    return {
        "seconds": seconds,
        "cpu": worked,
        "beyond": beyond,
        "bytes": size,
        "digest": digest.hexdigest(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--words", type=int, default=200_000)
    parser.add_argument("--digits", type=int, default=6)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(*options.measure, options.threads)))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text.svm"
        generate(path, options.megabytes * 10**6, options.words, options.digits)
        megabytes = path.stat().st_size / 1e6
        runs: dict[str, list[dict[str, Any]]] = {"shotgun": [], "scikit-learn": []}
        print(f"{megabytes:.0f} MB, {options.threads} threads")
        print(f"{'':14s} {'seconds':>8s} {'CPU s':>7s} {'MB/s':>7s}  peak memory / result")
        for _ in range(options.repeat):
            for reader, seen in runs.items():
                command = [sys.executable, __file__, "--threads", str(options.threads)]
                told = subprocess.check_output([*command, "--measure", str(path), reader])
                run = json.loads(told)
                seen.append(run)
                print(
                    f"{reader:14s} {run['seconds']:8.2f} {run['cpu']:7.2f} "
                    f"{megabytes / run['seconds']:7.0f}  {run['beyond'] / run['bytes']:.2f}"
                )
    best = {reader: min(run["seconds"] for run in seen) for reader, seen in runs.items()}
    same = len({run["digest"] for seen in runs.values() for run in seen}) == 1
    result = "the same" if same else "DIFFERENT"
    print(f"ratio {best['scikit-learn'] / best['shotgun']:.1f}, result {result}")


if __name__ == "__main__":
    main()
