"""Shotgun CDN's speed-up in iterations, as in Fig. 5 (d) of the paper.

    python benchmarks/cdn_speedup.py [--data rcv1] [--lam 1] [--P 1,2,4,8]

An iteration is P updates at once. Counted are those until F is within 0.5 % of F*, on all columns
(no working set): the number of epochs is raised one by one, each time from the start, and the count
is interpolated in log(F - F*) between the last two.
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np
from problems import real_data

import shotgun

WITHIN = 5e-3


def iterations(A: Any, y: np.ndarray, lam: float, P: int, best: float) -> float:
    """Updates until F <= (1 + WITHIN) F*, over P."""
    target = WITHIN * best
    before, done = math.inf, 0
    for epochs in range(1, 10_000):
        fit = shotgun.solve(
            A, y, lam, "logistic", engine="shotgun_cdn", P=P, working_set=False, max_epochs=epochs
        )
        left = fit.objective - best
        if left <= target:
            start = 0.0 if math.isinf(before) else math.log(before / target)
            part = start / math.log(before / max(left, 1e-9 * best)) if start else 1.0
            return (done + part * (fit.n_updates - done)) / P
        before, done = left, fit.n_updates
    raise RuntimeError("F* is out of reach")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="rcv1", help="of the folder SHOTGUN_DATA")
    parser.add_argument("--lam", type=float, default=1.0)
    parser.add_argument("--P", default="1,2,4,8")
    options = parser.parse_args()
    A, y = real_data(options.data)
    report = shotgun.report(A)
    best = shotgun.solve(A, y, options.lam, "logistic", tol=1e-9).objective
    print(f"{options.data}, lam {options.lam:g}: F* {best:.8g}, P* {report.ideal_p}")
    first = iterations(A, y, options.lam, 1, best)
    for P in map(int, options.P.split(",")):
        count = iterations(A, y, options.lam, P, best)
        print(f"P {P:4d}  {count:12.0f} iterations  {first / count:6.2f} x", flush=True)


if __name__ == "__main__":
    main()
