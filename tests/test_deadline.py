"""A deadline is kept to within a tenth of it, from the call on, wherever it falls.

What counts to a tenth is the calling thread's own processor time, which a busy machine cannot
lengthen. It does not show a thread that only waits past the deadline: for that there is a limit of
seconds on the wall, which leaves room for a machine whose cores others want.
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import shotgun
from shotgun.linear import Lasso
from shotgun.linear_cv import LassoCV
from shotgun.logistic import LogisticRegression
from shotgun.solve import ENGINES
from shotgun.study.problems import find

DEADLINE = 1.0  # seconds: a tenth is far more than what ends a fit takes, on any machine
ROOM = 5.0  # seconds on the wall after it: what a busy machine may add, and no wait may


def hard(n: int, d: int) -> tuple[Any, Any]:
    """Columns that are nearly alike: no engine is done with them soon."""
    rng = np.random.default_rng(0)
    A = np.asfortranarray(rng.standard_normal((n, 1)) + 0.01 * rng.standard_normal((n, d)))
    return A, A[:, :20].sum(1) + rng.standard_normal(n)


def kept(fit: Callable[[], Any]) -> Any:
    """What a fit returns, which has worked for no longer than it may, and not waited."""
    before, began = time.thread_time(), time.monotonic()
    found = fit()
    assert time.thread_time() - before <= 1.1 * DEADLINE
    assert time.monotonic() - began <= DEADLINE + ROOM
    return found


def test_waiting_past_a_deadline_is_not_keeping_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "ROOM", -0.99)
    with pytest.raises(AssertionError):
        kept(lambda: time.sleep(0.1))


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_keeps_its_deadline(engine: str, n_threads: int) -> None:
    A, y = hard(400, 1500)
    how = {"engine": engine, "working_set": False, "tol": 0.0, "max_epochs": 10**9}
    s = kept(lambda: shotgun.solve(A, y, 1e-9, n_threads=n_threads, deadline=DEADLINE, **how))
    assert s.status in ("deadline", "precision")
    assert s.status == "precision" or s.seconds >= 0.9 * DEADLINE


@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge", "huber", "poisson"])
def test_every_loss_keeps_its_deadline(loss: str) -> None:
    A, y = hard(400, 1500)
    if loss in ("logistic", "squared_hinge"):
        y = np.sign(y)
    if loss == "poisson":
        A, y = 0.1 * A, np.round(np.abs(y))
    how = {"fit_intercept": True, "tol": 0.0, "n_threads": 1, "deadline": DEADLINE}
    s = kept(lambda: shotgun.solve(A, y, 1e-9, loss, **how))
    assert s.status in ("deadline", "precision")


def test_a_wide_sparse_matrix_keeps_its_deadline() -> None:
    A = sp.random_array((1000, 20_000), density=0.01, format="csr", rng=np.random.default_rng(0))
    y = A[:, :50].sum(1) + np.random.default_rng(1).standard_normal(1000)
    how = {"tol": 0.0, "n_threads": 1, "deadline": DEADLINE}
    assert kept(lambda: shotgun.solve(A, y, 1e-9, **how)).status == "deadline"


def test_the_exact_way_keeps_its_deadline() -> None:
    A, y = find("china64_01").load()
    how = {"tol": 1e-9, "n_threads": 2, "deadline": DEADLINE}
    assert kept(lambda: shotgun.solve(A, y, 0.5, **how)).status in ("deadline", "converged")


def test_a_path_keeps_its_deadline() -> None:
    A, y = hard(400, 1500)
    how = {"tol": 1e-12, "eps": 1e-9, "n_threads": 1, "deadline": DEADLINE}
    assert kept(lambda: shotgun.path(A, y, **how)).statuses[-1] == "deadline"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "model",
    [
        Lasso(alpha=1e-12, tol=0.0, deadline=DEADLINE, n_jobs=1),
        LassoCV(alphas=np.geomspace(1.0, 1e-12, 50), tol=0.0, deadline=DEADLINE, n_jobs=1),
        LogisticRegression(C=1e9, tol=0.0, deadline=DEADLINE, n_jobs=1),
    ],
    ids=lambda model: type(model).__name__,
)
def test_an_estimator_keeps_its_deadline(model: Any) -> None:
    A, y = hard(400, 1500)
    if isinstance(model, LogisticRegression):  # of many classes
        y = np.digitize(y, np.quantile(y, [0.3, 0.6]))
    model.fit(A[:, :2], y)  # what is loaded at first use is
    kept(lambda: model.fit(A, y))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", [LassoCV(n_jobs=1), LogisticRegression(n_jobs=1)])
def test_a_deadline_may_fall_anywhere(model: Any) -> None:
    A, y = hard(100, 200)
    y = np.digitize(y, np.quantile(y, [0.3, 0.6]))
    for deadline in np.geomspace(1e-5, 0.3, 30):
        model.set_params(tol=1e-9, deadline=deadline).fit(A, y)
        assert np.isfinite(model.coef_).all()


def slow_to_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the conversion of A take longer than the deadline."""
    for name in ("solve", "path"):
        module = sys.modules[f"shotgun.{name}"]
        monkeypatch.setattr(module, "state_problem", delayed(module.state_problem))


def delayed(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def slow(**given: Any) -> Any:
        time.sleep(0.02)
        return function(**given)

    return slow


def test_what_converts_the_data_has_its_share_of_a_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    A, y = hard(400, 1500)
    shotgun.path(A[:, :2], y, n_lams=2)
    slow_to_state(monkeypatch)
    assert shotgun.solve(A, y, 1e-9, deadline=0.01).n_epochs == 0
    path = shotgun.path(A, y, deadline=0.01)
    assert path.statuses[-1] == "deadline"
    assert not path.n_epochs.any()
