"""Which features, and how sure: stability selection and the debiased Lasso."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral, Real
from threading import Event
from typing import Any, ClassVar, TypeVar

import numpy as np
import scipy.sparse as sp
from scipy.stats import norm
from sklearn.base import BaseEstimator, _fit_context, clone, is_classifier
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from shotgun._threads import one_blas_thread
from shotgun.estimator import FLOATS, Array, SparseLinearModel, threads
from shotgun.inspection import PathProblem, names_of, optional
from shotgun.linear import Lasso
from shotgun.problem import Vector, check_number, check_threads, sound
from shotgun.progress import Row
from shotgun.selection import side_by_side
from shotgun.solve import solve

T = TypeVar("T")
Item = TypeVar("Item")
Stops = Callable[[Row], bool]  # a fit's callback


def spread(task: Callable[[Item, Stops], T], items: Sequence[Item], n_jobs: int | None) -> list[T]:
    """The task for every item, in order, on as many threads; the core lets them run at once.

    A task gives its fits the callback that it is given: it ends them once another task has failed.
    """
    stop = Event()
    workers = max(1, min(check_threads(threads(n_jobs)), len(items)))
    return side_by_side(
        lambda k: task(items[k], lambda _: stop.is_set()),
        lambda _, found: found,
        len(items),
        workers,
        stop,
    )


class StabilitySelection(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    r"""Select the features that most halves of the samples agree on.

    An L1 path is fitted to each of `n_pairs` random pairs of disjoint halves of the samples. With
    the share :math:`\Pi_j(\lambda)` of all halves in which feature j has a weight at
    :math:`\lambda`, those features are selected whose

    .. math:: \max_{\lambda \in \Lambda} \Pi_j(\lambda) \ge \pi

    where :math:`\pi` is the `threshold`. If q features on average have a weight somewhere on
    :math:`\Lambda`, then the expected number of selected features that a half picks with at most
    the chance q/d is at most

    .. math:: \frac{q^2}{(2 \pi - 1) d}

    [2]_; under the assumptions of [1]_ these are the features without influence. :math:`\Lambda`
    is the upper part of the path, as far as this bound is at most `max_false`.

    Parameters
    ----------
    estimator : estimator of this package, optional
        Its loss, `l1_ratio` and other parameters are used, but not its `alpha` or `C`. Default:
        :class:`shotgun.Lasso`. With several classes or targets a feature counts if it has a weight
        for any of them.
    threshold : float
        In (0.5, 1].
    max_false : float, optional
        The bound to keep to. None takes the whole path.
    n_pairs : int
        Pairs of halves; a classifier's halves keep the proportions of the classes.
    n_lams, eps : int, float
        Of the path, as in :func:`shotgun.path`.
    random_state : int, RandomState or None
        Of the halves.
    n_jobs : int, optional
        Threads, each of which fits a path of its own; the answer does not depend on it.

    Attributes
    ----------
    stability_path_ : sparse array of shape (n_features, n_lams), CSC
        :math:`\Pi_j(\lambda)`.
    lams_ : ndarray of shape (n_lams,)
        Weights of the L1 norm against the sum of losses of one half.
    n_lams_ : int
        How many of them, from the first, are in :math:`\Lambda`.
    mean_size_ : float
        q above.
    scores_ : ndarray of shape (n_features,)
        The maxima above.
    expected_false_ : float
        The bound above.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    References
    ----------
    .. [1] N. Meinshausen, P. Bühlmann: Stability selection. Journal of the Royal Statistical
       Society B 72 (2010), 417-473.
    .. [2] R. D. Shah, R. J. Samworth: Variable selection with error control: another look at
       stability selection. Journal of the Royal Statistical Society B 75 (2013), 55-80.

    Examples
    --------
    >>> import numpy as np, shotgun
    >>> X = np.random.default_rng(0).normal(size=(100, 50))
    >>> y = X[:, 3] - X[:, 7] + np.sin(5 * X[:, 20])
    >>> shotgun.StabilitySelection(random_state=0).fit(X, y).get_support(indices=True).tolist()
    [3, 7]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "relaxed"]), None],
        "threshold": [Interval(Real, 0.5, 1, closed="right")],
        "max_false": [Interval(Real, 0, None, closed="neither"), None],
        "n_pairs": [Interval(Integral, 1, None, closed="left")],
        "n_lams": [Interval(Integral, 1, None, closed="left")],
        "eps": [Interval(Real, 0, 1, closed="neither")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        estimator: SparseLinearModel | None = None,
        *,
        threshold: float = 0.75,
        max_false: float | None = 1.0,
        n_pairs: int = 50,
        n_lams: int = 50,
        eps: float = 0.05,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.threshold = threshold
        self.max_false = max_false
        self.n_pairs = n_pairs
        self.n_lams = n_lams
        self.eps = eps
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, *, offset: Any = None) -> StabilitySelection:
        """Fit the paths and find the stable features.

        Parameters
        ----------
        X : {array, sparse matrix} of shape (n_samples, n_features)
            Read in place by all fits where it is in Fortran order or CSC, else converted once.
        y : array of shape (n_samples,) or (n_samples, n_targets)
        offset : array of shape (n_samples,) or (n_samples, n_fits), optional
            Known part of the linear predictor.
        """
        validate_data(self, X, y, skip_check_array=True)  # names and number of features
        model = Lasso() if self.estimator is None else clone(self.estimator)
        problem = PathProblem.of(model, X, y, None, offset)
        targets = np.column_stack(problem.targets)
        weights = np.ones(len(targets)) if problem.weights is None else problem.weights
        classes = 1 + np.arange(targets.shape[1]) if is_classifier(model) else 0 * targets[0]
        groups = targets @ classes
        halves = random_halves(groups, self.n_pairs, check_random_state(self.random_state))
        self.lams_ = problem.lambda_max(weights / 2) * np.geomspace(1, self.eps, self.n_lams)

        def selected(half: Array, stops: Stops) -> sp.csr_array:
            coefs = problem.coefs(self.lams_, weights * half, n_threads=1, callback=stops)
            return sp.csr_array(sum(map(abs, coefs)) > 0)

        self._count(spread(selected, halves, self.n_jobs))
        return self

    def _count(self, chosen: list[sp.csr_array]) -> None:
        """From the features of each half to those that are stable."""
        d = chosen[0].shape[0]
        self.stability_path_ = sp.csc_array(sum(each.astype(np.float64) for each in chosen))
        self.stability_path_.data /= len(chosen)
        sizes = np.mean([seen_so_far(each) for each in chosen], axis=0)
        bounds = sizes**2 / ((2 * self.threshold - 1) * d)
        limit = np.inf if self.max_false is None else self.max_false
        self.n_lams_ = int(np.searchsorted(bounds, limit, side="right"))
        self.scores_ = np.zeros(d)
        self.mean_size_ = self.expected_false_ = 0.0
        if self.n_lams_:
            last = self.n_lams_ - 1
            self.scores_ = self.stability_path_[:, : self.n_lams_].max(axis=1).toarray().ravel()
            self.mean_size_, self.expected_false_ = float(sizes[last]), float(bounds[last])

    def _get_support_mask(self) -> Array:
        check_is_fitted(self)
        return np.asarray(self.scores_ >= self.threshold)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


def random_halves(groups: Array, n_pairs: int, random: Any) -> list[Array]:
    """Pairs of disjoint halves, as weights 0 and 1, each with half of every group."""
    members = [np.flatnonzero(groups == group) for group in np.unique(groups)]
    if min(map(len, members)) < 2:
        raise ValueError("y has a class of 1 sample: each half of the samples needs one of it")
    halves: list[Array] = []
    for _ in range(n_pairs):
        pair = np.zeros((2, len(groups)))
        for rows in map(random.permutation, members):
            size = len(rows) // 2
            pair[0, rows[:size]] = pair[1, rows[size : 2 * size]] = 1
        halves.extend(pair)
    return halves


def seen_so_far(chosen: sp.csr_array) -> Array:
    """How many rows have an entry in one of the first k + 1 columns, for every k."""
    chosen.sort_indices()
    first = chosen.indices[chosen.indptr[:-1][np.diff(chosen.indptr) > 0]]
    return np.cumsum(np.bincount(first, minlength=chosen.shape[1]))


class DebiasedLasso(BaseEstimator):  # type: ignore[misc]
    r"""Confidence intervals and p-values for the coefficients of a linear model, d > n or not.

    The weights :math:`\hat\beta` are those of the Lasso, refitted by least squares on its support.
    For feature j the residual :math:`z_j` of the Lasso of :math:`x_j` on all other features is
    nearly orthogonal to these, so that

    .. math:: b_j = \hat\beta_j + \frac{z_j' (y - X \hat\beta)}{z_j' x_j}, \qquad
              \frac{b_j - \beta_j}{s_j} \to N(0, 1), \qquad
              s_j = \hat\sigma \frac{\|z_j\|}{|z_j' x_j|}

    [1]_ [2]_ [3]_, if the coefficients that matter are far fewer than :math:`\sqrt n / \log d` and
    the noise has the same variance everywhere. The bias left is at most

    .. math:: s_j \eta_j \frac{\|\hat\beta - \beta\|_1}{\hat\sigma}, \qquad
              \eta_j = \max_{k \ne j} \frac{|z_j' x_k|}{\|z_j\|}

    for columns of unit variance. The penalty of :math:`x_j`'s Lasso is lowered, from the one with
    :math:`\eta_j \le \sqrt{2 \log d}`, until this is a quarter of :math:`s_j`, the 1-norm being
    estimated by what the refit moved, its standard errors and one missed weight; or until half as
    many features as samples take part. Where n >= 5 d it is zero from the start: then b is
    ordinary least squares, without bias.

    Parameters
    ----------
    features : array, optional
        The features of interest: numbers, names or a mask. Default: all.
    noise : {"scaled", "cv"} or float
        The level :math:`\sigma` of the noise, and with it the Lasso: "scaled" is the scaled Lasso
        [4]_, whose penalty is :math:`\hat\sigma \sqrt{2 n \log d}`; "cv" the one that
        cross-validation chooses, not refitted; a number is the known level. An estimate is
        :math:`\|y - X \hat\beta\|^2` over the samples less the weights that are not zero.
    fit_intercept : bool
    tol : float
        Of every fit, as in :func:`shotgun.solve`.
    n_jobs : int, optional
        Threads, each of which treats a feature of its own; the answer does not depend on it.

    Attributes
    ----------
    features_ : ndarray of shape (k,)
        The numbers of the features of interest.
    coef_, se_, z_, p_values_ : ndarray of shape (k,)
        :math:`b_j`, :math:`s_j`, their ratio, and the two-sided p-value of :math:`\beta_j = 0`, not
        corrected for the number of features. The standard error of a constant feature is infinite.
    noise_ : float
        :math:`\hat\sigma`.
    lasso_coef_, lasso_intercept_ : ndarray of shape (n_features,), float
        The Lasso.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    References
    ----------
    .. [1] C.-H. Zhang, S. S. Zhang: Confidence intervals for low dimensional parameters in high
       dimensional linear models. Journal of the Royal Statistical Society B 76 (2014), 217-242.
    .. [2] S. van de Geer, P. Bühlmann, Y. Ritov, R. Dezeure: On asymptotically optimal confidence
       regions and tests for high-dimensional models. Annals of Statistics 42 (2014), 1166-1202.
    .. [3] A. Javanmard, A. Montanari: Confidence intervals and hypothesis testing for
       high-dimensional regression. Journal of Machine Learning Research 15 (2014), 2869-2909.
    .. [4] T. Sun, C.-H. Zhang: Scaled sparse linear regression. Biometrika 99 (2012), 879-898.

    Examples
    --------
    >>> import numpy as np, shotgun
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 200))
    >>> y = 2 * X[:, 5] + rng.normal(size=100)
    >>> model = shotgun.DebiasedLasso(features=[5, 6]).fit(X, y)
    >>> (model.p_values_ < 0.001).tolist()
    [True, False]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "features": ["array-like", None],
        "noise": [StrOptions({"scaled", "cv"}), Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        features: Any = None,
        *,
        noise: str | float = "scaled",
        fit_intercept: bool = True,
        tol: float = 1e-6,
        n_jobs: int | None = None,
    ) -> None:
        self.features = features
        self.noise = noise
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any) -> DebiasedLasso:
        """Fit the Lasso, and one path for each feature of interest.

        Parameters
        ----------
        X : {array, sparse matrix} of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        """
        X, y = validate_data(
            self,
            sound(X, "X"),
            y,
            accept_sparse=("csc", "csr"),
            dtype=FLOATS,
            y_numeric=True,
            ensure_min_samples=2,
        )
        X = X.tocsc() if sp.issparse(X) else np.asfortranarray(X)
        y = y.astype(np.float64)
        self.features_ = self._chosen_features()
        with one_blas_thread():
            self.lasso_coef_, self.lasso_intercept_ = self._lasso(X, y)
            start, residual, error = self._start(X, y)

            def debias(j: int, stops: Stops) -> tuple[float, float]:
                return self._debias(X, residual, error, j, stops)

            pairs = spread(debias, self.features_.tolist(), self.n_jobs)
        shift, self.se_ = np.array(pairs).reshape(-1, 2).T
        self.coef_ = start[self.features_] + shift
        with np.errstate(divide="ignore", invalid="ignore"):  # without noise nothing is uncertain
            self.z_ = np.where(self.coef_ == 0, 0.0, self.coef_ / self.se_)
        self.p_values_ = 2 * norm.sf(np.abs(self.z_))
        return self

    def _chosen_features(self) -> Array:
        """The numbers of the features of interest."""
        numbers = np.arange(self.n_features_in_)
        if self.features is None:
            return numbers
        features = np.asarray(self.features)
        if features.dtype.kind in "UO":
            names = {name: j for j, name in enumerate(getattr(self, "feature_names_in_", ()))}
            unknown = [name for name in features.tolist() if name not in names]
            if unknown:
                raise ValueError(f"features must be names of columns of X; unknown: {unknown[0]!r}")
            return np.array([names[name] for name in features])
        try:
            return np.atleast_1d(numbers[features])
        except IndexError as error:
            raise ValueError(f"features must be columns of X: {error}") from None

    def _options(self) -> dict[str, Any]:
        return {"fit_intercept": self.fit_intercept, "standardize": True, "tol": self.tol}

    def _universal(self) -> float:
        """sqrt(2 log d)."""
        return float(np.sqrt(2 * np.log(max(2, self.n_features_in_))))

    def _lasso(self, X: Any, y: Vector) -> tuple[Vector, float]:
        """The weights and the intercept of the Lasso."""
        if self.noise == "cv":
            from shotgun.linear_cv import LassoCV

            model = LassoCV(n_jobs=self.n_jobs, **self._options()).fit(X, y)
            return model.coef_.astype(np.float64), float(model.intercept_)
        known = self.noise != "scaled"
        start = None
        length = float(self.noise * np.sqrt(len(y))) if known else _length(y, self.fit_intercept)
        for _ in range(1 if known else 100):
            fit = solve(X, y, self._universal() * length, x0=start, **self._options())
            start, last = fit.x, length
            length = float(np.linalg.norm(y - X @ fit.x - fit.intercept))
            if length >= (1 - 1e-4) * last:
                break
        return fit.x, fit.intercept

    def _start(self, X: Any, y: Vector) -> tuple[Vector, Vector, float]:
        """The weights to debias, their residual, and an estimate of their error."""
        support = np.flatnonzero(self.lasso_coef_)
        columns = X[:, support].toarray() if sp.issparse(X) else X[:, support].astype(np.float64)
        if self.fit_intercept:
            columns, y = columns - columns.mean(axis=0), y - y.mean()
        inverse, lasso = np.linalg.pinv(columns), self.lasso_coef_[support]
        refit = inverse @ y
        weights = lasso if self.noise == "cv" else refit
        start, residual = np.zeros(X.shape[1]), y - columns @ weights
        start[support] = weights
        self.noise_ = self._level(residual) if isinstance(self.noise, str) else float(self.noise)
        errors = np.abs(refit - lasso) + self.noise_ * np.linalg.norm(inverse, axis=1)
        missed = self.noise_ * self._universal() / np.sqrt(len(y))
        return start, residual, float(errors @ columns.std(axis=0)) + missed

    def _level(self, residual: Vector) -> float:
        """The standard deviation of what the support of the Lasso leaves."""
        free = len(residual) - int(np.count_nonzero(self.lasso_coef_)) - self.fit_intercept
        return float(np.linalg.norm(residual) / np.sqrt(max(free, 1)))

    def _debias(
        self, X: Any, residual: Vector, error: float, j: int, stops: Stops
    ) -> tuple[float, float]:
        """What to add to the Lasso's weight of feature j, and the standard error of the sum."""
        x = (X[:, [j]].toarray().ravel() if sp.issparse(X) else X[:, j]).astype(np.float64)
        size = _length(x, self.fit_intercept)
        if size <= 1e-10 * np.linalg.norm(x):
            return 0.0, np.inf
        others = np.ones(X.shape[1])
        others[j] = np.inf
        how = {"penalty_factor": others, "n_threads": 1, "callback": stops, **self._options()}
        gamma = None
        many = len(x) >= 5 * X.shape[1]
        for lam in [0.0] if many else self._universal() * size * np.geomspace(1, 1e-4, 46):
            fit = solve(X, x, lam, x0=gamma, **how)
            gamma, z = fit.x, x - X @ fit.x - fit.intercept
            length = float(np.linalg.norm(z))
            full = np.count_nonzero(gamma) >= len(x) / 2
            if full or fit.status == "stopped" or lam * error <= length * self.noise_ / 4:
                break
        along = float(z @ x)
        return float(z @ residual) / along, self.noise_ * length / abs(along)

    def conf_int(self, level: float = 0.95) -> Array:
        """Lower and upper ends of the confidence intervals, shape (k, 2).

        Parameters
        ----------
        level : float
            The chance that an interval holds its coefficient.
        """
        check_is_fitted(self)
        if not 0 < check_number("level", level) < 1:
            raise ValueError(f"level must lie strictly between 0 and 1, not {level}")
        half = norm.isf((1 - level) / 2) * self.se_
        return np.column_stack([self.coef_ - half, self.coef_ + half])

    def frame(self, level: float = 0.95) -> Any:
        """All of it as a pandas DataFrame, one row for each feature of interest.

        Parameters
        ----------
        level : float
            Of the confidence intervals.
        """
        lower, upper = self.conf_int(level).T
        return optional("pandas", "frame").DataFrame(
            {
                "feature": names_of(self.features_, getattr(self, "feature_names_in_", None)),
                "coef": self.coef_,
                "se": self.se_,
                "z": self.z_,
                "p_value": self.p_values_,
                "lower": lower,
                "upper": upper,
            },
            index=self.features_,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


def _length(x: Vector, centred: bool) -> float:
    return float(np.linalg.norm(x - x.mean() if centred else x))
