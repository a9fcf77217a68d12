"""Paths: every fit is the one that a cold solve finds, and certified."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import enet_path, lars_path, lasso_path

import shotgun
from conftest import RealData, make_data
from reference import Reference

OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "intercept": {"fit_intercept": True},
    "standardized": {"fit_intercept": True, "standardize": True},
    "elastic": {"l2": 0.7},
    "bounded": {"bounds": (-0.3, 0.6)},
    "non-negative": {"bounds": (0.0, None)},
    "weighted": {"weights": np.linspace(0, 2, 60), "offset": np.linspace(-1, 1, 60)},
    "factors": {"penalty_factor": np.r_[0.0, np.inf, np.linspace(0.5, 2, 98)]},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("sparse", [False, True])
def test_every_fit_of_a_path_is_the_minimum_within_its_gap(
    loss: str, sparse: bool, options: dict[str, Any]
) -> None:
    data = make_data(60, 100, loss, density=0.3 if sparse else 1.0)
    A = sp.csc_array(data.A) if sparse else data.A
    path = shotgun.path(A, data.y, n_lams=8, eps=0.05, loss=loss, **options)
    assert len(path) == len(path.lams) == 8
    assert set(path.statuses) == {"converged"}
    for k, lam in enumerate(path.lams):
        fit, x = path[k], path.X[:, [k]].toarray().ravel()
        reference = Reference.of(data.A, data.y, lam, loss, **options)
        best = reference.objective(reference.solve())
        assert np.array_equal(x, fit.x)
        assert path.gaps[k] == fit.gap <= path.tolerance
        assert best - 1e-12 * best <= fit.objective <= best + fit.gap
        assert fit.objective == path.objectives[k]
        assert fit.intercept == path.intercepts[k]


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("options", [{}, {"fit_intercept": True, "standardize": True}])
def test_l2_may_change_along_the_path_and_lam_may_reach_zero(
    loss: str, options: dict[str, Any]
) -> None:
    data = make_data(60, 30, loss)
    lams, l2s = [8.0, 2.0, 0.5, 0.0], [4.0, 1.0, 3.0, 2.0]
    path = shotgun.path(data.A, data.y, lams, l2=l2s, loss=loss, tol=1e-10, **options)
    for fit, lam, l2 in zip(path, lams, l2s, strict=True):
        alone = shotgun.solve(data.A, data.y, lam, loss, l2=l2, tol=1e-10, **options)
        assert fit.status == alone.status == "converged"
        assert fit.objective == pytest.approx(alone.objective, rel=1e-9)
        assert np.allclose(fit.x, alone.x, atol=1e-4)


def test_a_changing_l2_takes_few_rounds_at_every_lam() -> None:
    data = make_data(50, 20)
    lams = np.geomspace(0.5, 5e-4, 100) * shotgun.lambda_max(data.A, data.y)
    path = shotgun.path(data.A, data.y, lams, l2=lams, tol=1e-10)
    assert max(fit.n_rounds for fit in path) <= 5


def test_a_path_may_end_without_any_penalty() -> None:
    data = make_data(60, 20)
    unpenalised = shotgun.path(data.A, data.y, [5.0, 0.0], tol=1e-12)[1]
    assert unpenalised.certificate == "gradient"
    assert np.allclose(unpenalised.x, np.linalg.lstsq(data.A, data.y)[0], atol=1e-5)


@pytest.mark.parametrize("engine", ["auto", "shooting", "bundle", "block", "newton"])
def test_a_path_ends_where_a_cold_solve_does_for_every_engine(engine: str) -> None:
    data = make_data(80, 200)
    path = shotgun.path(data.A, data.y, n_lams=5, eps=0.01, engine=engine, tol=1e-10)
    for k, lam in enumerate(path.lams):
        cold = shotgun.solve(data.A, data.y, lam, engine=engine, tol=1e-10)
        assert path.objectives[k] == pytest.approx(cold.objective, rel=1e-9)
        assert np.allclose(path[k].x, cold.x, atol=1e-4)


def test_the_default_grid_falls_evenly_on_a_log_scale_from_lambda_max() -> None:
    data = make_data(50, 40)
    path = shotgun.path(data.A, data.y, n_lams=7, eps=1e-2)
    assert path.lams[0] == pytest.approx(shotgun.lambda_max(data.A, data.y), rel=1e-15)
    assert np.allclose(path.lams, path.lams[0] * np.logspace(0, -2, 7), rtol=1e-14)
    assert path.X[:, [0]].nnz == 0 < path.X[:, [1]].nnz


def test_a_grid_may_be_given_in_any_order() -> None:
    data = make_data(60, 90)
    lams = data.lam_max * np.array([0.05, 0.5, 0.02, 2.0, 0.1])
    path = shotgun.path(data.A, data.y, lams, tol=1e-9)
    assert np.array_equal(path.lams, lams)
    for k, lam in enumerate(lams):
        assert path[k].objective == pytest.approx(
            shotgun.solve(data.A, data.y, lam, tol=1e-9).objective, rel=1e-8
        )


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_path_has_the_same_bits_for_any_number_of_threads(loss: str, sparse: bool) -> None:
    data = make_data(3000, 400, loss, density=0.1 if sparse else 1.0)
    A = sp.csc_array(data.A) if sparse else data.A
    paths = [shotgun.path(A, data.y, n_lams=6, loss=loss, n_threads=t) for t in (1, 2, 3, 8)]
    assert max(row["threads"] for row in paths[1].trace) > 1
    for path in paths[1:]:
        assert np.array_equal(path.X.data, paths[0].X.data)
        assert np.array_equal(path.X.indices, paths[0].X.indices)
        assert np.array_equal(path.gaps, paths[0].gaps)


def test_the_trace_shows_the_grid_and_the_warm_start() -> None:
    data = make_data(60, 90)
    path = shotgun.path(data.A, data.y, n_lams=5, eps=0.1)
    assert list(dict.fromkeys(row["lam"] for row in path.trace)) == path.lams.tolist()
    for before, after in zip(path, list(path)[1:], strict=False):
        loss_and_penalty = before.objective + (after.trace[0]["lam"] - before.trace[0]["lam"]) * (
            np.abs(before.x).sum()
        )
        assert after.trace[0]["objective"] == pytest.approx(loss_and_penalty, rel=1e-12)


def test_one_small_lam_is_approached_by_way_of_a_larger_one_where_columns_crowd() -> None:
    data = make_data(60, 2000)
    largest = shotgun.lambda_max(data.A, data.y)
    fit = shotgun.solve(data.A, data.y, largest / 200, trace=True)
    lams = list(dict.fromkeys(row["lam"] for row in fit.trace))
    assert lams == pytest.approx([largest / 200, largest / 200**0.5])
    assert fit.trace[-1]["lam"] == lams[0]
    assert [row["round"] for row in fit.trace] == list(range(len(fit.trace)))
    assert all(a["epoch"] <= b["epoch"] for a, b in itertools.pairwise(fit.trace))
    straight = shotgun.solve(data.A, data.y, largest / 200, x0=np.zeros(2000), trace=True)
    assert {row["lam"] for row in straight.trace} == {lams[0]}
    assert abs(fit.objective - straight.objective) <= fit.gap + straight.gap
    for options in ({}, {"l2": 0.5}, {"bounds": (0.0, None)}):
        few = shotgun.solve(data.A, data.y, largest / 2, trace=True, **options)
        assert {row["lam"] for row in few.trace} == {largest / 2}
    ridge = shotgun.solve(data.A, data.y, 0.0, l2=1.0, trace=True)
    assert {row["lam"] for row in ridge.trace} == {0.0}
    assert [row["round"] for row in ridge.trace] == list(range(len(ridge.trace)))


def test_a_fit_may_be_stopped_on_its_way() -> None:
    data = make_data(60, 2000)
    lam = shotgun.lambda_max(data.A, data.y) / 200
    fit = shotgun.solve(data.A, data.y, lam, callback=lambda row: row["lam"] > lam)
    assert fit.status == "stopped"
    assert fit.gap >= fit.objective - shotgun.solve(data.A, data.y, lam).objective
    assert shotgun.solve(data.A, data.y, lam, max_epochs=2).status == "max_epochs"


def test_a_path_costs_fewer_updates_than_its_cold_solves() -> None:
    data = make_data(200, 1000, rank=2)
    path = shotgun.path(data.A, data.y, n_lams=20, eps=0.02)
    cold = sum(shotgun.solve(data.A, data.y, lam).n_updates for lam in path.lams)
    assert sum(fit.n_updates for fit in path) < 0.8 * cold


def test_the_strong_rule_brings_in_at_once_what_will_move() -> None:
    data = make_data(300, 2000)
    lams = shotgun.lambda_max(data.A, data.y) * 0.93 ** np.arange(40)
    path = shotgun.path(data.A, data.y, lams)
    for before, fit in zip(path, list(path)[1:], strict=False):
        gradient = np.abs(data.A.T @ (data.A @ before.x - data.y))
        expected = np.flatnonzero(gradient >= 2 * fit.trace[0]["lam"] - before.trace[0]["lam"])
        if len(fit.trace) > 1:  # else nothing had to move
            assert fit.trace[1]["working_set"] >= len(expected)
        assert set(np.flatnonzero(fit.x)) <= set(expected)


def test_a_path_ends_early_on_deviance_only_if_asked() -> None:
    data = make_data(60, 90)
    whole = shotgun.path(data.A, data.y, n_lams=20)
    short = shotgun.path(data.A, data.y, n_lams=20, deviance=0.9)
    assert len(whole) == 20 > len(short) > 1
    explained = [1 - 2 * _loss(data, fit) / (data.y @ data.y) for fit in whole]
    assert len(short) == 1 + int(np.argmax(np.array(explained) >= 0.9))
    assert np.array_equal(short.X.toarray(), whole.X[:, : len(short)].toarray())


def _loss(data: Any, fit: shotgun.Solution) -> float:
    return 0.5 * float(((data.A @ fit.x - data.y) ** 2).sum())


def test_callback_and_deadline_end_a_path_with_what_it_has() -> None:
    data = make_data(60, 90)
    seen: list[float] = []

    def stop(row: dict[str, Any]) -> bool:
        seen.append(row["lam"])
        return len(set(seen)) > 3

    path = shotgun.path(data.A, data.y, n_lams=20, callback=stop)
    assert len(path) == 4
    assert path.statuses == ["converged"] * 3 + ["stopped"]
    late = shotgun.path(data.A, data.y, n_lams=20, deadline=0.0)
    assert late.statuses == ["deadline"]


@pytest.mark.parametrize(
    ("keywords", "named"),
    [
        ({"lams": []}, "lams"),
        ({"lams": [[1.0]]}, "lams"),
        ({"lams": "abc"}, "lams"),
        ({"lams": 1.0}, "lams"),
        ({"l2": [1.0]}, "l2 must be a number unless lams are given"),
        ({"lams": [2.0, 1.0], "l2": [1.0, -1.0]}, "l2"),
        ({"lams": [1.0, -1.0]}, "lams"),
        ({"lams": [np.nan]}, "lams"),
        ({"n_lams": 0}, "n_lams"),
        ({"n_lams": 2.5}, "n_lams"),
        ({"eps": 0.0}, "eps"),
        ({"eps": 1.0}, "eps"),
        ({"eps": -1}, "eps"),
        ({"deviance": -0.1}, "deviance"),
        ({"tol": -1}, "tol"),
        ({"engine": "fast"}, "engine"),
    ],
)
def test_bad_arguments_are_named(keywords: dict[str, Any], named: str) -> None:
    data = make_data(20, 10)
    with pytest.raises((ValueError, TypeError), match=named):
        shotgun.path(data.A, data.y, **keywords)


def test_no_grid_follows_from_a_constant_target() -> None:
    with pytest.raises(ValueError, match="lams"):
        shotgun.path(make_data(20, 10).A, np.zeros(20))
    flat = shotgun.path(make_data(20, 10).A, np.ones(20), lams=[1.0], fit_intercept=True)
    assert flat.X.nnz == 0


@pytest.mark.parametrize("name", ["diabetes64", "we8there", "congress109"])
def test_a_path_agrees_with_scikit_learns_on_real_data(
    real_data: Callable[[str], RealData], name: str
) -> None:
    A = real_data(name).unit_columns()
    y = real_data(name).y - real_data(name).y.mean()
    n = len(y)
    path = shotgun.path(A, y, n_lams=12, eps=0.01, tol=1e-9)
    _, theirs, _ = lasso_path(A, y, alphas=path.lams / n, tol=1e-12, max_iter=100_000)
    ours = shotgun.path(A, y, path.lams, l2=0.5 * path.lams[0], tol=1e-9)
    for k, lam in enumerate(path.lams):
        assert _objective(A, y, theirs[:, k], lam) >= path.objectives[k] - path.gaps[k]
        assert _objective(A, y, theirs[:, k], lam) <= path.objectives[k] * (1 + 1e-6)
    l2 = 0.5 * path.lams[0]
    lam = path.lams[6]
    _, elastic, _ = enet_path(
        A, y, alphas=[(lam + l2) / n], l1_ratio=lam / (lam + l2), tol=1e-12, max_iter=100_000
    )
    assert np.allclose(elastic[:, 0], ours[6].x, atol=1e-5 * np.abs(ours[6].x).max())


def test_a_path_passes_through_the_knots_of_lars() -> None:
    data = make_data(50, 20)
    knots, _, coefs = lars_path(data.A, data.y, method="lasso")
    inside = knots[1:-1]
    path = shotgun.path(data.A, data.y, inside * 50, tol=1e-12)
    assert np.allclose(path.X.toarray(), coefs[:, 1:-1], atol=1e-5)


def _objective(A: Any, y: Any, x: Any, lam: float) -> float:
    return 0.5 * float(((A @ x - y) ** 2).sum()) + lam * float(np.abs(x).sum())
