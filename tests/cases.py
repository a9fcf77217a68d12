"""Random problems of every kind, and how a property is tried on them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import UnsatisfiedAssumption

import shotgun
from reference import CLASSES, Reference, loss_slopes
from shotgun.solve import ENGINES
from trust import note

LOSSES = ("squared", "logistic", "squared_hinge", "huber", "poisson")
SHAPES = st.one_of(  # tall, wide, or with very many rows
    st.tuples(st.integers(2, 25), st.integers(1, 8)),
    st.tuples(st.integers(2, 7), st.integers(1, 30)),
    st.tuples(st.integers(64, 150), st.integers(1, 2)),
)
# Enough for several threads: 2e5 entries for each part of a scan (core/problem/source.hpp), and
# more rows than the 500 of a slab.
LARGE = st.sampled_from([(4000, 120), (1600, 300), (700, 700)])
RATIOS = (0.0, 1e-9, 1e-6, 1e-3, 0.01, 0.1, 0.5, 0.99, 1.0, 1.01, 2.0, 1e3)


@dataclass(frozen=True)
class Problem:
    """What is minimised, and how."""

    A: Any
    y: Any
    lam: float
    options: dict[str, Any]  # of F
    form: str = "fortran"
    dtype: str = "float64"
    how: dict[str, Any] = field(default_factory=dict)

    def given(self) -> Any:
        """A in its form; float32 if it is made of such numbers."""
        A = np.asarray(self.A, dtype=self.dtype)
        if self.form in ("c", "fortran"):
            return np.array(A, order="C" if self.form == "c" else "F")
        S = sp.csr_array(A) if self.form.startswith("csr") else sp.csc_array(A)
        if self.form.endswith("64"):
            S.indices, S.indptr = S.indices.astype(np.int64), S.indptr.astype(np.int64)
        return S

    def solve(self, **more: Any) -> Any:
        return shotgun.solve(self.given(), self.y, self.lam, **self.options, **self.how | more)

    def reference(self, lam: float | None = None) -> Reference:
        return Reference.of(self.A, self.y, self.lam if lam is None else lam, **self.options)


def _matrix(draw: Any, rng: Any, shapes: Any, densities: Any, far: float) -> Any:
    """Zeros, small integers; columns of every awkward kind."""
    n, d = draw(shapes)
    A = rng.standard_normal((n, d))
    if draw(st.booleans()):
        A = np.round(A)
    A *= rng.random((n, d)) < draw(st.sampled_from(densities))
    for kind in draw(st.lists(st.integers(0, 6), max_size=3)):
        j, k, m = rng.integers(d, size=3)
        A[:, j] = (
            A[:, k],
            -A[:, k],
            A[:, k] + A[:, m],
            A[:, k] + 1e-6 * A[:, j],
            np.full(n, rng.standard_normal()),
            np.zeros(n),
            A[:, j] + far,
        )[kind]
    return A


def _target(draw: Any, rng: Any, A: Any, loss: str) -> Any:
    n, d = A.shape
    score = A @ np.where(rng.random(d) < 0.5, rng.standard_normal(d), 0.0)
    kind = draw(st.sampled_from(["noisy", "exact", "flat", "noise"]))
    score = {
        "noisy": score + rng.standard_normal(n),
        "exact": score,
        "flat": np.full(n, 3.0),
        "noise": rng.standard_normal(n),
    }[kind]
    if loss in CLASSES:
        y = np.where(score > np.median(score), 1.0, -1.0)
        y[:2] = [1.0, -1.0]
        return y
    if loss == "poisson":
        return rng.poisson(np.exp(np.clip(score, -3, 3))).astype(float)
    return score


def _options(draw: Any, rng: Any, n: int, d: int, loss: str) -> dict[str, Any]:
    options: dict[str, Any] = {
        "loss": loss,
        "fit_intercept": draw(st.booleans()),
        "standardize": draw(st.sampled_from([False, False, True])),
        "l2": draw(st.sampled_from([0.0, 0.0, 1e-6, 0.1, 10.0])),
    }
    if loss == "huber":
        options["delta"] = draw(st.sampled_from([1.35, 0.1, 10.0]))
    if draw(st.booleans()):
        options["weights"] = rng.uniform(0.1, 3.0, n) * (np.arange(n) % 4 != 3)
    if draw(st.booleans()):
        options["offset"] = rng.standard_normal(n)
    if draw(st.booleans()):
        kinds = draw(st.sampled_from([[0.5, 1.0, 3.0, np.inf], [0.0, 1.0, 1.0], [1e-3, 1e3]]))
        options["penalty_factor"] = rng.choice(kinds, d)
    if draw(st.booleans()):
        options["bounds"] = _bounds(draw, rng, d, options.get("penalty_factor", np.ones(d)))
    return options


def _bounds(draw: Any, rng: Any, d: int, factor: Any) -> Any:
    """A box of any size, one-sided, or not around zero, or fixed."""
    size = 10.0 ** draw(st.integers(-3, 1))
    lo, hi = -size * rng.random(d), size * rng.random(d)
    kind = draw(st.sampled_from(["box", "nonnegative", "mixed"]))
    if kind == "nonnegative":
        return 0.0, None
    if kind == "mixed":
        lo = np.where(rng.random(d) < 0.4, -np.inf, lo)
        hi = np.where(rng.random(d) < 0.4, np.inf, hi)
        away = (rng.random(d) < 0.2) & np.isfinite(factor)
        lo, hi = np.where(away, size / 2, lo), np.where(away, size, hi)
        fixed = (rng.random(d) < 0.1) & np.isfinite(factor)
        lo, hi = np.where(fixed, size / 3, lo), np.where(fixed, size / 3, hi)
    return lo, hi


def largest_lambda(A: Any, y: Any, options: dict[str, Any]) -> float:
    """About lambda_max."""
    z = np.zeros(len(y)) + options.get("offset", 0.0)
    slope = loss_slopes(options["loss"], z, y, options.get("delta", 1.35))[0]
    pull = A.T.astype(np.longdouble) @ (options.get("weights", 1.0) * slope)
    return float(np.clip(np.abs(pull).max(), 0, 1e300)) or 1.0


@st.composite
def problems(
    draw: Any,
    losses: tuple[str, ...] = LOSSES,
    shapes: Any = SHAPES,
    densities: Any = (1.0, 1.0, 0.6, 0.2),
    epochs: Any = (2000, 2000, 3, 0),
) -> Problem:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    loss = draw(st.sampled_from(losses))
    far = 10.0 if loss == "poisson" else 1e4  # exp(1e4) is refused
    A = _matrix(draw, rng, shapes, densities, far)
    y = _target(draw, rng, A, loss)
    options = _options(draw, rng, *A.shape, loss)
    dtype = draw(st.sampled_from(["float64", "float64", "float32"]))
    A = A.astype(dtype).astype(float)
    how = {
        "engine": draw(st.sampled_from(ENGINES)),
        "working_set": draw(st.booleans()),
        "n_threads": draw(st.sampled_from([1, 1, 2, 3])),
        "P": draw(st.sampled_from(["auto", 1, 4])),
        "order": draw(st.sampled_from(["random", "cyclic"])),
        "tol": draw(st.sampled_from([1e-6, 1e-4, 1e-9, 0.0])),
        "max_epochs": draw(st.sampled_from(epochs)),
    }
    forms = ["c", "fortran", "csc", "csr", "csc64", "csr64"]
    return Problem(
        A=A,
        y=y,
        lam=draw(st.sampled_from(RATIOS)) * largest_lambda(A, y, options),
        options=options,
        form=draw(st.sampled_from(forms)),
        dtype=dtype,
        how=how,
    )


@st.composite
def large_problems(draw: Any) -> Problem:
    """On which several threads work, and weights move; few epochs, as these are long. Engines come
    evenly: hypothesis would draw a few of them nearly always."""
    p = draw(problems(shapes=LARGE, densities=(1.0, 0.8), epochs=(20, 20, 3)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    ratio = rng.choice([1e-3, 0.01, 0.1, 0.5])
    lam = ratio * largest_lambda(p.A, p.y, p.options)
    return replace(p, lam=lam, how=p.how | {"engine": str(rng.choice(ENGINES))})


@st.composite
def extreme(draw: Any) -> Problem:
    """Columns, targets, weights and l2 of sizes between 1e-150 and 1e150, alike or not."""
    p = draw(problems())
    n, d = p.A.shape
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    exponents = st.sampled_from([-150, -100, -30, 0, 30, 100, 150])

    def sizes(count: int) -> Any:
        each = draw(st.booleans())
        return 10.0 ** (rng.uniform(-150, 150, count) if each else float(draw(exponents)))

    A, y, options = p.A * sizes(d), p.y, dict(p.options)
    if options["loss"] in ("squared", "huber"):
        y = y * 10.0 ** draw(exponents)
    if draw(st.booleans()):
        options["weights"] = options.get("weights", np.ones(n)) * 10.0 ** draw(exponents)
    options["l2"] *= 10.0 ** draw(exponents)
    if options["loss"] == "huber":
        options["delta"] *= 10.0 ** draw(exponents)
    ratio = draw(st.sampled_from(RATIOS))
    lam = min(ratio * largest_lambda(A, y, options), 1e300)
    return replace(p, A=A, y=y, lam=lam, options=options, dtype="float64")


_met: Counter[str] = Counter()


def met(what: str) -> None:
    """A case of the property that is being tried is one of these: counted beside all cases."""
    _met[what] += 1


def everywhere(cases: int, **drawn: Any) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """Makes a test of a property: on so many cases in a usual run."""

    def decorate(check: Callable[..., None]) -> Callable[[], None]:
        tried = 0

        def once(**case: Any) -> None:
            nonlocal tried
            tried += 1
            try:
                check(**case)
            except UnsatisfiedAssumption:  # rejected: nothing was asked of it
                tried -= 1
                raise

        once.__name__ = check.__name__  # the usual run's examples depend on it
        most = cases * settings().max_examples // 100
        health = list(HealthCheck)
        each = settings(max_examples=most, deadline=None, suppress_health_check=health)(
            given(**drawn)(once)
        )

        def test() -> None:
            failures = 1
            _met.clear()
            try:
                each()
                failures = 0
            finally:
                name = check.__name__.removeprefix("test_")
                nightly = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"
                told = {"property": name, "nightly": nightly, "cases": tried, "of these": _met}
                note(told | {"failures": failures})

        test.__name__, test.__doc__ = check.__name__, check.__doc__
        return test

    return decorate
