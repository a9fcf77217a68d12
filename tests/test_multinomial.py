"""One model of many classes: optimal, certified, and with the symmetries of its definition."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import linear_model
from sklearn.datasets import load_iris
from threadpoolctl import threadpool_info, threadpool_limits

import shotgun
from conftest import OPTIONS, D, N, given, make_data, weights
from shotgun import newton
from shotgun.multinomial import MultinomialSolution, multinomial, multinomial_path
from test_sparse import BREAKERS, in_parts

K = 4


def make_classes(n: int = N, d: int = D, k: int = K, seed: int = 0, **kind: Any) -> Any:
    """A and labels with a sparse truth and much noise; every class has samples."""
    A = make_data(n, d, seed=seed, **kind).A
    rng = np.random.default_rng(seed)
    truth = np.where(rng.random((d, k)) < 0.3, rng.standard_normal((d, k)), 0.0)
    y = (A @ truth + rng.gumbel(size=(n, k))).argmax(axis=1)
    y[-2 * k :] = np.tile(np.arange(k), 2)
    return A, y


def own_offset(options: dict[str, Any]) -> dict[str, Any]:
    """The options of a single fit with an offset for every class in place of the one."""
    if "offset" not in options:
        return options
    return options | {"offset": np.random.default_rng(5).normal(0.0, 0.7, (N, K))}


class Definition:
    """F and its optimality conditions straight from their definition."""

    def __init__(self, A: Any, y: Any, lam: float, **options: Any) -> None:
        n, d = A.shape
        self.Y = np.eye(max(y) + 1)[y]
        w = options.get("weights")
        self.w = np.ones(n) if w is None else w
        self.mean, scale = np.zeros(d), np.ones(d)
        if options.get("standardize"):
            self.mean = self.w @ A / self.w.sum()
            scale = np.sqrt(self.w @ (A - self.mean) ** 2 / self.w.sum())
        self.A = A - self.mean
        self.intercept = options.get("fit_intercept", False)
        self.offset = options.get("offset", np.zeros(self.Y.shape))
        factor = options.get("penalty_factor", np.ones(d))
        self.lam = np.where(np.isinf(factor), np.inf, np.where(np.isinf(factor), 0, factor) * lam)
        self.lam, self.l2 = self.lam * scale, options.get("l2", 0.0) * scale**2
        lo, hi = options.get("bounds", (None, None))
        self.lo = np.broadcast_to(-np.inf if lo is None else lo, d)
        self.hi = np.broadcast_to(np.inf if hi is None else hi, d)

    def scores(self, s: MultinomialSolution) -> Any:
        return self.A @ s.x.T + s.intercept + s.x @ self.mean + self.offset

    def objective(self, s: MultinomialSolution) -> float:
        z = self.scores(s)
        losses = np.logaddexp.reduce(z, axis=1) - (self.Y * z).sum(axis=1)
        size = np.where(s.x == 0, 0.0, self.lam * np.abs(np.where(s.x == 0, 1.0, s.x)))
        return float(self.w @ losses + (size + self.l2 / 2 * s.x**2).sum())

    def violation(self, s: MultinomialSolution) -> float:
        """The largest distance of minus a gradient from the subdifferential of the penalty."""
        z = self.scores(s)
        u = self.w[:, None] * (np.exp(z - np.logaddexp.reduce(z, axis=1)[:, None]) - self.Y)
        slope = (self.A.T @ u).T + self.l2 * s.x
        right = slope + np.where(s.x >= 0, self.lam, -self.lam)
        left = slope + np.where(s.x > 0, self.lam, -self.lam)
        up = np.where(s.x < self.hi, np.maximum(-right, 0), 0)
        down = np.where(s.x > self.lo, np.maximum(left, 0), 0)
        bad = max(up.max(), down.max())
        return float(max(bad, np.abs(u.sum(axis=0)).max()) if self.intercept else bad)


def lam_max(A: Any, y: Any) -> float:
    Y = np.eye(max(y) + 1)[y]
    return float(np.abs(A.T @ (Y - Y.mean(axis=0))).max())


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("ratio", [3, 50])
def test_the_optimality_conditions_hold(name: str, ratio: float) -> None:
    A, y = make_classes()
    options, lam = own_offset(OPTIONS[name]), lam_max(A, y) / ratio
    s = multinomial(A, y, lam, tol=1e-12, **options)
    truth = Definition(A, y, lam, **options)
    assert s.status == "converged"
    assert truth.violation(s) < (1e-5 if "l2" in options else 1e-6)  # l2: its square is the gap
    assert s.objective == pytest.approx(truth.objective(s), rel=1e-12)
    assert (s.x >= truth.lo).all()
    assert (s.x <= truth.hi).all()
    assert not s.x[:, np.isinf(truth.lam)].any()
    if options.get("fit_intercept"):
        assert s.intercept.sum() == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("name", OPTIONS)
def test_the_gap_is_an_upper_bound(name: str) -> None:
    A, y = make_classes()
    options, lam = own_offset(OPTIONS[name]), lam_max(A, y) / 20
    best = multinomial(A, y, lam, tol=1e-12, **options).objective
    for epochs in (0, 1, 2, 4):
        s = multinomial(A, y, lam, tol=1e-12, max_epochs=epochs, engine="shooting", **options)
        if s.certificate == "gap":
            assert s.gap >= s.objective - best
    for tol in (1e-1, 1e-2, 1e-4, 1e-6):
        s = multinomial(A, y, lam, tol=tol, **options)
        assert s.gap <= s.tolerance == tol * s.null_objective
        assert s.objective - best <= s.gap


@pytest.mark.parametrize("name", OPTIONS)
def test_screened_features_are_zero_in_the_solution(name: str) -> None:
    A, y = make_classes()
    options, lam = own_offset(OPTIONS[name]), lam_max(A, y) / 2
    exact = multinomial(A, y, lam, tol=1e-12, **options)
    loose = multinomial(A, y, lam, tol=1e-2, **options)
    assert exact.screened.any()
    assert not exact.x[:, loose.screened].any()
    if name == "plain":
        assert loose.screened.any()


@pytest.mark.parametrize("sparse", [None, "csc", "csr"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_form_of_A_gives_the_same(sparse: str | None, dtype: Any) -> None:
    A, y = make_classes(density=0.5)
    A = A.astype(dtype).astype(np.float64)
    form = {"fit_intercept": True, "standardize": True, "tol": 1e-12}
    expected = multinomial(A, y, 1.0, **form)
    s = multinomial(given(A, sparse, dtype), y, 1.0, **form)
    np.testing.assert_allclose(s.x, expected.x, atol=1e-7)
    assert s.objective == pytest.approx(expected.objective, rel=1e-10)


@pytest.mark.parametrize("form", ["csc", "csr"])
@pytest.mark.parametrize("standardize", [False, True])
def test_duplicate_entries_add_up(form: str, standardize: bool) -> None:
    A, y = make_classes(density=0.5)
    M = sp.csc_array(A).asformat(form)
    doubled = in_parts(M)
    values, indices = doubled.data.copy(), doubled.indices.copy()
    options = {"fit_intercept": True, "standardize": standardize, "tol": 1e-12}
    s, plain = multinomial(doubled, y, 1.0, **options), multinomial(M, y, 1.0, **options)
    np.testing.assert_allclose(s.x, plain.x, rtol=1e-6, atol=1e-9)
    assert s.objective == pytest.approx(plain.objective, rel=1e-12)
    np.testing.assert_array_equal(doubled.data, values)
    np.testing.assert_array_equal(doubled.indices, indices)


@pytest.mark.parametrize("form", ["csc", "csr"])
@pytest.mark.parametrize("breaker", BREAKERS)
def test_malformed_sparse_matrices_are_refused(breaker: Any, form: str) -> None:
    A, y = make_classes(N, N, density=0.3)
    M = sp.csc_array(A).asformat(form)
    breaker(M)
    with pytest.raises(ValueError, match=r"^A"):
        multinomial(M, y, 1.0)


def test_spare_room_at_the_end_of_a_sparse_matrix_is_not_read() -> None:
    A, y = make_classes(density=0.5)
    M, spare = sp.csc_array(A), sp.csc_array(A)
    spare.indices = np.append(M.indices, np.full(7, 10**6, dtype=M.indices.dtype))
    spare.data = np.append(M.data, np.full(7, np.nan))
    np.testing.assert_array_equal(multinomial(spare, y, 1.0).x, multinomial(M, y, 1.0).x)


@pytest.mark.parametrize("l1_ratio", [1.0, 0.4, 0.0])
@pytest.mark.parametrize("w", [None, weights(100) / 3], ids=["unweighted", "weighted"])
def test_the_model_is_sagas(l1_ratio: float, w: Any) -> None:
    A, y = make_classes(100, 6, 3)  # of an even number of classes the weights are not unique
    s = multinomial(A, y, l1_ratio, l2=1 - l1_ratio, weights=w, fit_intercept=True, tol=1e-13)
    theirs = linear_model.LogisticRegression(
        l1_ratio=l1_ratio, solver="saga", tol=1e-8, max_iter=100_000, random_state=0
    ).fit(A, y, w)
    np.testing.assert_allclose(s.x, theirs.coef_, atol=1e-6)
    np.testing.assert_allclose(s.intercept, theirs.intercept_, atol=1e-6)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_without_penalty_the_weights_are_lbfgs_symmetric_ones(fit_intercept: bool) -> None:
    A, y = make_classes(300, 5)
    s = multinomial(A, y, 0.0, fit_intercept=fit_intercept, tol=1e-12)
    theirs = linear_model.LogisticRegression(
        C=np.inf, fit_intercept=fit_intercept, tol=1e-10, max_iter=10_000
    ).fit(A, y)
    np.testing.assert_allclose(s.x, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(s.x.sum(axis=0), 0.0, atol=1e-9)
    assert s.certificate == "gradient"


@pytest.mark.parametrize("options", [{}, {"fit_intercept": True}, {"weights": weights()}])
def test_two_classes_are_the_binary_model(options: dict[str, Any]) -> None:
    """|x_1| + |x_2| is least |x_2 - x_1|, and (x_1^2 + x_2^2) / 2 is (x_2 - x_1)^2 / 4."""
    data = make_data(N, D, "logistic")
    s = multinomial(data.A, data.y, 2.0, tol=1e-12, **options)
    binary = shotgun.solve(data.A, data.y, 2.0, "logistic", tol=1e-12, **options)
    np.testing.assert_allclose(s.x[1] - s.x[0], binary.x, atol=1e-6)
    assert s.objective == pytest.approx(binary.objective, rel=1e-10)
    s = multinomial(data.A, data.y, 0.0, l2=2.0, tol=1e-12, **options)
    binary = shotgun.solve(data.A, data.y, 0.0, "logistic", l2=1.0, tol=1e-12, **options)
    np.testing.assert_allclose(s.x[1] - s.x[0], binary.x, atol=1e-6)
    assert s.objective == pytest.approx(binary.objective, rel=1e-10)


def test_weights_are_repeated_rows() -> None:
    A, y = make_classes()
    counts = np.random.default_rng(0).integers(0, 4, N)
    counts[-K:] = 1
    form = {"fit_intercept": True, "standardize": True, "tol": 1e-12}
    weighted = multinomial(A, y, 1.0, weights=counts, **form)
    repeated = multinomial(A.repeat(counts, axis=0), y.repeat(counts), 1.0, **form)
    np.testing.assert_allclose(weighted.x, repeated.x, atol=1e-7)
    np.testing.assert_allclose(weighted.intercept, repeated.intercept, atol=1e-7)
    assert weighted.null_objective == pytest.approx(repeated.null_objective)


def test_a_row_without_weight_is_absent() -> None:
    A, y = make_classes()
    labels = np.array([*y, 99])
    wild = np.vstack([A, np.full(D, 1e6)])
    w = np.array([*np.ones(N), 0.0])
    s = multinomial(wild, labels, 1.0, weights=w, fit_intercept=True, tol=1e-12)
    assert s.classes.tolist() == list(range(K))
    expected = multinomial(A, y, 1.0, fit_intercept=True, tol=1e-12)
    np.testing.assert_allclose(s.x, expected.x, atol=1e-7)


def test_the_names_of_the_classes_do_not_matter() -> None:
    A, y = make_classes()
    names = np.array(["d", "b", "c", "a"])
    plain = multinomial(A, y, 1.0, fit_intercept=True, tol=1e-12)
    named = multinomial(A, names[y], 1.0, fit_intercept=True, tol=1e-12)
    marked = multinomial(A, np.eye(K, dtype=bool)[y], 1.0, fit_intercept=True, tol=1e-12)
    assert named.classes.tolist() == ["a", "b", "c", "d"]
    np.testing.assert_allclose(named.x[names.argsort().argsort()], plain.x, atol=1e-7)
    np.testing.assert_array_equal(marked.x, plain.x)


def test_an_offset_common_to_all_classes_changes_nothing() -> None:
    A, y = make_classes()
    plain = multinomial(A, y, 1.0, fit_intercept=True, tol=1e-12)
    common = np.random.default_rng(0).normal(0, 3, (N, 1)) * np.ones(K)
    shifted = multinomial(A, y, 1.0, fit_intercept=True, tol=1e-12, offset=common)
    np.testing.assert_allclose(shifted.x, plain.x, atol=1e-6)


def test_columns_far_from_zero_fit_with_an_intercept() -> None:
    A, y = make_classes()
    s = multinomial(A + 1e3, y, 1.0, fit_intercept=True)
    expected = multinomial(A, y, 1.0, fit_intercept=True)
    assert s.status == "converged"
    assert s.objective == pytest.approx(expected.objective, rel=1e-5)


def test_separable_classes_are_certified() -> None:
    A = np.repeat(np.eye(3), 5, axis=0)
    y = np.repeat(np.arange(3), 5)
    for lam in (1e-3, 1e-8, 0.0):
        for intercept in (True, False):
            s = multinomial(A, y, lam, fit_intercept=intercept)
            assert s.status == "converged"
            assert s.objective <= max(10 * lam, 1e-3) * s.null_objective


def test_a_class_with_one_sample_fits() -> None:
    A, y = make_classes()
    y = np.where(y == 3, 0, y)
    y[0] = 3
    s = multinomial(A, y, 0.5, fit_intercept=True, tol=1e-10)
    assert s.status == "converged"
    assert Definition(A, y, 0.5, fit_intercept=True).violation(s) < 1e-5


def test_above_lambda_max_there_are_only_intercepts() -> None:
    A, y = make_classes()
    s = multinomial(A, y, 1.001 * lam_max(A, y), fit_intercept=True)
    share = np.bincount(y) / N
    assert not s.x.any()
    assert s.n_epochs == 0
    np.testing.assert_allclose(np.exp(s.intercept) / np.exp(s.intercept).sum(), share)
    assert s.objective == pytest.approx(s.null_objective)
    assert s.null_objective == pytest.approx(-N * (share @ np.log(share)))
    assert multinomial(A, y, 0.9 * lam_max(A, y), fit_intercept=True).x.any()


def test_a_path_is_its_fits() -> None:
    A, y = make_classes()
    lams = lam_max(A, y) * np.geomspace(0.9, 0.01, 6)
    fits = multinomial_path(A, y, lams, l2=lams / 10, fit_intercept=True, tol=1e-12)
    for lam, fit in zip(lams, fits, strict=True):
        alone = multinomial(A, y, lam, l2=lam / 10, fit_intercept=True, tol=1e-12)
        assert fit.status == "converged"
        np.testing.assert_allclose(fit.x, alone.x, atol=1e-6)
        assert fit.tolerance == pytest.approx(alone.tolerance)


def test_a_start_is_never_left_for_worse() -> None:
    A, y = make_classes()
    good = multinomial(A, y, 1.0, fit_intercept=True, tol=1e-8)
    again = multinomial(A, y, 1.0, fit_intercept=True, x0=good.x, max_epochs=0, tol=1e-8)
    assert again.objective <= good.objective * (1 + 1e-12)
    assert again.n_epochs == 0
    awful = multinomial(A, y, 1.0, fit_intercept=True, x0=np.full((K, D), 1e3), max_epochs=0)
    assert awful.objective == awful.null_objective


@pytest.mark.parametrize("sparse", [None, "csc"])
def test_the_bits_are_the_same_for_any_number_of_threads(sparse: str | None) -> None:
    A, y = make_classes(500, 100, density=0.5)
    fits = []
    for threads in (1, 2, 4):
        with threadpool_limits(threads, "blas"):
            fits.append(
                multinomial(given(A, sparse, float), y, 5.0, fit_intercept=True, n_threads=threads)
            )
    for fit in fits[1:]:
        np.testing.assert_array_equal(fit.x, fits[0].x)
        assert fit.gap == fits[0].gap


def test_fits_side_by_side_leave_the_threads_of_blas_alone() -> None:
    A, y = make_classes()
    before = [pool["num_threads"] for pool in threadpool_info()]
    runs = [threading.Thread(target=multinomial, args=(A, y, lam)) for lam in (0.1, 1.0, 5.0)]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    assert [pool["num_threads"] for pool in threadpool_info()] == before


def test_a_fit_ends_when_told_to() -> None:
    A, y = make_classes()
    assert multinomial(A, y, 0.1, max_epochs=1, engine="shooting").status == "max_epochs"
    assert multinomial(A, y, 0.1, deadline=0.0).status == "deadline"
    assert multinomial(A, y, 0.1, callback=lambda row: row["round"] == 1).status == "stopped"
    assert multinomial(A, y, 0.1, tol=0.0).status == "precision"
    assert len(multinomial_path(A, y, [1.0, 0.1], deadline=0.0)) == 1


@pytest.mark.parametrize("most", [1, 2, 5, 23])
def test_newton_steps_count_towards_the_most_epochs(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    A, y = make_classes()
    tried = []

    def newton_steps(*arguments: Any, **how: Any) -> Any:
        point, steps = newton.newton_steps(*arguments, **how)
        tried.append(steps if "over" in how else 0)  # not those of the null model
        return point, steps

    monkeypatch.setattr(shotgun.multinomial, "newton_steps", newton_steps)
    s = multinomial(A, y, 0.1, tol=1e-12, max_epochs=most)
    assert (s.status, s.n_epochs) == ("max_epochs", most)
    assert sum(tried) < most
    tried.clear()
    whole = multinomial(A, y, 0.1, tol=1e-12)
    assert whole.n_epochs >= sum(tried) > 0


def test_the_trace_tells_of_every_round() -> None:
    A, y = make_classes()
    told: list[dict[str, Any]] = []
    s = multinomial(A, y, 0.1, callback=told.append)
    assert told == s.trace
    last = {"round": s.trace[-1]["round"], "lam": 0.1}
    path = multinomial_path(A, y, [0.1, 0.05], callback=lambda row: last.items() <= row.items())
    assert [fit.status for fit in path] == ["stopped"]  # as of one target
    assert len(s.trace) == s.n_rounds
    assert s.trace[-1]["gap"] == s.gap
    objectives = [row["objective"] for row in s.trace]
    assert objectives == sorted(objectives, reverse=True)


def test_real_classes_take_a_handful_of_rounds() -> None:
    A, y = load_iris(return_X_y=True)
    for lam in (10.0, 1.0, 0.01):
        s = multinomial(A, y, lam, fit_intercept=True)
        assert s.status == "converged"
        assert s.n_rounds <= 6


def test_a_weight_that_has_to_change_sign_does_not_stall_the_others() -> None:
    A, y = load_iris(return_X_y=True)
    w = (np.arange(150) % 50 >= 25).astype(float)
    fits = multinomial_path(A - A.mean(), y, [1e4, 1.0, 1e-4], weights=w, fit_intercept=True)
    assert [fit.status for fit in fits] == ["converged"] * 3
    assert max(fit.n_rounds for fit in fits) <= 6


def test_losses_far_below_the_scores_keep_their_digits() -> None:
    A, y = make_classes(k=3)
    w = np.where(y == 0, 1e3, 1e-4)
    s = multinomial(A, y, 1e-4, weights=w, fit_intercept=True)
    assert s.null_objective < 0.1
    assert s.status == "converged"


def test_A_is_never_written_to() -> None:
    A, y = make_classes(density=0.5)
    for form in (A.copy(order="F"), sp.csc_array(A)):
        before = form.copy()
        multinomial(form, y, 0.5, fit_intercept=True, standardize=True)
        assert abs(before - form).max() == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.zeros(N)}, "y must hold at least two classes, not 1"),
        ({"y": np.zeros(N - 1)}, "y must"),
        ({"y": np.full(N, np.nan)}, "y contains NaN"),
        ({"y": np.ones((N, 3))}, "y must mark one class per sample; row 0 does not"),
        ({"y": np.eye(3)[np.arange(N) % 2], "fit_intercept": True}, "class 2 of y has no sample"),
        ({"lam": -1.0}, "lam must be finite and at least 0"),
        ({"l2": np.inf}, "l2 must be finite"),
        ({"x0": np.zeros((2, D))}, "x0 must have shape"),
        ({"offset": np.zeros(N)}, r"offset must have shape \(40, 4\)"),
        ({"offset": np.full((N, K), np.nan)}, "offset contains NaN"),
        ({"weights": -np.ones(N)}, "weights must not be negative"),
        ({"penalty_factor": np.ones(3)}, "penalty_factor must have shape"),
        ({"bounds": (1.0, 0.0)}, "bounds must satisfy lo <= hi"),
        ({"engine": "none"}, "engine must be one of"),
        ({"A": np.full((N, D), np.nan)}, "A contains NaN or infinity"),
        ({"A": np.full((N, D), 1e200)}, "A holds numbers too large to square"),
        ({"A": np.zeros(N)}, "A must have two dimensions"),
    ],
)
def test_bad_input_is_named(change: dict[str, Any], message: str) -> None:
    A, y = make_classes()
    with pytest.raises(ValueError, match=message):
        multinomial(**{"A": A, "y": y, "lam": 1.0} | change)
