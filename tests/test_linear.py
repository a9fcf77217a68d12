"""The regressors are scikit-learn's, by another solver: same model, same manners."""

from __future__ import annotations

import itertools
import pickle
import subprocess
import sys
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn import linear_model
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectFromModel
from sklearn.metrics import d2_tweedie_score, r2_score
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import shotgun
import shotgun.estimator
from conftest import D, N, box, factors, given, make_data, offset, weights
from reference import Reference, loss_values
from shotgun import ElasticNet, Lasso, SparseHuberRegressor, SparsePoissonRegressor, disk

REGRESSORS = [Lasso, ElasticNet, SparseHuberRegressor, SparsePoissonRegressor]
LOSS_OF = {SparseHuberRegressor: "huber", SparsePoissonRegressor: "poisson"}


@parametrize_with_checks(
    [
        *(cls() for cls in REGRESSORS),
        Lasso(alpha=0.01, positive=True, fit_intercept=False),
        Lasso(engine="asynchronous"),
        Lasso(engine="shooting", selection="random", random_state=3, warm_start=True),
        ElasticNet(standardize=True, l1_ratio=0.1, n_parallel=2, n_jobs=2),
        SparseHuberRegressor(alpha=0.1, epsilon=0.5, l1_ratio=0.5),
        SparsePoissonRegressor(alpha=0.1, l1_ratio=0.0, engine="newton"),
    ]
)
def test_scikit_learn_finds_nothing_to_complain_about(estimator: Any, check: Any) -> None:
    check(estimator)


def test_shotgun_imports_without_scikit_learn() -> None:
    code = (
        "import sys, shotgun; assert 'sklearn' not in sys.modules; shotgun.Lasso, shotgun.LinearSVC"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_all_public_names_exist() -> None:
    assert all(hasattr(shotgun, name) for name in shotgun.__all__)


def objective(model: Any, X: Any, y: Any, sample_weight: Any, loss: str = "squared") -> float:
    """What the docstrings promise to minimise, in float64."""
    coef = model.coef_.astype(np.float64)
    losses = loss_values(loss, X @ coef + float(model.intercept_), y)
    ratio = model.l1_ratio
    penalty = ratio * np.abs(coef).sum() + (1 - ratio) / 2 * coef @ coef
    return float(np.average(losses, weights=sample_weight) + model.alpha * penalty)


@pytest.mark.parametrize("sparse", [None, "csc", "csr"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("l1_ratio", [1.0, 0.6])
def test_the_model_is_scikit_learns(sparse: str | None, dtype: Any, l1_ratio: float) -> None:
    data = make_data(N, D, density=0.6)
    A = data.A.astype(dtype)
    X = A.astype(np.float64)
    for w, intercept, positive in itertools.product(
        (None, weights()), (True, False), (True, False)
    ):
        form = {"alpha": 0.2, "fit_intercept": intercept, "positive": positive}
        if l1_ratio == 1:
            ours, theirs = Lasso(tol=1e-12, **form), linear_model.Lasso(**form)
        else:
            form["l1_ratio"] = l1_ratio
            ours, theirs = ElasticNet(tol=1e-12, **form), linear_model.ElasticNet(**form)
        theirs.set_params(tol=1e-12, max_iter=100_000).fit(X, data.y, w)
        ours.fit(given(A, sparse, dtype), data.y, w)
        assert ours.coef_.dtype == ours.predict(A).dtype == dtype
        assert objective(ours, X, data.y, w) == pytest.approx(
            objective(theirs, X, data.y, w), rel=1e-6
        )
        expected = theirs.predict(X)
        close = 1e-6 if dtype == np.float64 else 1e-5
        error = np.abs(ours.predict(given(A, sparse, dtype)) - expected).max()
        assert error <= close * np.abs(expected).max()
        assert not positive or (ours.coef_ >= 0).all()


@pytest.mark.parametrize("cls", REGRESSORS)
@pytest.mark.parametrize("w", [None, weights()], ids=["unweighted", "weighted"])
def test_the_objective_of_the_docstring_is_minimal(cls: Any, w: Any) -> None:
    loss = LOSS_OF.get(cls, "squared")
    data = make_data(N, D, loss)
    model = cls(alpha=0.1, tol=1e-10).fit(data.A, data.y, w)
    scaled = None if w is None else w * N / w.sum()
    reference = Reference.of(
        data.A,
        data.y,
        N * 0.1 * model.l1_ratio,
        loss,
        l2=N * 0.1 * (1 - model.l1_ratio),
        weights=scaled,
        fit_intercept=True,
    )
    best = reference.objective(reference.solve()) / N
    assert objective(model, data.A, data.y, w, loss) == pytest.approx(best, rel=1e-8)
    assert 0 <= model.dual_gap_ <= 1e-10 * N
    assert model.status_ == "converged"


@pytest.mark.parametrize("w", [None, weights()], ids=["unweighted", "weighted"])
def test_poisson_without_l1_is_scikit_learns(w: Any) -> None:
    data = make_data(N, D, "poisson")
    ours = SparsePoissonRegressor(alpha=0.3, l1_ratio=0.0, tol=1e-13).fit(data.A, data.y, w)
    theirs = linear_model.PoissonRegressor(alpha=0.3, tol=1e-12, solver="newton-cholesky")
    theirs.fit(data.A, data.y, w)
    np.testing.assert_allclose(ours.predict(data.A), theirs.predict(data.A), rtol=1e-5)
    assert ours.score(data.A, data.y, w) == pytest.approx(theirs.score(data.A, data.y, w), rel=1e-6)


def test_huber_ignores_what_least_squares_chases() -> None:
    data = make_data(200, D, "huber")
    clean = data.y.copy()
    clean[::9] = np.nan
    kept = np.isfinite(clean)
    huber = SparseHuberRegressor(alpha=0.01).fit(data.A, data.y)
    squares = Lasso(alpha=0.01).fit(data.A, data.y)
    assert huber.score(data.A[kept], data.y[kept]) > squares.score(data.A[kept], data.y[kept])


@pytest.mark.parametrize("sparse", [None, "csc", "csr"])
def test_every_target_is_fitted_as_if_alone(sparse: str | None) -> None:
    A = make_data(N, D).A
    Y = np.column_stack([make_data(N, D, seed=seed).y for seed in range(3)])
    X = given(A, sparse, np.float64)
    model = ElasticNet(alpha=0.3).fit(X, Y, weights())
    alone = [ElasticNet(alpha=0.3).fit(X, y, weights()) for y in Y.T]
    np.testing.assert_array_equal(model.coef_, [one.coef_ for one in alone])
    np.testing.assert_array_equal(model.intercept_, [one.intercept_ for one in alone])
    assert model.predict(X).shape == Y.shape
    assert model.sparse_coef_.shape == (3, D)
    assert model.n_iter_ == [one.n_iter_ for one in alone]
    assert model.status_ == ["converged"] * 3
    assert model.dual_gap_.shape == (3,)


def test_a_target_of_one_column_is_one_target() -> None:
    data = make_data(N, D)
    model = Lasso(alpha=0.3).fit(data.A, data.y[:, None])
    assert model.coef_.shape == (D,)
    assert model.predict(data.A).shape == (N,)


@pytest.mark.parametrize("cls", REGRESSORS)
def test_an_offset_is_the_known_part_of_the_predictor(cls: Any) -> None:
    data = make_data(N, D, LOSS_OF.get(cls, "squared"))
    known = offset()
    model = cls(alpha=0.1, tol=1e-9).fit(data.A, data.y, offset=known)
    plain = model.predict(data.A)
    shifted = model.predict(data.A, offset=known)
    expected = plain * np.exp(known) if cls is SparsePoissonRegressor else plain + known
    np.testing.assert_allclose(shifted, expected)
    metric = partial(d2_tweedie_score, power=1) if cls is SparsePoissonRegressor else r2_score
    assert model.score(data.A, data.y, weights(), offset=known) == pytest.approx(
        metric(data.y, shifted, sample_weight=weights())
    )
    if cls is Lasso:
        same = Lasso(alpha=0.1, tol=1e-9).fit(data.A, data.y - known)
        np.testing.assert_allclose(model.coef_, same.coef_, atol=1e-4)


def test_every_target_may_have_its_own_offset() -> None:
    data = make_data(N, D)
    Y = np.column_stack([data.y, data.y])
    known = np.column_stack([offset(), np.zeros(N)])
    model = Lasso(alpha=0.1).fit(data.A, Y, offset=known)
    alone = Lasso(alpha=0.1).fit(data.A, data.y, offset=known[:, 0])
    np.testing.assert_array_equal(model.coef_[0], alone.coef_)
    np.testing.assert_array_equal(
        model.predict(data.A, offset=known) - model.predict(data.A) != 0, known != 0
    )
    with pytest.raises(ValueError, match="offset must have shape"):
        model.predict(data.A, offset=known[:, :1])


def test_factors_bounds_and_standardising_are_those_of_solve() -> None:
    data = make_data(N, D)
    options = {"penalty_factor": factors(), "bounds": (-0.2, 0.3), "standardize": True}
    model = Lasso(alpha=0.1, **options).fit(data.A, data.y)
    expected = shotgun.solve(
        data.A, data.y, 0.1 * N, fit_intercept=True, order="cyclic", max_epochs=1000, **options
    )
    np.testing.assert_array_equal(model.coef_, expected.x)
    np.testing.assert_array_equal(model.support_, np.flatnonzero(expected.x))
    assert model.dual_gap_ == pytest.approx(expected.gap / N, rel=1e-15)


def test_positive_cuts_the_bounds_at_zero() -> None:
    data = make_data(N, D)
    lo, hi = box()
    hi = np.maximum(hi, 0)
    model = Lasso(alpha=0.01, positive=True, bounds=(lo, hi)).fit(data.A, data.y)
    assert (model.coef_ >= np.maximum(lo, 0)).all()
    assert (model.coef_ <= hi).all()


@pytest.mark.parametrize("cls", REGRESSORS)
def test_a_warm_start_begins_where_the_last_fit_ended(cls: Any) -> None:
    data = make_data(100, 30, LOSS_OF.get(cls, "squared"), rank=2)
    model = cls(alpha=0.01, warm_start=True, engine="shooting", max_iter=100_000)
    cold = model.fit(data.A, data.y).n_iter_
    coef = model.coef_.copy()
    assert model.fit(data.A, data.y).n_iter_ < cold / 2
    np.testing.assert_allclose(model.coef_, coef, atol=1e-2)
    assert model.fit(data.A[:, :20], data.y).coef_.shape == (20,)  # another shape: a cold start


@pytest.mark.filterwarnings("ignore:With alpha=0")
def test_a_warning_does_not_call_an_estimate_a_duality_gap() -> None:
    data = make_data(60, 5)
    with pytest.warns(ConvergenceWarning, match="The estimate of the gap of Lasso is"):
        model = Lasso(alpha=0.0, max_iter=0).fit(data.A, data.y)
    assert model.certificate_ == "gradient"


def test_a_fit_that_does_not_converge_warns_once_and_says_what_to_change() -> None:
    data = make_data(60, 50, rank=2)
    Y = np.column_stack([data.y, -data.y])
    with pytest.warns(ConvergenceWarning) as caught:
        model = Lasso(alpha=1e-3, max_iter=1, engine="shooting").fit(data.A, Y)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    message = str(caught[0].message)
    assert f"gap of Lasso in 2 of 2 fits is {model.dual_gap_.max():.3g}" in message
    null = np.var(data.y) / 2
    assert f"tolerance {1e-6 * null:.3g}" in message
    assert "increase the number of iterations (max_iter, now 1) or tol (now 1e-06)" in message
    assert model.status_ == ["max_epochs"] * 2
    with pytest.warns(ConvergenceWarning, match="increase deadline"):
        model = Lasso(alpha=1e-3, deadline=0).fit(data.A, data.y)
    assert model.status_ == "deadline"


def test_a_fit_that_converges_is_silent() -> None:
    data = make_data(N, D)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Lasso(alpha=0.1).fit(data.A, data.y)


def test_parallelism_tells_what_ran() -> None:
    data = make_data(300, 200, rank=3)
    model = Lasso(alpha=0.01, engine="block", n_parallel=16).fit(data.A, data.y)
    assert model.parallelism_["engine"] == "block"
    assert model.parallelism_["P"] == 16
    assert model.parallelism_["ideal_p"] == np.ceil(200 / model.parallelism_["rho"]) > 1


@pytest.mark.parametrize(("n_jobs", "threads"), [(None, None), (1, 1), (3, 3)])
def test_n_jobs_is_the_number_of_threads(
    n_jobs: int | None, threads: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def solve(*arguments: Any, n_threads: Any, **keywords: Any) -> Any:
        asked.append(n_threads)
        return shotgun.solve(*arguments, n_threads=n_threads, **keywords)

    monkeypatch.setattr(shotgun.estimator, "solve", solve)
    data = make_data(N, D)
    Lasso(alpha=0.1, n_jobs=n_jobs).fit(data.A, data.y)
    assert asked == [threads]


def test_check_input_is_accepted_and_not_routed() -> None:
    data = make_data(N, D)
    model = Lasso(alpha=0.1).fit(data.A, data.y, None, False)
    np.testing.assert_array_equal(model.coef_, Lasso(alpha=0.1).fit(data.A, data.y).coef_)
    assert "check_input" not in str(model.get_metadata_routing())


def test_random_state_is_the_seed() -> None:
    data = make_data(60, 50, rank=2)

    def coef(state: Any) -> Any:
        model = Lasso(alpha=0.01, engine="shooting", selection="random", random_state=state)
        return model.set_params(max_iter=100_000).fit(data.A, data.y).coef_

    np.testing.assert_array_equal(coef(None), coef(None))
    np.testing.assert_array_equal(coef(7), coef(7))
    assert (coef(7) != coef(8)).any()


@pytest.mark.parametrize("cls", REGRESSORS)
def test_pickled_and_cloned_models_are_the_same(cls: Any) -> None:
    data = make_data(N, D, LOSS_OF.get(cls, "squared"))
    model = cls(alpha=0.1, penalty_factor=factors(), bounds=(-1.0, 1.0)).fit(data.A, data.y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(data.A), model.predict(data.A))
    refit = clone(model).fit(data.A, data.y)
    np.testing.assert_array_equal(refit.coef_, model.coef_)


def test_models_work_inside_scikit_learns_machinery() -> None:
    data = make_data(120, D)
    pipeline = make_pipeline(StandardScaler(), SelectFromModel(Lasso(alpha=0.1)), Lasso(alpha=0.01))
    assert pipeline.fit(data.A, data.y).score(data.A, data.y) > 0.9
    chosen = SelectFromModel(Lasso(alpha=0.1)).fit(data.A, data.y)
    np.testing.assert_array_equal(chosen.get_support(indices=True), chosen.estimator_.support_)
    search = GridSearchCV(Lasso(), {"alpha": [10.0, 0.1, 1e-3]}, n_jobs=2, cv=3)
    assert search.fit(data.A, data.y).best_params_["alpha"] < 1


def test_an_offset_is_routed_to_fit_and_score() -> None:
    data = make_data(120, D)
    known = 5 * offset(120)
    with sklearn.config_context(enable_metadata_routing=True):
        model = Lasso(alpha=0.01).set_fit_request(offset=True).set_score_request(offset=True)
        scores = cross_validate(model, data.A, data.y + known, params={"offset": known}, cv=3)
    expected = cross_validate(Lasso(alpha=0.01), data.A, data.y, cv=3)
    assert scores["test_score"].min() > 0.9
    assert expected["test_score"].min() > 0.9


@pytest.mark.parametrize("sparse", [None, "csc", "csr"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("form", [{}, {"l1_ratio": 1.0}, {"positive": True, "alphas": [0.1, 1.0]}])
def test_the_path_is_scikit_learns(sparse: str | None, dtype: Any, form: Any) -> None:
    data = make_data(N, D, density=0.6)
    A = data.A.astype(dtype)
    form = {"alphas": 10} | form
    alphas, coefs, gaps, epochs = ElasticNet.path(
        given(A, sparse, dtype), data.y, tol=1e-13, max_iter=10_000, return_n_iter=True, **form
    )
    expected = linear_model.enet_path(
        A.astype(np.float64), data.y, tol=1e-12, max_iter=100_000, **form
    )
    np.testing.assert_allclose(alphas, expected[0], rtol=1e-6)
    np.testing.assert_allclose(coefs, expected[1], atol=1e-4)
    assert coefs.dtype == dtype
    assert gaps.shape == (len(epochs),) == alphas.shape
    assert (gaps <= 1e-13 * np.mean(data.y**2)).all()


def test_a_path_has_weights_and_no_intercept() -> None:
    data = make_data(N, D)
    alphas, coefs, _ = Lasso.path(data.A, data.y, l1_ratio=1.0, alphas=3, sample_weight=weights())
    assert not coefs[:, 0].any()
    model = Lasso(alpha=alphas[2], fit_intercept=False).fit(data.A, data.y, weights())
    np.testing.assert_allclose(coefs[:, 2], model.coef_, atol=1e-2)


def test_a_path_says_what_it_cannot_do() -> None:
    data = make_data(N, D)
    with pytest.raises(ValueError, match=r"Unexpected parameters in params: \['normalize'\]"):
        Lasso.path(data.A, data.y, normalize=True)
    with pytest.raises(ValueError, match="y must be a single target"):
        Lasso.path(data.A, np.column_stack([data.y, data.y]))
    with pytest.raises(ValueError, match="not supported for l1_ratio=0"):
        Lasso.path(data.A, data.y, l1_ratio=0)
    with pytest.raises(ValueError, match="'l1_ratio' parameter"):
        Lasso.path(data.A, data.y, l1_ratio=2)
    with pytest.warns(ConvergenceWarning, match="in [0-9]+ of 100 fits"):
        Lasso.path(data.A, data.y, max_iter=1, tol=1e-14)


@pytest.mark.parametrize("old", [{"n_alphas": 7}, {"alphas": None}])
def test_the_old_words_for_the_length_of_a_path_still_work(old: Any) -> None:
    data = make_data(N, D)
    with pytest.warns(FutureWarning, match="will be removed in 1.11") as caught:
        alphas = Lasso.path(data.A, data.y, **old)[0]
    assert len(alphas) == old.get("n_alphas", 100)
    assert caught[0].filename == __file__


def test_without_a_penalty_least_squares_warns() -> None:
    data = make_data(N, D)
    with pytest.warns(UserWarning, match="With alpha=0"):
        model = Lasso(alpha=0, tol=1e-12).fit(data.A, data.y)
    plain = linear_model.LinearRegression().fit(data.A, data.y)
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-4)


def test_a_gram_matrix_must_be_that_of_X() -> None:
    data = make_data(N, D)
    X = data.A - np.average(data.A, axis=0, weights=weights())
    gram = X.T @ (weights()[:, None] * X) * N / weights().sum()
    plain = Lasso(alpha=0.1).fit(X, data.y, weights())
    model = Lasso(alpha=0.1, precompute=gram).fit(X, data.y, weights())
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    with pytest.raises(ValueError, match=r"Gram matrix .* did not pass validation"):
        Lasso(precompute=2 * gram).fit(X, data.y, weights())
    with pytest.warns(UserWarning, match="Gram matrix was provided but X was centered"):
        Lasso(alpha=0.1, precompute=gram).fit(data.A, data.y, weights())


@pytest.mark.parametrize("home", [np.asarray, sp.csc_array, "disk"])
def test_a_gram_matrix_must_have_its_shape_wherever_X_is(home: Any, tmp_path: Path) -> None:
    data = make_data(N, D)
    X = disk.write(data.A, tmp_path / "X") if home == "disk" else home(data.A)
    plain = Lasso(alpha=0.1, fit_intercept=False).fit(X, data.y)
    for known in (data.A.T @ data.A, np.True_, np.False_):
        model = Lasso(alpha=0.1, fit_intercept=False, precompute=known).fit(X, data.y)
        np.testing.assert_array_equal(model.coef_, plain.coef_)
    for wrong in (np.eye(D - 1), np.ones(D), np.ones((1, D, D))):
        with pytest.raises(ValueError, match=rf"precompute must have shape \({D}, {D}\)"):
            Lasso(precompute=wrong).fit(X, data.y)


def test_what_is_wrong_is_said() -> None:
    data = make_data(N, D)
    with pytest.raises(ValueError, match="'engine' parameter of Lasso"):
        Lasso(engine="warp").fit(data.A, data.y)
    with pytest.raises(ValueError, match="penalty_factor must have shape"):
        Lasso(penalty_factor=[1.0]).fit(data.A, data.y)
    for wrong in ({"eps": 0.0}, {"eps": "a"}, {"alphas": -3}, {"alphas": 0}, {"alphas": 3.5}):
        with pytest.raises((ValueError, TypeError), match=f"^{next(iter(wrong))} must be"):
            ElasticNet.path(data.A, data.y, **wrong)
    with pytest.raises(ValueError, match="offset must have shape"):
        Lasso().fit(data.A, data.y, offset=[1.0])
    with pytest.raises(ValueError, match="must not be negative"):
        SparsePoissonRegressor().fit(data.A, data.y)
