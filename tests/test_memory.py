"""Where memory runs out there is a MemoryError or the right answer; never a crash, never a hang."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap

import pytest

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs RLIMIT_AS")

# Every fit runs in a forked child that is left so many bytes only: its address space may not grow,
# and what is free within it is taken. Its workers are there before, and share the heap, so that it
# is they who run out, too.
CHILDREN = """
import ctypes, errno, json, os, resource, shutil, signal, sys, tempfile, time, warnings
import numpy as np
import scipy.sparse as sp
import shotgun
from shotgun.linear_cv import LassoCV
from shotgun.logistic import LogisticRegression

warnings.simplefilter("ignore")
ANSWER, MEMORY, WRONG, HANGS = range(4)
rng = np.random.default_rng(0)
A = rng.standard_normal((400, 1200)) * (rng.random((400, 1200)) < 0.3)
y = A[:, :10].sum(1) + rng.standard_normal(400)
forms = {"C": A, "Fortran": np.asfortranarray(A), "CSR": sp.csr_array(A), "CSC": sp.csc_array(A)}
folder = tempfile.mkdtemp()
shotgun.disk.write(forms["CSC"], folder + "/A")
shotgun.io.write(folder + "/A.svm", shotgun.io.Data(forms["CSR"], y))

def fit(form, engine):
    s = shotgun.solve(forms[form], y, 20.0, engine=engine, P=64, n_threads=3, tol=1e-4)
    return s.x if engine != "asynchronous" else np.array([s.gap <= s.tolerance])

jobs = {
    **{f"{engine}, {form}": lambda form=form, engine=engine: fit(form, engine)
       for form, engine in (("C", "block"), ("Fortran", "block"), ("CSC", "bundle"),
                            ("CSR", "newton"), ("CSC", "shooting"), ("Fortran", "asynchronous"),
                            ("CSC", "shotgun_cdn"), ("CSR", "auto"))},
    "path": lambda: shotgun.path(forms["Fortran"], y, n_lams=5, n_threads=3).X.toarray(),
    "disk": lambda: shotgun.solve(shotgun.disk.open(folder + "/A"), y, 20.0, n_threads=3).x,
    "svmlight": lambda: shotgun.io.read(folder + "/A.svm").A.toarray(),
    "classes": lambda: LogisticRegression(C=0.01, n_jobs=3).fit(A, y > 0).coef_,
    # One job: CPython waits for ever for a thread that had no memory to begin (Thread.start).
    "folds": lambda: LassoCV(alphas=3, cv=3, n_jobs=1).fit(A, y).coef_,
}

def size():
    return int(open("/proc/self/statm").read().split()[0]) * os.sysconf("SC_PAGE_SIZE")

def leave(left):
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, (ctypes.c_void_p,)
    spared = libc.malloc(left)
    resource.setrlimit(resource.RLIMIT_AS, (size(),) * 2)
    for chunk in (2**20, 2**16, 2**12, 2**10):
        while libc.malloc(chunk):
            pass
    libc.free(spared)

def outcome(job, expected, left):
    shotgun.solve(np.eye(3), np.ones(3), 0.1, engine="asynchronous", P=3, n_threads=3)  # workers
    leave(left)
    try:
        return ANSWER if (job() == expected).all() else WRONG
    except MemoryError:
        return MEMORY
    except OSError as error:  # a file that cannot be mapped
        return MEMORY if error.errno == errno.ENOMEM else WRONG

def ended(pid):
    for _ in range(1200):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.1)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return HANGS

for name in json.loads(sys.argv[1]) or jobs:
    expected, codes = jobs[name](), []
    for left in json.loads(sys.argv[2]):
        pid = os.fork()
        if pid == 0:
            code = WRONG
            try:
                code = outcome(jobs[name], expected, left)
            except BaseException as error:
                print(name, left, repr(error), file=sys.stderr)
            finally:
                os._exit(code)
        codes.append(ended(pid))
    print(json.dumps([name, codes]), flush=True)
shutil.rmtree(folder)
"""


def outcomes(names: list[str], limits: list[int]) -> dict[str, list[int]]:
    """What came of every job at every limit: 0 an answer, 1 a MemoryError."""
    command = [sys.executable, "-c", textwrap.dedent(CHILDREN), json.dumps(names)]
    told = subprocess.run(
        [*command, json.dumps(limits)],
        env={**os.environ, "MALLOC_ARENA_MAX": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    assert told.stderr == ""
    return dict(json.loads(line) for line in told.stdout.splitlines())


def check(found: dict[str, list[int]]) -> None:
    assert {name: codes for name, codes in found.items() if not set(codes) <= {0, 1}} == {}
    assert {code for codes in found.values() for code in codes} == {0, 1}  # some of each


@linux
def test_a_fit_that_runs_out_of_memory_says_so() -> None:
    check(outcomes([], [0, 2**17, 2**19, 2**21, 2**28]))


@linux
@pytest.mark.slow
def test_a_fit_that_runs_out_of_memory_says_so_at_many_limits() -> None:
    check(outcomes([], [2**16 * k for k in range(256)]))
