"""Charts in headless Chromium: there before their library, the same after it, in print and as files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from browsing import Visit, needs_chromium
from sites import EVIL, Builder, pin, served

from benchmarks.synthetic import flawed, write_run
from runner import store
from runner.model import Note, Run, Sample

pytestmark = needs_chromium

PAGE = """# Charts

{{ chart("rest", kind="range", workload="get_item", workers=1) }}

{{ chart("rest", kind="percentiles", workload="get_item", workers=1) }}

{{ chart("rest", kind="heatmap", workers=1) }}

{{ chart("rest", kind="scaling", workload="create_order") }}
"""
RANGE, PERCENTILES, HEATMAP, SCALING = range(4)
SHIFTS = """
    window.shifts = [];
    const told = ({node, previousRect, currentRect}) =>
        `${node?.nodeName} ${node?.className}: ${previousRect.y} to ${currentRect.y}`;
    new PerformanceObserver(list => list.getEntries().forEach(entry =>
        window.shifts.push([entry.value, ...entry.sources.map(told)])
    )).observe({type: 'layout-shift', buffered: true});
"""
# The middles of a figure's medians or ticks, from its left upper corner: static, and drawn by Plotly.
PLACES = """(figure, selector) => {
    const box = figure.getBoundingClientRect();
    return [...figure.querySelectorAll(selector)].map(node => {
        const at = node.getBoundingClientRect();
        return [at.x + at.width / 2 - box.x, at.y + at.height / 2 - box.y];
    });
}"""


def evil(run: Run, samples: list[Sample]) -> tuple[Run, list[Sample]]:
    """Hostile labels and reasons, with attempts that show them."""
    run, samples = flawed(run, samples)
    note = Note(code="<b>code</b>", message=EVIL)
    samples = [s.model_copy(update={"reasons": [note]}) if s.reasons else s for s in samples]
    labels = {kind: {name: f"{EVIL} {name}" for name in names} for kind, names in run.labels.items()}
    return run.model_copy(update={"title": EVIL, "labels": labels}), samples


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Builder:
    with pytest.MonkeyPatch.context() as patch:
        builder = Builder(tmp_path_factory.mktemp("site"), patch)
        write_run(builder.artifacts, "ref-rest", workers=(1, 2), mutate=flawed)
        write_run(builder.artifacts, "ref-evil", servers=4, workers=(1, 2), mutate=evil)
        pin(builder.artifacts, rest="ref-rest", evil="ref-evil")
        builder.build(pages={"index.md": PAGE, "evil.md": PAGE.replace('"rest"', '"evil"')})
        return builder


@pytest.fixture(scope="module")
def address(site: Builder) -> Iterator[str]:
    with served(site.site) as url:
        yield url


@pytest.fixture
def asleep(chromium: Any, address: str) -> Iterator[Visit]:
    """The page in a browser that never finds time for what can wait."""
    found = Visit(chromium)
    found.page.add_init_script("window.requestIdleCallback = () => 0;" + SHIFTS)
    yield found.open(address)
    found.context.close()


def middles(figure: Any, selector: str) -> list[list[float]]:
    found: list[list[float]] = figure.evaluate(PLACES, selector)
    return found


# --- before Plotly -----------------------------------------------------------------------------------


def test_pictures_are_there_while_the_page_is_busy(asleep: Visit) -> None:
    pictures = asleep.page.locator(".ls-static")
    assert pictures.count() == 4
    for number in range(4):
        box = pictures.nth(number).bounding_box()
        assert box["width"] > 500
        assert box["height"] > 200
    marks = pictures.nth(RANGE).locator("use")
    assert marks.count() == 14 * 5 + 1 + 14  # one was repeated; medians
    assert marks.first.bounding_box()["width"] > 5
    asleep.page.mouse.wheel(0, 4000)
    asleep.page.wait_for_timeout(300)
    assert not any("plotly" in url for url in asleep.requests)


@pytest.mark.parametrize("by", ["click", "Enter"])
def test_reader_who_asks_gets_plotly_at_once(asleep: Visit, by: str) -> None:
    figure = asleep.page.locator(".ls-figure").nth(HEATMAP)
    if by == "click":
        figure.click()
    else:
        figure.focus()
        asleep.page.keyboard.press("Enter")
    figure.locator("svg.main-svg").first.wait_for()
    asleep.page.wait_for_function("document.querySelectorAll('.ls-drawn').length == 1")
    assert asleep.page.locator(".ls-figure.ls-drawn").get_attribute("data-figure") == "figure-3"
    assert asleep.complaints == []


def test_without_javascript_pictures_are_there_and_no_button(visit: Any, address: str) -> None:
    found = visit(address, java_script_enabled=False)
    for number in range(4):
        assert found.page.locator(".ls-static").nth(number).is_visible()
    assert found.page.locator(".ls-picture:visible").count() == 0


def test_without_plotly_the_picture_stays_and_says_so(chromium: Any, address: str) -> None:
    found = Visit(chromium)
    try:
        found.page.route("**/plotly.min.js", lambda route: route.abort())
        found.open(address)
        figure = found.page.locator(".ls-chart").first
        figure.get_by_text("could not be loaded").wait_for()
        assert figure.locator(".ls-static").is_visible()
        assert found.page.locator(".ls-drawn, .ls-plot").count() == 0
        found.page.unroute("**/plotly.min.js")
        with found.page.expect_download():
            figure.get_by_role("button", name="Download SVG").click()
    finally:
        found.context.close()


# --- and after ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1400, 390])
def test_plotly_draws_where_the_picture_was_and_shifts_nothing(
    chromium: Any, address: str, width: int
) -> None:
    found = Visit(chromium, viewport={"width": width, "height": 900})
    try:
        found.page.add_init_script(SHIFTS)
        found.open(address)
        figures = found.page.locator(".ls-figure")
        before = [figures.nth(number).bounding_box() for number in range(4)]
        assert found.draw() == 4
        after = [figures.nth(number).bounding_box() for number in range(4)]
        assert [(b["width"], b["height"]) for b in before] == [(b["width"], b["height"]) for b in after]
        assert found.page.evaluate("window.shifts") == []
        pairs = [
            (RANGE, "use[href$='line-ns-14']", ".trace:nth-child(3) .point"),
            (RANGE, ".ls-names text", ".ytick text"),
            (SCALING, "use", ".points .point"),
            (PERCENTILES, "text[y]", ".xtick text"),
            (HEATMAP, "g[text-anchor='middle'] > text[x]", ".heatmap-label text, .xtick text"),
        ]
        ink = "node => getComputedStyle(node).fill"
        texts = (f".ls-{kind} text >> nth=0" for kind in ("names", "plot .ytick"))
        assert len({figures.nth(RANGE).locator(text).evaluate(ink) for text in texts}) == 1
        for number, picture, plot in pairs:
            figure = figures.nth(number)
            drawn = middles(figure, f".ls-plot {plot}")
            static = middles(figure, f".ls-static {picture}")
            assert len(drawn) >= 7, plot
            for x, y in drawn:
                nearest = min(max(abs(a - x), abs(b - y)) for a, b in static)
                assert nearest < 3, (plot, x, y)
    finally:
        found.context.close()


def test_plotly_draws_every_point(visit: Any, address: str, site: Builder) -> None:
    found = visit(address)
    found.draw()
    stored = store.read(site.artifacts / "ref-rest")
    samples = [s for s in stored.samples if "/get_item/w1/" in s.case and not s.case.endswith("/twin")]
    accepted = sum(sample.status == "accepted" for sample in samples)
    assert 0 < accepted < len(samples)
    chart = found.page.locator(".ls-figure").nth(RANGE)
    traces = chart.locator(".scatterlayer .trace")
    points = [traces.nth(number).locator(".points path").count() for number in range(traces.count())]
    assert points == [0, accepted, 14, len(samples) - accepted]
    assert chart.locator(".shapelayer path").count() == 1
    labels = chart.locator(".yaxislayer-above .ytick text")
    assert labels.count() == 14
    assert labels.first.text_content() == "granian ≥"


def test_screen_readers_keep_the_picture_and_not_the_plot(visit: Any, address: str) -> None:
    found = visit(address)
    found.draw()
    names = [
        found.page.get_by_role("img", name=re.compile(name)) for name in ("Chart: Throughput", "Heat map")
    ]
    assert [image.count() for image in names] == [2, 1]
    assert found.page.locator(".ls-plot:not([aria-hidden='true'])").count() == 0


def test_dark_toggle_recolours_picture_and_plot_without_a_reload(visit: Any, address: str) -> None:
    found = visit(address, color_scheme="light")
    found.draw()

    def colours() -> list[str]:
        style = "node => getComputedStyle(node).fill"
        figures = found.page.locator(".ls-figure")
        places = [
            (RANGE, ".ls-static text"),
            (RANGE, ".ls-static g[fill*='hue-']"),
            (RANGE, ".ls-plot .ytick text"),
            (RANGE, ".ls-plot .trace:nth-child(2) .point"),
            (HEATMAP, ".ls-static rect"),
        ]
        found_ = [figures.nth(n).locator(place).first.evaluate(style) for n, place in places]
        return [*found_, figures.nth(HEATMAP).locator(".hm image").get_attribute("href")]

    light = colours()
    found.page.evaluate("window.stays = true")
    found.page.locator("label[for='__palette_1']").click()
    found.page.locator("label[for='__palette_2']").click()
    found.page.wait_for_function("document.body.dataset.mdColorScheme == 'slate'")
    found.page.wait_for_timeout(1000)
    dark = colours()
    assert all(before != after for before, after in zip(light, dark, strict=True)), (light, dark)
    assert found.page.evaluate("window.stays") is True
    assert found.complaints == []


def test_hover_tells_case_n_range_and_what_does_not_count(visit: Any, address: str) -> None:
    """On every kind of chart, by arrow keys, which go through all points."""
    found = visit(address)
    found.draw()
    for number, words in (
        (RANGE, r"granian · rloop.*requests/s, round \d.*range .*–.*, n = 5.*1 rejected"),
        (PERCENTILES, r"granian.*Percentile 50.*median .* ms.*n = \d"),
        (HEATMAP, r"granian.*get_item.* % of the column's best.*median .*n = 5"),
        (SCALING, r".*Workers 1.*median .*n = 5"),
    ):
        figure = found.page.locator(".ls-figure").nth(number)
        figure.focus()
        for _ in range(40):
            found.page.keyboard.press("ArrowRight")
            hover = figure.locator(".hoverlayer .hovertext").first
            hover.wait_for()
            if re.search(words, hover.text_content()):
                break
        else:
            raise AssertionError(f"figure {number}: no point tells {words}")
    assert found.complaints == []


def test_a_point_opens_its_receipt_and_focus_comes_back(visit: Any, address: str) -> None:
    found = visit(address)
    found.draw()
    figure = found.page.locator(".ls-figure").nth(RANGE)
    point = figure.locator(".ls-plot .trace:nth-child(3) .point").first
    point.scroll_into_view_if_needed()
    box = point.bounding_box()
    found.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    dialog = found.page.locator("dialog[open]")
    dialog.wait_for()
    dialog.get_by_text("granian").first.wait_for()
    found.page.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    assert figure.evaluate("node => node == document.activeElement")
    found.page.keyboard.press("ArrowRight")
    found.page.keyboard.press("Enter")
    dialog.wait_for()
    assert found.complaints == []


def test_receipt_of_a_percentile_is_of_that_percentile(visit: Any, address: str) -> None:
    found = visit(address)
    found.draw()
    figure = found.page.locator(".ls-figure").nth(PERCENTILES)
    figure.focus()
    for _ in range(5):
        found.page.keyboard.press("ArrowRight")
    figure.locator(".hovertext", has_text="Percentile 99").first.wait_for()
    found.page.keyboard.press("Enter")
    found.page.locator("dialog[open]").get_by_text("p99 latency").first.wait_for()
    assert found.complaints == []


def test_hostile_labels_are_text_in_charts_and_hover(visit: Any, address: str) -> None:
    found = visit(address + "evil/")
    assert found.draw() == 4
    for number in range(4):
        figure = found.page.locator(".ls-figure").nth(number)
        assert "<img" in figure.locator(".ls-static title").text_content() + figure.text_content()
        assert figure.locator(".ls-plot foreignObject").count() == 0
        images = figure.locator(".ls-plot image").evaluate_all("found => found.map(n => n.href.baseVal)")
        assert all(image.startswith("data:image/png") for image in images)
        figure.focus()
        found.page.keyboard.press("ArrowRight")
        hover = figure.locator(".hoverlayer .hovertext").first
        hover.wait_for()
        assert "<script>window.pwned=1</script>" in hover.text_content().replace("\u00a0", " ")
    assert found.page.evaluate("window.pwned") is None
    assert found.complaints == []


@pytest.mark.parametrize("page", ["", "evil/"])
def test_labels_of_an_axis_do_not_meet_on_a_phone(visit: Any, address: str, page: str) -> None:
    found = visit(address + page, viewport={"width": 390, "height": 800})
    assert found.page.evaluate("document.documentElement.scrollWidth") == 390
    overlaps = found.page.evaluate(
        """() => [...document.querySelectorAll('.ls-static')].flatMap(svg => {
            const labels = [...svg.querySelectorAll('g[text-anchor=middle] > text[x$="%"]')]
                .map(node => [node.textContent, node.getBoundingClientRect()]);
            return labels.flatMap(([text, a], at) => labels.slice(at + 1)
                .filter(([, b]) => a.left < b.right && b.left < a.right)
                .filter(([, b]) => a.top < b.bottom && b.top < a.bottom)
                .map(([other]) => `${text} and ${other}`));
        })"""
    )
    assert overlaps == []


def test_charts_are_drawn_from_a_file(visit: Any, site: Builder) -> None:
    found = visit((site.site / "index.html").as_uri())
    assert found.draw() == 4
    assert found.complaints == []


# --- paper and files ---------------------------------------------------------------------------------


def test_print_has_light_pictures_and_no_controls(visit: Any, address: str) -> None:
    found = visit(address, color_scheme="dark")
    found.draw()
    found.page.emulate_media(media="print", color_scheme="dark")
    for number in range(4):
        chart = found.page.locator(".ls-chart").nth(number)
        assert not chart.locator(".ls-plot").is_visible()
        assert not chart.locator(".ls-picture").is_visible()
        picture = chart.locator(".ls-static")
        assert picture.evaluate("node => getComputedStyle(node).opacity") == "1"
        assert (
            picture.locator("text").first.evaluate("node => getComputedStyle(node).fill") == "rgb(27, 35, 44)"
        )
        assert chart.evaluate("node => getComputedStyle(node).breakInside") == "avoid"
        assert chart.locator("xpath=..").locator("table").first.is_visible()
    assert len(found.page.pdf()) > 50_000


def svg_of(found: Visit, number: int, folder: Path) -> tuple[str, ElementTree.Element, str]:
    """A chart's downloaded picture: file name, elements, and text."""
    with found.page.expect_download() as download:
        found.page.locator(".ls-picture").nth(number).click()
    download.value.save_as(folder / "picture.svg")
    text = (folder / "picture.svg").read_text("utf-8")
    root = ElementTree.fromstring(text)
    return download.value.suggested_filename, root, "".join(root.itertext()).replace("\u00a0", " ")


def test_downloaded_picture_says_what_it_is(visit: Any, address: str, site: Builder, tmp_path: Path) -> None:
    """Light on white although the page is dark; title, run, date of capture, and what is drawn."""
    found = visit(address, color_scheme="dark")
    name, root, text = svg_of(found, RANGE, tmp_path)
    assert name == "ref-rest-rps-get_item.svg"
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    run = store.read(site.artifacts / "ref-rest").run
    assert "Throughput, get_item (1 worker, 100 connections)" in text
    assert (
        f"Run ref-rest, captured {run.created.date().isoformat()}: median of 3–5 samples, every sample"
        in text
    )
    assert "noise band" in text
    assert "does not count" in text
    source = (tmp_path / "picture.svg").read_text("utf-8")
    assert "var(" not in source
    assert "rgb(27, 35, 44)" in source
    assert "rgb(228, 233, 238)" not in source
    assert found.page.locator(".ls-drawn").count() <= 4
    for number, words in ((PERCENTILES, "99.9"), (HEATMAP, "share of the best"), (SCALING, "Workers")):
        assert words in svg_of(found, number, tmp_path)[2]
    assert found.complaints == []


def test_downloaded_picture_of_hostile_names_holds_them_as_text(
    visit: Any, address: str, tmp_path: Path
) -> None:
    found = visit(address + "evil/")
    for number in range(4):
        _, root, text = svg_of(found, number, tmp_path)
        assert "<imgsrc=xonerror" in re.sub(r"\s", "", text)
        tags = {node.tag.rpartition("}")[2] for node in root.iter()}
        assert not tags & {"script", "img", "foreignObject"}
        assert not [node for node in root.iter() if any(key.startswith("on") for key in node.attrib)]
    assert found.page.evaluate("window.pwned") is None
