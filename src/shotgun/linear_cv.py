"""LassoCV and ElasticNetCV: alpha chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.metrics import get_scorer
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_scalar

from shotgun.estimator import Array, SparseLinearModel
from shotgun.linear import ElasticNet, Lasso, SparseRegressor, alpha_grid
from shotgun.problem import Vector
from shotgun.selection import CrossValidated, Data, Run, check_ratios


class ElasticNetCV(CrossValidated, SparseRegressor):
    """Elastic net whose alpha, and l1_ratio if there are several, cross-validation chooses.

    Parameters and attributes not listed here are those of :class:`shotgun.ElasticNet`; the
    attributes belong to the fit to all data.

    Parameters
    ----------
    l1_ratio : float or array
        Share of the L1 norm in the penalty; of several the best is taken.
    eps : float
        The smallest alpha over the largest, where `alphas` is a number.
    alphas : int or array
        How many, evenly on a log scale down from the one that makes all weights zero; or which
        ones.
    cv : int, splitter or iterable of (train, test), optional
        How to hold out; 5 folds by default.
    scoring : str or callable, optional
        What to compare; by default minus the mean squared error.
    selection : {"min", "1se"}
        Take the alpha of the least error, or the largest alpha whose error is within one standard
        error of that. (Also scikit-learn's "cyclic" and "random", the order of updates; then
        "min".)
    deadline : float, optional
        Seconds for all of it; the grid ends where the slowest fold did.
    callback : callable, optional
        As in :class:`shotgun.ElasticNet`; the rows have the number of the `fold` too, None in the
        fit to all data. Returning True ends all of it: the grid ends where the slowest fold did,
        and `status_` says "stopped".

    Attributes
    ----------
    alpha_, l1_ratio_ : float
        What was chosen.
    alphas_ : ndarray of shape (n_alphas,) or (n_l1_ratios, n_alphas)
        What was tried.
    mse_path_ : ndarray of shape (n_alphas, n_folds) or (n_l1_ratios, n_alphas, n_folds)
        Mean squared errors on the rows held out; only without `scoring`.
    cv_scores_ : ndarray of shape (n_folds, n_alphas)
        Scores for the chosen l1_ratio; more is better.
    cv_coefs_ : list of sparse arrays of shape (n_features, n_alphas)
        The weights of each fold.
    grid_ : ndarray of shape (n_alphas,)
        The alphas that belong to them.
    min_index_, one_se_index_, best_index_ : int
        Where on it the best score is, the simplest model about as good, and the one taken.

    Examples
    --------
    >>> import numpy as np, shotgun
    >>> X = np.random.default_rng(0).normal(size=(60, 8))
    >>> model = shotgun.ElasticNetCV(selection="1se").fit(X, X[:, 0])
    >>> model.support_.tolist(), model.mse_path_.shape
    ([0], (100, 5))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CrossValidated._parameter_constraints,
        "l1_ratio": [Interval(Real, 0, 1, closed="both"), "array-like"],
        "eps": [Interval(Real, 0, None, closed="neither")],
        "alphas": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "precompute": [StrOptions({"auto"}), "boolean", "array-like"],
        "copy_X": ["boolean"],
        "positive": ["boolean"],
        "selection": [StrOptions({"min", "1se", "cyclic", "random"})],
    }

    _loss = "squared"
    _plain: ClassVar[type[ElasticNet]] = ElasticNet

    def __init__(
        self,
        *,
        l1_ratio: Any = 0.5,
        eps: float = 1e-3,
        alphas: Any = 100,
        fit_intercept: bool = True,
        precompute: Any = "auto",
        max_iter: int | None = 1000,
        tol: float = 1e-6,
        cv: Any = None,
        copy_X: bool = True,
        verbose: int = 0,
        n_jobs: int | None = None,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "min",
        scoring: Any = None,
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
        shared = self._shared(self._plain)
        order = self.selection if self.selection in ("cyclic", "random") else "cyclic"
        shared |= {"selection": order, "precompute": False}
        ratios = [{"l1_ratio": ratio} for ratio in check_ratios("l1_ratio", self.l1_ratio)]
        return [self._plain(**shared | (r if "l1_ratio" in shared else {})) for r in ratios]

    def _grid(self, data: Data, model: SparseLinearModel) -> Vector:
        if not isinstance(self.alphas, Integral):
            for k, alpha in enumerate(self.alphas):
                check_scalar(alpha, f"alphas[{k}]", Real, min_val=0.0)
                if not np.isfinite(alpha):
                    raise ValueError(f"alphas[{k}] is {alpha}, which is not a finite number")
        taken = ("fit_intercept", "standardize", "penalty_factor", "bounds", "n_threads")
        options = model._options(len(data.y))
        return alpha_grid(
            data.X,
            data.targets[0],
            self.alphas,
            self.eps,
            model.l1_ratio,
            weights=data.weights,
            offset=data.offsets[0],
            **{name: options[name] for name in taken},
        )

    def _strengths(self, grid: Vector, n: int) -> Vector:
        return n * grid

    def _at(self, model: Any, value: float) -> Any:
        return model.set_params(alpha=value)

    def _scorer(self) -> Any:
        return None if self.scoring is None else get_scorer(self.scoring)

    def _tell(
        self,
        ratios: Sequence[float],
        best: int,
        grids: Sequence[Vector],
        runs: Sequence[Sequence[Run]],
    ) -> None:
        self.alpha_ = float(self.grid_[self.best_index_])
        if "l1_ratio" in self._get_param_names():
            self.l1_ratio_ = ratios[best]
        counted = [grid[: len(self.grid_)] for grid in grids]
        several = isinstance(self.alphas, Integral) and len(grids) > 1
        self.alphas_ = np.array(counted) if several else counted[0]
        if self.scoring is None:
            errors = [[-run.scores[: len(self.grid_)] for run in of_model] for of_model in runs]
            self.mse_path_: Array = np.squeeze(np.moveaxis(np.array(errors), 2, 1))


class LassoCV(ElasticNetCV):
    """Lasso whose alpha cross-validation chooses.

    Parameters and attributes are those of :class:`ElasticNetCV`, less `l1_ratio` and `l1_ratio_`.

    Examples
    --------
    >>> import numpy as np, shotgun
    >>> X = np.random.default_rng(0).normal(size=(60, 8))
    >>> model = shotgun.LassoCV(cv=3).fit(X, X[:, 0] - X[:, 1])
    >>> model.support_.tolist(), model.status_
    ([0, 1], 'converged')
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        k: v for k, v in ElasticNetCV._parameter_constraints.items() if k != "l1_ratio"
    }

    _plain = Lasso

    def __init__(
        self,
        *,
        eps: float = 1e-3,
        alphas: Any = 100,
        fit_intercept: bool = True,
        precompute: Any = "auto",
        max_iter: int | None = 1000,
        tol: float = 1e-6,
        copy_X: bool = True,
        cv: Any = None,
        verbose: int = 0,
        n_jobs: int | None = None,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "min",
        scoring: Any = None,
        penalty_factor: Any = None,
        bounds: Any = None,
        standardize: bool = False,
        engine: str = "auto",
        n_parallel: int | str = "auto",
        deadline: float | None = None,
        callback: Any = None,
    ) -> None:
        self._set(locals())
