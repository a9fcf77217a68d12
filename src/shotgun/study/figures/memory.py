"""The memory wall (section 4.3): what an update costs, with one cost after the other taken away."""

from __future__ import annotations

from typing import Any

from shotgun.study.figures.canvas import GRID, empty, panels
from shotgun.study.runs import Results


def draw(results: Results) -> Any:
    """Nanoseconds per update of each variant, and the roofline of this machine."""
    figure, axes = panels(2, width=5.4, height=4.2)
    found = results.of("memory").done()
    if not found:
        for ax in axes[0]:
            empty(ax, "not run")
        return figure
    told = found[-1].value
    _variants(axes[0][0], told["runs"])
    _roofline(axes[0][1], told)
    return figure


def _variants(ax: Any, runs: list[dict[str, Any]]) -> None:
    """A bar for each variant and number of threads."""
    names = list(dict.fromkeys(run["variant"] for run in runs))[::-1]
    counts = sorted({run["threads"] for run in runs})
    height = 0.8 / len(counts)
    for k, threads in enumerate(counts):
        each = {r["variant"]: r["seconds_per_update"] for r in runs if r["threads"] == threads}
        at = [names.index(name) + 0.4 - (k + 0.5) * height for name in each]
        label = f"{threads} thread{'s' if threads > 1 else ''}"
        ax.barh(at, [1e9 * seconds for seconds in each.values()], height, label=label)
    ax.set_yticks(range(len(names)), labels=names)
    ax.set(xlabel="nanoseconds per update", title="one cost less at a time")
    ax.grid(axis="x", **GRID)
    ax.legend(frameon=False, fontsize="small")


def _roofline(ax: Any, told: dict[str, Any]) -> None:
    """Operations per second that the memory allows, and those that the updates reach."""
    machine = told["machine"]
    for threads, peak in machine["operations_per_second"].items():
        bandwidth = machine["bytes_per_second"][threads]
        span = [0.02, peak / bandwidth, 8 * peak / bandwidth]
        roof = [min(peak, bandwidth * x) for x in span]
        ax.loglog(span, roof, color="0.35", linewidth=1 + 0.5 * int(threads))
        ax.text(span[-1], peak, f" {threads}", va="center", color="0.35", fontsize="small")
    most = max(run["threads"] for run in told["runs"])
    for run in told["runs"]:
        if run["threads"] == most:
            bytes_ = run["bytes_of_A_per_update"] + run["bytes_of_Ax_per_update"]
            intensity = run["operations_per_update"] / bytes_
            ax.loglog(intensity, run["operations_per_second"], "o", label=run["variant"])
    ax.set(
        xlabel="operations per byte",
        ylabel="operations per second",
        title=f"roofline for 1 to {most} threads, updates with {most}",
    )
    ax.grid(**GRID)
    ax.legend(frameon=False, fontsize="x-small", loc="lower right")
