"""How interactive tables are used in headless Chromium: address, keys, receipts, the HTML table, print."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from browsing import needs_chromium
from drawn import Table, table_site, view_of
from sites import Builder, served

from hooks.view import View

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Builder:
    return table_site(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def view(site: Builder) -> View:
    return view_of(site.artifacts, "ref-rest")


@pytest.fixture(scope="module")
def address(site: Builder) -> Iterator[str]:
    with served(site.site) as url:
        yield url


# --- the address ------------------------------------------------------------------------------------


def test_address_reopens_the_view_and_moves_through_it(visit: Any, address: str) -> None:
    table = Table(visit(address))
    first = table.drawn()
    table.press("metric", "p50")
    table.head(1).click()
    table.block.get_by_label("Filter rows by name").type("hyper")
    table.more()
    table.block.get_by_label("Baseline").select_option("hypercorn-asyncio")
    table.press("=workload", "get_item")
    last, url = table.drawn(), table.page.url
    assert table.query() == {
        "t1.metric": ["rps", "p50", "p99"], "t1.sort": ["get_item~rps"], "t1.q": ["hyper"],
        "t1.base": ["hypercorn-asyncio"], "t1.workload": ["get_item"],
    }  # fmt: skip
    shared = Table(visit(url))
    assert shared.drawn() == last
    assert shared.block.get_by_label("Filter rows by name").input_value() == "hyper"
    assert shared.complaints == []
    table.page.go_back()
    assert len(table.heads()) == 7
    table.page.go_back()
    assert "hyper" in table.page.url
    assert "ratio" not in " ".join(table.heads())
    table.page.go_forward()
    table.page.go_forward()
    assert table.drawn() == last
    table.block.get_by_role("button", name="Reset").click()
    assert table.drawn() == first
    assert urlsplit(table.page.url).query == ""


def test_stale_address_is_ignored_and_told(visit: Any, address: str) -> None:
    table = Table(
        visit(address + "?t1.sort=gone~rps&t1.metric=p50&t1.stat=<b>x</b>&t1.nonsense=1&other=kept")
    )
    assert "sort=gone~rps" in table.says()
    assert "stat=<b>x</b>" in table.says()
    assert "nonsense=1" in table.says()
    assert [head for head in table.heads() if "p50" in head]
    table.press("stat", "min")
    assert table.query() == {"t1.metric": ["p50"], "t1.stat": ["min"], "other": ["kept"]}


@pytest.mark.parametrize("name", ["constructor", "__proto__", "toString", "hasOwnProperty"])
def test_address_may_hold_any_name(visit: Any, address: str, name: str) -> None:
    found = visit(f"{address}?t1.{name}=1&receipt.{name}=1")
    table = Table(found)
    assert len(table.names()) == 14
    assert f"{name}=1" in table.says()
    assert found.complaints == []


@pytest.mark.parametrize("query", ["t1.only=1", "t1.rows=gone&t1.only=1"])
def test_only_without_selected_rows_shows_all(visit: Any, address: str, query: str) -> None:
    table = Table(visit(f"{address}?{query}"))
    assert table.says().startswith("14 rows.")
    assert "only=1" in table.says()


def test_long_address_is_told_in_short(visit: Any, address: str) -> None:
    table = Table(visit(address + f"?t1.stat={'x' * 3000}" + "".join(f"&t1.a{n}=1" for n in range(9))))
    assert "stat=xxx" in table.says()
    assert "and 5 more" in table.says()
    assert len(table.says()) < 400


def test_order_is_told_in_words_and_not_in_ids(visit: Any, address: str) -> None:
    table = Table(visit(address + "?t1.sort=get_item~p50"))
    assert "Sorted by get_item, p50 latency, upwards." in table.says()
    table.block.locator(".ls-more").click()
    sort = table.block.get_by_label("Sort by")
    assert sort.locator("option:checked").text_content() == "get_item, p50 latency (not shown)"
    sort.select_option("server")
    assert "Sorted by Server, upwards." in table.says()


def test_tables_of_a_page_have_choices_of_their_own(visit: Any, address: str) -> None:
    found = visit(address + "?t2.q=daphne")
    assert len(Table(found, 0).names()) == 14
    assert len(Table(found, 1).names()) == 1


# --- keys, receipts ---------------------------------------------------------------------------------


def test_keys_alone_move_sort_select_and_open(visit: Any, address: str) -> None:
    table = Table(visit(address))
    table.block.locator('[data-set="=workload"] button').last.focus()
    for _ in range(3):
        table.page.keyboard.press("Tab")
        if table.page.evaluate("document.activeElement.classList.contains('ls-plotly')"):
            break
    assert table.page.evaluate("document.activeElement.classList.contains('ls-plotly')")
    spoken = table.block.locator(".ls-spoken")
    names = table.names()
    assert names[0] in spoken.text_content()
    assert "≥ 40,000" in spoken.text_content()
    table.page.keyboard.press("ArrowDown")
    table.page.keyboard.press("ArrowRight")
    assert spoken.text_content().startswith(f"{names[1]}, get_item, p99 latency, ms:")
    assert table.box.locator(".ls-cursor").count() == 1
    table.page.keyboard.press(" ")
    assert table.query()["t1.rows"]
    table.page.keyboard.press("PageUp")
    assert "column head" in spoken.text_content()
    table.page.keyboard.press("Enter")
    assert table.query()["t1.sort"] == ["get_item~p99"]
    table.page.keyboard.press("ArrowDown")
    table.page.keyboard.press("Enter")
    dialog = table.page.locator("dialog[open]")
    dialog.wait_for()
    assert table.page.evaluate("document.querySelector('dialog').contains(document.activeElement)")
    table.page.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    assert table.page.evaluate("document.activeElement.classList.contains('ls-plotly')")
    assert table.complaints == []


def test_focus_stays_when_the_table_is_drawn(visit: Any, address: str) -> None:
    found = visit("about:blank")
    held: list[Any] = []
    found.page.route("**/plotly*.js", lambda route: held.append(route))
    found.page.goto(address)
    block = found.page.locator(".ls-block[data-table]").first
    block.locator(".ls-open").nth(2).focus()
    block.locator(".ls-panel").wait_for(state="attached")
    found.page.unroute("**/plotly*.js")
    Table(found)
    assert found.page.evaluate("document.activeElement.className").split()[0] == "ls-plotly"


def test_click_on_a_figure_opens_its_receipt(visit: Any, address: str) -> None:
    table = Table(visit(address))
    name, value = table.names()[4], table.column("p99")[4][0].split("  ")[0]
    table.cell(4, 2).click()
    dialog = table.page.locator("dialog[open]")
    dialog.get_by_text(value).first.wait_for()
    assert name in dialog.text_content()


def test_value_of_the_html_table_opens_the_same_receipt_in_any_order(visit: Any, address: str) -> None:
    table = Table(visit(address))
    table.block.locator("summary").last.click()
    text = table.block.locator("table")
    text.get_by_role("button", name="Server").click()
    text.get_by_role("button", name="Server").click()
    row = text.locator("tbody tr").nth(3)
    name, value = row.locator("th").text_content(), row.locator(".ls-open").nth(2).text_content()
    row.locator(".ls-open").nth(2).click()
    dialog = table.page.locator("dialog[open]")
    dialog.get_by_text(value).first.wait_for()
    assert name.strip() in dialog.text_content()
    assert "create_order" in dialog.text_content()


# --- the HTML table ---------------------------------------------------------------------------------


def test_html_table_is_sorted_by_its_heads(visit: Any, address: str) -> None:
    table = Table(visit(address))
    table.block.locator("summary").last.click()
    text = table.block.locator("table")
    heads = text.locator("thead tr").last.locator("th")
    values = "rows => rows.map(r => r.cells[2].querySelector('.ls-value').textContent)"

    def numbers() -> list[float | None]:
        told = text.locator("tbody tr").evaluate_all(values)
        return [float(re.sub("[≤, ]", "", one)) if one != "–" else None for one in told]

    heads.nth(1).get_by_role("button").click()
    up = numbers()
    assert heads.nth(1).get_attribute("aria-sort") == "ascending"
    assert up[-1] is None
    assert up[:-1] == sorted(value for value in up if value is not None)
    heads.nth(1).get_by_role("button").focus()
    table.page.keyboard.press("Enter")
    assert numbers() == [*up[:-1][::-1], None]
    assert heads.nth(1).get_attribute("aria-sort") == "descending"
    assert text.locator("[aria-sort]").count() == 1


def test_ranges_and_samples_are_sorted_by_their_first_number(visit: Any, address: str) -> None:
    found = visit(address + "chart/")
    details = found.page.locator("details.ls-data").filter(has_text="Every sample").first
    details.locator("summary").click()
    details.get_by_role("button", name="Copy the table").wait_for()
    for name in ("Range", "Samples, by round"):
        heads = [text.strip() for text in details.locator("thead th").all_text_contents()]
        at = next(number for number, text in enumerate(heads) if text.startswith(name))
        cells = "(rows, at) => rows.map(row => row.cells[at].textContent.trim())"
        details.locator("thead th").nth(at).get_by_role("button").click()
        told = details.locator("tbody tr").evaluate_all(cells, at)
        numbers = [float(re.match(r"[\d,.]*\d", text)[0].replace(",", "")) for text in told]  # type: ignore[index]
        assert numbers == sorted(numbers)
        assert told != sorted(told), "as text they would stand so as well"


def test_table_of_a_chart_is_sorted_and_copied_too(visit: Any, address: str) -> None:
    found = visit(address + "more/")
    details = found.page.locator("details.ls-data").filter(has_text="Every sample").first
    details.locator("summary").click()
    details.get_by_role("button", name="Copy the table").wait_for()
    head = details.locator("thead th").first
    names = "rows => rows.map(row => row.cells[0].textContent.trim())"
    before = details.locator("tbody tr").evaluate_all(names)
    head.get_by_role("button").click()
    assert details.locator("tbody tr").evaluate_all(names) == sorted(before) != before
    assert found.complaints == []


def test_two_dimensions_down_and_many_rows(visit: Any, address: str, view: View) -> None:
    table = Table(visit(address + "more/"))
    first = table.drawn()
    assert [" ".join(column["heads"][0]) for column in first[1:3]] == ["Server", "Workload"]
    assert len(first[1]["cells"]) == 28
    table.cell(27, 3).click()
    value = first[4]["cells"][27][0]
    table.page.locator("dialog[open]").get_by_text(value).first.wait_for()
    table.page.keyboard.press("Escape")
    # The receipt leaves the address by a step back, which comes a moment later.
    table.page.wait_for_function("!location.search.includes('receipt.')")
    table.settle()
    table.cell(26, 1).click()
    table.settle()
    assert table.query()["t1.rows"] == [f"{view.dimensions['server'][-1]}~get_item"]
    table.press("=workload", "get_item")
    assert len(table.names()) == 14
    assert "in no order" not in table.says()


@pytest.mark.parametrize("allowed", [True, False])
def test_html_table_is_copied_as_it_stands(visit: Any, address: str, allowed: bool) -> None:
    found = visit("about:blank")
    found.context.grant_permissions(["clipboard-read", "clipboard-write"])
    if not allowed:
        found.page.add_init_script("delete Navigator.prototype.clipboard")
        found.page.add_init_script(
            "document.addEventListener('copy', () => window.copied = document.activeElement.value, true)"
        )
    found.page.goto(address)
    table = Table(found)
    table.block.locator("summary").last.click()
    table.block.get_by_role("button", name="Copy the table").click()
    table.block.get_by_text("Copied").wait_for()
    copied = found.page.evaluate("window.copied" if not allowed else "navigator.clipboard.readText()")
    lines = [line.split("\t") for line in copied.strip().split("\n")]
    assert len(lines) == 16
    assert {len(line) for line in lines} == {5}
    assert lines[1][0] == "Server"
    assert "≥ 40,000" in lines[2][1]
    assert table.block.get_by_role("button", name="Copy the table").evaluate(
        "b => b === document.activeElement"
    )


# --- everywhere -------------------------------------------------------------------------------------


def test_hostile_names_are_text(visit: Any, address: str) -> None:
    found = visit(address + "runs/rest-evil/?t1.rows=granian")
    table = Table(found)
    table.more()
    table.block.locator(".ls-panel summary").click()
    table.block.get_by_label("Baseline").select_option("granian")
    table.block.get_by_label("Filter rows by name").fill("<script>")
    names = table.names()
    assert len(names) == 3
    assert all("<img" in name and "שלום" in name and "😀" in name for name in names)
    assert table.box.locator("image, foreignObject, a, script").count() == 0
    assert table.block.locator("img, script").count() == 0
    box = table.box.bounding_box()
    cells = table.box.locator(".column-cell")
    for at in range(cells.count()):
        cell = cells.nth(at).bounding_box()
        assert cell["y"] + cell["height"] <= box["y"] + box["height"] + 1
    assert found.page.evaluate("window.pwned") is None
    assert found.complaints == []
    assert found.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_from_a_file_with_its_state(visit: Any, site: Builder) -> None:
    table = Table(visit((site.site / "index.html").as_uri()))
    names = table.names()
    table.head(0).click()
    assert table.names() == sorted(names)
    shared = Table(visit(table.page.url))
    assert shared.names() == sorted(names)
    table.page.go_back()
    assert table.names() == names
    assert table.complaints == []


def test_from_a_file_a_heading_keeps_the_view(visit: Any, site: Builder) -> None:
    table = Table(visit((site.site / "index.html").as_uri()))
    names = table.names()
    table.head(0).click()
    assert table.names() == sorted(names) != names
    table.page.evaluate("document.querySelector('h1').id = 'top'")
    table.page.evaluate("location.hash = '#top'")
    table.settle()
    assert table.names() == sorted(names)
    table.press("metric", "p50")
    assert table.names() == sorted(names)
    table.page.go_back()
    table.settle()
    assert table.page.url.endswith("#top")
    assert table.names() == sorted(names)
    table.page.go_back()
    table.page.go_back()
    assert table.names() == names
    assert table.complaints == []


def test_without_javascript_the_table_stands_and_controls_do_not(visit: Any, address: str) -> None:
    found = visit(address, java_script_enabled=False)
    block = found.page.locator(".ls-block[data-table]").first
    assert block.locator("table").is_visible()
    assert not block.locator(".ls-controls").is_visible()
    last = block.locator("tbody tr").last.bounding_box()
    below = block.locator("details").bounding_box()
    assert last["y"] + last["height"] <= below["y"]


def test_without_plotly_the_html_table_stays_and_a_note_tells(visit: Any, address: str) -> None:
    found = visit("about:blank")
    found.page.route("**/plotly*.js", lambda route: route.abort())
    found.page.goto(address)
    block = found.page.locator(".ls-block[data-table].ls-plain").first
    block.wait_for()
    assert block.locator("table").is_visible()
    assert "could not be loaded" in block.text_content()
    assert not block.locator(".ls-controls").is_visible()


@pytest.mark.parametrize("drawn", [True, False])
def test_print_has_the_html_table_alone(visit: Any, address: str, drawn: bool) -> None:
    found = visit("about:blank", viewport={"width": 800, "height": 1000})
    if not drawn:
        found.page.route("**/plotly*.js", lambda route: None)
    found.page.goto(address)
    block = found.page.locator(".ls-block[data-table]").first
    if drawn:
        Table(found).press("metric", "mean")
    found.page.emulate_media(media="print")
    assert block.locator("table").is_visible()
    assert block.locator("tbody tr").last.bounding_box()["height"] > 10
    assert not block.locator(".ls-controls").is_visible()
    assert not drawn or not block.locator(".ls-plotly").is_visible()
    # The notes are those of the table that is printed.
    assert block.locator(".ls-note").filter(has_text="Noise band").first.is_visible()
    assert block.locator(".ls-own-note:visible").count() == 0
    last, below = (
        block.locator("tbody tr").last.bounding_box(),
        block.locator("> .ls-note").first.bounding_box(),
    )
    assert last["y"] + last["height"] <= below["y"]


def test_on_a_phone_names_stay_in_sight(visit: Any, address: str) -> None:
    found = visit(address, viewport={"width": 390, "height": 800})
    table = Table(found)
    name = table.head(0)
    before = name.bounding_box()["x"]
    table.block.locator(".ls-figure-scroll").evaluate("node => node.scrollLeft = 150")
    found.page.wait_for_timeout(100)
    assert name.bounding_box()["x"] == pytest.approx(before, abs=1)
    assert table.block.locator(".ls-controls").bounding_box()["height"] < 100


def test_dark_toggle_recolours_the_table(visit: Any, address: str) -> None:
    found = visit(address, color_scheme="light")
    table = Table(found)
    fill = "box => getComputedStyle(box.querySelector('.cell-rect')).fill"
    light = table.box.evaluate(fill)
    found.page.evaluate("document.body.setAttribute('data-md-color-scheme', 'slate')")
    found.page.wait_for_function(
        "light => getComputedStyle(document.querySelector('.ls-plotly .cell-rect')).fill != light", arg=light
    )
    assert json.dumps(table.drawn())
