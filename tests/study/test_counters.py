"""Counters: read as perf writes them, per update, and honest where there are none."""

from __future__ import annotations

import stat

import pytest

from shotgun.study import counters

# perf 6.1, `perf stat -x ";"`: on a processor that counts, and in a virtual machine
COUNTED = """\
3105821941;;cycles:u;1203400012;100.00;;
4201993310;;instructions:u;1203400012;100.00;1.35;insn per cycle
88120034;;cache-references:u;1203400012;66.70;;
20118342;;cache-misses:u;1203400012;66.64;22.830;of all cache refs
50231877;;L1-dcache-load-misses:u;1203400012;66.65;;
1203347;;dTLB-load-misses:u;1203400012;66.68;;
<not supported>;;stalled-cycles-backend:u;0;100.00;;
"""
VIRTUAL = """\
<not supported>;;cycles;0;100.00;;
<not supported>;;instructions;0;100.00;;
<not supported>;;cache-references;0;100.00;;
<not supported>;;cache-misses;0;100.00;;
<not supported>;;L1-dcache-load-misses;0;100.00;;
<not supported>;;dTLB-load-misses;0;100.00;;
<not supported>;;stalled-cycles-backend;0;100.00;;
"""
PRIVATE = """\
Error:
Access to performance monitoring and observability operations is limited.
"""


def test_counts_are_read_by_event():
    found = counters.read(COUNTED)
    assert found.counts["cycles"] == 3105821941
    assert found.counts["cache-misses"] == 20118342
    assert set(found.counts) | set(found.refused) == set(counters.EVENTS)
    assert found.refused == ["stalled-cycles-backend"]


def test_what_others_write_between_the_counts_is_no_count():
    noise = "a warning; of something\n\n1.5;msec;task-clock;1500;100.00;0.9;CPUs utilized\n"
    assert counters.read(noise + COUNTED) == counters.read(COUNTED)


@pytest.fixture
def perf(tmp_path, monkeypatch):
    """A perf that has been told what to write, and how many updates the fit had."""

    def install(script):
        file = tmp_path / "perf"
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    return install


def fit(updates, cycles, instructions):
    return (
        f"echo {updates}; echo '{cycles};;cycles;9;100.00;;\n{instructions};;instructions;9;;;' >&2"
    )


def test_an_update_is_what_more_epochs_cost_over_fewer(perf):
    short, long = fit(100, 5_000, 9_000), fit(1100, 25_000, 15_000)
    perf(f'case "$*" in *max_epochs=1,*) {short};; *) {long};; esac')
    found = counters.measure("signs_477", (1, 2), 10.0)
    assert found["why"] == ""
    assert [run["threads"] for run in found["runs"]] == [1, 2]
    assert found["runs"][0]["per_update"] == {"cycles": 20.0, "instructions": 6.0}


@pytest.mark.parametrize(
    ("said", "why"),
    [(VIRTUAL, "does not support cycles, instructions"), (PRIVATE, "perf reads none here: Error")],
)
def test_a_machine_without_counters_says_why(perf, said, why):
    perf(f"cat >&2 <<'END'\n{said}END")
    found = counters.measure("signs_477", (1,), 10.0)
    assert found["runs"] == []
    assert why in found["why"]


def test_a_machine_without_perf_says_so(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert counters.measure("signs_477", (1,), 10.0) == {"runs": [], "why": "perf is not installed"}
