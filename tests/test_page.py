"""--report: one page that tells all, asks nobody, and does nothing that a name says."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser

import numpy as np
import pytest

import shotgun
from shotgun import bars, io, page
from tool import run

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 8))
Y = X[:, 0] - 2 * X[:, 1] + X[:, 2] + 0.3 * rng.normal(size=60)
HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "</script><script>document.title='x'</script>",
    "cost in $\\frac$ & \"more'",
    "]]><!-- 名前",
]
NAMES = [*HOSTILE, *(f"f{j}" for j in range(4, 8))]
FEW = ("--n-lams", 6)


class Reader(HTMLParser):
    """What a browser would find in a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self.scripts, self._open = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._open.append(tag)
        if tag == "script":
            self.scripts.append([dict(attrs).get("type"), ""])

    def handle_endtag(self, tag):
        while tag in self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data):
        if self._open and self._open[-1] == "script":
            self.scripts[-1][1] += data
        elif data.strip() and "style" not in self._open:
            self.texts.append(data.strip())

    def all(self, tag):
        return [attrs for name, attrs in self.tags if name == tag]

    def tables(self):
        return [json.loads(text) for kind, text in self.scripts if kind == "application/json"]


@pytest.fixture(autouse=True)
def pyplot():
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    io.write(folder / "train.parquet", io.Data(X, Y, NAMES))
    io.write(folder / "kinds.parquet", io.Data(X, np.digitize(Y, [-1, 1]), NAMES))
    return folder


@pytest.fixture
def report(files, tmp_path):
    """Run a verb and read its report."""

    def made(verb, *options, data="train.parquet", code=0):
        file = tmp_path / "report.html"
        run(verb, files / data, "-y", "y", "--report", file, *options, code=code)
        return Reader(file.read_text(encoding="utf-8"))

    return made


@pytest.fixture(scope="module", params=["fit", "path", "cv"])
def text(request, files):
    """The report of each verb."""
    few = () if request.param == "fit" else FEW
    return run(request.param, files / "train.parquet", "-y", "y", "--report", "-", *few).stdout


# A page of its own


def test_a_page_needs_nothing_from_outside(text):
    found = Reader(text)
    assert text.startswith('<!doctype html>\n<html lang="en">')
    assert not re.search(r"https?:|@import|url\((?!#)", text)
    assert (
        not {"link", "iframe", "img", "image", "object", "embed", "base", "a"}
        & dict(found.tags).keys()
    )
    for _, attrs in found.tags:
        assert "src" not in attrs
        assert attrs.get("href", "#").startswith("#")
        assert not any(name.startswith("on") for name in attrs)


def test_the_policy_lets_our_script_run_and_nothing_else(text):
    found = Reader(text)
    [policy] = [m["content"] for m in found.all("meta") if "http-equiv" in m]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    [script] = [text for kind, text in found.scripts if kind is None]
    digest = b64encode(sha256(script.encode()).digest()).decode()
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == f"'sha256-{digest}'"
    assert rules["base-uri"] == rules["form-action"] == "'none'"
    assert not {"connect-src", "img-src", "font-src"} & rules.keys()


def test_names_are_text(text):
    found = Reader(text)
    names = found.tables()[0]["columns"][1]
    assert set(HOSTILE[:3]) <= set(names)
    tags = {name for name, _ in found.tags}
    assert tags <= {
        *("html", "head", "meta", "title", "style", "body", "header", "main", "footer", "h1", "h2"),
        *("section", "div", "p", "dl", "dt", "dd", "pre", "code", "figure", "noscript", "script"),
        *("table", "thead", "tbody", "tr", "th", "td", "button", "label", "input", "output"),
        *("svg", "defs", "g", "path", "use", "text", "tspan", "clippath", "rect"),
    }


def test_an_element_escapes_all_but_html():
    made = page.element("p", "<b>", page.Html("<i>x</i>"), class_='"', aria_label="a & b")
    assert made == '<p class="&quot;" aria-label="a &amp; b">&lt;b&gt;<i>x</i></p>'


def test_the_shell_takes_any_parts():
    found = Reader(page.page("T <1>", "L", [page.section("S", "x"), page.tiles({"a": "1"})]))
    assert found.texts[:5] == ["T <1>", "T <1>", "L", "S", "x"]
    assert not any(attrs.get("class", "").startswith("status") for attrs in found.all("p"))
    assert shotgun.__version__ in found.texts[-1]


def test_a_table_survives_what_is_no_number():
    [shown] = Reader(page.table({"k": [1, 2], "v": [np.inf, np.float64(2)]}, label="T")).tables()
    assert shown["columns"] == [[1, 2], [None, 2.0]]


def test_identifiers_within_pictures_are_theirs(text):
    found = Reader(text)
    drawn = [attrs["id"] for name, attrs in found.tags if "id" in attrs]
    wanted = {attrs["href"][1:] for attrs in found.all("use")}
    wanted |= set(re.findall(r"url\(#(\w+)\)", str(found.tags)))
    assert len(drawn) == len(set(drawn))
    assert wanted <= set(drawn)


# What it tells


def test_a_fit_is_told(files, report, tmp_path, monkeypatch):
    command = ["shotgun", "fit", "my file.parquet", "--lam", "5"]
    monkeypatch.setattr(sys, "argv", command)
    found = report("fit", "--lam", 5, "-o", tmp_path / "m.shotgun")
    model = shotgun.load(tmp_path / "m.shotgun")
    [shown] = found.tables()
    rank, names, weights = shown["columns"]
    assert rank == list(range(1, 1 + np.count_nonzero(model.coef_)))
    by_name = dict(zip(NAMES, model.coef_.tolist(), strict=True))
    assert dict(zip(names, weights, strict=True)) == {k: v for k, v in by_name.items() if v}
    assert np.all(np.diff(np.abs(weights)) <= 0)
    for text in (
        "Lasso of y",
        "converged",
        f"{model.objective_:.6g}",
        f"{model.dual_gap_:.6g}",
        f"{model.tolerance_:.6g}",
        f"{shotgun.spectral_radius(X, centre=True):.5g}",
        str(shotgun.ideal_p(X, centre=True)),
        model.data_["hash"],
        "60 samples × 8 features",
        shlex.join(command),
        "Convergence",
    ):
        assert text in found.texts
    assert len(found.all("svg")) == 1


def test_a_path_is_told(report):
    found = report("path", "--n-lams", 12)
    p = shotgun.path(X, Y, n_lams=12, fit_intercept=True)
    weights, fits = found.tables()
    assert "Path of y" in found.texts
    assert "12 of 12 fits" in found.texts
    np.testing.assert_allclose(fits["columns"][1], p.lams)
    for name, lam, last in zip(*weights["columns"][1:], strict=True):
        j = NAMES.index(name)
        row = p.X[[j]].toarray().ravel()
        assert lam == pytest.approx(p.lams[np.flatnonzero(row)[0]])
        assert last == pytest.approx(row[-1], abs=1e-3)
    assert len(found.all("svg")) == 2
    drawn = {f"{HOSTILE[0][:23]}…", f"{HOSTILE[1][:23]}…", HOSTILE[2]}  # long names are cut
    assert drawn <= set(found.texts)


def test_a_cross_validation_is_told(report):
    found = report("cv", *FEW, "--folds", 3)
    start = found.texts.index("taken")
    assert found.texts[start - 3 : start] == ["alpha", "score", "std error"]
    assert {"min", "1se", "*"} <= set(found.texts[start:])
    assert "chosen by cross-validation with 3 folds" in " ".join(found.texts)
    assert len(found.all("svg")) == 3


@pytest.mark.parametrize("verb", [("fit",), ("cv", *FEW)], ids=lambda verb: verb[0])
def test_every_class_has_its_weights(verb, report):
    found = report(*verb, "-l", "logistic", data="kinds.parquet")
    [shown] = found.tables()
    assert len(shown["columns"]) == 2 + 3
    assert shown["bars"] == [2, 3, 4]
    assert sum(text.startswith("weight of ") for text in found.texts) == 3


def test_every_class_has_its_certificate(report):
    found = report("fit", "-l", "squared_hinge", data="kinds.parquet")
    assert found.texts.count("converged") == 1 + 3


def test_a_model_without_weights_says_so(report):
    found = report("fit", "--lam-ratio", 2)
    assert found.tables() == []
    assert "Every weight is zero." in found.texts


def test_what_did_not_converge_is_marked(report):
    found = report("fit", "--tol", 1e-300, code=3)
    [status] = [a["class"] for a in found.all("p") if a.get("class", "").startswith("status")]
    assert status == "status bad"
    assert "precision" in found.texts


def test_a_deadline_leaves_a_page_without_a_picture(report):
    found = report("fit", "--deadline", 0, code=3)
    assert found.all("svg") == []
    assert "deadline" in found.texts


def test_a_path_without_a_weight_is_told(report):
    found = report("path", "--n-lams", 1)
    assert "Every weight is zero." in found.texts
    assert len(found.all("svg")) == 2


def test_without_a_penalty_the_gap_is_called_an_estimate(report):
    assert "an estimate from the gradient" in " ".join(report("fit", "--lam", 0).texts)


def test_an_interrupted_path_is_incomplete(report, monkeypatch):
    rows = iter(range(5))
    interrupt = lambda *_: next(rows, None) == 4 and os.kill(os.getpid(), signal.SIGINT)  # noqa: E731
    monkeypatch.setattr(bars.CountBar, "__call__", interrupt)
    found = report("path", "--n-lams", 12, code=130)
    assert "incomplete" in found.texts


# Files


def test_a_page_goes_to_standard_output_alone(text):
    assert text.startswith("<!doctype html>")
    assert text.endswith("</html>\n")
    assert text.count("<html") == 1


def test_a_failure_leaves_the_page_that_was_there(files, tmp_path, monkeypatch):
    file = tmp_path / "report.html"
    file.write_text("old")
    monkeypatch.setattr("os.replace", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run("fit", files / "train.parquet", "-y", "y", "--report", file)
    assert [f.name for f in tmp_path.iterdir()] == ["report.html"]
    assert file.read_text() == "old"


def test_picture_and_page_can_be_had_together(files, tmp_path):
    both = ("--plot", tmp_path / "p.png", "--report", tmp_path / "r.html")
    run("fit", files / "kinds.parquet", "-y", "y", "-l", "logistic", *both)
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    assert "Convergence" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_a_command_of_any_bytes_can_be_told(files, tmp_path):
    command = [sys.executable, "-m", "shotgun", "fit", files / "train.parquet", "-y", "y"]
    subprocess.run(
        [*command, "--report", tmp_path / b"\xff.html".decode("utf-8", "surrogateescape")],
        check=True,
        capture_output=True,
    )
    [page] = tmp_path.iterdir()
    assert "?.html" in page.read_text(encoding="utf-8")
