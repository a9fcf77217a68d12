"""The registry, and what holds for every solver."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from shotgun.study.solvers import ENDLESS, LASSO, solver
from shotgun.study.watch import Watch

WATCHED = ("L1_LS", "FPC_AS", "GPSR_BB", "SpaRSA")
MORE = {"Hard_l0": {"s": 3}}


@pytest.fixture(params=LASSO)
def name(request):
    if request.param == "GLMNET":
        pytest.importorskip("glmnet")
    return request.param


@pytest.fixture
def solve(name):
    return lambda *a, **k: solver(name)(*a, **MORE.get(name, {}), **k)


def still() -> Watch:
    return Watch(lambda x: 0.0, limit=20.0)


def test_nothing_is_imported_before_it_is_asked_for():
    code = "import sys, shotgun.study.solvers as s; print(*sys.modules)"
    modules = subprocess.check_output([sys.executable, "-c", code], text=True).split()
    assert not any(f"shotgun.study.solvers.{file}" in modules for file in LASSO.values())


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"solver.*L1_LS"):
        solver("l1ls")


def test_each_has_its_endless_form():
    assert set(ENDLESS) == set(LASSO)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"y": np.ones(4)}, "y must have shape"),
        ({"y": np.array([1.0, np.nan, 0.0])}, "y contains NaN"),
        ({"lam": -1.0}, "lam"),
        ({"lam": 0.0}, "lam must be positive"),
        ({"lam": np.nan}, "lam"),
        ({"A": np.ones(3)}, "A must have two dimensions"),
        ({"A": np.array([[1.0, 0, 0], [0, np.nan, 0], [0, 0, 1]])}, "A contains NaN"),
    ],
)
def test_bad_input_is_named(solve, changes, message):
    arguments = {"A": np.eye(3), "y": np.ones(3), "lam": 0.5} | changes
    with pytest.raises(ValueError, match=message):
        solve(**arguments, watch=still())


def test_the_identity_shrinks_y(name, solve):
    y = np.array([3.0, -2.0, 0.5])
    watch = Watch(lambda x: 0.5 * ((x - y) ** 2).sum() + np.abs(x).sum(), target=4.125 + 1e-9)
    x = solve(np.eye(3), y, 1.0, watch, **ENDLESS[name])
    np.testing.assert_allclose(x, y if name == "Hard_l0" else [2.0, -1.0, 0.0], atol=1e-3)


def test_a_lam_above_its_largest_useful_value_gives_zero(name, solve, lasso_of):
    if name == "Hard_l0":
        pytest.skip("knows no lam")
    lasso = lasso_of("gaussian", 1.5)
    x = solve(lasso.A, lasso.y, lasso.lam, lasso.watch(0.0), **ENDLESS[name])
    assert not x.any()


def test_a_target_of_zeros_gives_zeros_and_ends(name, solve):
    A = np.random.default_rng(0).standard_normal((5, 8))
    assert not solve(A, np.zeros(5), 0.5, still(), **ENDLESS[name]).any()


def test_the_input_is_left_alone(solve, lasso):
    y = lasso.y.copy()
    matrix = lasso.A @ np.eye(lasso.A.shape[1])
    solve(lasso.A, lasso.y, lasso.lam, lasso.watch())
    np.testing.assert_array_equal(lasso.y, y)
    np.testing.assert_array_equal(lasso.A @ np.eye(lasso.A.shape[1]), matrix)


@pytest.mark.parametrize("name", WATCHED)
def test_the_watch_ends_it(name, lasso_of):
    lasso = lasso_of("correlated")
    seen = []

    def objective(x):
        seen.append(lasso.F(x))
        return -np.inf if len(seen) == 3 else seen[-1]

    x = solver(name)(lasso.A, lasso.y, lasso.lam, Watch(objective, target=-1e300), **ENDLESS[name])
    assert len(seen) == 3
    assert lasso.F(x) == seen[-1]


@pytest.mark.parametrize("name", WATCHED)
def test_left_alone_it_ends_at_machine_precision(name, lasso_of):
    lasso = lasso_of("gaussian")
    watch = Watch(lasso.F, limit=20.0)
    x = solver(name)(lasso.A, lasso.y, lasso.lam, watch, **ENDLESS[name] | {"max_iter": 20_000})
    assert not watch.overdue()
    assert lasso.F(x) == pytest.approx(lasso.best, rel=1e-9)


@pytest.mark.parametrize("name", WATCHED)
def test_its_published_stop_comes_near_the_optimum(name, lasso):
    watch = Watch(lasso.F, limit=20.0)
    x = solver(name)(lasso.A, lasso.y, lasso.lam, watch)
    assert not watch.overdue()
    assert lasso.solved(x, 0.02)


def test_single_precision_integers_and_lists_are_taken(solve):
    A = np.array([[2, 0, 1], [0, 1, 1]])
    x = solve(A, [1, 2], 0.1, still())
    same = solve(A.astype(np.float32), np.array([1.0, 2.0]), 0.1, still())
    np.testing.assert_array_equal(x, same)
