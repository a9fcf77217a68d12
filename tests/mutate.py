"""Mutants of the certificate, the update and the penalty: the C++ tests must notice nearly all.

    python tests/mutate.py [--count 100] [--seed 1] [--jobs 2]

A mutant differs in one operator, comparison, sign, number or statement. It is compiled (-O0) with
the few tests that are about the code, and killed by the first one that fails, or never ends. Those
that no test can kill, for they compute the same, are listed in mutants.toml with the reason. Fails
if fewer than nine of ten others are killed.
"""

from __future__ import annotations

import argparse
import itertools
import random
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from trust import note

ROOT = Path(__file__).parent.parent
TARGETS = {  # and the tests that are to kill their mutants, in that order
    "problem/penalty.hpp": ("penalty", "update", "screening", "dual"),
    "engine/update.hpp": ("update", "dual"),
    "certify/dual.hpp": ("dual",),
    "certify/screening.hpp": ("screening",),
}
SWAPS = {
    " < ": (" <= ", " > "),
    " <= ": (" < ", " > "),
    " > ": (" >= ", " < "),
    " >= ": (" > ", " < "),
    " == ": (" != ",),
    " != ": (" == ",),
    " && ": (" || ",),
    " || ": (" && ",),
    " & ": (" | ",),
    " + ": (" - ",),
    " - ": (" + ",),
    " * ": (" / ",),
    " / ": (" * ",),
    " += ": (" -= ", " = "),
    " *= ": (" /= ",),
    "std::min(": ("std::max(",),
    "std::max(": ("std::min(",),
    "std::abs(": ("(",),
    "true": ("false",),
    "false": ("true",),
    "!": ("",),
    "-": ("",),  # the sign
}
TOKEN = re.compile(
    r" (?:[<>=!]=|[<>&+*/-]|&&|\|\||[+*]=) |std::(?:min|max|abs)\(|\b(?:true|false)\b"
    r"|!(?=[\w(])|(?<![\w)\]] )(?<![\w)\]])-(?=[\w(])"
)
NUMBER = re.compile(r"(?<!p-)(?<![\w.])(?:\d+\.\d*|\d+)(?![\w.])")
STATEMENT = re.compile(
    r"^\s+(?!return|const|double|constexpr|using|struct|std::|bool)[\w.\[\]]+[ (].*;$"
)
LIMIT = 120  # seconds for a test; a good one takes less than one


@dataclass(frozen=True)
class Mutant:
    file: str
    line: int
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line + 1}\n  - {self.before.strip()}\n  + {self.after.strip()}"

    @property
    def key(self) -> tuple[str, str, str]:
        return self.file, self.before.strip(), self.after.strip()


def mutants(file: str) -> Iterator[Mutant]:
    """All of a file."""
    for number, line in enumerate((ROOT / "core" / file).read_text().splitlines()):
        code = line.split("//")[0].rstrip()
        if not code.strip() or code.startswith(("#", "template", "namespace", "}")):
            continue
        for match in TOKEN.finditer(code):
            for other in SWAPS[match[0]]:
                yield changed(file, number, code, match, other)
        for match in NUMBER.finditer(code):
            if float(match[0]):
                yield changed(file, number, code, match, "0")
            yield changed(file, number, code, match, f"({match[0]} + 1)")
        if STATEMENT.match(code):
            yield Mutant(file, number, code, ";")


def changed(file: str, number: int, code: str, match: re.Match[str], other: str) -> Mutant:
    return Mutant(file, number, code, code[: match.start()] + other + code[match.end() :])


class Workshop:
    """Where mutants are compiled: what never changes is compiled once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "always.hpp").write_text(
            "#include <doctest/doctest.h>\n#include <algorithm>\n#include <bit>\n#include <cmath>\n"
            "#include <functional>\n#include <memory>\n#include <random>\n#include <span>\n"
            "#include <string>\n#include <variant>\n#include <vector>\n"
        )
        self.compile(folder / "always.hpp", "-x", "c++-header", "-o", folder / "always.hpp.gch")
        self.objects = [folder / "main.o", folder / "threads.o"]
        self.compile(ROOT / "tests/core/main.cpp", "-c", "-o", self.objects[0])
        self.compile(ROOT / "core/parallel/threads.cpp", "-c", "-o", self.objects[1])

    def compile(self, *arguments: str | Path, core: Path = ROOT / "core") -> bool:
        flags = (
            "-std=c++20",
            "-O0",
            "-D_GLIBCXX_ASSERTIONS",
            "-pthread",
            f"-I{core}",
            f"-I{ROOT}/tests/core",
        )
        command = ["c++", *flags, *map(str, arguments)]
        return subprocess.run(command, capture_output=True).returncode == 0

    def survives(self, mutant: Mutant | None, test: str) -> bool | None:
        """Whether a test passes with the mutant; None where that does not compile."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            core = Path(folder) / "core"
            shutil.copytree(ROOT / "core", core)
            if mutant is not None:
                lines = (core / mutant.file).read_text().splitlines()
                lines[mutant.line] = mutant.after
                (core / mutant.file).write_text("\n".join(lines) + "\n")
            binary = Path(folder) / "test"
            include = ("-include", self.folder / "always.hpp")
            source = ROOT / f"tests/core/test_{test}.cpp"
            if not self.compile(*include, source, *self.objects, "-o", binary, core=core):
                return None
            try:
                return subprocess.run([binary], capture_output=True, timeout=LIMIT).returncode == 0
            except subprocess.TimeoutExpired:
                return False

    def fate(self, mutant: Mutant) -> str:
        for test in TARGETS[mutant.file]:
            match self.survives(mutant, test):
                case None:
                    return "invalid"
                case False:
                    return "killed"
        return "survived"


def equivalents() -> dict[tuple[str, str, str], str]:
    """Mutants that compute the same, and why."""
    listed = tomllib.loads((Path(__file__).parent / "mutants.toml").read_text())["mutant"]
    return {(m["file"], m["before"], m["after"]): m["why"] for m in listed}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    everything = [mutant for file in TARGETS for mutant in mutants(file)]
    random.Random(given.seed).shuffle(everything)
    same = equivalents()
    counts = {"killed": 0, "equivalent": 0, "survived": 0}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(given.jobs) as pool:
        workshop = Workshop(Path(folder))
        tests = {test for tests in TARGETS.values() for test in tests}
        assert all(workshop.survives(None, test) for test in tests), "the tests fail by themselves"
        waiting = iter(everything)
        while sum(counts.values()) < given.count:
            batch = list(itertools.islice(waiting, given.count - sum(counts.values())))
            if not batch:
                break
            for mutant, fate in zip(batch, pool.map(workshop.fate, batch), strict=True):
                if fate == "survived" and mutant.key in same:
                    fate = "equivalent"
                if fate in counts:
                    counts[fate] += 1
                if fate == "survived":
                    print(f"{fate}: {mutant}", flush=True)
    rate = counts["killed"] / max(1, counts["killed"] + counts["survived"])
    print(f"{counts}: {rate:.1%} of those that are not equivalent are killed")
    print(f"{counts['survived']} survivors are neither killed nor explained")
    note({"mutants": {"made": sum(counts.values()), **counts}})
    return 0 if rate >= 0.9 else 1


if __name__ == "__main__":
    sys.exit(main())
