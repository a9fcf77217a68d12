"""The table of what was tried says what was tried."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import assume
from hypothesis import strategies as st

from cases import everywhere, met
from trust import table


def test_cases_that_are_rejected_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOTGUN_TRUST", str(tmp_path / "trust.jsonl"))
    asked = []

    @everywhere(40, k=st.integers(0, 10**6))
    def test_of_even_numbers(k: int) -> None:
        assume(k % 2 == 0)
        asked.append(k)
        if k % 3 == 0:
            met("divisible by three")

    test_of_even_numbers()
    (line,) = (tmp_path / "trust.jsonl").read_text().splitlines()
    told = json.loads(line)
    assert told["cases"] == len(asked) > 0
    assert told["of these"] == {"divisible by three": sum(k % 3 == 0 for k in asked)}
    assert told["failures"] == 0


def test_a_property_that_fails_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOTGUN_TRUST", str(tmp_path / "trust.jsonl"))

    @everywhere(10, k=st.integers(0, 9))
    def test_of_nothing(k: int) -> None:
        raise AssertionError

    with pytest.raises(AssertionError):
        test_of_nothing()
    assert json.loads((tmp_path / "trust.jsonl").read_text())["failures"] == 1


def test_nightly_cases_stand_beside_the_usual_ones() -> None:
    kinds = {"by the gradient": 7}
    records = [
        {"property": "p", "nightly": False, "cases": 100, "of these": {}, "failures": 0},
        {"property": "p", "nightly": True, "cases": 4000, "of these": kinds, "failures": 0},
        {"property": "p", "nightly": True, "cases": 1000, "of these": kinds, "failures": 1},
        {"lines executed": {"core": {"per cent": 97.7}}},
    ]
    rows = table(map(json.dumps, records)).splitlines()[2:]
    assert rows == [
        "| p | 100 cases; nightly 5,000 cases (14 by the gradient) | 1 |",
        "| lines executed: core | 97.7 per cent |  |",
    ]
