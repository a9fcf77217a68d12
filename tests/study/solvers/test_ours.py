"""Our own solvers are held to the clock of the others."""

from __future__ import annotations

import time

import numpy as np

from shotgun.study.solvers import ours
from shotgun.study.watch import Watch


def busy(seconds):
    """Nobody is charged for sleep, nor for what other threads do."""
    begin = time.thread_time()
    while time.thread_time() - begin < seconds:
        pass


def test_what_a_path_has_to_know_first_is_on_the_clock(monkeypatch):
    A, y = np.asfortranarray(np.eye(5)), np.arange(5.0)

    def slow(*_):
        busy(0.05)
        return 4.0

    monkeypatch.setattr(ours, "lambda_max", slow)
    watch = Watch(lambda x: 0.0)
    ours.shooting(A, y, 0.1, watch)
    assert watch.marks[0].seconds >= 0.05
