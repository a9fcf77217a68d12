"""What the scikit-learn estimators share: one fit, one prediction, one warning."""

from __future__ import annotations

import functools
import sys
import warnings
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from threading import current_thread, main_thread
from typing import Any, ClassVar, NamedTuple

import joblib
import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, _fit_context
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    check_X_y,
    validate_data,
)

from shotgun.inspection import Inspection
from shotgun.model import Persistent, fingerprint
from shotgun.parallelism import of_fit
from shotgun.path import Path, path
from shotgun.problem import Elsewhere, Vector, check_vector, on_cluster, settled, sound
from shotgun.progress import Progress, Row
from shotgun.solve import ENGINES, Solution, solve, until

Array = np.ndarray[Any, Any]
Predict = Callable[..., Any]

FLOATS = (np.float64, np.float32)
NO_LIMIT = 100_000  # epochs, where max_iter is None


class SparseLinearModel(
    Inspection,
    Persistent,
    CallbackSupportMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """A linear model with an L1 penalty, fitted by :func:`shotgun.solve`.

    A subclass names its loss and states its problem by `_state` and `_strength`; the class
    attributes below stand in for parameters that it does not have.
    """

    l1_ratio: Any = 1.0
    epsilon: float = 1.35
    positive: bool = False
    selection: str = "cyclic"

    _loss: ClassVar[str]
    _target: ClassVar[dict[str, bool]] = {}  # how y is checked
    _metric: ClassVar[Callable[..., float]]  # what score returns

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "fit_intercept": ["boolean"],
        "max_iter": [Interval(Integral, 0, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "penalty_factor": ["array-like", None],
        "bounds": ["array-like", None],
        "standardize": ["boolean"],
        "engine": [StrOptions(set(ENGINES))],
        "n_parallel": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "deadline": [Interval(Real, 0, None, closed="left"), None],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "callback": [callable, None],
    }

    def _set(self, parameters: dict[str, Any]) -> None:
        """Keep the arguments of `__init__` under their names, untouched."""
        for name in self._get_param_names():
            setattr(self, name, parameters[name])

    @abstractmethod
    def _state(self, y: Array, weights: Vector | None) -> tuple[list[Array], Vector | None]:
        """The targets, one for each fit, and the weights of the samples."""

    @abstractmethod
    def _strength(self, n: int) -> float:
        """The weight of the whole penalty against the sum of losses."""

    def _weigh(self, weights: Vector) -> Vector:
        """The weights of the samples in the sum of losses."""
        return weights

    def _scale(self, n: int) -> float:
        """The estimator's objective over that of :func:`shotgun.solve`."""
        return 1.0

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> Any:
        """Fit the model.

        Parameters
        ----------
        X : {array, sparse matrix} of shape (n_samples, n_features)
            float32 stays float32; Fortran order and CSC are read in place.
        y : array of shape (n_samples,)
            Targets; for least squares also (n_samples, n_targets).
        sample_weight : float or array of shape (n_samples,), optional
        offset : array of shape (n_samples,), optional
            Known part of the linear predictor. Shape (n_samples, n_fits) gives every target or
            class its own.

        Returns
        -------
        self
        """
        X, targets, weights = self._data(X, y, sample_weight)
        progress = Progress(self, X, y)
        fits = self._solve(X, targets, weights, offset, progress.rounds())
        self._keep(fits, X.dtype, self._scale(X.shape[0]))
        progress.end()
        self._warn([fit for fit in fits if fit.status != "converged"], len(fits), X.shape[0])
        return self

    def _data(
        self, X: Any, y: Any, sample_weight: Any, reset: bool = True
    ) -> tuple[Any, list[Array], Vector | None]:
        """X, the targets and their weights."""
        X, y, weights = self._check(X, y, sample_weight, reset)
        return X, *self._state(y, weights)

    def _check(
        self, X: Any, y: Any, sample_weight: Any, reset: bool = True
    ) -> tuple[Any, Array, Vector | None]:
        """X, y and the weights, checked; without `reset` against the fitted model."""
        X = sound(settled(X), "X")
        if isinstance(X, Elsewhere):
            validate_data(self, X, reset=reset, skip_check_array=True)
            _, y = check_X_y(np.zeros((X.shape[0], 1)), np.asarray(y), **self._target)
        else:
            X, y = validate_data(
                self, X, y, reset=reset, accept_sparse=("csc", "csr"), dtype=FLOATS, **self._target
            )
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
        if reset:
            self.data_ = fingerprint(X, y, weights)
        return X, y, weights

    def _solve(
        self,
        X: Any,
        targets: list[Array],
        weights: Vector | None,
        offset: Any,
        tell: Callable[[Row], bool] | None = None,
    ) -> list[Solution]:
        """One certified fit for each target, in turn: the threads are inside a fit."""
        left = until(self.deadline)
        if len(targets) > 1:  # converted once, not for each
            X = by_columns(X)
        n, d = X.shape
        options = self._options(n)
        starts = self._starts(len(targets), d)
        fits = []
        offsets = columns("offset", offset, n, len(targets))
        for target, start, o in zip(targets, starts, offsets, strict=True):
            fits.append(
                solve(
                    X,
                    target,
                    loss=self._loss,
                    x0=start,
                    weights=weights,
                    offset=o,
                    deadline=left(),
                    trace=True,
                    callback=tell,
                    **options,
                )
            )
        return fits

    def _fit_grid(
        self,
        X: Any,
        targets: list[Array],
        weights: Vector | None,
        offsets: list[Vector | None],
        strengths: Vector,
        **how: Any,
    ) -> GridFits:
        """Fits for a whole grid of strengths, each from where the last one ended."""
        [target], [offset] = targets, offsets
        return GridFits.of(self._path(X, target, weights, strengths, offset=offset, **how))

    def _path(
        self, X: Any, target: Array, weights: Vector | None, strengths: Vector, **how: Any
    ) -> Path:
        assert self.l1_ratio is not None
        options = self._options(X.shape[0]) | how | {"l2": strengths * (1 - self.l1_ratio)}
        del options["lam"]
        return path(
            X, target, strengths * self.l1_ratio, loss=self._loss, weights=weights, **options
        )

    def _options(self, n: int) -> dict[str, Any]:
        """The parameters in the words of :func:`shotgun.solve`."""
        lam, l2 = self._penalty(n)
        return {
            "lam": lam,
            "l2": l2,
            "delta": self.epsilon,
            "engine": self.engine,
            "P": self.n_parallel,
            "n_threads": threads(self.n_jobs),
            "tol": self.tol,
            "fit_intercept": self.fit_intercept,
            "standardize": self.standardize,
            "penalty_factor": self.penalty_factor,
            "bounds": self._bounds(),
            "order": self.selection,
            "max_epochs": NO_LIMIT if self.max_iter is None else self.max_iter,
            "seed": self._seed(),
        }

    def _penalty(self, n: int) -> tuple[float, float]:
        """lam and l2."""
        strength, ratio = self._strength(n), self.l1_ratio
        return strength * ratio, strength * (1 - ratio)

    def _bounds(self) -> Any:
        if not self.positive:
            return self.bounds
        lo, hi = (None, None) if self.bounds is None else self.bounds
        return (0.0 if lo is None else np.maximum(lo, 0.0)), hi

    def _seed(self) -> int:
        """A number is the seed itself; None is one like any other: the same data, the same bits."""
        if self.random_state is None:
            return 0
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _starts(self, k: int, d: int) -> Sequence[Any]:
        """Where the fits begin: the last answer, if that is asked for and fits."""
        coef: Any = getattr(self, "coef_", None) if self.warm_start else None
        if sp.issparse(coef):
            coef = coef.toarray()
        if coef is None or np.atleast_2d(coef).shape != (k, d):
            return [None] * k
        return list(np.atleast_2d(coef))

    def _place(self, coef: Array, intercept: Array) -> None:
        """The weights of all fits, in the shapes that scikit-learn gives them."""
        self.coef_, self.intercept_ = single(coef), single(intercept)

    def _keep(self, fits: list[Solution], dtype: Any, scale: float) -> None:
        """Everything that users read; of a single fit without the list."""
        coef = np.vstack([fit.x for fit in fits]).astype(dtype)
        self._place(coef, np.hstack([fit.intercept for fit in fits]).astype(dtype))
        self.support_ = np.flatnonzero(coef.any(axis=0))
        screened: list[Any] = [fit.screened for fit in fits]
        self.screened_ = np.flatnonzero(np.all(screened, axis=0))
        self.objective_ = single(np.array([scale * fit.objective for fit in fits]))
        self.dual_gap_ = single(np.array([scale * fit.gap for fit in fits]))
        self.certificate_ = single([fit.certificate for fit in fits])
        self.tolerance_ = single(np.array([scale * fit.tolerance for fit in fits]))
        self.n_iter_ = single([fit.n_epochs for fit in fits])
        self.status_ = single([fit.status for fit in fits])
        self.parallelism_ = single([of_fit(fit) for fit in fits])

    def _warn(self, unfinished: Sequence[Solution | Unfinished], n_fits: int, n: int) -> None:
        """One warning, about the fit that is farthest from done."""
        unfinished = [fit for fit in unfinished if fit.status != "stopped"]  # as was wished
        if not unfinished:
            return
        worst, scale = max(unfinished, key=lambda fit: fit.gap - fit.tolerance), self._scale(n)
        tol = f"tol (now {self.tol:g})"
        advice = {
            "max_epochs": f"the number of iterations (max_iter, now {self.max_iter}) or {tol}.",
            "deadline": f"deadline (now {self.deadline} s) or {tol}.",
            "precision": f"{tol}: no step lowers the objective in float64.",
        }[worst.status]
        many = f" in {len(unfinished)} of {n_fits} fits" if n_fits > 1 else ""
        what = "duality gap" if worst.certificate == "gap" else "estimate of the gap"
        warn_user(
            f"Objective did not converge. You might want to increase {advice} "
            f"The {what} of {type(self).__name__}{many} is {scale * worst.gap:.3g}, the "
            f"tolerance {scale * worst.tolerance:.3g} (tol times the objective without features).",
            ConvergenceWarning,
        )

    def _predictor(self, X: Any, offset: Any) -> Array:
        """X @ coef_.T + intercept_ + offset."""
        check_is_fitted(self)
        if isinstance(X, Elsewhere):
            validate_data(self, X, reset=False, skip_check_array=True)
        else:
            X = sound(X, "X")
            X = validate_data(self, X, accept_sparse=("csr", "csc"), dtype=FLOATS, reset=False)
        scores = safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_
        if offset is not None:
            k = 1 if scores.ndim == 1 else scores.shape[1]
            offsets = np.column_stack(columns("offset", offset, len(scores), k))
            scores = scores + offsets.reshape(scores.shape)
        return np.asarray(scores)

    @abstractmethod
    def predict(self, X: Any, *, offset: Any = None) -> Array:
        """What the model expects for each row of X."""

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> float:
        """The score that scikit-learn gives models of this kind; `offset` as in `fit`."""
        y, prediction = np.asarray(y), np.asarray(self.predict(X, offset=offset))
        return float(type(self)._metric(y, prediction, sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.non_deterministic = self.engine == "asynchronous"
        return tags


def lazily(predict: Predict) -> Predict:
    """Of a matrix on a cluster: a Dask array of the same, each shard in its turn."""

    @functools.wraps(predict)
    def of_any(self: Any, X: Any, *, offset: Any = None) -> Any:
        if not on_cluster(X):
            return predict(self, X, offset=offset)
        from shotgun.dask import map_rows

        d = getattr(self, "n_features_in_", None)
        return map_rows(functools.partial(predict, self), X, offset, d)

    return of_any


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn of the line of the code that uses the estimator."""
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals["__name__"].split(".")[0] in ("shotgun", "sklearn"):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


class Unfinished(NamedTuple):
    """A fit that did not converge, without its weights: there may be many of them."""

    status: str
    gap: float
    certificate: str
    tolerance: float

    @classmethod
    def of(cls, fit: Any) -> Unfinished:
        return cls(fit.status, fit.gap, fit.certificate, fit.tolerance)


@dataclass(frozen=True)
class GridFits:
    """Fits along a grid of strengths of the penalty; the grid is the first axis."""

    coefs: list[sp.csc_array]  # (n_features, n_grid), one for each target or class
    intercepts: Array  # (n_grid, n_targets)
    n_iter: Array  # (n_grid,)
    unfinished: list[Unfinished]

    def __len__(self) -> int:
        return len(self.n_iter)

    @classmethod
    def of(cls, path: Path) -> GridFits:
        """A path of a single target."""
        unfinished = [facts for facts in path._facts if facts["status"] != "converged"]
        known = Unfinished._fields
        return cls(
            coefs=[path.X],
            intercepts=path.intercepts[:, None],
            n_iter=path.n_epochs,
            unfinished=[Unfinished(**{k: facts[k] for k in known}) for facts in unfinished],
        )


def threads(n_jobs: int | None) -> int | None:
    """How many a fit may have; None for the default, which knows nothing of joblib's threads."""
    if n_jobs is not None:
        return int(joblib.effective_n_jobs(n_jobs))
    backend, _ = joblib.parallel.get_active_backend()
    beside_others = backend.nesting_level and current_thread() is not main_thread()
    return 1 if beside_others else None


def by_columns(X: Any) -> Any:
    """X in the order in which fits read it."""
    if isinstance(X, Elsewhere):
        return X
    return X.tocsc() if sp.issparse(X) else np.asfortranarray(X)


def single(values: Any) -> Any:
    """The only value, or all of them."""
    return values[0] if len(values) == 1 else values


def columns(name: str, values: Any, n: int, k: int) -> list[Any]:
    """One vector for each of k fits: the columns of a matrix, or the same vector for all."""
    if values is None:
        return [None] * k
    array = np.asarray(values)
    if array.ndim < 2:
        return [check_vector(name, array, n)] * k
    if array.shape != (n, k):
        raise ValueError(f"{name} must have shape ({n},) or ({n}, {k}), not {array.shape}")
    return [check_vector(name, column, n) for column in array.T]
