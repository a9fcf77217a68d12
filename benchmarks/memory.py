"""Peak memory of a fit beyond A itself, as a part of A's bytes; Linux only.

    python benchmarks/memory.py [--rows S/100,D/100,...]

Every row in a fresh process that reads A, y and nothing else: the peak of resident memory during
`solve` less what was resident before. CSC and Fortran order.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import problems
import scipy.sparse as sp
from process import forget_peak, memory

import shotgun

ROWS = "S/10,S/100,S/500,XL/20,C/100,D/10,D/100,T/100"


def measure(file: Path) -> dict[str, Any]:
    problem = problems.load(file)
    A, lam = problem.A, float(problem.lams[0])
    parts = (A.data, A.indices, A.indptr) if sp.issparse(A) else (A,)
    shotgun.solve([[1.0], [2.0]], [1.0, 2.0], 0.1)  # what is loaded once is not the fit's
    forget_peak()
    before = memory("VmRSS")
    fit = shotgun.solve(
        A, problem.y, lam, problem.loss, fit_intercept=problem.intercept, trace=True
    )
    beyond = memory("VmHWM") - before
    widest = max((row["working_set"] for row in fit.trace), default=0)
    return {
        "bytes": sum(part.nbytes for part in parts),
        "beyond": beyond,
        "part": widest / A.shape[1],
        "status": fit.status,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default=ROWS)
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure)))
        return
    rows = {row.name: row for row in problems.table()}
    print(f"{'':24s} {'A':>10s} {'beyond':>10s}  beyond/A   largest W/d")
    for name in options.rows.split(","):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "problem.npz"
            problems.save(rows[name].build(), file)
            command = [sys.executable, __file__, "--measure", str(file)]
            found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        mega = {key: found[key] / 2**20 for key in ("bytes", "beyond")}
        print(
            f"{name:24s} {mega['bytes']:6.0f} MiB {mega['beyond']:6.0f} MiB"
            f" {found['beyond'] / found['bytes']:9.2f} {found['part']:13.3f}  {found['status']}",
            flush=True,
        )


if __name__ == "__main__":
    main()
