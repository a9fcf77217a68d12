"""The study: run what is missing, draw the figures, write the page."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from shotgun.study import plan as plans
from shotgun.study.figures import FIGURES, save
from shotgun.study.plan import Plan
from shotgun.study.report import page_of, summary
from shotgun.study.runs import Job, Results, Runner, Store

# what runs, what it runs, and for which figures
STAGES: list[tuple[str, Callable[[Plan, Results], Iterable[Job]], set[int]]] = [
    ("problems", plans.facts, {2, 3, 4, 5}),
    ("figure 2", plans.figure_2_optima, {2}),
    ("figure 2", plans.simulations, {2}),
    ("planted", plans.planted, {3}),
    ("optima", plans.optima, {3, 4, 5}),
    ("figure 3", plans.races, {3}),
    ("figure 4", plans.learnt, {4}),
    ("figure 5", plans.speed_ups, {5}),
    ("figure 4", plans.well_fitted, {4}),
    ("figure 4", plans.logistic, {4}),
    ("memory wall", plans.memory, {6}),
]


def study(plan: Plan, out: str | Path) -> tuple[Path, str]:
    """Run a plan, as far as it has not been run; the page that was written, and its summary."""
    out = Path(out)
    store = Store(out / ("results-quick" if plan.quick else "results"))
    runner = Runner(store, plan.budget)
    known = Results()
    for label, jobs, figures in STAGES:
        todo = list(jobs(plan, known))
        wanted = plan.figure is None or plan.figure in figures
        known += runner(label, todo) if wanted else store.known(todo)
    drawn = {number: draw(known) for number, (_, draw) in FIGURES.items() if plan.draws(number)}
    for number, figure in drawn.items():
        save(figure, out / "figures", FIGURES[number][0])
    page = out / "index.html"
    page.write_text(page_of(plan, known, drawn, runner.left_out), encoding="utf-8")
    return page, summary(known)
