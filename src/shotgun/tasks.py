"""What the verbs of the command line do: read data, call the library, print.

Each verb is a function of what was given (the options by their names) that returns the exit code.
"""

from __future__ import annotations

import errno
import glob
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

import shotgun
from shotgun import io, tensors
from shotgun.bars import CountBar, GapBar
from shotgun.cli import say, visible
from shotgun.fitted import CLASSIFY, KINDS, Fitted
from shotgun.inspection import aligned
from shotgun.io import Data
from shotgun.model import decode, describe, encode, strength
from shotgun.options import Loss
from shotgun.problem import Columns, Elsewhere
from shotgun.tensors import SUFFIX, Record

if TYPE_CHECKING:  # what a quick fit does not need is loaded where it is used
    import shotgun.page
    import shotgun.survey
    from shotgun import Path

Given = SimpleNamespace
Figures = dict[str, Callable[[], Any]]

CONVERGED, NOT_CONVERGED = 0, 3
PICTURES = (".png", ".svg", ".pdf")

_KEPT = ("n_lams", "eps", "tol", "no_intercept", "standardize", "seed")  # when resumed


# Fitting


def fit(given: Given) -> int:
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
    model = getattr(shotgun, KINDS[given.loss])(C=1 / lam, max_iter=None, **options(given))
    model.set_params(callback=bar).fit(A, data.y, data.weights, offset=data.offset)
    model.set_params(callback=None)
    return model, {"Convergence": lambda: second_fit(model, A, data)}


def second_fit(model: Any, A: Any, data: Data) -> Any:
    """A figure of how an estimator converges when it is fitted again."""
    rows = {"sample_weight": data.weights, "offset": data.offset}
    return shotgun.ConvergenceDisplay.from_estimator(model, A, data.y, **rows).figure_


def options(given: Given) -> Record:
    """What all estimators are told."""
    return {
        "tol": given.tol,
        "fit_intercept": not given.no_intercept,
        "standardize": given.standardize,
        "deadline": given.deadline,
        "n_jobs": given.threads,
        "random_state": given.seed,
    }


def one_against_rest(given: Given, y: Any) -> list[Any]:
    """The targets: one of numbers or two classes, else one for each class."""
    if given.loss not in CLASSIFY:
        return [y]
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"{given.data}: there is but one class, {classes[0]}")
    return [codes == k for k in range(1 if len(classes) == 2 else 0, len(classes))]


def chosen_lam(given: Given, data: Data, targets: list[Any]) -> float:
    """By --lam or --lam-ratio."""
    lam, ratio = given.lam, given.lam_ratio
    if lam is not None and ratio is not None:
        raise ValueError("give --lam or --lam-ratio, not both")
    if lam is None:
        lam = (0.1 if ratio is None else ratio) * largest_lam(given, data, targets)
    if lam == 0 and given.loss in CLASSIFY:
        raise ValueError("--lam must be positive for a loss of classes")
    return float(lam)


def largest_lam(given: Given, data: Data, targets: list[Any]) -> float:
    """The least lam without a weight."""
    problem = {
        "loss": str(given.loss),
        "weights": data.weights,
        "offset": data.offset,
        "fit_intercept": not given.no_intercept,
        "standardize": getattr(given, "standardize", False),
        "n_threads": given.threads,
    }
    return max(shotgun.lambda_max(data.A, target, **problem) for target in targets)


def tell_model(model: Any, given: Given, **more: Any) -> int:
    """Write and print a model; the exit code says whether it converged."""
    if given.output is not None:
        model.save(given.output)
    if not piped(given):
        tell(json.dumps(describe(model) | more) if given.json else model.summary())
    converged = (np.atleast_1d(model.status_) == "converged").all()
    return CONVERGED if converged else NOT_CONVERGED


def check_outputs(given: Given) -> None:
    """Whether what is asked for can be written: before the work, not after it."""
    if given.plot is not None and not given.plot.lower().endswith(PICTURES):
        raise ValueError(f"--plot {given.plot}: give a name that ends in {', '.join(PICTURES)}")
    for name in (given.output, given.plot, given.report):
        folder = os.path.dirname(name or "")
        if folder and not os.path.isdir(folder):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), folder)


def piped(given: Given) -> bool:
    """Whether the standard output is for a file."""
    return "-" in (given.output, given.report)


def show(given: Given, draw: Figures, tell_all: Callable[[Record], str]) -> None:
    """What --plot asks for: the first picture; and --report: a page with all of them."""
    if given.plot is None and given.report is None:
        return
    if given.plot is not None and not draw:
        raise ValueError("--plot: there is nothing to draw")
    made = {title: make() for title, make in list(draw.items())[: None if given.report else 1]}
    if given.plot is not None:
        next(iter(made.values())).savefig(given.plot, dpi=150)
    if given.report is not None:
        tensors.write(given.report, tell_all(made).encode(errors="replace"))


def tell(text: str) -> None:
    """On standard output."""
    print(visible(text), flush=True)


# Reading


def read(given: Given, **more: Any) -> Data:
    """The data of a file."""
    return io.read(
        given.data,
        target=column(given.target),
        format=given.format,
        weights=column(getattr(given, "weights", None)),
        offset=column(given.offset),
        impute=given.impute,
        n_threads=getattr(given, "threads", None),
        max_bytes=given.max_bytes,
        **more,
    )


def read_shards(given: Given) -> Data:
    """The data of files that match a pattern, or of a matrix on disk, read by a cluster."""
    for option in ("weights", "offset"):
        if getattr(given, option) is not None:
            raise ValueError(f"--{option} does not apply to data on a cluster")
    files = sorted(glob.glob(given.data)) or [given.data]
    if io.format_of(files[0], given.format) == "disk":
        A = shotgun.dask.matrix(shotgun.disk.open(files[0]))
    else:
        how = {"target": column(given.target), "format": given.format, "impute": given.impute}
        how["max_bytes"] = given.max_bytes
        A = shotgun.dask.read(files, **how)
    return with_target(given, Data(A, A.y, A.feature_names))


def column(name: str | None) -> str | int | None:
    """A column's number if it is one, else its name."""
    return int(name) if name is not None and name.removeprefix("-").isdecimal() else name


@contextmanager
def samples(given: Given, **more: Any) -> Iterator[Data]:
    """Data with something to predict: here or, with --workers or --scheduler, on a cluster."""
    if given.workers is None and given.scheduler is None:
        yield read_samples(given, **more)
        return
    if given.workers is not None and given.scheduler is not None:
        raise ValueError("give --workers or --scheduler, not both")
    from distributed import Client

    here = {"n_workers": given.workers, "threads_per_worker": 1, "dashboard_address": ":0"}
    with Client(given.scheduler) if given.scheduler else Client(**here):
        yield read_shards(given)


def read_samples(given: Given, **more: Any) -> Data:
    """Data with something to predict."""
    return with_target(given, read(given, **more))


def with_target(given: Given, data: Data) -> Data:
    if data.y is None:
        raise ValueError(f"{given.data}: give --target: which column is to be predicted?")
    check_target(given, data)
    return data


def check_target(given: Given, data: Data) -> None:
    if given.loss not in CLASSIFY and np.asarray(data.y).dtype.kind not in "fiub":
        raise ValueError(f"{given.data}: the target holds text: --loss logistic tells classes")


def note_source(model: Any, data: Data) -> None:
    """What the model has to know of the file, to read others like it."""
    if data.feature_names is not None:
        model.feature_names_in_ = np.array(data.feature_names, dtype=object)
    if data.zero_based is not None:
        model.data_["zero_based"] = bool(data.zero_based)


# Paths


def path(given: Given) -> int:
    """Many lams."""
    check_outputs(given)
    with samples(given) as data:
        return path_data(given, data)


def path_data(given: Given, data: Data) -> int:
    from shotgun.checkpoint import Interrupts, identity, pack_path, resume_path

    problem = path_problem(given, data)
    lams = grid(given, largest_lam(given, data, [problem["y"]]))
    vectors = (problem["y"], data.weights, data.offset)
    same = identity(data.A, *vectors, **kept_options(given))
    begun = resume_path(file_to_resume(given), same) if given.resume else None
    with Interrupts() as stop, CountBar("path", len(lams)) as bar:
        how = {"deadline": given.deadline, "n_threads": given.threads}
        widest = Widest(bar)
        fits = shotgun.path(lams=lams, start=begun, **problem, **how, callback=stop.stops(widest))
    if fits.statuses[-1] == "stopped":
        fits = fits.first(len(fits) - 1)
    if given.output is not None:
        tensors.write(given.output, pack_path(fits, same))
    if not piped(given):
        tell_path(fits, given)
    if len(fits):
        show_path(fits, given, data, widest.P)
    if stop.signal is not None:
        return interrupted(given, stop.signal, f"{len(fits)} of {len(lams)} lams")
    done = len(fits) == len(lams) and set(fits.statuses) == {"converged"}
    return CONVERGED if done else NOT_CONVERGED


def path_problem(given: Given, data: Data) -> Record:
    """What is fitted, in the words of `shotgun.path`."""
    targets = one_against_rest(given, data.y)
    if len(targets) > 1:
        raise ValueError(f"{given.data}: a path needs two classes, not {len(targets)}")
    return {
        "A": data.A,
        "y": targets[0],
        "loss": str(given.loss),
        "weights": data.weights,
        "offset": data.offset,
        "fit_intercept": not given.no_intercept,
        "standardize": given.standardize,
        "tol": given.tol,
        "seed": given.seed,
    }


def grid(given: Given, largest: float) -> Any:
    """The lams of a path."""
    if not 0 < given.eps < 1:
        raise ValueError(f"--eps must lie strictly between 0 and 1, not {given.eps}")
    if largest == 0:
        raise ValueError(f"{given.data}: no feature has to do with the target")
    return np.geomspace(largest, given.eps * largest, given.n_lams)


def kept_options(given: Given) -> Record:
    """The options that a fit must have again to be resumed."""
    return {"loss": str(given.loss)} | {name: getattr(given, name) for name in _KEPT}


def file_to_resume(given: Given) -> str:
    if given.output in (None, "-"):
        raise ValueError("--resume needs --output: the file that was written when interrupted")
    return str(given.output)


def interrupted(given: Given, number: int, what: str) -> int:
    """Say what was kept; the exit code tells the signal."""
    if given.output in (None, "-"):
        say("interrupted", f"{what} done; with --output they could be resumed")
    else:
        say("interrupted", f"{given.output} has {what}; --resume continues")
    return 128 + number


class Widest:
    """A callback that notes how many weights moved at once at most, and tells another."""

    def __init__(self, tell: Callable[[Record], None]) -> None:
        self.P, self._tell = 0, tell

    def __call__(self, row: Record) -> None:
        self.P = max(self.P, row["P"])
        self._tell(row)


def show_path(fits: Path, given: Given, data: Data, P: int) -> None:
    def path() -> Any:
        weights = {"coefs": fits.X, "feature_names": data.feature_names}
        return shotgun.PathDisplay(grid=fits.lams, **weights).plot().figure_

    draw = {"Path": path, "Convergence": lambda: shotgun.page.gaps(fits)}
    columns = path_columns(fits)
    show(given, draw, lambda made: shotgun.page.of_path(fits, given, data, made, columns, P))


def tell_path(fits: Path, given: Given) -> None:
    columns = path_columns(fits)
    tell(json.dumps({"tolerance": fits.tolerance, **columns}) if given.json else table(columns))


def path_columns(fits: Path) -> dict[str, list[Any]]:
    """What there is to tell of each fit."""
    return {
        "lam": fits.lams.tolist(),
        "nonzero": np.diff(fits.X.indptr).tolist(),
        "objective": fits.objectives.tolist(),
        "gap": fits.gaps.tolist(),
        "epochs": fits.n_epochs.tolist(),
        "status": fits.statuses,
    }


def table(columns: dict[str, list[Any]]) -> str:
    """Columns under their names."""
    cells = [
        [name, *(f"{v:.6g}" if isinstance(v, float) else str(v) for v in values)]
        for name, values in columns.items()
    ]
    return "\n".join(aligned(list(zip(*cells, strict=True))))


# Cross-validation


def cv(given: Given) -> int:
    """The lam that predicts best."""
    check_outputs(given)
    with samples(given) as data:
        return cv_data(given, data)


def cv_data(given: Given, data: Data) -> int:
    from shotgun.checkpoint import Interrupts, identity
    from shotgun.folds import Folds, Interrupted, resumable

    kind, parameters = cross_validated(given, data)
    vectors = (data.y, data.weights, data.offset)
    same = identity(data.A, *vectors, folds=given.folds, **kept_options(given))
    total = given.folds * given.n_lams
    with Interrupts() as stop, CountBar("cv", total) as bar:
        folds = Folds(given.output, same, stop)
        if given.resume:
            folds.resume(file_to_resume(given))
        model = resumable(kind, folds, **parameters, callback=stop.stops(bar))
        try:
            model.fit(data.A, data.y, data.weights, offset=data.offset)
        except Interrupted:
            folds.write()
            return interrupted(given, stop.signal or 0, f"{folds.count()} of {total} fits")
    note_source(model, data)
    plain = decode(encode(model), "cv")
    code = tell_cv(model, plain, given)
    show_cv(model, plain, given, data)
    return code


def cross_validated(given: Given, data: Data) -> tuple[type, Record]:
    """The *CV estimator for the loss, and its parameters."""
    if given.loss not in (Loss.squared, Loss.logistic):
        raise ValueError(f"cv knows the losses squared and logistic, not {given.loss}")
    from sklearn.model_selection import KFold, StratifiedKFold

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
    return scores.mean(axis=0), scores.std(axis=0, ddof=1) / np.sqrt(len(scores))


def choices(model: Any) -> dict[str, list[Any]]:
    """The best mean and the strongest penalty about as good; which was taken."""
    mean, error = mean_scores(model)
    at = [model.min_index_, model.one_se_index_]
    return {
        "": ["min", "1se"],
        "alpha" if hasattr(model, "alpha_") else "C": model.grid_[at].tolist(),
        "score": mean[at].tolist(),
        "error": error[at].tolist(),
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


# Using and looking


def predict(given: Given) -> int:
    """A line for each row of the data."""
    if given.model == given.data == "-":
        raise ValueError("MODEL and DATA cannot both be standard input")
    model = shotgun.load(given.model, max_bytes=given.max_bytes)
    if given.proba and not hasattr(model, "predict_proba"):
        raise ValueError(f"{given.model}: a {type(model).__name__} has no probabilities")
    data = read(given, **like_trained(model, given))
    A = in_order(model, data, given.data)
    if A.shape[1] != model.n_features_in_:
        d, known = A.shape[1], model.n_features_in_
        raise ValueError(f"{given.data}: {d} features, but {given.model} knows {known}")
    answers = (model.predict_proba if given.proba else model.predict)(A, offset=data.offset)
    if data.y is not None:
        score = model.score(A, data.y, offset=data.offset)
        name = "accuracy" if hasattr(model, "classes_") else "score"
        print(f"{name} {score:.6g} of {len(answers)} samples", file=sys.stderr)
    text = json.dumps(answers.tolist()) if given.json else "\n".join(map(line, answers.tolist()))
    tensors.write(given.output, f"{text}\n".encode())
    return CONVERGED


def like_trained(model: Any, given: Given) -> Record:
    """How an svmlight file that belongs to the model is read."""
    if io.format_of(given.data, given.format) != "svmlight":
        return {}
    return {"n_features": model.n_features_in_, "zero_based": model.data_.get("zero_based")}


def line(answer: Any) -> str:
    """Numbers, or a label, which no spreadsheet shall compute."""
    if isinstance(answer, list):
        return "\t".join(map(repr, answer))
    return io.harmless(answer) if isinstance(answer, str) else str(answer)


def in_order(model: Any, data: Data, file: str) -> Any:
    """The columns that the model knows, in its order; `column=value` that is not there is zero."""
    names = vars(model).pop("feature_names_in_", None)  # predict would ask for a data frame
    if names is None or data.feature_names is None:
        return data.A
    place = {name: j for j, name in enumerate(data.feature_names)}
    of_values = {name.rpartition("=")[0] for name in place if "=" in name}
    missing = [name for name in names if name not in place]
    for name in missing:
        if "=" not in name or name.rpartition("=")[0] not in of_values:
            raise ValueError(f"{file}: the model's feature {name!r} is not there")
    if data.feature_names == list(names):
        return data.A
    if isinstance(data.A, Elsewhere):
        raise ValueError(f"{file}: a matrix on disk must have the model's features, in its order")
    wanted = [place.get(name, len(place)) for name in names]
    if not missing:
        return data.A[:, wanted]
    import scipy.sparse as sp

    zero = sp.csc_array((data.A.shape[0], 1), dtype=data.A.dtype)
    return sp.hstack([sp.csc_array(data.A), zero], format="csc")[:, wanted]


def inspect(given: Given) -> int:
    """Data or a model."""
    if given.format is None and (given.data == "-" or given.data.endswith(SUFFIX)):
        return inspect_model(given)
    return inspect_data(given)


def inspect_model(given: Given) -> int:
    from shotgun.checkpoint import unpack_path

    content = tensors.read(given.data)
    name = "<stdin>" if given.data == "-" else given.data
    record, kept = tensors.unpack(content, name)
    if record.get("kind") == "path":
        tell_path(unpack_path(record, kept, name), given)
        return CONVERGED
    model = decode(content, name, given.max_bytes)
    if given.json or not hasattr(model, "status_"):  # a mean of folds has no certificate
        tell(model.to_json())
    else:
        tell(f"{model.summary()}\n\n{origin(model, record)}")
    return CONVERGED


def origin(model: Any, record: Record) -> str:
    """How the model was trained."""
    n, d = model.data_["shape"]
    return (
        f"lam {strength(model)[0]:.6g}; trained on {n} samples of {d} features, "
        f"{model.data_['nnz']} entries, hash {model.data_['hash'][:8]}; "
        f"shotgun {record.get('shotgun')}"
    )


def inspect_data(given: Given) -> int:
    data = read(given)
    found = shotgun.survey.parallelism(data.A, data.weights, not given.no_intercept, given.threads)
    odd = shotgun.survey.odd_columns(data.A, data.feature_names)
    largest = None
    if data.y is not None:
        check_target(given, data)
        largest = largest_lam(given, data, one_against_rest(given, data.y))
    if given.json:
        told = {"lam_max": largest, "loss": str(given.loss), "warnings": odd}
        tell(json.dumps(vars(found) | told))
        return CONVERGED
    lines = [str(found)]
    if data.y is not None:
        lines.append(f"target           {shotgun.survey.target(data.y)}")
        lines.append(f"lam_max          {largest:.6g}   ({given.loss} loss)")
    tell("\n".join(lines + [f"warning          {what}" for what in odd]))
    return CONVERGED


def convert(given: Given) -> int:
    """The same data in another format."""
    if given.to == "disk":
        from shotgun import shards

        for option in ("weights", "offset", "impute"):
            if getattr(given, option) is not None:
                raise ValueError(f"--{option} does not apply to a matrix on disk")
        how = {"target": given.target, "format": given.format, "n_threads": given.threads}
        how["max_bytes"] = given.max_bytes
        if given.output == "-":
            raise ValueError("--to disk makes a folder: give its name")
        memory = int(given.memory * 2**30)
        shards.convert([given.data], given.output, memory=memory, **how)
        return CONVERGED
    io.write(given.output, read(given), format=given.to)
    return CONVERGED


def demo(given: Given) -> int:
    """A photograph."""
    from rich.console import Console

    from shotgun.demo import run

    done = run(Console(), given.size, given.output, given.threads, given.seed)
    return CONVERGED if done else NOT_CONVERGED


def study(given: Given) -> int:
    """The paper's experiments."""
    from shotgun.problem import check_threads
    from shotgun.study.main import study
    from shotgun.study.plan import Plan

    plan = Plan(
        quick=given.quick,
        figure=given.figure,
        solver=given.solver,
        problem=given.problem,
        features=given.features,
        hours=given.hours,
        threads=check_threads(given.threads),
    )
    print(study(plan, given.out))
    return CONVERGED
