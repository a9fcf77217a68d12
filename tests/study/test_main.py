"""The study as a whole, small: one command, figures and a page, and nothing run twice."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from shotgun.cli import app
from shotgun.study import runs
from shotgun.study.claims import CLAIMS
from shotgun.study.figures import FIGURES
from shotgun.study.plan import Plan, optima, planted, races, some_P
from shotgun.study.report import _robust, _speedups, _updates, notes, page_of, summary
from shotgun.study.runs import DONE, OVER, Job, Result, Results

from .test_claims import curve
from .test_figures import some_results


def study(folder, *more):
    told = ["study", "--quick", "--out", str(folder), "--threads", "1", *more]
    return CliRunner().invoke(app, told)


SMALL = ("--problem", "sparco011_gausspike", "--figure", "3", "--solver", "SpaRSA")


def test_a_study_writes_figures_and_a_page_and_runs_nothing_twice(tmp_path, monkeypatch):
    answer = study(tmp_path, *SMALL)
    assert answer.exit_code == 0, answer.stderr
    page = (tmp_path / "index.html").read_text()
    assert "The paper&#x27;s claims" in page
    assert (tmp_path / "figures" / "figure3-lasso.png").is_file()
    assert not (tmp_path / "figures" / "figure5-speedups.png").exists()
    monkeypatch.setattr(runs, "run", lambda job: pytest.fail(f"{job} again"))
    assert study(tmp_path, *SMALL).exit_code == 0


@pytest.mark.parametrize(
    ("option", "value"), [("--solver", "nobody"), ("--problem", "nothing"), ("--figure", "9")]
)
def test_what_is_not_there_is_refused(option, value, tmp_path):
    answer = study(tmp_path, option, value)
    assert answer.exit_code == 2
    assert option.strip("-") in answer.stderr


def test_real_problems_without_data_are_refused(monkeypatch):
    monkeypatch.delenv("SHOTGUN_DATA", raising=False)
    with pytest.raises(ValueError, match="SHOTGUN_DATA"):
        Plan(problem="mug05_12_12")


def test_the_quick_study_is_a_part_of_the_long_one():
    quick = {p.name for p in Plan(quick=True).problems()}
    assert quick < {p.name for p in Plan().problems()}


def test_p_goes_up_to_p_star_and_beyond():
    assert some_P(3, quick=True) == [1, 2, 3, 4, 5, 6, 9]
    assert {1, 8, 158, 316, 632} <= set(some_P(158, quick=True))


def test_the_notes_say_what_the_paper_misprints_and_what_was_left_out():
    left_out = [Job("facts", {"problem": "news"}, 1.0)]
    facts = {"n": 23749, "d": 47236, "nonzeros": 1783774, "lams": []}
    found = Results([Result(Job("facts", {"problem": "rcv1_classes"}, 1.0), DONE, 0.0, facts)])
    told = " ".join(notes(found, left_out))
    assert "0.17 %" in told
    assert "0.16%" in told
    assert "another split" in told
    assert "1 runs were left out" in told


def test_problems_that_nobody_is_raced_on_are_named():
    plan = Plan(quick=True, problem="signs_477")
    told = " ".join(notes(with_optimum(plan, gap=1e-3), []))
    assert "signs_477 at lam 0.5: F* is not known well enough" in told
    assert "gap is 5.0e-04" in told
    assert "not known" not in " ".join(notes(with_optimum(plan, gap=1e-9), []))


def test_a_study_can_leave_out_what_is_large():
    few = Plan(features=2000).problems()
    assert few
    assert max(p.d for p in few) <= 2000


def test_hours_bound_any_study_and_none_draws_what_is_there(tmp_path, monkeypatch):
    assert Plan(quick=True).budget < 600
    assert Plan().budget == float("inf")
    assert Plan(quick=True, hours=2).budget == 7200
    monkeypatch.setattr(runs, "run", lambda job: pytest.fail(f"{job} began"))
    assert study(tmp_path, *SMALL, "--hours", "0").exit_code == 0
    assert "1 runs were left out" in (tmp_path / "index.html").read_text()


def test_a_limit_bounds_every_race():
    plan = Plan(problem="signs_477", limit=2.5)
    assert {job.limit for job in races(plan, with_optimum(plan, gap=1e-9))} == {2.5}
    assert {job.limit for job in planted(plan, Results())} == {2.5}


def test_the_page_names_its_command():
    plan = Plan(figure=3, features=20000, threads=2)
    assert plan.command == "shotgun study --figure 3 --features 20000"
    assert Plan(limit=5.0).command == "shotgun study --limit 5"
    assert "by: shotgun study --figure 3 --features 20000" in page_of(plan, Results(), {}, [])


def test_a_figure_needs_its_own_problems_only():
    assert {p.loss for p in Plan(figure=3).entered()} == {"squared"}
    assert {p.loss for p in Plan(figure=4).entered()} == {"logistic"}
    assert {p.loss for p in Plan().entered()} == {"squared", "logistic"}


def test_the_first_lam_of_all_problems_is_raced_before_the_second():
    plan, known = Plan(features=1024), Results()
    for name in ("signs_477", "sparco011_gausspike"):
        lams = [{"lam": lam, "name": f"{lam}", "note": ""} for lam in (0.5, 10.0)]
        facts = Job("facts", {"problem": name}, 900.0)
        known.append(Result(facts, DONE, 0.0, {"lams": lams, "lam_max": 20.0}))
    F = {"F": 2.0, "gap": 0.0, "loss": 1.0, "nonzeros": 3}
    known += [Result(job, DONE, 0.0, F) for job in optima(plan, known)]
    lams = [job.params["lam"] for job in races(plan, known)]
    assert lams == sorted(lams)
    assert set(lams) == {0.5, 10.0}


def test_counters_are_told_per_update_or_why_not():
    def told(**value):
        return " ".join(notes(Results([Result(Job("counters", {}, 1.0), DONE, 0.0, value)]), []))

    runs = [{"threads": 1, "per_update": {"cycles": 812.0, "instructions": 640.0}}]
    assert "cycles 812, instructions 640 with P = 1." in told(runs=runs, why="")
    assert "of an update: perf is not installed." in told(runs=[], why="perf is not installed")


def test_the_page_says_how_often_each_solver_got_there():
    told = {"problem": "signs_477", "lam": 0.5, "solver": "SpaRSA", "best": 1.0}
    jobs = [Job("race", told | {"lam": lam}, 3.0) for lam in (0.5, 10.0)]
    ends = [{"seconds": 1.0}, {"seconds": None, "suboptimality": 0.1}]
    ran = Results(Result(job, DONE, 1.0, end) for job, end in zip(jobs, ends, strict=True))
    assert [*_robust(ran).values()] == [["SpaRSA"], [1], [2], [50.0], [0], [0], [None]]


def test_the_command_prints_how_often_each_solver_got_there(tmp_path):
    answer = study(tmp_path, *SMALL)
    assert "SpaRSA                   1 of 1 (100%)" in answer.stdout
    assert answer.stdout.rstrip().endswith("index.html")


def test_the_summary_counts_claims_by_their_verdict():
    assert f"0 held, 0 did not hold, {len(CLAIMS)} not run" in summary(Results())


def test_the_notes_say_how_much_of_the_processor_others_had():
    job = Job("race", {"problem": "signs_477", "lam": 0.5, "solver": "SpaRSA"}, 3.0)
    ran = [Result(job, DONE, 1.0, others=share) for share in (0.0, 0.02, 0.4, None)]
    told = " ".join(notes(Results(ran), []))
    assert "They had 2% of it (median), and more than 10% in 1 of 3 runs." in told


def test_speed_ups_and_updates_are_told_in_numbers():
    told = _speedups(some_results())
    assert (told["problem"], told["P*"]) == (["signs_2048"], [100])
    assert (told["2 threads"], told["P = 8"]) == ([pytest.approx(1.4)], [pytest.approx(7.9)])
    each = _updates(some_results())
    assert each["variant"] == ["as is", "as is", "no atomics", "no atomics"]
    assert each["nanoseconds"] == [pytest.approx(ns) for ns in (90, 45, 50, 25)]


def test_classifiers_are_counted_as_solvers_of_the_lasso_are():
    near = curve("Shotgun CDN", 1e-6, ((0.1, 2.0), (1.0, 1.00005)), "zeta_small")
    far = curve("SGD", 1e-2, ((0.1, 2.0), (1.0, 1.01)), "zeta_small")
    over = replace(curve("SMIDAS", 1e-6, problem="zeta_small"), status=OVER, value={})
    told = _robust(Results([near, far, over]))
    assert told["solver"] == ["SGD, logistic", "SMIDAS, logistic", "Shotgun CDN, logistic"]
    assert told["solved, d <= 20000"] == [0, 0, 1]
    assert told["of, d <= 20000"] == [1, 1, 1]


def test_a_page_of_nothing_claims_nothing():
    page = page_of(Plan(quick=True), Results(), {}, [])
    assert "0 of" in page
    assert 'class="status good"' not in page


def with_optimum(plan, gap):
    """What is known of a problem whose F* is 2, but for that gap."""
    lams = [{"lam": 0.5, "name": "0.5", "note": ""}]
    facts = Job("facts", {"problem": "signs_477"}, 900.0)
    known = Results([Result(facts, DONE, 0.0, {"lams": lams, "lam_max": 5.0})])
    F = {"F": 2.0, "gap": gap, "loss": 1.0, "nonzeros": 3}
    known += [Result(job, DONE, 0.0, F) for job in optima(plan, known)]
    known.append(Result(Job("optimum", {"problem": "signs_477", "lam": 0.1}, 60.0), DONE, 0.0, F))
    return known


def test_races_are_run_at_the_lams_of_their_problem_alone():
    plan = Plan(quick=True, problem="signs_477")
    told = [job.params for job in races(plan, with_optimum(plan, gap=1e-9))]
    assert {params["lam"] for params in told} == {0.5}
    assert {params["best"] for params in told if params["solver"] == "Hard_l0"} == {1.0}


def test_nobody_is_judged_by_an_optimum_that_is_not_known():
    plan = Plan(quick=True, problem="signs_477")
    assert not list(races(plan, with_optimum(plan, gap=1e-3)))


REPORT = Path(__file__).parents[2] / "docs" / "study"


def test_the_example_in_the_docs_judges_every_claim_and_names_its_machine():
    page = html.unescape((REPORT / "index.html").read_text())
    assert all(claim.says in page for claim in CLAIMS)
    assert re.search(r"run on .+, \d+ cores, \d+ GiB, with \d+ threads, by: shotgun study", page)
    for name, _ in FIGURES.values():
        assert (REPORT / "figures" / f"{name}.png").is_file()
