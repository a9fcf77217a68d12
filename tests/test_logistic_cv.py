"""LogisticRegressionCV chooses as scikit-learn's does, and tells more."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn import linear_model
from sklearn.datasets import load_iris
from sklearn.model_selection import GroupKFold, StratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from conftest import given, make_data, offset, weights
from shotgun import LogisticRegression, LogisticRegressionCV

N, D = 80, 15
NEW: dict[str, Any] = {"use_legacy_attributes": False, "scoring": "neg_log_loss"}


# Classes that weigh 1e-4 take more epochs than the checks allow.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        LogisticRegressionCV(cv=2, Cs=[0.1, 1.0], tol=1e-10, **NEW),
        LogisticRegressionCV(
            cv=2,
            Cs=[0.3],
            l1_ratios=[0.2, 1.0],
            selection="1se",
            n_jobs=2,
            scoring="accuracy",
            use_legacy_attributes=True,
        ),
    ]
)
def test_scikit_learn_finds_nothing_to_complain_about(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("sparse", [None, "csr"])
@pytest.mark.parametrize("w", [None, weights(N)], ids=["unweighted", "weighted"])
def test_scores_shapes_and_choice_are_scikit_learns(
    legacy: bool, sparse: str | None, w: Any
) -> None:
    data = make_data(N, D, "logistic", density=0.6)
    how: dict[str, Any] = {
        "Cs": [1.0, 0.2, 0.5],
        "l1_ratios": [0.5, 1.0],
        "cv": 3,
        "scoring": "neg_log_loss",
        "use_legacy_attributes": legacy,
    }
    theirs = linear_model.LogisticRegressionCV(**how, solver="saga", tol=1e-9, max_iter=100_000)
    theirs.fit(data.A, data.y, w)
    ours = LogisticRegressionCV(**how, tol=1e-10).fit(given(data.A, sparse, np.float64), data.y, w)
    for name in ("scores_", "coefs_paths_"):
        mine, other = getattr(ours, name), getattr(theirs, name)
        if legacy:
            assert list(mine) == list(other)
            mine, other = mine[1], other[1]
        np.testing.assert_allclose(mine, other, atol=1e-4)
    assert ours.n_iter_.shape == theirs.n_iter_.shape
    np.testing.assert_array_equal(ours.Cs_, theirs.Cs_)
    np.testing.assert_array_equal(ours.C_, theirs.C_)
    np.testing.assert_array_equal(ours.l1_ratio_, theirs.l1_ratio_)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    assert ours.score(data.A, data.y) == pytest.approx(theirs.score(data.A, data.y), rel=1e-4)


def test_without_a_refit_the_folds_are_averaged_as_scikit_learn_does() -> None:
    data = make_data(N, D, "logistic")
    how: dict[str, Any] = {"Cs": [0.2, 0.5, 1.0], "l1_ratios": [1.0], "cv": 3, "refit": False}
    theirs = linear_model.LogisticRegressionCV(
        **how, **NEW, solver="saga", tol=1e-9, max_iter=100_000
    ).fit(data.A, data.y)
    ours = LogisticRegressionCV(**how, **NEW, tol=1e-10).fit(data.A, data.y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)
    assert float(ours.C_) == pytest.approx(float(theirs.C_))


def test_the_model_is_the_plain_one_with_the_chosen_C() -> None:
    data = make_data(N, D, "logistic")
    labels = np.where(data.y > 0, "yes", "no")
    known = offset(N)
    chosen = LogisticRegressionCV(
        Cs=[0.1, 1.0, 10.0], class_weight="balanced", tol=1e-10, max_iter=10_000, **NEW
    )
    chosen.fit(data.A, labels, offset=known)
    plain = LogisticRegression(C=chosen.C_, class_weight="balanced", tol=1e-10, max_iter=10_000)
    plain.fit(data.A, labels, offset=known)
    np.testing.assert_allclose(chosen.coef_, plain.coef_, atol=1e-6)
    assert list(chosen.classes_) == ["no", "yes"]
    assert chosen.status_ == "converged"


def test_many_classes_are_one_multinomial_model_per_fold() -> None:
    X, y = load_iris(return_X_y=True)
    model = LogisticRegressionCV(Cs=[0.1, 1.0, 10.0], cv=3, **NEW).fit(X, y)
    assert model.coefs_paths_.shape == (3, 1, 3, 3, 5)
    assert model.coef_.shape == (3, 4)
    folds = list(StratifiedKFold(3).split(X, y))
    for k, (train, test) in enumerate(folds):
        plain = LogisticRegression(C=1.0, tol=1e-8).fit(X[train], y[train])
        found = model.cv_coefs_[k]
        np.testing.assert_allclose(
            [coef[:, [1]].toarray().ravel() for coef in found], plain.coef_, atol=2e-2
        )
        chances = plain.predict_proba(X[test])[np.arange(len(test)), y[test]]
        assert model.cv_scores_[k, 1] == pytest.approx(np.log(chances).mean(), abs=1e-3)


def test_groups_reach_the_splitter_with_and_without_routing() -> None:
    data = make_data(N, D, "logistic")
    groups = np.arange(N) % 7
    grid = [0.1, 1.0]
    model = LogisticRegressionCV(Cs=grid, cv=GroupKFold(3), **NEW)
    plain = model.fit(data.A, data.y, groups=groups).cv_scores_
    folds = list(GroupKFold(3).split(data.A, data.y, groups))
    given_folds = LogisticRegressionCV(Cs=grid, cv=folds, **NEW).fit(data.A, data.y)
    np.testing.assert_array_equal(plain, given_folds.cv_scores_)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = model.fit(data.A, data.y, groups=groups).cv_scores_
    np.testing.assert_array_equal(plain, routed)
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        model.fit(data.A, data.y, colour="red")


def test_defaults_warn_of_what_scikit_learn_will_change() -> None:
    data = make_data(N, D, "logistic")
    with pytest.warns(FutureWarning) as caught:
        LogisticRegressionCV(Cs=[0.1, 1.0]).fit(data.A, data.y)
    told = " ".join(str(w.message) for w in caught)
    assert "scoring" in told
    assert "use_legacy_attributes" in told
    with pytest.warns(FutureWarning, match="'penalty' was deprecated"):
        ridge = LogisticRegressionCV(Cs=[0.1, 1.0], penalty="l2", **NEW).fit(data.A, data.y)
    assert ridge.l1_ratio_ == 0


@pytest.mark.parametrize(
    ("named", "value"),
    [
        ("Cs", [-1.0]),
        ("Cs", []),
        ("Cs", [[1.0, 2.0]]),
        ("Cs", ["a"]),
        ("l1_ratios", [2.0]),
        ("l1_ratios", []),
        ("l1_ratios", ["a"]),
    ],
)
def test_bad_parameters_are_named(named: str, value: Any) -> None:
    data = make_data(N, D, "logistic")
    with pytest.raises((ValueError, TypeError), match=named):
        LogisticRegressionCV(**NEW, **{named: value}).fit(data.A, data.y)


def test_a_fold_without_one_of_the_classes_is_named() -> None:
    data = make_data(N, D, "logistic")
    order = np.argsort(data.y)
    folds = [(order[: N // 4], order[N // 4 :])]
    with pytest.raises(ValueError, match="fold 0 leaves no sample of class 1"):
        LogisticRegressionCV(cv=folds, **NEW).fit(data.A, data.y)


@pytest.mark.parametrize("many", [False, True])
def test_a_grid_that_ends_between_equal_Cs_keeps_those_that_were_fitted(many: bool) -> None:
    X, y = load_iris(return_X_y=True)
    y = y if many else y == 1
    model = LogisticRegressionCV(Cs=[1.0, 0.1, 0.1], callback=lambda row: True, **NEW).fit(X, y)
    assert model.Cs_.tolist() == model.grid_.tolist() == [0.1]
    assert model.scores_.shape == model.n_iter_.shape == (5, 1, 1)


def test_without_a_refit_there_is_a_support_but_no_certificate() -> None:
    data = make_data(N, D, "logistic")
    model = LogisticRegressionCV(Cs=[0.1, 0.3], **NEW).fit(data.A, data.y)
    assert model.status_ == "converged"
    model.set_params(refit=False).fit(data.A, data.y)
    assert not hasattr(model, "status_")
    assert not hasattr(model, "dual_gap_")
    assert not hasattr(model, "certificate_")
    np.testing.assert_array_equal(model.support_, np.flatnonzero(model.coef_[0]))
    assert "largest weights" in model.summary()
