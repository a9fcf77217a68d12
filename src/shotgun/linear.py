"""Sparse regression in scikit-learn's form: Lasso, ElasticNet, Huber and Poisson."""

from __future__ import annotations

from functools import partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.metrics import d2_tweedie_score, r2_score
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metadata_routing import UNUSED

from shotgun.estimator import Array, SparseLinearModel
from shotgun.problem import Vector


class SparseRegressor(RegressorMixin, SparseLinearModel):  # type: ignore[misc]
    """Mean loss + alpha * (l1_ratio * ||w||_1 + (1 - l1_ratio) / 2 * ||w||^2)."""

    _target: ClassVar[dict[str, bool]] = {"y_numeric": True}
    _metric = staticmethod(r2_score)
    score = SparseLinearModel.score  # with an offset, which the mixin's has not

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SparseLinearModel._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="left")],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
    }

    def _state(self, y: Array, weights: Vector | None) -> tuple[list[Array], Vector | None]:
        if weights is not None:  # a mean does not see their scale, a sum does
            weights = weights * (len(weights) / weights.sum())
        return list(y.reshape(len(y), -1).T), weights

    def _strength(self, n: int) -> float:
        return float(n * self.alpha)

    def _scale(self, n: int) -> float:
        return 1 / n

    def predict(self, X: Any, *, offset: Any = None) -> Array:
        """Predict the target.

        Parameters
        ----------
        X : {array, sparse matrix} of shape (n_samples, n_features)
        offset : array, optional
            Known part of the linear predictor, as in `fit`.
        """
        return self._predictor(X, offset)

    @property
    def sparse_coef_(self) -> Any:
        """`coef_` as a sparse matrix with one row for each target."""
        return sp.csr_matrix(np.atleast_2d(self.coef_))


class ElasticNet(MultiOutputMixin, SparseRegressor):  # type: ignore[misc]
    """Least squares with L1 and squared L2 penalties.

    Minimises, with weights s_i that sum to n (1 by default)::

        1 / (2 n) * sum_i s_i (y_i - x_i'w - b)^2
        + alpha * l1_ratio * ||w||_1 + alpha * (1 - l1_ratio) / 2 * ||w||^2

    Parameters
    ----------
    alpha, l1_ratio : float
        Weight of the penalty, and the share of the L1 norm in it.
    fit_intercept : bool
        Fit b, unpenalised.
    precompute, copy_X
        Accepted and ignored: X is never written to.
    max_iter : int or None
        Most epochs; an epoch updates every feature of the working set once.
    tol : float
        Stop when the duality gap is at most `tol` times the objective at w = 0.
    warm_start : bool
        Begin at the `coef_` of the last fit.
    positive : bool
        Only weights >= 0.
    random_state : int, RandomState or None
        Of the random order; None gives the same answer every time.
    selection : {"cyclic", "random"}
        Order of the updates, for the engines that have one.
    penalty_factor, bounds, standardize, engine, deadline
        As in :func:`shotgun.solve`; the deadline, in seconds, is for all targets together.
    n_parallel : int or "auto"
        Weights updated at once.
    n_jobs : int, optional
        Threads; by default what threadpoolctl, joblib or OMP_NUM_THREADS leave.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
    sparse_coef_ : sparse matrix of shape (n_targets, n_features)
    intercept_ : float or ndarray of shape (n_targets,)
    support_ : ndarray
        Features with a weight that is not zero.
    dual_gap_ : float or ndarray of shape (n_targets,)
        Upper bound on the distance of the objective from its minimum.
    n_iter_ : int or list of int
        Epochs.
    status_ : str or list of str
        As in :class:`shotgun.Solution`.
    parallelism_ : dict or list of dict
        `rho` and `ideal_p` of the last working set where known; `P` and `engine` that ran.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> import shotgun
    >>> model = shotgun.ElasticNet(alpha=0.1).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> model.status_
    'converged'
    """

    __metadata_request__fit: ClassVar[dict[str, str]] = {"check_input": UNUSED}

    _loss = "squared"
    _target: ClassVar[dict[str, bool]] = {"y_numeric": True, "multi_output": True}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SparseRegressor._parameter_constraints,
        "precompute": ["boolean", "array-like"],
        "copy_X": ["boolean"],
        "positive": ["boolean"],
        "selection": [StrOptions({"cyclic", "random"})],
    }

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        precompute: Any = False,
        max_iter: int | None = 1000,
        copy_X: bool = True,
        tol: float = 1e-6,
        warm_start: bool = False,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
        penalty_factor: Any = None,
        bounds: Any = None,
        standardize: bool = False,
        engine: str = "auto",
        n_parallel: int | str = "auto",
        deadline: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self._set(locals())

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        check_input: bool = True,
        *,
        offset: Any = None,
    ) -> Any:
        """Fit the model.

        Parameters
        ----------
        X : {array, sparse matrix} of shape (n_samples, n_features)
            float32 stays float32; Fortran order and CSC are read in place.
        y : array of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : float or array of shape (n_samples,), optional
            Only their proportions count.
        check_input : bool
            Accepted and ignored.
        offset : array of shape (n_samples,) or (n_samples, n_targets), optional
            Known part of the predictor.
        """
        return super().fit(X, y, sample_weight, offset=offset)


class Lasso(ElasticNet):
    """Least squares with an L1 penalty.

    Minimises, with weights s_i that sum to n (1 by default)::

        1 / (2 n) * sum_i s_i (y_i - x_i'w - b)^2 + alpha * ||w||_1

    Parameters and attributes are those of :class:`ElasticNet`, less `l1_ratio`.

    Examples
    --------
    >>> import shotgun
    >>> model = shotgun.Lasso(alpha=0.1).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> model.coef_.round(3).tolist(), round(float(model.intercept_), 3)
    ([0.85], 0.15)
    """

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        fit_intercept: bool = True,
        precompute: Any = False,
        copy_X: bool = True,
        max_iter: int | None = 1000,
        tol: float = 1e-6,
        warm_start: bool = False,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
        penalty_factor: Any = None,
        bounds: Any = None,
        standardize: bool = False,
        engine: str = "auto",
        n_parallel: int | str = "auto",
        deadline: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self._set(locals())


class SparseHuberRegressor(SparseRegressor):
    """Regression that outliers do not pull, with L1 and squared L2 penalties.

    Minimises, with weights s_i that sum to n (1 by default)::

        1 / n * sum_i s_i H(y_i - x_i'w - b)
        + alpha * l1_ratio * ||w||_1 + alpha * (1 - l1_ratio) / 2 * ||w||^2

    where H(r) = r^2 / 2 up to |r| = epsilon and epsilon * (|r| - epsilon / 2) beyond. Unlike
    scikit-learn's HuberRegressor it does not estimate a scale: epsilon is in units of y.

    Parameters
    ----------
    alpha, l1_ratio : float
        Weight of the penalty, and the share of the L1 norm in it.
    epsilon : float
        Where the loss becomes linear.

    The others, and the attributes, are those of :class:`ElasticNet`.
    """

    _loss = "huber"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SparseRegressor._parameter_constraints,
        "epsilon": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        epsilon: float = 1.35,
        l1_ratio: float = 1.0,
        fit_intercept: bool = True,
        max_iter: int | None = 1000,
        tol: float = 1e-6,
        warm_start: bool = False,
        random_state: Any = None,
        penalty_factor: Any = None,
        bounds: Any = None,
        standardize: bool = False,
        engine: str = "auto",
        n_parallel: int | str = "auto",
        deadline: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self._set(locals())


class SparsePoissonRegressor(SparseRegressor):
    """Counts with a log link, with L1 and squared L2 penalties.

    Minimises half the mean Poisson deviance and the penalty, as scikit-learn's PoissonRegressor
    (which is `l1_ratio=0`), with m_i = exp(x_i'w + b) and weights s_i that sum to n (1 by
    default)::

        1 / n * sum_i s_i (y_i log(y_i / m_i) - y_i + m_i)
        + alpha * l1_ratio * ||w||_1 + alpha * (1 - l1_ratio) / 2 * ||w||^2

    `predict` gives m, `score` the share of the deviance that is explained.

    Parameters
    ----------
    alpha, l1_ratio : float
        Weight of the penalty, and the share of the L1 norm in it.

    The others, and the attributes, are those of :class:`ElasticNet`. An `offset` is the log of the
    exposure.
    """

    _loss = "poisson"
    _metric = staticmethod(partial(d2_tweedie_score, power=1))

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        l1_ratio: float = 1.0,
        fit_intercept: bool = True,
        max_iter: int | None = 1000,
        tol: float = 1e-6,
        warm_start: bool = False,
        random_state: Any = None,
        penalty_factor: Any = None,
        bounds: Any = None,
        standardize: bool = False,
        engine: str = "auto",
        n_parallel: int | str = "auto",
        deadline: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self._set(locals())

    def predict(self, X: Any, *, offset: Any = None) -> Array:
        """Predict the mean count; parameters as in :meth:`ElasticNet.predict`."""
        return np.asarray(np.exp(self._predictor(X, offset)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags
