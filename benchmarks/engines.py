"""Time of every engine to a relative gap of 1e-6, in one run: what `engine="auto"` is chosen from.

    python benchmarks/engines.py [--seconds 20] [--repeat 3]

The synthetic families of the tables and, with SHOTGUN_DATA set, real data sets. Engines are
interleaved; the least of the repeats counts; ">" marks a fit stopped at the limit.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import numpy as np
from families import FAMILIES
from problems import read_matrix

import shotgun

ENGINES = ("shooting", "bundle", "block", "newton", "asynchronous")
REAL = ("ball64_singlepixcam", "mug05_12_12", "madelon", "riboflavin", "we8there", "leukemia_golub")


def problems() -> Any:
    """(name, A, y, lam) one after the other."""
    for family, ratios in {"S": (10, 100), "C": (100,), "D": (10, 100), "T": (100,)}.items():
        A, y = FAMILIES[family]()
        largest = shotgun.lambda_max(A, y)
        for ratio in ratios:
            yield f"{family}/{ratio}", A, y, largest / ratio
    folder = os.environ.get("SHOTGUN_DATA")
    for name in REAL if folder else ():
        A, y, _ = read_matrix(Path(str(folder)) / f"{name}.npz")
        A = A.astype(np.float64, copy=False)
        yield f"{name}/10", A, y, shotgun.lambda_max(A, y) / 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0, help="limit of one fit")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    print(f"{'ms to 1e-6':24s}" + "".join(f"{engine:>14s}" for engine in ENGINES))
    for name, A, y, lam in problems():
        best = dict.fromkeys(ENGINES, (np.inf, ""))
        for _ in range(options.repeat):
            for engine in ENGINES:
                fit = shotgun.solve(
                    A, y, lam, engine=engine, n_threads=options.threads, deadline=options.seconds
                )
                mark = "" if fit.status == "converged" else ">"
                best[engine] = min(best[engine], (fit.seconds, mark))
        cells = (f"{mark}{1e3 * seconds:.1f}" for seconds, mark in best.values())
        print(f"{name:24s}" + "".join(f"{cell:>14s}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
