"""What the README and the docstrings say is true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import subprocess
from pathlib import Path

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


def test_ci_runs_the_second_command_of_the_readme():
    script = (ROOT / ".ci" / "run").read_text()
    function = re.search(r"^readme_command\(\) \{.*?^\}", script, flags=re.M | re.S)
    assert function
    assert 'test_command="$(readme_command 2)"' in script
    assert '-c "$test_command"' in script
    told = subprocess.run(
        ["bash", "-c", function.group() + "\nreadme_command 2"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout == blocks(START, "sh")[1]


@pytest.mark.parametrize("code", blocks(README, "python"))
def test_python_in_the_readme_runs(code, capsys):
    exec(compile(code, "README.md", "exec"), {})
    assert "converged" in capsys.readouterr().out


def test_links_in_the_readme_lead_somewhere():
    for target in re.findall(r"\]\(([^)#]+)", README):
        if "://" not in target:
            assert (ROOT / target).exists(), target


def test_the_table_in_the_readme_is_what_the_benchmark_printed():
    printed = (ROOT / "docs" / "compare" / "compare.md").read_text()
    warm = printed.split("## Warm\n", 1)[1].split("\n## ", 1)[0]
    heading, _, *rows = (
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in warm.splitlines()
        if line.startswith("|")
    )
    runs = {
        (run["row"], run["target"]): run
        for row in rows
        for run in [dict(zip(heading, row, strict=True))]
    }
    expected = []
    families = re.compile(r"(S|XL|D|T|C|LR|Z|Z32|W)[/@][0-9.]+")  # generated, one lam
    for name in filter(families.fullmatch, dict.fromkeys(name for name, _ in runs)):
        fine, rough = runs[name, "1e-06"], runs[name, "1e-03"]
        peer = fine["best peer"]
        expected.append(
            f"| `{name}` | {fine['shotgun']} | {fine[peer]} ({peer}) | {fine['ratio']} "
            f"| {rough['ratio']} ({rough['best peer']}) |"
        )
    assert [line for line in README.splitlines() if line.startswith("| `")] == expected


MODULES = [m.name for m in pkgutil.iter_modules(shotgun.__path__) if m.name != "_core"]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_hold(name):
    if name == "dask":
        pytest.importorskip("distributed")
    result = doctest.testmod(importlib.import_module(f"shotgun.{name}"))
    assert result.failed == 0
    assert result.attempted > 0 or name not in ("solve", "parallelism")
