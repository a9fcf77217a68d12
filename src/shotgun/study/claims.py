"""The paper's claims, one by one, and whether they held here: each verdict is computed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from shotgun.study.figures import races as lasso
from shotgun.study.figures import speedups
from shotgun.study.figures.races import Race
from shotgun.study.figures.theory import curves
from shotgun.study.problems import Category, find
from shotgun.study.runs import Results

EFFICIENT = 2 / 3  # of a linear speed-up, to call it almost linear
SMALL = 0.1  # a small fraction
LONG = 0.5  # seconds of a fit for which a path may be worth its while
GOAL = 1e-6  # the relative suboptimality at which a curve ends
OURS = ("Shotgun (P = 8)", "Shotgun")
PRINTED_RHO = {"ball64_singlepixcam": (2047.8, 1), "mug32_singlepixcam": (6.4967, 4)}


class Finding(NamedTuple):
    """What was measured; `held` is None where nothing was."""

    held: bool | None
    measured: str
    reason: str = ""


NOT_RUN = Finding(None, "", "no results")


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, where it stands, and what judges it."""

    where: str
    says: str
    judge: Callable[[Results], Finding]


@dataclass(frozen=True)
class Verdict:
    """A row of the report's table."""

    claim: Claim
    finding: Finding

    @property
    def word(self) -> str:
        return {True: "held", False: "did not hold", None: "not run"}[self.finding.held]


CLAIMS: list[Claim] = []


def claim(
    where: str, says: str
) -> Callable[[Callable[[Results], Finding]], Callable[..., Finding]]:
    """The function that follows judges it."""

    def enter(judge: Callable[[Results], Finding]) -> Callable[[Results], Finding]:
        CLAIMS.append(Claim(where, says, judge))
        return judge

    return enter


def verdicts(results: Results) -> list[Verdict]:
    """One for each claim, in the paper's order."""
    return [Verdict(c, c.judge(results)) for c in CLAIMS]


# Section 3


@claim("Fig. 2", "rho is 2047.8 for Ball64_singlepixcam and 6.4967 for Mug32_singlepixcam")
def printed_rho(results: Results) -> Finding:
    found = {
        name: result.value["rho"]
        for name in PRINTED_RHO
        for result in results.of("facts", problem=name).done()
    }
    if len(found) < len(PRINTED_RHO):
        return Finding(None, "", "the paper's data sets are not at hand (SHOTGUN_DATA)")
    held = all(round(found[name], digits) == rho for name, (rho, digits) in PRINTED_RHO.items())
    return Finding(held, ", ".join(f"{name} {rho:.6g}" for name, rho in found.items()))


@claim("Section 3.2, Fig. 2", "T falls as 1/P as long as P does not exceed P*")
def linear_up_to_star(results: Results) -> Finding:
    shares = {}
    for curve in curves(results):
        if 1 in curve.T:
            below = dict.fromkeys(curve.diverged, math.inf) | curve.T
            kept = [curve.T[1] / (P * T) for P, T in below.items() if 1 < P <= curve.star]
            if kept:
                shares[curve.problem] = min(kept)
    if not shares:
        return NOT_RUN
    measured = ", ".join(f"{name}: {share:.0%} of linear" for name, share in shares.items())
    return Finding(
        min(shares.values()) >= EFFICIENT,
        f"worst P up to P*: {measured}",
        f"held when at least {EFFICIENT:.0%} of a linear speed-up is kept",
    )


@claim("Section 3.2, Fig. 2", "As P exceeds P*, Shotgun soon diverges")
def diverges_beyond(results: Results) -> Finding:
    found = [c for c in curves(results) if max([*c.T, *c.diverged]) > c.star]
    if not found:
        return NOT_RUN
    first = {c.problem: (min(c.diverged, default=None), c.star, max(c.T)) for c in found}
    told = [
        f"{name}: P* = {star}, "
        + (f"converges to P = {last}, diverges at {P}" if P else f"still converges at {last}")
        for name, (P, star, last) in first.items()
    ]
    held = all(P is not None and star < P <= 4 * star for P, star, _ in first.values())
    return Finding(held, "; ".join(told), "soon: by 4 P*, and not up to P*")


@claim("Section 3, footnote 2", "A step size of 1/P ensures convergence but is impractical")
def step_of_one_over_p(results: Results) -> Finding:
    ratios = []
    for result in results.of("simulate").done():
        told = dict(result.job.params)
        if told.pop("step", None) is None:
            continue
        full = [r for r in results.of("simulate", **told).done() if "step" not in r.job.params]
        for other in full:
            if other.value["T"] and result.value["T"]:
                ratios.append((result.value["T"] / other.value["T"], told["P"]))
            elif other.value["T"]:
                ratios.append((float("inf"), told["P"]))
    if not ratios:
        return NOT_RUN
    worst, P = min(ratios)
    told_ratio = f"{worst:.1f} times the iterations" if worst < float("inf") else "no end in sight"
    return Finding(worst >= P / 2, f"at P = {P}: {told_ratio} of full steps")


@claim("Section 3.1, footnote 4", "rho is estimated within a small fraction of the runtime")
def rho_is_cheap(results: Results) -> Finding:
    pairs = [
        (facts.value["rho_seconds"], race.seconds)
        for race in lasso.races(results)
        if race.solver == "Shooting" and race.seconds
        for facts in results.of("facts", problem=race.problem).done()
    ]
    if not pairs:
        return NOT_RUN
    total = sum(a for a, _ in pairs) / sum(b for _, b in pairs)
    short = f"; half of Shooting's runs are over in {median(b for _, b in pairs):.2g} s"
    return Finding(
        total <= SMALL,
        f"{total:.0%} of Shooting's seconds in all, median {median(a / b for a, b in pairs):.0%}, "
        f"over {len(pairs)} runs",
        f"power iteration to 1 %, Shooting to 1e-4; small: at most {SMALL:.0%} of all seconds"
        + (short if total > SMALL else ""),
    )


# Section 4.1


@claim("Section 4.1.1", "Pathwise warm starts can give significant speed-ups")
def warm_starts(results: Results) -> Finding:
    ratios, slow = [], []
    for direct in results.of("race", solver="Shooting", how={"factor": 0.0}).done():
        told = direct.job.params
        usual = [
            r
            for r in results.of("race", solver="Shooting", problem=told["problem"]).done()
            if "how" not in r.job.params and r.job.params["lam"] == told["lam"]
        ]
        for path in usual:
            if direct.value["seconds"] or path.value["seconds"]:
                ratios.append(_over(direct.value["seconds"], path.value["seconds"]))
                if direct.value["seconds"] is None or direct.value["seconds"] > LONG:
                    slow.append(ratios[-1])
    if not ratios:
        return NOT_RUN
    longer = f"; {median(slow):.2f} where that takes more than {LONG:g} s" if slow else ""
    return Finding(
        median(ratios) >= 1.2,
        f"direct over pathwise: median {median(ratios):.2f}, best {max(ratios):.2f}, "
        f"{len(ratios)} runs{longer}",
        "held when the median gain is 20 %; the path ends with the accuracy of the direct fit, and "
        "its earlier fits are loose: where the direct one is short, they are most of the work",
    )


def _over(one: float | None, other: float | None) -> float:
    """The ratio of seconds, of which one may be None: it did not get there."""
    return math.inf if one is None else 0.0 if other is None else one / other


def _by_problem(races: list[Race]) -> dict[tuple[str, float], dict[str, Race]]:
    found: dict[tuple[str, float], dict[str, Race]] = {}
    for race in races:
        found.setdefault((race.problem, race.lam), {})[race.solver] = race
    return found


def _wins(results: Results, ours: str, category: Category) -> tuple[int, int, list[str]]:
    """How many comparisons of `ours` with competitors it wins, of how many; what it lost."""
    won, total, lost = 0, 0, []
    here = [race for race in lasso.races(results) if race.category is category]
    for (problem, _), solvers in _by_problem(here).items():
        if ours not in solvers:
            continue
        mine = solvers[ours].seconds
        if mine is None:
            lost.append(f"not there on {problem}: {solvers[ours].why}")
        for name, race in solvers.items():
            if name in (*OURS, "Shooting", "Hard_l0"):  # Hard_l0 solves another problem
                continue
            total += 1
            if mine is not None and (race.seconds is None or mine < race.seconds):
                won += 1
            elif race.seconds is not None:
                lost.append(f"behind {name} on {problem}")
    return won, total, lost


def _ahead(results: Results, ours: str) -> Finding:
    won, total, lost = _wins(results, ours, Category.TEXT)
    if not total:
        return NOT_RUN
    if lost and ours == OURS[0]:
        lost.append(_cores(results, [Category.TEXT]))
    return Finding(won == total, f"ahead in {won} of {total} comparisons", "; ".join(lost))


def _cores(results: Results, categories: Sequence[Category]) -> str:
    """What eight updates at once bring where there are not the paper's eight cores."""
    here = _by_problem([race for race in lasso.races(results) if race.category in categories])
    both = [s for s in here.values() if {OURS[0], "Shooting"} <= s.keys()]
    pairs = [(s[OURS[0]].seconds, s["Shooting"].seconds) for s in both]
    ratios = [_over(ours, theirs) for ours, theirs in pairs if ours or theirs]
    took = f" and take {median(ratios):.1f} times Shooting's seconds (median)" if ratios else ""
    threads = max((r.job.threads for r in results.of("race")), default=1)
    return f"8 updates at once share {threads} threads here{took}, where the paper had 8 cores"


@claim("Section 4.1.3", "Shotgun as in the paper (P = 8, no working set) leads on Large, Sparse")
def plain_leads(results: Results) -> Finding:
    return _ahead(results, OURS[0])


@claim("Section 4.1.3", "The same of Shotgun as shipped here")
def shipped_leads(results: Results) -> Finding:
    return _ahead(results, OURS[1])


@claim("Section 4.1.3", "Shotgun (P = 8) is faster than the others on most categories")
def faster_on_most(results: Results) -> Finding:
    shares = {c: _wins(results, OURS[0], c)[:2] for c in lasso.LASSO}
    ran = {c: won / total for c, (won, total) in shares.items() if total}
    if not ran:
        return NOT_RUN
    told = ", ".join(f"{c}: {shares[c][0]} of {shares[c][1]}" for c in ran)
    if len(ran) < len(shares):
        return Finding(None, f"wins {told}", "not all categories were run")
    held = sum(share > 0.5 for share in ran.values()) > len(ran) / 2
    return Finding(held, f"wins {told}", "" if held else _cores(results, lasso.LASSO))


@claim("Section 4.1.3", "Most algorithms fail to converge on Large, Sparse Datasets")
def most_fail(results: Results) -> Finding:
    here = [r for r in lasso.races(results) if r.category is Category.TEXT]
    others = {r.solver for r in here} - {*OURS, "Shooting"}
    if not others:
        return NOT_RUN
    failing = sorted(s for s in others if any(r.solver == s and r.seconds is None for r in here))
    return Finding(
        len(failing) > len(others) / 2,
        f"{len(failing)} of {len(others)} fail on at least one: {', '.join(failing)}",
        f"within {max(r.limit for r in here):g} s, with up to {max(r.d for r in here)} features "
        "(the paper: 5.8 million)",
    )


@claim("Section 4.1.3", "The largest problem: Shooting about 4900 s, Shotgun below 2000 s")
def largest(results: Results) -> Finding:
    ran = {r.solver: r for r in lasso.races(results) if r.problem == "bigrams_5.8m"}
    if not {"Shooting", OURS[0]} <= ran.keys():
        return Finding(None, "", "the largest problem is part of the long study")
    shooting, shotgun = ran["Shooting"].seconds, ran[OURS[0]].seconds
    if shotgun is None:
        return Finding(False, f"Shotgun not within {ran[OURS[0]].limit:g} s")
    if shooting is None:  # it takes longer than its limit, which may say enough
        limit = ran["Shooting"].limit
        enough = limit / shotgun >= 2.4
        return Finding(enough or None, f"Shotgun {shotgun:.0f} s, Shooting more than {limit:g} s")
    return Finding(shooting / shotgun >= 2.4, f"Shooting {shooting:.0f} s, Shotgun {shotgun:.0f} s")


def _cameras(results: Results) -> list[dict[str, Race]]:
    """Those with P* = 3, or less."""
    few = {r.job.params["problem"] for r in results.of("facts").done() if r.value["ideal_p"] <= 3}
    here = [r for r in lasso.races(results) if r.category is Category.CAMERA and r.problem in few]
    return [solvers for solvers in _by_problem(here).values() if OURS[0] in solvers]


@claim("Section 4.1.3", "Shotgun (P = 8) converges on the single-pixel camera though P* = 3")
def camera_converges(results: Results) -> Finding:
    found = _cameras(results)
    if not found:
        return NOT_RUN
    done = sum(solvers[OURS[0]].seconds is not None for solvers in found)
    return Finding(
        done == len(found),
        f"{done} of {len(found)} runs",
        "a guard halves P when the objective rises, in place of the paper's practical adjustments",
    )


@claim("Section 4.1.3", "There Shotgun (P = 8) is slower than Shooting")
def camera_slower(results: Results) -> Finding:
    pairs = [
        (solvers["Shooting"].seconds, solvers[OURS[0]].seconds)
        for solvers in _cameras(results)
        if "Shooting" in solvers
    ]
    ratios = [_over(shotgun, shooting) for shooting, shotgun in pairs if shooting or shotgun]
    if not ratios:
        return NOT_RUN
    return Finding(median(ratios) > 1, f"median {median(ratios):.1f} times Shooting's seconds")


@claim("Section 4.1.3", "Among the other solvers, L1_LS is the most robust")
def robust(results: Results) -> Finding:
    found = lasso.races(results)
    others = {r.solver for r in found} - {*OURS, "Shooting", "Hard_l0"}
    shares = {}
    for name in others:
        its = [r for r in found if r.solver == name]
        shares[name] = sum(r.seconds is not None for r in its) / len(its)
    if "L1_LS" not in shares or len(shares) < 2:
        return NOT_RUN
    ranking = sorted(shares, key=lambda name: -shares[name])
    failed = sorted({r.problem for r in found if r.solver == "L1_LS" and r.seconds is None})
    return Finding(
        all(shares["L1_LS"] > share for name, share in shares.items() if name != "L1_LS"),
        "solved: " + ", ".join(f"{name} {shares[name]:.0%}" for name in ranking),
        f"to 1e-4 within {max(r.limit for r in found):g} s; to be level is not to be ahead, and "
        "Hard_l0 is not counted, as it solves another problem"
        + (f"; L1_LS fails on {', '.join(failed)}" if failed else ""),
    )


# Section 4.2


@claim("Section 4.2.1", "CDN is often orders of magnitude faster than fixed steps")
def cdn_beats_fixed(results: Results) -> Finding:
    told, gains = [], []
    for fixed in results.of("simulate", runs=1).done():
        params = fixed.job.params
        same = {"problem": params["problem"], "lam": params["lam"], "engine": "shooting_cdn"}
        for cdn in results.of("iterations", **same).done():
            if cdn.value["T"]:
                facts = results.of("facts", problem=params["problem"]).done()
                given_up = params["epochs"] * facts[0].value["d"] if facts else math.inf
                gains.append((fixed.value["T"] or given_up) / cdn.value["T"])
                more = "" if fixed.value["T"] else "more than "
                told.append(f"lam {params['lam']:.2g}: {more}{gains[-1]:.1f} times CDN's updates")
    if not gains:
        return NOT_RUN
    return Finding(
        max(gains) >= 10,
        "; ".join(told),
        "held when fixed steps ever need 10 times as many; they suffer where samples are well "
        "explained, so that the curvature is far below beta",
    )


def _last(results: Results, solver: str, problem: str) -> float | None:
    """Relative suboptimality at the end of a curve."""
    for result in results.of("curve", solver=solver, problem=problem).done():
        if "how" not in result.job.params:
            far: float | None = result.value["suboptimality"]
            return far
    return None


def _logistic(results: Results) -> list[str]:
    return sorted({r.job.params["problem"] for r in results.of("curve").done()})


@claim("Section 4.2.2", "Constant SGD rates converge faster than decaying ones")
def constant_rates(results: Results) -> Finding:
    told, better, rates = [], [], []
    for problem in _logistic(results):
        constant = _last(results, "SGD", problem)
        for r in results.of("curve", solver="SGD", problem=problem, how={"decay": True}).done():
            far = r.value["suboptimality"]
            if constant is None or far is None:
                continue
            better.append(constant < far)
            told.append(f"{problem}: {constant:.1e} against {far:.1e}")
            if constant >= far:
                rates.append(f"{_rate(results, problem):.1e} on {problem}")
    if not told:
        return NOT_RUN
    noise = f"; a constant rate ({', '.join(rates)}) ends at the noise of its steps"
    rule = "F / F* - 1 after the same time, each with the best of 14 rates"
    return Finding(all(better), "; ".join(told), rule + (noise if rates else ""))


def _rate(results: Results, problem: str) -> float:
    """The constant rate that was chosen for SGD."""
    found = results.of("curve", solver="SGD", problem=problem).done()
    return next(r.value.get("rate") or math.nan for r in found if "how" not in r.job.params)


@claim("Section 4.2.3", "Parallel SGD performs almost identically to SGD")
def parallel_sgd(results: Results) -> Finding:
    pairs = [
        (name, _last(results, "SGD", name), _last(results, "Parallel SGD", name))
        for name in _logistic(results)
    ]
    known = [(name, a, b) for name, a, b in pairs if a is not None and b is not None]
    if not known:
        return NOT_RUN
    told = "; ".join(f"{name}: {a:.1e} and {b:.1e}" for name, a, b in known)
    ratios = [max(b, GOAL) / max(a, GOAL) for _, a, b in known]
    held = all(0.5 <= ratio <= 2 for ratio in ratios)
    threads = max(r.job.threads for r in results.of("curve"))
    few = f"; 8 instances, each with an eighth of the data, share {threads} threads here"
    return Finding(held, told, "within a factor of 2" + ("" if held else few))


@claim("Section 4.2.3", "SMIDAS takes about 12 times as long per update as SGD (8500 s to 728 s)")
def smidas(results: Results) -> Finding:
    found = results.of("updates").done()
    seconds = {r.job.params["solver"]: r.value["seconds_per_update"] for r in found}
    if not {"SGD", "SMIDAS"} <= seconds.keys():
        return NOT_RUN
    ratio = seconds["SMIDAS"] / seconds["SGD"]
    return Finding(6 <= ratio <= 24, f"{ratio:.1f} times", "held between 6 and 24 times")


def _regime(results: Results, wide: bool) -> Finding:
    """Whether Shotgun CDN ends ahead of SGD; in the tall regime SGD must lead at first."""
    told, held = [], []
    for name in _logistic(results):
        line = find(name)
        if (line.d > line.n) is not wide:
            continue
        cdn, sgd = _last(results, "Shotgun CDN", name), _last(results, "SGD", name)
        if cdn is None or sgd is None:
            continue
        early = _early(results, name)
        ahead = cdn < sgd / 10 if wide else cdn < sgd and early == "SGD"
        held.append(ahead)
        told.append(f"{name}: {early} first, in the end CDN {cdn:.1e}, SGD {sgd:.1e}")
    return Finding(all(held), "; ".join(told)) if told else NOT_RUN


def _early(results: Results, problem: str) -> str:
    """Who has the better objective after a hundredth of the time, or at the first look."""
    best: dict[str, float] = {}
    for name in ("SGD", "Shotgun CDN"):
        for r in results.of("curve", solver=name, problem=problem).done():
            if "how" not in r.job.params and r.value["marks"]:
                moment = max(0.01 * r.job.limit, r.value["marks"][0][0])
                best[name] = min(F for t, F in r.value["marks"] if t <= moment)
    return min(best, key=lambda name: best[name]) if best else ""


@claim("Fig. 4", "d > n (rcv1): Shotgun CDN is much faster than SGD")
def wide_regime(results: Results) -> Finding:
    return _regime(results, wide=True)


@claim("Fig. 4", "n >> d (zeta): SGD is faster at first, then Shotgun CDN overtakes it")
def tall_regime(results: Results) -> Finding:
    return _regime(results, wide=False)


@claim("Section 4.2.3", "A hybrid of SGD and Shotgun might scale in both n and d")
def hybrid(results: Results) -> Finding:
    told, held = [], []
    for name in _logistic(results):
        seconds = {s: _reached(results, s, name) for s in ("SGD + Shotgun", "SGD", "Shotgun CDN")}
        if None in seconds.values():
            continue
        mixed = seconds.pop("SGD + Shotgun")
        held.append(
            mixed is not None and all(s is not None and mixed < s for s in seconds.values())
        )
        shipped = _reached(results, "Shotgun", name)
        told.append(
            f"{name}: hybrid {_when(mixed)}, "
            + ", ".join(f"{solver} {_when(s)}" for solver, s in seconds.items())
            + (f", Shotgun as shipped (growing samples) {_when(shipped)}" if shipped else "")
        )
    if not told:
        return NOT_RUN
    rule = "to 1e-3; held when it beats both of its parts"
    lost = "" if all(held) else "; SGD's beginning saves Shotgun CDN less than it costs"
    return Finding(all(held), "; ".join(told), rule + lost)


def _when(seconds: float | None) -> str:
    return "never" if seconds is None or math.isinf(seconds) else f"{seconds:.2g} s"


def _reached(results: Results, solver: str, problem: str) -> float | None:
    """Seconds until F is within 1e-3 of F*, infinite if never; None if it was not run."""
    for result in results.of("curve", solver=solver, problem=problem).done():
        if "how" not in result.job.params:
            enough = (1 + 1e-3) * result.job.params["best"]
            return min((t for t, F in result.value["marks"] if enough >= F), default=math.inf)
    return None


# Section 4.3


@claim("Section 4.3, Fig. 5", "The speed-up in iterations is about 8 at P = 8 (here: at least 6)")
def iterations_at_8(results: Results) -> Finding:
    found = [s for s in speedups.in_iterations(results) if 8 in s.gain and s.star >= 8]
    if not found:
        return NOT_RUN
    worst = min(found, key=lambda s: s.gain[8])
    middle = median(s.gain[8] for s in found)
    return Finding(
        worst.gain[8] >= 6,
        f"median {middle:.1f}, least {worst.gain[8]:.1f} ({worst.problem}), {len(found)} problems",
        "problems with P* of 8 or more",
    )


@claim("Section 4.3, Fig. 5", "The speed-up in time is smaller than that in iterations")
def time_is_less(results: Results) -> Finding:
    time = {s.problem: s.gain for s in speedups.in_time(results)}
    steps = {s.problem: s.gain for s in speedups.in_iterations(results)}
    pairs = [
        (time[name][2], steps[name][2])
        for name in time
        if 2 in time[name] and 2 in steps.get(name, {})
    ]
    if not pairs:
        return NOT_RUN
    seconds, counts = median(a for a, _ in pairs), median(b for _, b in pairs)
    return Finding(
        seconds < counts,
        f"with 2: {seconds:.2f} in time, {counts:.2f} in iterations (medians)",
        _wall(results),
    )


def _wall(results: Results) -> str:
    """Why, as far as the memory-wall variants tell."""
    for result in results.of("memory").done():
        runs = result.value["runs"]
        most = max(run["threads"] for run in runs)
        each = {r["variant"]: r["seconds_per_update"] for r in runs if r["threads"] == most}
        gains = {name: each["as is"] / seconds for name, seconds in each.items() if name != "as is"}
        told = ", ".join(f"{name} {gain:.1f}" for name, gain in gains.items())
        return f"with {most} threads an update is so many times faster: {told}{_per_cycle(results)}"
    return "the variants of the memory wall were not run"


def _per_cycle(results: Results) -> str:
    """Instructions per cycle with each number of threads, where the processor counts them."""
    told = [
        f"{each['instructions'] / each['cycles']:.2f} with {run['threads']}"
        for result in results.of("counters").done()
        for run in result.value["runs"]
        if {"instructions", "cycles"} <= (each := run["per_update"]).keys()
    ]
    return f"; instructions per cycle: {', '.join(told)}" if told else ""
