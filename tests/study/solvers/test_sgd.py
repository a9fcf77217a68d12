"""SGD comes near the optimum, by the best of its rates, and is told to stop."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from shotgun.study.solvers import sgd

from .logistic_problems import NAMES, on_all, problem


@on_all
@pytest.mark.parametrize("decay", [False, True], ids=["constant", "decaying"])
def test_it_comes_within_two_percent_of_the_optimum(name: str, decay: bool) -> None:
    p = problem(name)
    x = sgd.solve(p.A, p.y, p.lam, p.watch(), decay=decay, trial=100, passes=100)
    assert -1e-12 <= p.excess(x) < 0.02


def test_the_rates_are_fourteen_from_1e_4_to_1_evenly_on_a_log_scale() -> None:
    assert len(sgd.RATES) == 14
    assert sgd.RATES[[0, -1]] == pytest.approx([1e-4, 1.0])
    np.testing.assert_allclose(np.diff(np.log(sgd.RATES)), 4 * np.log(10) / 13)


@on_all
def test_the_rate_that_is_taken_is_the_best_of_all(name: str) -> None:
    p = problem(name)

    def run(rate: float | None) -> float:
        return p.excess(sgd.solve(p.A, p.y, p.lam, p.watch(), rate=rate, trial=5, passes=5))

    assert run(None) == min(run(rate) for rate in sgd.RATES.tolist())


def test_the_same_seed_gives_the_same_bits_for_any_number_of_threads() -> None:
    p = problem("sparse")

    def run(seed: int, n_threads: int) -> list[float]:
        options = {"trial": 2, "passes": 4, "seed": seed, "n_threads": n_threads}
        return sgd.solve(p.A, p.y, p.lam, p.watch(), **options).tolist()

    assert run(3, 1) == run(3, 2)
    assert run(3, 1) != run(4, 1)


def test_sparse_and_dense_rows_in_either_precision_lead_to_the_same_weights() -> None:
    p = problem("sparse")
    dense = p.A.toarray().astype(np.float32)
    forms = [dense, np.asfortranarray(dense), dense.astype(float), sp.csc_array(dense)]
    ways = [sgd.solve(A, p.y, p.lam, p.watch(), rate=0.1, passes=3) for A in forms]
    for x in ways[1:]:
        np.testing.assert_allclose(x, ways[0], atol=1e-12)


def test_it_goes_on_from_x0() -> None:
    p = problem("tall")
    x0 = sgd.solve(p.A, p.y, p.lam, p.watch(), trial=100, passes=100)
    watch = p.watch()
    sgd.solve(p.A, p.y, p.lam, watch, rate=1e-4, passes=1, x0=x0)
    assert watch.marks[0].objective == pytest.approx(p.objective(x0), rel=1e-3)


@pytest.mark.parametrize("name", NAMES[:1])
def test_it_stops_at_the_target_and_at_the_limit(name: str) -> None:
    p = problem(name)
    watch = p.watch(target=1.1 * p.best)
    assert p.excess(sgd.solve(p.A, p.y, p.lam, watch, rate=0.01)) <= 0.1
    assert all(mark.objective > watch.target for mark in watch.marks[:-1])
    late = p.watch(limit=0.0)
    sgd.solve(p.A, p.y, p.lam, late)
    assert len(late.marks) == 1
