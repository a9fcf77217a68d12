"""Fig. 4: training objective and held-out error against time, in both regimes."""

from __future__ import annotations

from typing import Any

from shotgun.study.figures.canvas import GRID, empty, panels
from shotgun.study.problems import find
from shotgun.study.runs import Result, Results
from shotgun.study.solvers import LOGISTIC


def regimes(results: Results) -> list[str]:
    """The problems with curves: more samples than features first."""
    names = {r.job.params["problem"] for r in results.of("curve").done()}
    return sorted(names, key=lambda name: find(name).d / find(name).n)


def draw(results: Results) -> Any:
    """Two rows; a column for each problem."""
    names = regimes(results)
    columns = max(2, len(names))
    figure, axes = panels(columns, rows=2, height=3.2)
    for ax in axes[:, len(names) :].flat:
        empty(ax, "not run")
    for k, name in enumerate(names):
        line = find(name)
        for result in results.of("curve", problem=name).done():
            _curve(axes[:, k], result)
        axes[0][k].set(
            title=f"{name}, {line.n} x {line.d}",
            ylabel="F / F* - 1",
            xscale="log",
            yscale="log",
        )
        axes[1][k].set(xlabel="seconds", ylabel="error on held-out samples", xscale="log")
        for ax in axes[:, k]:
            ax.grid(**GRID)
        axes[0][k].legend(frameon=False, fontsize="x-small", loc="lower left")
    return figure


def _curve(axes: Any, result: Result) -> None:
    best, marks = result.job.params["best"], result.value["marks"]
    seconds = [max(mark[0], 1e-4) for mark in marks]
    far = [max(mark[1] / best - 1, 1e-9) for mark in marks]
    told = result.job.params
    label = f"{told['solver']}, decaying" if "how" in told else told["solver"]
    look: dict[str, Any] = {
        "label": label,
        "color": f"C{list(LOGISTIC).index(told['solver'])}",
        "linestyle": "--" if "how" in told else "-",
    }
    axes[0].plot(seconds, far, **look)
    errors = [extra.get("error") for extra in result.value["extras"]]
    if len(errors) == len(seconds):
        axes[1].plot(seconds, errors, **look)
