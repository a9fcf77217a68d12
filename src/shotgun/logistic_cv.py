"""LogisticRegressionCV: C chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.metrics import get_scorer
from sklearn.utils._param_validation import Hidden, Interval, StrOptions
from sklearn.utils.metadata_routing import (
    UNUSED,
    _raise_for_params,
    _routing_enabled,
    process_routing,
)

from shotgun.estimator import Array, GridFits, SparseLinearModel, warn_user
from shotgun.logistic import LogisticRegression
from shotgun.problem import Vector, check_vector
from shotgun.selection import CrossValidated, Data, Run, check_ratios, mean

# What only the fit to all data has.
CERTIFICATE = (
    "objective_",
    "dual_gap_",
    "certificate_",
    "tolerance_",
    "status_",
    "parallelism_",
    "screened_",
)


class LogisticRegressionCV(CrossValidated, LogisticRegression):
    """Logistic regression whose C, and l1_ratio if there are several, cross-validation chooses.

    Parameters and attributes not listed here are those of :class:`shotgun.LogisticRegression`; the
    attributes belong to the fit to all data.

    Parameters
    ----------
    Cs : int or array
        How many, evenly on a log scale from 1e-4 to 1e4; or which ones.
    l1_ratios : array
        Shares of the L1 norm in the penalty to try; (1,) by default, where scikit-learn has (0,).
    cv : int, splitter or iterable of (train, test), optional
        How to hold out; 5 stratified folds by default.
    penalty : {"l1", "l2", "elasticnet"}
        Deprecated as in scikit-learn: use `l1_ratios`.
    scoring : str or callable, optional
        What to compare; accuracy by default (scikit-learn warns that this will become
        "neg_log_loss", and so do we: name one).
    refit : bool
        Fit all data with what was chosen; otherwise the weights, intercepts and C that are best in
        each fold are averaged.
    selection : {"min", "1se"}
        Take the C of the best score, or the smallest C whose score is within one standard error of
        it.
    use_legacy_attributes : bool
        The shapes of the attributes, as in scikit-learn: by default the old ones, with a warning
        that this will change.
    deadline : float, optional
        Seconds for all of it; the grid ends where the slowest fold did.
    callback : callable, optional
        As in :class:`shotgun.ElasticNet`; the rows have the number of the `fold` too, None in the
        fit to all data. Returning True ends all of it: the grid ends where the slowest fold did,
        and `status_` says "stopped".

    Attributes
    ----------
    Cs_, l1_ratios_ : ndarray
        What was tried.
    C_, l1_ratio_ : float, or ndarray with one for each class where the attributes are legacy
        What was chosen.
    scores_, coefs_paths_, n_iter_
        Scores, weights with the intercept last, and epochs: arrays of shape (n_folds, n_l1_ratios,
        n_Cs), (n_folds, n_l1_ratios, n_Cs, n_classes, n_features + 1) and (n_folds, n_l1_ratios,
        n_Cs); where the attributes are legacy as in scikit-learn.
    cv_scores_ : ndarray of shape (n_folds, n_Cs)
        Scores for the chosen l1_ratio.
    cv_coefs_ : list of sparse arrays of shape (n_features, n_Cs)
        The weights of each fold; with more than two classes a list of them for each fold.
    grid_ : ndarray of shape (n_Cs,)
        The Cs that belong to them, ascending.
    min_index_, one_se_index_, best_index_ : int
        Where on it the best score is, the simplest model about as good, and the one taken.

    Examples
    --------
    >>> import numpy as np, shotgun
    >>> X = np.random.default_rng(0).normal(size=(80, 5))
    >>> y = X[:, 0] + X[:, 1] > 0
    >>> model = shotgun.LogisticRegressionCV(
    ...     Cs=[0.1, 1.0, 10.0], scoring="neg_log_loss", use_legacy_attributes=False
    ... ).fit(X, y)
    >>> model.C_, bool(model.score(X, y) > -0.2)
    (10.0, True)
    """

    # A weight is for the scorer, if that requests it.
    __metadata_request__score: ClassVar[dict[str, str]] = {"sample_weight": UNUSED}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{
            k: v
            for k, v in LogisticRegression._parameter_constraints.items()
            if k not in ("C", "l1_ratio", "warm_start")
        },
        **CrossValidated._parameter_constraints,
        "Cs": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "l1_ratios": ["array-like", None],
        "scoring": [
            *CrossValidated._parameter_constraints["scoring"],
            Hidden(StrOptions({"warn"})),
        ],
        "refit": ["boolean"],
        "use_legacy_attributes": ["boolean", Hidden(StrOptions({"warn"}))],
    }

    def __init__(
        self,
        *,
        Cs: Any = 10,
        l1_ratios: Any = (1.0,),
        fit_intercept: bool = True,
        cv: Any = None,
        dual: bool = False,
        penalty: str = "deprecated",
        scoring: Any = "warn",
        solver: str = "lbfgs",
        tol: float = 1e-6,
        max_iter: int | None = 100,
        class_weight: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        refit: bool = True,
        intercept_scaling: float = 1.0,
        random_state: Any = None,
        use_legacy_attributes: bool | str = "warn",
        selection: str = "min",
        penalty_factor: Any = None,
        bounds: Any = None,
        standardize: bool = False,
        engine: str = "auto",
        n_parallel: int | str = "auto",
        deadline: float | None = None,
        callback: Any = None,
    ) -> None:
        self._set(locals())

    def _models(self) -> list[Any]:
        if self.scoring == "warn":
            warn_user(
                "The default value of the parameter 'scoring' will change from accuracy to "
                "'neg_log_loss' in version 1.11 of scikit-learn: name the one that you want",
                FutureWarning,
            )
        if self.use_legacy_attributes == "warn":
            warn_user(
                "The default value of use_legacy_attributes will change from True to False in "
                "version 1.10 of scikit-learn: say which one you want",
                FutureWarning,
            )
        shared = self._shared(LogisticRegression) | {"penalty": "deprecated"}
        return [LogisticRegression(**shared, l1_ratio=ratio) for ratio in self._ratios()]

    def _ratios(self) -> list[float]:
        """The shares of the L1 norm to try, after scikit-learn's deprecations."""
        ratios = self.l1_ratios
        if self.penalty != "deprecated":
            warn_user(
                "'penalty' was deprecated in version 1.8 of scikit-learn. Use l1_ratios",
                FutureWarning,
            )
            ratios = {"l1": (1.0,), "l2": (0.0,)}.get(self.penalty, ratios)
        elif ratios is None:
            warn_user(
                "'l1_ratios=None' was deprecated in version 1.8. Use l1_ratios=(0,)", FutureWarning
            )
            ratios = (0.0,)
        return check_ratios("l1_ratios", () if ratios is None else ratios)

    def _grid(self, data: Data, model: SparseLinearModel) -> Vector:
        if isinstance(self.Cs, Integral):
            self.Cs_ = np.logspace(-4, 4, self.Cs)
        else:
            self.Cs_ = check_vector("Cs", self.Cs, len(self.Cs), finite=False)
        if not self.Cs_.size or self.Cs_.min() <= 0:
            raise ValueError(f"Cs must hold positive numbers, got {self.Cs}")
        return np.sort(self.Cs_)

    def _strengths(self, grid: Vector, n: int) -> Vector:
        return 1 / grid

    def _at(self, model: Any, value: float) -> Any:
        return model.set_params(C=value)

    def _scorer(self) -> Any:
        return get_scorer("accuracy" if self.scoring in ("warn", None) else self.scoring)

    def _tell(
        self,
        ratios: Sequence[float],
        best: int,
        grids: Sequence[Vector],
        runs: Sequence[Sequence[Run]],
    ) -> None:
        self.Cs_ = self.Cs_[places(self.Cs_) < len(self.grid_)]  # those that a deadline left
        self.l1_ratios_ = np.array([None] if self.l1_ratios is None else ratios)
        self._fits = [[run.fits for run in of_model] for of_model in runs]
        self.C_: Any = float(self.grid_[self.best_index_])
        self.l1_ratio_: Any = ratios[best]
        if not self.refit:
            self._average(ratios, runs)
        self.scores_: Any = self._by_C([[run.scores for run in of_model] for of_model in runs])
        self.n_iter_ = self._by_C([[fits.n_iter for fits in of_model] for of_model in self._fits])
        if self.use_legacy_attributes:
            self._tell_legacy()

    def _tell_legacy(self) -> None:
        self.scores_ = dict.fromkeys(self._scored_classes(), self._legacy(self.scores_))
        self.n_iter_ = self._legacy(self.n_iter_)[None]
        self.C_ = np.full(len(self.coef_), self.C_)
        self.l1_ratio_ = np.full(len(self.coef_), self.l1_ratio_)

    @property
    def coefs_paths_(self) -> Any:
        """The weights of every fold, l1_ratio, C and class, the intercept last; see above."""
        weights = self._by_C([[self._dense(fits) for fits in of_model] for of_model in self._fits])
        if not self.use_legacy_attributes:
            return weights
        classes = self._scored_classes()
        return {c: self._legacy(weights[:, :, :, k]) for k, c in enumerate(classes)}

    def _scored_classes(self) -> Array:
        return self.classes_[1:] if len(self.classes_) == 2 else self.classes_

    def _by_C(self, values: Any) -> Array:
        """From (l1_ratio, fold, grid, ...) to (fold, l1_ratio, C, ...), in the order of Cs_."""
        place = places(self.Cs_)
        cut = np.array([[value[: len(place)] for value in of_model] for of_model in values])
        return np.swapaxes(cut[:, :, place], 0, 1)

    def _legacy(self, values: Array) -> Array:
        """From (fold, l1_ratio, C, ...) to (fold, C, l1_ratio, ...), less an l1_ratio of None."""
        return values[:, 0] if self.l1_ratios is None else np.swapaxes(values, 1, 2)

    def _dense(self, fits: GridFits) -> Array:
        weights = np.stack([coef.T.toarray() for coef in fits.coefs], axis=1)
        intercepts = [fits.intercepts[:, :, None]] if self.fit_intercept else []
        return np.concatenate([weights, *intercepts], axis=2)

    def _average(self, ratios: Sequence[float], runs: Sequence[Sequence[Run]]) -> None:
        """Without a refit: the mean over the folds of what is best in each, not certified."""
        scores = np.array(
            [[run.scores[: len(self.grid_)] for run in of_model] for of_model in runs]
        )
        by_fold = np.moveaxis(scores, 0, 2)  # (fold, grid, l1_ratio)
        best = [np.unravel_index(fold.argmax(), fold.shape) for fold in by_fold]
        fits = [self._fits[r][f] for f, (_, r) in enumerate(best)]
        coefs = [[c[:, [k]] for c in fit.coefs] for fit, (k, _) in zip(fits, best, strict=True)]
        intercepts = [fit.intercepts[k] for fit, (k, _) in zip(fits, best, strict=True)]
        self._place(mean(coefs), np.mean(intercepts, axis=0))
        self.support_ = np.flatnonzero(self.coef_.any(axis=0))
        for name in CERTIFICATE:
            self.__dict__.pop(name, None)
        self.C_ = float(np.mean([self.grid_[k] for k, _ in best]))
        self.l1_ratio_ = float(np.mean([ratios[r] for _, r in best]))

    def score(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> float:
        """What `scoring` says of the predictions for X.

        Parameters
        ----------
        X : {array, sparse matrix} of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
        **params
            With metadata routing enabled, what the scorer requests.
        """
        _raise_for_params(params, self, "score")
        if sample_weight is not None:
            params["sample_weight"] = sample_weight
        if _routing_enabled():
            params = process_routing(self, "score", **params).scorer.score
        return float(self._scorer()(self, X, y, **params))


def places(Cs: Vector) -> Array:
    """Where each of them is on the sorted grid."""
    return np.argsort(np.argsort(Cs, kind="stable"))
