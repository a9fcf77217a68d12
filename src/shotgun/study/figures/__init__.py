"""The paper's figures, each a function of results that gives a figure of matplotlib."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from shotgun.study.figures import contours, logistic, memory, races, speedups, theory
from shotgun.study.runs import Results

FIGURES: dict[int, tuple[str, Callable[[Results], Any]]] = {
    1: ("figure1-contours", contours.draw),
    2: ("figure2-theory", theory.draw),
    3: ("figure3-lasso", races.draw),
    4: ("figure4-logistic", logistic.draw),
    5: ("figure5-speedups", speedups.draw),
    6: ("figure6-memory-wall", memory.draw),
}


def save(figure: Any, folder: Path, name: str) -> None:
    """As a picture and as vectors."""
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{name}.png", dpi=150)
    figure.savefig(folder / f"{name}.svg")
