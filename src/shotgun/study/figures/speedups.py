"""Fig. 5: speed-ups in time with threads, and in iterations with P."""

from __future__ import annotations

from typing import Any, NamedTuple

from shotgun.study.figures.canvas import GRID, empty, panels, plain_ticks
from shotgun.study.problems import find
from shotgun.study.runs import Results

TITLES = {"squared": "Shotgun Lasso", "logistic": "Shotgun CDN"}


class SpeedUp(NamedTuple):
    """Of a problem at one lam: by threads or by P."""

    problem: str
    lam: float
    loss: str
    star: int
    gain: dict[int, float]


def gains(results: Results, kind: str, by: str, value: str) -> list[SpeedUp]:
    """What 1 took over what more took; `kind` is "speed" or "iterations"."""
    found: dict[tuple[str, float, str], dict[int, float]] = {}
    for result in results.of(kind).done():
        told = result.job.params
        if result.value[value] and told["engine"] != "shooting_cdn":
            key = (told["problem"], told["lam"], told["engine"])
            found.setdefault(key, {})[told[by]] = result.value[value]
    speedups = []
    for (problem, lam, _), took in found.items():
        facts = results.of("facts", problem=problem).done()
        if 1 in took and len(took) > 1 and facts:
            gain = {count: took[1] / took[count] for count in sorted(took)}
            star = facts[0].value["ideal_p"]
            speedups.append(SpeedUp(problem, lam, find(problem).loss, star, gain))
    return speedups


def in_time(results: Results) -> list[SpeedUp]:
    return gains(results, "speed", "n_threads", "seconds")


def in_iterations(results: Results) -> list[SpeedUp]:
    return gains(results, "iterations", "P", "T")


def draw(results: Results) -> Any:
    """Time and iterations of the Lasso, then of logistic regression, as functions of P*."""
    figure, axes = panels(2, rows=2, width=5.4)
    for (left, right), loss in zip(axes, TITLES, strict=True):
        time = [s for s in in_time(results) if s.loss == loss]
        steps = [s for s in in_iterations(results) if s.loss == loss]
        _panel(left, time, "threads", f"{TITLES[loss]}: time")
        _panel(right, steps, "P", f"{TITLES[loss]}: iterations")
    return figure


def _panel(ax: Any, speedups: list[SpeedUp], by: str, title: str) -> None:
    """A marker for each problem and count; the dotted line of its colour is a linear speed-up."""
    ax.set_title(title)
    if not speedups:
        empty(ax, "not run")
        return
    counts = sorted({count for s in speedups for count in s.gain if count > 1})
    for k, count in enumerate(counts):
        at = [(s.star, s.gain[count]) for s in speedups if count in s.gain]
        label = f"{count} threads" if by == "threads" else f"P = {count}"
        ax.axhline(count, color=f"C{k}", linestyle=":", linewidth=1)
        ax.plot(*zip(*at, strict=True), "o", color=f"C{k}", alpha=0.8)
        where = {"transform": ax.get_yaxis_transform(), "ha": "left", "va": "center"}
        ax.text(1.01, count, label, color=f"C{k}", fontsize="small", **where)
    ax.axhline(1, color="0.35", linewidth=1)
    ax.set_xscale("log")
    plain_ticks(ax.xaxis, (1, 2, 5))
    ax.set_yscale("log", base=2)
    ax.set_yticks([1, *counts], labels=[str(c) for c in (1, *counts)])
    ax.yaxis.minorticks_off()
    ax.set(xlabel="P*", ylabel=f"speed-up over {'one thread' if by == 'threads' else 'P = 1'}")
    ax.grid(**GRID)
