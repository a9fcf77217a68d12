"""LassoCV and ElasticNetCV choose as scikit-learn's do, and tell more."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn import linear_model
from sklearn.model_selection import KFold, PredefinedSplit, ShuffleSplit, TimeSeriesSplit
from sklearn.utils.estimator_checks import parametrize_with_checks

from conftest import given, make_data, offset, weights
from shotgun import ElasticNet, ElasticNetCV, Lasso, LassoCV

N, D = 60, 25


@parametrize_with_checks(
    [
        LassoCV(cv=3),
        LassoCV(cv=3, alphas=20, selection="1se", positive=True, n_jobs=2),
        LassoCV(cv=3, alphas=[0.1, 0.01], tol=1e-9, engine="block"),
        # repeated rows against weights are held to 1e-9 of what is predicted: not where alpha is so
        # small that a gap of 1e-12 leaves more than that to the weights
        ElasticNetCV(cv=3, alphas=10, eps=1e-2, tol=1e-12),
        ElasticNetCV(cv=3, alphas=10, tol=1e-12, l1_ratio=[0.3, 0.9], standardize=True),
    ]
)
def test_scikit_learn_finds_nothing_to_complain_about(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("sparse", [None, "csc", "csr"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("w", [None, weights(N)], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("intercept", [True, False])
def test_errors_grid_and_choice_are_scikit_learns(
    sparse: str | None, dtype: Any, w: Any, intercept: bool
) -> None:
    data = make_data(N, D, density=0.6)
    how = {"l1_ratio": [0.4, 1.0], "cv": 4, "alphas": 12, "fit_intercept": intercept}
    theirs = linear_model.ElasticNetCV(**how, tol=1e-12, max_iter=100_000)
    theirs.fit(data.A.copy(), data.y, w)  # without an intercept it writes into X
    ours = ElasticNetCV(**how, tol=1e-12).fit(given(data.A, sparse, dtype), data.y, w)
    close = 1e-5 if dtype == np.float64 else 1e-3
    np.testing.assert_allclose(ours.alphas_, theirs.alphas_, rtol=close)
    np.testing.assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=close)
    assert ours.alpha_ == pytest.approx(theirs.alpha_, rel=close)
    assert ours.l1_ratio_ == theirs.l1_ratio_
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=10 * close)


@pytest.mark.parametrize(
    "cv",
    [
        None,
        3,
        KFold(4, shuffle=True, random_state=0),
        ShuffleSplit(3, random_state=1),
        TimeSeriesSplit(3),
        PredefinedSplit(np.arange(N) % 5 - 1),
        [(np.arange(10, N), np.arange(10)), (np.arange(40), np.arange(40, N))],
    ],
    ids=str,
)
def test_any_splitter_gives_scikit_learns_errors(cv: Any) -> None:
    data = make_data(N, D)
    theirs = linear_model.LassoCV(cv=cv, alphas=8, tol=1e-12, max_iter=100_000)
    ours = LassoCV(cv=cv, alphas=8, tol=1e-10)
    np.testing.assert_allclose(
        ours.fit(data.A, data.y).mse_path_, theirs.fit(data.A, data.y).mse_path_, rtol=1e-6
    )


def test_the_model_is_the_plain_one_with_the_chosen_alpha() -> None:
    data = make_data(N, D)
    extras: dict[str, Any] = {"standardize": True, "penalty_factor": np.linspace(0.5, 2, D)}
    known = offset(N)
    for selection in ("min", "1se"):
        chosen = LassoCV(alphas=15, selection=selection, tol=1e-10, **extras)
        chosen.fit(data.A, data.y, offset=known)
        plain = Lasso(alpha=chosen.alpha_, tol=1e-10, **extras)
        plain.fit(data.A, data.y, offset=known)
        np.testing.assert_allclose(chosen.coef_, plain.coef_, atol=1e-6)
        assert chosen.dual_gap_ <= chosen.tolerance_
        assert chosen.status_ == "converged"


def test_the_folds_are_the_plain_fits_of_their_rows() -> None:
    data = make_data(N, D)
    folds = list(KFold(3).split(data.A))
    known = offset(N)
    model = ElasticNetCV(cv=folds, alphas=[0.5, 0.1, 0.02], l1_ratio=0.7, tol=1e-12)
    model.fit(data.A, data.y, offset=known)
    for k, (train, test) in enumerate(folds):
        for j, alpha in enumerate(model.grid_):
            plain = ElasticNet(alpha=alpha, l1_ratio=0.7, tol=1e-12)
            plain.fit(data.A[train], data.y[train], offset=known[train])
            np.testing.assert_allclose(
                model.cv_coefs_[k][:, [j]].toarray().ravel(), plain.coef_, atol=1e-5
            )
            errors = plain.predict(data.A[test], offset=known[test]) - data.y[test]
            assert model.cv_scores_[k, j] == pytest.approx(-(errors @ errors) / len(test), rel=1e-6)


def test_one_standard_error_takes_the_strongest_penalty_that_is_about_as_good() -> None:
    data = make_data(N, D)
    model = LassoCV(selection="1se", alphas=30).fit(data.A, data.y)
    mean, folds = model.cv_scores_.mean(axis=0), len(model.cv_scores_)
    assert mean[model.min_index_] == mean.max()
    error = model.cv_scores_[:, model.min_index_].std(ddof=1) / np.sqrt(folds)
    enough = np.flatnonzero(mean >= mean.max() - error)
    assert model.one_se_index_ == model.best_index_ == enough[0] < model.min_index_
    assert model.alpha_ == model.grid_[model.one_se_index_]
    least = LassoCV(alphas=30).fit(data.A, data.y)
    assert least.best_index_ == model.min_index_
    assert len(model.support_) < len(least.support_)


def test_a_scorer_decides_if_there_is_one() -> None:
    data = make_data(N, D)
    plain, told = LassoCV(alphas=10), LassoCV(alphas=10, scoring="neg_mean_squared_error")
    np.testing.assert_allclose(
        plain.fit(data.A, data.y).cv_scores_, told.fit(data.A, data.y).cv_scores_
    )
    assert not hasattr(told, "mse_path_")
    sparsest = LassoCV(alphas=10, scoring=lambda model, X, y: -np.count_nonzero(model.coef_))
    assert sparsest.fit(data.A, data.y).best_index_ == 0
    known = offset(N)
    np.testing.assert_allclose(
        plain.fit(data.A, data.y, offset=known).cv_scores_,
        told.fit(data.A, data.y, offset=known).cv_scores_,
    )


def test_l1_ratio_zero_wants_alphas_and_then_is_ridge() -> None:
    data = make_data(N, D)
    with pytest.raises(ValueError, match="l1_ratio=0"):
        ElasticNetCV(l1_ratio=0.0).fit(data.A, data.y)
    model = ElasticNetCV(l1_ratio=0.0, alphas=[1.0, 0.1], tol=1e-12).fit(data.A, data.y)
    ridge = linear_model.Ridge(alpha=N * model.alpha_).fit(data.A, data.y)
    np.testing.assert_allclose(model.coef_, ridge.coef_, atol=1e-5)


def test_the_same_bits_for_any_number_of_threads() -> None:
    data = make_data(200, 50)
    first, *others = (LassoCV(n_jobs=n, alphas=20).fit(data.A, data.y) for n in (1, 2, 7))
    for other in others:
        assert np.array_equal(first.cv_scores_, other.cv_scores_)
        assert np.array_equal(first.coef_, other.coef_)


def test_a_deadline_leaves_what_all_folds_have() -> None:
    data = make_data(N, D)
    with pytest.warns(Warning, match="deadline"):
        model = LassoCV(deadline=0.0).fit(data.A, data.y)
    assert model.grid_.shape == model.alphas_.shape == (1,)
    assert model.cv_scores_.shape == (5, 1)


@pytest.mark.parametrize("alphas", [[-1.0], [0.1, np.nan], [], "many", 0])
def test_bad_alphas_are_named(alphas: Any) -> None:
    data = make_data(N, D)
    with pytest.raises((ValueError, TypeError), match="alphas"):
        LassoCV(alphas=alphas).fit(data.A, data.y)


@pytest.mark.parametrize("ratios", [[], [0.5, 2.0], ["half"]])
def test_bad_ratios_are_named(ratios: Any) -> None:
    data = make_data(N, D)
    with pytest.raises((ValueError, TypeError), match="l1_ratio must hold"):
        ElasticNetCV(l1_ratio=ratios).fit(data.A, data.y)
