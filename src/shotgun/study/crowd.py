"""How much of the processor other programs have while a run is measured."""

from __future__ import annotations

import math
import os
import time
from pathlib import Path


def worked_by_all() -> float:
    """Seconds of all processors that all programs together have had; NaN where nobody says."""
    try:
        fields = Path("/proc/stat").read_text().partition("\n")[0].split()[1:9]
    except OSError:
        return math.nan
    idle, waiting = fields[3:5]
    busy = sum(map(int, fields)) - int(idle) - int(waiting)
    return busy / os.sysconf("SC_CLK_TCK")


class Crowd:
    """The other programs, from now on."""

    def __init__(self) -> None:
        self._wall, self._mine, self._all = self._now()

    @staticmethod
    def _now() -> tuple[float, float, float]:
        return time.monotonic(), time.process_time(), worked_by_all()

    def share(self) -> float | None:
        """The part of the processor that they have had; None where the system does not say."""
        wall, mine, everything = self._now()
        theirs = (everything - self._all) - (mine - self._mine)
        capacity = (wall - self._wall) * (os.cpu_count() or 1)
        if math.isnan(theirs) or capacity <= 0:
            return None
        return round(min(1.0, max(0.0, theirs / capacity)), 3)
