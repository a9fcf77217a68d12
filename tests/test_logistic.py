"""The classifiers are scikit-learn's, by another solver: same model, same manners."""

from __future__ import annotations

import inspect
import itertools
import pickle
import re
from typing import Any

import numpy as np
import pytest
from scipy.special import expit
from sklearn import linear_model, svm
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import shotgun
from conftest import D, N, factors, given, make_data, offset, weights
from reference import Reference, loss_values
from shotgun import LinearSVC, LogisticRegression

CLASSIFIERS = [LogisticRegression, LinearSVC]
LOSS_OF = {LogisticRegression: "logistic", LinearSVC: "squared_hinge"}


@parametrize_with_checks(
    [
        LogisticRegression(),
        LinearSVC(),
        LogisticRegression(l1_ratio=0.5, C=10, class_weight="balanced", warm_start=True),
        LogisticRegression(l1_ratio=0.0, n_jobs=2),
        LinearSVC(penalty="l2", tol=1e-10),
        LinearSVC(class_weight="balanced", standardize=True),
    ]
)
def test_scikit_learn_finds_nothing_to_complain_about(estimator: Any, check: Any) -> None:
    check(estimator)


def objective(model: Any, X: Any, y: Any, w: Any, C: float, l1_ratio: float, loss: str) -> float:
    """What the docstrings promise to minimise, over C, in float64."""
    coef = model.coef_.astype(np.float64).ravel()
    losses = loss_values(loss, X @ coef + float(model.intercept_[0]), y)
    penalty = l1_ratio * np.abs(coef).sum() + (1 - l1_ratio) / 2 * coef @ coef
    return float((losses if w is None else w * losses).sum() + penalty / C)


@pytest.mark.parametrize("sparse", [None, "csc", "csr"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("l1_ratio", [1.0, 0.4, 0.0])
def test_the_model_is_scikit_learns(sparse: str | None, dtype: Any, l1_ratio: float) -> None:
    data = make_data(60, 6, "logistic", density=0.8)
    A = data.A.astype(dtype)
    X = A.astype(np.float64)
    for w, intercept in itertools.product((None, weights(60)), (True, False)):
        form = {"C": 0.3, "l1_ratio": l1_ratio, "fit_intercept": intercept}
        ours = LogisticRegression(tol=1e-12, max_iter=10_000, **form)
        ours.fit(given(A, sparse, dtype), data.y, w)
        theirs = linear_model.LogisticRegression(
            solver="saga", tol=1e-12, max_iter=100_000, random_state=0, **form
        ).fit(X, data.y, w)
        assert ours.coef_.shape == theirs.coef_.shape
        assert ours.intercept_.shape == theirs.intercept_.shape
        assert ours.coef_.dtype == ours.decision_function(A).dtype == dtype
        assert objective(ours, X, data.y, w, 0.3, l1_ratio, "logistic") == pytest.approx(
            objective(theirs, X, data.y, w, 0.3, l1_ratio, "logistic"), rel=1e-6
        )
        expected = theirs.predict_proba(X)
        close = 1e-6 if dtype == np.float64 else 1e-5
        np.testing.assert_allclose(
            ours.predict_proba(given(A, sparse, dtype)), expected, rtol=10 * close, atol=close
        )
        np.testing.assert_array_equal(ours.predict(A), theirs.predict(X))


@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("w", [None, weights()], ids=["unweighted", "weighted"])
def test_linear_svc_without_intercept_is_liblinears(penalty: str, w: Any) -> None:
    data = make_data(N, D, "squared_hinge")
    form = {"penalty": penalty, "C": 0.2, "fit_intercept": False}
    ours = LinearSVC(tol=1e-12, **form).fit(data.A, data.y, w)
    theirs = svm.LinearSVC(dual=False, tol=1e-8, max_iter=100_000, **form).fit(data.A, data.y, w)
    np.testing.assert_allclose(
        ours.decision_function(data.A), theirs.decision_function(data.A), atol=1e-5
    )
    assert type(ours.n_iter_) is type(theirs.n_iter_) is int


@pytest.mark.parametrize("cls", CLASSIFIERS)
@pytest.mark.parametrize("w", [None, weights()], ids=["unweighted", "weighted"])
def test_the_objective_of_the_docstring_is_minimal(cls: Any, w: Any) -> None:
    data = make_data(N, D, LOSS_OF[cls])
    model = cls(C=0.5, tol=1e-9).fit(data.A, data.y, w)
    reference = Reference.of(data.A, data.y, 2.0, LOSS_OF[cls], weights=w, fit_intercept=True)
    best = reference.objective(reference.solve())
    assert objective(model, data.A, data.y, w, 0.5, 1.0, LOSS_OF[cls]) == pytest.approx(
        best, rel=1e-8
    )
    assert model.status_ == "converged"
    assert 0 <= model.dual_gap_ <= 1e-9 * best * 10


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_labels_may_be_words(cls: Any) -> None:
    data = make_data(N, D, "logistic")
    words = np.where(data.y > 0, "yes", "no")
    model, numbers = cls().fit(data.A, words), cls().fit(data.A, data.y)
    assert model.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(model.coef_, numbers.coef_)
    np.testing.assert_array_equal(
        model.predict(data.A), np.where(numbers.predict(data.A) > 0, "yes", "no")
    )


@pytest.mark.parametrize("sparse", [None, "csc", "csr"])
def test_linear_svc_fits_one_class_against_the_rest(sparse: str | None) -> None:
    A, codes = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])
    X, y = given(A, sparse, np.float64), names[codes]
    model = LinearSVC(max_iter=10_000).fit(X, y)
    assert model.classes_.tolist() == names.tolist()
    assert model.coef_.shape == (3, 4)
    assert model.intercept_.shape == (3,)
    assert model.status_ == ["converged"] * 3
    assert len(model.parallelism_) == len(model.dual_gap_) == 3
    plain = OneVsRestClassifier(LinearSVC(max_iter=10_000)).fit(X, y)
    np.testing.assert_array_equal(model.coef_, [one.coef_[0] for one in plain.estimators_])
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))


@pytest.mark.parametrize("sparse", [None, "csc", "csr"])
@pytest.mark.parametrize("l1_ratio", [1.0, 0.4, 0.0])
def test_many_classes_are_one_multinomial_model(sparse: str | None, l1_ratio: float) -> None:
    A, codes = load_iris(return_X_y=True)
    A -= A.mean(axis=0)  # for saga's sake
    names = np.array(["setosa", "versicolor", "virginica"])
    X, y = given(A, sparse, np.float64), names[codes]
    ours = LogisticRegression(C=0.5, l1_ratio=l1_ratio, tol=1e-12, max_iter=None).fit(X, y)
    theirs = linear_model.LogisticRegression(
        C=0.5, l1_ratio=l1_ratio, solver="saga", tol=1e-10, max_iter=100_000, random_state=0
    ).fit(A, y)
    assert ours.classes_.tolist() == names.tolist()
    assert ours.n_iter_.shape == theirs.n_iter_.shape == (1,)
    assert ours.status_ == "converged"
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(A), atol=1e-6)
    np.testing.assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(A), atol=1e-4)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(A))
    np.testing.assert_array_equal(ours.support_, np.flatnonzero(ours.coef_.any(axis=0)))


def test_scores_that_are_all_far_from_zero_make_the_same_probabilities() -> None:
    A, y = load_iris(return_X_y=True)
    model = LogisticRegression(max_iter=10_000).fit(A, y)
    expected = model.predict_proba(A)
    for far in (-1e5, 1e5):
        moved = clone(model).fit(A, y)
        moved.intercept_ = model.intercept_ + far
        np.testing.assert_allclose(moved.predict_proba(A), expected, atol=1e-9)


@pytest.mark.parametrize("cls", CLASSIFIERS)
@pytest.mark.parametrize("w", [None, weights()], ids=["unweighted", "weighted"])
def test_balanced_classes_weigh_the_same(cls: Any, w: Any) -> None:
    data = make_data(N, D, "logistic")
    y = np.where(np.arange(N) < 9, 1, np.where(data.y > 0, 2, 3))
    counts = np.ones(N) if w is None else w
    totals = np.array([counts[y == c].sum() for c in (1, 2, 3)])
    balanced = counts * (counts.sum() / (3 * totals))[y - 1]
    model = cls(class_weight="balanced").fit(data.A, y, w)
    expected = cls().fit(data.A, y, balanced)
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-9)
    named = cls(class_weight=dict(zip((1, 2, 3), counts.sum() / (3 * totals), strict=True)))
    np.testing.assert_allclose(named.fit(data.A, y, w).coef_, expected.coef_, atol=1e-9)


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_a_class_without_weight_is_absent(class_weight: Any) -> None:
    A, y = load_iris(return_X_y=True)
    w = (y != 1).astype(float)
    model = LogisticRegression(class_weight=class_weight).fit(A, y, w)
    assert model.classes_.tolist() == [0, 2]
    expected = LogisticRegression(class_weight=class_weight).fit(A[y != 1], y[y != 1])
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-3)
    with pytest.raises(ValueError, match="at least two classes"):
        model.fit(A, y, (y == 1).astype(float))
    model = LogisticRegression(class_weight={0: 1, 1: 0, 2: 1}).fit(A, y)
    assert model.classes_.tolist() == [0, 2]


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_an_offset_is_the_known_part_of_the_scores(cls: Any) -> None:
    data = make_data(N, D, "logistic")
    known = 5 * offset()
    model = cls().fit(data.A, data.y, offset=known)
    expected = shotgun.solve(
        data.A, data.y, 1.0, LOSS_OF[cls], offset=known, fit_intercept=True, order="cyclic"
    )
    np.testing.assert_array_equal(model.coef_[0], expected.x)
    scores = model.decision_function(data.A) + known
    np.testing.assert_allclose(model.decision_function(data.A, offset=known), scores)
    labels = np.where(scores > 0, 1, -1)
    np.testing.assert_array_equal(model.predict(data.A, offset=known), labels)
    assert model.score(data.A, data.y, offset=known) == np.mean(labels == data.y)
    if cls is LogisticRegression:
        chances = model.predict_proba(data.A, offset=known)
        np.testing.assert_allclose(chances, np.column_stack([expit(-scores), expit(scores)]))


def test_every_class_may_have_its_own_offset() -> None:
    A, y = load_iris(return_X_y=True)
    known = np.column_stack([np.zeros(150), offset(150), np.ones(150)])
    model = LogisticRegression(max_iter=10_000).fit(A, y, offset=known)
    scores = model.decision_function(A) + known
    np.testing.assert_allclose(model.decision_function(A, offset=known), scores)


def test_no_penalty_is_an_infinite_C() -> None:
    data = make_data(200, 4, "logistic")
    ours = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(data.A, data.y)
    theirs = linear_model.LogisticRegression(C=np.inf, tol=1e-10, solver="newton-cholesky")
    theirs.fit(data.A, data.y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-3)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"penalty": "l1"}, {"l1_ratio": 1.0}),
        ({"penalty": "l2", "l1_ratio": 0.0}, {"l1_ratio": 0.0}),
        ({"penalty": "elasticnet", "l1_ratio": 0.3}, {"l1_ratio": 0.3}),
        ({"penalty": None}, {"C": np.inf}),
        ({"l1_ratio": None}, {"l1_ratio": 0.0}),
    ],
)
def test_the_deprecated_penalty_still_means_what_it_did(old: Any, new: Any) -> None:
    data = make_data(200, 4, "logistic")
    with pytest.warns(FutureWarning, match="was deprecated in version 1.8") as caught:
        model = LogisticRegression(max_iter=10_000, **old).fit(data.A, data.y)
    assert [warning.filename for warning in caught] == [__file__]
    expected = LogisticRegression(max_iter=10_000, **new).fit(data.A, data.y)
    np.testing.assert_array_equal(model.coef_, expected.coef_)


@pytest.mark.filterwarnings("ignore:.* was deprecated in version 1.8:FutureWarning")
def test_a_penalty_against_its_ratio_wins_and_warns() -> None:
    data = make_data(N, D, "logistic")
    with pytest.warns(UserWarning, match="Inconsistent values: penalty=l2 with l1_ratio=1.0"):
        model = LogisticRegression(penalty="l2").fit(data.A, data.y)
    expected = LogisticRegression(l1_ratio=0.0).fit(data.A, data.y)
    np.testing.assert_array_equal(model.coef_, expected.coef_)


@pytest.mark.filterwarnings("ignore:.* was deprecated in version 1.8:FutureWarning")
def test_an_elastic_net_needs_a_ratio() -> None:
    with pytest.raises(ValueError, match="l1_ratio must be specified"):
        LogisticRegression(penalty="elasticnet", l1_ratio=None).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_a_warm_start_begins_where_the_last_fit_ended(cls: Any) -> None:
    data = make_data(100, 30, "logistic", rank=2)
    y = np.where(data.y > 0, 2, np.arange(100) % 2)
    model = cls(C=10, warm_start=True, engine="shooting", max_iter=100_000)
    cold = np.max(model.fit(data.A, y).n_iter_)
    assert np.max(model.fit(data.A, y).n_iter_) < cold / 2
    assert np.max(model.sparsify().fit(data.A, y).n_iter_) < cold / 2
    assert model.fit(data.A, y > 1).coef_.shape == (1, 30)  # another shape: a cold start


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_a_fit_that_does_not_converge_warns_once(cls: Any) -> None:
    A, y = load_iris(return_X_y=True)
    with pytest.warns(ConvergenceWarning) as caught:
        model = cls(C=1e3, max_iter=1, engine="shooting").fit(A, y)
    assert len(caught) == 1
    message = str(caught[0].message)
    assert f" is {model.dual_gap_.max():.3g}, the tolerance" in message
    assert "increase the number of iterations (max_iter, now 1) or tol (now 1e-06)" in message


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_factors_and_bounds_are_those_of_solve(cls: Any) -> None:
    data = make_data(N, D, "logistic")
    model = cls(penalty_factor=factors(), bounds=(-0.3, 0.5), max_iter=10_000).fit(data.A, data.y)
    assert (model.coef_ >= -0.3).all()
    assert (model.coef_ <= 0.5).all()
    assert not model.coef_[0, np.isinf(factors())].any()
    np.testing.assert_array_equal(model.support_, np.flatnonzero(model.coef_[0]))


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_pickled_and_cloned_models_are_the_same(cls: Any) -> None:
    data = make_data(N, D, "logistic")
    model = cls(C=0.5).fit(data.A, data.y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(data.A), model.predict(data.A))
    np.testing.assert_array_equal(clone(model).fit(data.A, data.y).coef_, model.coef_)


def test_models_work_inside_scikit_learns_machinery() -> None:
    data = make_data(200, D, "logistic")
    pipeline = make_pipeline(
        StandardScaler(), SelectFromModel(LinearSVC(C=0.05)), LogisticRegression()
    )
    assert pipeline.fit(data.A, data.y).score(data.A, data.y) > 0.8
    search = GridSearchCV(
        LogisticRegression(), {"C": [1e-3, 1.0]}, n_jobs=2, cv=3, scoring="roc_auc"
    )
    assert search.fit(data.A, data.y).best_params_["C"] == 1.0


@pytest.mark.parametrize("model", [LogisticRegression(), shotgun.ElasticNet()])
def test_every_parameter_and_every_attribute_of_a_fit_is_documented(model: Any) -> None:
    data = make_data(N, D, "logistic")
    model.fit(data.A, data.y)
    fitted = {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}
    told = set(re.findall(r"\w+", inspect.getdoc(type(model)) or ""))
    assert fitted | set(model.get_params()) <= told
