"""Ctrl-C at any moment: the work is interrupted or done; it never hangs, crashes or leaves half a
file. Real signals to real processes, at moments spread over all that they do."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

from trust import note

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")

HANGS = 120  # seconds: far more than any of this takes, on any machine

# A process that has everything loaded forks a child for each moment. How long a job takes is seen
# from one that is left alone; the moments lie within that time, and shortly after.
CHILDREN = """
import json, os, random, signal, sys, time, warnings
import numpy as np
import shotgun, shotgun.cli, shotgun.verbs.fit, shotgun.model
from shotgun.linear_cv import LassoCV
from shotgun.logistic import LogisticRegression

warnings.simplefilter("ignore")
folder, hangs = sys.argv[1], float(sys.argv[2])
rng = np.random.default_rng(0)
A = rng.standard_normal((300, 1)) + 0.1 * rng.standard_normal((300, 200))
y = A[:, :10].sum(1) + rng.standard_normal(300)
np.savez(folder + "/A.npz", X=A, y=y)

def tool(*words):
    sys.argv = ["shotgun", *words]
    shotgun.cli.main()

def saved():
    LogisticRegression(C=0.1).fit(A, y > 0).save(folder + "/saved.shotgun")

out = folder + "/tool.shotgun"
jobs = {
    "fit": lambda: shotgun.solve(A, y, 1.0, engine="block", n_threads=2),
    "asynchronous": lambda: shotgun.solve(A, y, 10.0, engine="asynchronous", tol=1e-3, n_threads=2),
    "path": lambda: shotgun.path(A, y, n_lams=30, n_threads=2),
    "folds": lambda: LassoCV(alphas=10, cv=3, n_jobs=2).fit(A, y),
    "saved": saved,
    "tool: fit": lambda: tool("fit", folder + "/A.npz", "-o", out),
    "tool: path": lambda: tool("path", folder + "/A.npz", "--n-lams", "10", "-o", out),
    "tool: cv": lambda: tool("cv", folder + "/A.npz", "--n-lams", "5", "-o", out),
}

def start(job):
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        job()
        code = 0
    except KeyboardInterrupt:
        code = 130
    except SystemExit as end:
        code = end.code or 0
    finally:
        os._exit(code)

def ended(pid):
    for _ in range(int(hangs / 0.01)):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return "hangs"

signal.signal(signal.SIGINT, signal.SIG_IGN)
for name, seed, count in json.loads(sys.argv[3]):
    begun = time.monotonic()
    assert ended(start(jobs[name])) in (0, 3), name
    lasts, draw = time.monotonic() - begun, random.Random(seed)
    for k in range(count):
        for file in ("tool", "saved"):
            if os.path.exists(f"{folder}/{file}.shotgun"):
                os.remove(f"{folder}/{file}.shotgun")
        pid = start(jobs[name])
        time.sleep(1.1 * lasts * (k + draw.random()) / count)
        os.kill(pid, signal.SIGINT)
        print(json.dumps([name, ended(pid)]), flush=True)
        for file in ("tool", "saved"):  # whole, or not there
            if os.path.exists(f"{folder}/{file}.shotgun"):
                shotgun.tensors.unpack(shotgun.tensors.read(f"{folder}/{file}.shotgun"), file)
"""
JOBS = ["fit", "asynchronous", "path", "folds", "saved", "tool: fit", "tool: path", "tool: cv"]


def interrupted(folder: Path, count: int, seed: int) -> list[tuple[str, Any]]:
    """How each of the children ended."""
    wanted = json.dumps([(name, seed + k, count) for k, name in enumerate(JOBS)])
    told = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(CHILDREN), str(folder), str(HANGS), wanted],
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    return [tuple(json.loads(line)) for line in told.stdout.splitlines()]


STARTS = {
    "import": ("-c", "import shotgun.linear, shotgun.path"),
    "tool": ("-m", "shotgun", "inspect", "{folder}/A.npz"),
}


def interrupted_start(name: str, folder: Path, after: float) -> Any:
    """How a process ends that is interrupted while it begins."""
    command = [sys.executable, *(word.format(folder=folder) for word in STARTS[name])]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as child:
        time.sleep(after)
        child.send_signal(signal.SIGINT)
        try:
            _, errors = child.communicate(timeout=HANGS)
        except subprocess.TimeoutExpired:
            child.kill()
            return "hangs"
    told = child.returncode == 1 and b"KeyboardInterrupt" in errors
    return 130 if told or child.returncode == -signal.SIGINT else child.returncode


def check(count: int, starts: int, folder: Path, seed: int) -> None:
    ends = interrupted(folder, count, seed)
    draw, lasts = random.Random(seed), 1.0
    for k in range(starts):
        name = list(STARTS)[k % 2]
        ends.append((name, interrupted_start(name, folder, lasts * draw.random())))
    failures = [(name, code) for name, code in ends if code not in (0, 3, 130)]
    note({"kill points": {"moments": len(ends), "failures": len(failures)}})
    assert failures == []
    assert len(ends) == len(JOBS) * count + starts
    assert 130 in {code for _, code in ends}


def test_ctrl_c_at_a_hundred_moments_interrupts_or_comes_too_late(tmp_path: Path) -> None:
    check(12, 4, tmp_path, seed=0)


@pytest.mark.slow
def test_ctrl_c_at_a_thousand_moments_interrupts_or_comes_too_late(tmp_path: Path) -> None:
    check(120, 40, tmp_path, seed=1)
