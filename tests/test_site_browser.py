"""The built site in headless Chromium, as a reader meets it."""

from __future__ import annotations

import hashlib
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest
from browsing import needs_chromium
from sites import EVIL, Builder, pin, served

from benchmarks.synthetic import flawed, write_run
from runner import store
from runner.model import Note, Run, Sample

PAGES = ["", "rest/", "methodology/", "raw/", "runs/", "runs/ref-rest/", "runs/rest-evil/"]

pytestmark = needs_chromium


def evil(run: Run, samples: list[Sample]) -> tuple[Run, list[Sample]]:
    run, samples = flawed(run, samples)
    note = Note(code="<b>code</b>", message=EVIL)
    samples = [s.model_copy(update={"reasons": [note]}) if s.reasons else s for s in samples]
    labels = {kind: {name: f"{EVIL} {name}" for name in names} for kind, names in run.labels.items()}
    return run.model_copy(update={"title": EVIL, "labels": labels, "warnings": [note]}), samples


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Builder:
    """The project's pages over one flawed run, and a local one whose every text is hostile."""
    with pytest.MonkeyPatch.context() as patch:
        builder = Builder(tmp_path_factory.mktemp("site"), patch)
        write_run(builder.artifacts, "ref-rest", mutate=flawed)
        write_run(builder.artifacts, "rest-evil", servers=4, mutate=evil)
        pin(builder.artifacts, rest="ref-rest")
        builder.build(local=True)
        return builder


@pytest.fixture(scope="module")
def address(site: Builder) -> Iterator[str]:
    with served(site.site) as url:
        yield url


# --- every page -------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES)
def test_page_has_no_complaint_and_asks_nobody_else(visit: Any, address: str, page: str) -> None:
    """And it loads Plotly and figures once, where it has figures, and not at all where it has none."""
    found = visit(address + page)
    figures = found.draw()
    assert sum("plotly" in url for url in found.requests) == bool(figures)
    assert sum("/figures-" in url for url in found.requests) == bool(figures)
    assert found.complaints == []
    assert {url for url in found.requests if not url.startswith((address, "data:", "blob:"))} == set()
    assert found.page.evaluate("window.pwned") is None


@pytest.mark.parametrize("page", PAGES)
def test_page_is_as_wide_as_a_phone(visit: Any, address: str, page: str) -> None:
    found = visit(address + page, viewport={"width": 390, "height": 800}, color_scheme="dark")
    if page == "rest/":
        found.draw()
    found.page.evaluate("document.querySelectorAll('details').forEach(box => box.open = true)")
    width = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert found.page.evaluate(width) == 0
    # What is wider than the screen stands in a box that scrolls.
    cut = found.page.evaluate(
        """() => [...document.querySelectorAll('.md-content table, .md-content .ls-figure')]
            .map(node => [node, node.closest('.ls-scroll, .ls-figure-scroll')])
            .filter(([node, box]) => node.offsetWidth > box.clientWidth)
            .filter(([node, box]) => getComputedStyle(box).overflowX != 'auto').length"""
    )
    assert cut == 0


# --- colours ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_data_colours_have_contrast(visit: Any, address: str, scheme: str) -> None:
    """WCAG: 4.5:1 for text, 3:1 for what carries data."""
    found = visit(address, color_scheme=scheme)
    names = ["paper", "wash", "ink", "muted", "accent", "bad", *(f"hue-{number}" for number in range(8))]
    style = found.page.evaluate(
        "names => names.map(n => getComputedStyle(document.body).getPropertyValue('--ls-' + n).trim())", names
    )
    colours = dict(zip(names, style, strict=True))

    def luminance(colour: str) -> float:
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    def contrast(one: str, other: str) -> float:
        low, high = sorted([luminance(colours[one]), luminance(colours[other])])
        return (high + 0.05) / (low + 0.05)

    for ground in ("paper", "wash"):
        for text in ("ink", "muted", "accent", "bad"):
            assert contrast(text, ground) >= 4.5, (text, ground)
        for hue in range(8):
            assert contrast(f"hue-{hue}", ground) >= 3, (hue, ground)


# --- reading ----------------------------------------------------------------------------------------


def test_without_javascript_every_number_and_every_chart_is_there(visit: Any, address: str) -> None:
    found = visit(address + "rest/", java_script_enabled=False)
    pictures, tables = found.page.locator(".ls-static"), found.page.locator("table.ls-table")
    assert pictures.count() == found.page.locator(".ls-figure").count() == 7
    assert tables.count() == 2 + 7
    for what in (pictures, tables):
        for number in range(what.count()):
            assert what.nth(number).is_visible()


def test_figures_are_drawn_from_a_file(visit: Any, site: Builder) -> None:
    found = visit((site.site / "rest" / "index.html").as_uri())
    assert found.draw() == 7


def test_downloads_are_the_files_that_were_captured(visit: Any, address: str, site: Builder) -> None:
    found = visit(address + "raw/")
    found.page.locator("details").first.locator("summary").click()
    rows = found.page.locator("table.ls-files tbody tr")
    listed = rows.evaluate_all("rows => rows.map(r => [r.querySelector('a').href, r.cells[2].textContent])")
    assert len(listed) == 2 + len(list((site.artifacts / "ref-rest" / store.RAW).rglob("*.json")))
    for url, sha256 in listed:
        with urllib.request.urlopen(url, timeout=10) as answer:
            assert hashlib.sha256(answer.read()).hexdigest() == sha256
    with found.page.expect_download() as download:
        rows.nth(2).locator("a").click()
    data = Path(download.value.path()).read_bytes()
    assert hashlib.sha256(data).hexdigest() == listed[2][1]


def test_links_between_pages_lead_there(visit: Any, address: str) -> None:
    found = visit(address)
    found.page.get_by_role("link", name="All figures of this run").click()
    assert found.page.url == urljoin(address, "rest/")
    found.page.get_by_role("link", name="the limits").click()
    assert found.page.url == urljoin(address, "methodology/#limits")
    assert found.page.locator("#limits").count() == 1


def test_search_finds_a_server(visit: Any, address: str) -> None:
    found = visit(address)
    found.page.locator(".md-search__input").click()
    found.page.keyboard.type("hypercorn")
    found.page.locator(".md-search-result__item").first.wait_for()
    results = found.page.locator(".md-search-result__list").text_content()
    assert "FastAPI doing real work" in results
    assert "ref-rest" not in results
