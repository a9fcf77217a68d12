"""The page: every claim of the paper beside what was measured here, the figures, the numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from shotgun.page import Html, element, page, picture, section, table, tiles
from shotgun.study import problems
from shotgun.study.claims import Verdict, verdicts
from shotgun.study.figures import races, speedups
from shotgun.study.plan import Plan, is_known
from shotgun.study.runs import DIED, FAILED, MISSING, Job, Result, Results, machine

BROKEN = (DIED, FAILED, MISSING)
SMALL = 20_000  # features
DISTURBED = 0.1  # of the processor, had by other programs
ROBUST = (
    "Runs that came within 1e-4 of F* before their limit (Hard_l0: whose residual became as small "
    "as the Lasso's with as many weights; planted: that found a signal again, to 1e-4, which is "
    "all there is in y and has a weight for every hundred samples). Stochastic gradients of a "
    "constant rate end where the noise of their steps keeps them, which is seldom as near."
)
SECONDS = (
    "Seconds are those of the clock, or of the processor (of all threads together) where these are "
    "fewer: what other programs took away from a run of one thread is not counted."
)
CAPTIONS = {
    1: (
        "Figure 1: two features",
        "Darker is better. From the square, both weights are updated at once from the same Ax.",
    ),
    2: (
        "Figure 2: iterations against P",
        "Algorithm 2, simulated exactly; T is when the mean objective of ten runs comes within "
        "0.5 % of F*. Crosses are runs that diverged.",
    ),
    3: (
        "Figure 3: the Lasso",
        "A marker is a solver on a problem at one lam: seconds until F is within 1e-4 of F*, "
        "against Shotgun's (P = 8, all columns, asynchronous). Above the diagonal Shotgun was "
        "faster; hollow markers did not get there, and right of a dotted line Shotgun "
        "did not. Hard_l0 has the Lasso's number of "
        "weights, and gets there when its residual is as small.",
    ),
    4: (
        "Figure 4: logistic regression",
        "Above, the training objective; below, the error on a tenth that was held out.",
    ),
    5: (
        "Figure 5: speed-ups of Shotgun",
        "Until F is within 0.5 % of F*, on all columns; a marker is a problem at one lam, a dotted "
        "line what would be linear. Time: asynchronous with P = threads for "
        "the Lasso, P = 8 for CDN. Iterations: P updates from the same Ax count as one.",
    ),
    6: (
        "The memory wall",
        "Seconds per update when one cost at a time is taken away, and what the memory allows.",
    ),
}
SIZES = {
    1: (8.4, 4.2),
    2: (9.6, 4.2),
    3: (10.8, 9.6),
    4: (10.0, 6.6),
    5: (10.8, 7.8),
    6: (10.8, 4.0),
}


def page_of(
    plan: Plan, results: Results, figures: Mapping[int, Any], left_out: Sequence[Job]
) -> str:
    """The whole page."""
    judged = [v for v in verdicts(results) if plan.figure is None or v.finding.held is not None]
    here = machine()
    lead = (
        f"Section 3.2 and section 4 of Bradley, Kyrola, Bickson and Guestrin (ICML 2011), run on "
        f"{here['processor']}, {here['cores']} cores, {here['memory']}, with {plan.threads} "
        f"threads, by: {plan.command}"
    )
    shown = [
        picture(CAPTIONS[k][0], figure, element("p", CAPTIONS[k][1], class_="note"), size=SIZES[k])
        for k, figure in figures.items()
    ]
    parts = [
        tiles(_counts(judged, results)),
        section("The paper's claims", _verdict_table(judged)),
        *shown,
        section(
            "Notes", element("ul", *(element("li", note) for note in notes(results, left_out)))
        ),
        section(
            "How often each solver got there",
            element("p", ROBUST, class_="note"),
            table(_robust(results), label="Robustness", by_name="solver"),
        ),
        section("Problems", table(_problems(results), label="Problems", by_name="problem")),
        section("Runs of the Lasso", table(_races(results), label="Runs", by_name="problem")),
        section("Speed-ups", table(_speedups(results), label="Speed-ups", by_name="problem")),
        section("What an update costs", table(_updates(results), label="Updates")),
    ]
    return page("The Shotgun study", lead, parts)


def _counts(judged: list[Verdict], results: Results) -> dict[str, str]:
    words = [verdict.word for verdict in judged]
    return {
        "claims held": f"{words.count('held')} of {len(words)}",
        "did not hold": str(words.count("did not hold")),
        "not run": str(words.count("not run")),
        "problems": str(len(results.of("facts").done())),
        "runs": str(len(results)),
    }


def _verdict_table(judged: list[Verdict]) -> Html:
    heads = ("", "The paper says", "Measured here", "Why, or by what rule")
    rows = [
        element(
            "tr",
            element("td", _badge(verdict)),
            element("td", verdict.claim.says, element("p", verdict.claim.where, class_="note")),
            element("td", verdict.finding.measured),
            element("td", verdict.finding.reason),
        )
        for verdict in judged
    ]
    head = element("tr", *(element("th", name, scope="col") for name in heads))
    return element("table", element("thead", head), element("tbody", *rows), class_="plain")


def _badge(verdict: Verdict) -> Html:
    if verdict.finding.held is None:
        return element("span", verdict.word, class_="note")
    mark = "good" if verdict.finding.held else "bad"
    return element("span", verdict.word, class_=f"status {mark}", style="white-space: nowrap")


def notes(results: Results, left_out: Sequence[Job]) -> list[str]:
    """What a reader must know to judge the numbers."""
    found = [
        " ".join([SECONDS, *_crowd(results)]),
        _density(results),
        *_counts_beside_figure_2(results),
    ]
    found += [
        f"{r.job.params['problem']}: {lam['note']}, so that {lam['name']} is used instead."
        for r in results.of("facts").done()
        for lam in r.value["lams"]
        if lam["note"]
    ]
    found += [_unknown(r) for r in results.of("optimum") if not is_known(r)]
    found += [_counters(r.value) for r in results.of("counters").done()]
    if missing := problems.missing():
        names = ", ".join(p.name for p in missing)
        found.append(f"SHOTGUN_DATA does not have, and the study leaves out: {names}.")
    found += sorted({f"{r.status.capitalize()}: {r.why}" for r in results if r.status in BROKEN})
    if left_out:
        found.append(f"{len(left_out)} runs were left out, since the time of the study was over.")
    return found


def _crowd(results: Results) -> list[str]:
    """Whether the machine was the study's own."""
    shares = [r.others for r in results if r.others is not None]
    if not shares:
        return []
    much = sum(share > DISTURBED for share in shares)
    return [
        f"They had {median(shares):.0%} of it (median), and more than {DISTURBED:.0%} in {much} of "
        f"{len(shares)} runs."
    ]


def _unknown(optimum: Result) -> str:
    """Why nobody races for it."""
    told, found = optimum.job.params, optimum.value
    why = f"its gap is {found['gap'] / found['F']:.1e} of F" if found else optimum.why
    return (
        f"{told['problem']} at lam {told['lam']:.3g}: F* is not known well enough to judge by "
        f"({why} after {optimum.job.limit:g} s), so that nobody is raced there."
    )


def _counters(value: dict[str, Any]) -> str:
    told = [
        f"{', '.join(f'{name} {count:.3g}' for name, count in run['per_update'].items())} "
        f"with P = {run['threads']}"
        for run in value["runs"]
    ]
    return f"Hardware counters of an update: {'; '.join([*told, value['why']]).strip('; ')}."


def _density(results: Results) -> str:
    """Of rcv1, which the paper misprints."""
    said = (
        "The paper gives rcv1 a density of 17 %; with about 73 words in each of its documents and "
        "44504 features it must be 0.17 %."
    )
    for result in results.of("facts", problem="rcv1_classes").done():
        value = result.value
        share = value["nonzeros"] / (value["n"] * value["d"])
        said += (
            f" The rcv1 used here, {value['n']} documents with {share:.2%} non-zeros, is another "
            "split of the same corpus."
        )
    return said


def _counts_beside_figure_2(results: Results) -> list[str]:
    """The non-zero counts that the paper prints match an objective without 1/2."""
    printed = {"ball64_singlepixcam": (0.5, "27 %"), "mug32_singlepixcam": (0.05, "20 %")}
    said = []
    for name, (lam, share) in printed.items():
        for facts in results.of("facts", problem=name).done():
            for best in results.of("optimum", problem=name, lam=lam / 2).done():
                said.append(f"{name} {best.value['nonzeros'] / facts.value['d']:.1%} ({share})")
    if not said:
        return []
    return [
        "The authors' code minimises ||Ax - y||^2 + lam ||x||_1, without the 1/2 of the paper's "
        "equation. The non-zero counts printed beside Fig. 2 match that form, which is half of the "
        f"printed lam here: {', '.join(said)}."
    ]


def _problems(results: Results) -> dict[str, list[Any]]:
    rows = [(problems.find(r.job.params["problem"]), r.value) for r in results.of("facts").done()]
    return {
        "problem": [line.name for line, _ in rows],
        "category": [str(line.category) for line, _ in rows],
        "n": [line.n for line, _ in rows],
        "d": [line.d for line, _ in rows],
        "density, %": [100 * v["nonzeros"] / (v["n"] * v["d"]) for _, v in rows],
        "rho": [v["rho"] for _, v in rows],
        "P*": [v["ideal_p"] for _, v in rows],
        "lam_max": [v["lam_max"] for _, v in rows],
        "lam": [", ".join(lam["name"] for lam in v["lams"]) for _, v in rows],
        "seed": ["" if line.seed is None else str(line.seed) for line, _ in rows],
        "provenance": [line.provenance for line, _ in rows],
    }


def _robust(results: Results) -> dict[str, list[Any]]:
    """Of the problems of each size, how many every solver has solved."""
    found = [*races.races(results), *races.planted(results), *races.classified(results)]
    solvers = sorted({race.solver for race in found})
    rows: dict[str, list[Any]] = {"solver": solvers}
    for name, small in ((f"d <= {SMALL}", True), ("larger", False)):
        here = {s: [r for r in found if r.solver == s and (r.d <= SMALL) is small] for s in solvers}
        done = {s: sum(r.seconds is not None for r in runs) for s, runs in here.items()}
        rows[f"solved, {name}"] = [done[s] for s in solvers]
        rows[f"of, {name}"] = [len(here[s]) for s in solvers]
        rows[f"%, {name}"] = [100 * done[s] / len(here[s]) if here[s] else None for s in solvers]
    return rows


def _races(results: Results) -> dict[str, list[Any]]:
    found = sorted(races.races(results))
    return {
        "problem": [race.problem for race in found],
        "category": [str(race.category) for race in found],
        "lam": [race.lam for race in found],
        "solver": [race.solver for race in found],
        "seconds": [race.seconds for race in found],
        "limit": [race.limit for race in found],
        "why not": ["" if race.seconds else race.why for race in found],
    }


def _speedups(results: Results) -> dict[str, list[Any]]:
    """Of time and of iterations, a row for each problem and lam."""
    found: dict[tuple[str, float, int], dict[str, float]] = {}
    for kind, named in ((speedups.in_time, "{} threads"), (speedups.in_iterations, "P = {}")):
        for s in kind(results):
            row = found.setdefault((s.problem, s.lam, s.star), {})
            row |= {named.format(count): gain for count, gain in s.gain.items() if count > 1}
    rows: dict[str, list[Any]] = {
        "problem": [problem for problem, _, _ in found],
        "lam": [lam for _, lam, _ in found],
        "P*": [star for _, _, star in found],
    }
    names = dict.fromkeys(name for row in found.values() for name in row)
    return rows | {name: [row.get(name) for row in found.values()] for name in names}


def _updates(results: Results) -> dict[str, list[Any]]:
    """The variants of the memory wall, in numbers."""
    runs = [run for r in results.of("memory").done() for run in r.value["runs"]]
    return {
        "variant": [run["variant"] for run in runs],
        "threads": [run["threads"] for run in runs],
        "nanoseconds": [1e9 * run["seconds_per_update"] for run in runs],
        "speed-up over one thread": [run["speed_up"] for run in runs],
        "bytes of A": [run["bytes_of_A_per_update"] for run in runs],
        "bytes of Ax": [run["bytes_of_Ax_per_update"] for run in runs],
        "operations": [run["operations_per_update"] for run in runs],
        "GB/s": [run["bytes_per_second"] / 1e9 for run in runs],
        "operations/s": [run["operations_per_second"] for run in runs],
    }


def summary(results: Results) -> str:
    """In a few lines: what became of the claims, and how often each solver got there."""
    words = [verdict.word for verdict in verdicts(results)]
    kinds = ("held", "did not hold", "not run")
    counts = ", ".join(f"{words.count(kind)} {kind}" for kind in kinds)
    lines = [f"{len(words)} claims: {counts}"]
    told = _robust(results)
    for k, solver in enumerate(told["solver"]):
        done, of = told[f"solved, d <= {SMALL}"][k], told[f"of, d <= {SMALL}"][k]
        if of:
            share = f"{done} of {of} ({done / of:.0%})"
            lines.append(f"{solver:24} {share:18} within 1e-4, d <= {SMALL}")
    return "\n".join(lines)
