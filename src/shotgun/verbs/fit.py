"""`shotgun fit`: one model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import shotgun
from shotgun.bars import GapBar
from shotgun.cli import say
from shotgun.fitted import Fitted
from shotgun.io import Data
from shotgun.kinds import KINDS
from shotgun.options import Given
from shotgun.problem import Columns
from shotgun.verbs.problems import chosen_lam, one_against_rest, options
from shotgun.verbs.reading import note_source, samples
from shotgun.verbs.telling import Figures, check_outputs, second_fit, show, tell_model

if TYPE_CHECKING:  # what a quick fit does not need is loaded where it is used
    import shotgun.page


def run(given: Given) -> int:
    """One model."""
    check_outputs(given)
    with samples(given, light=True) as data:
        return fit_data(given, data)


def fit_data(given: Given, data: Data) -> int:
    targets = one_against_rest(given, data.y)
    lam = chosen_lam(given, data, targets)
    fit_them = fit_one if len(targets) == 1 else fit_classes
    with GapBar("fit", given.tol) as bar:
        model, draw = fit_them(given, data, lam, bar)
    note_source(model, data)
    code = tell_model(model, given, lam=lam)
    show(given, draw, lambda made: shotgun.page.of_model(model, given, data, made))
    return code


def fit_one(given: Given, data: Data, lam: float, bar: GapBar) -> tuple[Any, Figures]:
    """Numbers or two classes; and what draws the convergence."""
    model = Fitted(given.loss, lam, **options(given))
    found = model.fit(data.A, np.asarray(data.y), data.weights, data.offset, bar)
    if found.status != "converged":
        say("warning", f"not converged: {found.status}; gap {found.gap / found.null_objective:.2g}")
    if not found.trace:  # the deadline came first
        return model, {}
    return model, {"Convergence": lambda: shotgun.ConvergenceDisplay.from_solutions(found).figure_}


def fit_classes(given: Given, data: Data, lam: float, bar: GapBar) -> tuple[Any, Figures]:
    """More than two classes, by scikit-learn's kind of estimator; drawn of a second fit."""
    A = data.A.tocsc() if isinstance(data.A, Columns) else data.A
    estimator = getattr(shotgun, KINDS[given.loss].estimator)
    model = estimator(C=1 / lam, max_iter=None, **options(given))
    model.set_params(callback=bar).fit(A, data.y, data.weights, offset=data.offset)
    model.set_params(callback=None)
    return model, {"Convergence": lambda: second_fit(model, A, data)}
