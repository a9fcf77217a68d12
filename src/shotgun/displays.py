"""Pictures of fits, as scikit-learn's displays: paths, cross-validation, convergence."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from itertools import cycle
from typing import Any

import numpy as np
import scipy.sparse as sp

from shotgun.inspection import Array, PathProblem, chosen_by, joint, names_of, optional
from shotgun.path import Path
from shotgun.problem import check_choice, check_count
from shotgun.solve import Solution


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

    Examples
    --------
    >>> import numpy as np, shotgun
    >>> p = shotgun.path(np.eye(3), np.array([3.0, -2.0, 0.5]))
    >>> display = shotgun.PathDisplay.from_path(p, feature_names=["age", "height", "weight"])
    >>> display.ax_.get_xlabel()
    'lam (strong to weak penalty)'
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
            A fitted CV estimator, of which the mean of its folds is drawn; or any other, with X
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
        if len(named):
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
                parse_math=False,
            )


def _mean_path(cls: type[PathDisplay], estimator: Any, target: int) -> PathDisplay:
    name = "alpha" if hasattr(estimator, "alpha_") else "C"
    folds = [coefs if sp.issparse(coefs) else coefs[target] for coefs in estimator.cv_coefs_]
    return cls(
        grid=estimator.grid_,
        coefs=sum(folds) / len(folds),
        grid_name=name,
        feature_names=getattr(estimator, "feature_names_in_", None),
        chosen=chosen_by(estimator, name),
    )


def _made_path(
    cls: type[PathDisplay], model: Any, data: tuple[Any, ...], target: int, n_lams: int, eps: float
) -> PathDisplay:
    problem = PathProblem.of(model, *data)
    lams = problem.lambda_max(problem.weights) * np.geomspace(1, eps, n_lams)
    if not joint(model, len(problem.targets)):  # each has a path of its own: the others' are not
        own = {"targets": [problem.targets[target]], "offsets": [problem.offsets[target]]}
        problem, target = replace(problem, **own), 0
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

    Examples
    --------
    >>> import numpy as np, shotgun
    >>> X = np.random.default_rng(0).normal(size=(60, 8))
    >>> model = shotgun.LassoCV().fit(X, X[:, 0])
    >>> display = shotgun.CVDisplay.from_estimator(model)
    >>> display.ax_.get_ylabel()
    'mean squared error'
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
        """Draw what a fitted CV estimator of this package found; `ax`, `options` as in `plot`."""
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
        from shotgun.selection import standard_error

        ax = self.ax_ = _axes(ax, "CVDisplay")
        self.figure_ = ax.figure
        mean, error = self.scores.mean(axis=0), standard_error(self.scores)
        _frame(ax, self.grid, self.grid_name, self.sizes)
        (self.line_,) = ax.plot(
            self.grid,
            mean,
            marker="o",
            markersize=2.5,
            linewidth=1.4,
            label=f"mean of {len(self.scores)} folds",
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

    Examples
    --------
    >>> import numpy as np, shotgun
    >>> A = np.random.default_rng(0).normal(size=(60, 80))
    >>> engines = ["block", "newton"]
    >>> fits = [shotgun.solve(A, A[:, 0], 1.0, engine=e, trace=True) for e in engines]
    >>> display = shotgun.ConvergenceDisplay.from_solutions(fits)
    >>> [line.get_label() for line in display.lines_]
    ['block', 'newton']
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
            One of this package, not a CV estimator.
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
