"""Which lines of core/ and src/shotgun the tests execute, but for study/; fails below 95 %.

    python tests/cover.py [FOLDER]      needs ".[dev,dask]", doctest's header and gcov

The core is built with counters, and the tests in C++ and in Python add to the same ones.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from trust import note

ROOT = Path(__file__).parent.parent
LEAST = 95  # per cent
# What says nothing of the lines, or leaves no memory to what counts them; and what reaches those of
# the core that the tests in C++ do not.
BESIDE = "study browser test_sklearn_suite.py test_sklearn_agreement.py test_real_data.py"
BESIDE += " test_engines.py test_losses.py test_threads.py test_thread_limits.py test_ctrl_c.py"
BESIDE += " test_cdn.py test_hard_cases.py"
BESIDE += " test_solve.py test_warm_starts.py test_singular.py test_constants.py test_scales.py"
BESIDE += " test_properties.py test_processes.py test_interrupts.py test_interleavings.py"
BESIDE += " test_memory.py"
REMOTE = "test_disk.py test_dask.py test_io.py test_parallelism.py test_path.py test_kernels.py"

# Python begins with this where PYTHONPATH has it: what is installed for editing is not taken then.
FROM_PATH = """
import sys
sys.meta_path = [f for f in sys.meta_path if type(f).__name__ != "ScikitBuildRedirectingFinder"]
"""


def run(*command: object, **environment: object) -> None:
    arguments = list(map(str, command))
    print("+", *arguments, flush=True)
    added = {name: str(value) for name, value in environment.items()}
    subprocess.run(arguments, cwd=ROOT, env=os.environ | added, check=True)


def build(folder: Path) -> Path:
    """The package beside a core that counts."""
    options = [
        "-DSHOTGUN_COVERAGE=ON",
        "-DSHOTGUN_TESTS=ON",
        f"-DPython_EXECUTABLE={sys.executable}",
    ]
    run("cmake", "-S", ".", "-B", folder, "-G", "Ninja", *options)
    run("cmake", "--build", folder)
    for counts in folder.rglob("*.gcda"):
        counts.unlink()
    site = folder / "site"
    shutil.rmtree(site, ignore_errors=True)
    shutil.copytree(ROOT / "src", site, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    (site / "sitecustomize.py").write_text(FROM_PATH)
    run("cmake", "--install", folder, "--prefix", site)
    return site


def run_tests(folder: Path, site: Path) -> None:
    """Those in C++; those in Python that reach more of the core, on the core that counts; and the
    others."""
    for old in folder.glob(".coverage*"):
        old.unlink()
    run(folder / "core_tests", "--minimal")
    tests = [f"tests/{test}" for test in REMOTE.split()]
    covered(folder, "run", "-m", "pytest", "-q", *tests, PYTHONPATH=site)
    beside = [f"--ignore=tests/{test}" for test in (BESIDE + " " + REMOTE).split()]
    covered(folder, "run", "-m", "pytest", "-q", *beside)


def covered(folder: Path, *arguments: object, **environment: object) -> None:
    where: dict[str, object] = {
        "COVERAGE_FILE": folder / ".coverage",
        "COVERAGE_RCFILE": ROOT / "pyproject.toml",
        "SHOTGUN_TRUST": "",  # what these tests try, they have tried before
    }
    run(sys.executable, "-m", "coverage", *arguments, **where, **environment)


def python_lines(folder: Path) -> float:
    covered(folder, "combine", "-q")
    covered(folder, "report")
    covered(folder, "json", "-q", "-o", folder / "python.json")
    found = json.loads((folder / "python.json").read_text())
    return float(found["totals"]["percent_covered"])


def core_lines(folder: Path) -> float:
    options = ["--filter", "core/", "--exclude", "core/study/", "--exclude", "core/bindings/study"]
    options += ["--merge-lines", "--gcov-ignore-parse-errors=negative_hits.warn_once_per_file"]
    options += ["--txt", "-", "--json-summary", folder / "core.json"]
    run(sys.executable, "-m", "gcovr", "--root", ".", *options, folder)
    return float(json.loads((folder / "core.json").read_text())["line_percent"])


def main() -> int:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/coverage").resolve()
    site = build(folder)
    run_tests(folder, site)
    found = {"src/shotgun": python_lines(folder), "core": core_lines(folder)}
    print({name: f"{percent:.2f} %" for name, percent in found.items()})
    for name, percent in found.items():
        note({"lines executed": {name: {"per cent": round(percent, 2)}}})
    return 0 if min(found.values()) >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
