"""Bars: how a fit is getting on, live in a terminal, and not a byte of it in a log."""

from __future__ import annotations

import math
import sys
import time
from typing import TYPE_CHECKING, Any

from shotgun.progress import Row

if TYPE_CHECKING:
    from rich.console import Console

_PATIENCE = 0.3  # seconds: what is done by then needs no bar


class Bar:
    """A bar that vanishes when it is done, unless it `stays`; only where there is a terminal.

    Without a console it is on standard error, and comes when it has proved to be needed: to load
    rich takes longer than many a fit.
    """

    def __init__(self, label: str, console: Console | None = None, stays: bool = False) -> None:
        self.label, self.console, self.stays = label, console, stays
        self._begun = time.monotonic()
        self._progress: Any = None

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    def show(self, share: float, state: str) -> None:
        """How much is done, and in words."""
        if self._progress is None:
            if not self._wanted():
                return
            self._start()
        self._progress.update(self._task, completed=min(1.0, max(0.0, share)), state=state)

    def _wanted(self) -> bool:
        if self.console is not None:
            return self.console.is_terminal
        return sys.stderr.isatty() and time.monotonic() - self._begun > _PATIENCE

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(32, complete_style="cyan", finished_style="green"),
            TextColumn("{task.fields[state]}"),
            *([] if self.stays else [TimeElapsedColumn()]),
            console=self.console or Console(stderr=True),
            transient=not self.stays,
        )
        self._task = self._progress.add_task(self.label, total=1.0, state="")
        self._progress.start()


class GapBar(Bar):
    """From the gap at the start down to the tolerance, on a log scale; a fit's callback."""

    def __init__(self, label: str, tol: float, **how: Any) -> None:
        super().__init__(label, **how)
        self.tol = max(tol, 1e-16)
        self._null = math.inf

    def __call__(self, row: Row) -> None:
        if row["round"] == 0:
            self._null = row["objective"]  # at zero
        gap = max(row["gap"] / self._null, 1e-16) if self._null > 0 else self.tol
        self.show(math.log(gap) / math.log(self.tol), f"gap {gap:.0e}, wanted {self.tol:.0e}")


class CountBar(Bar):
    """How many fits have begun, of so many; a callback of paths and cross-validations."""

    def __init__(self, label: str, total: int, **how: Any) -> None:
        super().__init__(label, **how)
        self.total = total
        self._seen: set[tuple[int, float]] = set()

    def __call__(self, row: Row) -> None:
        self._seen.add((row.get("fold", 0), row["lam"]))
        self.show((len(self._seen) - 1) / self.total, f"fit {len(self._seen)} of {self.total}")
