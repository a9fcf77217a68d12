"""Bad input is a ValueError or TypeError whose message starts from the argument's name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import shotgun
from conftest import LAYOUTS, SMALL, Data, make_data

N, D = SMALL


@pytest.fixture
def classes() -> Data:
    return make_data(N, D, "logistic")


def with_entry(values: Any, at: Any, entry: float) -> Any:
    changed = np.array(values, dtype=np.float64)
    changed[at] = entry
    return changed


@pytest.mark.parametrize("entry", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("at", [(0, 0), (N - 1, D - 1), (7, 3)])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_not_finite_is_refused(
    data: Data, layout: Any, at: Any, entry: float, dtype: Any
) -> None:
    A = layout(with_entry(data.A, at, entry).astype(dtype))
    with pytest.raises(ValueError, match=r"^A contains NaN or infinity.*row \d+, column \d+"):
        shotgun.solve(A, data.y, 1.0)


def test_a_not_finite_is_located(data: Data) -> None:
    with pytest.raises(ValueError, match=r"row 7, column 3$"):
        shotgun.solve(with_entry(data.A, (7, 3), np.nan), data.y, 1.0)


@pytest.mark.parametrize("options", [{}, {"fit_intercept": True}, {"standardize": True}])
def test_a_not_finite_is_refused_with_every_centring(data: Data, options: Any) -> None:
    with pytest.raises(ValueError, match=r"^A contains NaN"):
        shotgun.solve(with_entry(data.A, (7, 3), np.inf), data.y, 1.0, **options)


def test_a_not_finite_in_an_absent_row_is_refused(data: Data) -> None:
    A = with_entry(data.A, (7, 3), np.nan)
    with pytest.raises(ValueError, match=r"^A contains NaN"):
        shotgun.solve(A, data.y, 1.0, weights=with_entry(np.ones(N), 7, 0.0))


@pytest.mark.parametrize("function", [shotgun.lambda_max, shotgun.spectral_radius])
def test_a_not_finite_is_refused_by_every_function(data: Data, function: Any) -> None:
    A = with_entry(data.A, (7, 3), np.nan)
    arguments = (A, data.y) if function is shotgun.lambda_max else (A,)
    with pytest.raises(ValueError, match=r"^A contains NaN"):
        function(*arguments)


@pytest.mark.parametrize("entry", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["y", "weights", "offset", "x0"])
def test_vectors_not_finite_are_refused(data: Data, name: str, entry: float) -> None:
    size = D if name == "x0" else N
    given = {"y": data.y, name: with_entry(np.ones(size), 5, entry)}
    with pytest.raises(ValueError, match=rf"^{name} contains NaN or infinity.*position 5"):
        shotgun.solve(data.A, given.pop("y"), 1.0, **given)


@pytest.mark.parametrize("entry", [np.nan, np.inf])
def test_labels_not_finite_are_refused(classes: Data, entry: float) -> None:
    with pytest.raises(ValueError, match=r"^y contains NaN or infinity"):
        shotgun.solve(classes.A, with_entry(classes.y, 5, entry), 1.0, "logistic")


def test_penalty_factor_with_nan_is_refused(data: Data) -> None:
    with pytest.raises(ValueError, match=r"^penalty_factor contains NaN"):
        shotgun.solve(data.A, data.y, 1.0, penalty_factor=with_entry(np.ones(D), 5, np.nan))


@pytest.mark.parametrize("size", [N - 1, N + 1, 0, D])
@pytest.mark.parametrize("name", ["y", "weights", "offset"])
def test_row_vectors_of_the_wrong_length_are_refused(data: Data, name: str, size: int) -> None:
    given = {"y": data.y, name: np.ones(size)}
    with pytest.raises(ValueError, match=rf"^{name} must have shape \({N},\)"):
        shotgun.solve(data.A, given.pop("y"), 1.0, **given)


@pytest.mark.parametrize("size", [D - 1, D + 1, 0, N])
@pytest.mark.parametrize("name", ["penalty_factor", "x0"])
def test_column_vectors_of_the_wrong_length_are_refused(data: Data, name: str, size: int) -> None:
    with pytest.raises(ValueError, match=rf"^{name} must have shape \({D},\)"):
        shotgun.solve(data.A, data.y, 1.0, **{name: np.ones(size)})


@pytest.mark.parametrize("side", [0, 1])
def test_bounds_of_the_wrong_length_are_refused(data: Data, side: int) -> None:
    bounds: list[Any] = [-1.0, 1.0]
    bounds[side] = np.full(D + 1, 0.5)
    with pytest.raises(ValueError, match=rf"^bounds\[{side}\] must have shape \({D},\)"):
        shotgun.solve(data.A, data.y, 1.0, bounds=tuple(bounds))


def test_two_dimensional_y_is_refused(data: Data) -> None:
    with pytest.raises(ValueError, match=r"^y must have shape"):
        shotgun.solve(data.A, data.y[:, None], 1.0)
    with pytest.raises(ValueError, match=r"^y must have shape"):
        shotgun.solve(data.A, np.sign(data.y)[:, None], 1.0, "logistic")


@pytest.mark.parametrize("shape", [(0, D), (N, 0), (0, 0)])
@pytest.mark.parametrize("make", [np.zeros, sp.csc_matrix, sp.csr_matrix])
def test_a_without_rows_or_columns_is_refused(shape: tuple[int, int], make: Any) -> None:
    with pytest.raises(ValueError, match=r"^A must have at least one row and one column"):
        shotgun.solve(make(shape), np.zeros(shape[0]), 1.0)


@pytest.mark.parametrize("A", [np.ones(N), np.ones((N, D, 2)), 3.0])
def test_a_not_of_two_dimensions_is_refused(A: Any) -> None:
    with pytest.raises(ValueError, match=r"^A must have two dimensions"):
        shotgun.solve(A, np.ones(N), 1.0)


@pytest.mark.parametrize(
    "A",
    [
        np.ones((N, D)) * 1j,
        np.full((N, D), "a"),
        np.ones((N, D), dtype=object),
        sp.csc_matrix(np.ones((N, D)) * 1j),
    ],
)
def test_a_without_real_numbers_is_refused(A: Any) -> None:
    with pytest.raises(TypeError, match=r"^A must hold real numbers"):
        shotgun.solve(A, np.ones(N), 1.0)


@pytest.mark.parametrize("name", ["y", "weights", "offset", "x0", "penalty_factor"])
def test_vectors_of_words_are_refused(data: Data, name: str) -> None:
    given = {"y": data.y, name: ["a"] * (D if name in ("x0", "penalty_factor") else N)}
    with pytest.raises(TypeError, match=f"^{name} must hold real numbers"):
        shotgun.solve(data.A, given.pop("y"), 1.0, **given)


@pytest.mark.parametrize("value", [-1.0, -1e-300, np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["lam", "tol", "l2"])
def test_negative_or_not_finite_numbers_are_refused(data: Data, name: str, value: float) -> None:
    given = {"lam": 1.0, name: value}
    with pytest.raises(ValueError, match=f"^{name} must be"):
        shotgun.solve(data.A, data.y, **given)


@pytest.mark.parametrize("name", ["lam", "tol", "l2", "deadline"])
def test_numbers_that_are_words_are_refused(data: Data, name: str) -> None:
    given: dict[str, Any] = {"lam": 1.0, name: "much"}
    with pytest.raises(TypeError, match=f"^{name} must be a number"):
        shotgun.solve(data.A, data.y, **given)


@pytest.mark.parametrize("labels", [[0], [1], [0, 1, 2], ["a"], ["a", "b", "c"], [-1, 0, 1, 2]])
def test_other_than_two_classes_are_refused(classes: Data, labels: list[Any]) -> None:
    y = np.array(labels)[np.arange(N) % len(labels)]
    with pytest.raises(ValueError, match=r"^y must hold exactly two classes"):
        shotgun.solve(classes.A, y, 1.0, "logistic")


@pytest.mark.parametrize(
    "pair", [(-1, 1), (0, 1), (1, 2), (False, True), ("ham", "spam"), (-3.5, 1e9), (b"a", b"b")]
)
def test_two_values_of_any_kind_are_the_same_two_classes(classes: Data, pair: Any) -> None:
    plain = shotgun.solve(classes.A, classes.y, 1.0, "logistic")
    y = np.array(pair)[(classes.y > 0).astype(int)]
    named = shotgun.solve(classes.A, y, 1.0, "logistic")
    assert plain.x.any()
    np.testing.assert_array_equal(named.x, plain.x)
    listed = shotgun.solve(classes.A, y.tolist(), 1.0, "logistic")
    np.testing.assert_array_equal(listed.x, plain.x)


@pytest.mark.parametrize("value", [-1.0, -1e-300])
def test_negative_weights_are_refused(data: Data, value: float) -> None:
    with pytest.raises(ValueError, match=r"^weights must not be negative; position 5"):
        shotgun.solve(data.A, data.y, 1.0, weights=with_entry(np.ones(N), 5, value))


def test_weights_that_are_all_zero_are_refused(data: Data) -> None:
    with pytest.raises(ValueError, match=r"^weights must not all be zero"):
        shotgun.solve(data.A, data.y, 1.0, weights=np.zeros(N))


def test_negative_penalty_factor_is_refused(data: Data) -> None:
    with pytest.raises(ValueError, match=r"^penalty_factor must not be negative; position 5"):
        shotgun.solve(data.A, data.y, 1.0, penalty_factor=with_entry(np.ones(D), 5, -1.0))


@pytest.mark.parametrize(
    "bounds",
    [
        (1.0, 0.0),
        (0.0, -1e-9),
        (with_entry(np.zeros(D), 5, 2.0), 1.0),
        (np.inf, np.inf),
        (-np.inf, -np.inf),
    ],
)
def test_lo_above_hi_is_refused(data: Data, bounds: Any) -> None:
    with pytest.raises(ValueError, match=r"^bounds must satisfy lo <= hi"):
        shotgun.solve(data.A, data.y, 1.0, bounds=bounds)


@pytest.mark.parametrize("bounds", [3.0, (1.0,), (0.0, 1.0, 2.0)])
def test_bounds_that_are_no_pair_are_refused(data: Data, bounds: Any) -> None:
    with pytest.raises(ValueError, match=r"^bounds must be a pair"):
        shotgun.solve(data.A, data.y, 1.0, bounds=bounds)


@pytest.mark.parametrize("side", [0, 1])
def test_bounds_with_nan_are_refused(data: Data, side: int) -> None:
    bounds = [-1.0, 1.0]
    bounds[side] = np.nan
    with pytest.raises(ValueError, match=rf"^bounds\[{side}\] contains NaN"):
        shotgun.solve(data.A, data.y, 1.0, bounds=tuple(bounds))


@pytest.mark.parametrize("bounds", [(0.5, 1.0), (-1.0, -0.5)])
def test_bounds_without_zero_for_an_excluded_feature_are_refused(data: Data, bounds: Any) -> None:
    factor = with_entry(np.ones(D), 5, np.inf)
    with pytest.raises(ValueError, match=r"^bounds of feature 5 exclude 0"):
        shotgun.solve(data.A, data.y, 1.0, bounds=bounds, penalty_factor=factor)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("engine", "magic"),
        ("engine", None),
        ("loss", "hinges"),
        ("loss", 3),
        ("order", "up"),
    ],
)
def test_unknown_words_are_refused(data: Data, name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"^{name} must be one of"):
        shotgun.solve(data.A, data.y, 1.0, **{name: value})


@pytest.mark.parametrize("name", ["P", "n_threads", "max_epochs", "seed"])
@pytest.mark.parametrize(("value", "error"), [(-1, ValueError), (1.5, TypeError), ("x", TypeError)])
def test_counts_that_are_none_are_refused(data: Data, name: str, value: Any, error: Any) -> None:
    with pytest.raises(error, match=f"^{name} must be"):
        shotgun.solve(data.A, data.y, 1.0, **{name: value})


@pytest.mark.parametrize("name", ["P", "n_threads"])
def test_zero_at_once_is_refused(data: Data, name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name} must be at least 1"):
        shotgun.solve(data.A, data.y, 1.0, **{name: 0})


def test_one_class_among_the_rows_that_count_is_refused() -> None:
    data = make_data(20, 5, "logistic")
    with pytest.raises(ValueError, match="y must hold exactly two classes"):
        shotgun.solve(data.A, data.y, 1.0, "logistic", weights=(data.y > 0).astype(float))


@pytest.mark.parametrize("name", ["y", "weights", "offset", "x0"])
@pytest.mark.parametrize("dtype", [complex, "U5", "datetime64[s]"])
def test_vectors_of_other_kinds_are_refused_by_name(name: str, dtype: Any) -> None:
    data = make_data(20, 5)
    wrong = {name: np.zeros(5 if name == "x0" else 20).astype("i8").astype(dtype)}
    arguments = {"A": data.A, "y": data.y, "lam": 1.0} | wrong
    with pytest.raises(TypeError, match=f"{name} must hold real numbers"):
        shotgun.solve(**arguments)


@pytest.mark.parametrize("name", ["seed", "P", "max_epochs", "n_threads"])
def test_counts_beyond_the_core_are_refused_by_name(name: str) -> None:
    data = make_data(20, 5)
    with pytest.raises(ValueError, match=f"{name} must be at most"):
        shotgun.solve(data.A, data.y, 1.0, **{name: 2**70})


def test_labels_that_do_not_compare_are_refused_by_name() -> None:
    data = make_data(20, 5, "logistic")
    labels = np.array(["a", None] * 10, dtype=object)
    with pytest.raises(TypeError, match="y must hold labels of one kind"):
        shotgun.solve(data.A, labels, 1.0, "logistic")
