"""What the scikit-learn estimators share: one fit, one prediction, one warning."""

from __future__ import annotations

import sys
import time
import warnings
from abc import abstractmethod
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import joblib
import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

import shotgun._core as _core
from shotgun.problem import Vector, check_vector
from shotgun.solve import ENGINES, Solution, solve

Array = np.ndarray[Any, Any]

FLOATS = (np.float64, np.float32)
NO_LIMIT = 100_000  # epochs, where max_iter is None


class SparseLinearModel(BaseEstimator):  # type: ignore[misc]
    """A linear model with an L1 penalty, fitted by :func:`shotgun.solve`.

    A subclass names its loss and states its problem by `_state` and `_strength`; the class
    attributes below stand in for parameters that it does not have.
    """

    l1_ratio: float | None = 1.0
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
        X, y = validate_data(self, X, y, accept_sparse=("csc", "csr"), dtype=FLOATS, **self._target)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
        targets, weights = self._state(y, weights)
        fits = self._solve(X, targets, weights, offset)
        self._keep(fits, X.dtype, self._scale(X.shape[0]))
        self._warn(fits, self._scale(X.shape[0]))
        return self

    def _solve(
        self, X: Any, targets: list[Array], weights: Vector | None, offset: Any
    ) -> list[Solution]:
        """One certified fit for each target, in turn: the threads are inside a fit."""
        if len(targets) > 1:  # converted once, not for each
            X = X.tocsc() if sp.issparse(X) else np.asfortranarray(X)
        n, d = X.shape
        options = self._options(n)
        end = np.inf if self.deadline is None else time.monotonic() + self.deadline
        starts = self._starts(len(targets), d)
        fits = []
        for target, start, known in zip(
            targets, starts, columns("offset", offset, n, len(targets)), strict=True
        ):
            left = None if self.deadline is None else max(0.0, end - time.monotonic())
            fits.append(
                solve(
                    X,
                    target,
                    loss=self._loss,
                    x0=start,
                    weights=weights,
                    offset=known,
                    deadline=left,
                    trace=True,
                    **options,
                )
            )
        return fits

    def _options(self, n: int) -> dict[str, Any]:
        """The parameters in the words of :func:`shotgun.solve`."""
        lam, l2 = self._penalty(n)
        return {
            "lam": lam,
            "l2": l2,
            "delta": self.epsilon,
            "engine": self.engine,
            "P": self.n_parallel,
            "n_threads": None if self.n_jobs is None else joblib.effective_n_jobs(self.n_jobs),
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
        assert ratio is not None
        return strength * ratio, strength * (1 - ratio)

    def _bounds(self) -> Any:
        if not self.positive:
            return self.bounds
        lo, hi = (None, None) if self.bounds is None else self.bounds
        return (0.0 if lo is None else np.maximum(lo, 0.0)), hi

    def _seed(self) -> int:
        """None is a seed like any other: the same data give the same bits."""
        if self.random_state is None:
            return 0
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _starts(self, k: int, d: int) -> Sequence[Any]:
        """Where the fits begin: the last answer, if that is asked for and fits."""
        coef: Any = getattr(self, "coef_", None) if self.warm_start else None
        if sp.issparse(coef):
            coef = coef.toarray()
        if coef is None or np.atleast_2d(coef).shape != (k, d):
            return [None] * k
        return list(np.atleast_2d(coef))

    def _keep(self, fits: list[Solution], dtype: Any, scale: float) -> None:
        """Everything that users read; of a single fit without the list."""
        coef = np.array([fit.x for fit in fits], dtype=dtype)
        self.coef_ = single(coef)
        self.intercept_ = single(np.array([fit.intercept for fit in fits], dtype=dtype))
        self.support_ = np.flatnonzero(coef.any(axis=0))
        self.dual_gap_ = single(np.array([scale * fit.gap for fit in fits]))
        self.n_iter_ = single([fit.n_epochs for fit in fits])
        self.status_ = single([fit.status for fit in fits])
        self.parallelism_ = single([parallelism(fit) for fit in fits])

    def _warn(self, fits: list[Solution], scale: float) -> None:
        """One warning, about the fit that is farthest from done."""
        open_ones = [fit for fit in fits if fit.status != "converged"]
        if not open_ones:
            return
        worst = max(open_ones, key=lambda fit: fit.gap - fit.tolerance)
        advice = {
            "max_epochs": f"Raise max_iter (now {self.max_iter}) or tol (now {self.tol:g}).",
            "deadline": f"Raise deadline (now {self.deadline} s) or tol (now {self.tol:g}).",
            "precision": f"No step lowers it in float64: raise tol (now {self.tol:g}).",
        }[worst.status]
        many = f" in {len(open_ones)} of {len(fits)} fits" if len(fits) > 1 else ""
        warnings.warn(
            f"{type(self).__name__} did not converge{many}: the duality gap is "
            f"{scale * worst.gap:.3g}, the tolerance {scale * worst.tolerance:.3g} "
            f"(tol times the objective without features). {advice}",
            ConvergenceWarning,
            stacklevel=user_level(),
        )

    def _predictor(self, X: Any, offset: Any) -> Array:
        """X @ coef_.T + intercept_ + offset."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse=("csr", "csc"), dtype=FLOATS, reset=False)
        scores = safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_
        if offset is not None:
            k = 1 if scores.ndim == 1 else scores.shape[1]
            known = np.column_stack(columns("offset", offset, len(scores), k))
            scores = scores + known.reshape(scores.shape)
        return np.asarray(scores)

    @abstractmethod
    def predict(self, X: Any, *, offset: Any = None) -> Array:
        """What the model expects for each row of X."""

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> float:
        """The score that scikit-learn gives models of this kind; `offset` as in `fit`."""
        prediction = self.predict(X, offset=offset)
        return float(type(self)._metric(y, prediction, sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.non_deterministic = self.engine == "asynchronous"
        return tags


def user_level() -> int:
    """For a function that warns: the `stacklevel` of the code that uses the estimator."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_globals["__name__"].split(".")[0] in ("shotgun", "sklearn"):
        level, frame = level + 1, frame.f_back
    return level


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


def parallelism(fit: Solution) -> dict[str, Any]:
    """Of the last working set whose spectral radius was found: rho and P*; what ran: P, engine."""
    known = [row for row in fit.trace if not np.isnan(row["rho"])]
    ideal = _core.ideal_p(known[-1]["working_set"], known[-1]["rho"]) if known else None
    return {"rho": fit.rho, "ideal_p": ideal, "P": fit.P, "engine": fit.engine}
