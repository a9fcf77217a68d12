"""The clock of a run: what a solver reached, and when, without the time it took to look."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]


class Mark(NamedTuple):
    """A moment of a run."""

    seconds: float
    objective: float
    extras: dict[str, float]  # what else was looked at, such as the error on held-out data


@dataclass
class Watch:
    """Solvers show it their iterates, and end when it says so.

    The clock stands while the objective is evaluated: nobody is charged for being watched.
    """

    objective: Callable[[Any], float]
    limit: float = np.inf  # seconds
    target: float = -np.inf  # an objective that is good enough
    look: Callable[[Any], dict[str, float]] | None = None
    marks: list[Mark] = field(default_factory=list)
    _ran: float = 0.0
    _since: float = field(default_factory=time.perf_counter)

    def __call__(self, x: Any) -> bool:
        """Whether to stop: the target is reached, or the time is over."""
        self._ran += time.perf_counter() - self._since
        value = self.objective(x)
        self.marks.append(Mark(self._ran, value, self.look(x) if self.look else {}))
        self._since = time.perf_counter()
        return value <= self.target or self._ran >= self.limit

    def note(self, seconds: float, value: float) -> bool:
        """As calling it, for a solver that knows its objective and its seconds itself."""
        self.marks.append(Mark(seconds, value, {}))
        return value <= self.target or seconds >= self.limit

    def overdue(self) -> bool:
        """Whether the time is over, for a solver in the middle of something long."""
        return self.left() <= 0

    def left(self) -> float:
        """Seconds until then."""
        return max(0.0, self.limit - self._ran - (time.perf_counter() - self._since))

    def restart(self) -> None:
        """Set the clock back, for a solver that shows nothing before its end and so runs again."""
        self._ran, self._since = 0.0, time.perf_counter()
