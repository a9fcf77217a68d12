"""Shooting and Shotgun: as the paper has them, and as this package ships them.

The plain forms run on all columns, pathwise (section 4.1.1): lam falls from lam_max by a constant
factor, and each fit starts from the one before. They end by their certificate, or when a look at
all columns finds the objective that the watch wants.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shotgun.solve import Solution, lambda_max, solve
from shotgun.study.watch import Vector, Watch

FACTOR = 0.3  # from one lam of the path to the next
LOOSE = 1e-2  # relative gap of all but the last
P = 8  # the paper's


def shooting(A: Any, y: Any, lam: float, watch: Watch, **how: Any) -> Vector:
    """Algorithm 1, pathwise."""
    return pathwise(A, y, lam, watch, engine="shooting", **how)


def shotgun_of_the_paper(A: Any, y: Any, lam: float, watch: Watch, **how: Any) -> Vector:
    """Algorithm 2 with P = 8, asynchronous, Ax in atomic memory, pathwise."""
    return pathwise(A, y, lam, watch, engine="asynchronous", P=P, **how)


def shotgun(A: Any, y: Any, lam: float, watch: Watch, **how: Any) -> Vector:
    """What `shotgun.solve` does when it is told nothing."""
    return Fits(watch, len(y)).fit(A, y, lam, **how).x


def pathwise(
    A: Any, y: Any, lam: float, watch: Watch, *, factor: float = FACTOR, **how: Any
) -> Vector:
    """Plain fits along a path to lam; `factor` = 0 goes there directly."""
    fits, x, stage = Fits(watch, len(y)), None, 0.0
    how["working_set"] = False
    if factor > 0:
        stage = lambda_max(A, y, how.get("loss", "squared"))
    while factor > 0 and stage * factor > lam and not watch.overdue():
        stage *= factor
        x = fits.fit(A, y, stage, x0=x, tol=LOOSE, **how).x
    return fits.fit(A, y, lam, x0=x, **how).x


class Fits:
    """Fits one after the other, with the watch looking at the last one's objective."""

    def __init__(self, watch: Watch, samples: int) -> None:
        self.watch = watch
        self.samples = samples

    def fit(self, A: Any, y: Any, lam: float, *, tol: float | None = None, **how: Any) -> Solution:
        """Without a `tol`: on to the watch's target."""
        last = tol is None

        def look(row: dict[str, Any]) -> bool:
            if not last or row["lam"] != lam or row["samples"] < self.samples:
                return False
            return self.watch.note(row["objective"])

        fit = solve(
            A,
            y,
            lam,
            tol=self.tolerance(y, how.get("loss", "squared")) if tol is None else tol,
            deadline=self.watch.left(),
            callback=look,
            **how,
        )
        if last:
            self.watch.note(fit.objective)
        return fit

    def tolerance(self, y: Any, loss: str) -> float:
        """A gap of a ten-thousandth of the objective that is wanted, relative to that at zero."""
        if not np.isfinite(self.watch.target):
            return 1e-6
        null = len(y) * np.log(2) if loss == "logistic" else 0.5 * float(np.dot(y, y))
        return 1e-4 * self.watch.target / null


OURS = {
    "Shooting": shooting,
    "Shotgun (P = 8)": shotgun_of_the_paper,
    "Shotgun": shotgun,
}
