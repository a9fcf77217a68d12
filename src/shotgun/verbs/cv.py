"""`shotgun cv`: the lam that predicts best."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from sklearn.model_selection import KFold, StratifiedKFold

import shotgun
from shotgun.bars import CountBar
from shotgun.checkpoint import Interrupts
from shotgun.folds import Folds, Interrupted, resumable
from shotgun.io import Data
from shotgun.kinds import Loss
from shotgun.model import decode, encode
from shotgun.options import Given
from shotgun.selection import standard_error
from shotgun.tensors import Record
from shotgun.verbs.problems import grid, largest_lam, one_against_rest, options
from shotgun.verbs.reading import note_source, samples
from shotgun.verbs.resuming import file_to_resume, identity_to_keep, interrupted
from shotgun.verbs.telling import check_outputs, piped, second_fit, show, table, tell, tell_model

if TYPE_CHECKING:  # what a quick fit does not need is loaded where it is used
    import shotgun.page


def run(given: Given) -> int:
    """The lam that predicts best."""
    check_outputs(given)
    with samples(given) as data:
        return cv_data(given, data)


def cv_data(given: Given, data: Data) -> int:
    kind, parameters = cross_validated(given, data)
    vectors = (data.y, data.weights, data.offset)
    same = identity_to_keep(given, data.A, *vectors, folds=given.folds)
    total = given.folds * given.n_lams
    with Interrupts() as stop, CountBar("cv", total + 1) as bar:  # the last one to all data
        folds = Folds(given.output, same, stop)
        if given.resume:
            folds.resume(file_to_resume(given))
        model = resumable(kind, folds, **parameters, callback=stop.stops(bar))
        with suppress(Interrupted):
            model.fit(data.A, data.y, data.weights, offset=data.offset)
    if stop.signal is not None:  # which may have come in the last fit
        folds.write()
        return interrupted(given, stop.signal, f"{folds.count()} of {total} fits")
    note_source(model, data)
    plain = decode(encode(model), "cv")
    code = tell_cv(model, plain, given)
    show_cv(model, plain, given, data)
    return code


def cross_validated(given: Given, data: Data) -> tuple[type, Record]:
    """The *CV estimator for the loss, and its parameters."""
    if given.loss not in (Loss.squared, Loss.logistic):
        raise ValueError(f"cv knows the losses squared and logistic, not {given.loss}")
    lams = grid(given, largest_lam(given, data, one_against_rest(given, data.y)))
    splitter = KFold if given.loss is Loss.squared else StratifiedKFold
    parameters = options(given) | {
        "max_iter": None,
        "selection": str(given.select),
        "cv": splitter(given.folds, shuffle=True, random_state=given.seed),
    }
    if given.loss is Loss.squared:
        total = data.A.shape[0] if data.weights is None else data.weights.sum()
        return shotgun.LassoCV, parameters | {"alphas": lams / total}
    parameters |= {"scoring": "neg_log_loss", "use_legacy_attributes": False}
    return shotgun.LogisticRegressionCV, parameters | {"Cs": 1 / lams}


def tell_cv(model: Any, plain: Any, given: Given) -> int:
    """The scores, and the plain model that was chosen."""
    if not given.json and not piped(given):
        tell(table(choices(model)) + "\n")
    mean, error = mean_scores(model)
    told = {
        "grid": model.grid_.tolist(),
        "mean": mean.tolist(),
        "standard_error": error.tolist(),
        "min_index": model.min_index_,
        "1se_index": model.one_se_index_,
    }
    return tell_model(plain, given, cv=told)


def mean_scores(model: Any) -> tuple[Any, Any]:
    """Of the folds, and their standard error."""
    scores = model.cv_scores_
    return scores.mean(axis=0), standard_error(scores)


def choices(model: Any) -> dict[str, list[Any]]:
    """The best mean and the strongest penalty about as good; which was taken."""
    mean, error = mean_scores(model)
    at = [model.min_index_, model.one_se_index_]
    return {
        "": ["min", "1se"],
        "alpha" if hasattr(model, "alpha_") else "C": model.grid_[at].tolist(),
        "score": mean[at].tolist(),
        "std error": error[at].tolist(),
        "taken": ["*" if k == model.best_index_ else "" for k in at],
    }


def show_cv(model: Any, plain: Any, given: Given, data: Data) -> None:
    draw = {"Cross-validation": lambda: shotgun.CVDisplay.from_estimator(model).figure_}
    if len(plain._rows()) == 1:  # a path for every class would be too many
        draw["Path"] = lambda: shotgun.PathDisplay.from_estimator(model).figure_
    if given.deadline is None:
        draw["Convergence"] = lambda: second_fit(plain, data.A, data)
    chosen = choices(model)
    show(given, draw, lambda made: shotgun.page.of_model(plain, given, data, made, chosen))
