"""Headless Chromium for tests: a browser, and pages that were opened in it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run"),
]

needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium on the PATH: apt-get install chromium"
)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """The browser, one a test module."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (group dev)")
    with playwright.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


class Visit:
    """A page that was opened, with everything it complained of and asked for."""

    def __init__(self, browser: Any, **options: Any) -> None:
        self.context = browser.new_context(**({"viewport": {"width": 1400, "height": 900}} | options))
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda m: m.type in ("error", "warning") and self.complaints.append(m.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def open(self, url: str) -> Visit:
        self.page.goto(url)
        return self

    def draw(self) -> int:
        """Scroll through the page until every figure is drawn; how many there are."""
        boxes = self.page.locator(".ls-figure")
        count: int = boxes.count()
        for number in range(count):
            boxes.nth(number).scroll_into_view_if_needed()
            self.page.locator(".ls-figure").nth(number).locator("svg.main-svg").first.wait_for()
        self.page.wait_for_function("document.querySelectorAll('.ls-drawn').length == " + str(count))
        return count


@pytest.fixture
def visit(chromium: Any) -> Iterator[Any]:
    """``visit(url, **context options)`` opens a page and gives its `Visit`."""
    visits: list[Visit] = []

    def make(url: str, **options: Any) -> Visit:
        visits.append(Visit(chromium, **options))
        return visits[-1].open(url)

    yield make
    for one in visits:
        one.context.close()
