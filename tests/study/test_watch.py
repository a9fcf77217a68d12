"""The clock of a run: it stands while one looks, can be set back, and says what is left."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shotgun.study import watch as module
from shotgun.study.watch import Watch


class Clock:
    """A clock that only this file moves."""

    now = 0.0
    idle = 0.0  # of it, what others had the processor

    def perf_counter(self) -> float:
        return self.now

    def process_time(self) -> float:
        return self.now - self.idle


@pytest.fixture
def clock(monkeypatch: Any) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


def test_looking_costs_nothing(clock: Clock) -> None:
    def slow(x: float) -> float:
        clock.now += 5
        return x

    watch = Watch(slow)
    for x in (3.0, 2.0, 1.0):
        clock.now += 1
        watch(x)
    assert [mark.seconds for mark in watch.marks] == [1, 2, 3]
    assert [mark.objective for mark in watch.marks] == [3.0, 2.0, 1.0]


def test_it_stops_at_the_target_and_when_the_time_is_over(clock: Clock) -> None:
    watch = Watch(float, target=1.0)
    assert [watch(x) for x in (3.0, 1.0)] == [False, True]
    assert Watch(float, limit=0.0)(3.0)


def test_what_is_left_falls_to_zero_and_a_restart_gives_it_back(clock: Clock) -> None:
    watch = Watch(float, limit=2.0)
    clock.now += 0.5
    assert watch.left() == 1.5
    assert not watch.overdue()
    clock.now += 2
    assert watch.left() == 0
    assert watch.overdue()
    watch.restart()
    assert watch.left() == 2
    assert Watch(float).left() == np.inf


def test_what_others_have_the_processor_for_is_not_counted(clock: Clock) -> None:
    watch = Watch(float, limit=2.0)
    clock.now += 10
    clock.idle += 9
    watch(3.0)
    assert watch.marks[0].seconds == 1
    assert watch.left() == 1


def test_the_work_of_many_threads_counts_no_more_than_the_clock(clock: Clock) -> None:
    watch = Watch(float)
    clock.now += 1
    clock.idle -= 1  # two threads worked all the time
    assert watch.seconds() == 1


def test_a_solver_may_note_what_it_knows_itself(clock: Clock) -> None:
    watch = Watch(float, limit=2.0, target=1.0)
    clock.now += 1
    assert not watch.note(3.0)
    assert watch.note(1.0)
    clock.now += 2
    assert watch.note(3.0)
    assert [mark.seconds for mark in watch.marks] == [1, 1, 3]
