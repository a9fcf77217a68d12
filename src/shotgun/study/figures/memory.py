"""The memory wall (section 4.3): what an update costs, with one cost after the other taken away."""

from __future__ import annotations

from typing import Any

from shotgun.study.figures.canvas import GRID, empty, panels
from shotgun.study.runs import Results


def draw(results: Results) -> Any:
    """Nanoseconds per update of each variant, and the roofline of this machine.

    Results of the kind "memory" have `seconds_per_update` (variant -> seconds), `bytes_per_update`,
    `operations_per_update`, `bandwidth` (bytes per second) and `peak` (operations per second).
    """
    figure, axes = panels(2, width=5.4)
    found = results.of("memory").done()
    if not found:
        for ax in axes[0]:
            empty(ax, "not run")
        return figure
    told = found[-1].value
    _variants(axes[0][0], told["seconds_per_update"])
    _roofline(axes[0][1], told)
    return figure


def _variants(ax: Any, seconds: dict[str, float]) -> None:
    names = list(seconds)[::-1]
    ax.barh(names, [1e9 * seconds[name] for name in names], color="tab:blue")
    ax.set(xlabel="nanoseconds per update", title="one cost less at a time")
    ax.grid(axis="x", **GRID)


def _roofline(ax: Any, told: dict[str, Any]) -> None:
    """Operations per second that the bandwidth allows, and those that the updates reach."""
    intensity = told["operations_per_update"] / told["bytes_per_update"]
    ridge = told["peak"] / told["bandwidth"]
    span = [intensity / 8, ridge, 8 * ridge]
    ax.loglog(span, [min(told["peak"], told["bandwidth"] * x) for x in span], color="black")
    for name, seconds in told["seconds_per_update"].items():
        reached = told["operations_per_update"] / seconds
        ax.loglog(intensity, reached, "o", markersize=5, label=name)
    ax.set(
        xlabel="operations per byte",
        ylabel="operations per second",
        title="roofline of this machine",
    )
    ax.grid(**GRID)
    ax.legend(frameon=False, fontsize="small")
