"""Newton steps from A'HA alone: the minimum of the model, whatever is fitted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shotgun
from shotgun.blocks import Asked, Model
from shotgun.gram import Gram, dots, moments, normal, product

N, D = 300, 8


class Here:
    """A tall matrix that counts what it is asked."""

    def __init__(self, A: Any) -> None:
        self.A, self.shape, self.asked = A, A.shape, []

    def normal(self, h: Any, light: bool) -> Any:
        self.asked.append("light" if light else "normal")
        return normal(self.A, h, light)

    def scan(self, v: Any, which: Any) -> Any:
        self.asked.append("scan")
        return (self.A if which is None else self.A[:, which]).T @ v

    def product(self, which: Any, steps: Any) -> Any:
        self.asked.append("product")
        return self.A[:, which] @ steps


def asked(
    g: Any,
    lam: Any = 1.0,
    d: int = D,
    *,
    l2: float = 0.0,
    h: Any = None,
    intercept: bool = False,
    enough: float = 1e-9,
    **other: Any,
) -> Asked:
    """What the core asks: by default of the first d columns as they are, free, from zero."""
    told = {
        "which": np.arange(d),
        "x": np.zeros(d),
        "means": np.zeros(d),
        "inv_scale": np.ones(d),
        "lam": np.broadcast_to(lam, d),
        "lo": np.full(d, -np.inf),
        "hi": np.full(d, np.inf),
        "gap": 1.0,
    }
    return Asked(**told | other, model=Model(l2, g, h, intercept, enough))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(5, 1), (3000, 37), (70, 300), (0, 3)])
def test_tall_rows_answer_what_they_say(shape: Any, order: Any, dtype: Any) -> None:
    rng = np.random.default_rng(1)
    A = np.asarray(rng.standard_normal(shape), dtype, order=order)
    exact, h = A.astype(float), rng.uniform(0, 2, shape[0])
    v, x = rng.standard_normal(shape[0]), rng.standard_normal(shape[1])
    near = {"rtol": 1e-10, "atol": 1e-10 * (1 + shape[0])}
    first, *rest = normal(A, h, light=False)
    np.testing.assert_allclose(first, h @ exact, **near)
    np.testing.assert_allclose(rest, (exact.T * h) @ exact, **near)
    np.testing.assert_array_equal(rest, np.transpose(rest))
    light = normal(A, h, light=True)[1:]
    np.testing.assert_allclose(light, rest, atol=1e-6 * (1 + shape[0]))
    assert shape[0] == 0 or (light != rest).any()
    np.testing.assert_allclose(dots(A, v), v @ exact, **near)
    np.testing.assert_allclose(product(A, x), exact @ x, **near)
    for w in (None, h):
        weights = np.ones(shape[0]) if w is None else w
        sums = weights @ exact, weights @ exact**2, v @ exact
        np.testing.assert_allclose(moments(A, w, v), sums, **near)


@pytest.mark.parametrize("centring", ["none", "intercept", "means"])
def test_a_step_leads_to_the_minimum_of_the_model(centring: str) -> None:
    rng = np.random.default_rng(0)
    A, y = rng.standard_normal((N, D)) + 1, rng.standard_normal(N) + 2
    x, h, inv_scale = rng.standard_normal(D), rng.uniform(0.5, 2, N), np.full(D, 0.5)
    intercept, means = centring == "intercept", np.zeros(D)
    if centring == "means":
        means = A.mean(axis=0)
    B = (A - means) * inv_scale
    how: dict[str, Any] = {"weights": h, "l2": 0.3, "bounds": (-0.4, 0.5)}
    best = shotgun.solve(B, y, 5.0, fit_intercept=intercept, tol=1e-12, **how)
    box = {"lo": np.full(D, -0.4), "hi": np.full(D, 0.5)}
    columns = {"x": x, "means": means, "inv_scale": inv_scale}
    model = {"l2": 0.3, "h": h, "intercept": intercept}
    goal, dz = Gram(Here(A)).propose(asked(h * (B @ x - y), 5.0, **columns, **box, **model))
    np.testing.assert_allclose(goal, best.x, atol=1e-5)
    np.testing.assert_allclose(B @ x + dz, B @ best.x + best.intercept, atol=1e-4)


def test_what_is_known_is_not_asked_for_again() -> None:
    rng = np.random.default_rng(2)
    A = Here(rng.standard_normal((N, D)))
    gram = Gram(A)
    which, g = np.arange(D - 1), rng.standard_normal(N)
    goal, dz = gram.propose(asked(g, d=D - 1, enough=1e-6))
    assert A.asked == ["normal", "scan", "product"]
    np.testing.assert_array_equal(gram.add(which, goal), dz)
    gram.scan(g + dz, None)
    gram.propose(asked(g + dz, d=3, x=goal[:3], enough=1e-6))
    assert A.asked[3:5] == ["scan", "product"]
    assert not {"normal", "scan"} & set(A.asked[5:])


def test_the_curvature_is_that_of_an_earlier_step_as_long_as_it_is_near_and_the_gap_falls() -> None:
    rng = np.random.default_rng(2)
    A = Here(rng.standard_normal((N, D)))
    gram = Gram(A)

    def asks(h: float, gap: float) -> bool:
        before = A.asked.count("light")
        gram.propose(asked(np.ones(N), gap=gap, h=np.full(N, h)))
        return A.asked.count("light") > before

    assert asks(1.0, 1.0)
    assert not asks(1.05, 0.01)  # near, and the last step was good
    assert asks(1.05, 0.005)  # near, but it was not
    assert not asks(1.05, 0.005)  # the same
    assert asks(2.0, 1e-5)  # far


@pytest.mark.parametrize("case", ["plain", "collinear", "far from zero", "huge", "tiny", "empty"])
def test_float32_will_do_where_it_tells_the_columns_apart(case: str) -> None:
    rng = np.random.default_rng(3)
    A = rng.standard_normal((N, D))
    if case == "collinear":
        A[:, 1] = A[:, 0] + 1e-3 * A[:, 1]
    elif case == "empty":
        A[:, 1] = 0
    A = {"far from zero": A + 1e3, "huge": 1e30 * A, "tiny": 1e-30 * A}.get(case, A)
    here, y = Here(A), rng.standard_normal(N)
    size = np.abs(A).max()
    goal, _ = Gram(here).propose(asked(-y, 0.1 * size, h=np.ones(N)))
    assert here.asked[:2] == (["light", "scan"] if case == "plain" else ["light", "normal"])
    exact = shotgun.solve(A, y, 0.1 * size, tol=1e-10)
    found = 0.5 * np.sum((A @ goal - y) ** 2) + 0.1 * size * np.abs(goal).sum()
    assert found == pytest.approx(exact.objective, rel=1e-8)


def test_columns_in_other_units_have_the_same_model() -> None:
    rng = np.random.default_rng(5)
    A, y = rng.standard_normal((N, D)), rng.standard_normal(N)
    units = np.where(np.arange(D) % 2, 1e-8, 1.0)
    goals = []
    for unit in (np.ones(D), units):
        goal, _ = Gram(Here(A * unit)).propose(asked(-y, 10.0 * unit))
        goals.append(goal * unit)
    np.testing.assert_allclose(goals[1], goals[0], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("part", [0.95, 1.05])
def test_a_step_by_an_old_curvature_leads_nearly_to_the_minimum(part: float) -> None:
    """Of columns far from zero, where what centring takes is most of the curvature."""
    rng = np.random.default_rng(4)
    A, y = rng.standard_normal((N, D)) + 50, rng.standard_normal(N)
    y += A[:, 0]
    here = Here(A)
    gram = Gram(here)
    for h, gap in ((np.ones(N), 1.0), (np.full(N, part), 1e-3)):
        goal, _ = gram.propose(asked(-h * (y - y.mean()), 5.0, gap=gap, h=h, intercept=True))
    assert here.asked.count("normal") == 1
    best = shotgun.solve(A, y, 5.0, fit_intercept=True, weights=h, tol=1e-12)
    assert np.abs(goal - best.x).max() <= 0.1 * np.abs(best.x).max()


def test_columns_of_nothing_and_columns_that_are_alike_do_no_harm() -> None:
    rng = np.random.default_rng(3)
    A = rng.standard_normal((N, D))
    A[:, 1], A[:, 2] = A[:, 0], 0.0
    y = A[:, 0] + rng.standard_normal(N)
    gram = Gram(Here(A))
    goal, _ = gram.propose(asked(-y, 5.0))
    best = shotgun.solve(A, y, 5.0, tol=1e-12)
    np.testing.assert_allclose(A @ goal, A @ best.x, atol=1e-5)
    nothing, _ = gram.propose(asked(-y, 5.0, d=1, which=np.array([2])))
    assert nothing == 0
