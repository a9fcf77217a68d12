"""Stability selection keeps its bound; debiased intervals cover at their level."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import threadpoolctl
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import shotgun.inference
from shotgun import (
    DebiasedLasso,
    ElasticNet,
    Lasso,
    LinearSVC,
    LogisticRegression,
    SparsePoissonRegressor,
    StabilitySelection,
)


@pytest.mark.filterwarnings("ignore:No features were selected")  # as is right for noise
@parametrize_with_checks(
    [
        StabilitySelection(n_pairs=3, n_lams=8),
        StabilitySelection(LinearSVC(), n_pairs=2, n_lams=4, max_false=None),
        DebiasedLasso(),
    ]
)
def test_scikit_learn_finds_nothing_to_complain_about(estimator: Any, check: Any) -> None:
    check(estimator)


def regression(n: int = 100, d: int = 60, seed: int = 0, noise: float = 0.5) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, 3 + X[:, 3] - X[:, 7] + noise * rng.normal(size=n)


def stability(*arguments: Any, **parameters: Any) -> StabilitySelection:
    return StabilitySelection(*arguments, **{"n_pairs": 15, "random_state": 0} | parameters)


@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sp.csr_matrix, sp.csc_array])
def test_the_stable_features_are_those_of_the_model(form: Any) -> None:
    X, y = regression()
    model = stability().fit(form(X), y)
    assert model.get_support(indices=True).tolist() == [3, 7]
    assert model.transform(form(X)).shape == (100, 2)


def test_probabilities_are_shares_of_the_halves() -> None:
    X, y = regression()
    model = stability(n_lams=20).fit(X, y)
    counts = model.stability_path_.toarray() * 30
    np.testing.assert_allclose(counts, counts.round(), atol=1e-9)
    assert counts.shape == (60, 20)
    assert counts.max() <= 30 + 1e-9
    np.testing.assert_array_equal(
        model.scores_, model.stability_path_.toarray()[:, : model.n_lams_].max(axis=1)
    )


def test_the_bound_is_that_of_the_paper_and_kept() -> None:
    X, y = regression()
    model = stability(threshold=0.8, max_false=0.5).fit(X, y)
    bound = model.mean_size_**2 / ((2 * 0.8 - 1) * 60)
    assert model.expected_false_ == pytest.approx(bound)
    assert model.expected_false_ <= 0.5
    whole = stability(threshold=0.8, max_false=None).fit(X, y)
    assert whole.n_lams_ == 50
    assert whole.mean_size_ > model.mean_size_
    assert whole.expected_false_ > 0.5


def test_noise_is_rarely_selected() -> None:
    rng = np.random.default_rng(5)
    false = [
        stability(random_state=k).fit(rng.normal(size=(60, 40)), rng.normal(size=60)).get_support()
        for k in range(6)
    ]
    assert np.mean(np.sum(false, axis=1)) <= 1.0


def test_a_pair_of_halves_is_disjoint_and_keeps_the_classes() -> None:
    groups = np.repeat(["a", "b", "c"], [10, 6, 3])
    halves = shotgun.inference.random_halves(groups, 5, np.random.RandomState(0))
    assert len(halves) == 10
    for one, other in zip(halves[::2], halves[1::2], strict=True):
        assert not (one * other).any()
        for half in (one, other):
            assert [half[groups == g].sum() for g in "abc"] == [5, 3, 1]
    with pytest.raises(ValueError, match="y has a class of 1 sample"):
        shotgun.inference.random_halves(np.array([0, 0, 1]), 1, np.random.RandomState(0))


def test_features_seen_so_far_are_counted_once() -> None:
    chosen = sp.csr_array(np.array([[0, 1, 1], [1, 0, 0], [0, 0, 0], [0, 0, 1]]) > 0)
    assert shotgun.inference.seen_so_far(chosen).tolist() == [1, 2, 3]


def test_threads_do_not_change_the_answer() -> None:
    X, y = regression()
    one, two = (stability(n_jobs=k).fit(X, y) for k in (1, 2))
    np.testing.assert_array_equal(one.stability_path_.toarray(), two.stability_path_.toarray())
    one, two = (DebiasedLasso(n_jobs=k).fit(X[:, :10], y) for k in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(one.se_, two.se_)


def test_threads_of_blas_do_not_change_the_answer() -> None:
    X, y = regression(n=400, d=600)
    y = y + X[:, 100:400] @ np.random.default_rng(1).normal(size=300)
    answers = []
    for limit in (1, 2):
        with threadpoolctl.threadpool_limits(limit, user_api="blas"):
            model = DebiasedLasso([0, 3], noise=0.5).fit(X, y)
        answers.append((model.coef_.tobytes(), model.se_.tobytes()))
    assert answers[0] == answers[1]


def test_a_task_that_fails_ends_the_others() -> None:
    begun, ended = threading.Barrier(2), []

    def task(k: int, stops: Any) -> None:
        begun.wait()
        if k == 0:
            raise RuntimeError("of the task")
        while not stops({}):
            pass
        ended.append(k)

    with pytest.raises(RuntimeError, match="of the task"):
        shotgun.inference.spread(task, [0, 1], 2)
    assert ended == [1]


def test_every_path_has_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = []

    def counted(self: Any, *arguments: Any, **how: Any) -> Any:
        threads.append(how["n_threads"])
        return original(self, *arguments, **how)

    original = Lasso._fit_grid
    monkeypatch.setattr(Lasso, "_fit_grid", counted)
    stability(n_pairs=2).fit(*regression())
    assert threads == [1] * 4


@pytest.mark.parametrize(
    "estimator",
    [
        ElasticNet(l1_ratio=0.7),
        LogisticRegression(),
        LinearSVC(class_weight="balanced"),
        SparsePoissonRegressor(standardize=True),
    ],
)
def test_every_loss_has_stable_features(estimator: Any) -> None:
    X, y = regression(n=200, d=30)
    if hasattr(estimator, "C"):
        y = np.where(y > 3, "high", "low")
    elif isinstance(estimator, SparsePoissonRegressor):
        y = np.random.default_rng(0).poisson(np.exp(X[:, 3] - X[:, 7]))
    model = stability(estimator, n_lams=20).fit(X, y)
    assert set(model.get_support(indices=True)) == {3, 7}


def test_a_feature_of_any_class_counts() -> None:
    X, _ = regression(n=200, d=20)
    y = np.argmax(3 * X[:, [3, 7, 11]], axis=1)
    for estimator in (LogisticRegression(), LinearSVC()):
        model = stability(estimator, n_pairs=5, n_lams=10, max_false=None, eps=0.3).fit(X, y)
        assert set(model.get_support(indices=True)) == {3, 7, 11}


def test_an_offset_is_known() -> None:
    X, y = regression()
    known = 20 * X[:, 0]
    selected = stability().fit(X, y + known, offset=known).get_support(indices=True)
    assert selected.tolist() == [3, 7]


def test_selection_works_in_a_pipeline_and_keeps_names() -> None:
    pandas = pytest.importorskip("pandas")
    X, y = regression()
    frame = pandas.DataFrame(X, columns=[f"gene{j}" for j in range(60)])
    selector = stability().set_output(transform="pandas")
    pipeline = make_pipeline(selector, Lasso(alpha=0.01)).fit(frame, y)
    assert pipeline[:-1].get_feature_names_out().tolist() == ["gene3", "gene7"]
    assert pipeline.score(frame, y) > 0.8
    assert clone(selector).random_state == 0


def ordinary_least_squares(X: Any, y: Any) -> tuple[Any, Any]:
    """The weights and their standard errors."""
    A = np.column_stack([X, np.ones(len(y))])
    coef, (square,), *_ = np.linalg.lstsq(A, y)
    se = np.sqrt(square / (len(y) - A.shape[1]) * np.diag(np.linalg.inv(A.T @ A)))
    return coef[:-1], se[:-1]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_with_many_samples_intervals_are_those_of_least_squares(form: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 8)) + 0.5 * rng.normal(size=(2000, 1))
    y = 2 + X @ [1, -1, 0.5, 0, 0, 0, 0.02, 0] + rng.normal(size=2000)
    model = DebiasedLasso().fit(form(X), y)
    coef, se = ordinary_least_squares(X, y)
    np.testing.assert_allclose(model.coef_, coef, atol=0.2 * se.min())
    np.testing.assert_allclose(model.se_, se, rtol=0.03)


def coverage(n: int, d: int, correlation: float, repetitions: int) -> Any:
    """How often the intervals of four strong and six absent coefficients hold them."""
    rng = np.random.default_rng(7)
    hits = []
    for _ in range(repetitions):
        X = rng.normal(size=(n, d))
        for j in range(1, d):
            X[:, j] = correlation * X[:, j - 1] + np.sqrt(1 - correlation**2) * X[:, j]
        features = rng.choice(d, 10, replace=False)
        beta = np.zeros(d)
        beta[features[:4]] = rng.choice([-1, 1], 4) * rng.uniform(0.5, 2, 4)
        y = 1 + X @ beta + rng.normal(size=n)
        lower, upper = DebiasedLasso(features).fit(X, y).conf_int(0.9).T
        hits.append((lower <= beta[features]) & (beta[features] <= upper))
    return np.mean(hits, axis=0)


def test_intervals_cover_at_about_their_level() -> None:
    covered = coverage(80, 100, 0.5, 25)
    assert 0.8 <= covered[:4].mean() <= 0.99  # 0.9 and three standard errors
    assert 0.82 <= covered[4:].mean() <= 0.98


def test_intervals_cover_where_every_feature_matters_and_all_are_entangled() -> None:
    rng = np.random.default_rng(3)
    hits = []
    for _ in range(20):
        X = rng.normal(size=(500, 8)) @ rng.normal(size=(8, 8))
        beta = rng.normal(size=8)
        lower, upper = DebiasedLasso().fit(X, X @ beta + rng.normal(size=500)).conf_int().T
        hits.append((lower <= beta) & (beta <= upper))
    assert np.mean(hits) >= 0.88


def test_cross_validation_finds_the_noise_too() -> None:
    X, y = regression(n=150, noise=1.0)
    model = DebiasedLasso([3, 7, 20], noise="cv").fit(X, y)
    assert model.noise_ == pytest.approx(1.0, rel=0.2)
    assert (model.p_values_ < 1e-6).tolist() == [True, True, False]


def test_features_are_numbers_names_or_a_mask() -> None:
    pandas = pytest.importorskip("pandas")
    X, y = regression(d=10)
    frame = pandas.DataFrame(X, columns=list("abcdefghij"))
    expected = DebiasedLasso([3, 9]).fit(frame, y)
    for features in (["d", "j"], np.isin(np.arange(10), [3, 9]), [3, -1]):
        model = DebiasedLasso(features).fit(frame, y)
        np.testing.assert_array_equal(model.features_, [3, 9])
        np.testing.assert_array_equal(model.coef_, expected.coef_)
    with pytest.raises(ValueError, match="unknown: 'z'"):
        DebiasedLasso(["z"]).fit(frame, y)
    with pytest.raises(ValueError, match="features must be columns of X"):
        DebiasedLasso([10]).fit(frame, y)


def test_the_frame_tells_all() -> None:
    pytest.importorskip("pandas")
    X, y = regression(d=10)
    model = DebiasedLasso([7, 2]).fit(X, y)
    frame = model.frame(level=0.9)
    assert frame.feature.tolist() == ["x7", "x2"]
    assert frame.index.tolist() == [7, 2]
    np.testing.assert_allclose(frame.upper - frame.lower, 2 * 1.6448536 * model.se_)
    np.testing.assert_allclose(frame.z, frame.coef / frame.se)
    with pytest.raises(ValueError, match="level must lie strictly between"):
        model.conf_int(1.0)


def test_a_constant_feature_is_never_certain() -> None:
    X, y = regression(d=10)
    X[:, 4] = 2.0
    model = DebiasedLasso([4]).fit(X, y)
    assert model.se_ == np.inf
    assert model.p_values_ == 1


def test_pure_noise_gives_uniform_p_values() -> None:
    rng = np.random.default_rng(0)
    p = DebiasedLasso().fit(rng.normal(size=(80, 100)), rng.normal(size=80)).p_values_
    assert 0.35 <= p.mean() <= 0.65
    assert (p < 0.1).mean() <= 0.2
