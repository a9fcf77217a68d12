"""The paper's largest problem, re-made: 30 thousand samples, 5.8 million bigrams, 1.2e8 non-zeros.

    python benchmarks/largest.py [--threads 2]

Shotgun as it comes, the paper's Shooting and its Shotgun on all columns, each to a gap of 1e-4 at
lam_max / 20; the plain ones are stopped at ten times the time of the first.
"""

from __future__ import annotations

import argparse
import resource
import time

from families import largest

import shotgun

PLAIN = {"plain Shooting": "shooting", "plain Shotgun": "bundle"}


def show(name: str, fit: shotgun.Solution, seconds: float, first: float) -> None:
    print(
        f"{name:16s} {seconds:9.2f} s {seconds / first:7.1f} x  {fit.status:10s}"
        f" F {fit.objective:.6g}  gap {fit.gap:.2e} of {fit.tolerance:.2e}  P {fit.P}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int)
    threads = parser.parse_args().threads
    begin = time.perf_counter()
    A, y = largest()
    built = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    n, d = A.shape
    print(f"{n} x {d}, {A.nnz:.3g} non-zeros, made in {built:.0f} s and {peak:.1f} GiB")
    lam = shotgun.lambda_max(A, y) / 20
    begin = time.perf_counter()
    fit = shotgun.solve(A, y, lam, tol=1e-4, n_threads=threads)
    first = time.perf_counter() - begin
    show("default", fit, first, first)
    for name, engine in PLAIN.items():
        begin = time.perf_counter()
        fit = shotgun.solve(
            A,
            y,
            lam,
            tol=1e-4,
            engine=engine,
            working_set=False,
            n_threads=threads,
            deadline=10 * first,
        )
        show(name, fit, time.perf_counter() - begin, first)


if __name__ == "__main__":
    main()
