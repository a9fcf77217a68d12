"""The site as a browser shows it: every link leads somewhere, nothing is wider than the window,
nothing is fetched from elsewhere. Needs `sphinx-build docs build/site`."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from .conftest import Browser

pytestmark = pytest.mark.browser

SITE = Path(__file__).parents[2] / "build" / "site"


class Links(HTMLParser):
    """The addresses and the anchors of a page."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.to: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(page.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = {name: value for name, value in attrs if value}
        self.to |= {known[name] for name in ("href", "src") if name in known}
        self.anchors |= {known["id"]} if "id" in known else set()


@pytest.fixture(scope="module")
def pages() -> dict[Path, Links]:
    if not (SITE / "index.html").exists():
        pytest.skip("there is no build/site")
    found = [page.resolve() for page in SITE.rglob("*.html")]
    return {page: Links(page) for page in found if not {"_static", "_downloads"} & {*page.parts}}


def test_every_link_within_the_site_leads_somewhere(pages: dict[Path, Links]) -> None:
    for page, links in pages.items():
        for link in links.to:
            address = urlsplit(link)
            if address.scheme or address.netloc:
                continue
            target = (page.parent / unquote(address.path)).resolve() if address.path else page
            assert target.exists(), f"{page.name}: {link}"
            if address.fragment and target in pages:
                assert unquote(address.fragment) in pages[target].anchors, f"{page.name}: {link}"


@pytest.mark.parametrize(("width", "dark"), [(400, False), (1280, True)])
def test_a_page_fits_its_window_and_fetches_nothing(
    browser: Browser, pages: dict[Path, Links], width: int, dark: bool
) -> None:
    browser.look(width, dark)
    for page in pages:
        browser.open(page)
        assert browser.run("document.documentElement.scrollWidth") <= width, page
        assert all(url.startswith(("file:", "data:", "blob:")) for url in browser.requests()), page
