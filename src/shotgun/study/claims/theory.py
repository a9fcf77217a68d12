"""Section 3: how many updates at once, and what rho says of it."""

from __future__ import annotations

import math
from statistics import median

from shotgun.study.claims.verdict import NOT_RUN, Finding, claim
from shotgun.study.figures import races as lasso
from shotgun.study.figures.theory import curves
from shotgun.study.runs import Results

EFFICIENT = 2 / 3  # of a linear speed-up, to call it almost linear
SMALL = 0.1  # a small fraction
PRINTED_RHO = {"ball64_singlepixcam": (2047.8, 1), "mug32_singlepixcam": (6.4967, 4)}


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
