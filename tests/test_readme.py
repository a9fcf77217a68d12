"""What the README, the example and the docstrings say is true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import runpy
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


def test_the_example_prints_a_certificate_that_holds(capsys):
    left = runpy.run_path(str(ROOT / "examples" / "certificate.py"))
    printed = capsys.readouterr().out
    assert "converged" in printed
    assert "certificate      F(x) - F* <= " in printed
    assert left["s"].gap <= left["s"].tolerance


MODULES = [m.name for m in pkgutil.iter_modules(shotgun.__path__) if m.name != "_core"]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_hold(name):
    if name == "dask":
        pytest.importorskip("distributed")
    result = doctest.testmod(importlib.import_module(f"shotgun.{name}"))
    assert result.failed == 0
    assert result.attempted > 0 or name not in ("solve", "parallelism")
