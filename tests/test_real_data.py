"""Real problems: every engine ends certified, with the objective that scikit-learn finds."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Lasso, LogisticRegression

import shotgun
from conftest import RealData

ENGINES = ("auto", "shooting", "bundle", "block", "newton", "asynchronous")

# Every set with n * d <= 2e7. Quick ones take a second or so for all engines.
QUICK_REGRESSION = (
    "congress109",
    "diabetes64",
    "mug32_singlepixcam",
    "sparco009_blkheavi",
    "sparco902_jitter",
    "we8there",
)
REGRESSION = (
    *QUICK_REGRESSION,
    "ball64_singlepixcam",
    "mice_snp_bmi",
    "riboflavin",
    "sparco003_cosspike",
    "sparco601_soccer32",
    "uci_protein",
)
QUICK_CLASSES = ("colon_alon", "basehock")
CLASSES = (*QUICK_CLASSES, "a9a", "arcene", "leukemia_golub", "madelon")


def cases() -> list[Any]:
    """(name, loss), slow ones marked: classes are both regression on -1/+1 and classification."""
    found = []
    for name in (*REGRESSION, *CLASSES):
        for loss in ("squared", "logistic") if name in CLASSES else ("squared",):
            quick = name in QUICK_REGRESSION or name in QUICK_CLASSES
            found.append(pytest.param(name, loss, marks=[] if quick else [pytest.mark.slow]))
    return found


def scikit_learn_weights(A: Any, y: Any, lam: float, loss: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it may not reach 1e-12; the objectives are compared
        if loss == "squared":
            lasso = Lasso(alpha=lam / len(y), fit_intercept=False, tol=1e-12, max_iter=20_000)
            return lasso.fit(A, y).coef_
        classifier = LogisticRegression(
            solver="liblinear",
            l1_ratio=1,
            C=1 / lam,
            fit_intercept=False,
            tol=1e-10,
            max_iter=20_000,
        )
        return classifier.fit(A, y).coef_[0]


def objective(A: Any, y: Any, lam: float, loss: str, x: Any) -> float:
    z = A @ x
    losses = (z - y) ** 2 / 2 if loss == "squared" else np.logaddexp(0, -y * z)
    return float(losses.sum() + lam * np.abs(x).sum())


@pytest.fixture(scope="module")
def problem(real_data: Callable[[str], RealData]) -> Callable[[str, str], Any]:
    """(A with unit columns, y, lam = lam_max / 10, scikit-learn's objective)."""

    @cache
    def make(name: str, loss: str) -> Any:
        data = real_data(name)
        A = data.unit_columns()
        y = data.y if name in REGRESSION else np.where(data.y == data.y.max(), 1.0, -1.0)
        lam = float(np.abs(A.T @ y).max()) / (10 if loss == "squared" else 20)
        assert shotgun.lambda_max(A, y, loss) == pytest.approx(10 * lam, rel=1e-10)
        return A, y, lam, objective(A, y, lam, loss, scikit_learn_weights(A, y, lam, loss))

    return make


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("working_set", [True, False], ids=["working set", "plain"])
@pytest.mark.parametrize(("name", "loss"), cases())
def test_every_engine_ends_certified_with_the_objective_of_scikit_learn(
    problem: Any, name: str, loss: str, working_set: bool, engine: str
) -> None:
    A, y, lam, expected = problem(name, loss)
    fit = shotgun.solve(A, y, lam, loss, engine=engine, working_set=working_set, tol=1e-6)
    assert fit.status == "converged"
    assert fit.gap <= fit.tolerance
    assert fit.objective == pytest.approx(objective(A, y, lam, loss, fit.x), rel=1e-10)
    assert fit.objective == pytest.approx(expected, rel=1e-6)
    assert fit.objective - expected <= fit.gap + 1e-12 * expected


@pytest.mark.parametrize(
    ("engine", "working_set"),
    [
        ("auto", True),
        *(
            pytest.param(engine, working_set, marks=pytest.mark.slow)
            for engine in ENGINES
            for working_set in (True, False)
            if (engine, working_set) != ("auto", True)
        ),
    ],
)
def test_the_authors_mug_has_the_minimum_they_state(
    real_data: Callable[[str], RealData], engine: str, working_set: bool
) -> None:
    # min ||Ax - y||^2 + 0.5 ||x||_1 = 1684.557 on the columns as they came.
    data = real_data("mug05_12_12")
    fit = shotgun.solve(data.A, data.y, 0.25, engine=engine, working_set=working_set, tol=1e-7)
    assert fit.status == "converged"
    assert 2 * fit.objective == pytest.approx(1684.557, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("name", ["rcv1", "farm_ads"])
def test_large_sparse_text_is_certified(
    real_data: Callable[[str], RealData], name: str, loss: str
) -> None:
    data = real_data(name)
    A = data.unit_columns()
    assert sp.issparse(A)
    lam = 0.05 * shotgun.lambda_max(A, data.y, loss, fit_intercept=True)
    fits = [shotgun.solve(A, data.y, lam, loss, fit_intercept=True, n_threads=t) for t in (1, 2)]
    assert fits[0].status == "converged"
    np.testing.assert_array_equal(fits[0].x, fits[1].x)


CERTIFIED = ("arcene", "colon_alon", "basehock", "a9a", "farm_ads")
CERTIFIED_SLOWLY = ("leukemia_golub", "madelon", "mnist_parity", "rcv1", "imdb_bigram")


@pytest.mark.parametrize("intercept", [False, True], ids=["", "intercept"])
@pytest.mark.parametrize("small", [True, False], ids=["lam_max/100", "lam 1"])
@pytest.mark.parametrize(
    "name",
    [*CERTIFIED, *(pytest.param(name, marks=pytest.mark.slow) for name in CERTIFIED_SLOWLY)],
)
def test_classes_as_they_came_are_certified_and_no_worse_than_liblinear(
    real_data: Callable[[str], RealData], name: str, small: bool, intercept: bool
) -> None:
    data = real_data(name)
    A = data.A / 255 if name == "mnist_parity" else data.A
    y = np.where(data.y == data.y.max(), 1.0, -1.0)
    largest = shotgun.lambda_max(A, y, "logistic", fit_intercept=intercept)
    lam = largest / 100 if small else 1.0
    fit = shotgun.solve(A, y, lam, "logistic", fit_intercept=intercept)
    assert fit.status == "converged"
    assert fit.gap <= fit.tolerance
    assert fit.certificate == "gap"
    peer = LogisticRegression(
        solver="liblinear",
        l1_ratio=1,
        C=1 / lam,
        fit_intercept=intercept,
        intercept_scaling=100.0,  # it penalises the intercept, by 1 / 100 then
        tol=1e-6,
        max_iter=1000 if small else 50,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what it did not reach is no reproach to us
        peer.fit(A, y)
    x, b = peer.coef_[0], peer.intercept_ if intercept else 0.0
    theirs = float(np.logaddexp(0, -y * (A @ x + b)).sum() + lam * np.abs(x).sum())
    assert fit.objective <= theirs + fit.tolerance
    # At lam = 1 some of these are so nearly separable that liblinear does not end.
    if small and not intercept:
        assert fit.objective == pytest.approx(theirs, rel=1e-3)
