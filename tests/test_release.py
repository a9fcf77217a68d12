"""What is released: the same bytes from the same files, and what developers install is pinned."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
TOLD = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = TOLD["project"]


def entries() -> list[str]:
    """Of the lock: a pin each, with its hashes."""
    lines = (ROOT / "requirements-dev.lock").read_text().splitlines()
    text = "\n".join(line for line in lines if not line.lstrip().startswith("#"))
    return [entry for entry in re.split(r"\n(?=\S)", text) if entry.strip()]


def locked() -> dict[str, str]:
    pins = [entry.split("\\")[0].split(";")[0].strip() for entry in entries()]
    return dict(pin.split("==") for pin in pins)


def test_what_developers_need_is_in_the_lock_in_a_version_that_fits() -> None:
    extras = PROJECT["optional-dependencies"]
    wanted = [*PROJECT["dependencies"], *extras["dev"], *extras["test"], *extras["cli"]]
    pins = locked()
    for requirement in map(Requirement, wanted):
        if requirement.name != PROJECT["name"]:
            assert requirement.specifier.contains(pins[requirement.name]), requirement


def test_what_builds_the_package_is_in_the_lock_in_a_version_that_fits() -> None:
    cmake = "cmake" + TOLD["tool"]["scikit-build"]["cmake"]["version"]
    builds = [*TOLD["build-system"]["requires"], cmake]
    pins = locked()
    for requirement in map(Requirement, builds):
        assert requirement.specifier.contains(pins[requirement.name]), requirement


def test_every_pin_has_a_hash() -> None:
    assert len(entries()) > 50
    for entry in entries():
        assert re.search(r"--hash=sha256:[0-9a-f]{64}\b", entry), entry
    assert "://" not in (ROOT / "requirements-dev.lock").read_text()


def test_the_licence_is_an_expression_and_its_text_is_there() -> None:
    assert PROJECT["license"] == "Apache-2.0"
    assert all((ROOT / name).is_file() for name in PROJECT["license-files"])


def test_licences_of_what_is_linked_into_the_package_come_with_it() -> None:
    texts = [(ROOT / name).read_text() for name in PROJECT["license-files"]]
    for author in ("Wenzel Jakob", "Thibaut Goetghebuer-Planchon"):  # nanobind, robin_map
        assert any(author in text for text in texts), author


def copied(folder: Path, modified: float) -> Path:
    """The tree, as if it were cloned at that time."""
    made_here = shutil.ignore_patterns(".git", ".venv*", ".*cache", "build", "__pycache__", "*.so")
    shutil.copytree(ROOT, folder, ignore=made_here)
    for path in folder.rglob("*"):
        os.utime(path, (modified, modified))
    return folder


def test_source_archives_of_two_clones_are_the_same_bytes(tmp_path: Path) -> None:
    pytest.importorskip("scikit_build_core")
    script = "import sys, scikit_build_core.build as b; print(b.build_sdist(sys.argv[1]))"
    digests = []
    for name, modified in (("a", 1.2e9), ("b", 1.5e9)):
        made = subprocess.run(
            [sys.executable, "-c", script, tmp_path / "out" / name],
            cwd=copied(tmp_path / name, modified),
            env=os.environ | {"SOURCE_DATE_EPOCH": "1700000000"},
            capture_output=True,
            text=True,
            check=True,
        )
        archive = tmp_path / "out" / name / made.stdout.split()[-1]
        digests.append(hashlib.sha256(archive.read_bytes()).hexdigest())
        with tarfile.open(archive) as tar:
            names = {member.split("/", 1)[-1] for member in tar.getnames()}
        assert {*PROJECT["license-files"], "pyproject.toml", "core/loop/solve.cpp"} <= names
        assert not any(name.endswith(".so") for name in names)
    assert digests[0] == digests[1]
