"""Section 4.2: sparse logistic regression, and stochastic gradients."""

from __future__ import annotations

import math

from shotgun.study.claims.verdict import NOT_RUN, Finding, claim
from shotgun.study.problems import find
from shotgun.study.runs import Results

GOAL = 1e-6  # the relative suboptimality at which a curve ends


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
