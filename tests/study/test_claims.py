"""Verdicts: computed from results, so that made-up results bring them out either way."""

from __future__ import annotations

import pytest

from shotgun.study.claims import CLAIMS, lasso, logistic, speedup, theory, verdicts
from shotgun.study.runs import DONE, OVER, Job, Result, Results


def result(kind, value, limit=60.0, status=DONE, **params):
    return Result(Job(kind, params, limit), status, 1.0, value)


def facts(problem, **value):
    return result(
        "facts", {"ideal_p": 100, "rho": 5.0, "rho_seconds": 0.01} | value, problem=problem
    )


def race(solver, seconds, problem="bigrams_100k", lam=0.5, **more):
    value = {"seconds": seconds, "suboptimality": 1e-5}
    return result("race", value, solver=solver, problem=problem, lam=lam, **more)


def simulated(T, P, problem="mug32_singlepixcam", **more):
    return result("simulate", {"T": T}, problem=problem, lam=0.025, P=P, best=1.0, **more)


def curve(solver, far, marks=((0.1, 2.0), (1.0, 1.5)), problem="rcv1_classes", **more):
    value = {"suboptimality": far, "marks": [list(mark) for mark in marks], "extras": []}
    return result("curve", value, solver=solver, problem=problem, lam=1.0, best=1.0, **more)


def speed(kind, by, gains, problem="signs_2048"):
    value = "seconds" if kind == "speed" else "T"
    return [
        result(kind, {value: 100.0 / gain}, problem=problem, lam=0.5, engine="bundle", **{by: k})
        for k, gain in gains.items()
    ]


CAMERA = {"problem": "china32_01"}
EACH = [{"problem": p} for p in ("bigrams_100k", "china32_01", "signs_2048", "sparco007_sgnspike")]
STAR = 158
CASES = {
    theory.printed_rho: (
        [facts("ball64_singlepixcam", rho=2047.816), facts("mug32_singlepixcam", rho=6.49669)],
        [facts("ball64_singlepixcam", rho=2047.816), facts("mug32_singlepixcam", rho=6.51)],
    ),
    theory.linear_up_to_star: (
        [facts("mug32_singlepixcam", ideal_p=STAR), simulated(6000, 1), simulated(800, 8)],
        [facts("mug32_singlepixcam", ideal_p=STAR), simulated(6000, 1), simulated(4000, 8)],
    ),
    theory.diverges_beyond: (
        [facts("mug32_singlepixcam", ideal_p=STAR), simulated(6000, 1), simulated(None, 400)],
        [facts("mug32_singlepixcam", ideal_p=STAR), simulated(6000, 1), simulated(40, 900)],
    ),
    theory.step_of_one_over_p: (
        [simulated(800, 8), simulated(6000, 8, step=0.125)],
        [simulated(800, 8), simulated(900, 8, step=0.125)],
    ),
    theory.rho_is_cheap: (
        [facts("bigrams_100k", rho_seconds=0.01), race("Shooting", 1.0)],
        [facts("bigrams_100k", rho_seconds=0.5), race("Shooting", 1.0)],
    ),
    lasso.warm_starts: (
        [race("Shooting", 1.0), race("Shooting", 3.0, how={"factor": 0.0})],
        [race("Shooting", 1.0), race("Shooting", 0.9, how={"factor": 0.0})],
    ),
    lasso.plain_leads: (
        [race("Shotgun (P = 8)", 1.0), race("L1_LS", 9.0), race("SpaRSA", None)],
        [race("Shotgun (P = 8)", 1.0), race("L1_LS", 0.5), race("SpaRSA", None)],
    ),
    lasso.shipped_leads: (
        [race("Shotgun", 1.0), race("L1_LS", 9.0)],
        [race("Shotgun", None), race("L1_LS", 9.0)],
    ),
    lasso.faster_on_most: (
        [race(*run, **of) for of in EACH for run in (("Shotgun (P = 8)", 1.0), ("L1_LS", 9.0))],
        [race(*run, **of) for of in EACH for run in (("Shotgun (P = 8)", 1.0), ("L1_LS", 0.9))],
    ),
    lasso.most_fail: (
        [race("L1_LS", None), race("SpaRSA", 1.0), race("FPC_AS", None)],
        [race("L1_LS", 1.0), race("SpaRSA", 1.0), race("FPC_AS", None)],
    ),
    lasso.largest: (
        [race(s, t, "bigrams_5.8m") for s, t in (("Shooting", 490), ("Shotgun (P = 8)", 190))],
        [race(s, t, "bigrams_5.8m") for s, t in (("Shooting", 200), ("Shotgun (P = 8)", 190))],
    ),
    lasso.camera_converges: (
        [facts("china32_01", ideal_p=3), race("Shotgun (P = 8)", 1.0, **CAMERA)],
        [facts("china32_01", ideal_p=3), race("Shotgun (P = 8)", None, **CAMERA)],
    ),
    lasso.camera_slower: (
        [
            facts("china32_01", ideal_p=3),
            race("Shotgun (P = 8)", 2.0, **CAMERA),
            race("Shooting", 1.0, **CAMERA),
        ],
        [
            facts("china32_01", ideal_p=3),
            race("Shotgun (P = 8)", 0.5, **CAMERA),
            race("Shooting", 1.0, **CAMERA),
        ],
    ),
    lasso.robust: (
        [race("L1_LS", 1.0), race("SpaRSA", None)],
        [race("L1_LS", None), race("SpaRSA", 1.0)],
    ),
    logistic.cdn_beats_fixed: (
        [
            simulated(9000, 1, "news_small", runs=1, epochs=100.0),
            result(
                "iterations", {"T": 100}, problem="news_small", lam=0.025, engine="shooting_cdn"
            ),
        ],
        [
            simulated(900, 1, "news_small", runs=1, epochs=100.0),
            result(
                "iterations", {"T": 700}, problem="news_small", lam=0.025, engine="shooting_cdn"
            ),
        ],
    ),
    logistic.constant_rates: (
        [curve("SGD", 1e-2), curve("SGD", 1e-1, how={"decay": True})],
        [curve("SGD", 1e-1), curve("SGD", 1e-2, how={"decay": True})],
    ),
    logistic.parallel_sgd: (
        [curve("SGD", 1e-2), curve("Parallel SGD", 1.2e-2)],
        [curve("SGD", 1e-2), curve("Parallel SGD", 1e-1)],
    ),
    logistic.smidas: (
        [
            result("updates", {"seconds_per_update": 1e-6}, solver="SGD"),
            result("updates", {"seconds_per_update": 1.2e-5}, solver="SMIDAS"),
        ],
        [
            result("updates", {"seconds_per_update": 1e-6}, solver="SGD"),
            result("updates", {"seconds_per_update": 2e-6}, solver="SMIDAS"),
        ],
    ),
    logistic.wide_regime: (
        [curve("SGD", 1e-2), curve("Shotgun CDN", 1e-6)],
        [curve("SGD", 1e-2), curve("Shotgun CDN", 8e-3)],
    ),
    logistic.tall_regime: (
        [
            curve("SGD", 1e-2, ((0.1, 1.2), (9.0, 1.1)), "zeta_small"),
            curve("Shotgun CDN", 1e-6, ((0.1, 3.0), (9.0, 1.0)), "zeta_small"),
        ],
        [
            curve("SGD", 1e-2, ((0.1, 3.2), (9.0, 1.1)), "zeta_small"),
            curve("Shotgun CDN", 1e-6, ((0.1, 1.0), (9.0, 1.0)), "zeta_small"),
        ],
    ),
    logistic.hybrid: (
        [
            curve("SGD", 1e-2),
            curve("Shotgun CDN", 1e-6, ((0.1, 2.0), (1.0, 1.0))),
            curve("SGD + Shotgun", 1e-6, ((0.1, 2.0), (0.5, 1.0))),
        ],
        [
            curve("SGD", 1e-2),
            curve("Shotgun CDN", 1e-6, ((0.1, 2.0), (1.0, 1.0))),
            curve("SGD + Shotgun", 1e-6, ((0.1, 2.0), (2.0, 1.0))),
        ],
    ),
    speedup.iterations_at_8: (
        [facts("signs_2048"), *speed("iterations", "P", {1: 1.0, 8: 7.9})],
        [facts("signs_2048"), *speed("iterations", "P", {1: 1.0, 8: 4.0})],
    ),
    speedup.time_is_less: (
        [
            facts("signs_2048"),
            *speed("iterations", "P", {1: 1.0, 2: 2.0}),
            *speed("speed", "n_threads", {1: 1.0, 2: 1.4}),
        ],
        [
            facts("signs_2048"),
            *speed("iterations", "P", {1: 1.0, 2: 1.2}),
            *speed("speed", "n_threads", {1: 1.0, 2: 1.9}),
        ],
    ),
}


def test_every_claim_is_tried_both_ways():
    assert {c.judge for c in CLAIMS} == set(CASES)


@pytest.mark.parametrize("judge", CASES, ids=lambda judge: judge.__name__)
def test_a_claim_holds_by_results_that_bear_it_out_and_not_by_others(judge):
    good, bad = CASES[judge]
    assert judge(Results(good)).held is True
    finding = judge(Results(bad))
    assert finding.held is False
    assert finding.measured


def test_without_results_nothing_is_said_to_hold():
    found = verdicts(Results())
    assert [verdict.claim for verdict in found] == CLAIMS
    for verdict in found:
        assert verdict.word == "not run"
        assert verdict.finding.reason


def test_runs_over_their_limit_count_as_not_there():
    over = result("race", {}, status=OVER, solver="LARS", problem="bigrams_100k", lam=0.5)
    finding = lasso.plain_leads(Results([race("Shotgun (P = 8)", 1.0), over]))
    assert finding.held is True


def test_a_package_that_is_missing_is_no_defeat_of_its_solver():
    gone = result(
        "race", {}, status="not installed", solver="GLMNET", problem="bigrams_100k", lam=0.5
    )
    assert lasso.plain_leads(Results([race("Shotgun (P = 8)", 1.0), gone])).held is None


def test_a_claim_that_did_not_hold_says_why():
    lost = lasso.plain_leads(
        Results([race("Shotgun (P = 8)", 3.0), race("Shooting", 1.0), race("L1_LS", 2.0)])
    )
    assert "behind L1_LS" in lost.reason
    assert "take 3.0 times Shooting's seconds" in lost.reason
    slow = theory.rho_is_cheap(
        Results([facts("bigrams_100k", rho_seconds=0.5), race("Shooting", 1.0)])
    )
    assert "over in 1 s" in slow.reason
    assert (
        "L1_LS fails on bigrams_100k"
        in lasso.robust(Results([race("L1_LS", None), race("SpaRSA", 1.0)])).reason
    )


def test_the_time_speed_up_is_explained_by_variants_and_by_what_the_processor_counts():
    variants = [("as is", 4e-8), ("no atomics", 2e-8)]
    runs = [{"variant": v, "threads": 2, "seconds_per_update": s} for v, s in variants]
    each = {"cycles": 200.0, "instructions": 100.0}
    ran = [
        *CASES[speedup.time_is_less][0],
        result("memory", {"runs": runs}),
        result("counters", {"runs": [{"threads": 2, "per_update": each}], "why": ""}),
    ]
    reason = speedup.time_is_less(Results(ran)).reason
    assert "no atomics 2.0" in reason
    assert "instructions per cycle: 0.50 with 2" in reason


def test_to_diverge_below_the_ideal_is_not_linear():
    results = [facts("mug32_singlepixcam", ideal_p=STAR), simulated(6000, 1), simulated(None, 8)]
    assert theory.linear_up_to_star(Results(results)).held is False


def test_who_never_gets_there_is_the_slower_one():
    direct = {"how": {"factor": 0.0}}
    for path, plain, held in ((1.0, None, True), (None, 1.0, False), (None, None, None)):
        results = Results([race("Shooting", path), race("Shooting", plain, **direct)])
        assert lasso.warm_starts(results).held is held
    camera = [facts("china32_01", ideal_p=3), race("Shooting", 1.0, **CAMERA)]
    found = lasso.camera_slower(Results([*camera, race("Shotgun (P = 8)", None, **CAMERA)]))
    assert found.held is True


@pytest.mark.parametrize(
    ("shooting", "shotgun", "held"),
    [(None, 10.0, True), (None, 50.0, None), (None, None, False), (50.0, None, False)],
)
def test_limits_are_lower_bounds_on_the_largest_problem(shooting, shotgun, held):
    largest = {"problem": "bigrams_5.8m"}
    ran = [race("Shooting", shooting, **largest), race("Shotgun (P = 8)", shotgun, **largest)]
    assert lasso.largest(Results(ran)).held is held


def test_curves_without_a_look_or_at_the_optimum_break_no_verdict():
    at_once = [curve("SGD", 0.0), curve("Parallel SGD", -1e-9)]
    assert logistic.parallel_sgd(Results(at_once)).held is True
    blind = [curve("SGD", 0.1), curve("SGD", None, marks=(), how={"decay": True})]
    assert logistic.constant_rates(Results(blind)).held is None


def test_what_holds_on_most_categories_is_not_known_from_one():
    won = Results([race("Shotgun (P = 8)", 1.0), race("L1_LS", 9.0)])
    assert lasso.faster_on_most(won).held is None
