"""The pictures show what the fits are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris

import shotgun
from conftest import D, N, diabetes, iris, make_data
from shotgun import (
    ConvergenceDisplay,
    CVDisplay,
    ElasticNet,
    Lasso,
    LassoCV,
    LinearSVC,
    LogisticRegression,
    LogisticRegressionCV,
    PathDisplay,
    displays,
)


@pytest.fixture
def pyplot() -> Any:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


def test_a_path_is_drawn_with_names_and_the_chosen_penalty(pyplot: Any) -> None:
    X, y = diabetes()
    display = PathDisplay.from_estimator(Lasso(alpha=1.0), X, y, n_lams=30, n_labels=4, title="T")
    assert display.figure_ is display.ax_.figure
    assert [text.get_text() for text in display.ax_.texts] == ["s5", "s1", "bmi", "s2"]
    assert len(display.lines_) == 4
    fit = Lasso(alpha=display.grid[-1]).fit(X, y)
    for line, j in zip(display.lines_, (8, 4, 2, 5), strict=True):
        assert line.get_ydata()[-1] == pytest.approx(fit.coef_[j], rel=0.05)
    assert display.chosen == 1.0
    assert display.ax_.get_legend().get_texts()[0].get_text() == "alpha = 1"
    assert display.ax_.get_title() == "T"
    left, right = display.ax_.get_xlim()
    assert left > right  # from strong to weak


def test_of_several_targets_only_the_one_that_is_drawn_is_fitted(
    pyplot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, fitted = make_data(N, D), []

    def path(X: Any, target: Any, *strengths: Any, **options: Any) -> Any:
        fitted.append(target)
        return shotgun.path(X, target, *strengths, **options)

    monkeypatch.setattr(shotgun.estimator, "path", path)
    targets = np.column_stack([data.y, -data.y, data.y**2])
    display = PathDisplay.from_estimator(Lasso(), data.A, targets, target=1, n_lams=5)
    np.testing.assert_array_equal(fitted, [-data.y])
    alone = Lasso(alpha=display.grid[-1]).fit(data.A, -data.y)
    np.testing.assert_allclose(display.coefs[:, [-1]].toarray().ravel(), alone.coef_, atol=1e-3)


def test_a_path_of_solve_is_drawn_in_any_order(pyplot: Any) -> None:
    data = make_data(N, D)
    _, ax = pyplot.subplots()
    fits = shotgun.path(data.A, data.y, lams=[1.0, 30.0, 5.0])
    display = PathDisplay.from_path(fits, ax=ax, feature_names=[f"f{j}" for j in range(D)])
    assert display.ax_ is ax
    assert display.grid.tolist() == [30.0, 5.0, 1.0]
    assert all(text.get_text().startswith("f") for text in ax.texts)
    for line in display.lines_:
        assert line.get_ydata()[-1] in fits.X[:, [0]].toarray()


@pytest.mark.parametrize("model", [ElasticNet(l1_ratio=0.5), LinearSVC(), LogisticRegression()])
def test_paths_of_other_models_end_at_their_fits(pyplot: Any, model: Any) -> None:
    X, y = iris()
    y = y if hasattr(model, "C") else X[:, 0]
    display = PathDisplay.from_estimator(
        model, X, y, target=1 if hasattr(model, "C") else 0, n_lams=8
    )
    name = "C" if hasattr(model, "C") else "alpha"
    assert display.grid_name == name
    assert display.coefs[:, [0]].nnz == 0
    fit = model.set_params(**{name: display.grid[5]}).fit(X, y)
    expected = np.atleast_2d(fit.coef_)[1 if name == "C" else 0]
    np.testing.assert_allclose(display.coefs[:, [5]].toarray().ravel(), expected, atol=0.05)


def test_a_path_needs_an_l1_penalty() -> None:
    data = make_data(N, D)
    with pytest.raises(ValueError, match="l1_ratio must be positive"):
        PathDisplay.from_estimator(ElasticNet(l1_ratio=0.0), data.A, data.y)
    with pytest.raises(ValueError, match="estimator must have a parameter alpha or C"):
        PathDisplay.from_estimator(LassoCV(), data.A, data.y)
    with pytest.raises(ValueError, match="y must depend on a feature"):
        PathDisplay.from_estimator(Lasso(), data.A, np.ones(N))
    for model in (LogisticRegression(l1_ratio=None), LinearSVC(penalty="l2")):
        with pytest.raises(ValueError, match="l1_ratio must be positive"):
            PathDisplay.from_estimator(model, data.A, data.y > 0)


def test_a_single_fold_is_drawn_without_an_error(pyplot: Any) -> None:
    data = make_data(N, D)
    half = np.arange(N) < N // 2
    model = LassoCV(cv=[(half, ~half)], alphas=3).fit(data.A, data.y)
    display = CVDisplay.from_estimator(model)
    np.testing.assert_array_equal(display.line_.get_ydata(), -model.cv_scores_[0])


def test_cross_validation_is_drawn(pyplot: Any) -> None:
    X, y = diabetes()
    model = LassoCV(cv=4, alphas=20).fit(X, y)
    assert f"alpha = {model.alpha_:.4g} chosen" in model.summary()
    display = CVDisplay.from_estimator(model)
    np.testing.assert_allclose(display.line_.get_ydata(), model.mse_path_.mean(axis=1))
    assert display.ax_.get_ylabel() == "mean squared error"
    marks = [line.get_xdata()[0] for line in display.lines_[1:]]
    assert marks == [model.grid_[model.min_index_], model.grid_[model.one_se_index_]]
    path = PathDisplay.from_estimator(model)
    assert path.chosen == model.alpha_
    np.testing.assert_allclose(
        path.coefs.toarray(), np.mean([coefs.toarray() for coefs in model.cv_coefs_], axis=0)
    )


def test_scores_of_classifiers_are_drawn(pyplot: Any) -> None:
    X, y = iris()
    form = {"Cs": 4, "cv": 3, "l1_ratios": (1.0,), "use_legacy_attributes": False}
    model = LogisticRegressionCV(scoring="neg_log_loss", **form).fit(X, y)
    display = CVDisplay.from_estimator(model)
    assert display.ax_.get_ylabel() == "log loss"
    np.testing.assert_allclose(display.line_.get_ydata(), -model.cv_scores_.mean(axis=0))
    assert PathDisplay.from_estimator(model, target=2).grid_name == "C"
    with pytest.raises(ValueError, match="must be a fitted"):
        CVDisplay.from_estimator(LogisticRegression())


def test_convergence_is_drawn_down_to_the_tolerance(pyplot: Any) -> None:
    data = make_data(200, 100, rank=5)
    fits = [shotgun.solve(data.A, data.y, 1.0, engine=e, trace=True) for e in ("block", "newton")]
    display = ConvergenceDisplay.from_solutions(fits, labels=["a", "b"])
    for line, fit in zip(display.lines_, fits, strict=True):
        assert line.get_ydata()[-1] == pytest.approx(fit.trace[-1]["gap"] / fit.null_objective)
        assert line.get_ydata()[-1] <= 1e-6
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == ["a", "b", "tol = 1e-06"]
    for x, column in (("epochs", "epoch"), ("updates", "updates")):
        one = ConvergenceDisplay.from_solutions(fits[0]).plot(x=x)
        assert one.lines_[0].get_xdata()[-1] == fits[0].trace[-1][column]
    with pytest.raises(ValueError, match="x must be one of"):
        display.plot(x="joules")
    with pytest.raises(ValueError, match="trace=True"):
        ConvergenceDisplay.from_solutions(shotgun.solve(data.A, data.y, 1.0))


def test_convergence_of_an_estimator_has_a_line_for_each_fit(pyplot: Any) -> None:
    X, y = iris()
    display = ConvergenceDisplay.from_estimator(LinearSVC(), X, y)
    assert display.labels == ["setosa", "versicolor", "virginica"]
    display = ConvergenceDisplay.from_estimator(LogisticRegression(), X, y)
    assert len(display.lines_) == 1


def test_convergence_that_cannot_be_drawn_is_refused(pyplot: Any) -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="x = 'updates' is not known"):
        ConvergenceDisplay.from_estimator(LogisticRegression(), X, y, x="updates")
    with pytest.raises(ValueError, match="estimator must have a parameter alpha or C"):
        ConvergenceDisplay.from_estimator(LassoCV(), X, y)


def test_labels_move_apart_but_keep_their_order() -> None:
    wanted = np.array([0.0, 0.1, 5.0, 0.05])
    placed = displays._spread(wanted, 1.0)
    assert (np.argsort(placed) == np.argsort(wanted)).all()
    assert np.diff(np.sort(placed)).min() >= 1 - 1e-12
    assert placed[2] == 5.0
    assert placed[[0, 1, 3]].mean() == pytest.approx(0.05)
