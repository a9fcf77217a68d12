"""Fig. 2: iterations T against P, by exact simulation."""

from __future__ import annotations

from typing import Any, NamedTuple

from shotgun.study.figures.canvas import GRID, empty, panels
from shotgun.study.runs import DONE, Results


class Curve(NamedTuple):
    """T for each P of a problem; those that never came within 0.5 % are apart."""

    problem: str
    lam: float
    T: dict[int, float]
    diverged: list[int]
    star: int
    rho: float


def curves(results: Results) -> list[Curve]:
    """One for each problem that was simulated with full steps, ten times."""
    found: dict[tuple[str, float], Curve] = {}
    for result in results.of("simulate"):
        told = result.job.params
        if "step" in told or "runs" in told or result.status != DONE:
            continue
        facts = results.of("facts", problem=told["problem"]).done()
        if not facts:
            continue
        about = facts[0].value
        curve = found.setdefault(
            (told["problem"], told["lam"]),
            Curve(told["problem"], told["lam"], {}, [], about["ideal_p"], about["rho"]),
        )
        if result.value["T"] is None:
            curve.diverged.append(told["P"])
        else:
            curve.T[told["P"]] = result.value["T"]
    return [curve for curve in found.values() if curve.T]


def draw(results: Results) -> Any:
    """A panel for each problem."""
    found = sorted(curves(results), key=lambda curve: curve.star)
    figure, axes = panels(max(2, len(found)))
    for ax in axes[0][len(found) :]:
        empty(ax, "not run")
    for ax, curve in zip(axes[0], found, strict=False):
        Ps = sorted(curve.T)
        T = [curve.T[P] for P in Ps]
        ax.loglog(Ps, [T[0] * Ps[0] / P for P in Ps], ":", color="0.35", label="linear speed-up")
        ax.loglog(Ps, T, color="tab:red", linewidth=2.5, marker="o", markersize=4, label="T")
        ax.axvline(curve.star, color="tab:blue", linewidth=1.2, label=f"P* = {curve.star}")
        for k, P in enumerate(sorted(curve.diverged)):
            label = "diverges" if k == 0 else None
            ax.plot(P, max(T), "x", color="tab:red", markersize=7, label=label)
        ax.set(
            title=f"{curve.problem}\n$\\rho$ = {curve.rho:.5g}, lam = {curve.lam:.3g}",
            xlabel="P, parallel updates",
            ylabel="T, iterations to within 0.5 %",
        )
        _ticks(ax, curve)
        ax.grid(**GRID)
        ax.legend(frameon=False, fontsize="small")
    return figure


def _ticks(ax: Any, curve: Curve) -> None:
    """Plain numbers; every P where there are few, and more than decades where T hardly falls."""
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter("")
    if curve.star < 8:
        tried = sorted([*curve.T, *curve.diverged])
        ax.set_xticks(tried, labels=[str(P) for P in tried])
        ax.xaxis.minorticks_off()
    if max(curve.T.values()) < 10 * min(curve.T.values()):
        ax.yaxis.set_minor_formatter("{x:g}")
