"""Cross-validation: how strong the penalty has to be, told by held-out data."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Event
from typing import Any, ClassVar, TypeVar

import numpy as np
import scipy.sparse as sp
from sklearn import config_context, get_config
from sklearn.base import _fit_context, clone, is_classifier
from sklearn.metrics import get_scorer_names
from sklearn.metrics._scorer import _BaseScorer
from sklearn.model_selection import check_cv
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _raise_for_params,
    _routing_enabled,
    process_routing,
)

from shotgun._threads import one_blas_thread
from shotgun.estimator import (
    Array,
    GridFits,
    SparseLinearModel,
    Unfinished,
    by_columns,
    columns,
    single,
)
from shotgun.problem import Elsewhere, Vector, check_threads, check_vector
from shotgun.progress import Progress
from shotgun.solve import Solution, until

Fold = tuple[Array, Array]  # the rows to fit, the rows to score
Found = TypeVar("Found")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Data:
    """What all folds share."""

    X: Any
    y: Array
    targets: list[Array]
    weights: Vector | None
    offsets: list[Any]  # one for each target, None without

    def rows(self, fold: Array) -> Vector:
        """A fold as weights: the rows that are not in it weigh nothing."""
        counts = np.bincount(np.arange(len(self.y))[fold], minlength=len(self.y))
        return np.asarray(counts * (1.0 if self.weights is None else self.weights))


@dataclass(frozen=True)
class Job:
    """One model on one fold, along its grid."""

    model: SparseLinearModel
    strengths: Vector
    train: Array  # the rows to fit
    test: Array  # the rows to score


@dataclass(frozen=True)
class HeldOut:
    """The models of one fold before the rows that it held out.

    A scorer that looks at predictions only is not shown the features that no model uses. An offset
    is a feature of weight one, the last.
    """

    X: Any
    y: Array
    coefs: Array  # (n_grid, n_targets, n_used)
    used: Array  # the columns of X that these belong to
    intercepts: Array  # (n_grid, n_targets)
    weights: Vector | None

    @classmethod
    def of(cls, data: Data, fits: GridFits, test: Array, all_features: bool) -> HeldOut:
        """Of a fold's fits."""
        used = np.unique(np.concatenate([[0], *(coef.indices for coef in fits.coefs)]))
        coefs = np.stack([coef[used].toarray().T for coef in fits.coefs], axis=1)
        shown = np.arange(data.X.shape[1]) if all_features else used
        used = np.searchsorted(shown, used)
        dense = False
        if isinstance(data.X, Elsewhere):
            X = data.X.columns(shown)[test]
        elif sp.issparse(data.X):
            X = data.X[:, shown][test]
        else:
            dense = True
            X = data.X[np.arange(len(data.y))[test][:, None], shown]
        if data.offsets[0] is not None:
            used = np.concatenate([used, len(shown) + np.arange(len(data.offsets))])
            X = (np.hstack if dense else sp.hstack)([X, np.transpose(data.offsets)[test]])
            ones = np.broadcast_to(np.eye(coefs.shape[1]), (len(coefs), *[coefs.shape[1]] * 2))
            coefs = np.concatenate([coefs, ones], axis=2)
        weights = None if data.weights is None else data.weights[test]
        return cls(X if dense else X.tocsr(), data.y[test], coefs, used, fits.intercepts, weights)

    def squared_errors(self) -> Array:
        """The mean squared error of every model; X has no other features here."""
        if self.weights is not None and not self.weights.any():
            raise ValueError("sample_weight is zero for all that a fold holds out to score")
        residuals = self.X @ self.coefs[:, 0].T + self.intercepts[:, 0] - self.y[:, None]
        return np.asarray(np.average(residuals**2, axis=0, weights=self.weights))

    def scores(self, model: SparseLinearModel, scorer: Any, params: dict[str, Any]) -> Array:
        """What the scorer says of every model."""
        model.n_features_in_ = self.X.shape[1]
        scores = []
        for coef, intercept in zip(self.coefs, self.intercepts, strict=True):
            weights = np.zeros((len(coef), self.X.shape[1]))
            weights[:, self.used] = coef
            model._place(weights, intercept)
            scores.append(scorer(model, self.X, self.y, **params))
        return np.array(scores)


@dataclass(frozen=True)
class Run:
    """A fold: the fits along the grid, and their scores."""

    fits: GridFits
    scores: Array


class CrossValidated(SparseLinearModel):
    """Fits every fold along a grid of penalties, and all data with the best of them.

    The folds share X: what a fold holds out weighs nothing in it. They run side by side, and
    together use no more threads than a single fit would.
    """

    warm_start = False
    refit = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{k: v for k, v in SparseLinearModel._parameter_constraints.items() if k != "warm_start"},
        "cv": ["cv_object"],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "selection": [StrOptions({"min", "1se"})],
    }

    @abstractmethod
    def _models(self) -> list[Any]:
        """The plain models, one for each share of the L1 norm to try."""

    @abstractmethod
    def _grid(self, data: Data, model: SparseLinearModel) -> Vector:
        """The values to try, the strongest penalty first."""

    @abstractmethod
    def _strengths(self, grid: Vector, n: int) -> Vector:
        """The weights of the penalty against the sum of losses."""

    @abstractmethod
    def _at(self, model: Any, value: float) -> Any:
        """The model with one of those values."""

    @abstractmethod
    def _scorer(self) -> Any:
        """None for the squared error."""

    @abstractmethod
    def _tell(
        self,
        ratios: Sequence[float],
        best: int,
        grids: Sequence[Vector],
        runs: Sequence[Sequence[Run]],
    ) -> None:
        """What was tried and chosen, under scikit-learn's names."""

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None, **params: Any
    ) -> Any:
        """Choose the penalty by cross-validation, then fit all data with it.

        Parameters
        ----------
        X : {array, sparse matrix} of shape (n_samples, n_features)
            float32 stays float32; Fortran order and CSC are read in place.
        y : array of shape (n_samples,)
        sample_weight : float or array of shape (n_samples,), optional
            For fitting and for scoring.
        offset : array of shape (n_samples,), optional
            Known part of the linear predictor, as in the plain model.
        **params
            `groups` for the splitter; with metadata routing enabled what the splitter and the
            scorer request.
        """
        left = until(self.deadline)
        X, y, counts = self._check(X, y, sample_weight)
        for_splitter, for_scorer = self._route(counts, params)
        models = self._models()
        splitter = check_cv(self.cv, y, classifier=is_classifier(self))
        # all that a splitter looks at
        rows = np.zeros((len(y), 1)) if isinstance(X, Elsewhere) else X
        folds = list(splitter.split(rows, y, **for_splitter))
        targets, weights = self._state(y, counts)
        offsets = columns("offset", offset, len(y), len(targets))
        data = Data(by_columns(X), y, targets, weights, offsets)
        check_folds(data, folds, is_classifier(self))
        grids = [self._grid(data, model) for model in models]
        progress = Progress(self, X, y, len(models) * len(folds))
        runs = self._run(data, folds, models, grids, for_scorer, progress, left)
        best = self._choose(grids, runs)
        refit = self._refit(data, models[best], runs[best], offset, progress, left)
        if refit:
            self._keep(refit, X.dtype, self._scale(len(y)))
        self._tell([model.l1_ratio for model in models], best, grids, runs)
        progress.end()
        paths = [run.fits for of_model in runs for run in of_model]
        unfinished = [fit for fits in paths for fit in fits.unfinished]
        unfinished += [Unfinished.of(fit) for fit in refit if fit.status != "converged"]
        self._warn(unfinished, sum(map(len, paths)) + 1, len(y))
        return self

    def _run(
        self,
        data: Data,
        folds: Sequence[Fold],
        models: Sequence[SparseLinearModel],
        grids: Sequence[Vector],
        for_scorer: dict[str, Any],
        progress: Progress,
        left: Callable[[], float],
    ) -> list[list[Run]]:
        """Every model on every fold, as many at once as there are threads."""
        n = len(data.y)
        jobs = [
            Job(model, self._strengths(grid, n), train, test)
            for model, grid in zip(models, grids, strict=True)
            for train, test in folds
        ]
        threads = check_threads(models[0]._options(n)["n_threads"])
        workers = min(threads, len(jobs))

        def fit(k: int) -> GridFits:
            task, tell = progress.fold(k)
            how = {
                "n_threads": threads // workers,
                "deadline": left(),
                "callback": tell,
            }
            fits = self._fit_fold(data, jobs[k], self._weigh(data.rows(jobs[k].train)), how)
            progress.end(task)
            return fits

        def score(k: int, fits: GridFits) -> Run:
            return Run(fits, self._score(data, jobs[k], fits, for_scorer))

        with one_blas_thread():
            runs = side_by_side(fit, score, len(jobs), workers, progress.stop)
        return [runs[k : k + len(folds)] for k in range(0, len(runs), len(folds))]

    def _fit_fold(self, data: Data, job: Job, weights: Vector, how: dict[str, Any]) -> GridFits:
        """The fits of a job; what the fold holds out weighs nothing."""
        return job.model._fit_grid(
            data.X, data.targets, weights, data.offsets, job.strengths, **how
        )

    def _score(self, data: Data, job: Job, fits: GridFits, for_scorer: dict[str, Any]) -> Array:
        """The score of every fit along the grid on what is held out; more is better."""
        scorer = self._scorer()
        own = not isinstance(scorer, _BaseScorer | None)  # the user's
        held = HeldOut.of(data, fits, job.test, all_features=own)
        if scorer is None:
            return -held.squared_errors()
        model = clone(job.model)
        if is_classifier(self):
            model.classes_ = self.classes_
        return held.scores(model, scorer, rows_of(for_scorer, job.test, len(data.y)))

    def _choose(self, grids: Sequence[Vector], runs: Sequence[Sequence[Run]]) -> int:
        """The best model, the best value on its grid, and the simplest that is about as good."""
        count = min(len(run.fits) for of_model in runs for run in of_model)  # fewer: ended early
        scores = np.array([[run.scores[:count] for run in of_model] for of_model in runs])
        means = np.nan_to_num(scores.mean(axis=1), nan=-np.inf)
        best, self.min_index_ = map(int, np.unravel_index(means.argmax(), means.shape))
        self.grid_, self.cv_scores_ = grids[best][:count], scores[best]
        error = standard_error(self.cv_scores_[:, self.min_index_])
        about_as_good = means[best] >= means[best, self.min_index_] - error
        self.one_se_index_ = int(about_as_good.argmax())
        self.best_index_ = self.one_se_index_ if self.selection == "1se" else self.min_index_
        self.cv_coefs_ = [single(run.fits.coefs) for run in runs[best]]
        return best

    def _refit(
        self,
        data: Data,
        model: SparseLinearModel,
        runs: Sequence[Run],
        offset: Any,
        progress: Progress,
        left: Callable[[], float],
    ) -> list[Solution]:
        """All data with the chosen penalty, from the mean of the folds' weights."""
        if not self.refit:
            return []
        model = self._at(clone(model), self.grid_[self.best_index_])
        model.warm_start, model.deadline = True, left()
        starts = [[coef[:, [self.best_index_]] for coef in run.fits.coefs] for run in runs]
        model.coef_ = mean(starts)
        return model._solve(data.X, data.targets, data.weights, offset, progress.refit())

    def _shared(self, plain: type[SparseLinearModel]) -> dict[str, Any]:
        """The parameters that the plain model has too."""
        mine = self.get_params()
        return {name: mine[name] for name in plain._get_param_names() if name in mine}

    def _route(
        self, counts: Vector | None, params: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """What the splitter and the scorer are told."""
        if _routing_enabled():
            routed = process_routing(self, "fit", sample_weight=counts, **params)
            return routed.splitter.split, routed.scorer.score if "scorer" in routed else {}
        groups = params.pop("groups", None)
        _raise_for_params(params, self, "fit")
        return {"groups": groups}, {} if counts is None else {"sample_weight": counts}

    def get_metadata_routing(self) -> MetadataRouter:
        """What goes to the splitter and the scorer when metadata routing is enabled."""
        router = (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(
                splitter=check_cv(self.cv),
                method_mapping=MethodMapping().add(caller="fit", callee="split"),
            )
        )
        if (scorer := self._scorer()) is not None:
            both = MethodMapping().add(caller="fit", callee="score")
            router.add(scorer=scorer, method_mapping=both.add(caller="score", callee="score"))
        return router


def side_by_side(
    fit: Callable[[int], Found],
    then: Callable[[int, Found], Result],
    count: int,
    workers: int,
    stop: Event,
) -> list[Result]:
    """As many fits at once as there are workers, which end once `stop` is set: if one fails, or
    Ctrl-C comes, no other goes on for long after.

    What `then` is done with each is done here, in their order: a scorer is the user's.
    """
    if workers == 1:
        return [then(job, fit(job)) for job in range(count)]
    config = get_config()  # of this thread
    failures: list[BaseException] = []

    def configured(job: int) -> Found:
        try:
            with config_context(**config):
                return fit(job)
        except BaseException as failure:
            failures.append(failure)
            stop.set()  # here: this very thread may take the next job before anybody else knows
            raise

    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(configured, job) for job in range(count)]
        try:
            results = []
            for job, future in enumerate(futures):
                found = future.result()
                if failures:  # this fit may have stopped for it
                    raise failures[0]
                results.append(then(job, found))
            return results
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def standard_error(scores: Array) -> Array:
    """Of the mean over the folds, the first axis; zero where there is but one."""
    folds = len(scores)
    return np.asarray(scores.std(axis=0, ddof=int(folds > 1)) / np.sqrt(folds))


def check_folds(data: Data, folds: Sequence[Fold], classes: bool) -> None:
    """Every fold has samples to fit, and of all classes: an intercept has no minimum without."""
    everything = np.arange(len(data.y))
    for k, (train, _) in enumerate(folds):
        present, left = (data.y[data.rows(rows) > 0] for rows in (everything, train))
        if not left.size:
            raise ValueError(f"sample_weight is zero for all that fold {k} leaves to fit")
        missing = np.setdiff1d(present, left) if classes else left[:0]
        if missing.size:
            raise ValueError(
                f"fold {k} leaves no sample of class {missing[0]} to fit: fewer folds or a "
                "stratified splitter would"
            )


def check_ratios(name: str, values: Any) -> list[float]:
    """Shares of the L1 norm to try."""
    ratios = check_vector(name, np.atleast_1d(values), np.size(values))
    if not ratios.size or ratios.min() < 0 or ratios.max() > 1:
        raise ValueError(f"{name} must hold numbers between 0 and 1, got {values}")
    return ratios.tolist()


def mean(folds: Sequence[Sequence[Any]]) -> Array:
    """Over the folds, of the weights of each target."""
    targets = zip(*folds, strict=True)
    return np.array([sum(of_target).toarray().ravel() for of_target in targets]) / len(folds)


def rows_of(params: dict[str, Any], rows: Array, n: int) -> dict[str, Any]:
    """Of what has an entry for each of n samples, the rows."""
    return {
        name: np.asarray(value)[rows] if np.shape(value)[:1] == (n,) else value
        for name, value in params.items()
    }
