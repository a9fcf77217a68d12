"""Bars: how a fit is getting on, live in a terminal, and not a byte of it in a log."""

from __future__ import annotations

import math
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from shotgun.progress import Row


class Bar:
    """A bar that vanishes when it is done, unless it `stays`; only where there is a terminal."""

    def __init__(self, console: Console, label: str, stays: bool = False) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(32, complete_style="cyan", finished_style="green"),
            TextColumn("{task.fields[state]}"),
            *([] if stays else [TimeElapsedColumn()]),
            console=console,
            transient=not stays,
            disable=not console.is_terminal,
        )
        self._task = self._progress.add_task(label, total=1.0, state="")

    def __enter__(self) -> Any:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def show(self, share: float, state: str) -> None:
        """How much is done, and in words."""
        self._progress.update(self._task, completed=min(1.0, max(0.0, share)), state=state)


class GapBar(Bar):
    """From the gap at the start down to the tolerance, on a log scale; a fit's callback."""

    def __init__(self, console: Console, label: str, tol: float, stays: bool = False) -> None:
        super().__init__(console, label, stays)
        self.tol = max(tol, 1e-16)
        self._null = math.inf

    def __call__(self, row: Row) -> None:
        if row["round"] == 0:
            self._null = row["objective"]  # at zero
        gap = max(row["gap"] / self._null, 1e-16) if self._null > 0 else self.tol
        self.show(math.log(gap) / math.log(self.tol), f"gap {gap:.0e}, wanted {self.tol:.0e}")


class CountBar(Bar):
    """How many fits have begun, of so many; a callback of paths and cross-validations."""

    def __init__(self, console: Console, label: str, total: int) -> None:
        super().__init__(console, label)
        self.total = total
        self._seen: set[tuple[int, float]] = set()

    def __call__(self, row: Row) -> None:
        self._seen.add((row.get("fold", 0), row["lam"]))
        self.show((len(self._seen) - 1) / self.total, f"fit {len(self._seen)} of {self.total}")
