"""Every estimator works where scikit-learn's do: frames in and out, searches, routing, workers."""

from __future__ import annotations

import io
from typing import Any

import joblib
import numpy as np
import pytest
import sklearn
from sklearn.base import clone, is_classifier
from sklearn.feature_selection import SelectFromModel
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import shotgun
from conftest import D, make_data, weights

N = 120
MODELS = [
    shotgun.Lasso(alpha=0.05),
    shotgun.ElasticNet(alpha=0.05),
    shotgun.SparseHuberRegressor(alpha=0.05),
    shotgun.SparsePoissonRegressor(alpha=0.05),
    shotgun.LogisticRegression(),
    shotgun.LinearSVC(),
    shotgun.LassoCV(alphas=5, cv=3),
    shotgun.ElasticNetCV(alphas=5, cv=3),
    shotgun.LogisticRegressionCV(
        Cs=[0.1, 1.0], cv=3, scoring="neg_log_loss", use_legacy_attributes=False
    ),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


def data_for(model: Any) -> tuple[Any, Any]:
    loss = "logistic" if is_classifier(model) else "poisson"
    data = make_data(N, D, loss)
    return data.A, np.where(data.y > 0, "yes", "no") if is_classifier(model) else data.y


@every_model
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_are_arrays_whose_columns_have_names(model: Any, library: str) -> None:
    frames = pytest.importorskip(library)
    X, y = data_for(model)
    frame = frames.DataFrame({f"x{j}": X[:, j] for j in range(D)})
    named = clone(model).fit(frame, frames.Series(y))
    plain = clone(model).fit(X, y)
    assert named.feature_names_in_.tolist() == list(frame.columns)
    np.testing.assert_array_equal(named.coef_, plain.coef_)
    np.testing.assert_array_equal(named.predict(frame), plain.predict(X))
    with pytest.raises(ValueError, match="feature names"):
        named.predict(frame[frame.columns[::-1]])


@every_model
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_what_a_model_selects_keeps_its_names(model: Any, library: str) -> None:
    frames = pytest.importorskip(library)
    X, y = data_for(model)
    frame = frames.DataFrame({f"x{j}": X[:, j] for j in range(D)})
    selector = SelectFromModel(clone(model), threshold=1e-10).set_output(transform=library)
    chosen = selector.fit_transform(frame, y)
    assert isinstance(chosen, frames.DataFrame)
    assert list(chosen.columns) == [f"x{j}" for j in selector.estimator_.support_]


@every_model
def test_weights_are_routed_to_fit_and_score(model: Any) -> None:
    X, y = data_for(model)
    w = weights(N)
    with sklearn.config_context(enable_metadata_routing=True):
        ours = clone(model).set_fit_request(sample_weight=True)
        if isinstance(model, shotgun.LogisticRegressionCV):  # its score is that of the scorer
            scorer = get_scorer("neg_log_loss").set_score_request(sample_weight=True)
            ours.set_params(scoring=scorer)
        else:
            ours.set_score_request(sample_weight=True)
        scaled = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), ours)
        found = cross_validate(
            scaled, X, y, params={"sample_weight": w}, cv=3, return_estimator=True
        )
        plain = cross_validate(scaled, X, y, cv=3, return_estimator=True)
    assert np.isfinite(found["test_score"]).all()
    for weighted, unweighted in zip(found["estimator"], plain["estimator"], strict=True):
        assert (weighted[-1].coef_ != unweighted[-1].coef_).any()


@every_model
def test_searches_run_in_other_processes(model: Any) -> None:
    X, y = data_for(model)
    search = GridSearchCV(clone(model), {"standardize": [True, False]}, n_jobs=2, cv=3)
    alone = GridSearchCV(clone(model), {"standardize": [True, False]}, cv=3)
    np.testing.assert_array_equal(
        search.fit(X, y).cv_results_["mean_test_score"],
        alone.fit(X, y).cv_results_["mean_test_score"],
    )


@every_model
def test_joblib_stores_models(model: Any) -> None:
    X, y = data_for(model)
    fitted = clone(model).fit(X, y)
    file = io.BytesIO()
    joblib.dump(fitted, file)
    file.seek(0)
    again = joblib.load(file)
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    assert again.get_params().keys() == fitted.get_params().keys()


@every_model
def test_data_that_cannot_be_written_to_are_read(model: Any) -> None:
    X, y = data_for(model)
    X.setflags(write=False)
    y.setflags(write=False)
    clone(model).fit(X, y).predict(X)
