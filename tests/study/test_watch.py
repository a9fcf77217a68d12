"""The clock of a run: it stands while one looks, can be set back, and says what is left."""

from __future__ import annotations

import time

import numpy as np

from shotgun.study.watch import Watch


def slow(x: float) -> float:
    time.sleep(0.05)
    return x


def test_looking_costs_nothing() -> None:
    watch = Watch(slow)
    for x in (3.0, 2.0, 1.0):
        watch(x)
    assert watch.marks[-1].seconds < 0.05
    assert [mark.objective for mark in watch.marks] == [3.0, 2.0, 1.0]


def test_it_stops_at_the_target_and_when_the_time_is_over() -> None:
    watch = Watch(slow, target=1.0)
    assert [watch(x) for x in (3.0, 1.0)] == [False, True]
    assert Watch(slow, limit=0.0)(3.0)


def test_what_is_left_falls_to_zero_and_a_restart_gives_it_back() -> None:
    watch = Watch(slow, limit=0.02)
    assert 0 < watch.left() <= 0.02
    time.sleep(0.03)
    assert watch.left() == 0
    assert watch.overdue()
    watch.restart()
    assert watch.left() > 0
    assert Watch(slow).left() == np.inf
