"""The inner loop keeps up with a hand-written one."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

PATH = Path(__file__).parents[1] / "benchmarks" / "kernels.py"


@pytest.fixture(scope="module")
def kernels():
    spec = importlib.util.spec_from_file_location("kernels", PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules["kernels"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["kernels"]


@pytest.mark.slow
def test_plain_shooting_has_four_fifths_of_the_speed_of_the_simplest_loop(kernels):
    for _ in range(3):  # a machine that does something else at the same time lies
        _, rows = kernels.measure()
        slow = [(row.columns, row.order, round(row.ratio, 2)) for row in rows if row.ratio < 0.8]
        if not slow:
            return
    pytest.fail(f"below 0.8: {slow}")
