"""Fig. 3: seconds of every solver against those of Shotgun, by category."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any, NamedTuple

from shotgun.study.figures.canvas import GRID, MARKERS, empty, panels, plain_ticks
from shotgun.study.jobs import ACCURACY
from shotgun.study.problems import Category, find
from shotgun.study.runs import DONE, MISSING, Result, Results

OURS = "Shotgun (P = 8)"
STACKED = 1.5  # from one that failed to the next
LASSO = [c for c in Category if c is not Category.LOGISTIC]


class Race(NamedTuple):
    """One solver on one problem; `seconds` is None where it did not get there."""

    problem: str
    category: Category
    d: int
    lam: float
    solver: str
    seconds: float | None
    limit: float
    why: str


def _race(result: Result, solver: str, seconds: float | None, why: str = "") -> Race:
    told, line = result.job.params, find(result.job.params["problem"])
    lam = told.get("lam", math.nan)
    why = why or result.why
    return Race(line.name, line.category, line.d, lam, solver, seconds, result.job.limit, why)


def _usual(results: Results) -> list[Result]:
    """In their usual form, by who is installed."""
    return [r for r in results if "how" not in r.job.params and r.status != MISSING]


def races(results: Results) -> list[Race]:
    """Those of the Lasso."""
    found = []
    for result in _usual(results.of("race")):
        seconds = result.value.get("seconds") if result.status == DONE else None
        why = ""
        if seconds is None and not result.why:
            far = result.value.get("suboptimality")
            why = "no iterate" if far is None else f"at {far:.1e} when it ended"
        found.append(_race(result, result.job.params["solver"], seconds, why))
    return found


def planted(results: Results) -> list[Race]:
    """Hard_l0 on signals that are known."""
    return [
        _race(result, "Hard_l0, planted", result.value.get("seconds"))
        for result in results.of("planted")
    ]


def classified(results: Results) -> list[Race]:
    """Those of logistic regression: when their curves came as near as a race wants."""
    found = []
    for result in _usual(results.of("curve")):
        near = (1 + ACCURACY) * result.job.params["best"]
        there = (t for t, F in result.value.get("marks", ()) if near >= F)
        solver = f"{result.job.params['solver']}, logistic"
        found.append(_race(result, solver, min(there, default=None)))
    return found


def draw(results: Results) -> Any:
    """Four panels; above the diagonal Shotgun was faster. At the top are those that failed, at the
    right those where Shotgun did."""
    found = races(results)
    figure, axes = panels(2, rows=2, width=5.4, height=4.6)
    shown: dict[str, Any] = {}
    for ax, category in zip(axes.flat, LASSO, strict=True):
        here = [race for race in found if race.category is category]
        shown |= _panel(ax, here)
        ax.set_title(f"{category}\n{star_range(results, category)}", fontsize="medium")
        ax.set_xlabel(f"{OURS}, seconds")
    for ax in axes[:, 0]:
        ax.set_ylabel("other solver, seconds")
    if shown:
        handles, order = list(shown.values()), list(shown)
        figure.legend(handles, order, loc="outside lower center", ncols=5, frameon=False)
    return figure


def _panel(ax: Any, races: list[Race]) -> dict[str, Any]:
    base = {(r.problem, r.lam): r.seconds for r in races if r.solver == OURS}
    others = [r for r in races if r.solver != OURS and (r.problem, r.lam) in base]
    if not others:
        empty(ax, "not run")
        return {}
    limit = max(r.limit for r in others)
    mine = [s for s in base.values() if s is not None]
    theirs = [r.seconds for r in others if r.seconds is not None]
    low, never = 0.5 * min([limit, *mine, *theirs]), 2 * limit
    failed: Counter[tuple[str, float]] = Counter()
    for race in others:
        at = (race.problem, race.lam)
        failed[at] += race.seconds is None
        # those that failed on the same problem stand above each other
        _mark(ax, base[at] or never, race.seconds or never * STACKED ** failed[at], race)
    left, right = 0.5 * min([limit, *mine]), 2 * max([*mine, *([never] * (None in base.values()))])
    top = never * STACKED ** (1 + max(failed.values()))
    ax.plot([low, limit], [low, limit], color="0.35", linewidth=1)
    ax.axhline(limit, color="0.35", linestyle=":", linewidth=1)
    ax.text(left, 1.15 * limit, " hollow: did not get there", color="0.35", fontsize="small")
    ax.set(xscale="log", yscale="log", xlim=(left, right), ylim=(low, top))
    if None in base.values():
        ax.axvline(limit, color="0.35", linestyle=":", linewidth=1)
    plain_ticks(ax.xaxis, (1, 2, 5))
    plain_ticks(ax.yaxis, (1, 3))
    ax.grid(**GRID)
    return {race.solver: _handle(ax, race.solver) for race in others}


def _mark(ax: Any, x: float, y: float, race: Race) -> None:
    colour, marker = MARKERS[race.solver]
    face = colour if race.seconds else "none"
    ax.plot(x, y, marker, markersize=7, color=colour, markerfacecolor=face, alpha=0.8)


def _handle(ax: Any, solver: str) -> Any:
    """What stands for a solver in the legend."""
    colour, marker = MARKERS[solver]
    return ax.plot([], [], marker, color=colour, markersize=7, alpha=0.8)[0]


def star_range(results: Results, category: Category) -> str:
    """P* of a category, as under the paper's panels."""
    stars = [
        r.value["ideal_p"]
        for r in results.of("facts").done()
        if find(r.job.params["problem"]).category is category
    ]
    if not stars:
        return "P* not known"
    return f"P* in [{min(stars)}, {max(stars)}], mean {sum(stars) / len(stars):.0f}"
