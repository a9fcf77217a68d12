"""Shotgun CDN's speed-up in iterations, as in Fig. 5 (d) of the paper.

    python benchmarks/cdn_speedup.py [--data rcv1] [--lam 1] [--P 1,2,4,8]

An iteration is P updates at once. Counted are those until F is within 0.5 % of F*, on all columns
(no working set), as `shotgun study` counts them.
"""

from __future__ import annotations

import argparse
import math

from problems import real_data

import shotgun
from shotgun.study.jobs import iterations_of


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

    def iterations(P: int) -> float:
        how = (options.lam, "logistic", P, "shotgun_cdn", best)
        return iterations_of(A, y, *how, limit=math.inf) or math.nan

    first = iterations(1)
    for P in map(int, options.P.split(",")):
        count = iterations(P)
        print(f"P {P:4d}  {count:12.0f} iterations  {first / count:6.2f} x", flush=True)


if __name__ == "__main__":
    main()
