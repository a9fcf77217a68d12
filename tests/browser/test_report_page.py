"""Reports in a real browser: mouse and keyboard work, and nothing else is asked for."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

from shotgun import io, page
from shotgun.cli import app

pytestmark = pytest.mark.browser

HOSTILE = ["<img src=x onerror=alert(1)>", "</script><script>document.title='x'</script>"]
NAMES = [*HOSTILE, *(f"f{j}" for j in range(2, 30))]


@pytest.fixture(scope="module", params=["fit", "path", "cv"])
def report(request, tmp_path_factory):
    """The report of each verb, of data with hostile names."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 30))
    y = X[:, 0] - 2 * X[:, 1] + X[:, 2:8].sum(axis=1) + 0.3 * rng.normal(size=60)
    folder = tmp_path_factory.mktemp(request.param)
    io.write(folder / "train.parquet", io.Data(X, y, NAMES))
    few = [] if request.param == "fit" else ["--n-lams", "10"]
    args = [request.param, str(folder / "train.parquet"), "-y", "y", *few]
    result = CliRunner().invoke(app, [*args, "--report", str(folder / "report.html")])
    assert result.exit_code == 0, result.stderr
    return folder / "report.html"


@pytest.fixture(scope="module")
def long_table(tmp_path_factory):
    """A table of twenty thousand rows."""
    file = tmp_path_factory.mktemp("long") / "report.html"
    k = np.arange(20_000)
    columns = {"rank": k, "name": [f"n{j}" for j in k], "weight": np.cos(k)}
    parts = [page.section("S", page.table(columns, label="L", by_name="name", bars=["weight"]))]
    file.write_text(page.page("Long", "A long table.", parts))
    return file


def column(browser, j):
    """The texts of a column of the first table."""
    table = "document.querySelector('.sortable')"
    cells = f"{table}.querySelectorAll('tbody td:nth-child({j})')"
    return browser.run(f"[...{cells}].map(e => e.innerText)")


def test_a_page_is_silent_and_asks_for_nothing(browser, report):
    browser.open(report)
    assert browser.complaints() == []
    assert browser.requests() == [report.as_uri()]


def test_hostile_names_only_show(browser, report):
    browser.open(report)
    assert set(HOSTILE) <= set(column(browser, 2))
    assert browser.run("document.title").endswith(" of y")
    assert browser.run("document.querySelectorAll('img').length") == 0
    tables = browser.run("document.querySelectorAll('.sortable').length")
    assert browser.run("document.scripts.length") == 1 + tables
    assert browser.complaints() == []


def test_the_policy_forbids_the_network_and_foreign_scripts(browser, report):
    browser.open(report)
    browser.run("new Image().src = 'https://example.org/x.png'; 0")
    browser.run(
        "document.body.append(Object.assign(document.createElement('script'),"
        "{textContent: 'document.title = 1'})); 0"
    )
    assert browser.run("document.title").endswith(" of y")
    refused = [entry["entry"]["text"] for entry in browser.seen("Log.entryAdded")]
    assert len(refused) == 2
    assert all("Content Security Policy" in text for text in refused)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [400, 1200])
def test_a_page_fits_its_window(browser, report, width, dark):
    browser.look(width, dark)
    browser.open(report)
    assert browser.run("document.documentElement.scrollWidth") == width
    ink, paper = browser.run(
        "['color', 'backgroundColor'].map(k => getComputedStyle(document.body)[k])"
        ".map(c => c.match(/\\d+/g).map(Number).reduce((a, b) => a + b))"
    )
    assert (ink > paper) == dark
    figures = browser.run("[...document.querySelectorAll('svg')].map(e => e.clientWidth)")
    assert all(0.6 * min(width, 600) < drawn < width for drawn in figures)


def test_a_click_on_a_header_sorts(browser, report):
    browser.look(1200)
    browser.open(report)
    names, last = (
        column(browser, 2),
        browser.run("document.querySelector('.sortable tr').children.length"),
    )
    head = f".sortable th:nth-child({last})"
    for order in ("descending", "ascending"):
        browser.click(f"{head} button")
        weights = np.array(column(browser, last), dtype=float)
        assert (np.diff(weights) * (1 if order == "ascending" else -1) >= 0).all()
        assert browser.run(f"document.querySelector('{head}').ariaSort") == order
        assert browser.run("document.querySelectorAll('.sortable th')[0].ariaSort") == "none"
    browser.click(".sortable th:nth-child(1) button")
    assert column(browser, 2) == names


def test_the_keyboard_sorts(browser, report):
    browser.look(1200)
    browser.open(report)
    names = column(browser, 2)
    browser.run("document.querySelector('input').focus()")
    for _ in range(3):  # the box around the table, its first header, its second
        browser.press("Tab", 9)
    assert browser.run("document.activeElement.innerText") == "feature"
    browser.press("Enter", 13, "\r")
    assert column(browser, 2) != names
    assert sorted(column(browser, 2)) == sorted(names)
    assert browser.run("document.activeElement.parentElement.ariaSort") == "ascending"


def test_typing_filters(browser, report):
    browser.look(1200)
    browser.open(report)
    names = column(browser, 2)
    browser.click(".sortable input")
    browser.send("Input.insertText", text="IMG SRC")
    assert column(browser, 2) == HOSTILE[:1]
    said = browser.run("document.querySelector('output').innerText")
    assert said == f"1 of {len(names)} rows"
    browser.run("document.querySelector('input').select()")
    browser.press("Backspace", 8)
    assert column(browser, 2) == names


def test_long_tables_show_a_hundred_rows_until_asked_for_more(browser, long_table):
    browser.open(long_table)
    assert len(column(browser, 1)) == 100
    browser.run(
        "document.querySelector('th:nth-child(2) button').click();"
        "const input = document.querySelector('input'); input.value = '99';"
        "input.dispatchEvent(new Event('input'));"
    )
    assert column(browser, 2)[:3] == ["n99", "n199", "n299"]
    assert len(column(browser, 1)) == 100
    browser.click(".more")
    assert len(column(browser, 1)) == browser.run(
        "parseInt(document.querySelector('output').innerText)"
    )
