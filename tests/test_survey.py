"""What is told of data before a fit."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from shotgun.survey import odd_columns, target

ODD = np.array(
    [
        [1.0, 0.0, 2.0, 1.0, 0.0, 3.0],
        [2.0, 0.0, 2.0, 2.0, 1.0, 0.0],
        [0.0, 0.0, 2.0, 0.0, 0.0, 3.0],
    ]
)


@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sp.csc_array, sp.csr_array])
def test_odd_columns_are_found_in_any_form(form):
    assert odd_columns(form(ODD)) == ["all zero: x1", "constant: x2", "the same: x0 = x3"]
    assert odd_columns(form(ODD), list("abcdef"))[0] == "all zero: b"
    assert odd_columns(form(ODD[:, [0, 4, 5]])) == []


def test_many_odd_columns_are_counted():
    assert odd_columns(np.zeros((2, 7))) == ["all zero: x0, x1, x2, x3, x4 and 2 more columns"]
    twice = np.arange(18.0).reshape(3, 6)[:, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]]
    [warning] = odd_columns(twice)
    assert warning.startswith("the same: x0 = x1, x2 = x3")
    assert warning.endswith("and 1 more groups")


def test_the_target_is_told_in_words():
    assert target(np.array(["a", "b", "a"])) == "a (2), b (1)"
    assert target(np.arange(11.0)) == "mean 5, deviation 3.16228, 0 to 10"
    assert target(np.array(list("abcdefghijkl"))) == "12 classes"
