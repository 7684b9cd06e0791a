"""What interactive tables show in headless Chromium: figures, order, filters, ratios, notes, columns."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from browsing import needs_chromium
from drawn import REAL, Table, rows_of, table_site, view_of
from sites import Builder, served

from hooks.cells import floor_sign
from hooks.factors import factor, row_ratio, span
from hooks.view import View
from runner.metrics import METRICS, Metric
from runner.verdicts import Ratio, refusal, verdict

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
    assert "mean latency" in table.block.locator(".ls-note.ls-own-note").text_content()
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


def in_browser(row: dict[str, Any]) -> dict[str, Any]:
    """A row as rows.js makes it from the page's data."""
    kind = METRICS[row["metric"]]
    told = {"better": kind.better, "resolution": kind.resolution, "small": kind.too_small}
    told |= {"scale": kind.scale, "digits": kind.digits}
    rest = {"samples": [], "failed": 0, "rejected": 0, "reasons": "", "wanted": 3, "tier": 0}
    return row | rest | {"metric": told, "band": None if math.isnan(row["band"]) else row["band"]}


def test_bounds_and_refusals_of_ratios(visit: Any, address: str) -> None:
    """The algebra of bounds on its own, against runner.bounds and runner.verdicts."""
    found = visit(address)
    Table(found)
    rng = random.Random(3)
    script = (
        "pairs => pairs.map(([a, b]) => [lapsheet.format.sign(a.metric, a), lapsheet.rows.against(a, b)])"
    )
    pairs, seen = [], set()
    kinds = [(floor, unsent) for floor in (False, True) for unsent in (0, 2)]
    for metric in ("rps", "p99", "open_p99", "probe_gap_p50"):
        for sides in itertools.product(kinds if metric == "open_p99" else kinds[::2], repeat=2):
            for least, most in ((0, 3e-4), (1e-6, 1e-1), (2e-4, 5e-4)):
                rows: list[dict[str, Any]] = []
                for floor, unsent in sides:
                    low, median, high = sorted(rng.uniform(least, most) for _ in range(3))
                    figures = {"n": 3, "median": median, "low": low, "high": high, "band": math.nan}
                    bounds = {"floor": floor, "unsent": unsent}
                    rows.append({"case": "c", "metric": metric, "untiered": ""} | bounds | figures)
                pairs.append(rows)
    told = found.page.evaluate(script, [[in_browser(row) for row in pair] for pair in pairs])
    for (a, b), (sign, cell) in zip(pairs, told, strict=True):
        assert sign == floor_sign(a)
        why, expected = refusal(a, b), row_ratio(a, b)
        if why:
            assert (cell["value"], cell["spread"]) == ("–", why)
        else:
            assert expected is not None
            assert (cell["value"], cell["spread"]) == (factor(expected), span(expected))
            alike = verdict(a, b, a["metric"]).relation == "indistinguishable"
            assert cell["short"] == ("not told apart" if alike else "")
        seen.add(why or (expected and expected.bound))
    assert len(seen) == 6, seen  # none, ≥, ≤; both are bounds, one is none, too small


def test_factors_are_shown_as_python_shows_them(visit: Any, address: str) -> None:
    found = visit(address)
    Table(found)
    rng = random.Random(5)
    edges = [0.1, 0.0999, 0.0995, 0.01, 0.001, 1.0, 9.995, 99.95, 100.0, 0.0166, 1e-9]
    values = [*edges, *(10 ** rng.uniform(-6, 4) for _ in range(500))]
    ratios = [{"value": value, "low": value / 7, "high": value * 3, "bound": ""} for value in values]
    script = "all => all.map(one => [lapsheet.format.factor(one), lapsheet.format.span(one)])"
    expected = [[factor(Ratio(**one)), span(Ratio(**one))] for one in ratios]  # type: ignore[arg-type]
    assert found.page.evaluate(script, ratios) == expected
    assert factor(Ratio(0.0166, 0.0003, 0.031)) == "0.0166×"
    assert span(Ratio(0.0166, 0.0003, 0.031)) == "0.000300–0.0310×"


def test_what_is_not_told_apart_is_said(visit: Any, address: str, site: Builder) -> None:
    """Every ratio of a real run, against the verdicts of the summary."""
    view = view_of(site.artifacts, REAL["real"])
    table = Table(visit(address + "real/"))
    table.more()
    alike = 0
    for base in view.dimensions["server"][:3]:
        table.block.get_by_label("Baseline").select_option(str(base))
        for number, metric in enumerate(("rps", "p99")):
            rows = rows_of(view, metric, str(view.dimensions["workload"][0]))
            other = rows[view.label("server", base)]
            for name, lines in zip(table.names(), table.drawn()[2 + number]["cells"], strict=True):
                if rows[name] is not other and lines[0] != "–":
                    expected = verdict(rows[name], other, metric).relation
                    said = {"indistinguishable": "not told apart", "not comparable": "no claim"}.get(
                        expected, ""
                    )
                    told = [words for words in ("not told apart", "no claim") if words in " ".join(lines[2:])]
                    assert told == ([said] if said else []), (name, base, lines)
                    alike += expected == "indistinguishable"
    assert alike > 3


def test_ratios_of_latencies_that_leave_out_the_unsent_are_bounds(
    visit: Any, address: str, site: Builder
) -> None:
    view = view_of(site.artifacts, REAL["ladder"])
    rows = {str(view.cases[row["case"]].dimensions["load"]): row for row in view.rows("open_p99")}
    ids = {view.label("load", load): str(load) for load in view.dimensions["load"]}
    table = Table(visit(address + "ladder/"))

    def loads() -> list[str]:
        # Without servers there are no dots.
        return [ids[" ".join(cell)] for cell in table.drawn()[0]["cells"]]

    assert "≥ of an open-loop latency" in table.block.locator("> .ls-note").first.text_content()
    first = dict(zip(loads(), table.column("p99 latency"), strict=True))
    assert first["capacity"] == ["–", "not measured for this case"]
    assert first["95"][0].startswith("≥ ")
    text = table.block.locator("tbody tr").filter(has_text="capacity").text_content()
    assert "not measured for this case" in text
    table.more()
    signs = set()
    for base in ("35", "90"):
        table.block.get_by_label("Baseline").select_option(base)
        for name, lines in zip(loads(), table.column("p99 latency"), strict=True):
            if name in (base, "capacity"):
                continue
            expected = row_ratio(rows[name], rows[base])
            assert expected is not None
            why = refusal(rows[name], rows[base])
            assert " ".join(lines).startswith(f"– {why}" if why else f"{factor(expected)} {span(expected)}")
            signs.add(lines[0][:2])
    assert signs >= {"≥ ", "≤ ", "–"}


def test_only_metrics_that_some_cell_has_are_offered(visit: Any, address: str, site: Builder) -> None:
    view = view_of(site.artifacts, REAL["ladder"])
    table = Table(visit(address + "ladder/?t2.metric=open_p99"), 1)
    assert "metric=open_p99" in table.says()
    table.more()
    offered = table.block.locator('[data-set="metric"] button').evaluate_all("all => all.map(b => b.value)")
    closed = {key for key in view.metrics for row in view.rows(key) if "capacity" in row["case"]}
    assert sorted(offered) == sorted(closed)
    assert closed < set(view.metrics)


# --- title, notes -----------------------------------------------------------------------------------


def test_title_and_notes_follow_the_metrics_in_the_words_of_the_build(visit: Any, address: str) -> None:
    """A table switched to another's metrics says what that one says."""
    found = visit(address)
    table, other = Table(found, 0), Table(found, 1)
    shown = "all => all.filter(p => p.checkVisibility()).map(p => p.textContent)"
    for metric in ("rps", "p99", "p50"):
        other.press("metric", metric)
    for one in (".ls-title", "> .ls-note"):
        said = table.block.locator(one).evaluate_all(shown)
        assert len(said) == 1
        assert other.block.locator(one).evaluate_all(shown) == said
    title = table.block.locator(".ls-title").first.text_content()
    assert title.startswith("Throughput and p99 latency by server and workload")
    assert other.box.get_attribute("aria-label").startswith(f"{title}. ")
    assert other.block.locator(".ls-controls").get_attribute("aria-label") == f"View of: {title}"
    assert "Throughput" not in other.block.locator(".ls-title").first.text_content()


def test_notes_of_a_real_ladder_are_the_builds(visit: Any, address: str) -> None:
    table = Table(visit(address + "ladder/"))
    script = """() => lapsheet.page().then(page => {
      const block = document.createElement('div');
      block.innerHTML = '<p class="ls-title"></p><p class="ls-note"></p>';
      const model = lapsheet.view.model(page, 'table-1');
      const chosen = {...lapsheet.view.defaults(model), metric: [...model.table.metrics].reverse()};
      lapsheet.notes(block, model).update(chosen, lapsheet.view.shown(model, chosen), []);
      return block.querySelector('.ls-note.ls-own-note').textContent;
    })"""
    given = table.block.locator("> .ls-note").first.text_content()
    own = table.page.evaluate(script)
    # No band is known of any metric, so their order does not matter.
    assert own == given
    assert given.startswith("Noise band: unknown (no configuration was measured twice).")
    assert "tiers" not in given


def test_many_samples_lie_on_lines_of_their_own(visit: Any, address: str) -> None:
    table = Table(visit(address + "many/"))
    table.press("stat", "each")
    table.settle()
    lines = """box => [...box.querySelectorAll('.column-block:not(#header) .cell-text')].map(cell =>
      [...cell.querySelectorAll('.line')].map(line => line.getClientRects()[0])
        .map(box => [box.top, box.bottom]))"""
    cells = [cell for cell in table.box.evaluate(lines) if len(cell) > 10]
    assert len(cells) == 6
    for cell in cells:
        for (_, bottom), (top, _) in itertools.pairwise(cell):
            assert top >= bottom - 3
    sizes = "box => [...box.querySelectorAll('.line > tspan')].map(t => getComputedStyle(t).fontSize)"
    assert {"12px", "13px"} <= set(table.box.evaluate(sizes))


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
