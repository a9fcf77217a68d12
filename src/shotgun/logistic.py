"""Sparse classification in scikit-learn's form: LogisticRegression and LinearSVC."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin
from sklearn.linear_model._base import SparseCoefMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import compute_class_weight
from sklearn.utils._param_validation import Hidden, Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets

from shotgun.estimator import (
    Array,
    GridFits,
    SparseLinearModel,
    Unfinished,
    columns,
    lazily,
    warn_user,
)
from shotgun.multinomial import multinomial, multinomial_path
from shotgun.problem import Vector
from shotgun.progress import Row
from shotgun.solve import Solution


class SparseClassifier(ClassifierMixin, SparseCoefMixin, SparseLinearModel):  # type: ignore[misc]
    """Sum of losses + 1 / C * penalty; of more than two classes each has its target."""

    _metric = staticmethod(accuracy_score)
    score = SparseLinearModel.score  # with an offset, which the mixin's has not

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SparseLinearModel._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="right")],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def _state(self, y: Array, weights: Vector | None) -> tuple[list[Array], Vector | None]:
        check_classification_targets(y)
        counts = np.ones(len(y)) if weights is None else weights
        if self.class_weight is not None:
            present = counts > 0
            classes, codes = np.unique(y[present], return_inverse=True)
            of_class = compute_class_weight(
                self.class_weight, classes=classes, y=y[present], sample_weight=counts[present]
            )
            weights = counts = counts.copy()
            counts[present] *= of_class[codes]
        self.classes_ = np.unique(y[counts > 0])  # a row without weight is as good as absent
        k = len(self.classes_)
        if k < 2:
            raise ValueError(f"y must hold at least two classes with weight, not {k} class")
        return [y == c for c in self.classes_[1 if k == 2 else 0 :]], weights

    def _strength(self, n: int) -> float:
        return float(1 / self.C)

    def _place(self, coef: Array, intercept: Array) -> None:
        self.coef_, self.intercept_ = coef, intercept

    def _keep(self, fits: list[Solution], dtype: Any, scale: float) -> None:
        super()._keep(fits, dtype, scale)
        self.n_iter_ = np.atleast_1d(np.array(self.n_iter_, dtype=np.int32))

    @lazily
    def decision_function(self, X: Any, *, offset: Any = None) -> Array:
        """Score of the larger of two classes, shape (n_samples,), or of every class.

        Parameters
        ----------
        X : {array, sparse matrix} of shape (n_samples, n_features)
        offset : array, optional
            Known part of the scores, as in `fit`.
        """
        scores = self._predictor(X, offset)
        return scores.ravel() if scores.shape[1] == 1 else scores

    @lazily
    def predict(self, X: Any, *, offset: Any = None) -> Array:
        """Predict the label; parameters as in :meth:`decision_function`."""
        scores = self.decision_function(X, offset=offset)
        best = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[best])


class LogisticRegression(SparseClassifier):
    """Logistic regression with L1 and squared L2 penalties.

    Minimises, for labels -1 and +1::

        sum_i s_i log(1 + exp(-y_i (x_i'w + b)))
        + l1_ratio / C * ||w||_1 + (1 - l1_ratio) / (2 C) * ||w||^2

    More than two classes make one multinomial model, as in scikit-learn: the loss is then minus the
    logarithm of the label's softmax probability, and every class has weights and a penalty.

    Parameters
    ----------
    penalty : {"l1", "l2", "elasticnet", None}
        Deprecated as in scikit-learn: use `l1_ratio`, or `C=inf` for none.
    C : float
        Inverse of the weight of the penalty.
    l1_ratio : float
        Share of the L1 norm in the penalty; 1 by default, where scikit-learn has 0.
    tol : float
        Stop when the duality gap is at most `tol` times the objective at w = 0, precisely: F0 of
        :func:`shotgun.solve`.
    fit_intercept : bool
        Fit b, unpenalised.
    class_weight : dict, "balanced" or None
        Weights of the classes, as in scikit-learn.
    random_state : int, RandomState or None
        None gives the same answer every time.
    max_iter : int or None
        Most epochs; an epoch updates every feature of the working set once. Of more than two
        classes a Newton step counts as one.
    warm_start : bool
        Begin at the `coef_` of the last fit.
    n_jobs : int, optional
        Threads; by default what threadpoolctl, joblib or OMP_NUM_THREADS leave.
    dual, intercept_scaling, solver
        Accepted and ignored.
    penalty_factor, bounds, standardize, engine, deadline
        As in :func:`shotgun.solve`; the deadline, in seconds, is for all classes together.
    n_parallel : int or "auto"
        Weights updated at once.
    verbose, callback
        As in :class:`shotgun.ElasticNet`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
    intercept_ : ndarray of shape (1,) or (n_classes,)
    n_iter_ : ndarray of shape (1,)
        Epochs; of more than two classes those of the class that had most.
    objective_ : float
        What is minimised, at the weights found; its distance from the minimum is at most
        `dual_gap_`, if `certificate_` says "gap".
    tolerance_ : float
        What `dual_gap_` had to reach.
    screened_ : ndarray
        Features proved to have no weight in any solution.
    data_ : dict
        Shape, non-zeros and hash of the data, by which models tell what they were fitted to.
    support_, dual_gap_, certificate_, status_, parallelism_, n_features_in_, feature_names_in_
        As in :class:`shotgun.ElasticNet`.

    Examples
    --------
    >>> import shotgun
    >>> X, y = [[-2.0], [-1.0], [1.0], [2.0]], ["no", "no", "yes", "yes"]
    >>> shotgun.LogisticRegression().fit(X, y).predict([[-3.0], [3.0]]).tolist()
    ['no', 'yes']
    """

    _loss = "logistic"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SparseClassifier._parameter_constraints,
        "penalty": [
            StrOptions({"l1", "l2", "elasticnet"}),
            None,
            Hidden(StrOptions({"deprecated"})),
        ],
        "l1_ratio": [Interval(Real, 0, 1, closed="both"), None],
        "dual": ["boolean"],
        "solver": [
            StrOptions({"lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga"})
        ],
    }

    def __init__(
        self,
        penalty: str | None = "deprecated",
        *,
        C: float = 1.0,
        l1_ratio: float | None = 1.0,
        dual: bool = False,
        tol: float = 1e-6,
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        class_weight: Any = None,
        random_state: Any = None,
        solver: str = "lbfgs",
        max_iter: int | None = 100,
        verbose: int = 0,
        warm_start: bool = False,
        n_jobs: int | None = None,
        penalty_factor: Any = None,
        bounds: Any = None,
        standardize: bool = False,
        engine: str = "auto",
        n_parallel: int | str = "auto",
        deadline: float | None = None,
        callback: Any = None,
    ) -> None:
        self._set(locals())

    def _penalty(self, n: int) -> tuple[float, float]:
        strength, ratio = self._strength(n), self.l1_ratio
        if self.penalty != "deprecated":
            strength, ratio = self._deprecated_penalty(strength)
        elif ratio is None:
            warn_user(
                "'l1_ratio=None' was deprecated in version 1.8. Use l1_ratio=0", FutureWarning
            )
        ratio = 0.0 if ratio is None else ratio
        return strength * ratio, strength * (1 - ratio)

    def _deprecated_penalty(self, strength: float) -> tuple[float, float | None]:
        """The whole penalty and its share of the L1 norm, as `penalty` wants them."""
        warn_user(
            "'penalty' was deprecated in version 1.8 of scikit-learn. Use l1_ratio=1 for 'l1', "
            "l1_ratio=0 for 'l2', 0 < l1_ratio < 1 for 'elasticnet', C=inf for None",
            FutureWarning,
        )
        if self.penalty is None:
            if self.C != 1.0:
                warn_user(
                    "Setting penalty=None will ignore the C and l1_ratio parameters", UserWarning
                )
            return 0.0, self.l1_ratio
        if self.penalty == "elasticnet" and self.l1_ratio is None:
            raise ValueError("l1_ratio must be specified when penalty is elasticnet")
        ratio = {"l1": 1.0, "l2": 0.0, "elasticnet": self.l1_ratio}[self.penalty]
        if ratio != self.l1_ratio:
            warn_user(
                f"Inconsistent values: penalty={self.penalty} with l1_ratio={self.l1_ratio}. The "
                "l1_ratio parameter is only used when penalty is 'elasticnet'. "
                f"Got (penalty={self.penalty})",
                UserWarning,
            )
        return strength, ratio

    def _solve(
        self,
        X: Any,
        targets: list[Array],
        weights: Vector | None,
        offset: Any,
        tell: Callable[[Row], bool] | None = None,
    ) -> list[Any]:
        if len(targets) == 1:
            return super()._solve(X, targets, weights, offset, tell)
        (n, d), k = X.shape, len(targets)
        start = self._starts(k, d)
        fit = multinomial(
            X,
            np.column_stack(targets),
            x0=None if start[0] is None else np.array(start),
            weights=weights,
            offset=together(columns("offset", offset, n, k)),
            deadline=self.deadline,
            callback=tell,
            **self._joint_options(n),
        )
        return [fit]

    def _fit_grid(
        self,
        X: Any,
        targets: list[Array],
        weights: Vector | None,
        offsets: list[Vector | None],
        strengths: Vector,
        **how: Any,
    ) -> GridFits:
        if len(targets) == 1:
            return super()._fit_grid(X, targets, weights, offsets, strengths, **how)
        assert self.l1_ratio is not None
        options = self._joint_options(X.shape[0]) | how
        options |= {"l2": strengths * (1 - self.l1_ratio)}
        del options["lam"]
        fits = multinomial_path(
            X,
            np.column_stack(targets),
            strengths * self.l1_ratio,
            weights=weights,
            offset=together(offsets),
            **options,
        )
        return GridFits(
            coefs=[
                sp.csc_array(np.column_stack([fit.x[k] for fit in fits]))
                for k in range(len(targets))
            ],
            intercepts=np.array([fit.intercept for fit in fits]),
            n_iter=np.array([max(1, fit.n_epochs) for fit in fits]),  # to look is an iteration
            unfinished=[Unfinished.of(fit) for fit in fits if fit.status != "converged"],
        )

    def _joint_options(self, n: int) -> dict[str, Any]:
        """The parameters in the words of :func:`shotgun.multinomial.multinomial`."""
        options = self._options(n)
        del options["delta"]
        return options

    @lazily
    def predict_proba(self, X: Any, *, offset: Any = None) -> Array:
        """Probability of every class, in the order of `classes_`.

        Parameters
        ----------
        X : {array, sparse matrix} of shape (n_samples, n_features)
        offset : array, optional
            Known part of the scores, as in `fit`.
        """
        scores = self.decision_function(X, offset=offset)
        if scores.ndim == 1:
            return np.column_stack([expit(-scores), expit(scores)])
        return np.asarray(softmax(scores, axis=1))

    @lazily
    def predict_log_proba(self, X: Any, *, offset: Any = None) -> Array:
        """Logarithm of :meth:`predict_proba`."""
        return np.asarray(np.log(self.predict_proba(X, offset=offset)))


def together(offsets: list[Any]) -> Any:
    """The offsets of all classes, if there are any, as one matrix."""
    return None if offsets[0] is None else np.column_stack(offsets)


class LinearSVC(SparseClassifier):
    """Support vector classification with the squared hinge loss and an L1 penalty.

    Minimises, for labels -1 and +1, ||w||_1 + C * sum_i s_i max(0, 1 - y_i (x_i'w + b))^2; more
    than two classes one against the rest. The intercept is not penalised (liblinear's is).

    Parameters not listed here, and all attributes, are those of
    :class:`shotgun.LogisticRegression`; but `objective_`, `dual_gap_` and `tolerance_` are of the
    objective over C, `n_iter_` is the largest of all classes, and of more than two classes each has
    its own of what tells of a fit.

    Parameters
    ----------
    penalty : {"l1", "l2"}
        "l2" has ||w||^2 / 2 in place of ||w||_1; scikit-learn's default, not ours.
    loss : {"squared_hinge"}
    C : float
        Weight of the losses.
    multi_class : {"ovr"}
    dual, intercept_scaling
        Accepted and ignored.

    Examples
    --------
    >>> import numpy as np, shotgun
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> model = shotgun.LinearSVC(C=1.0).fit(X, X[:, 1] > 0)
    >>> model.status_, model.score(X, X[:, 1] > 0)
    ('converged', 1.0)
    """

    _loss = "squared_hinge"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SparseClassifier._parameter_constraints,
        "penalty": [StrOptions({"l1", "l2"})],
        "loss": [StrOptions({"squared_hinge"})],
        "dual": ["boolean", StrOptions({"auto"})],
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "multi_class": [StrOptions({"ovr"})],
    }

    def __init__(
        self,
        penalty: str = "l1",
        loss: str = "squared_hinge",
        *,
        dual: bool | str = "auto",
        tol: float = 1e-6,
        C: float = 1.0,
        multi_class: str = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        class_weight: Any = None,
        verbose: int = 0,
        random_state: Any = None,
        max_iter: int | None = 1000,
        warm_start: bool = False,
        penalty_factor: Any = None,
        bounds: Any = None,
        standardize: bool = False,
        engine: str = "auto",
        n_parallel: int | str = "auto",
        deadline: float | None = None,
        n_jobs: int | None = None,
        callback: Any = None,
    ) -> None:
        self._set(locals())

    def _penalty(self, n: int) -> tuple[float, float]:
        strength = self._strength(n)
        return (strength, 0.0) if self.penalty == "l1" else (0.0, strength)

    def _keep(self, fits: list[Solution], dtype: Any, scale: float) -> None:
        super()._keep(fits, dtype, scale)
        self.n_iter_ = int(self.n_iter_.max())
