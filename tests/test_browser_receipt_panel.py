"""The panel of a receipt: opening, closing, keys, focus, widths and print."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from browsing import needs_chromium
from node import AXE, needs_axe
from receipt import CASE, Receipt
from sites import Builder, pin, served

from benchmarks.synthetic import flawed, write_run
from runner import store
from runner.metrics import METRICS

pytestmark = needs_chromium

PAGE = """# Page

{{ table("rest") }}

{{ chart("rest", metric="rps", workload="get_item") }}
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Builder:
    with pytest.MonkeyPatch.context() as patch:
        builder = Builder(tmp_path_factory.mktemp("panel"), patch)
        write_run(builder.artifacts, "rest-1", servers=4, mutate=flawed)
        pin(builder.artifacts, rest="rest-1")
        builder.build(pages={"index.md": PAGE, "next.md": "# Next\n"})
        return builder


@pytest.fixture(scope="module")
def address(site: Builder) -> Iterator[str]:
    with served(site.site) as url:
        yield url


def opened(page: Any) -> Any:
    """The open receipt, when its evidence is there."""
    dialog = page.locator("dialog.ls-receipt[open]")
    dialog.locator(".ls-receipt-figure").wait_for()
    return dialog


def cell(page: Any) -> Any:
    """The button of the first value of the HTML table, in sight."""
    page.locator(".ls-block .ls-plotly svg.main-svg").first.wait_for()
    page.evaluate("document.querySelectorAll('details').forEach((box) => (box.open = true))")
    return page.locator("td .ls-open").first


def test_cell_opens_its_receipt_and_gets_the_focus_back(visit: Any, address: str, site: Builder) -> None:
    """By click and by Enter; closed by Escape, by its button and by a click beside it."""
    found = visit(address)
    page, button = found.page, cell(found.page)
    focused = "(button) => document.activeElement === button"
    (case,) = {s.case for s in store.read(site.artifacts / "rest-1").samples if s.case.endswith(CASE)}
    value = button.text_content()

    def by_escape() -> None:
        page.keyboard.press("Escape")

    def by_button() -> None:
        page.get_by_role("button", name="Close").click()

    def by_click_beside() -> None:
        page.mouse.click(60, 400)

    for close in (by_escape, by_button, by_click_beside):
        for start in (button.click, lambda: button.press("Enter")):
            start()
            dialog = opened(page)
            assert dialog.get_attribute("aria-labelledby") == dialog.locator("h2").get_attribute("id")
            assert page.evaluate("document.activeElement.id") == "ls-receipt-title"
            text = dialog.locator(".ls-receipt-figure").text_content()
            assert METRICS["rps"].show(40_000) in text
            assert value.strip().startswith(text.split(" requests")[0])
            close()
            dialog.wait_for(state="detached")
            assert button.evaluate(focused)
    assert case == CASE
    assert found.complaints == []


def test_point_of_a_chart_opens_its_receipt(visit: Any, address: str) -> None:
    found = visit(address)
    page = found.page
    figure = page.locator(".ls-figure[data-figure]").last
    figure.scroll_into_view_if_needed()
    page.locator(".ls-figure.ls-drawn").last.wait_for()
    figure.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    dialog = opened(page)
    assert "get_item" in dialog.locator("h2").text_content()
    page.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    assert figure.evaluate("(box) => document.activeElement === box")
    assert found.complaints == []


def test_tab_stays_in_the_panel(visit: Any, address: str) -> None:
    found = visit(address)
    receipt = Receipt(found, "rest-1")
    count = receipt.dialog.locator("a, button, summary, [tabindex]").count()
    inside = "document.activeElement === document.body || document.activeElement.closest('dialog') !== null"
    seen = set()
    for _ in range(count + 3):
        found.page.keyboard.press("Tab")
        assert found.page.evaluate(inside)
        seen.add(found.page.evaluate("document.activeElement.textContent"))
    assert {"×", "Verify"} <= seen
    for _ in range(3):
        found.page.keyboard.press("Shift+Tab")
        assert found.page.evaluate(inside)


def test_keyboard_alone_verifies(visit: Any, address: str) -> None:
    found = visit(address)
    receipt = Receipt(found, "rest-1")
    while found.page.evaluate("document.activeElement.textContent") != "Verify":
        found.page.keyboard.press("Tab")
    found.page.keyboard.press("Enter")
    assert receipt.verdict().startswith("Verified: ")
    assert found.page.evaluate("document.activeElement.textContent") == "Verify"


def test_keys_of_the_theme_do_not_leave_the_page(visit: Any, address: str) -> None:
    """Material goes to the next page at "n" and to the search at "s"."""
    found = visit(address)
    receipt = Receipt(found, "rest-1")
    before = found.page.url
    for key in ("n", "p", "s", "f", "."):
        found.page.keyboard.press(key)
    found.page.wait_for_timeout(200)
    assert found.page.url == before
    assert receipt.dialog.is_visible()
    assert found.page.evaluate("document.activeElement.closest('dialog') !== null")


def test_panel_moves_nothing_of_the_page(visit: Any, address: str) -> None:
    found = visit(address)
    cell(found.page)
    place = """() => JSON.stringify([...document.querySelectorAll("h1, .ls-block")].map((node) =>
        node.getBoundingClientRect()))"""
    before = found.page.evaluate(place)
    found.page.evaluate(
        """() => {
            window.shifted = [];
            const outside = (source) => source.node && !source.node.parentElement?.closest("dialog");
            const note = (entry) => window.shifted.push(...entry.sources.filter(outside));
            new PerformanceObserver((list) => list.getEntries().forEach(note))
                .observe({ type: "layout-shift" });
        }"""
    )
    Receipt(found, "rest-1").verify()
    assert found.page.evaluate(place) == before
    found.page.keyboard.press("Escape")
    found.page.wait_for_timeout(200)
    assert found.page.evaluate(place) == before
    assert found.page.evaluate("window.shifted.map((source) => source.node.nodeName)") == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_panel_is_as_wide_as_a_phone(visit: Any, address: str, scheme: str) -> None:
    found = visit(address, viewport={"width": 390, "height": 800}, color_scheme=scheme)
    receipt = Receipt(found, "rest-1", "granian-rloop/get_item/w1/c100")
    receipt.verify()
    receipt.dialog.evaluate(
        "(dialog) => dialog.querySelectorAll('details').forEach((box) => (box.open = true))"
    )
    box = receipt.dialog.bounding_box()
    assert (box["x"], box["width"], box["height"]) == (0, 390, 800)
    assert receipt.dialog.evaluate("(dialog) => dialog.scrollWidth - dialog.clientWidth") == 0
    wider = receipt.dialog.evaluate(
        """(dialog) => [...dialog.querySelectorAll("*")]
            .filter((node) => !node.closest(".ls-scroll, summary"))
            .filter((node) => node.getBoundingClientRect().right > 390.5)
            .map((node) => node.outerHTML.slice(0, 80))"""
    )
    assert wider == []
    paper = {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 25, 31)"}[scheme]
    assert receipt.dialog.evaluate("(dialog) => getComputedStyle(dialog).backgroundColor") == paper


def test_open_panel_is_not_printed(visit: Any, address: str) -> None:
    found = visit(address)
    before = found.page.pdf()
    receipt = Receipt(found, "rest-1")
    found.page.emulate_media(media="print")
    assert not receipt.dialog.is_visible()
    assert found.page.locator("h1").is_visible()
    # A sheet over the page would be in it as well.
    assert abs(len(found.page.pdf()) - len(before)) < 0.02 * len(before)
    found.page.emulate_media(media="screen")
    assert receipt.dialog.is_visible()


def test_reduced_motion_is_respected(visit: Any, address: str) -> None:
    moving = "(dialog) => getComputedStyle(dialog).animationName"
    still = Receipt(visit(address, reduced_motion="reduce"), "rest-1")
    assert still.dialog.evaluate(moving) == "none"
    moved = Receipt(visit(address, reduced_motion="no-preference"), "rest-1")
    assert moved.dialog.evaluate(moving) == "ls-receipt-in"


def test_only_one_receipt_is_open(visit: Any, address: str) -> None:
    """Two quick clicks: the last one counts."""
    found = visit(address)
    found.page.evaluate(
        """async ([one, other]) => {
            await lapsheet.part("receipt.js");
            const open = (id) => lapsheet.receipt({ run: "rest-1", case: id, metric: "rps" });
            await Promise.all([open(one), open(other)]);
        }""",
        [CASE, "granian-rloop/get_item/w1/c100"],
    )
    assert opened(found.page).locator("h2").text_content().startswith("Throughputgranian · rloop")
    assert found.page.locator("dialog").count() == 1


def test_command_is_copied(visit: Any, address: str) -> None:
    found = visit(address, permissions=["clipboard-read", "clipboard-write"])
    receipt = Receipt(found, "rest-1")
    receipt.dialog.get_by_text("Commands").click()
    receipt.dialog.get_by_role("button", name="Copy the command of the generator").click()
    receipt.dialog.get_by_role("status").get_by_text("Copied").wait_for()
    text = found.page.evaluate("navigator.clipboard.readText()")
    assert text == "oha --no-tui --output-format json -z 5s"


def test_evidence_is_loaded_when_it_is_asked_for_and_once(visit: Any, address: str) -> None:
    found = visit(address)
    cell(found.page)
    assert not [url for url in found.requests if "receipts-" in url or "verify.js" in url]
    for _ in range(2):
        Receipt(found, "rest-1").dialog.press("Escape")
    assert len([url for url in found.requests if "receipts-" in url]) == 1
    assert {url for url in found.requests if not url.startswith((address, "data:", "blob:"))} == set()


def test_receipt_that_cannot_be_loaded_says_so(visit: Any, address: str) -> None:
    found = visit(address)
    button = cell(found.page)
    found.page.route("**/verify.js", lambda route: route.abort())
    button.click()
    box = found.page.locator("dialog[open]")
    box.wait_for()
    assert "could not be loaded: cannot load" in box.text_content()
    found.page.keyboard.press("Escape")
    box.wait_for(state="detached")
    assert button.evaluate("(button) => document.activeElement === button")
    found.page.unroute("**/verify.js")
    button.click()
    opened(found.page)


def test_evidence_that_cannot_be_loaded_says_so(visit: Any, address: str) -> None:
    found = visit(address)
    button = cell(found.page)
    found.page.route("**/receipts-*.js", lambda route: route.abort())
    button.click()
    box = found.page.locator("dialog[open] .ls-receipt-failed")
    box.wait_for()
    assert "could not be shown: cannot load" in box.text_content()


# --- what the table hands over ------------------------------------------------------------------------


def drawn_cell(page: Any, row: int, number: int) -> Any:
    """The element of a cell of the interactive table, counted without the dots."""
    page.locator(".ls-block.ls-explored").first.wait_for()
    script = """([row, number]) => {
        const columns = [...document.querySelectorAll(".ls-plotly .y-column")];
        const column = columns.find((one) => one.__data__.specIndex === number + 1);
        return column.querySelectorAll("#cells1 .column-cell")[row];
    }"""
    return page.evaluate_handle(script, [row, number]).as_element()


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("a sample", lambda metric: metric["values"][0].__setitem__(2, 44_444.0)),
        ("all samples", lambda metric: metric["values"].__setitem__(0, [v * 2 for v in metric["values"][0]])),
        ("a bound", lambda metric: metric["floor"].clear()),
        ("the scale", lambda metric: metric.update(scale=2)),
        ("a tier", lambda metric: metric["tier"].__setitem__(0, 1)),
    ],
)
def test_table_that_shows_another_figure_than_its_receipt_is_told(
    visit: Any, address: str, site: Builder, name: str, change: Any
) -> None:
    """A page's data was altered, and the receipts' script and all files were not."""
    (script,) = site.site.glob("figures-*.js")
    data = json.loads(script.read_text().removeprefix("lapsheetPage(").removesuffix(");\n"))
    change(data["runs"]["rest-1"]["frame"]["metrics"]["rps"])
    found = visit("about:blank")
    body = f"lapsheetPage({json.dumps(data)});\n"
    found.page.route(
        "**/figures-*.js", lambda route: route.fulfill(body=body, content_type="text/javascript")
    )
    found.page.goto(address)
    drawn_cell(found.page, 0, 1).click()
    dialog = opened(found.page)
    assert "The table shows " in dialog.locator(".ls-receipt-figure").text_content()
    dialog.get_by_role("button", name="Verify").click()
    dialog.locator(".ls-verify-verdict").wait_for()
    assert dialog.locator(".ls-verify-verdict").text_content() == "Not verified: 1 value not as stored."


def test_every_cell_of_a_table_agrees_with_its_receipt(visit: Any, address: str) -> None:
    found = visit(address)
    cell(found.page)
    buttons = found.page.locator("td .ls-open")
    assert buttons.count() > 10
    for at in range(buttons.count()):
        buttons.nth(at).click()
        dialog = opened(found.page)
        assert "The table shows" not in dialog.text_content()
        if dialog.get_by_role("button", name="Verify").count():
            dialog.get_by_role("button", name="Verify").click()
            dialog.locator(".ls-verify-yes").wait_for()
            assert dialog.locator(".ls-verify-table").get_by_text("In the table").count() == 1
        found.page.keyboard.press("Escape")
        dialog.wait_for(state="detached")
    assert found.complaints == []


def test_ratio_names_its_baseline_and_leads_to_it(visit: Any, address: str) -> None:
    found = visit(address + "?t1.base=granian-rloop")
    page = found.page
    drawn_cell(page, 0, 1).click()
    dialog = opened(page)
    assert dialog.locator("h2").text_content().startswith("Throughputgranian · get_item")
    told = dialog.locator(".ls-receipt-base")
    granian, rloop = METRICS["rps"].show(40_000), METRICS["rps"].show(40_000)
    assert granian in dialog.locator(".ls-receipt-figure strong").text_content()
    assert told.text_content().startswith("≥ 1.00× of granian · rloop · get_item")
    assert told.text_content().endswith(f"{rloop} requests/s")
    assert dialog.locator(".ls-receipt-warn").count() == 0
    told.get_by_role("button").click()
    page.get_by_role("heading", name="granian · rloop · get_item").wait_for()
    assert opened(page).locator(".ls-receipt-base").count() == 0
    # The baseline's own cell is no ratio of two figures.
    page.keyboard.press("Escape")
    page.locator("dialog").wait_for(state="detached")
    drawn_cell(page, 1, 1).click()
    assert opened(page).locator(".ls-receipt-base").count() == 0
    assert found.complaints == []


# --- what comes late, or fails at first -----------------------------------------------------------------


def test_first_click_on_a_value_opens_its_receipt(visit: Any, address: str) -> None:
    """The click that wakes the table, before the table's scripts are there."""
    found = visit("about:blank")
    held: list[Any] = []
    found.page.route("**/explorer.js", lambda route: held.append(route))
    found.page.goto(address)
    button = found.page.locator("td .ls-open").nth(1)
    button.click()
    found.page.wait_for_timeout(100)
    assert len(held) == 1
    assert found.page.locator("dialog").count() == 0
    held[0].continue_()
    dialog = opened(found.page)
    assert dialog.locator("h2").text_content().startswith("p99 latencygranian · get_item")
    assert dialog.locator(".ls-receipt-figure strong").text_content() in button.text_content()
    found.page.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    found.page.wait_for_timeout(300)
    assert found.page.locator("dialog").count() == 0
    assert found.complaints == []


@pytest.mark.parametrize("part", ["explorer.js", "rows.js", "figures-*.js", "plotly*.js"])
def test_table_that_could_not_be_loaded_is_tried_again(visit: Any, address: str, part: str) -> None:
    found = visit("about:blank")
    page = found.page
    page.route(f"**/{part}", lambda route: route.abort())
    page.goto(address)
    block = page.locator(".ls-block[data-table].ls-plain").first
    note = block.get_by_text("could not be loaded")
    note.wait_for()
    for _ in range(2):  # and fails again, which is told once
        block.locator(".ls-title").first.click()
        page.wait_for_timeout(200)
        assert note.count() == 1
    page.unroute(f"**/{part}")
    block.locator("td .ls-open").first.focus()
    block = page.locator(".ls-block.ls-explored").first
    block.locator(".ls-plotly svg.main-svg").first.wait_for()
    assert block.locator("td .ls-open").first.is_hidden()
    assert block.locator(".ls-plotly").count() == block.locator(".ls-search:visible").count() == 1
    assert block.get_by_text("could not be loaded").count() == 0
    assert page.locator(".ls-plain").count() == 0
    assert page.locator("dialog").count() == 0
    drawn_cell(page, 0, 1).click()
    opened(page)


def test_chart_that_could_not_be_loaded_is_tried_again(visit: Any, address: str) -> None:
    found = visit("about:blank")
    page = found.page
    page.route("**/plotly*.js", lambda route: route.abort())
    page.goto(address)
    figure = page.locator(".ls-figure[data-figure]").last
    figure.scroll_into_view_if_needed()
    note = page.locator(".ls-chart").get_by_text("could not be loaded")
    note.wait_for()
    page.unroute("**/plotly*.js")
    figure.click()
    page.locator(".ls-figure.ls-drawn").last.wait_for()
    note.wait_for(state="detached")


# --- the address ------------------------------------------------------------------------------------


def test_address_leads_to_the_receipt(visit: Any, address: str) -> None:
    found = visit(address)
    cell(found.page).click()
    title = opened(found.page).locator("h2").text_content()
    link = found.page.url
    other = visit(link)
    assert opened(other.page).locator("h2").text_content() == title
    other.page.keyboard.press("Escape")
    other.page.wait_for_function("!location.search")
    assert other.page.url == address
    assert other.complaints == []


def test_back_closes_and_forward_opens(visit: Any, address: str) -> None:
    found = visit(address)
    page, button = found.page, cell(found.page)
    before = page.evaluate("history.length")
    for _ in range(3):  # closed by hand, a receipt leaves no step behind
        button.click()
        opened(page)
        page.keyboard.press("Escape")
        page.wait_for_function("!location.search")
    assert page.evaluate("history.length") == before + 1
    button.click()
    dialog = opened(page)
    page.evaluate("history.back()")
    dialog.wait_for(state="detached")
    assert page.url == address
    page.evaluate("history.forward()")
    opened(page)
    assert "receipt.run=rest-1" in page.url


def test_another_receipt_at_once(visit: Any, address: str) -> None:
    """Opened before the step back from the one before is done."""
    found = visit(address)
    page, button = found.page, cell(found.page)
    button.click()
    opened(page)
    page.evaluate(
        """(id) => {
            document.querySelector("dialog").close();
            lapsheet.receipt({ run: "rest-1", case: id, metric: "p99" });
        }""",
        "granian-rloop/get_item/w1/c100",
    )
    page.get_by_text("p99 latency", exact=True).last.wait_for()
    assert opened(page).locator("h2").text_content().startswith("p99 latencygranian · rloop")
    assert "receipt.metric=p99" in page.url


def test_choices_of_a_table_stay_in_the_address(visit: Any, address: str) -> None:
    found = visit(address + "?t1.stat=min")
    cell(found.page).click()
    opened(found.page)
    assert "t1.stat=min" in found.page.url
    found.page.keyboard.press("Escape")
    found.page.wait_for_function("!location.search.includes('receipt')")
    assert found.page.url == address + "?t1.stat=min"


def test_receipt_that_the_page_has_not(visit: Any, address: str) -> None:
    found = visit(address + "?receipt.run=nothing&receipt.case=a&receipt.metric=rps")
    box = found.page.locator("dialog[open] .ls-receipt-failed")
    box.wait_for()
    assert "this page has no run nothing" in box.text_content()


def test_address_of_a_file(visit: Any, site: Builder) -> None:
    found = visit((site.site / "index.html").as_uri())
    cell(found.page).click()
    title = opened(found.page).locator("h2").text_content()
    other = visit(found.page.url)
    assert opened(other.page).locator("h2").text_content() == title
    assert found.complaints == other.complaints == []


@needs_axe
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_a_whole_receipt(visit: Any, address: str, scheme: str) -> None:
    """With every part open, and Verify done."""
    found = visit(address, color_scheme=scheme)
    receipt = Receipt(found, "rest-1", "granian-rloop/get_item/w1/c100")
    receipt.verify()
    receipt.dialog.evaluate(
        "(dialog) => dialog.querySelectorAll('details').forEach((box) => (box.open = true))"
    )
    found.page.add_script_tag(path=str(AXE))
    report = found.page.evaluate("axe.run(document.querySelector('dialog'))")
    assert len(report["passes"]) > 15
    assert [f"{rule['id']}: {node['html']}" for rule in report["violations"] for node in rule["nodes"]] == []
