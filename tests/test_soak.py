"""The soak notices what it is there for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from fresh import linux
from soak import ALLOCATORS, growth

# Jobs that fit and lose some bytes each time; prints how many are lost at a fit.
LOSE = """
import ctypes, sys
import numpy as np
import shotgun, soak

each, A = int(sys.argv[1]), np.asfortranarray(np.random.default_rng(0).standard_normal((20, 5)))

def job():
    shotgun.solve(A, A[:, 0], 0.1, n_threads=1)
    if each:
        ctypes.CDLL(None).malloc(each)

at_work = soak.Soak([job], threads=3, seed=0)

def after(fits):
    at_work.side_by_side([[0] * fits] * 3)
    return soak.memory().in_use

after(100)
before = after(100)
print((after(1000) - before) / 3000)
"""


def bytes_lost(each: int) -> float:
    told = subprocess.run(
        [sys.executable, "-c", LOSE, str(each)],
        env=os.environ | ALLOCATORS | {"PYTHONPATH": str(Path(__file__).parent)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert told.returncode == 0, told.stderr
    return float(told.stdout)


@linux
def test_a_hundred_bytes_lost_at_each_fit_are_seen() -> None:
    assert abs(bytes_lost(0)) < 30
    assert 80 < bytes_lost(100) < 140  # the allocator keeps books


def test_growth_is_of_medians_after_the_warm_up() -> None:
    assert growth([1000.0] * 20 + [100.0] * 79 + [200.0]) == 0
    assert growth([100.0] * 100 + [150.0] * 100) == 0.5
