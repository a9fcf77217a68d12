"""scikit-learn's own tests pass with our classes, but for those that docs/scikit-learn.md lists."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import sklearn

SUITE = Path(__file__).parent / "sklearn_suite.py"
DOCUMENT = SUITE.parent.parent / "docs" / "scikit-learn.md"


@pytest.fixture(scope="module")
def documented() -> tuple[str, float]:
    """The version of scikit-learn that the document is about, and the rate it states."""
    found = re.search(r"^scikit-learn (\S+): .* \((.*) %\)", DOCUMENT.read_text(), re.MULTILINE)
    assert found
    return found[1], float(found[2])


def run(*files: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, SUITE, *files]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_nine_of_ten_applicable_tests_pass(documented: tuple[str, float]) -> None:
    assert documented[1] >= 90


@pytest.mark.parametrize(
    "files",
    [["test_coordinate_descent.py"], pytest.param([], marks=pytest.mark.slow)],
    ids=["least squares", "all"],
)
def test_the_list_of_failures_is_exact(files: list[str], documented: tuple[str, float]) -> None:
    if sklearn.__version__ != documented[0]:
        pytest.skip(f"the list is about scikit-learn {documented[0]}")
    finished = run(*files)
    assert finished.returncode == 0, finished.stdout[-3000:] + finished.stderr[-1000:]
