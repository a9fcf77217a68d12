"""What the README and the docstrings say is true."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import re
import subprocess
from operator import attrgetter
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import shotgun

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
START = README.split("## Start\n", 1)[1].split("\n## ", 1)[0]


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.M | re.S)


def test_start_begins_with_two_commands_of_one_line_each():
    commands = blocks(START, "sh")
    assert len(commands) == 2
    assert START.lstrip().startswith("```sh\n" + commands[0])
    for command in commands:
        assert command.count("\n") == 1
        assert "-m venv" in command
    assert commands[0].rstrip().endswith("shotgun demo")
    assert commands[1].rstrip().endswith("-m pytest")


@pytest.mark.parametrize(("number", "name"), [(1, "demo"), (2, "test")])
def test_ci_runs_the_commands_of_the_readme(number, name):
    script = (ROOT / ".ci" / "run").read_text()
    function = re.search(r"^readme_command\(\) \{.*?^\}", script, flags=re.M | re.S)
    assert function
    assert f'{name}_command="$(readme_command {number})"' in script
    assert f'bash -euo pipefail -c "${name}_command"' in script
    told = subprocess.run(
        ["bash", "-c", f"{function.group()}\nreadme_command {number}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout == blocks(START, "sh")[number - 1]


def stretches(marks):
    """Begin and end of every run of True."""
    ends = np.flatnonzero(np.diff([0, *marks, 0]))
    return list(zip(ends[::2], ends[1::2], strict=True))


def test_the_photographs_in_the_readme_are_what_the_demo_makes():
    imread = pytest.importorskip("matplotlib.image").imread
    pytest.importorskip("rich")
    from shotgun.demo import Camera

    assert "](docs/static/demo.png)" in README
    grey = imread(ROOT / "docs" / "static" / "demo.png")[..., :3].mean(axis=2)
    camera = Camera.snap(64, seed=0)
    made = [camera.scene, camera.guess(), camera.image(shotgun.solve(**camera.problem()).x)]
    panels = [(a, b) for a, b in stretches((grey[150:400] < 0.999).any(axis=0)) if b - a > 300]
    for (left, right), image in zip(panels[:3], made, strict=True):
        rows = stretches((grey[:, left:right] < 0.999).any(axis=1))
        top, bottom = max(rows, key=lambda run: run[1] - run[0])
        middles = (np.arange(64) + 0.5) / 64
        y, x = (top + middles * (bottom - top)).astype(int), left + middles * (right - left)
        assert abs(grey[np.ix_(y, x.astype(int))] - image).mean() < 0.005


@pytest.mark.parametrize("code", blocks(README, "python"))
def test_python_in_the_readme_runs(code, capsys):
    exec(compile(code, "README.md", "exec"), {})
    assert "converged" in capsys.readouterr().out


def test_links_in_the_readme_lead_somewhere():
    for target in re.findall(r"\]\(([^)#]+)", README):
        if "://" not in target:
            assert (ROOT / target).exists(), target


def warm_runs():
    """The benchmark's rows on generated data with one lam, each a dict, by name and target."""
    printed = (ROOT / "docs" / "compare" / "compare.md").read_text()
    warm = printed.split("## Warm\n", 1)[1].split("\n## ", 1)[0]
    heading, _, *rows = (
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in warm.splitlines()
        if line.startswith("|")
    )
    families = re.compile(r"(S|XL|D|T|C|LR|Z|Z32|W)[/@][0-9.]+")
    return {
        (run["row"], run["target"]): run
        for row in rows
        for run in [dict(zip(heading, row, strict=True))]
        if families.fullmatch(run["row"])
    }


def test_the_table_in_the_readme_is_what_the_benchmark_printed():
    runs = warm_runs()
    expected = []
    for name in dict.fromkeys(name for name, _ in runs):
        fine, rough = runs[name, "1e-06"], runs[name, "1e-03"]
        peer = fine["best peer"]
        expected.append(
            f"| `{name}` | {fine['shotgun']} | {fine[peer]} ({peer}) | {fine['ratio']} "
            f"| {rough['ratio']} ({rough['best peer']}) |"
        )
    assert [line for line in README.splitlines() if line.startswith("| `")] == expected


def test_the_readme_names_the_peers_and_the_problems_of_its_table():
    runs = warm_runs()
    columns = list(next(iter(runs.values())))
    seconds = re.compile(r"(> )?[0-9.]+( s)?")
    peers = [
        peer
        for peer in columns[columns.index("shotgun") + 1 :]
        if any(seconds.fullmatch(run[peer]) for run in runs.values())
    ]
    prose = " ".join(README.split("## How fast\n", 1)[1].split())
    assert f"against the fastest of {', '.join(peers[:-1])} and {peers[-1]}." in prose
    classes = any(re.match("LR|Z|W", name) for name, _ in runs)
    problems = prose.split(".")[0].lower()
    assert ("least squares" in problems, "logistic regression" in problems) == (True, classes)
    legend = prose.split(" S is ", 1)[1]
    for family in {re.split("[/@]", name)[0] for name, _ in runs} - {"S"}:
        assert re.search(rf"\b{family} (is|has)|and {family} ", legend), family


MODULES = [m.name for m in pkgutil.iter_modules(shotgun.__path__) if m.name != "_core"]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_hold(name):
    if name == "dask":
        pytest.importorskip("distributed")
    if name == "displays":
        pytest.importorskip("matplotlib.pyplot").switch_backend("Agg")
    try:
        assert doctest.testmod(importlib.import_module(f"shotgun.{name}")).failed == 0
    finally:
        if name == "displays":
            importlib.import_module("matplotlib.pyplot").close("all")


API = re.findall(r"^   ([\w.]+)$", (ROOT / "docs" / "api.md").read_text(), flags=re.M)


@pytest.mark.parametrize("name", API)
def test_what_the_api_lists_has_an_example(name):
    thing = attrgetter(name)(shotgun)
    assert thing.__module__.split(".")[1] in MODULES  # where the test above runs it
    assert ">>> " in thing.__doc__


@pytest.mark.parametrize("name", API)
def test_what_stands_flush_left_among_parameters_is_their_names(name):
    said = inspect.getdoc(attrgetter(name)(shotgun))
    entry = re.compile(r"\**\w+(, \**\w+)*,?( : .+)?")
    sections = r"^(?:Parameters|Attributes)\n-+\n(.*?)(?=\n\n\w+\n---|\Z)"
    for section in re.findall(sections, said, flags=re.M | re.S):
        for line in section.splitlines():
            assert not line or line.startswith(" ") or entry.fullmatch(line), line


def test_the_api_lists_every_public_name():
    public = {
        name for name in shotgun.__all__ if not isinstance(getattr(shotgun, name), ModuleType)
    }
    assert public == {name for name in API if "." not in name}
