"""Bars: live in a terminal, silent in a log."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from shotgun.bars import CountBar, GapBar


def row(gap, lam=1.0, number=1, **more):
    return {"gap": gap, "objective": 10.0, "round": number, "lam": lam, **more}


@pytest.mark.parametrize("terminal", [False, True])
def test_only_a_terminal_sees_a_bar(terminal):
    out = StringIO()
    with GapBar("fit", 1e-6, console=Console(file=out, force_terminal=terminal)) as bar:
        bar(row(10.0, number=0))
        bar(row(1e-4))
    assert bool(out.getvalue()) is terminal


def test_a_bar_on_standard_error_comes_when_it_is_needed(monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    bar = GapBar("fit", 1e-6)
    bar(row(10.0, number=0))
    assert bar._progress is None
    bar._begun -= 1.0
    with bar:
        bar(row(1.0))
    assert [task.description for task in bar._progress.tasks] == ["fit"]


def terminal():
    return Console(file=StringIO(), force_terminal=True)


def shown(bar, *rows):
    for each in rows:
        bar(each)
    [task] = bar._progress.tasks
    return task.completed, task.fields["state"]


def test_the_gap_falls_on_a_log_scale():
    bar = GapBar("fit", 1e-6, console=terminal())
    assert shown(bar, row(10.0, number=0)) == (0.0, "gap 1e+00, wanted 1e-06")
    assert shown(bar, row(0.01))[0] == pytest.approx(0.5)
    assert shown(bar, row(1e-9))[0] == 1.0
    assert shown(bar, row(0.0))[0] == 1.0


def test_the_fits_of_all_folds_are_counted():
    bar = CountBar("cv", 4, console=terminal())
    rows = [row(1.0, lam=2.0, fold=0), row(0.1, lam=2.0, fold=0), row(1.0, lam=2.0, fold=1)]
    assert shown(bar, *rows) == (0.25, "fit 2 of 4")
