"""The clock of a run: what a solver reached, and when, without the time it took to look.

Seconds are those of the clock on the wall, or of the processor where these are fewer: what other
programs took away is not counted, and on a machine of one's own the two differ by nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]


class Moment(NamedTuple):
    """On the wall, and in the work of all threads."""

    wall: float
    work: float

    def passed(self) -> float:
        """Seconds since then."""
        return min(time.perf_counter() - self.wall, time.process_time() - self.work)


def now() -> Moment:
    return Moment(time.perf_counter(), time.process_time())


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
    _since: Moment = field(default_factory=now)

    def __call__(self, x: Any) -> bool:
        """Whether to stop: the target is reached, or the time is over."""
        self._ran = self.seconds()
        value = self.objective(x)
        self.marks.append(Mark(self._ran, value, self.look(x) if self.look else {}))
        self._since = now()
        return value <= self.target or self._ran >= self.limit

    def note(self, value: float) -> bool:
        """As calling it, for a solver that knows its objective itself."""
        self.marks.append(Mark(self.seconds(), value, {}))
        return value <= self.target or self.overdue()

    def seconds(self) -> float:
        """Those that the solver had."""
        return self._ran + self._since.passed()

    def overdue(self) -> bool:
        """Whether the time is over, for a solver in the middle of something long."""
        return self.left() <= 0

    def left(self) -> float:
        """Seconds until then."""
        return max(0.0, self.limit - self.seconds())

    def restart(self) -> None:
        """Set the clock back, for a solver that shows nothing before its end and so runs again."""
        self._ran, self._since = 0.0, now()
