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

from shotgun.estimator import Array, SparseLinearModel, by_columns, lazily, warn_user
from shotgun.problem import Vector, check_count, check_number, check_vector
from shotgun.solve import lambda_max

# What ElasticNet.path takes beyond its own parameters.
PATH_PARAMETERS = {"sample_weight", "tol", "max_iter", "selection", "random_state"}


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
        return list(y.reshape(len(y), -1).T), None if weights is None else self._weigh(weights)

    def _weigh(self, weights: Vector) -> Vector:
        return np.asarray(weights * (len(weights) / weights.sum()))  # a mean, not a sum

    def _strength(self, n: int) -> float:
        return float(n * self.alpha)

    def _scale(self, n: int) -> float:
        return 1 / n

    @lazily
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
    precompute : bool or array of shape (n_features, n_features)
        Not used: what is needed of the Gram matrix is computed. One that is given is checked
        against X.
    copy_X
        Accepted and ignored: X is never written to.
    max_iter : int or None
        Most epochs; an epoch updates every feature of the working set once.
    tol : float
        Stop when the duality gap is at most `tol` times the objective at w = 0, precisely: F0 of
        :func:`shotgun.solve`.
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
    verbose : int
        1 prints a line for every round.
    callback : callable, optional
        Called with every round's row, a dict as in :func:`shotgun.solve`; returning True ends the
        fit. scikit-learn's callbacks (`set_callbacks`) see each round as a task.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
    sparse_coef_ : sparse matrix of shape (n_targets, n_features)
    intercept_ : float or ndarray of shape (n_targets,)
    support_ : ndarray
        Features with a weight that is not zero.
    dual_gap_ : float or ndarray of shape (n_targets,)
        Upper bound on the distance of the objective from its minimum, if `certificate_` says "gap".
    certificate_ : {"gap", "gradient"} or list of them
        "gradient" where weights without a penalty (alpha is 0, or the columns of factor 0 are
        nearly collinear) leave no duality gap: `dual_gap_` is then an estimate, and no bound.
        Models from files of an earlier version do not have it.
    objective_ : float or ndarray of shape (n_targets,)
        What is minimised, at the weights found; its distance from the minimum is at most
        `dual_gap_`, if `certificate_` says "gap".
    tolerance_ : float or ndarray of shape (n_targets,)
        What `dual_gap_` had to reach.
    screened_ : ndarray
        Features proved to have no weight in any solution.
    data_ : dict
        Shape, non-zeros and hash of the data, by which models tell what they were fitted to.
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
        verbose: int = 0,
        callback: Any = None,
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
        if self.alpha == 0:
            warn_user(
                "With alpha=0, this algorithm does not converge well. You are advised to use the "
                "LinearRegression estimator: where nothing is penalised there is no duality gap",
                UserWarning,
            )
        return super().fit(X, y, sample_weight, offset=offset)

    def _data(
        self, X: Any, y: Any, sample_weight: Any, reset: bool = True
    ) -> tuple[Any, list[Array], Vector | None]:
        X, targets, weights = super()._data(X, y, sample_weight, reset)
        if not isinstance(self.precompute, bool | np.bool_):
            check_gram(np.asarray(self.precompute), X, weights, self.fit_intercept)
        return X, targets, weights

    @staticmethod
    def path(
        X: Any,
        y: Any,
        *,
        l1_ratio: float = 0.5,
        eps: float = 1e-3,
        n_alphas: Any = "deprecated",
        alphas: Any = "warn",
        precompute: Any = "auto",
        Xy: Any = None,
        copy_X: bool = True,
        coef_init: Any = None,
        verbose: Any = False,
        return_n_iter: bool = False,
        positive: bool = False,
        check_input: bool = True,
        **params: Any,
    ) -> tuple[Any, ...]:
        """Fit for many alphas, without an intercept; :func:`shotgun.path` can do more.

        Parameters
        ----------
        X : {array, sparse matrix} of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        l1_ratio : float
            Share of the L1 norm in the penalty, above 0.
        eps : float
            The smallest alpha over the largest, where `alphas` is a number.
        n_alphas
            Deprecated as in scikit-learn: use `alphas`.
        alphas : int or array
            How many, from the one that makes all weights zero downwards; or which ones. By default
            100.
        return_n_iter : bool
            Also return the epochs.
        positive : bool
            Only weights >= 0.
        precompute, Xy, copy_X, coef_init, verbose, check_input
            Accepted and ignored.
        **params
            `sample_weight`, `tol`, `max_iter`, `selection` and `random_state`, as in `fit`.

        Returns
        -------
        alphas : ndarray of shape (n_alphas,)
            In decreasing order.
        coefs : ndarray of shape (n_features, n_alphas)
        dual_gaps : ndarray of shape (n_alphas,)
        n_iters : list of int
            If `return_n_iter`.
        """
        unknown = set(params) - PATH_PARAMETERS
        if unknown:
            raise ValueError(f"Unexpected parameters in params: {sorted(unknown)}")
        wanted, weights = path_alphas(alphas, n_alphas), params.pop("sample_weight", None)
        model = ElasticNet(l1_ratio=l1_ratio, positive=positive, fit_intercept=False, **params)
        model._validate_params()
        X, targets, weights = model._data(X, y, weights)
        if len(targets) > 1:
            raise ValueError("y must be a single target: there is no multi-task penalty")
        X, n = by_columns(X), X.shape[0]
        grid = alpha_grid(
            X, targets[0], wanted, eps, l1_ratio, weights=weights, bounds=model._bounds()
        )
        fits = model._path(X, targets[0], weights, n * grid)
        model._warn([fit for fit in fits if fit.status != "converged"], len(grid), n)
        answer = grid, fits.X.toarray().astype(X.dtype), fits.gaps / n
        return (*answer, fits.n_epochs.tolist()) if return_n_iter else answer


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
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        self._set(locals())


class SparseHuberRegressor(SparseRegressor):
    """Regression that outliers do not pull, with L1 and squared L2 penalties.

    Minimises, with weights s_i that sum to n (1 by default)::

        1 / n * sum_i s_i H(y_i - x_i'w - b)
        + alpha * l1_ratio * ||w||_1 + alpha * (1 - l1_ratio) / 2 * ||w||^2

    where H(r) is r^2 / 2 as far as ``|r| <= epsilon`` and ``epsilon * (|r| - epsilon / 2)`` beyond.
    Unlike scikit-learn's HuberRegressor it does not estimate a scale: epsilon is in units of y.

    Parameters not listed here, and all attributes, are those of :class:`shotgun.ElasticNet`.

    Parameters
    ----------
    alpha, l1_ratio : float
        Weight of the penalty, and the share of the L1 norm in it.
    epsilon : float
        Where the loss becomes linear.

    Examples
    --------
    >>> import numpy as np, shotgun
    >>> X = np.arange(10.0)[:, None]
    >>> y = 2 * X[:, 0]
    >>> y[9] = -100  # a gross error
    >>> model = shotgun.SparseHuberRegressor(alpha=0.01, epsilon=0.1).fit(X, y)
    >>> round(float(model.coef_[0]), 1)
    2.0
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
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        self._set(locals())


class SparsePoissonRegressor(SparseRegressor):
    """Counts with a log link, with L1 and squared L2 penalties.

    Minimises half the mean Poisson deviance and the penalty, as scikit-learn's PoissonRegressor
    (which is `l1_ratio=0`), with m_i = exp(x_i'w + b) and weights s_i that sum to n (1 by
    default)::

        1 / n * sum_i s_i (y_i log(y_i / m_i) - y_i + m_i)
        + alpha * l1_ratio * ||w||_1 + alpha * (1 - l1_ratio) / 2 * ||w||^2

    `predict` gives m, `score` the share of the deviance that is explained. An `offset` is the log
    of the exposure.

    Parameters not listed here, and all attributes, are those of :class:`shotgun.ElasticNet`.

    Parameters
    ----------
    alpha, l1_ratio : float
        Weight of the penalty, and the share of the L1 norm in it.

    Examples
    --------
    >>> import numpy as np, shotgun
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = shotgun.SparsePoissonRegressor(alpha=1e-4).fit(X, [1, 2, 4, 8])
    >>> model.predict([[4.0]]).round(1).tolist()
    [16.0]
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
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        self._set(locals())

    @lazily
    def predict(self, X: Any, *, offset: Any = None) -> Array:
        """Predict the mean count; parameters as in :meth:`ElasticNet.predict`."""
        return np.asarray(np.exp(self._predictor(X, offset)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags


def path_alphas(alphas: Any, n_alphas: Any) -> Any:
    """How many alphas a path has or which ones, after scikit-learn's deprecations."""
    if alphas is None or n_alphas != "deprecated":
        old = (
            "'alphas=None' is deprecated" if alphas is None else "'n_alphas' was deprecated in 1.9"
        )
        warn_user(
            f"{old} and will be removed in 1.11 of scikit-learn: pass a number as 'alphas'",
            FutureWarning,
        )
    if alphas is None or isinstance(alphas, str):
        return 100 if n_alphas == "deprecated" else n_alphas
    return alphas


def alpha_grid(
    X: Any, y: Array, alphas: Any, eps: float, l1_ratio: float, **problem: Any
) -> Vector:
    """The alphas themselves, decreasing: as given, or that many below the largest useful one."""
    if np.ndim(alphas) > 0:
        wanted = check_vector("alphas", alphas, np.size(alphas))
        if not wanted.size or wanted.min() < 0:
            raise ValueError(f"alphas must hold numbers >= 0, got {alphas}")
        return np.sort(wanted)[::-1]
    count = check_count("alphas", alphas)
    if check_number("eps", eps) == 0:
        raise ValueError("eps must be positive")
    if l1_ratio == 0:
        raise ValueError(
            "Automatic alpha grid generation is not supported for l1_ratio=0. Please supply a grid "
            "by providing your estimator with the appropriate `alphas=` argument."
        )
    largest = lambda_max(X, y, **problem) / (len(y) * l1_ratio)
    smallest = np.finfo(float).resolution
    if largest <= smallest:
        return np.full(count, smallest)
    return np.geomspace(largest, largest * eps, count)


def check_gram(gram: Array, X: Any, weights: Vector | None, fit_intercept: bool) -> None:
    """The shape of the Gram matrix that came with X, and of a dense X one entry."""
    d = X.shape[1]
    if gram.dtype.kind not in "fiub":
        raise TypeError(f"precompute must hold real numbers, not {gram.dtype}")
    if gram.shape != (d, d):
        raise ValueError(f"precompute must have shape ({d}, {d}), not {gram.shape}")
    if not isinstance(X, np.ndarray):
        return
    if fit_intercept and not np.allclose(np.average(X, axis=0, weights=weights), 0):
        warn_user(
            "Gram matrix was provided but X was centered to fit intercept: "
            "recomputing Gram matrix.",
            UserWarning,
        )
        return
    j = d // 2
    k = min(j + 1, d - 1)
    found = (X[:, j] if weights is None else weights * X[:, j]) @ X[:, k]
    close = 1e-4 if np.float32 in (gram.dtype, found.dtype) else 1e-7
    if not np.isclose(gram[j, k], found, rtol=close, atol=1e-5):
        raise ValueError(
            f"Gram matrix passed as 'precompute' did not pass validation: its element ({j}, {k}) "
            f"is {gram[j, k]}, that of X {found}"
        )
