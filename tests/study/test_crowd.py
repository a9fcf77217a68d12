"""The crowd: other programs are noticed, and one's own work is not taken for theirs."""

from __future__ import annotations

import math
import os
from typing import Any

import pytest

from shotgun.study import crowd as module
from shotgun.study.crowd import Crowd


class Machine:
    """Two processors whose clocks only this file moves."""

    wall = mine = all = 0.0

    def monotonic(self) -> float:
        return self.wall

    def process_time(self) -> float:
        return self.mine

    def worked_by_all(self) -> float:
        return self.all


@pytest.fixture
def machine(monkeypatch: Any) -> Machine:
    machine = Machine()
    monkeypatch.setattr(module, "time", machine)
    monkeypatch.setattr(module, "worked_by_all", machine.worked_by_all)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    return machine


def test_what_one_does_oneself_is_not_the_others(machine: Machine) -> None:
    crowd = Crowd()
    machine.wall, machine.mine, machine.all = 10.0, 15.0, 15.0
    assert crowd.share() == 0


def test_the_share_of_others_is_of_all_processors(machine: Machine) -> None:
    crowd = Crowd()
    machine.wall, machine.mine, machine.all = 10.0, 10.0, 15.0
    assert crowd.share() == 0.25


def test_where_the_system_does_not_say_nothing_is_said(machine: Machine) -> None:
    machine.all = math.nan
    crowd = Crowd()
    machine.wall = 1.0
    assert crowd.share() is None


def test_the_work_of_all_programs_includes_ours() -> None:
    before = module.worked_by_all()
    if math.isnan(before):
        pytest.skip("the system does not say")
    assert sum(k * k for k in range(2_000_000)) > 0
    assert module.worked_by_all() > before
