"""`shotgun study`: the paper's experiments."""

from __future__ import annotations

from shotgun.options import Given
from shotgun.problem import check_threads
from shotgun.study.main import study
from shotgun.study.plan import Plan
from shotgun.verbs.telling import CONVERGED


def run(given: Given) -> int:
    """The paper's experiments."""
    plan = Plan(
        quick=given.quick,
        figure=given.figure,
        solver=given.solver,
        problem=given.problem,
        features=given.features,
        limit=given.limit,
        hours=given.hours,
        threads=check_threads(given.threads),
    )
    page, summary = study(plan, given.out)
    print(summary, page, sep="\n")
    return CONVERGED
