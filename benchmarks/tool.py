"""The tool from file to model: `fit --lam 1 --loss logistic` against liblinear's `train -s 6 -c 1`.

    python benchmarks/tool.py [--train liblinear-train] [--repeat 7]

rcv1 of SHOTGUN_DATA is written as svmlight text; both read it from the system's cache of files and
fit without an intercept, in turn, each time in a new process. liblinear gets the largest of the -e
below with which its objective is at most ours plus our tolerance (1e-6 of the objective at zero).
`train` is that of Debian's liblinear-tools, or made from liblinear's source. Seconds are the least
of all runs; CPU seconds count all threads. "start" is our run on a file that is not there: imports
and options. Bytecode is kept in a temporary directory, as an installed package has it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from problems import read_matrix
from sklearn.datasets import dump_svmlight_file

TOLERANCES = ("1e-2", "1e-3", "1e-4", "1e-5", "1e-6")
FIT = [sys.executable, "-m", "shotgun", "fit"]
HOW = ["--lam", "1", "--loss", "logistic"]


def write(path: Path) -> None:
    A, y, _ = read_matrix(Path(os.environ["SHOTGUN_DATA"]) / "rcv1.npz")
    dump_svmlight_file(A.tocsr(), y.astype(int), str(path), zero_based=False)


def run(command: list[str], env: dict[str, str], code: int = 0) -> tuple[float, float, str]:
    """Seconds, CPU seconds, and what it printed; another exit code than `code` ends it all."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != code:
        raise SystemExit(f"exit code {done.returncode}: {' '.join(command)}\n{done.stderr}")
    worked = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, worked, done.stdout


def liblinear(train: str, tolerance: str, path: Path) -> list[str]:
    options = ["-s", "6", "-c", "1", "-e", tolerance]
    return [train, *options, str(path), str(path.with_suffix(".model"))]


def objective(printed: str) -> float:
    return float(re.findall(r"Objective value = (\S+)", printed)[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--train", default="liblinear-train", help="liblinear's program")
    parser.add_argument("--repeat", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rcv1.svm"
        write(path)
        env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        env["PYTHONPYCACHEPREFIX"] = str(Path(folder) / "bytecode")
        ours = [*FIT, str(path), *HOW, "--no-intercept"]
        told = json.loads(run([*ours, "--json"], env)[2])["certificate"]
        enough = told["objective"] + told["tolerance"]
        for tolerance in TOLERANCES:
            theirs = liblinear(options.train, tolerance, path)
            reached = objective(run(theirs, env)[2])
            if reached <= enough:
                break
        print(f"objective: shotgun {told['objective']:.6f}, liblinear -e {tolerance} {reached:.6f}")
        commands = {
            "shotgun": ours,
            "with intercept": ours[:-1],
            "liblinear": theirs,
            "start": [*FIT, str(path.with_name("missing.svm")), *HOW],
        }
        runs: dict[str, list[tuple[float, float, str]]] = {name: [] for name in commands}
        for _ in range(options.repeat):
            for name, command in commands.items():
                runs[name].append(run(command, env, code=2 if name == "start" else 0))
    print(f"{'':14s} {'seconds':>8s} {'CPU s':>7s}")
    best = {name: min(each[0] for each in of) for name, of in runs.items()}
    for name, of in runs.items():
        print(f"{name:14s} {best[name]:8.2f} {min(each[1] for each in of):7.2f}")
    print(f"liblinear / shotgun: {best['liblinear'] / best['shotgun']:.2f}")


if __name__ == "__main__":
    main()
