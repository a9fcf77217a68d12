"""What the docs say is true: their code runs, the files and tests that they name are there."""

from __future__ import annotations

import ast
import doctest
import os
import re
import runpy
import sys
from functools import cache
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from shotgun.cli import main

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(
    page.relative_to(ROOT).as_posix()
    for page in [*DOCS.glob("*.md"), *DOCS.glob("guide/*.md"), *DOCS.glob("decisions/*.md")]
)
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))

NOT_RUN = {  # why the code of a page is not run
    "docs/scale.md": "needs a cluster",
    "docs/tool.md": "needs a model and skl2onnx",
}
PEERS = ("celer", "glmnet", "liblinear")


@cache
def text(name: str) -> str:
    return (ROOT / name).read_text()


def blocks(name: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text(name), flags=re.M | re.S)


def pages_with(language: str) -> list[str]:
    return [page for page in PAGES if blocks(page, language) and page not in NOT_RUN]


@pytest.mark.parametrize("page", pages_with("pycon"))
def test_sessions_in_a_page_print_what_they_say(page: str) -> None:
    known: dict[str, Any] = {}
    for k, session in enumerate(blocks(page, "pycon")):
        test = doctest.DocTestParser().get_doctest(session, known, f"{page} {k}", page, 0)
        result = doctest.DocTestRunner().run(test, clear_globs=False)
        assert result.attempted > 0
        assert result.failed == 0
        known = test.globs


@pytest.mark.parametrize("page", [p for p in pages_with("python") if p != "docs/coming-from.md"])
def test_code_in_a_page_runs(page: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    known: dict[str, Any] = {}
    for code in blocks(page, "python"):
        exec(compile(code, page, "exec"), known)


SETUP, *EQUALITIES = blocks("docs/coming-from.md", "python")


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("code", EQUALITIES, ids=[code.split("\n")[0] for code in EQUALITIES])
def test_other_solvers_find_the_same_model(code: str) -> None:
    if not os.environ.get("SHOTGUN_PEERS"):  # CI installs them
        for peer in re.findall(rf"^from ({'|'.join(PEERS)})\b", code, flags=re.M):
            pytest.importorskip(peer)
    exec(compile(SETUP + code, "coming-from.md", "exec"), {})


@pytest.mark.parametrize("page", ["README.md", "docs/start.md"])
def test_a_page_takes_a_file_from_the_shell_to_a_prediction(
    page: str, tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "".join(
        f"{1 if k % 3 else -1} 1:{k % 7} 2:{(k % 3) + k / 100} 3:{k % 5}\n" for k in range(60)
    )
    (tmp_path / "mine.svm").write_text(rows)
    (tmp_path / "new.svm").write_text(rows)
    [commands] = [b for b in blocks(page, "sh") if "shotgun fit" in b]
    for command in commands.splitlines():
        if command.startswith("source "):
            continue
        monkeypatch.setattr(sys, "argv", command.split())
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code in (0, None), command
    said, predicted = capsys.readouterr().out, tmp_path / "predicted.txt"
    predictions = predicted.read_text() if predicted.exists() else said
    assert len(predictions.splitlines()) >= 60
    for made in ("mine.shotgun", "path.png", "cv.html", "best.shotgun"):
        assert (tmp_path / made).stat().st_size > 0


# The gallery


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_an_example_runs_and_draws_within_20_seconds(example: Path) -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    begin = process_time()
    try:
        runpy.run_path(str(example))
        assert pyplot.get_fignums()
        assert process_time() - begin < 20
    finally:
        pyplot.close("all")


def test_the_gallery_has_an_order_for_every_example() -> None:
    order = re.findall(r'"(plot_\w+\.py)"', text("docs/conf.py"))
    assert sorted(order) == [example.name for example in EXAMPLES]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_an_example_begins_with_a_title_and_says_what_it_teaches(example: Path) -> None:
    said = ast.get_docstring(ast.parse(example.read_text())) or ""
    title, line, _, *rest = said.splitlines()
    assert line == "=" * len(title)
    assert len(" ".join(rest)) > 150


# Files that are named


PLACE = re.compile(
    r"`((?:core|src|tests|benchmarks|docs|examples|\.ci)/[\w./*-]+|CMakeLists\.txt)(?:::([^`]+))?`"
)


def named(page: str) -> list[tuple[str, str]]:
    return PLACE.findall(text(page))


@pytest.mark.parametrize("page", ["HACKING.md", "CONTRIBUTING.md", "README.md", *PAGES])
def test_files_and_names_that_a_page_mentions_are_there(page: str) -> None:
    for file, name in named(page):
        found = list(ROOT.glob(file.rstrip("/")))
        assert found, f"{page} mentions {file}"
        if name:
            pattern = rf"\b{re.escape(name)}\b" if name.isidentifier() else re.escape(name)
            joined = re.sub(r'"\s*\n\s*"', "", found[0].read_text())
            assert re.search(pattern, joined), f"{page} mentions {name} in {file}"


STATEMENTS = [  # of the paper, as it numbers them; footnote 3 and those after 4 point elsewhere
    *(f"({k})" for k in range(1, 11)),
    *("Algorithm 1", "Algorithm 2", "Assumption 2.1", "Assumption 3.1"),
    *("Theorem 2.1", "Theorem 3.1", "Theorem 3.2", "Lemma 3.3"),
    *("footnote 1", "footnote 2", "footnote 4"),
    *(f"Fig. {k}" for k in range(1, 6)),
    *("Section 3.2", "Section 3.3", "4.1.1", "4.1.2", "4.1.3", "4.2.1", "4.2.2", "4.2.3", "4.3"),
]


def rows_about_the_paper() -> list[list[str]]:
    rows = [row for row in text("docs/paper.md").splitlines() if row.startswith("| ")]
    return [row.strip("|").split(" | ") for row in rows if not row.startswith("| in the paper")]


def test_every_row_about_the_paper_names_what_implements_it_and_what_checks_it() -> None:
    for where, implemented, checked in rows_about_the_paper():
        assert re.search(r"`(core|src)/", implemented), where
        assert re.search(r"`tests/", checked), where


@pytest.mark.parametrize("statement", STATEMENTS)
def test_every_statement_of_the_paper_has_a_row(statement: str) -> None:
    pattern = rf"(?<![\w.]){re.escape(statement)}(?![\d.])"
    assert any(re.search(pattern, where) for where, *_ in rows_about_the_paper())


def test_the_house_has_every_file_of_the_core_and_of_the_package() -> None:
    house = text("HACKING.md").split("## The house, room by room")[1].split("\n## ")[0]
    files = [*ROOT.glob("core/*/*.hpp"), *ROOT.glob("src/shotgun/*.py")]
    missing = [f.name for f in files if not re.search(rf"(?<![\w.]){f.stem}(?!\w)", house)]
    assert set(missing) <= {"__init__.py", "__main__.py"}


def test_how_it_works_explains_the_names_in_the_loop() -> None:
    page = text("docs/how-it-works.md")
    loop = text("core/loop/working_set.hpp").split("Status descend(", 1)[1].split("\n  }\n", 1)[0]
    plain = {"row_", "watch_", "options_", "features_", "effort_"}
    unusual = {*re.findall(r"\b[a-z]+_\b", loop)} - plain
    assert unusual >= {"settled_", "follow_"}
    for name in {*unusual, "larger_lambda", "approach", "choice"}:
        assert f"`{name}`" in page, name


def test_links_between_pages_lead_somewhere() -> None:
    for page in ["HACKING.md", "CONTRIBUTING.md", *PAGES]:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text(page)):
            if "://" in target or "gallery/" in target:  # Sphinx looks after the gallery
                continue
            assert ((ROOT / page).parent / target).exists(), f"{page} links to {target}"


def test_extending_explains_every_member_that_the_core_asks_of_a_loss() -> None:
    header, said = text("core/problem/loss.hpp"), text("docs/extending.md")
    concepts = dict(re.findall(r"^concept (\w+) = (.*?)^\};", header, flags=re.M | re.S))
    assert set(concepts) == {"Loss", "Vectorised", "Weighed"}
    members = {m for body in concepts.values() for m in re.findall(r"(?:L::|loss\.)(\w+)", body)}
    assert members >= {"name", "targets", "beta", "quadratic", "at", "conjugate", "fenchel_young"}
    for word in {*concepts, *members, "domain_slack", "weighed"}:
        assert re.search(rf"\b{word}\b", header), word
        assert f"`{word}`" in said, word


def test_versions_agree() -> None:
    [version] = re.findall(r'^version = "(.*)"$', text("pyproject.toml"), flags=re.M)
    assert f"\nversion: {version}\n" in text("CITATION.cff")
    assert "arXiv:1105.5379" in text("CITATION.cff")


def test_ci_runs_pre_commit_whose_hooks_fetch_nothing() -> None:
    hooks = text(".pre-commit-config.yaml")
    assert re.findall(r"repo: (\S+)", hooks) == ["local"]
    assert set(re.findall(r"language: (\S+)", hooks)) == {"system"}
    assert "pre-commit run --all-files" in text(".ci/run")
