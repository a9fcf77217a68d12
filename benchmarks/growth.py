"""How time grows with size: the sparse family from 1e7 to 2e8 non-zeros, to 1e-6 at lam_max / 20.

    python benchmarks/growth.py [--threads 2] [--repeat 2] [--sizes 1e7,2e7,5e7,1e8,2e8]

Rows and columns grow alike, words in a row do not. Prints the exponent of the fitted power law.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from families import grown

import shotgun


def least_time(nnz: float, threads: int | None, repeat: int) -> tuple[int, float]:
    """Non-zeros, and the least seconds of the repeats."""
    A, y = grown(nnz)
    lam = shotgun.lambda_max(A, y) / 20
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        fit = shotgun.solve(A, y, lam, tol=1e-6, n_threads=threads)
        times.append(time.perf_counter() - begin)
        if fit.status != "converged":
            raise RuntimeError(f"{fit.status} at {A.nnz} non-zeros")
    return A.nnz, min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--sizes", default="1e7,2e7,5e7,1e8,2e8")
    options = parser.parse_args()
    points = []
    for size in options.sizes.split(","):
        points.append(least_time(float(size), options.threads, options.repeat))
        print(f"{points[-1][0]:>12d} non-zeros {points[-1][1]:9.3f} s", flush=True)
    nnz, seconds = np.log(np.array(points, dtype=float).T)
    exponent, _ = np.polyfit(nnz, seconds, 1)
    print(f"time grows as nnz^{exponent:.2f}")


if __name__ == "__main__":
    main()
