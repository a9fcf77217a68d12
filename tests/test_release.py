"""What is released: the same bytes from the same files, and what developers install is pinned."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def locked() -> dict[str, str]:
    lines = (ROOT / "requirements-dev.lock").read_text().splitlines()
    pins = [
        line.split(";")[0].rstrip(" \\") for line in lines if "==" in line and line[0] not in " #"
    ]
    return dict(pin.split("==") for pin in map(str.strip, pins))


def test_what_developers_need_is_in_the_lock_in_a_version_that_fits() -> None:
    extras = PROJECT["optional-dependencies"]
    wanted = [*PROJECT["dependencies"], *extras["dev"], *extras["test"], *extras["cli"]]
    pins = locked()
    for requirement in map(Requirement, wanted):
        if requirement.name != PROJECT["name"]:
            assert requirement.specifier.contains(pins[requirement.name]), requirement


def test_every_pin_has_hashes() -> None:
    text = (ROOT / "requirements-dev.lock").read_text()
    assert text.count("==") <= text.count("--hash=sha256:")
    assert "://" not in text


def test_the_licence_is_an_expression_and_its_text_is_there() -> None:
    assert PROJECT["license"] == "Apache-2.0"
    assert all((ROOT / name).is_file() for name in PROJECT["license-files"])


def test_two_source_archives_are_the_same_bytes(tmp_path: Path) -> None:
    pytest.importorskip("scikit_build_core")
    script = "import sys, scikit_build_core.build as b; print(b.build_sdist(sys.argv[1]))"
    digests = []
    for name in ("a", "b"):
        made = subprocess.run(
            [sys.executable, "-c", script, tmp_path / name],
            cwd=ROOT,
            env=os.environ | {"SOURCE_DATE_EPOCH": "1700000000"},
            capture_output=True,
            text=True,
            check=True,
        )
        archive = tmp_path / name / made.stdout.split()[-1]
        digests.append(hashlib.sha256(archive.read_bytes()).hexdigest())
        with tarfile.open(archive) as tar:
            names = {member.split("/", 1)[-1] for member in tar.getnames()}
        assert {"LICENSE", "pyproject.toml", "core/loop/solve.cpp"} <= names
        assert not any(name.endswith(".so") for name in names)
    assert digests[0] == digests[1]
