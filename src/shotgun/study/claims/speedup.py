"""Section 4.3: speed-ups, and the memory wall."""

from __future__ import annotations

from statistics import median

from shotgun.study.claims.verdict import NOT_RUN, Finding, claim
from shotgun.study.figures import speedups
from shotgun.study.runs import Results


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
    steps = {(s.problem, s.lam): s.gain for s in speedups.in_iterations(results)}
    pairs = [
        (s.gain[2], steps[s.problem, s.lam][2])
        for s in speedups.in_time(results)
        if 2 in s.gain and 2 in steps.get((s.problem, s.lam), {})
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
