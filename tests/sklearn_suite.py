"""scikit-learn's own tests of its Lasso and logistic regression, run against our classes.

    python tests/sklearn_suite.py [FILE ...]     how many pass, and what is not as documented
    python tests/sklearn_suite.py --list         every test with its verdict
    python tests/sklearn_suite.py --write        renew the table in docs/scikit-learn.md

The tests are those of the installed scikit-learn; import lines are added to each file. What does
not count and what fails is listed in sklearn_suite.toml, with the reasons.
"""

from __future__ import annotations

import argparse
import ast
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
import sklearn.linear_model

import shotgun

HERE = Path(__file__).parent
DOCUMENT = HERE.parent / "docs" / "scikit-learn.md"
BEGIN, END = "<!-- the suite's table: begin -->\n", "<!-- the suite's table: end -->\n"

FILES = ("test_coordinate_descent.py", "test_logistic.py")
CLASSES = {
    "ElasticNet",
    "ElasticNetCV",
    "Lasso",
    "LassoCV",
    "LogisticRegression",
    "LogisticRegressionCV",
}
PATHS = {  # functions that scikit-learn's classes have as methods
    "enet_path": "ElasticNet.path",
    "lasso_path": "lambda X, y, **options: Lasso.path(X, y, l1_ratio=1.0, **options)",
}
FOREIGN = "uses none of our estimators"


@dataclass
class Case:
    """One test with its arguments: what became of it, and what that means."""

    file: str
    name: str
    arguments: str
    outcome: str = "passed"
    ours: bool = False  # whether it made one of our estimators
    note: str = ""
    verdict: str = ""  # passed, failed or excluded
    why: str = ""

    @classmethod
    def of(cls, node: str) -> Case:
        file, _, test = node.partition("::")
        name, bracket, rest = test.partition("[")
        return cls(Path(file).name, name, bracket + rest)

    def __str__(self) -> str:
        return f"{self.verdict} {self.file}::{self.name}{self.arguments} {self.why}"


@dataclass
class Entry:
    """An entry of sklearn_suite.toml."""

    file: str
    kind: str
    test: str
    why: str
    cases: list[str] = field(default_factory=lambda: [""])

    def covers(self, case: Case) -> bool:
        same = (case.file, case.name) == (self.file, self.test)
        return same and any(part in case.arguments for part in self.cases)


def read_entries(files: list[str]) -> list[Entry]:
    text = (HERE / "sklearn_suite.toml").read_text(encoding="utf-8")
    return [
        Entry(f"{file}.py", kind, **entry)
        for file, kinds in tomllib.loads(text).items()
        for kind, group in kinds.items()
        for entry in group
        if f"{file}.py" in files
    ]


def substituted(source: str) -> str:
    """The test file with our names in place of scikit-learn's."""
    imports = [n for n in ast.parse(source).body if isinstance(n, ast.Import | ast.ImportFrom)]
    names = {alias.asname or alias.name for node in imports for alias in node.names}
    ours = [f"from shotgun import {name}" for name in sorted(CLASSES & names)]
    ours += [f"{name} = {method}" for name, method in PATHS.items() if name in names]
    lines = source.splitlines()
    end = imports[-1].end_lineno
    return "\n".join([*lines[:end], *ours, *lines[end:], ""])


class Recorder:
    """A pytest plugin that keeps the outcome of every test and watches our classes."""

    def __init__(self, entries: list[Entry]) -> None:
        self.cases: dict[str, Case] = {}
        self.ours = False
        self.l2 = [entry for entry in entries if entry.kind == "l2"]
        for name in CLASSES:
            getattr(shotgun, name).__new__ = self._new
        shotgun.ElasticNet.path = staticmethod(self._watched(shotgun.ElasticNet.path))

    def _new(self, cls: Any, *_: Any, **__: Any) -> Any:
        self.ours = True
        return object.__new__(cls)

    def _watched(self, path: Any) -> Any:
        def enet_path(*arguments: Any, **options: Any) -> Any:
            self.ours = True
            return path(*arguments, **options)

        return enet_path

    def pytest_runtest_setup(self, item: Any) -> None:
        """Tests of the L2 model get scikit-learn's default."""
        self.ours = False
        l2 = any(entry.covers(Case.of(item.nodeid)) for entry in self.l2)
        shotgun.LogisticRegression.__init__.__kwdefaults__["l1_ratio"] = 0.0 if l2 else 1.0
        shotgun.LogisticRegressionCV.__init__.__kwdefaults__["l1_ratios"] = None if l2 else (1.0,)

    def pytest_runtest_logreport(self, report: Any) -> None:
        case = self.cases.setdefault(report.nodeid, Case.of(report.nodeid))
        case.ours |= self.ours
        if report.outcome != "passed":
            case.outcome = report.outcome
            case.note = report.longrepr[2] if report.outcome == "skipped" else ""


def run(files: list[str], entries: list[Entry]) -> list[Case]:
    """The tests of these files, on copies."""
    installed = Path(sklearn.linear_model.__file__).parent / "tests"
    recorder = Recorder(entries)
    with tempfile.TemporaryDirectory() as folder:
        for file in files:
            source = (installed / file).read_text(encoding="utf-8")
            (Path(folder) / file).write_text(substituted(source), encoding="utf-8")
        (Path(folder) / "pytest.ini").write_text("[pytest]\n")
        options = ["-qq", "--tb=no", "-rN", "-p", "no:cacheprovider", "-p", "sklearn.conftest"]
        options += ["--disable-warnings", "--rootdir", folder, "-c", f"{folder}/pytest.ini"]
        pytest.main([*options, folder], plugins=[recorder])
    cases = list(recorder.cases.values())
    for case in cases:
        case.verdict, case.why = judge(case, entries)
    return cases


def judge(case: Case, entries: list[Entry]) -> tuple[str, str]:
    """The verdict, and why a case did not pass."""
    if case.outcome == "skipped":
        return "excluded", f"scikit-learn skips it: {case.note.split(': ')[-1]}"
    if not case.ours:
        return "excluded", FOREIGN
    entry = next((entry for entry in entries if entry.covers(case)), None)
    if entry and entry.kind == "excluded":
        return "excluded", entry.why
    if entry and entry.kind == "l2":
        return "excluded", f"{entry.why}; {case.outcome} with `l1_ratio=0`"
    return case.outcome, entry.why if entry and case.outcome == "failed" else ""


def surprises(cases: list[Case], entries: list[Entry]) -> Iterator[str]:
    """Where the list and the outcome differ."""
    for case in cases:
        known = any(entry.kind == "failed" and entry.covers(case) for entry in entries)
        if case.verdict == "failed" and not known:
            yield f"not listed: {case}"
        if case.verdict == "passed" and known:
            yield f"listed as failing: {case}"
    for entry in entries:
        if not any(map(entry.covers, cases)):
            yield f"covers nothing: {entry}"


def figure(cases: list[Case]) -> str:
    count = Counter(case.verdict for case in cases)
    applicable = count["passed"] + count["failed"]
    return (
        f"{count['passed']} of {applicable} applicable tests pass "
        f"({100 * count['passed'] / applicable:.1f} %), {count['failed']} fail, "
        f"{count['excluded']} are excluded."
    )


def table(cases: list[Case]) -> str:
    """Everything that did not pass, one line for all cases of a test with the same reason."""
    lines = [
        f"scikit-learn {sklearn.__version__}: {figure(cases)}\n",
        "| test | cases | | why |",
        "|---|---|---|---|",
    ]

    def key(case: Case) -> Any:
        return case.verdict != "failed", case.why == FOREIGN, case.file, case.name, case.why

    rest = sorted((case for case in cases if case.verdict != "passed"), key=key)
    for (*_, name, why), group in groupby(rest, key):
        same = list(group)
        lines.append(f"| `{name}` | {len(same)} | {same[0].verdict} | {why} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="*", metavar="FILE", help=", ".join(FILES))
    parser.add_argument("--list", action="store_true", help="every test with its verdict")
    parser.add_argument("--write", action="store_true", help="renew the table in the document")
    arguments = parser.parse_args()
    files = arguments.files or list(FILES)
    entries = read_entries(files)
    cases = run(files, entries)
    if arguments.list:
        print("\n".join(map(str, cases)))
    found = list(surprises(cases, entries))
    head, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)
    old, _, tail = rest.partition(END)
    if arguments.write:
        DOCUMENT.write_text(head + BEGIN + table(cases) + END + tail, encoding="utf-8")
    elif not arguments.files and table(cases) != old:
        found.append(f"{DOCUMENT.name} is not current: run with --write")
    print("\n".join([*found, figure(cases)]))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
