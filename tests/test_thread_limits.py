"""How many threads work: as many as the usual means leave, ours and those of BLAS."""

from __future__ import annotations

import threading
from typing import Any

import joblib
import pytest
import threadpoolctl

import shotgun
from fresh import PROBLEM, linux, run, wide_problem
from shotgun import _core
from shotgun._threads import one_blas_thread
from shotgun.estimator import threads


@pytest.mark.parametrize("number", [1, 2, 5])
def test_omp_num_threads_is_honoured(number: int) -> None:
    out = run(
        PROBLEM + "print(shotgun._core.default_threads(), most(fit()))",
        OMP_NUM_THREADS=str(number),
    )
    assert out == f"{number} {number}"


@pytest.mark.parametrize("value", ["", "0", "-3", "many"])
def test_a_senseless_omp_num_threads_is_ignored(value: str) -> None:
    expected = run("import shotgun; print(shotgun._core.default_threads())")
    assert run("import shotgun; print(shotgun._core.default_threads())", OMP_NUM_THREADS=value) == (
        expected
    )


def test_a_list_of_nested_omp_levels_means_its_first() -> None:
    out = run("import shotgun; print(shotgun._core.default_threads())", OMP_NUM_THREADS="3,2")
    assert out == "3"


def test_n_threads_beats_omp_num_threads() -> None:
    out = run(
        PROBLEM + "print(most(fit(n_threads=3)), most(fit(n_threads=1)))", OMP_NUM_THREADS="2"
    )
    assert out == "3 1"


@linux
def test_the_default_is_the_processors_that_affinity_leaves() -> None:
    out = run(
        """
        import os
        one = sorted(os.sched_getaffinity(0))[:1]
        os.sched_setaffinity(0, one)
        import shotgun
        print(shotgun._core.default_threads())
        """
    )
    assert out == "1"


def most_threads(fit: Any) -> int:
    return max(row["threads"] for row in fit.trace)


def fit(**keywords: Any) -> Any:
    A, y = wide_problem()
    return shotgun.solve(A, y, 30.0, engine="block", P=64, trace=True, **keywords)


def test_threadpoolctl_sees_and_limits_the_threads() -> None:
    before = _core.default_threads()
    libraries = [info for info in threadpoolctl.threadpool_info() if info["user_api"] == "shotgun"]
    assert [info["num_threads"] for info in libraries] == [before]
    for limit in (1, 2, 3):
        with threadpoolctl.threadpool_limits(limit, user_api="shotgun"):
            assert _core.default_threads() == limit
            assert most_threads(fit()) == limit
        assert _core.default_threads() == before


def test_threadpoolctl_limits_of_all_libraries_include_this_one() -> None:
    with threadpoolctl.threadpool_limits(1):
        assert most_threads(fit()) == 1


def test_n_threads_beats_threadpoolctl() -> None:
    with threadpoolctl.threadpool_limits(1, user_api="shotgun"):
        assert most_threads(fit(n_threads=2)) == 2


def default_threads() -> int:
    from shotgun import _core

    return int(_core.default_threads())


def blas_threads() -> list[int]:
    return [
        library["num_threads"]
        for library in threadpoolctl.threadpool_info()
        if library["user_api"] == "blas"
    ]


def test_blas_gets_its_threads_back_whichever_fit_ends_last() -> None:
    begun, may_end = threading.Event(), threading.Event()

    def hold() -> None:
        with one_blas_thread():
            begun.set()
            may_end.wait()

    before, first = blas_threads(), threading.Thread(target=hold)
    first.start()
    begun.wait()
    with one_blas_thread():
        may_end.set()
        first.join()
        assert set(blas_threads()) <= {1}
    assert blas_threads() == before


def test_blas_gets_its_threads_back_while_the_thread_that_limited_it_lives() -> None:
    before, begun, left = blas_threads(), threading.Event(), threading.Event()

    def join_in() -> None:
        with one_blas_thread():
            begun.set()
            left.wait()

    second = threading.Thread(target=join_in)
    with one_blas_thread():
        second.start()
        begun.wait()
    left.set()
    second.join()
    assert blas_threads() == before


def test_blas_has_one_thread_though_another_thread_has_given_it_two() -> None:
    begun, may_end = threading.Event(), threading.Event()

    def hold() -> None:
        with threadpoolctl.threadpool_limits(2, user_api="blas"):
            begun.set()
            may_end.wait()

    other = threading.Thread(target=hold)
    other.start()
    begun.wait()
    try:
        with one_blas_thread():
            assert set(blas_threads()) <= {1}
    finally:
        may_end.set()
        other.join()


def test_a_fit_beside_others_in_joblibs_threads_has_one_thread() -> None:
    with joblib.parallel_config("threading", n_jobs=2):
        assert joblib.Parallel()(joblib.delayed(threads)(k) for k in (None, 2)) == [1, 2]
    assert threads(None) is None


def test_joblib_limits_its_workers() -> None:
    with joblib.parallel_config("loky", n_jobs=2, inner_max_num_threads=1):
        assert joblib.Parallel()(joblib.delayed(default_threads)() for _ in range(2)) == [1, 1]
