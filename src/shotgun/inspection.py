"""Looking at fits: summaries, frames, relaxed fits, scikit-learn's own estimators, pictures."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import cycle
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from shotgun.path import Path
from shotgun.problem import check_choice, check_count, check_number
from shotgun.solve import Solution, lambda_max

Array = np.ndarray[Any, Any]


def optional(module: str, purpose: str) -> Any:
    """A module that shotgun does not require, or an error that says what needs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.split(".")[0]
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
                model += f", {name} = {_chosen(self, name):.4g} chosen"
        head = ["", "objective", "gap", "tolerance", "status", "non-zero", "engine", "P", "rho"]
        lines = [str(self), model]
        if hasattr(self, "objective_"):  # which a *CV estimator without a refit has not
            lines += ["", *aligned([head, *self._certificates()])]
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
        if _joint(self, len(coef)):
            coef, labels = np.abs(coef).sum(axis=0, keepdims=True), [""]
        columns = [
            labels,
            [f"{value:.6g}" for value in np.atleast_1d(model.objective_)],
            [f"{value:.2g}" for value in np.atleast_1d(model.dual_gap_)],
            [f"{value:.2g}" for value in np.atleast_1d(model.tolerance_)],
            np.atleast_1d(model.status_),
            map(str, np.count_nonzero(coef, axis=1)),
            *zip(*map(_how, np.atleast_1d(model.parallelism_)), strict=True),
        ]
        return [list(row) for row in zip(*columns, strict=True)]

    def _rows(self) -> Array:
        """`coef_`, dense, with one row for each fit."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        coef = self.coef_.toarray() if sp.issparse(self.coef_) else self.coef_
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

        The *CV estimators become the plain model at the alpha or C that they chose. Fitted again,
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


def _joint(model: Any, k: int) -> bool:
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
    known = columns("offset", offset, len(y), k)
    free = copy(model)
    free._strength = lambda n: 0.0
    free.warm_start, free.l1_ratio, free.selection = True, 1.0, "cyclic"
    for rows in [list(range(k))] if _joint(model, k) else [[i] for i in range(k)]:
        free.coef_ = coef[rows]
        free.penalty_factor = np.where(free.coef_.any(axis=0), 0.0, np.inf)
        offsets = None if offset is None else np.column_stack([known[i] for i in rows])
        [fit] = free._solve(X, [targets[i] for i in rows], weights, offsets)
        yield fit, coef[rows].reshape(fit.x.shape), single(intercept[rows])


_PLAIN = {  # scikit-learn's class for each loss, and the parameters that mean the same there
    "squared": ("linear_model", "ElasticNet", ("alpha", "l1_ratio", "positive")),
    "logistic": ("linear_model", "LogisticRegression", ("penalty", "l1_ratio", "class_weight")),
    "squared_hinge": ("svm", "LinearSVC", ("penalty", "class_weight")),
    "huber": ("linear_model", "HuberRegressor", ()),
    "poisson": ("linear_model", "PoissonRegressor", ()),
}


def _chosen(model: Any, name: str) -> Any:
    """A parameter, or what a CV estimator chose for it, for every class the same."""
    value = getattr(model, f"{name}_", getattr(model, name, None))
    return float(value.flat[0]) if isinstance(value, np.ndarray) else value


def _plain(model: Any) -> Any:
    """scikit-learn's estimator, not fitted, with the parameters of ours."""
    module, name, shared = _PLAIN[model._loss]
    known = model.get_params()
    if model._loss == "squared" and not {"l1_ratio", "l1_ratio_"} & {*known, *vars(model)}:
        name, shared = "Lasso", ("alpha", "positive")
    params = {"fit_intercept": model.fit_intercept}
    params |= {each: _chosen(model, each) for each in shared if each != "penalty" or each in known}
    if model._loss in ("logistic", "squared_hinge"):
        params["C"] = _chosen(model, "C")
    if model._loss == "logistic":
        params["solver"] = "saga"  # takes every l1_ratio
    if model._loss == "huber":
        params["epsilon"] = max(1.0, model.epsilon)
    if model._loss == "poisson":
        params["alpha"] = _chosen(model, "alpha") * (1 - _chosen(model, "l1_ratio"))
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
            for group in ([each] if _joint(self.model, len(each)) else [[one] for one in each])
            for coefs in self.model._along(
                self.X,
                [target for target, _ in group],
                weights,
                [offset for _, offset in group],
                strengths,
                **how,
            ).coefs
        ]


def _axes(ax: Any, purpose: str) -> Any:
    """Where to draw: what is given, or a new figure."""
    pyplot = optional("matplotlib.pyplot", purpose)
    return pyplot.subplots(layout="constrained")[1] if ax is None else ax


def _frame(ax: Any, grid: Array, grid_name: str, sizes: Array | None) -> None:
    """The penalty from strong to weak below, on a log scale; the number of weights above."""
    ax.set_xscale("log")
    if len(grid) > 1:
        ax.set_xlim(grid[0], grid[-1])
    ax.set_xlabel(f"{grid_name} (strong to weak penalty)")
    ax.grid(axis="y", alpha=0.25, linewidth=0.6)
    ax.spines["right"].set_visible(False)
    if sizes is None:
        ax.spines["top"].set_visible(False)
        return
    at = np.unique(np.linspace(0, len(grid) - 1, 8).round().astype(int))
    top = ax.secondary_xaxis("top")
    top.set_xticks(grid[at], labels=[f"{sizes[k]:.0f}" for k in at])
    top.minorticks_off()
    top.set_xlabel("non-zero weights")


def _mark(ax: Any, at: float, style: str, label: str) -> Any:
    return ax.axvline(at, color="0.35", linestyle=style, linewidth=1, label=label, zorder=1.5)


def _spread(wanted: Array, gap: float) -> Array:
    """Heights as near as possible to those wanted, in their order, at least `gap` apart."""
    order = np.argsort(wanted, kind="stable")
    groups: list[tuple[float, int]] = []  # centre and size of runs that touch
    for height in wanted[order]:
        centre, size = float(height), 1
        while groups and groups[-1][0] + gap * groups[-1][1] / 2 > centre - gap * size / 2:
            below, count = groups.pop()
            centre, size = (below * count + centre * size) / (count + size), count + size
        groups.append((centre, size))
    placed = np.empty(len(wanted))
    placed[order] = np.concatenate([c + gap * (np.arange(k) - (k - 1) / 2) for c, k in groups])
    return placed


_COLORS = ("blue", "orange", "green", "red", "purple", "brown", "pink", "olive", "cyan")


class PathDisplay:
    """Weights along a path of penalties.

    Parameters
    ----------
    grid : ndarray of shape (k,)
        Strengths of the penalty, the strongest first.
    coefs : sparse array of shape (d, k)
        The weights, one column for each strength.
    grid_name : str
        What `grid` holds.
    feature_names : sequence of str, optional
        Default: x0, x1, ...
    chosen : float, optional
        The strength to mark.

    Attributes
    ----------
    ax_, figure_ : matplotlib's Axes and Figure
    lines_ : list of Line2D
        Of the features with a label.
    others_ : LineCollection
        Of the other features.
    """

    def __init__(
        self,
        *,
        grid: Any,
        coefs: Any,
        grid_name: str = "lam",
        feature_names: Any = None,
        chosen: float | None = None,
    ) -> None:
        self.grid = np.asarray(grid)
        self.coefs = sp.csr_array(coefs)
        self.grid_name = grid_name
        self.feature_names = feature_names
        self.chosen = chosen

    @classmethod
    def from_path(
        cls,
        path: Path,
        *,
        feature_names: Any = None,
        chosen: float | None = None,
        ax: Any = None,
        **options: Any,
    ) -> PathDisplay:
        """Draw a :class:`shotgun.Path`; the other arguments are those of the class and `plot`."""
        order = np.argsort(-path.lams, kind="stable")
        display = cls(
            grid=path.lams[order],
            coefs=path.X[:, order],
            feature_names=feature_names,
            chosen=chosen,
        )
        return display.plot(ax=ax, **options)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        sample_weight: Any = None,
        offset: Any = None,
        target: int = 0,
        n_lams: int = 100,
        eps: float = 1e-3,
        ax: Any = None,
        **options: Any,
    ) -> PathDisplay:
        """Draw the path of an estimator of this package.

        Parameters
        ----------
        estimator
            A fitted *CV estimator, of which the mean of its folds is drawn; or any other, with X
            and y, to which the path is fitted by its parameters.
        X, y, sample_weight, offset
            As in `fit`.
        target : int
            Which target, or which of more than two classes.
        n_lams, eps : int, float
            Of the grid, as in :func:`shotgun.path`.
        ax, **options
            As in `plot`.
        """
        if hasattr(estimator, "cv_coefs_"):
            display = _mean_path(cls, estimator, target)
        else:
            data = (X, y, sample_weight, offset)
            display = _made_path(cls, copy(estimator), data, target, n_lams, eps)
        return display.plot(ax=ax, **options)

    def plot(self, ax: Any = None, *, n_labels: int = 8, title: str | None = None) -> PathDisplay:
        """Draw the path.

        Parameters
        ----------
        ax : matplotlib's Axes, optional
        n_labels : int
            How many features, those with the largest weights at the end, get a colour and a name.
        title : str, optional
        """
        ax = self.ax_ = _axes(ax, "PathDisplay")
        self.figure_ = ax.figure
        used = np.flatnonzero(np.diff(self.coefs.indptr))
        end = np.abs(self.coefs[used][:, [-1]].toarray().ravel())
        named = used[np.argsort(-end, kind="stable")[: check_count("n_labels", n_labels, least=0)]]
        _frame(ax, self.grid, self.grid_name, np.diff(self.coefs.tocsc().indptr))
        self._draw_others(np.setdiff1d(used, named))
        weights = self.coefs[named].toarray()
        self.lines_ = [
            ax.plot(self.grid, row, linewidth=1.6, color=f"tab:{color}")[0]
            for row, color in zip(weights, cycle(_COLORS), strict=False)
        ]
        if self.chosen is not None:
            _mark(ax, self.chosen, "--", f"{self.grid_name} = {self.chosen:.3g}")
            ax.legend(loc="upper left", frameon=False, fontsize="small")
        ax.axhline(0, color="0.5", linewidth=0.8)
        ax.set_ylabel("weight")
        self._name(named, weights[:, -1])
        if title is not None:
            ax.set_title(title)
        return self

    def _draw_others(self, features: Array) -> None:
        from matplotlib.collections import LineCollection

        weights = self.coefs[features].toarray()
        lines = [np.column_stack([self.grid, row]) for row in weights]
        self.others_ = LineCollection(lines, colors="0.75", linewidths=0.6, zorder=1)
        self.ax_.add_collection(self.others_)
        if len(features):
            self.ax_.update_datalim([(self.grid[0], weights.min()), (self.grid[0], weights.max())])
            self.ax_.autoscale_view(scalex=False)

    def _name(self, features: Array, ends: Array) -> None:
        """Names at the right end of the lines, moved apart where they would overlap."""
        ax = self.ax_
        low, high = ax.get_ylim()
        inches = ax.get_position().height * self.figure_.get_figheight()
        line = (high - low) * 11 / 72 / inches  # the height of a line of small text
        heights = _spread(ends, line)
        for name, end, height, drawn in zip(
            names_of(features, self.feature_names), ends, heights, self.lines_, strict=True
        ):
            ax.annotate(
                name if len(name) <= 24 else f"{name[:23]}…",
                xy=(1, end),
                xytext=(1.03, height),
                xycoords=("axes fraction", "data"),
                textcoords=("axes fraction", "data"),
                color=drawn.get_color(),
                fontsize="small",
                va="center",
                arrowprops={"arrowstyle": "-", "color": drawn.get_color(), "linewidth": 0.6},
                annotation_clip=False,
            )


def _mean_path(cls: type[PathDisplay], estimator: Any, target: int) -> PathDisplay:
    name = "alpha" if hasattr(estimator, "alpha_") else "C"
    folds = [coefs if sp.issparse(coefs) else coefs[target] for coefs in estimator.cv_coefs_]
    return cls(
        grid=estimator.grid_,
        coefs=sum(folds) / len(folds),
        grid_name=name,
        feature_names=getattr(estimator, "feature_names_in_", None),
        chosen=_chosen(estimator, name),
    )


def _made_path(
    cls: type[PathDisplay], model: Any, data: tuple[Any, ...], target: int, n_lams: int, eps: float
) -> PathDisplay:
    problem = PathProblem.of(model, *data)
    lams = problem.lambda_max(problem.weights) * np.geomspace(1, eps, n_lams)
    coefs = problem.coefs(lams, problem.weights)[target]
    strengths = lams[: coefs.shape[1]] / model.l1_ratio  # those that a deadline left
    name = "alpha" if hasattr(model, "alpha") else "C"
    grid = strengths / problem.X.shape[0] if name == "alpha" else 1 / strengths
    chosen = getattr(model, name)
    return cls(
        grid=grid,
        coefs=coefs,
        grid_name=name,
        feature_names=getattr(model, "feature_names_in_", None),
        chosen=chosen if grid.min() <= chosen <= grid.max() else None,
    )


class CVDisplay:
    """Cross-validated score or error along a path of penalties, with its standard error.

    Parameters
    ----------
    grid : ndarray of shape (k,)
        Strengths of the penalty, the strongest first.
    scores : ndarray of shape (n_folds, k)
        Of each fold.
    min_index, one_se_index : int, optional
        Where the best mean is, and the strongest penalty within one standard error of it.
    sizes : ndarray of shape (k,), optional
        Number of non-zero weights.
    grid_name, score_name : str
        What `grid` and `scores` hold.

    Attributes
    ----------
    ax_, figure_ : matplotlib's Axes and Figure
    line_ : Line2D
        The mean.
    band_ : the band of one standard error to each side
    lines_ : list of Line2D
        The mean and what marks the two choices.
    """

    def __init__(
        self,
        *,
        grid: Any,
        scores: Any,
        min_index: int | None = None,
        one_se_index: int | None = None,
        sizes: Any = None,
        grid_name: str = "lam",
        score_name: str = "score",
    ) -> None:
        self.grid = np.asarray(grid)
        self.scores = np.asarray(scores)
        self.min_index = min_index
        self.one_se_index = one_se_index
        self.sizes = None if sizes is None else np.asarray(sizes)
        self.grid_name = grid_name
        self.score_name = score_name

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **options: Any) -> CVDisplay:
        """Draw what a fitted *CV estimator of this package found; `ax`, `options` as in `plot`."""
        if not hasattr(estimator, "cv_scores_"):
            raise ValueError(f"estimator must be a fitted *CV estimator, not {estimator}")
        scores, score_name = estimator.cv_scores_, estimator.scoring
        if score_name in (None, "warn"):  # as scikit-learn has it
            errors = estimator._loss == "squared"
            score_name = "neg_mean_squared_error" if errors else "accuracy"
        score_name = "score" if callable(score_name) else score_name
        if score_name.startswith("neg_"):
            scores, score_name = -scores, score_name.removeprefix("neg_")
        display = cls(
            grid=estimator.grid_,
            scores=scores,
            min_index=estimator.min_index_,
            one_se_index=estimator.one_se_index_,
            sizes=np.mean([sizes(coefs) for coefs in estimator.cv_coefs_], axis=0),
            grid_name="alpha" if hasattr(estimator, "alpha_") else "C",
            score_name=score_name.replace("_", " "),
        )
        return display.plot(ax=ax, **options)

    def plot(self, ax: Any = None, *, title: str | None = None) -> CVDisplay:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib's Axes, optional
        title : str, optional
        """
        ax = self.ax_ = _axes(ax, "CVDisplay")
        self.figure_ = ax.figure
        folds = len(self.scores)
        mean = self.scores.mean(axis=0)
        error = self.scores.std(axis=0, ddof=1) / np.sqrt(folds) if folds > 1 else 0 * mean
        _frame(ax, self.grid, self.grid_name, self.sizes)
        (self.line_,) = ax.plot(
            self.grid,
            mean,
            marker="o",
            markersize=2.5,
            linewidth=1.4,
            label=f"mean of {folds} folds",
        )
        self.band_ = ax.fill_between(
            self.grid, mean - error, mean + error, alpha=0.2, linewidth=0, label="standard error"
        )
        choices = (("--", "best", self.min_index), (":", "1-SE", self.one_se_index))
        self.lines_ = [self.line_] + [
            _mark(ax, self.grid[k], style, f"{what}: {self.grid_name} = {self.grid[k]:.3g}")
            for style, what, k in choices
            if k is not None
        ]
        ax.set_ylabel(self.score_name)
        ax.legend(frameon=False, fontsize="small")
        if title is not None:
            ax.set_title(title)
        return self


def sizes(coefs: Any) -> Array:
    """How many features have a weight, in each column; of several classes for any of them."""
    total = abs(coefs) if sp.issparse(coefs) else sum(map(abs, coefs))
    return np.asarray(np.diff(sp.csc_array(total).indptr))


class ConvergenceDisplay:
    """The certified gap of one or more fits, round by round.

    Parameters
    ----------
    solutions : sequence of Solution
        Fitted with `trace=True`.
    labels : sequence of str, optional
        Their names. Default: their engines.

    Attributes
    ----------
    ax_, figure_ : matplotlib's Axes and Figure
    lines_ : list of Line2D
        One for each solution.
    """

    def __init__(
        self, solutions: Sequence[Solution], *, labels: Sequence[str] | None = None
    ) -> None:
        if not solutions or not all(fit.trace for fit in solutions):
            raise ValueError("solutions must have been fitted with trace=True")
        labels = [fit.engine for fit in solutions] if labels is None else labels
        if len(labels) != len(solutions):
            raise ValueError(f"labels must be {len(solutions)} names, not {len(labels)}")
        self.solutions = list(solutions)
        self.labels = list(labels)

    @classmethod
    def from_solutions(
        cls,
        solutions: Solution | Sequence[Solution],
        *,
        labels: Sequence[str] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> ConvergenceDisplay:
        """Draw one :class:`shotgun.Solution` or several; `ax` and `options` as in `plot`."""
        fits = [solutions] if isinstance(solutions, Solution) else solutions
        return cls(fits, labels=labels).plot(ax=ax, **options)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        offset: Any = None,
        ax: Any = None,
        **options: Any,
    ) -> ConvergenceDisplay:
        """Fit a copy of an estimator and draw how it converges, one line for each target or class.

        Parameters
        ----------
        estimator
            One of this package, not a *CV estimator.
        X, y, sample_weight, offset
            As in `fit`.
        ax, **options
            As in `plot`.
        """
        if not {"alpha", "C"} & set(estimator.get_params()):
            raise ValueError(f"estimator must have a parameter alpha or C, not be {estimator}")
        model = copy(estimator)
        X, targets, weights = model._data(X, y, sample_weight)
        fits = model._solve(X, targets, weights, offset)
        model._keep(fits, X.dtype, 1.0)
        labels = model._labels() if len(fits) > 1 else None
        return cls(fits, labels=labels).plot(ax=ax, **options)

    def plot(
        self, ax: Any = None, *, x: str = "seconds", title: str | None = None
    ) -> ConvergenceDisplay:
        """Draw the gaps, relative to the objective at zero, and the tolerance.

        Parameters
        ----------
        ax : matplotlib's Axes, optional
        x : {"seconds", "epochs", "updates"}
        title : str, optional
        """
        column = check_choice("x", x, ("seconds", "epochs", "updates")).replace("epochs", "epoch")
        ax = self.ax_ = _axes(ax, "ConvergenceDisplay")
        self.figure_ = ax.figure
        self.lines_ = []
        for fit, label in zip(self.solutions, self.labels, strict=True):
            rows = _of_the_last_problem(fit)
            if column not in rows[0]:
                raise ValueError(f"x = {x!r} is not known of classes fitted together")
            at = [row[column] for row in rows]
            gaps = [row["gap"] / (fit.null_objective or 1.0) for row in rows]
            self.lines_ += ax.plot(at, gaps, marker="o", markersize=3.5, linewidth=1.4, label=label)
        for tol in sorted({fit.tolerance / (fit.null_objective or 1.0) for fit in self.solutions}):
            ax.axhline(tol, color="0.35", linestyle="--", linewidth=1, label=f"tol = {tol:.0e}")
        ax.set_yscale("log")
        ax.set_xlabel(x)
        ax.set_ylabel("duality gap / objective at zero")
        ax.grid(alpha=0.25, linewidth=0.6)
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, fontsize="small", ncols=1 + len(self.labels) // 8)
        if title is not None:
            ax.set_title(title)
        return self


def _of_the_last_problem(fit: Solution) -> list[dict[str, Any]]:
    """The rounds of the problem asked for, not those of easier ones on the way to it."""
    last = fit.trace[-1]
    return [row for row in fit.trace if all(row.get(k) == last.get(k) for k in ("lam", "samples"))]
