"""Folds side by side: what scorers see, what a failure leaves behind."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

import shotgun
from conftest import given, make_data, offset
from shotgun import Lasso, LassoCV, LogisticRegressionCV
from shotgun.selection import standard_error

N, D = 60, 12


@pytest.mark.parametrize("known", [None, offset(N)], ids=["plain", "offset"])
@pytest.mark.parametrize("sparse", [None, "csr"])
def test_a_scorer_of_the_users_own_sees_all_features(sparse: str | None, known: Any) -> None:
    data = make_data(N, D)
    A = given(data.A, sparse, np.float64)
    seen = []

    def scorer(model: Any, X: Any, y: Any) -> float:
        X = X.toarray() if sparse else X
        seen.append(X[:, :D])
        return -float(np.mean(((model.predict(X) - y) * X[:, D - 1]) ** 2))

    model = LassoCV(cv=KFold(2), alphas=[0.5], tol=1e-10, scoring=scorer, n_jobs=1)
    found = model.fit(A, data.y, offset=known).cv_scores_[:, 0]
    for (train, test), X, score in zip(KFold(2).split(A), seen, found, strict=True):
        np.testing.assert_array_equal(X, data.A[test])
        o = np.zeros(N) if known is None else known
        fold = Lasso(alpha=0.5, tol=1e-10).fit(data.A[train], data.y[train], offset=o[train])
        wrong = fold.predict(data.A[test], offset=o[test]) - data.y[test]
        assert score == pytest.approx(-np.mean((wrong * data.A[test, D - 1]) ** 2))


def test_scores_are_taken_in_the_order_of_the_folds_by_the_thread_that_fits() -> None:
    data = make_data(N, D)
    seen: list[tuple[int, float]] = []

    def scorer(model: Any, X: Any, y: Any) -> float:
        seen.append((threading.get_ident(), y[0]))
        return 0.0

    LassoCV(cv=KFold(6), alphas=[0.5, 0.1], scoring=scorer, n_jobs=3).fit(data.A, data.y)
    firsts = [data.y[test[0]] for _, test in KFold(6).split(data.A)]
    assert seen == [(threading.get_ident(), y) for y in firsts for _ in range(2)]


def test_a_scorer_that_fails_ends_the_fit() -> None:
    data = make_data(N, D)
    rows: list[int] = []
    failed = threading.Event()

    def scorer(model: Any, X: Any, y: Any) -> float:
        failed.set()
        raise RuntimeError("of the scorer")

    def callback(row: dict[str, Any]) -> None:
        rows.append(row["fold"])
        if row["fold"] > 1:
            failed.wait(1)
        time.sleep(0.002)

    with pytest.raises(RuntimeError, match="of the scorer"):
        LassoCV(cv=8, alphas=50, n_jobs=2, callback=callback, scoring=scorer).fit(data.A, data.y)
    assert not {5, 6, 7} & set(rows)


def test_when_a_fold_fails_no_other_goes_on() -> None:
    data = make_data(N, D)
    rows: list[int] = []

    def callback(row: dict[str, Any]) -> None:
        rows.append(row["fold"])
        if row["fold"] == 1:
            raise RuntimeError("of the callback")
        time.sleep(0.002)

    with pytest.raises(RuntimeError, match="of the callback"):
        LassoCV(cv=4, alphas=1000, n_jobs=2, callback=callback).fit(data.A, data.y)
    count, threads = len(rows), threading.active_count()
    time.sleep(0.05)
    assert len(rows) == count < 1000
    assert threads == threading.active_count()
    assert not {2, 3} & set(rows)


def test_folds_without_weight_are_named() -> None:
    data = make_data(N, D)
    half = (np.arange(N) < N // 2).astype(float)
    with pytest.raises(ValueError, match="sample_weight is zero for all that fold 0 leaves to fit"):
        LassoCV(cv=KFold(2)).fit(data.A, data.y, sample_weight=half)
    with pytest.raises(ValueError, match="sample_weight is zero for all that a fold holds out"):
        LassoCV(cv=KFold(4), alphas=2).fit(data.A, data.y, sample_weight=half)


def test_fits_that_did_not_converge_are_told_of_without_making_their_weights_dense(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = make_data(N, D)
    monkeypatch.setattr(shotgun.Path, "_weights", lambda *_: pytest.fail("made dense"))
    with pytest.warns(ConvergenceWarning, match="LassoCV in [0-9]+ of 31 fits"):
        LassoCV(alphas=10, cv=3, max_iter=1, engine="shooting").fit(data.A, data.y)


def test_the_standard_error_over_folds_is_that_of_their_mean_and_zero_of_one() -> None:
    scores = np.random.default_rng(0).normal(size=(7, 3))
    expected = [np.sqrt(np.var(column, ddof=1) / 7) for column in scores.T]
    np.testing.assert_allclose(standard_error(scores), expected)
    np.testing.assert_array_equal(standard_error(scores[:1]), np.zeros(3))


def test_fits_that_did_not_converge_are_kept_without_their_weights() -> None:
    data = make_data(N, D, "logistic")
    model = LogisticRegressionCV(
        Cs=[1.0, 10.0],
        callback=lambda row: row["round"] == 1,
        scoring="accuracy",
        use_legacy_attributes=False,
    ).fit(data.A, data.y)
    unfinished = [fit for folds in model._fits for fits in folds for fit in fits.unfinished]
    assert {fit.status for fit in unfinished} == {"stopped"}
    assert not any(isinstance(value, np.ndarray) for fit in unfinished for value in fit)
