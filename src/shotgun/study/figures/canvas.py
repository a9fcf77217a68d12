"""What the figures share: how they begin, and their colours."""

from __future__ import annotations

from typing import Any

from shotgun.inspection import optional

GRID = {"alpha": 0.25, "linewidth": 0.6}
MARKERS: dict[str, tuple[str, str]] = {  # solver -> colour, marker
    "Shooting": ("tab:blue", "o"),
    "Shotgun (P = 8)": ("tab:red", "*"),
    "Shotgun": ("black", "P"),
    "L1_LS": ("tab:green", "s"),
    "FPC_AS": ("tab:orange", "^"),
    "GPSR_BB": ("tab:purple", "v"),
    "SpaRSA": ("tab:brown", "D"),
    "Hard_l0": ("tab:pink", "X"),
    "GLMNET": ("tab:olive", "<"),
    "LARS": ("tab:cyan", ">"),
}


def panels(columns: int, *, width: float = 4.2, height: float = 3.8, rows: int = 1) -> Any:
    """A figure and its axes, in one row or more."""
    figure = optional("matplotlib.figure", "the study's figures").Figure(
        (width * columns, height * rows)
    )
    figure.set_layout_engine("constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    for ax in axes.flat:
        ax.spines[["top", "right"]].set_visible(False)
    return figure, axes


def empty(ax: Any, why: str) -> None:
    """A panel with nothing to show, that says so."""
    ax.text(0.5, 0.5, why, ha="center", va="center", transform=ax.transAxes, color="0.35")
    ax.set_xticks([])
    ax.set_yticks([])


def plain_ticks(axis: Any, digits: tuple[int, ...]) -> None:
    """On a logarithmic axis, at these digits of each decade, as plain numbers."""
    axis.get_major_locator().set_params(subs=digits)
    axis.set_major_formatter("{x:g}")
    axis.minorticks_off()
