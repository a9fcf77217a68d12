"""The catalogue of problems: the paper's four categories for the Lasso, and logistic regression.

Every problem has a name, a size, a seed and a provenance, and is made when it is needed. Those of
SHOTGUN_DATA are left out where that is not set; `missing` says which.
"""

from __future__ import annotations

from functools import cache

from shotgun.study.problems import camera, classes, imaging, real, sparco, text
from shotgun.study.problems.line import Category, Problem, unit_columns

__all__ = ["Category", "Problem", "catalogue", "every", "find", "missing", "unit_columns"]


def catalogue() -> list[Problem]:
    """All that can be made here."""
    return [p for p in every() if not p.file or real.at_hand(p.file)]


def missing() -> list[Problem]:
    """Those of SHOTGUN_DATA that are not at hand."""
    return [p for p in every() if p.file and not real.at_hand(p.file)]


def find(name: str) -> Problem:
    """The problem of this name, at hand or not."""
    for problem in every():
        if problem.name == name:
            return problem
    names = ", ".join(p.name for p in every())
    raise ValueError(f"there is no problem {name} in the catalogue, which has: {names}")


@cache
def every() -> tuple[Problem, ...]:
    """At hand or not."""
    return tuple(
        problem
        for category in (sparco, camera, imaging, text, classes)
        for problem in category.lines()
    )
