"""A fit without scikit-learn has the bits of the estimator, in memory and in its file."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import shotgun
import shotgun._core as _core
from shotgun.fitted import Fitted
from shotgun.kinds import KINDS, Loss
from shotgun.model import decode, encode
from shotgun.problem import LOSSES

rng = np.random.default_rng(0)
A = np.asfortranarray(rng.normal(size=(80, 12)))
Z = A[:, 0] - 2 * A[:, 1] + 0.5 * rng.normal(size=80)
TARGETS = {
    "squared": Z,
    "huber": Z,
    "poisson": np.floor(Z**2),
    "logistic": np.array(["no", "yes"])[(Z > 0).astype(int)],
    "squared_hinge": (Z > 0).astype(int),
}
OPTIONS = {
    "tol": 1e-5,
    "fit_intercept": True,
    "standardize": True,
    "deadline": None,
    "n_jobs": 1,
    "random_state": 3,
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", KINDS)
def test_a_fit_is_that_of_the_estimator(loss, weighted):
    rng = np.random.default_rng(1)
    weights = rng.uniform(0.5, 2, size=80) if weighted else None
    offset = 0.1 * rng.normal(size=80) if weighted else None
    model = Fitted(loss, 4.0, **OPTIONS)
    found = model.fit(A, TARGETS[loss], weights, offset)
    assert found.status == "converged"
    total = 80 if weights is None else weights.sum()
    penalty = {"C": 1 / 4.0} if KINDS[loss].classify else {"alpha": float(4.0 / total)}
    estimator = getattr(shotgun, KINDS[loss].estimator)(**penalty, **OPTIONS, max_iter=None)
    estimator.fit(A, TARGETS[loss], weights, offset=offset)
    assert model.coef_.tobytes() == estimator.coef_.tobytes()
    loaded = decode(encode(model), "file")
    assert loaded.get_params() == estimator.get_params()
    assert loaded.data_ == estimator.data_
    assert loaded.predict(A).tolist() == estimator.predict(A).tolist()
    below_the_name = slice(str(estimator).count("\n") + 1, None)
    told, expected = (m.summary().splitlines() for m in (loaded, estimator))
    assert told == expected
    assert model.summary().splitlines()[1:] == expected[below_the_name]
    assert loaded.n_iter_ == estimator.n_iter_
    assert model.certificate_ == loaded.certificate_ == estimator.certificate_ == "gap"


def test_the_table_of_estimators_is_true_of_the_core_and_of_them():
    assert set(KINDS) == set(Loss) <= set(LOSSES)
    for loss, kind in KINDS.items():
        assert getattr(shotgun, kind.estimator)._loss == loss
        assert kind.classify == (LOSSES[loss] == _core.Targets.classes)


def test_it_is_told_as_an_estimator_is():
    model = Fitted("squared", 8.0, **OPTIONS | {"tol": 1e-6, "standardize": False, "n_jobs": None})
    model.fit(A, Z)
    assert repr(model) == "Lasso(alpha=0.1, max_iter=None, random_state=3)"
    assert model.summary() == decode(encode(model), "file").summary()


def test_scikit_learn_is_not_loaded():
    code = "import sys, shotgun.verbs.fit; print('sklearn' in sys.modules, 'pandas' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "False False\n"
