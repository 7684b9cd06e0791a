"""What a page costs its reader: bytes over the wire, and no jumps while it loads.

Bytes are those of a server that compresses with gzip -6, in kB of 1,000, of everything that Chromium asks
for on a cold load without being touched, favicon and workers too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import needs_chromium
from node import needs_bundle
from published import published

from benchmarks.serving import Wire
from hooks.figures import PLOTLY

pytestmark = [needs_chromium, needs_bundle, pytest.mark.once]

BEFORE_PLOTLY = 95_000
WITH_PLOTLY = 560_000
SHIFT = 0.02
RUNS = 300
SCREENS = {"wide": {"width": 1400, "height": 900}, "phone": {"width": 390, "height": 800}}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    with published(tmp_path_factory.mktemp("site")) as wire:
        yield wire


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Wire, Path]]:
    """The same site with hundreds of runs, and its folder."""
    folder = tmp_path_factory.mktemp("large")
    with published(folder, local_runs=RUNS) as wire:
        yield wire, folder / "site"


def load(visit: Any, wire: Wire, page: str, screen: str) -> tuple[Any, dict[str, int]]:
    """A cold load, and path → bytes of all that it asks for until it asks for nothing more."""
    wire.answers.clear()
    found = visit(wire.url + page, viewport=SCREENS[screen])
    found.page.wait_for_load_state("networkidle")
    rest(found.page, wire)
    return found, sizes_of(wire)


def rest(page: Any, wire: Wire) -> None:
    """Wait until what waits for an idle page, and what that then asks for, has been asked for."""
    asked = -1
    while asked != len(wire.answers):
        asked = len(wire.answers)
        page.wait_for_timeout(2500)


def scroll_to_the_end(page: Any) -> None:
    """As a reader does, a part of a screen at a time."""
    page.evaluate(
        """async () => {
            for (let y = 0; y < document.documentElement.scrollHeight; y += 350) {
                scrollTo(0, y);
                await new Promise(done => setTimeout(done, 100));
            }
        }"""
    )


def sizes_of(wire: Wire) -> dict[str, int]:
    assert [answer for answer in wire.answers if answer.status != 200] == []
    sizes: dict[str, int] = {}
    for answer in wire.answers:
        sizes[answer.path] = sizes.get(answer.path, 0) + answer.size
    return sizes


def told(sizes: dict[str, int]) -> str:
    return json.dumps(dict(sorted(sizes.items(), key=lambda item: -item[1])), indent=1)


def check(visit: Any, wire: Wire, screen: str) -> None:
    """The REST page's budget: as it stands untouched, and when everything on it was seen."""
    found, before = load(visit, wire, "rest/", screen)
    before.pop(f"/{PLOTLY}", 0)
    assert len(before) > 5  # page, styles, scripts
    assert sum(before.values()) <= BEFORE_PLOTLY, told(before)
    scroll_to_the_end(found.page)
    found.page.wait_for_function(
        "document.querySelectorAll('.ls-figure[data-figure]:not(.ls-drawn)').length == 0"
    )
    rest(found.page, wire)
    everything = sizes_of(wire)
    assert everything[f"/{PLOTLY}"] > 300_000
    assert sum(everything.values()) <= WITH_PLOTLY, told(everything)
    assert [answer.path for answer in wire.answers].count(f"/{PLOTLY}") == 1


@pytest.mark.parametrize("screen", SCREENS)
def test_rest_page_keeps_its_budget(visit: Any, site: Wire, screen: str) -> None:
    check(visit, site, screen)


def test_rest_page_keeps_its_budget_with_hundreds_of_runs(visit: Any, large: tuple[Wire, Path]) -> None:
    check(visit, large[0], "wide")


def test_runs_stay_out_of_the_search_index(large: tuple[Wire, Path]) -> None:
    _, folder = large
    assert len(list((folder / "runs").glob("synthetic-*/index.html"))) == RUNS
    index = json.loads((folder / "search" / "search_index.json").read_text("utf-8"))
    places = {entry["location"].split("#")[0] for entry in index["docs"]}
    assert {place for place in places if place.startswith("runs/")} <= {"runs/"}
    assert {"", "rest/", "proxy/"} <= places
    # A page may name the newest runs; none tells them all.
    named = sum(f"synthetic-{number:04}" in json.dumps(index) for number in range(RUNS))
    assert named <= 20


@pytest.mark.parametrize("page", ["methodology/", "raw/", "runs/", "404.html"])
def test_pages_without_figures_ask_for_no_library(visit: Any, site: Wire, page: str) -> None:
    found, sizes = load(visit, site, page, "wide")
    assert found.page.locator(".ls-figure, .ls-block[data-table]").count() == 0
    assert [path for path in sizes if "plotly" in path or "/figures-" in path] == []


def test_search_is_loaded_when_somebody_searches(visit: Any, site: Wire) -> None:
    """And then it finds what it should; a query typed while it loads is not lost."""
    found, sizes = load(visit, site, "raw/", "wide")
    assert [path for path in sizes if path.endswith("search_index.json") or "/workers/" in path] == []
    found.page.locator(".md-search__input").click()
    found.page.keyboard.type("hyper")
    found.page.keyboard.type("corn")
    found.page.locator(".md-search-result__item").first.wait_for()
    assert "hypercorn" in found.page.locator(".md-search-result__list").text_content().lower()
    asked = [answer.path for answer in site.answers]
    assert asked.count("/search/search_index.json") == 1
    found.page.keyboard.press("Control+A")
    found.page.keyboard.type("xyzzy")
    found.page.get_by_text("No matching documents").wait_for()
    assert found.complaints == []


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("page", ["", "rest/"])
def test_nothing_jumps(visit: Any, site: Wire, page: str, screen: str) -> None:
    """The layout shifts of a load and of a way down to the end, summed: no less than CLS."""
    found = visit("about:blank", viewport=SCREENS[screen])
    found.page.add_init_script(
        """window.shifts = [];
        new PerformanceObserver(list => {
            for (const entry of list.getEntries())
                if (!entry.hadRecentInput) window.shifts.push([entry.value, entry.startTime]);
        }).observe({type: 'layout-shift', buffered: true});"""
    )
    found.open(site.url + page)
    found.page.wait_for_load_state("networkidle")
    scroll_to_the_end(found.page)
    found.page.wait_for_function(
        "document.querySelectorAll('.ls-figure[data-figure]:not(.ls-drawn)').length == 0"
    )
    shifts = found.page.evaluate("window.shifts")
    assert sum(value for value, _ in shifts) < SHIFT, shifts
