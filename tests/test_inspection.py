"""What fitted models tell about themselves."""

from __future__ import annotations

import builtins
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from sklearn import linear_model
from sklearn.exceptions import NotFittedError

import shotgun
from conftest import D, N, diabetes, factors, iris, make_data, offset, weights
from shotgun import (
    ElasticNet,
    ElasticNetCV,
    Lasso,
    LassoCV,
    LinearSVC,
    LogisticRegression,
    LogisticRegressionCV,
    PathDisplay,
    SparseHuberRegressor,
    SparsePoissonRegressor,
)


def test_a_summary_has_the_certificate_and_the_largest_weights() -> None:
    X, y = diabetes()
    model = Lasso(alpha=0.5).fit(X, y)
    text = model.summary(n_weights=2)
    assert text.startswith("Lasso(alpha=0.5)\nsquared loss, 10 features\n")
    assert f"{model.objective_:.6g}" in text
    assert f"{model.dual_gap_:.2g}" in text
    assert f"{model.tolerance_:.2g}" in text
    assert "converged" in text
    assert model.parallelism_["engine"] in text
    assert text.splitlines()[-2].split() == ["bmi", f"{model.coef_[2]:.6g}"]
    assert text.splitlines()[-1].split() == ["s5", f"{model.coef_[8]:.6g}"]


@pytest.mark.filterwarnings("ignore:With alpha=0")
def test_a_summary_says_which_gaps_are_no_bounds() -> None:
    X, y = diabetes()
    model = Lasso(alpha=0.0).fit(X, y)
    assert model.certificate_ == "gradient"
    assert f" ~{model.dual_gap_:.2g} " in model.summary()
    assert "\n~ estimated from the gradient" in model.summary()
    assert "~" not in Lasso(alpha=0.5).fit(X, y).summary()


def test_the_objective_lies_within_the_gap_of_the_best() -> None:
    data = make_data(N, D)
    model = Lasso(alpha=0.1).fit(data.A, data.y)
    best = Lasso(alpha=0.1, tol=1e-12).fit(data.A, data.y)
    least = best.objective_ * (1 - 1e-15)  # both may be the minimum, rounded
    assert least <= model.objective_ <= best.objective_ + model.dual_gap_
    assert model.dual_gap_ <= model.tolerance_


def test_a_summary_has_a_line_for_each_fit() -> None:
    X, y = iris()
    text = LinearSVC().fit(X, y).summary()
    assert [line.split()[0] for line in text.splitlines()[4:7]] == [
        "setosa",
        "versicolor",
        "virginica",
    ]
    assert text.count("converged") == 3
    together = LogisticRegression().fit(X, y).summary()
    assert together.count("converged") == 1
    assert "virginica" in together
    data = make_data(N, D)
    both = Lasso(alpha=0.1).fit(data.A, np.column_stack([data.y, -data.y])).summary()
    assert both.count("converged") == 2
    assert "target1" in both


def test_a_model_without_weights_has_a_summary() -> None:
    data = make_data(N, D)
    model = Lasso(alpha=1e6).fit(data.A, data.y)
    assert "largest weights" not in model.summary()
    assert len(model.coef_frame()) == 0


def test_the_frame_has_the_weights_in_order() -> None:
    X, y = diabetes()
    model = Lasso(alpha=0.5).fit(X, y)
    frame = model.coef_frame()
    assert list(frame.columns) == ["feature", "weight"]
    assert sorted(frame.index) == model.support_.tolist()
    assert (np.diff(frame.weight.abs()) <= 0).all()
    assert frame.feature.tolist() == X.columns[frame.index].tolist()
    np.testing.assert_array_equal(frame.weight, model.coef_[frame.index])
    assert len(model.coef_frame(all_features=True)) == 10


def test_the_frame_has_a_column_for_each_class() -> None:
    pytest.importorskip("pandas")
    X, y = iris()
    model = LogisticRegression().fit(X, y)
    frame = model.sparsify().coef_frame(all_features=True)
    assert list(frame.columns) == ["feature", "setosa", "versicolor", "virginica"]
    assert set(frame.feature) == {"x0", "x1", "x2", "x3"}
    np.testing.assert_array_equal(frame.to_numpy()[:, 1:].T, model.coef_.toarray()[:, frame.index])


def test_what_is_not_fitted_or_not_installed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotFittedError):
        Lasso().summary()
    with pytest.raises(NotFittedError):
        Lasso().to_sklearn()
    data = make_data(N, D)
    model = Lasso(alpha=0.1).fit(data.A, data.y)
    original = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.split(".")[0] in ("pandas", "matplotlib"):
            raise ImportError(name)
        return original(name, *rest)

    for name in ("pandas", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match="coef_frame needs pandas: pip install pandas"):
        model.coef_frame()
    with pytest.raises(ImportError, match="PathDisplay needs matplotlib"):
        PathDisplay.from_estimator(model, data.A, data.y)


MODELS = [
    (Lasso(alpha=0.1), "squared", linear_model.Lasso),
    (Lasso(alpha=0.1, positive=True, fit_intercept=False), "squared", linear_model.Lasso),
    (ElasticNet(alpha=0.1, l1_ratio=0.3), "squared", linear_model.ElasticNet),
    (SparseHuberRegressor(alpha=0.1, epsilon=0.5), "huber", linear_model.HuberRegressor),
    (SparsePoissonRegressor(alpha=0.1), "poisson", linear_model.PoissonRegressor),
    (LassoCV(cv=3, alphas=5), "squared", linear_model.Lasso),
    (ElasticNetCV(l1_ratio=[0.3, 0.9], cv=3, alphas=5), "squared", linear_model.ElasticNet),
]


@pytest.mark.parametrize(("model", "loss", "cls"), MODELS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_scikit_learns_regressor_predicts_the_same(
    model: Any, loss: str, cls: Any, dtype: Any
) -> None:
    data = make_data(N, D, loss)
    A = data.A.astype(dtype)
    plain = model.fit(A, data.y).to_sklearn()
    assert type(plain) is cls
    np.testing.assert_allclose(plain.predict(A), model.predict(A), rtol=1e-6)
    np.testing.assert_array_equal(plain.coef_, model.coef_)
    assert plain.n_features_in_ == D
    assert plain.score(A, data.y) == pytest.approx(model.score(A, data.y))


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(C=0.5, class_weight="balanced"),
        LogisticRegressionCV(
            Cs=[0.1, 1], cv=3, l1_ratios=(1.0,), scoring="accuracy", use_legacy_attributes=False
        ),
        LinearSVC(C=0.5),
    ],
)
@pytest.mark.parametrize("many", [False, True])
def test_scikit_learns_classifier_predicts_the_same(model: Any, many: bool) -> None:
    X, y = iris()
    X, y = (X, y) if many else (X[:100], y[:100])
    plain = model.fit(X, y).to_sklearn()
    assert type(plain).__module__.startswith("sklearn.")
    assert plain.C == model.C_ if hasattr(model, "C_") else plain.C == model.C
    np.testing.assert_array_equal(plain.classes_, model.classes_)
    np.testing.assert_array_equal(plain.predict(X), model.predict(X))
    np.testing.assert_allclose(plain.decision_function(X), model.decision_function(X))
    if not isinstance(model, LinearSVC):
        np.testing.assert_allclose(plain.predict_proba(X), model.predict_proba(X), atol=1e-12)


def test_scikit_learns_estimator_fitted_again_is_the_same_model() -> None:
    X, y = diabetes()
    for model in (Lasso(alpha=0.5), ElasticNet(alpha=0.01, l1_ratio=0.3)):
        model.set_params(tol=1e-10).fit(X, y)
        plain = model.to_sklearn()
        assert plain.feature_names_in_.tolist() == list(X.columns)
        again = plain.set_params(tol=1e-10, max_iter=100_000).fit(X, y)
        np.testing.assert_allclose(again.coef_, model.coef_, rtol=1e-4, atol=1e-3)


def test_a_relaxed_lasso_is_least_squares_on_its_support() -> None:
    X, y = diabetes()
    model = Lasso(alpha=0.5, tol=1e-10).fit(X, y, weights(442))
    relaxed = model.relaxed(X, y, weights(442))
    expected = linear_model.LinearRegression().fit(X.iloc[:, model.support_], y, weights(442))
    np.testing.assert_allclose(relaxed.coef_[model.support_], expected.coef_, rtol=1e-4)
    np.testing.assert_array_equal(relaxed.support_, model.support_)
    assert relaxed.intercept_ == pytest.approx(expected.intercept_, rel=1e-6)
    assert relaxed.status_ == "converged"
    assert relaxed.score(X, y, weights(442)) > model.score(X, y, weights(442))
    for selection in ("min", "1se"):
        chosen = LassoCV(cv=3, alphas=5, selection=selection).fit(X, y)
        assert chosen.relaxed(X, y).alpha_ == chosen.alpha_
    assert (model.coef_ != relaxed.coef_).any()  # a copy: the model stays


@pytest.mark.parametrize("gamma", [0.0, 0.4, 1.0])
def test_gamma_blends_the_fits(gamma: float) -> None:
    data = make_data(N, D)
    model = Lasso(alpha=0.3).fit(data.A, data.y, offset=offset())
    refit = model.relaxed(data.A, data.y, offset=offset())
    blend = model.relaxed(data.A, data.y, offset=offset(), gamma=gamma)
    np.testing.assert_allclose(
        blend.predict(data.A),
        gamma * model.predict(data.A) + (1 - gamma) * refit.predict(data.A),
        rtol=1e-10,
    )
    with pytest.raises(ValueError, match="gamma must be at most 1"):
        model.relaxed(data.A, data.y, gamma=1.5)


def test_each_target_is_relaxed_as_if_alone() -> None:
    data = make_data(N, D)
    Y = np.column_stack([data.y, data.A[:, 0]])
    both = Lasso(alpha=0.3).fit(data.A, Y).relaxed(data.A, Y)
    for y, coef, intercept in zip(Y.T, both.coef_, both.intercept_, strict=True):
        alone = Lasso(alpha=0.3).fit(data.A, y).relaxed(data.A, y)
        np.testing.assert_array_equal(coef, alone.coef_)
        assert intercept == alone.intercept_


@pytest.mark.parametrize("cls", [SparseHuberRegressor, SparsePoissonRegressor])
def test_a_relaxed_fit_has_the_least_loss_on_the_support(cls: Any) -> None:
    data = make_data(N, D, cls._loss)
    model = cls(alpha=0.2).fit(data.A, data.y)
    relaxed = model.relaxed(data.A, data.y)
    free = np.where(model.coef_ != 0, 1.0, np.inf)
    best = cls(alpha=0.0, penalty_factor=free).fit(data.A, data.y)
    assert relaxed.objective_ == pytest.approx(best.objective_, rel=1e-5)


def test_a_relaxed_fit_keeps_bounds_and_classes() -> None:
    data = make_data(N, D)
    model = Lasso(alpha=0.1, positive=True, penalty_factor=factors()).fit(data.A, data.y)
    assert (model.relaxed(data.A, data.y).coef_ >= 0).all()
    X, y = iris()
    model = LogisticRegression(C=0.1).fit(X, y)
    relaxed = model.relaxed(X, y)
    right = y[:, None] == model.classes_
    assert relaxed.predict_proba(X)[right].mean() > model.predict_proba(X)[right].mean()
    assert not relaxed.coef_[:, ~model.coef_.any(axis=0)].any()
    with pytest.raises(ValueError, match="y must have the classes"):
        model.relaxed(X[:100], y[:100])


def test_a_relaxed_fit_without_features_is_the_intercept() -> None:
    data = make_data(N, D)
    relaxed = Lasso(alpha=1e6).fit(data.A, data.y).relaxed(data.A, data.y)
    assert not relaxed.coef_.any()
    assert relaxed.intercept_ == pytest.approx(data.y.mean())


def test_null_objective_is_that_of_the_intercept() -> None:
    data = make_data(N, D)
    fit = shotgun.solve(data.A, data.y, 1.0, fit_intercept=True, tol=1e-4)
    assert fit.null_objective == pytest.approx(N * np.var(data.y) / 2)
    assert fit.tolerance == pytest.approx(1e-4 * fit.null_objective)


def test_nothing_of_this_loads_with_shotgun() -> None:
    code = """
    import sys, shotgun
    lazy = ("sklearn", "pandas", "matplotlib", "shotgun.displays", "shotgun.inference")
    assert not [name for name in lazy if name in sys.modules]
    shotgun.PathDisplay, shotgun.StabilitySelection
    assert "matplotlib" not in sys.modules
    """
    lines = "\n".join(line.strip() for line in code.splitlines())
    subprocess.run([sys.executable, "-c", lines], check=True)
