"""All fuzzers, two at a time: python tests/fuzz/run.py BUILD [--seconds 60] [--seed 1] [--again]

BUILD is where CMake has built the targets of -DSHOTGUN_FUZZ=ON; what is found is kept there too.
The corpus is read and not changed.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent))

from trust import note  # noqa: E402

IN_CPP = ("svmlight", "structure", "disk")
IN_PYTHON = ("model", "readers", "matrix")
# Executions that have passed with seed 1, more than a minute of each: as many, and no more, are the
# same ones again
PASSED = {
    "svmlight": 90_000,
    "structure": 6_800_000,
    "disk": 249_000,
    "model": 160_000,
    "readers": 120_000,
    "matrix": 31_000,
}


def fuzz(name: str, build: Path, seconds: int, seed: int, again: bool) -> bool:
    """Whether nothing was found."""
    new = build / f"corpus-{name}"
    new.mkdir(exist_ok=True)
    command = [build / f"fuzz_{name}"] if name in IN_CPP else [sys.executable, HERE / f"{name}.py"]
    options = [
        f"-seed={seed}",
        f"-max_total_time={seconds}",
        "-verbosity=0",
        "-print_final_stats=1",
    ]
    options += [f"-runs={PASSED[name]}"] if again else []
    options += [f"-artifact_prefix={build}/{name}-", "-timeout=60", "-rss_limit_mb=4096"]
    began = time.monotonic()
    done = subprocess.run(
        [*command, *options, new, HERE / "corpus" / name], capture_output=True, text=True
    )
    tried = re.findall(r"stat::number_of_(?:executed_units|neighbours): *(\d+)", done.stderr)
    found = {
        "executions": sum(map(int, tried)),
        "seconds": round(time.monotonic() - began),
        "seed": seed,
        "failures": int(done.returncode != 0),
    }
    print(f"{name}: {found}", flush=True)
    if done.returncode:
        print(done.stdout[-3000:], done.stderr[-6000:], flush=True)
    note({"fuzz": {name: found}})
    return done.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--again", action="store_true", help="only what has passed before")
    parser.add_argument("--only", nargs="*", default=[*IN_CPP, *IN_PYTHON])
    given = parser.parse_args()
    build = given.build.resolve()
    with ThreadPoolExecutor(2) as pool:
        how = (build, given.seconds, given.seed, given.again)
        good = pool.map(lambda name: fuzz(name, *how), given.only)
    return 0 if all(list(good)) else 1


if __name__ == "__main__":
    sys.exit(main())
