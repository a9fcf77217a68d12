"""Fits in other processes, in many threads, inside joblib, and while Python ends."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.base import clone

import shotgun
from shotgun.linear import ElasticNet, Lasso, SparseHuberRegressor, SparsePoissonRegressor
from shotgun.linear_cv import LassoCV
from shotgun.logistic import LinearSVC, LogisticRegression

HANGS = 300  # seconds: far more than any of this takes, on any machine


def problem() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    A = np.asfortranarray(rng.standard_normal((600, 200)))
    return A, A[:, :10].sum(1) + rng.standard_normal(600)


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_a_worker_process_gives_the_same_bits_however_it_was_started(method: str) -> None:
    A, y = problem()
    how = {"engine": "block", "P": 64, "n_threads": 2}
    expected = shotgun.solve(A, y, 20.0, **how)  # the parent has threads of its own by now
    with multiprocessing.get_context(method).Pool(1) as pool:
        for _ in range(2):
            found = pool.apply_async(shotgun.solve, (A, y, 20.0), how).get(HANGS)
            np.testing.assert_array_equal(found.x, expected.x)
        pool.close()  # to be terminated while it counts lines, it bears badly
        pool.join()


SERVER = """
import os, signal, sys, time
import numpy as np
from shotgun.linear import Lasso

rng = np.random.default_rng(0)
X = rng.standard_normal((600, 200))
y = X[:, :10].sum(1) + rng.standard_normal(600)
model = Lasso(alpha=0.05, engine="block", n_jobs=2).fit(X, y)  # loaded, and used, before the fork

def serve():
    for _ in range(3):
        again = Lasso(alpha=0.05, engine="block", n_jobs=2).fit(X, y)
        if again.coef_.tobytes() != model.coef_.tobytes():
            return 1
    return 0

def start():
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = serve()
        finally:
            os._exit(code)
    return pid

workers = [start() for _ in range(4)]
os.kill(workers.pop(), signal.SIGKILL)  # one dies in the middle of a fit, and is replaced
workers.append(start())
print([os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in workers])
"""


def run(code: str, *given: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", textwrap.dedent(code), *given]
    return subprocess.run(command, capture_output=True, text=True, timeout=HANGS, check=False)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_server_that_was_loaded_before_it_forked_fits_in_its_workers() -> None:
    told = run(SERVER)
    assert told.stdout == "[0, 0, 0, 0]\n", told.stderr


# Joblib around estimators that have threads themselves


def coefficients(model: Any, A: Any, y: Any) -> Any:
    return model.fit(A, y).coef_


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_jobs_within_joblibs_jobs_give_the_same_bits(backend: str) -> None:
    A, y = problem()
    models = [Lasso(alpha=a, engine="block", n_jobs=2) for a in (0.2, 0.1, 0.05)]
    models.append(LassoCV(alphas=5, cv=3, n_jobs=2))
    expected = [coefficients(clone(model), A, y) for model in models]
    found = joblib.Parallel(n_jobs=2, backend=backend, timeout=HANGS)(
        joblib.delayed(coefficients)(model, A, y) for model in models
    )
    for coef, alone in zip(found, expected, strict=True):
        np.testing.assert_array_equal(coef, alone)


# Many Python threads


def estimators() -> list[Any]:
    return [
        Lasso(alpha=0.1, n_jobs=2),
        ElasticNet(alpha=0.1, l1_ratio=0.5, n_jobs=2),
        SparseHuberRegressor(alpha=0.1, n_jobs=2),
        SparsePoissonRegressor(alpha=0.1, n_jobs=2),
        LogisticRegression(C=0.1, n_jobs=2),
        LinearSVC(C=0.01, n_jobs=2),
        LassoCV(alphas=5, cv=3, n_jobs=2),
    ]


def count_targets(y: Any) -> Any:
    return np.clip(np.round(np.abs(y) / 3), 0, 3)  # numbers, counts and classes at once


def test_different_estimators_in_many_threads_give_the_bits_of_one_after_the_other() -> None:
    A, y = problem()
    y = count_targets(y)
    expected = [coefficients(model, A, y) for model in estimators()]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda model: coefficients(model, A, y), estimators() * 3))
    for coef, alone in zip(found, expected * 3, strict=True):
        np.testing.assert_array_equal(coef, alone)


def test_one_estimator_fitted_by_many_threads_at_once_has_the_bits_of_one_fit() -> None:
    A, y = problem()
    alone = Lasso(alpha=0.05, n_jobs=2).fit(A, y)
    shared = Lasso(alpha=0.05, n_jobs=2)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: shared.fit(A, y), range(16)))
    np.testing.assert_array_equal(shared.coef_, alone.coef_)
    assert (shared.dual_gap_, shared.n_iter_) == (alone.dual_gap_, alone.n_iter_)


# The end of Python: daemon threads are in the core, on their way out of it, or in a callback.

DAEMONS = """
import json, os, sys, threading, time
import numpy as np
import shotgun

rng = np.random.default_rng(0)
small = np.asfortranarray(rng.standard_normal((40, 20)))
alike = np.asfortranarray(rng.standard_normal((500, 1)) + 0.01 * rng.standard_normal((500, 400)))
fits = {
    "many small fits": lambda: shotgun.solve(small, small[:, 0], 0.1, n_threads=2),
    "one long fit": lambda: shotgun.solve(
        alike, alike[:, 0], 1e-6, engine="block", tol=0, n_threads=2, max_epochs=10**9
    ),
    "a callback": lambda: shotgun.solve(
        small, small[:, 0], 1e-6, n_threads=2, callback=lambda row: False
    ),
}

def repeat(fit):
    while True:
        fit()

def end_amid(fit, after):
    for _ in range(3):
        threading.Thread(target=repeat, args=(fit,), daemon=True).start()
    time.sleep(after)
    sys.exit(0)  # as a script ends

for name, times in json.loads(sys.argv[1]).items():
    for after in times:
        pid = os.fork()
        if pid == 0:
            end_amid(fits[name], after)
        print(name, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""
ENDS = ["many small fits", "one long fit", "a callback"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.parametrize("name", ENDS)
def test_python_ends_while_daemon_threads_fit(name: str) -> None:
    times = [0.01 * k for k in range(12)]
    told = run(DAEMONS, json.dumps({name: times}))
    assert told.stderr == ""
    assert told.stdout == f"{name} 0\n" * len(times)


LATE = """
import ctypes, threading, time
import numpy as np
import shotgun

rng = np.random.default_rng(0)
A = np.asfortranarray(rng.standard_normal((500, 1)) + 0.01 * rng.standard_normal((500, 400)))

def fit():
    shotgun.solve(A, A[:, 0], 1e-6, engine="block", tol=0, n_threads=2, max_epochs=10**9)

ctypes.pythonapi.Py_AtExit(ctypes.CDLL(None).getchar)  # when Python has ended, wait for stdin
for _ in range(3):
    threading.Thread(target=fit, daemon=True).start()
time.sleep(0.1)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_fits_that_outlive_python_ask_it_nothing() -> None:
    ends = []
    for _ in range(10):  # of those that did, one in six crashed
        late = subprocess.Popen([sys.executable, "-c", LATE], stdin=subprocess.PIPE)
        time.sleep(1)  # in which every fit looks for signals many times
        late.communicate()
        ends.append(late.returncode)
    assert ends == [0] * 10
