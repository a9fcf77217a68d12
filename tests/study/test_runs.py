"""Runs: kept whole, never made twice, ended at their limit, and honest about how they ended."""

from __future__ import annotations

import json
import os
import resource
from pathlib import Path

import pytest

from shotgun.study import runs
from shotgun.study.runs import DONE, FAILED, OVER, Job, Result, Results, Runner, Store

FACTS = Job("facts", {"problem": "sparco011_gausspike"}, 60.0)
RACE = {"problem": "sparco011_gausspike", "lam": 0.5, "best": 217.6814938410926}


def test_a_job_runs_in_a_process_and_its_value_comes_back():
    result = runs.run(FACTS)
    assert result.status == DONE
    assert result.value["n"] == 256
    assert result.value["ideal_p"] > 100


def test_a_result_is_read_as_it_was_written(tmp_path):
    store = Store(tmp_path)
    result = Result(FACTS, DONE, 1.5, {"rho": 2.0, "T": None}, "")
    store.save(result)
    assert store.find(FACTS) == result
    assert not list(tmp_path.glob("*.tmp"))


def test_what_is_told_limits_and_threads_make_another_result(tmp_path):
    keys = {
        job.key
        for job in (
            FACTS,
            Job("facts", {"problem": "signs_477"}, 60.0),
            Job("facts", FACTS.params, 61.0),
            Job("facts", FACTS.params, 60.0, threads=2),
        )
    }
    assert len(keys) == 4


def test_a_resumed_study_runs_nothing_twice(tmp_path, monkeypatch):
    ran = []

    def fake(job):
        ran.append(job)
        return Result(job, DONE, 0.0, {"d": 1})

    monkeypatch.setattr(runs, "run", fake)
    jobs = [Job("facts", {"problem": str(k)}, 1.0) for k in range(5)]
    Runner(Store(tmp_path))("first", jobs[:3])
    everything = Runner(Store(tmp_path))("again", jobs)
    assert [job.params["problem"] for job in ran] == ["0", "1", "2", "3", "4"]
    assert len(everything) == 5


def test_an_interrupted_run_leaves_the_finished_ones(tmp_path, monkeypatch):
    def fake(job):
        if job.params["problem"] == "2":
            raise KeyboardInterrupt
        return Result(job, DONE, 0.0)

    monkeypatch.setattr(runs, "run", fake)
    jobs = [Job("facts", {"problem": str(k)}, 1.0) for k in range(4)]
    with pytest.raises(KeyboardInterrupt):
        Runner(Store(tmp_path))("facts", jobs)
    assert len(Store(tmp_path).known(jobs)) == 2


def test_nothing_is_begun_after_the_deadline(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "run", lambda job: pytest.fail("began"))
    runner = Runner(Store(tmp_path), deadline=-1.0)
    assert runner("facts", [FACTS]) == []
    assert runner.left_out == [FACTS]


def test_a_run_over_its_limit_is_ended_and_marked():
    slow = {"problem": "sparco011_gausspike", "lam": 1e-3, "P": 1, "best": 0.0, "epochs": 1e9}
    result = runs.run(Job("simulate", slow, 0.2))
    assert result.status == OVER


@pytest.mark.skipif(not Path("/proc/self/stat").is_file(), reason="the system does not say")
def test_what_a_process_worked_is_known_and_what_has_none_has_worked_enough():
    assert 0 < runs._worked(os.getpid()) < float("inf")
    assert runs._worked(None) == float("inf")


def test_a_solver_that_looks_at_its_watch_ends_in_time_and_says_how_far_it_got():
    told = RACE | {"best": 1e-3, "solver": "SpaRSA"}  # out of reach
    result = runs.run(Job("race", told, 0.3))
    assert result.status == DONE
    assert result.value["seconds"] is None
    assert result.value["suboptimality"] > 0


@pytest.mark.parametrize("solver", ["Shooting", "Shotgun (P = 8)", "Shotgun", "FPC_AS"])
def test_a_race_is_won_when_the_objective_is_near_enough(solver):
    result = runs.run(Job("race", RACE | {"solver": solver}, 20.0))
    assert result.status == DONE
    assert 0 < result.value["seconds"] <= 20
    assert result.value["suboptimality"] <= 1e-4


def test_an_error_is_a_result_that_says_what_it_was():
    result = runs.run(Job("facts", {"problem": "nonsense"}, 5.0))
    assert result.status == FAILED
    assert "nonsense" in result.why


def test_a_package_that_is_not_there_is_not_remembered(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "run", lambda job: Result(job, runs.MISSING, 0.0, {}, "needs it"))
    assert Runner(Store(tmp_path))("race", [FACTS])[0].status == runs.MISSING
    assert Store(tmp_path).find(FACTS) is None


def test_results_can_be_asked():
    many = Results(Result(Job("race", {"P": k, "problem": "a"}, 1.0), DONE, 0.0) for k in range(3))
    many.append(Result(Job("race", {"P": 1, "problem": "b"}, 1.0), FAILED, 0.0))
    assert len(many.of("race", P=1)) == 2
    assert len(many.of("race", P=1).done()) == 1
    assert many.of("facts") == []


def test_results_are_plain_json(tmp_path):
    store = Store(tmp_path)
    store.save(runs.run(FACTS))
    [file] = tmp_path.glob("*.json")
    assert json.loads(file.read_text())["job"]["kind"] == "facts"


@pytest.mark.parametrize("most", [1 << 20, resource.RLIM_INFINITY])
def test_the_bound_on_memory_is_within_that_of_the_system(monkeypatch, most):
    told = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (most, most))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: told.append(limits))
    runs._bound_memory()
    assert told == [(1 << 20 if most == 1 << 20 else int(0.9 * runs.MEMORY), most)]
