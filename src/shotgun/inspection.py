"""Looking at fits: summaries, frames, relaxed fits, scikit-learn's own estimators."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from shotgun.kinds import KINDS
from shotgun.problem import check_number, is_sparse
from shotgun.solve import lambda_max

if TYPE_CHECKING:
    import scipy.sparse as sp

Array = np.ndarray[Any, Any]


def optional(module: str, purpose: str, package: str | None = None) -> Any:
    """A module that shotgun does not require, or an error that says what needs which package."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = package or module.split(".")[0]
        raise ImportError(f"{purpose} needs {package}: pip install {package}") from error


def names_of(features: Any, names: Any) -> list[str]:
    """The names of some features, given by their numbers; x0, x1, ... where they have none."""
    return [f"x{j}" if names is None else str(names[j]) for j in features]


class Inspection:
    """What every fitted estimator tells about itself."""

    _loss: ClassVar[str]
    coef_: Any
    intercept_: Any

    def summary(self, n_weights: int = 10) -> str:
        """The fit in a few lines: certificate, support, parallelism, largest weights.

        Parameters
        ----------
        n_weights : int
            How many weights to show.
        """
        model = f"{self._loss} loss, {self._rows().shape[1]} features"
        for name in ("alpha", "C"):
            if hasattr(self, f"{name}_"):
                model += f", {name} = {chosen_by(self, name):.4g} chosen"
        head = ["", "objective", "gap", "tolerance", "status", "non-zero", "intercept"]
        head += ["engine", "P", "rho"]
        lines = [str(self), model]
        if hasattr(self, "objective_"):  # which a *CV estimator without a refit has not
            lines += ["", *aligned([head, *self._certificates()])]
        if "gradient" in np.atleast_1d(getattr(self, "certificate_", "gap")):
            lines += ["~ estimated from the gradient, as nothing penalises some weights: no bound"]
        if weights := self._largest(n_weights):
            lines += ["", "largest weights", *aligned(weights)]
        return "\n".join(lines)

    def _largest(self, n_weights: int) -> list[list[str]]:
        """The largest weights: feature, weight, class or target."""
        coef, labels = self._rows(), self._labels()
        size = np.abs(coef).ravel()
        largest = np.argsort(-size, kind="stable")[: min(n_weights, np.count_nonzero(size))]
        rows, features = np.unravel_index(largest, coef.shape)
        names = names_of(features, getattr(self, "feature_names_in_", None))
        return [
            [name, f"{coef[row, j]:.6g}", labels[row]]
            for name, row, j in zip(names, rows, features, strict=True)
        ]

    def _certificates(self) -> list[list[str]]:
        """One row of the summary's table for each fit."""
        model: Any = self
        coef, labels = self._rows(), self._labels()
        intercepts = [f"{b:.6g}" for b in np.broadcast_to(model.intercept_, len(coef))]
        if joint(self, len(coef)):
            coef, labels = np.abs(coef).sum(axis=0, keepdims=True), [""]
            intercepts = [f"{len(intercepts)} of them" if np.any(model.intercept_) else "0"]
        how = np.atleast_1d(getattr(model, "certificate_", "gap"))
        gaps = [
            f"{'~' if proof == 'gradient' else ''}{value:.2g}"
            for value, proof in np.broadcast(np.atleast_1d(model.dual_gap_), how)
        ]
        columns = [
            labels,
            [f"{value:.6g}" for value in np.atleast_1d(model.objective_)],
            gaps,
            [f"{value:.2g}" for value in np.atleast_1d(model.tolerance_)],
            np.atleast_1d(model.status_),
            map(str, np.count_nonzero(coef, axis=1)),
            intercepts,
            *zip(*map(_how, np.atleast_1d(model.parallelism_)), strict=True),
        ]
        return [list(row) for row in zip(*columns, strict=True)]

    def _rows(self) -> Array:
        """`coef_`, dense, with one row for each fit."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        coef = self.coef_.toarray() if is_sparse(self.coef_) else self.coef_
        return np.atleast_2d(coef)

    def _labels(self) -> list[str]:
        """What tells the fits apart; nothing where there is one."""
        k = len(self._rows())
        if k == 1:
            return [""]
        return list(map(str, getattr(self, "classes_", [f"target{i}" for i in range(k)])))

    def coef_frame(self, all_features: bool = False) -> Any:
        """The weights as a pandas DataFrame, the largest first.

        Parameters
        ----------
        all_features : bool
            Also those whose weights are all zero.

        Returns
        -------
        DataFrame
            Columns `feature` and `weight`; with several classes or targets a column for each in
            place of `weight`. The index holds the features' numbers.
        """
        coef = self._rows()
        size = np.abs(coef).max(axis=0)
        order = np.argsort(-size, kind="stable")
        order = order if all_features else order[: np.count_nonzero(size)]
        labels = ["weight"] if len(coef) == 1 else self._labels()
        frame = optional("pandas", "coef_frame").DataFrame(
            coef[:, order].T, index=order, columns=labels
        )
        names = names_of(order, getattr(self, "feature_names_in_", None))
        frame.insert(0, "feature", names, allow_duplicates=True)
        return frame

    def to_sklearn(self) -> Any:
        """scikit-learn's plain estimator with the same weights: it predicts the same.

        The CV estimators become the plain model at the alpha or C that they chose. Fitted again,
        it is the same model as far as scikit-learn has it: its HuberRegressor and PoissonRegressor
        know no L1 penalty.
        """
        self._rows()
        plain = _plain(self)
        plain.coef_, plain.intercept_ = self.coef_.copy(), np.copy(self.intercept_)[()]
        for name in ("classes_", "n_iter_", "dual_gap_", "n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(plain, name, getattr(self, name))
        if self._loss == "huber":
            plain.scale_ = 1.0
        if self._loss == "poisson":
            plain._base_loss = plain._get_loss()
        return plain

    def relaxed(
        self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None, gamma: float = 0.0
    ) -> Any:
        """The relaxed fit: the loss alone, minimised over the features that have a weight.

        Each target has its own; of classes fitted together a weight for any of them counts. Signs
        are free; bounds stay. A blend with the penalised fit shrinks less than that one and varies
        less than the refit (Meinshausen 2007; Hastie, Tibshirani, Tibshirani 2020)::

            coef_ = gamma * penalised + (1 - gamma) * refit,  the intercept likewise

        Parameters
        ----------
        X, y, sample_weight, offset
            As in `fit`.
        gamma : float
            From 0, the refit, to 1, the penalised fit, as in glmnet.

        Returns
        -------
        estimator
            A copy of this one with the new weights; `objective_`, `dual_gap_`, `status_` and so
            on tell of the refit.
        """
        if check_number("gamma", gamma) > 1:
            raise ValueError(f"gamma must be at most 1, not {gamma}")
        model: Any = copy(self)
        fits = [
            replace(
                fit,
                x=gamma * weights + (1 - gamma) * fit.x,
                intercept=gamma * intercept + (1 - gamma) * fit.intercept,
            )
            for fit, weights, intercept in _refits(model, X, y, sample_weight, offset)
        ]
        model._keep(fits, self._rows().dtype, model._scale(len(y)))
        model._warn([fit for fit in fits if fit.status != "converged"], len(fits), len(y))
        return model


def joint(model: Any, k: int) -> bool:
    """Whether the targets are fitted together."""
    return bool(model._loss == "logistic" and k > 1)


def _how(parallelism: dict[str, Any]) -> tuple[str, str, str]:
    rho = parallelism["rho"]
    return parallelism["engine"], str(parallelism["P"]), "-" if rho is None else f"{rho:.3g}"


def aligned(table: Sequence[Sequence[str]]) -> list[str]:
    """Rows of a table, the first column to the left and the others to the right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(
            [row[0].ljust(widths[0])]
            + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        ).rstrip()
        for row in table
    ]


def _refits(model: Any, X: Any, y: Any, sample_weight: Any, offset: Any) -> Iterator[Any]:
    """The loss minimised on the support of each fit, and the weights and intercept before."""
    from shotgun.estimator import columns, single

    coef, classes = model._rows(), getattr(model, "classes_", ())
    k = len(coef)
    intercept = np.broadcast_to(model.intercept_, k)
    X, targets, weights = model._data(X, y, sample_weight, reset=False)
    if len(targets) != k or not np.array_equal(getattr(model, "classes_", ()), classes):
        raise ValueError("y must have the classes or targets that the model was fitted to")
    offsets = columns("offset", offset, len(y), k)
    free = copy(model)
    free._strength = lambda n: 0.0
    free.warm_start, free.l1_ratio, free.selection = True, 1.0, "cyclic"
    for rows in [list(range(k))] if joint(model, k) else [[i] for i in range(k)]:
        free.coef_ = coef[rows]
        free.penalty_factor = np.where(free.coef_.any(axis=0), 0.0, np.inf)
        own = None if offset is None else np.column_stack([offsets[i] for i in rows])
        [fit] = free._solve(X, [targets[i] for i in rows], weights, own)
        yield fit, coef[rows].reshape(fit.x.shape), single(intercept[rows])


def chosen_by(model: Any, name: str) -> Any:
    """A parameter, or what a CV estimator chose for it, for every class the same."""
    value = getattr(model, f"{name}_", getattr(model, name, None))
    return float(value.flat[0]) if isinstance(value, np.ndarray) else value


def _plain(model: Any) -> Any:
    """scikit-learn's estimator, not fitted, with the parameters of ours."""
    _, plain, alike, _ = KINDS[model._loss]
    own = model.get_params()
    if model._loss == "squared" and not {"l1_ratio", "l1_ratio_"} & {*own, *vars(model)}:
        plain, alike = "linear_model.Lasso", ("alpha", "positive")
    params = {"fit_intercept": model.fit_intercept}
    params |= {name: chosen_by(model, name) for name in alike if name != "penalty" or name in own}
    if model._loss == "logistic":
        params["solver"] = "saga"  # takes every l1_ratio
    if model._loss == "huber":
        params["epsilon"] = max(1.0, model.epsilon)
    if model._loss == "poisson":
        params["alpha"] = chosen_by(model, "alpha") * (1 - chosen_by(model, "l1_ratio"))
    module, name = plain.split(".")
    return getattr(importlib.import_module(f"sklearn.{module}"), name)(**params)


@dataclass(frozen=True)
class PathProblem:
    """What an estimator minimises, for any strength of its penalty."""

    model: Any
    X: Any
    targets: list[Array]
    weights: Any
    offsets: list[Any]

    @classmethod
    def of(cls, model: Any, X: Any, y: Any, sample_weight: Any, offset: Any) -> PathProblem:
        """State the problem; writes to the model as `fit` does."""
        from shotgun.estimator import by_columns, columns

        if not {"alpha", "C"} & set(model.get_params()):
            raise ValueError(f"estimator must have a parameter alpha or C, not be {model}")
        if not model.l1_ratio or getattr(model, "penalty", None) == "l2":
            raise ValueError("l1_ratio must be positive: without an L1 penalty there is no path")
        X, targets, weights = model._data(X, y, sample_weight)
        offsets = columns("offset", offset, X.shape[0], len(targets))
        return cls(model, by_columns(X), targets, weights, offsets)

    def lambda_max(self, weights: Any) -> float:
        """The least lam without a weight, each target or class against the rest."""
        options = self.model._options(self.X.shape[0])
        known = ("delta", "n_threads", "fit_intercept", "standardize", "penalty_factor", "bounds")
        options = {name: options[name] for name in known}
        largest = max(
            lambda_max(self.X, y, self.model._loss, weights=weights, offset=offset, **options)
            for y, offset in zip(self.targets, self.offsets, strict=True)
        )
        if largest == 0:
            raise ValueError("y must depend on a feature: without one there is no path")
        return largest

    def coefs(self, lams: Array, weights: Any, **how: Any) -> list[sp.csc_array]:
        """The weights along the path, (d, k) for each target; `how` has other options."""
        each = list(zip(self.targets, self.offsets, strict=True))
        strengths = lams / self.model.l1_ratio
        return [
            coefs
            for group in ([each] if joint(self.model, len(each)) else [[one] for one in each])
            for coefs in self.model._fit_grid(
                self.X,
                [target for target, _ in group],
                weights,
                [offset for _, offset in group],
                strengths,
                **how,
            ).coefs
        ]
