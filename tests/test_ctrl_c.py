"""Ctrl-C stops all work within a fifth of a second, and leaves the threads usable.

Where other programs keep the processors, a child may have to wait for one. What it works after the
signal shows by its own processor time, which they cannot lengthen: the lesser of the two counts. A
child that works no more but is not back after BUSY seconds waits for something else, and fails.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from fresh import PROBLEM, run

# A child says when it is about to enter the core, is sent SIGINT and must come back.
INTERRUPT = """
import sys, time
import numpy as np, scipy.sparse as sp
import shotgun
rng = np.random.default_rng(0)
{setup}
def work():
    {call}
print("ready", flush=True)
try:
    work()  # a call: of a loop's jump, CPython 3.11 does not know that it is inside of try
except KeyboardInterrupt:
    print(time.time(), time.process_time(), flush=True)
    sys.exit(0)
print("finished", flush=True)
"""

SMALL = """
A = np.asfortranarray(rng.standard_normal((500, 1)) + 0.01 * rng.standard_normal((500, 800)))
y = A[:, :20].sum(1) + rng.standard_normal(500)
"""
TINY = """
A = np.asfortranarray(rng.standard_normal((50, 1)) + 0.001 * rng.standard_normal((50, 40)))
y = A[:, :20].sum(1) + rng.standard_normal(50)
"""
LARGE = """
A = np.asfortranarray(rng.standard_normal((4000, 5000), dtype=np.float32))
y = A[:, :20].sum(1) + rng.standard_normal(4000)
"""
SPARSE = """
n, d, nnz = 200_000, 1_000_000, 20_000_000
columns = np.sort(rng.integers(0, d, (n, nnz // n), dtype=np.int32), axis=1)
starts = np.arange(0, nnz + 1, nnz // n, dtype=np.int32)
A = sp.csr_matrix((np.ones(nnz, dtype=np.float32), columns.ravel(), starts), shape=(n, d))
y = rng.standard_normal(n)
"""
PLAIN = "shotgun.solve(A, y, 1e-4, engine={!r}, working_set=False, tol=0, max_epochs=10**12)"
REPEAT = "\n    while True: {}"

PROMISED = 0.2  # seconds
BUSY = 10  # seconds on the wall: far more than others' work makes a child wait, every time
HANGS = 60  # seconds: far more than any of this takes, on any machine


def seconds_to_interrupt(setup: str, call: str, after: float) -> float:
    """The least of six: machines that run tests are busy at times."""
    least = float("inf")
    for _ in range(6):
        least = min(least, one_interrupt(setup, call, after))
        if least < PROMISED:
            break
    return least


def one_interrupt(setup: str, call: str, after: float) -> float:
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPT.format(setup=setup, call=call)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            time.sleep(after)
            assert child.poll() is None
            sent, worked = time.time(), processor_time(child.pid)
            child.send_signal(signal.SIGINT)
            out, errors = child.communicate(timeout=HANGS)
            assert child.returncode == 0, errors
            assert out != "finished\n", "the work was done before the signal came"
            stopped, work = map(float, out.split())
            assert stopped - sent < BUSY, "it did not work, and did not come back"
            return min(stopped - sent, work - worked)
        finally:
            child.kill()


def test_a_child_that_waits_instead_of_coming_back_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "BUSY", 0.5)
    wait = """
    try: time.sleep(60)
    except KeyboardInterrupt: time.sleep(0.6); raise"""
    with pytest.raises(AssertionError, match="did not come back"):
        one_interrupt("", wait, 0.1)


def processor_time(pid: int) -> float:
    """Seconds that all threads of a process have worked; less than any, where nobody tells."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return float("-inf")
    return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("engine", ["shooting", "bundle", "block", "newton", "asynchronous"])
@pytest.mark.parametrize("setup", [SMALL, TINY], ids=["small", "tiny"])
def test_ctrl_c_stops_a_fit_within_a_fifth_of_a_second(engine: str, setup: str) -> None:
    assert seconds_to_interrupt(setup, REPEAT.format(PLAIN.format(engine)), 0.4) < PROMISED


@pytest.mark.parametrize("engine", ["shooting", "block", "auto"])
def test_ctrl_c_stops_a_logistic_fit(engine: str) -> None:
    call = (
        f"shotgun.solve(A, np.sign(y), 1e-4, 'logistic', engine={engine!r}, working_set=False, "
        "tol=0, max_epochs=10**12)"
    )
    assert seconds_to_interrupt(SMALL, REPEAT.format(call), 0.4) < PROMISED


@pytest.mark.parametrize("engine", ["shooting", "block"])
def test_ctrl_c_stops_a_fit_on_large_data(engine: str) -> None:
    call = f"shotgun.solve(A, y, 1.0, engine={engine!r}, working_set=False, tol=1e-12)"
    assert seconds_to_interrupt(LARGE, REPEAT.format(call), 0.3) < PROMISED


def test_ctrl_c_stops_a_conversion_from_c_order() -> None:
    convert = "shotgun._core.fortran(A, 1)"
    setup = "A = np.ones((20_000, 5000), dtype=np.float32)"
    assert seconds_to_interrupt(setup, REPEAT.format(convert), 0.3) < PROMISED


def test_ctrl_c_stops_power_iteration() -> None:
    call = REPEAT.format("shotgun.spectral_radius(A, tol=0)")
    assert seconds_to_interrupt(LARGE, call, 0.3) < PROMISED


@pytest.mark.parametrize("after", [0.1, 0.4])
def test_ctrl_c_stops_a_conversion_from_csr(after: float) -> None:
    # Nothing but conversion in a loop, so that the signal cannot miss it.
    convert = "shotgun._core.transpose(A.indptr, A.indices, A.data, d, 1)"
    assert seconds_to_interrupt(SPARSE, REPEAT.format(convert), after) < PROMISED


def test_ctrl_c_stops_checking_a_sparse_matrix_and_scanning_it() -> None:
    call = REPEAT.format("shotgun.lambda_max(A, y)")
    assert seconds_to_interrupt(SPARSE + "A = A.tocsc()", call, 0.4) < PROMISED


# Phases that are short or rare in a fit, each made long or repeated: (set-up, call).
PHASES = {
    "a path": (SMALL, "shotgun.path(A, y, tol=1e-14, eps=1e-6)"),
    "unpenalised weights": (
        SMALL,
        "shotgun.solve(A, y, 1.0, penalty_factor=np.r_[np.zeros(400), np.ones(400)], tol=0)",
    ),
    "prox-Newton with an intercept": (
        SMALL,
        "shotgun.solve(A, np.sign(y), 1e-3, 'logistic', fit_intercept=True, tol=0)",
    ),
    "columns far from centred": (
        LARGE + "A += 1e4\n",
        "shotgun.lambda_max(A, y, fit_intercept=True)",
    ),
    "columns out of range": (LARGE + "A = A * 1e-170\n", "shotgun.lambda_max(A, y)"),
    "a working set": (SPARSE + "A = A.tocsc()\n", "shotgun.solve(A, y, 0.5)"),
}


# Fits side by side, which the main thread waits for, each of seconds: (set-up, call).
SIDE_BY_SIDE = {
    "folds": "shotgun.LassoCV(eps=1e-6, tol=1e-14, max_iter=None, n_jobs=2).fit(A, y)",
    "halves": "shotgun.StabilitySelection(shotgun.Lasso(tol=1e-9), eps=1e-3, n_jobs=2).fit(A, y)",
    "features": "shotgun.DebiasedLasso(tol=1e-12, n_jobs=2).fit(A, y)",
}


@pytest.mark.parametrize("call", SIDE_BY_SIDE.values(), ids=SIDE_BY_SIDE.keys())
def test_ctrl_c_stops_fits_side_by_side(call: str) -> None:
    load = "shotgun.LassoCV, shotgun.StabilitySelection, shotgun.DebiasedLasso\n"
    assert seconds_to_interrupt(SMALL + load, call, 0.4) < PROMISED


@pytest.mark.parametrize("phase", PHASES.values(), ids=PHASES.keys())
def test_ctrl_c_stops_every_phase_of_a_fit(phase: tuple[str, str]) -> None:
    setup, call = phase
    assert seconds_to_interrupt(setup, REPEAT.format(call), 0.4) < PROMISED


def test_ctrl_c_in_the_main_thread_leaves_the_pool_usable() -> None:
    out = run(
        PROBLEM
        + textwrap.dedent(
            """
            import signal
            expected = fit(n_threads=3)
            for engine in ("shooting", "bundle", "block", "newton", "asynchronous"):
                signal.setitimer(signal.ITIMER_REAL, 0.2)
                signal.signal(signal.SIGALRM, signal.default_int_handler)
                try:
                    while True:
                        shotgun.solve(A, y, 1e-3, engine=engine, tol=0, n_threads=3)
                except KeyboardInterrupt:
                    pass
                s = fit(n_threads=3)
                assert (s.x == expected.x).all() and most(s) == 3
            print("usable")
            """
        )
    )
    assert out == "usable"


def test_another_signal_handler_that_raises_stops_the_fit_with_its_exception() -> None:
    out = run(
        PROBLEM
        + textwrap.dedent(
            """
            import signal
            class Enough(Exception): pass
            def raise_enough(*_): raise Enough("now")
            signal.signal(signal.SIGALRM, raise_enough)
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            try:
                while True:
                    shotgun.solve(A, y, 1e-3, engine="shooting", tol=0, max_epochs=10**9)
            except Enough as error:
                print(error)
            """
        )
    )
    assert out == "now"
