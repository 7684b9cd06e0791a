"""Interactive tables in headless Chromium, as a reader uses them: mouse, finger and keys, and the address."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from browsing import needs_chromium
from sites import EVIL, Builder, pin, served

from benchmarks.synthetic import flawed, write_run
from hooks.factors import factor, row_ratio, span
from hooks.loading import load
from hooks.view import View
from runner.metrics import METRICS, Metric
from runner.model import Run, Sample
from runner.verdicts import Ratio

pytestmark = needs_chromium

# What is drawn: heads and cells, column by column, each as its lines.
DRAWN = """box => {
  const columns = new Map();
  for (const cell of box.querySelectorAll('.column-cell')) {
    const block = cell.closest('.column-block').__data__;
    const lines = [...cell.querySelectorAll('.line')].map(line => line.textContent);
    const text = lines.length ? lines : [cell.textContent];
    const column = columns.get(block.specIndex) ?? {heads: [], cells: []};
    columns.set(block.specIndex, column);
    column[block.type === 'header' ? 'heads' : 'cells'][cell.__data__.rowNumber]
      = text.map(line => line.replace(/\\u00a0/g, ' '));
  }
  return [...columns.entries()].sort((a, b) => a[0] - b[0]).map(entry => entry[1]);
}"""


class Table:
    """One interactive table of a page."""

    def __init__(self, visit: Any, number: int = 0) -> None:
        self.page = visit.page
        self.complaints: list[str] = visit.complaints
        self.block = self.page.locator(".ls-block[data-table]").nth(number)
        self.block.scroll_into_view_if_needed()
        self.page.locator(".ls-block[data-table].ls-explored").nth(number).wait_for()
        self.box = self.block.locator(".ls-plotly")
        self.settle()

    def settle(self) -> None:
        """Wait until nothing is drawn any more."""
        self.page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 60)))")

    def drawn(self) -> list[Any]:
        self.settle()
        found: list[Any] = self.box.evaluate(DRAWN)
        return found

    def names(self) -> list[str]:
        """The rows' names, top down."""
        return [" ".join(cell) for cell in self.drawn()[1]["cells"]]

    def column(self, head: str) -> list[list[str]]:
        """The cells of the first column of that head, top down, each as its lines."""
        for column in self.drawn():
            if head in " ".join(" ".join(lines) for lines in column["heads"]):
                cells: list[list[str]] = column["cells"]
                return cells
        raise AssertionError(f"no column {head!r}")

    def heads(self) -> list[str]:
        return [" ".join(" ".join(lines) for lines in column["heads"]).strip() for column in self.drawn()[1:]]

    def chip(self, set: str, value: str) -> Any:
        return self.block.locator(f'[data-set="{set}"] button[value="{value}"]')

    def press(self, set: str, value: str) -> None:
        chip = self.chip(set, value)
        if not chip.is_visible():
            self.more()
        chip.click()

    def more(self) -> None:
        self.block.locator(".ls-more").click()

    def head(self, number: int) -> Any:
        """The lowest head of a column, counted without the dots."""
        return self.cell(-1, number)

    def cell(self, row: int, number: int) -> Any:
        """The element of a cell; Plotly makes columns anew, so that their order in the page tells nothing."""
        script = """(box, [row, number]) => {
          const columns = [...box.querySelectorAll('.y-column')];
          const column = columns.find(c => c.__data__.specIndex === number + 1);
          return [...column.querySelectorAll((row < 0 ? '#header' : '#cells1') + ' .column-cell')].at(row);
        }"""
        return self.box.evaluate_handle(script, [row, number]).as_element()

    def says(self) -> str:
        return self.block.locator(".ls-says").text_content() or ""

    def query(self) -> dict[str, list[str]]:
        return parse_qs(urlsplit(self.page.url).query)


def evil(run: Run, samples: list[Sample]) -> tuple[Run, list[Sample]]:
    labels = {
        kind: {name: f"{EVIL} {'long ' * 30}😀 {name}" for name in names}
        for kind, names in run.labels.items()
    }
    return run.model_copy(update={"title": EVIL, "labels": labels}), samples


PAGES = {
    "index.md": '# Tables\n\n{{ table("rest") }}\n\n{{ table("rest", metrics=["p50"]) }}\n',
    "more.md": '# More\n\n{{ table("rest", rows=["server", "workload"], columns=None, tiers=False) }}\n\n'
    '{{ chart("rest", metric="rps") }}\n',
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Builder:
    with pytest.MonkeyPatch.context() as patch:
        builder = Builder(tmp_path_factory.mktemp("site"), patch)
        write_run(builder.artifacts, "ref-rest", mutate=flawed)
        write_run(builder.artifacts, "rest-evil", servers=3, mutate=evil)
        pin(builder.artifacts, rest="ref-rest")
        builder.build(local=True, pages=PAGES)
        return builder


@pytest.fixture(scope="module")
def view(site: Builder) -> View:
    found = load(site.artifacts, ["ref-rest"])["ref-rest"]
    assert isinstance(found, View)
    return found


@pytest.fixture(scope="module")
def address(site: Builder) -> Iterator[str]:
    with served(site.site) as url:
        yield url


def rows_of(view: View, metric: str, workload: str) -> dict[str, Any]:
    """Label of the server → row of the summary."""
    return {
        view.label("server", row["server"]): row
        for row in view.rows(metric)
        if row["role"] == "case" and row["workload"] == workload
    }


# --- what is drawn ----------------------------------------------------------------------------------


def test_drawn_table_says_what_the_html_table_says(visit: Any, address: str) -> None:
    table = Table(visit(address))
    first = table.drawn()
    assert [" ".join(c["heads"][-1]) for c in first[1:]] == [
        "Server", *(["Throughput, requests/s", "p99 latency, ms"] * 2)
    ]  # fmt: skip
    script = """rows => rows.map(row => [...row.cells].map(cell =>
      ['value', 'tier', 'spread', 'remark'].map(name =>
        [...cell.querySelectorAll('.ls-' + name)].map(node => node.textContent))))"""
    rows = table.block.locator("tbody tr").evaluate_all(script)
    assert len(rows) == 14
    for number, cells in enumerate(rows):
        for column, (value, tier, spread, remarks) in enumerate(cells[1:], 2):
            lines = first[column]["cells"][number]
            assert lines[0].split("  ") == [*value, *tier]
            assert lines[1] == spread[0]
            short = " ".join(lines[2:])
            assert bool(short) == bool(remarks)
            for status in ("failed", "rejected"):
                assert (status in short) == any(f" {status}" in text for text in remarks), (short, remarks)
    assert table.complaints == []


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (390, "dark")])
def test_table_takes_the_place_that_was_kept_for_it(
    visit: Any, address: str, width: int, scheme: str
) -> None:
    """No layout shift, no cell cut off, and nothing left over."""
    found = visit("about:blank", viewport={"width": width, "height": 900}, color_scheme=scheme)
    found.page.add_init_script(
        """window.shifted = 0; new PerformanceObserver(list => list.getEntries().forEach(entry => {
          if (!entry.hadRecentInput) window.shifted += entry.value;
        })).observe({type: 'layout-shift', buffered: true})"""
    )
    held: list[Any] = []
    released: list[bool] = []
    found.page.route("**/plotly*.js", lambda r: r.continue_() if released else held.append(r))
    found.page.goto(address)
    stage = found.page.locator(".ls-stage").first
    stage.scroll_into_view_if_needed()
    found.page.wait_for_timeout(300)
    kept = stage.evaluate("node => node.offsetHeight")
    assert stage.locator("table").is_visible()
    released.append(True)
    for route in held:
        route.continue_()
    table = Table(found)
    assert stage.evaluate("node => node.offsetHeight") == kept
    box = table.box.bounding_box()
    cells = table.box.locator(".column-cell")
    bottoms = [cells.nth(at).bounding_box() for at in range(cells.count())]
    last = max(cell["y"] + cell["height"] for cell in bottoms if cell)
    assert box["y"] + box["height"] - 40 < last <= box["y"] + box["height"] + 1
    found.page.wait_for_timeout(300)
    assert found.page.evaluate("window.shifted") < 0.02
    assert found.page.evaluate("document.documentElement.scrollWidth") == width


def test_figures_are_shown_as_python_shows_them(visit: Any, address: str) -> None:
    found = visit(address)
    Table(found)
    rng = random.Random(7)
    kinds = [*METRICS.values(), *(Metric("t", "t", "s", "lower", 1.0, "", digits) for digits in range(1, 7))]
    values = []
    for metric in kinds:
        for _ in range(150):
            # Eighths and other short binary fractions are where rounding half to even shows.
            one = rng.choice(
                [rng.uniform(0, 1e-6), rng.random(), rng.uniform(0, 1e6), rng.randrange(-400, 4000) / 8,
                 rng.randrange(1, 10**6) / 2 ** rng.randrange(1, 12), 0.0]
            )  # fmt: skip
            values += [(metric, one), (metric, one / metric.scale)]
    told = [[{"scale": metric.scale, "digits": metric.digits}, value] for metric, value in values]
    script = "told => told.map(([metric, value]) => lapsheet.format.show(metric, value))"
    assert found.page.evaluate(script, told) == [metric.show(value) for metric, value in values]
    assert any(metric.show(value) != f"{value:.0f}" for metric, value in values)


# --- sorting ----------------------------------------------------------------------------------------


def test_head_sorts_best_first_then_the_other_way(visit: Any, address: str, view: View) -> None:
    table = Table(visit(address))
    rows = rows_of(view, "p99", "get_item")
    first = table.names()
    counted = [name for name in first if rows[name]["n"]]
    best = sorted(counted, key=lambda name: rows[name]["median"])
    last = [name for name in first if not rows[name]["n"]]
    assert len(last) == 1
    table.head(2).click()
    assert table.names() == best + last
    assert table.heads()[2].endswith("p99 latency, ms ▲")
    table.head(2).click()
    # Ties stay in their first order, and what has no figure stays last.
    assert table.names() == sorted(counted, key=lambda name: rows[name]["median"], reverse=True) + last
    assert table.heads()[2].endswith("▼")
    table.head(0).click()
    assert table.names() == sorted(first)
    assert "in no order" in table.says()


def test_pointer_that_moves_does_not_sort(visit: Any, address: str) -> None:
    table = Table(visit(address))
    before = table.names()
    box = table.head(2).bounding_box()
    table.page.mouse.move(box["x"] + 20, box["y"] + 10)
    table.page.mouse.down()
    table.page.mouse.move(box["x"] + 32, box["y"] + 10)
    table.page.mouse.up()
    assert table.names() == before


def test_finger_scrolls_and_sorts(visit: Any, address: str) -> None:
    found = visit(address, viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True)
    table = Table(found)
    before, frame = table.names(), table.block.locator(".ls-figure-scroll")
    box = frame.bounding_box()
    touch = found.context.new_cdp_session(found.page)
    for kind, x in [("touchStart", 300), *(("touchMove", 300 - 20 * step) for step in range(1, 9))]:
        point = {"x": x, "y": max(box["y"], 0) + 120}
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [point]})
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    found.page.wait_for_timeout(300)
    assert frame.evaluate("node => node.scrollLeft") > 50
    assert table.query() == {}
    assert found.page.locator("dialog").count() == 0
    frame.evaluate("node => node.scrollLeft = 0")
    table.head(0).tap()
    assert table.names() == sorted(before)
    assert before != sorted(before)


def test_native_controls_sort(visit: Any, address: str) -> None:
    table = Table(visit(address))
    table.head(1).click()
    by_head = table.names()
    table.head(1).click()
    other_way = table.names()
    assert other_way != by_head
    table.block.get_by_role("button", name="Reset").click()
    table.more()
    table.block.get_by_label("Sort by").select_option("get_item~rps")
    assert table.names() == by_head
    table.block.get_by_role("button", name="downwards").click()
    assert table.names() == other_way


# --- filters ----------------------------------------------------------------------------------------


def test_search_filters_rows_and_says_so(visit: Any, address: str) -> None:
    table = Table(visit(address))
    table.block.get_by_label("Filter rows by name").fill("UVI h11")
    assert table.names() == [name for name in table.names() if "uvicorn" in name.lower()]
    assert table.says().startswith("1 of 14 rows.")
    assert table.block.locator(".ls-says").get_attribute("aria-live") == "polite"
    table.block.get_by_label("Filter rows by name").fill("nothing of that name")
    assert table.says().startswith("0 of 14 rows.")
    table.block.get_by_label("Filter rows by name").fill("")
    assert len(table.names()) == 14


def test_chips_of_dimensions_choose_rows_and_columns(visit: Any, address: str, view: View) -> None:
    table = Table(visit(address))
    table.press("=workload", "create_order")
    assert len(table.heads()) == 3
    assert all("create_order" in head or head == "Server" for head in table.heads())
    table.press("=server", "daphne")
    table.press("=server", "anycorn")
    assert sorted(table.names()) == sorted(view.label("server", name) for name in ("daphne", "anycorn"))
    table.press("=server", "daphne")
    assert table.names() == [view.label("server", "anycorn")]
    assert table.chip("=server", "anycorn").get_attribute("aria-pressed") == "true"
    assert table.chip("=server", "daphne").get_attribute("aria-pressed") == "false"


def test_chips_of_metrics_show_any_metric_of_the_run(visit: Any, address: str, view: View) -> None:
    table = Table(visit(address))
    table.press("metric", "rps")
    table.press("metric", "mean")
    assert [head for head in table.heads() if "get_item" in head] == [
        "get_item mean latency, ms",
        "get_item p99 latency, ms",
    ]
    rows = rows_of(view, "mean", "get_item")
    for name, lines in zip(table.names(), table.column("mean latency"), strict=True):
        if rows[name]["n"]:
            sign = "≤ " if rows[name]["floor"] else ""
            assert lines[0].split("  ")[0] == sign + METRICS["mean"].show(rows[name]["median"])
    assert "mean latency" in table.block.locator(".ls-own-note").text_content()
    # One metric must stay.
    table.press("metric", "p99")
    table.press("metric", "mean")
    assert len(table.heads()) == 3
    offered = table.block.locator('[data-set="metric"] button').evaluate_all("all => all.map(b => b.value)")
    assert sorted(offered) == sorted(view.metrics)


def test_statistics_are_switched_in_place(visit: Any, address: str, view: View) -> None:
    table = Table(visit(address))
    rows = rows_of(view, "rps", "get_item")
    show = METRICS["rps"].show
    for stat, column in (("min", "low"), ("max", "high")):
        table.press("stat", stat)
        for name, lines in zip(table.names(), table.column("Throughput"), strict=True):
            if rows[name]["n"]:
                sign = "≥ " if rows[name]["floor"] else ""
                assert lines[0].split("  ")[0] == sign + show(rows[name][column])
    table.press("stat", "each")
    for name, lines in zip(table.names(), table.column("Throughput"), strict=True):
        row = rows[name]
        if row["n"]:
            points = view.points(row["case"], "rps")
            values = [show(p.value) for p in points if p.status == "accepted" and p.value is not None]
            median = next(at for at, line in enumerate(lines) if line.startswith("median"))
            told = " · ".join(lines[:median]).split("  ")
            shown = [part for line in lines[:median] for part in line.split("  ")[0].split(" · ")]
            assert shown == values, told


def test_choices_made_before_plotly_is_there_count(visit: Any, address: str) -> None:
    found = visit("about:blank")
    held: list[Any] = []
    found.page.route("**/plotly*.js", lambda route: held.append(route))
    found.page.goto(address)
    block = found.page.locator(".ls-block[data-table]").first
    # The panel is there when the controls listen.
    block.locator(".ls-panel").wait_for(state="attached")
    block.locator('[data-set="metric"] button[value="p50"]').click()
    assert parse_qs(urlsplit(found.page.url).query) == {"t1.metric": ["rps", "p50", "p99"]}
    found.page.wait_for_timeout(500)
    found.page.unroute("**/plotly*.js")
    assert len(Table(found).heads()) == 7
    assert found.complaints == []


# --- baseline ---------------------------------------------------------------------------------------


def test_baseline_gives_the_ratios_that_python_gives(visit: Any, address: str, view: View) -> None:
    table = Table(visit(address))
    table.more()
    for base in ("uvicorn-rloop", "granian"):
        table.block.get_by_label("Baseline").select_option(base)
        assert f"over those of {view.label('server', base)}" in table.says()
        for metric, head in (("rps", "Throughput"), ("p99", "p99")):
            rows = rows_of(view, metric, "get_item")
            other = rows[view.label("server", base)]
            checked = 0
            for name, lines in zip(table.names(), table.column(head), strict=True):
                if rows[name] is other:
                    assert lines == ["1×", "the baseline"]
                    continue
                ratio: Ratio | None = row_ratio(rows[name], other)
                if ratio is None or ratio.bound == "?":
                    assert lines[0] == "–"
                    assert len(lines) > 1
                    continue
                assert lines[:2] == [factor(ratio), span(ratio)]
                checked += 1
            assert checked >= 11
    # Granian is a floor: what is divided by it is at most that.
    assert any(lines[0].startswith("≤ ") for lines in table.column("Throughput"))


def test_baseline_that_failed_gives_no_ratio_and_a_reason(visit: Any, address: str) -> None:
    table = Table(visit(address + "?t1.base=daphne"))
    cells = table.column("Throughput")
    assert {lines[0] for lines in cells} == {"–"}
    assert all("accepted sample" in " ".join(lines) or "failed" in " ".join(lines) for lines in cells)
    assert {lines[0] for lines in table.drawn()[4]["cells"]} != {"–"}


def test_bounds_and_refusals_of_ratios(visit: Any, address: str) -> None:
    """The algebra of bounds on its own, against runner.verdicts.ratio."""
    from runner.verdicts import ratio

    found = visit(address)
    Table(found)
    rng = random.Random(3)
    for metric in ("rps", "p99", "probe_gap_p50"):
        kind = METRICS[metric]
        told = {"better": kind.better, "resolution": kind.resolution, "small": kind.too_small}
        for floors in ((a, b) for a in (False, True) for b in (False, True)):
            rows: list[dict[str, Any]] = []
            for floor in floors:
                low, median, high = sorted(rng.uniform(0, 3e-4) for _ in range(3))
                figures = {"n": 3, "median": median, "low": low, "high": high}
                rows.append({"case": "c", "metric": metric, "floor": floor, "untiered": ""} | figures)
            given = [row | {"metric": told} for row in rows]
            script = "([a, b]) => [lapsheet.rows.refusal(a, b), lapsheet.rows.ratio(a, b)]"
            refused, result = found.page.evaluate(script, given)
            small = any(row["median"] < kind.resolution for row in rows)
            assert bool(refused) == (small or all(floors))
            if not refused:
                expected = ratio(*rows)
                assert result == vars(expected)


# --- columns, selection -----------------------------------------------------------------------------


def test_columns_are_hidden_and_come_back(visit: Any, address: str) -> None:
    table = Table(visit(address))
    table.more()
    table.block.locator(".ls-panel summary").click()
    boxes = table.block.locator(".ls-boxes input")
    assert boxes.count() == 4
    boxes.nth(1).uncheck()
    assert len(table.heads()) == 4
    assert "1 column is hidden" in table.says()
    assert table.query()["t1.hide"] == ["get_item~p99"]
    table.block.locator(".ls-boxes input").nth(1).check()
    assert len(table.heads()) == 5


def test_selected_rows_are_marked_and_shown_alone(visit: Any, address: str) -> None:
    table = Table(visit(address))
    names = table.names()
    table.cell(2, 0).click()
    table.settle()
    table.cell(5, 0).click()
    assert [cell[0] for cell in table.drawn()[0]["cells"]].count("◉") == 2
    table.block.get_by_role("button", name="Only the 2 selected").click()
    assert table.names() == [names[2], names[5]]
    assert set(table.query()) == {"t1.rows", "t1.only"}
    assert Table(visit(table.page.url)).names() == [names[2], names[5]]


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
