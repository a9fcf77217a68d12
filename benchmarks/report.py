"""What compare.py found, as a table (markdown), as data (JSON) and as a picture (SVG)."""

from __future__ import annotations

import json
import math
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from solvers import OTHER_LOSS, OURS, SOLVERS

PACKAGES = (
    "shotgun-l1",
    "numpy",
    "scipy",
    "scikit-learn",
    "celer",
    "skglm",
    "python-glmnet",
    "liblinear-official",
    "snapml",
    "xgboost",
)


def write(rows: list[dict[str, Any]], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    data = {"machine": machine(), "rows": rows}
    (folder / "compare.json").write_text(json.dumps(data, indent=1))
    (folder / "compare.md").write_text(markdown(rows))
    picture(rows, folder / "compare.svg")


def machine() -> dict[str, Any]:
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "versions": {name: installed(name) for name in PACKAGES},
    }


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((s.split(":")[1].strip() for s in lines if s.startswith("model name")), "")


def installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def markdown(rows: list[dict[str, Any]]) -> str:
    about = machine()
    intro = (
        f"{about['processor']}, {about['cores']} cores. Seconds; ratio = shotgun / best peer, below"
        " 1 is a win. Rules: `benchmarks/compare.py`.\n"
    )
    solvers = [s for s in SOLVERS if any(takes_part(s, row) for row in rows)]
    head = ["row", "target", "threads", "best peer", "ratio", *solvers]
    parts = ["# Shotgun and its peers\n", intro, "## Warm\n", head_lines(head)]
    parts += [cells(row, result, solvers) for row, result in results(rows, cold=False)]
    parts += ["", *means(rows)]
    if cold := [cells(row, result, solvers) for row, result in results(rows, cold=True)]:
        parts += ["", "## Cold: the first call of a process\n", head_lines(head), *cold]
    return "\n".join(parts) + "\n"


def takes_part(solver: str, row: dict[str, Any]) -> bool:
    """A solver that does not know the loss is no column by this row."""
    result = row["results"][0]
    known = result["notes"].get(solver) != OTHER_LOSS[row["loss"]]
    return solver in result["seconds"] and known


def results(rows: list[dict[str, Any]], cold: bool) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    return [(row, r) for row in rows for r in row["results"] if r["cold"] == cold]


def head_lines(names: list[str]) -> str:
    return f"| {' | '.join(names)} |\n|{'---|' * len(names)}"


def cells(row: dict[str, Any], result: dict[str, Any], solvers: list[str]) -> str:
    ratio = "-" if result["ratio"] is None else f"{result['ratio']:.2f}"
    start = [row["row"], result["goal"], str(result["threads"]), result["best_peer"] or "-", ratio]
    return f"| {' | '.join(start + [time_of(result, s) for s in solvers])} |"


def time_of(result: dict[str, Any], solver: str) -> str:
    seconds = result["seconds"][solver]
    if seconds is None:
        return str(result["notes"][solver]).split("\n")[0][:40]
    return f"{seconds:.3g}"


def means(rows: list[dict[str, Any]]) -> list[str]:
    """Geometric means over the real data, where everyone took part."""
    said = []
    real = [(row, r) for row, r in results(rows, cold=False) if row["real"]]
    for key in sorted({kind(*pair) for pair in real}):
        loss, goal, threads = key
        group = [pair[1]["ratio"] for pair in real if kind(*pair) == key]
        ratios = [ratio for ratio in group if ratio is not None]
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            said.append(
                f"Real data, {loss} loss at {goal}, {threads} threads: geometric mean {mean:.2f},"
                f" worst {max(ratios):.2f}, {len(ratios)} of {len(group)} rows."
            )
    return said


def kind(row: dict[str, Any], result: dict[str, Any]) -> tuple[str, str, int]:
    return row["loss"], result["goal"], result["threads"]


def line(row: dict[str, Any]) -> str:
    """One row for the terminal."""
    said = [
        f"{r['goal']} x{r['threads']}: {time_of(r, OURS)} / {r['best_peer']} ="
        f" {'-' if r['ratio'] is None else format(r['ratio'], '.2f')}"
        for r in row["results"]
        if not r["cold"]
    ]
    return f"{row['row']:24s} " + "   ".join(said)


def picture(rows: list[dict[str, Any]], file: Path) -> None:
    """Ratios of the warm times with all threads, on a log axis."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "shotgun"  # same data, same file
    from matplotlib import pyplot as plt

    most = max(r["threads"] for row in rows for r in row["results"])
    figure, axis = plt.subplots(figsize=(8, 1.2 + 0.3 * len(rows)), layout="constrained")
    for height, row in enumerate(rows):
        warm = [r for r in row["results"] if not r["cold"] and r["threads"] == most]
        draw(axis, height, warm)
    scale(axis, [r["ratio"] for row in rows for r in row["results"] if r["ratio"]])
    axis.set_yticks(range(len(rows)), [row["row"] for row in rows])
    axis.set_ylim(len(rows) - 0.5, -0.5)
    axis.set_xlabel(
        f"time of shotgun / time of the best peer, {most} threads; left of 1 is faster\n"
        "hollow: loose target (1e-3), full: tight target (1e-6) and the peer that is best there"
    )
    figure.savefig(file, metadata={"Date": None})
    plt.close(figure)


def draw(axis: Any, height: int, goals: list[dict[str, Any]]) -> None:
    """The row's dots, hollow for the loose goal, and the name of the peer to beat."""
    loose, tight = goals[0], goals[-1]
    axis.axhline(height, color="0.92", linewidth=1, zorder=0)
    for result, face in ((loose, "white"), (tight, None)):
        if result["ratio"] is not None:
            color = "tab:blue" if result["ratio"] < 1 else "tab:red"
            axis.plot(result["ratio"], height, "o", color=color, markerfacecolor=face or color)
    note = tight["best_peer"] or "no peer in time"
    if tight["seconds"].get(OURS) is None:
        note = f"shotgun: {tight['notes'][OURS]}"
    place = axis.get_yaxis_transform()  # x in the axis, y in rows
    axis.text(1.01, height, note, transform=place, va="center", fontsize=8)


def scale(axis: Any, ratios: list[float]) -> None:
    axis.set_xscale("log")
    axis.set_xlim(min([0.5, *ratios]) / 1.3, max([1.5, *ratios]) * 1.3)
    low, high = axis.get_xlim()
    steps = [m * 10.0**e for e in range(-4, 5) for m in (1, 2, 5)]
    ticks = [step for step in steps if low <= step <= high]
    axis.minorticks_off()
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.axvline(1.0, color="black", linewidth=1)
    axis.grid(axis="x", color="0.9")
    axis.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
