"""Code that a fresh interpreter runs, and a problem that is worth several threads."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from typing import Any

import numpy as np
import pytest

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


def wide_problem(n: int = 1500, d: int = 400) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    A = np.asfortranarray(rng.standard_normal((n, d)))
    return A, A[:, :10].sum(1) + rng.standard_normal(n)


def run(code: str, **environment: str) -> str:
    """Standard output of a fresh interpreter."""
    kept = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}
    out = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**kept, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert out.returncode == 0, out.stderr
    return out.stdout.strip()


PROBLEM = """
import os, sys, time
import numpy as np, scipy.sparse as sp
import shotgun, shotgun._core
shotgun._core.heed_crowds(False)  # else a busy machine would leave a fit to one thread
rng = np.random.default_rng(0)
A = np.asfortranarray(rng.standard_normal((1500, 400)))
y = A[:, :10].sum(1) + rng.standard_normal(1500)
def threads():
    return len(os.listdir("/proc/self/task"))
def fit(**keywords):
    return shotgun.solve(A, y, 30.0, engine="block", P=64, trace=True, **keywords)
def most(s):
    return max(row["threads"] for row in s.trace)
"""
