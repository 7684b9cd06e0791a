"""Every kind of page under axe and Lighthouse, and what they cannot see: the tables and the keyboard."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from browsing import CHROMIUM, needs_chromium
from node import AXE, LIGHTHOUSE, NODE, needs_axe, needs_lighthouse
from published import published

from benchmarks.serving import Wire

pytestmark = [needs_chromium, pytest.mark.once]

# One of each kind of page, and others with tables of their own.
KINDS = [
    *("", "rest/", "proxy/", "runs/", "runs/ref-rest-one-worker/", "methodology/", "raw/"),
    *("investigations/nagle/", "404.html"),
]
PAGES = [*KINDS, "rest-published/", "latency/", "headers/", "body-rate/", "workers/", "ladder/"]
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
SCREENS = {
    "light-wide": {"color_scheme": "light", "viewport": {"width": 1400, "height": 900}},
    "dark-phone": {"color_scheme": "dark", "viewport": {"width": 390, "height": 800}},
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    with published(tmp_path_factory.mktemp("site")) as wire:
        yield wire


def settle(page: Any) -> None:
    """Open every box, and scroll through the page until each figure and table is interactive."""
    page.evaluate("document.querySelectorAll('details').forEach(box => { box.open = true; })")
    boxes = page.locator(".ls-figure[data-figure], .ls-block[data-table]")
    for number in range(boxes.count()):
        boxes.nth(number).scroll_into_view_if_needed()
        boxes.nth(number).locator(".js-plotly-plot, .main-svg").first.wait_for(state="attached")


def violations(page: Any) -> list[str]:
    """What axe finds on the page as it is now: rule, element, and why."""
    page.add_script_tag(path=str(AXE))
    found = page.evaluate("rules => axe.run(document, {runOnly: rules, resultTypes: ['violations']})", RULES)
    assert len(found["passes"]) > 20  # it did look
    return [
        f"{rule['id']}: {node['html'][:200]}: {node['failureSummary']}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]


# --- axe --------------------------------------------------------------------------------------------


@needs_axe
@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("page", KINDS)
def test_axe_finds_nothing(visit: Any, site: Wire, page: str, screen: str) -> None:
    found = visit(site.url + page, **SCREENS[screen])
    settle(found.page)
    assert violations(found.page) == []


@needs_axe
@pytest.mark.parametrize("screen", SCREENS)
def test_axe_finds_nothing_in_an_open_receipt(visit: Any, site: Wire, screen: str) -> None:
    found = visit(site.url + "rest/", **SCREENS[screen])
    settle(found.page)
    found.page.locator("table button.ls-open").first.click()
    found.page.locator("dialog.ls-receipt[open] table").first.wait_for()
    assert violations(found.page) == []


@needs_axe
def test_axe_sees_what_is_wrong(visit: Any, site: Wire) -> None:
    """The tests above can fail: an image without a text, a pale text, a button without a name."""
    found = visit(site.url + "raw/")
    found.page.evaluate(
        """document.querySelector('article').insertAdjacentHTML('beforeend', `<button></button>
            <img src="../assets/mark.svg"><p style="color:#ccc;background:#fff">pale</p>`)"""
    )
    rules = {line.split(":")[0] for line in violations(found.page)}
    assert rules == {"image-alt", "color-contrast", "button-name"}


# --- Lighthouse -------------------------------------------------------------------------------------


@needs_lighthouse
@pytest.mark.parametrize("page", ["", "rest/"])
def test_lighthouse_gives_full_marks(site: Wire, page: str) -> None:
    flags = ["--headless=new", "--no-sandbox", "--disable-gpu"]
    # Nobody else is asked, whatever a page or the browser wants.
    flags.append('--host-resolver-rules="MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"')
    command = [
        *(str(NODE), str(LIGHTHOUSE), site.url + page, "--quiet", "--output=json", "--output-path=stdout"),
        *("--only-categories=accessibility,best-practices,seo", "--no-enable-error-reporting"),
        f"--chrome-flags={' '.join(flags)}",
    ]
    environment = os.environ | {"CHROME_PATH": str(CHROMIUM)}
    result = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=180
    )
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    wanting = [
        f"{name}: {audit['title']} {audit.get('details', {}).get('items', [])}"
        for name, category in report["categories"].items()
        for audit in (report["audits"][reference["id"]] for reference in category["auditRefs"])
        if audit["score"] is not None and audit["score"] < 1
    ]
    scores = {name: category["score"] for name, category in report["categories"].items()}
    assert scores == {"accessibility": 1, "best-practices": 1, "seo": 1}, wanting
    assert report["audits"]["canonical"]["score"] == 1


def test_each_page_has_a_description_of_its_own(visit: Any, site: Wire) -> None:
    pages = [page for page in PAGES if page != "404.html"]
    texts = [
        visit(site.url + page).page.locator("meta[name=description]").get_attribute("content")
        for page in pages
    ]
    assert len(set(texts)) == len(pages)
    assert all(20 < len(text) <= 160 for text in texts), texts


# --- tables, which axe cannot see in Plotly's drawing -----------------------------------------------

TABLES = """() => [...document.querySelectorAll('.md-content table')].map(table => {
    const name = table.caption?.textContent.trim() ?? '';
    const wrong = [];
    const cells = [...table.querySelectorAll('td')];
    if (!name) wrong.push('no caption');
    for (const head of table.querySelectorAll('th')) {
        if (!['col', 'row', 'colgroup', 'rowgroup'].includes(head.scope)) wrong.push('scope ' + head.scope);
        if (!head.textContent.trim()) wrong.push('empty header');
        const sort = head.getAttribute('aria-sort');
        if (sort && !['ascending', 'descending', 'none'].includes(sort)) wrong.push('aria-sort ' + sort);
    }
    // Each cell has a header in its row or above it, once the spans are laid out.
    const grid = [];
    [...table.rows].forEach((row, y) => {
        let x = 0;
        for (const cell of row.cells) {
            while (grid[y]?.[x]) x += 1;
            for (let dy = 0; dy < cell.rowSpan; dy += 1)
                for (let dx = 0; dx < cell.colSpan; dx += 1) (grid[y + dy] ??= [])[x + dx] = cell;
            x += cell.colSpan;
        }
    });
    const widths = new Set(grid.map(row => row.length));
    if (widths.size !== 1) wrong.push('rows of ' + [...widths] + ' cells');
    grid.forEach((row, y) => row.forEach((cell, x) => {
        if (cell.tagName !== 'TD') return;
        const beside = row.some(other => other.tagName === 'TH' && other.scope.startsWith('row'));
        const above = grid.slice(0, y).some(up => up[x]?.tagName === 'TH' && up[x].scope.startsWith('col'));
        if (!beside && !above) wrong.push('cell without a header: ' + cell.outerHTML);
    }));
    for (const button of table.querySelectorAll('button'))
        if (!(button.getAttribute('aria-label') ?? button.textContent).trim()) wrong.push('nameless button');
    return {name, cells: cells.length, wrong};
})"""


@pytest.mark.parametrize("page", PAGES)
def test_tables_can_be_read_aloud(visit: Any, site: Wire, page: str) -> None:
    found = visit(site.url + page)
    tables = found.page.evaluate(TABLES)
    assert [table for table in tables if table["wrong"]] == []
    # A caption names its table among those of the page.
    names = [table["name"] for table in tables]
    assert sorted(set(names)) == sorted(names)
    assert page in ("", "404.html", "runs/") or sum(table["cells"] for table in tables) > 10


def test_sorting_is_told(visit: Any, site: Wire) -> None:
    """A header's button sorts, and the header says how; one column at a time."""
    found = visit(site.url + "rest/")
    settle(found.page)
    table = found.page.locator(".ls-block[data-table] table").first
    button = table.locator("thead th button").last
    button.focus()
    sorted_now = "table => [...table.querySelectorAll('[aria-sort]')].map(th => th.getAttribute('aria-sort'))"
    before = table.evaluate(sorted_now)
    found.page.keyboard.press("Enter")
    first = table.evaluate(sorted_now)
    found.page.keyboard.press("Enter")
    second = table.evaluate(sorted_now)
    assert before != first != second
    for told in (first, second):
        assert len([way for way in told if way in ("ascending", "descending")]) == 1


# --- keyboard ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", ["rest/", "proxy/", "latency/", "raw/"])
def test_what_scrolls_is_reached_by_keyboard(visit: Any, site: Wire, page: str) -> None:
    """On a phone, where tables and figures are wider than the screen: each such box takes the focus."""
    found = visit(site.url + page, **SCREENS["dark-phone"])
    settle(found.page)
    scrolling, unreached = found.page.evaluate(
        """() => {
            const boxes = [...document.querySelectorAll('.md-content *')].filter(box =>
                box.scrollWidth > box.clientWidth + 1 && box.clientWidth > 0
                && ['auto', 'scroll'].includes(getComputedStyle(box).overflowX));
            const reached = box =>
                box.tabIndex >= 0 || box.querySelector('button, a[href], select, [tabindex="0"]');
            return [boxes.length, boxes.filter(box => !reached(box)).map(box => box.outerHTML.slice(0, 200))];
        }"""
    )
    assert scrolling
    assert unreached == []
