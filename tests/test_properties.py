"""What must hold for every problem, on random ones of every kind: never a wrong answer silently.

Each property is tried on as many cases as it says, 2000 in all; HYPOTHESIS_PROFILE=nightly tries
fifty times as many, new ones every time. The file that SHOTGUN_TRUST names gets a line of JSON per
property: how many cases were tried, and whether one failed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st

import shotgun
from cases import (
    RATIOS,
    Problem,
    everywhere,
    extreme,
    large_problems,
    largest_lambda,
    met,
    problems,
)
from reference import STEEPEST, Reference
from shotgun.solve import ENGINES

if np.finfo(np.longdouble).eps > 1e-18:
    pytest.skip("no type here is more precise than the one under test", allow_module_level=True)


def unit(reference: Reference) -> float:
    """A few units of the last place, of sums as long as the rows and columns."""
    return float(2.0**-53 * (16 + 4 * np.sqrt(sum(reference.A.shape))))


def reach(reference: Reference, v: Any) -> Any:
    """How large the products are that z is a sum of."""
    x, constant = reference.outer(v)
    w = reference.weights
    columns = reference.A[:, : len(x)] * reference.scale + reference.mean
    far = np.sqrt(w @ columns**2) @ np.abs(x) + np.sqrt(w.sum()) * np.abs(constant)
    with np.errstate(over="ignore"):
        far += np.sqrt(w @ reference.offset**2)
    if reference.loss == "poisson":  # of exp(z), which is off by units of itself, as if z were
        far += np.sqrt(w.sum())
    return far


def rounding(reference: Reference, v: Any) -> Any:
    """How far float64 may see F from where it is: z is off by a few units of the products that it
    is a sum of, and F by its slope times that, or by its curvature where there is no slope; and a
    penalty by what the spread of a column that lies far from zero is off."""
    off_z = unit(reference) * reach(reference, v)
    slope, curvature = reference.slopes(v)
    on, w = np.flatnonzero(reference.outer(v)[0]), reference.weights
    with np.errstate(over="ignore", invalid="ignore"):
        means = np.where(reference.scale == 1, 0, np.abs(reference.mean) / reference.scale)
        # squares that cancel to a part of 1e-4 and less are summed again, about the mean
        off = np.maximum(means, np.minimum(means**2, 1e4))[on]
        spread = (reference.lam[on] * np.abs(v[on]) + reference.l2[on] * v[on] ** 2) @ off
        first = off_z * np.sqrt(w @ slope**2) + unit(reference) * (reference.value(v) + spread)
        second = curvature.max(initial=2.0) * off_z**2  # 2: the most that a kink hides
        far = first + second + np.finfo(float).tiny
    return np.inf if np.isnan(far) else far  # where F overflows, it may be anywhere


def point(fit: Any, reference: Reference) -> Any:
    """Where the fit is, in the reference's terms."""
    return reference.inner(fit.x, fit.intercept)


def assert_covered(fit: Any, reference: Reference) -> None:
    """No point is known that is better by more than the gap, up to what the reference rounds, what
    float64 cannot tell from zero, and what rounds the slopes of weights that nothing holds, on the
    way that these have to the minimum: it may be long where columns differ by rounding alone. A gap
    that is estimated from the gradient is no less than what it is an estimate of."""
    v = point(fit, reference)
    at_best = reference.solve(near=v)
    here, best = reference.value(v), reference.value(at_best)
    w, n = reference.weights, len(reference.y)
    nothing = n * np.finfo(float).tiny
    if fit.certificate != "gap":
        met("fits certified by the gradient")
        assert min(charge(reference, v), here - best) <= fit.gap * (1 + 1e-9) + nothing
        return
    (x, _), (x_best, _) = reference.outer(v), reference.outer(at_best)
    free = (reference.lam == 0)[: len(x)]
    columns = reference.A[:, : len(x)] * reference.scale + reference.mean
    way = np.sqrt(w @ columns[:, free] ** 2) @ np.abs(x_best - x)[free]
    slopes = 2.0**-53 * np.sqrt(w @ reference.slopes(v)[0] ** 2) * way
    assert here - best <= fit.gap + 2.0**-60 * here + 8 * slopes + nothing


def charge(reference: Reference, v: Any) -> Any:
    """What a certificate by the gradient claims to be no less than: of every weight that nothing
    holds, the decrease of F that its slope promises, and the slope times its size. A slope is one
    as float64 sees it: what rounds it, and the z that it is of, may be missing."""
    slope, curvature = reference.slopes(v)
    w, d = reference.weights, len(reference.scale)
    open_side = np.isinf(reference.lo[:d]) | np.isinf(reference.hi[:d])
    free = (reference.lam[:d] == 0) & (reference.l2[:d] == 0) & open_side
    squares = w @ reference.A[:, :d] ** 2
    raw = np.sqrt(squares + w.sum() * (reference.mean / reference.scale) ** 2)
    off_z = reach(reference, v) * curvature.max(initial=0)
    missing = 64 * unit(reference) * raw * (np.sqrt(w @ slope**2) + off_z)
    v_j = np.maximum(0, reference.violations(v, reference.derivatives(v)[0])[:d] - missing)
    beta = STEEPEST.get(reference.loss, curvature.max(initial=0)) * squares
    on = free & (beta > 0)
    return v_j[free] @ np.abs(v[:d][free]) + np.sum(v_j[on] ** 2 / (2 * beta[on]))


def assert_true_objective(fit: Any, reference: Reference) -> None:
    v = point(fit, reference)
    assert abs(fit.objective - reference.value(v)) <= rounding(reference, v)


def assert_in_bounds(fit: Any, p: Problem) -> None:
    lo, hi = p.options.get("bounds", (None, None))
    assert (fit.x >= (-np.inf if lo is None else lo)).all()
    assert (fit.x <= (np.inf if hi is None else hi)).all()
    excluded = np.isinf(p.options.get("penalty_factor", np.ones(len(fit.x))))
    assert not fit.x[excluded].any()


def assert_true_status(fit: Any) -> None:
    assert np.isfinite(fit.x).all()
    assert np.isfinite([fit.intercept, fit.objective]).all()
    assert fit.gap >= 0
    assert (fit.status == "converged") == (fit.gap <= fit.tolerance)


@everywhere(100, p=problems())
def test_the_reference_proves_its_own_answer(p: Problem) -> None:
    """To 1e-10 of F0 (1e-12 but for flat valleys of the Huber loss) where no penalty is next to
    nothing: elsewhere it tests less, as it may stop above the minimum. Or to 1e-14 of F at zero:
    F0 may be nothing, as of counts of zero or where free columns span y. And to what extended
    precision rounds: z is off by the products that it is a sum of, and so is every slope, which
    counts as often as its weight is large."""
    reference = p.reference()
    null = reference.null()
    v = min(reference.solve(), null, key=reference.value)
    pull = np.abs(reference.A.T @ (reference.weights * reference.slopes(null)[0]))
    held = reference.lam[reference.lam > 0]
    assume(len(held) > 0 and held.min() >= 1e-5 * pull.max(initial=0))
    at_zero = reference.value(_held(reference, np.clip(0 * v, reference.lo, reference.hi)))
    reach = np.abs(v) @ np.sqrt(reference.weights @ reference.A**2)
    blur = 1e-14 * at_zero + 2.0**-60 * reach**2 * reference.slopes(v)[1].max(initial=1)
    blur += 2.0**-120 * reference.weights @ (1 + np.abs(reference.y))
    assert reference.error(v) <= 1e-10 * reference.value(null) + blur


@everywhere(510, p=problems())
def test_the_gap_covers_the_distance_to_the_minimum(p: Problem) -> None:
    assert_covered(p.solve(), p.reference())


@everywhere(150, p=problems())
def test_the_objective_is_that_of_the_weights_returned(p: Problem) -> None:
    assert_true_objective(p.solve(), p.reference())


@everywhere(100, p=problems())
def test_bounds_hold_to_the_last_bit(p: Problem) -> None:
    assert_in_bounds(p.solve(), p)


@everywhere(150, p=problems())
def test_converged_says_that_the_gap_is_within_the_tolerance(p: Problem) -> None:
    assert_true_status(p.solve())


@everywhere(150, p=problems(), size=st.sampled_from([0.0, 1e-3, 1.0, 1e3]), seed=st.integers(0, 99))
def test_f_is_never_above_the_start(p: Problem, size: float, seed: int) -> None:
    x0 = size * np.random.default_rng(seed).standard_normal(p.A.shape[1])
    fit, reference = p.solve(x0=x0), p.reference()
    start = np.clip(reference.inner(x0), reference.lo, reference.hi)
    start[np.isinf(reference.lam)] = 0.0
    here = reference.value(point(fit, reference))
    slack = rounding(reference, start) + rounding(reference, point(fit, reference))
    assert (
        not here > reference.value(_held(reference, start)) + slack
    )  # which is NaN where the start overflows


def _held(reference: Reference, v: Any) -> Any:
    """v, with the intercept at its best."""
    if not reference.intercept:
        return v
    lo, hi = np.append(v[:-1], -np.inf), np.append(v[:-1], np.inf)
    return replace(reference, lo=lo, hi=hi).solve()


# The same problem, told otherwise


def assert_agree(p: Problem, other: Problem, back: Callable[[Any], Any]) -> None:
    """Two statements of one problem; `back` brings the other's weights home. Neither answer is
    better than the other by more than that one's gap, and both stop at the same tolerance."""
    reference = p.reference()
    fits = p.solve(), other.solve()
    here = reference.value(point(fits[0], reference))
    there = reference.value(reference.inner(back(fits[1].x), fits[1].intercept))
    slack = 2.0**-60 * (here + there)
    blur = float(rounding(reference, point(fits[0], reference)))
    if fits[0].certificate == "gap":
        assert here - there <= fits[0].gap + slack
    if fits[1].certificate == "gap":
        assert there - here <= fits[1].gap + slack
    else:
        met("fits certified by the gradient")
    # F0 is a yardstick: of free columns in a flat valley it is found to a few digits, and where
    # they separate the classes, so that there is no minimum, it is next to nothing beside F at 0
    zero = float(reference.value(np.clip(0 * reference.l2, reference.lo, reference.hi)))
    least = max(blur, 1e-6 * p.how["tol"] * zero)
    assert fits[1].tolerance == pytest.approx(fits[0].tolerance, rel=1e-4, abs=least)


def changed(p: Problem, **options: Any) -> dict[str, Any]:
    """The options, those present among `options` passed through the function given."""
    return p.options | {
        name: f(p.options[name]) for name, f in options.items() if name in p.options
    }


@everywhere(80, p=problems(), seed=st.integers(0, 99))
def test_rows_may_come_in_any_order(p: Problem, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(p.y))
    options = changed(p, weights=lambda w: w[order], offset=lambda o: o[order])
    assert_agree(p, replace(p, A=p.A[order], y=p.y[order], options=options), lambda x: x)


@everywhere(80, p=problems(), seed=st.integers(0, 99))
def test_columns_may_come_in_any_order(p: Problem, seed: int) -> None:
    d = p.A.shape[1]
    order = np.random.default_rng(seed).permutation(d)
    options = changed(
        p,
        penalty_factor=lambda f: f[order],
        bounds=lambda b: tuple(v if np.ndim(v) == 0 else v[order] for v in b),
    )
    assert_agree(p, replace(p, A=p.A[:, order], options=options), lambda x: x[np.argsort(order)])


@everywhere(80, p=problems(), seed=st.integers(0, 99))
def test_columns_may_have_either_sign(p: Problem, seed: int) -> None:
    sign = np.random.default_rng(seed).choice([-1.0, 1.0], p.A.shape[1])

    def mirror(bounds: Any) -> Any:
        lo, hi = (-np.inf if bounds[0] is None else bounds[0]), bounds[1]
        hi = np.inf if hi is None else hi
        return np.where(sign > 0, lo, -hi), np.where(sign > 0, hi, -lo)

    options = changed(p, bounds=mirror)
    assert_agree(p, replace(p, A=p.A * sign, options=options), lambda x: x * sign)


@everywhere(80, p=problems(), seed=st.integers(0, 99))
def test_a_row_twice_is_a_row_of_twice_the_weight(p: Problem, seed: int) -> None:
    n = len(p.y)
    times = np.random.default_rng(seed).integers(1, 4, n)
    rows = np.repeat(np.arange(n), times)
    heavy = p.options | {"weights": times * p.options.get("weights", np.ones(n))}
    options = changed(p, weights=lambda w: w[rows], offset=lambda o: o[rows])
    assert_agree(
        replace(p, options=heavy),
        replace(p, A=p.A[rows], y=p.y[rows], options=options),
        lambda x: x,
    )


@everywhere(100, p=problems(), seed=st.integers(0, 99), most=st.sampled_from([3, 30, 300]))
def test_a_column_of_another_scale_is_one_of_another_penalty(
    p: Problem, seed: int, most: int
) -> None:
    """Footnote 1 of the paper; by powers of two, which round nothing."""
    d = p.A.shape[1]
    size = np.ldexp(1.0, np.random.default_rng(seed).integers(-most, most + 1, d))
    plain = p.options | {"standardize": False, "l2": 0.0}
    factor = plain.get("penalty_factor", np.ones(d)) * size
    options = changed(
        replace(p, options=plain | {"penalty_factor": factor}),
        bounds=lambda b: tuple(v if v is None else v / size for v in b),
    )
    p = replace(p, options=plain, dtype="float64")
    assert_agree(p, replace(p, A=p.A * size, options=options), lambda x: x * size)


# Several threads


def most_threads(fit: Any) -> int:
    return max(round["threads"] for round in fit.trace)


@everywhere(40, p=large_problems(), threads=st.integers(2, 3))
def test_the_number_of_threads_changes_no_bit(p: Problem, threads: int) -> None:
    if p.how["engine"] == "asynchronous":
        p = replace(p, how=p.how | {"engine": "auto"})
    one, many = p.solve(n_threads=1, trace=True), p.solve(n_threads=threads, trace=True)
    assert most_threads(one) == 1
    assert most_threads(many) > 1
    np.testing.assert_array_equal(one.x, many.x)
    assert (one.intercept, one.gap, one.status) == (many.intercept, many.gap, many.status)


@everywhere(30, p=large_problems(), engine=st.sampled_from(ENGINES), threads=st.integers(2, 3))
def test_no_engine_is_better_than_another_by_more_than_that_ones_gap(
    p: Problem, engine: str, threads: int
) -> None:
    how = p.how | {"n_threads": threads}
    assert_agree(replace(p, how=how), replace(p, how=how | {"engine": engine}), lambda x: x)


# Paths


@everywhere(100, p=problems(), ratios=st.lists(st.sampled_from(RATIOS), min_size=1, max_size=4))
def test_every_gap_of_a_path_covers_its_distance(p: Problem, ratios: list[float]) -> None:
    lams = np.array(ratios) * largest_lambda(p.A, p.y, p.options)
    path = shotgun.path(p.given(), p.y, lams, **p.options, **p.how)
    for fit, lam in zip(path, lams, strict=True):
        reference = p.reference(lam)
        assert_covered(fit, reference)
        assert_true_objective(fit, reference)
        assert_true_status(fit)
        assert_in_bounds(fit, p)


# The ends of the range


def _drowned(reference: Reference, v: Any) -> bool:
    """Whether float64 rounds a score by more than its exponential can bear, as that of a column
    that is far from zero and centred."""
    x, _ = reference.outer(v)
    columns = reference.A[:, : len(x)] * reference.scale + reference.mean
    scores = np.abs(columns) @ np.abs(x)
    return reference.loss == "poisson" and bool(2.0**-53 * scores.max(initial=0) > 1)


@everywhere(250, p=extreme())
def test_at_any_scale_the_answer_is_certified_or_refused(p: Problem) -> None:
    reference = p.reference()
    start = np.clip(0 * reference.l2, reference.lo, reference.hi)
    seen = reference.value(start) + rounding(reference, start)  # by float64, at most
    if not seen < 1e300 or _drowned(reference, start):
        try:
            fit = p.solve()
        except ValueError:
            met("refused")
            return
        met("just within the range")
        assert_true_status(fit)
        assert_in_bounds(fit, p)
        return
    fit = p.solve()
    assert_true_status(fit)
    assert_in_bounds(fit, p)
    assert_true_objective(fit, reference)
    if np.isfinite(rounding(reference, point(fit, reference))):
        assert_covered(fit, reference)
    else:  # of scores that float64 rounds by more than their exponential can bear
        assert fit.status != "converged"
