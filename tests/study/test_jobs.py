"""What runs do: lams that say something, splits that hold out, counts that agree with theory."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import shotgun
from shotgun.study import jobs
from shotgun.study.problems import find
from shotgun.study.solvers import LOGISTIC
from shotgun.study.watch import Mark, Watch


def no_news() -> None:
    pass


def test_the_papers_lams_are_kept_where_they_say_something():
    A, y = find("sparco005_gcosspike").load()
    assert [(lam.lam, lam.note) for lam in jobs.lams(A, y, "squared")] == [(0.5, ""), (10.0, "")]


def test_a_lam_above_lam_max_gives_way_to_a_part_of_it():
    A, y = find("sparco007_sgnspike").load()
    most = shotgun.lambda_max(A, y)
    assert 0.5 < most < 10
    kept, replaced = jobs.lams(A, y, "squared")
    assert kept.lam == 0.5
    assert replaced.lam == pytest.approx(most / 10)
    assert "above lam_max" in replaced.note


def test_a_lam_that_leaves_nearly_all_weights_gives_way_to_a_larger_one():
    A, y = find("sparco002_blocksig").load()  # its wavelets are many times y
    first = jobs.lams(A, 1e4 * A @ np.ones(A.shape[1]), "squared")[0]
    assert "weights of at most" in first.note
    assert first.lam > 0.5
    assert y.any()


def test_the_optimum_is_certified():
    found = jobs.optimum("sparco011_gausspike", 0.5, no_news, 60.0)
    assert found["status"] == "converged"
    assert found["gap"] <= 1e-9 * found["F"] * 100
    assert found["loss"] < found["F"]


def test_a_tenth_is_held_out_and_no_sample_is_lost():
    for A in (np.arange(200.0).reshape(100, 2), sp.csc_matrix(np.arange(200.0).reshape(100, 2))):
        learn, y, held, truth = jobs.split(A, np.arange(100.0))
        assert (learn.shape[0], held.shape[0]) == (90, 10)
        assert sorted([*y, *truth]) == list(range(100))


def test_a_planted_signal_is_found_again_and_the_error_says_so():
    found = jobs.planted("signs_477", 4, no_news, 60.0)
    assert found["error"] <= jobs.ACCURACY
    assert 0 < found["seconds"] < 60


def test_who_comes_too_late_did_not_get_there():
    watch = Watch(float, limit=1.0, target=2.0)
    watch.marks += [Mark(0.5, 3.0, {}), Mark(1.5, 1.0, {})]
    assert jobs.told(watch, 1.0)["seconds"] is None
    watch.marks[1] = Mark(0.9, 1.0, {})
    assert jobs.told(watch, 1.0)["seconds"] == 0.9


def test_iterations_fall_as_one_over_p():
    best = jobs.optimum("signs_477", 0.5, no_news, 60.0)["F"]
    T = {
        P: jobs.iterations("signs_477", 0.5, P, "bundle", best, no_news, 60.0)["T"] for P in (1, 8)
    }
    assert T[1] / T[8] > 6


def test_simulation_says_when_it_diverged():
    best = jobs.optimum("china32_01", 4.0, no_news, 60.0)["F"]
    assert jobs.simulate("china32_01", 4.0, 16, best, no_news, 60.0, runs=1)["T"] is None


def test_the_objective_is_the_papers():
    A, y = np.eye(2), np.array([1.0, -1.0])
    x = np.array([0.5, 0.0])
    assert jobs.Objective(A, y, 2.0, "squared")(x) == pytest.approx(0.625 + 1.0)
    logistic = np.log1p(np.exp(-0.5)) + np.log(2) + 1.0
    assert jobs.Objective(A, y, 2.0, "logistic")(x) == pytest.approx(logistic)


def test_a_sample_without_an_opinion_is_half_an_error():
    A, y = np.array([[1.0], [1.0], [0.0], [0.0]]), np.array([1.0, -1.0, 1.0, 1.0])
    assert jobs.error(A, y, np.array([1.0])) == pytest.approx(0.25 + 0.25)


@pytest.mark.parametrize("solver", LOGISTIC)
def test_every_classifier_draws_a_curve(solver):
    best = jobs.learnt("news_small", 1.0, no_news, 20.0)
    found = jobs.curve(solver, "news_small", 1.0, best["F"], no_news, 1.0)
    at_zero = best["samples"] * np.log(2) / best["F"] - 1
    assert found["suboptimality"] < 1.1 * at_zero  # the average of few samples hardly moves
    assert len(found["extras"]) == len(found["marks"]) > 0
