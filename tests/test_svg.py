"""Static pictures of figures: what is where, measured against the data, and what hostile names can do."""

from __future__ import annotations

import math
import re
import time
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from sites import EVIL

from benchmarks.synthetic import flawed, write_run
from hooks import axes
from hooks.charts import lines_of, range_chart
from hooks.figures import Figure, box
from hooks.grid import grids
from hooks.legend import legend
from hooks.loading import load
from hooks.markup import plotly_lines, plotly_text
from hooks.svg import static_svg
from hooks.svg_marks import WIDE, outline
from hooks.view import View

PLOT = 200  # pixels high, in `spec`


def spec(*traces: dict[str, Any], x: dict[str, Any], y: dict[str, Any], **layout: Any) -> dict[str, Any]:
    margin = {"l": 60, "r": 20, "t": 10, "b": 40}
    return {
        "data": list(traces),
        "layout": {"height": PLOT + 50, "margin": margin, "xaxis": x, "yaxis": y, **layout},
    }


def drawn(what: dict[str, Any], name: str = "figure-1") -> ElementTree.Element:
    """The picture as XML, which also says that it is well-formed."""
    return ElementTree.fromstring(static_svg(what, name, "A title", "Some words."))


def lines(x: list[Any], y: list[Any]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": x,
        "y": y,
        "line": {"color": "var(--ls-ink)", "width": 2},
    }


def markers(x: list[Any], y: list[Any], **marker: Any) -> dict[str, Any]:
    edge = {"color": "var(--ls-paper)", "width": 1}
    style = {"size": 8, "color": "var(--ls-hue-0)", "symbol": "diamond", "line": edge, **marker}
    return {"type": "scatter", "mode": "markers", "x": x, "y": y, "marker": style}


def uses(svg: ElementTree.Element) -> list[tuple[float, float]]:
    """Where markers stand: per cent of the width, pixels from above."""
    return [(float(n.get("x", "").rstrip("%")), float(n.get("y", ""))) for n in svg.iter("use")]


def axis(first: float, last: float, kind: str = "linear") -> dict[str, Any]:
    return {"type": kind, "range": [first, last], "tickvals": [], "ticktext": []}


# --- positions ---------------------------------------------------------------------------------------


def test_markers_stand_where_their_values_are() -> None:
    svg = drawn(spec(markers([0, 25, 100], [0, 5, 10]), x=axis(0, 100), y=axis(0, 10)))
    assert uses(svg) == [(0, 200), (25, 100), (100, 0)]


def test_a_logarithmic_axis_has_equal_steps_for_equal_factors() -> None:
    log = axis(0, 3, "log")
    svg = drawn(spec(markers([1, 10, 100, 1000], [1, 10, 100, 1000]), x=log, y=log))
    assert uses(svg) == [(0, 200), (33.33, 133.3), (66.67, 66.67), (100, 0)]


def test_lines_go_through_their_points_and_break_where_there_is_none() -> None:
    svg = drawn(spec(lines([0, 5, None, 5, 10], [0, 1, None, 1, 0]), x=axis(0, 10), y=axis(0, 1)))
    (path,) = [n.get("d") for n in svg.iter("path") if n.get("class") != "ls-grid"]
    assert path == f"M0 200L{WIDE // 2} 0M{WIDE // 2} 0L{WIDE} 200"


def test_plain_dots_are_one_path_of_points() -> None:
    dots = {"size": 4, "color": "var(--ls-hue-1)", "symbol": "circle", "line": None}
    trace = markers([0, 5, 10], [0, 1, 0], **dots)
    svg = drawn(spec(trace, x=axis(0, 10), y=axis(0, 1)))
    (path,) = [n for n in svg.iter("path") if n.get("class") != "ls-grid"]
    assert path.get("d") == "M0 200h0M500 0h0M1000 200h0"
    assert (path.get("stroke-linecap"), path.get("stroke-width")) == ("round", "4")


@pytest.mark.parametrize("bad", [None, math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("kind", ["linear", "log"])
def test_what_has_no_place_is_left_out(bad: float | None, kind: str) -> None:
    trace = markers([bad, 1, 2], [1, bad, 1])
    text = static_svg(
        spec(trace, lines([bad, 1], [1, 1]), x=axis(0, 1, kind), y=axis(0, 2, kind)), "f", "", ""
    )
    svg = ElementTree.fromstring(text)
    assert len(uses(svg)) == 1
    assert not re.search(r"\b(nan|inf|None)\b", text)


def test_zero_is_nowhere_on_a_logarithmic_axis() -> None:
    assert len(uses(drawn(spec(markers([0, -1, 10], [1, 1, 1]), x=axis(0, 1, "log"), y=axis(0, 2))))) == 1


def test_each_marker_has_its_own_symbol_and_colour() -> None:
    trace = markers([1, 2, 3], [1, 1, 1], symbol=["circle", "star", "star"], color=["red", "red", "blue"])
    svg = drawn(spec(trace, x=axis(0, 4), y=axis(0, 2)), "figure-7")
    ids = [n.get("id") for n in svg.iter("path") if n.get("id")]
    assert ids == ["figure-7-circle-8", "figure-7-star-8"]
    groups = [
        (g.get("fill"), [u.get("href") for u in g.findall("use")])
        for g in svg.iter("g")
        if g.find("use") is not None
    ]
    assert groups == [
        ("red", ["#figure-7-circle-8"]),
        ("red", ["#figure-7-star-8"]),
        ("blue", ["#figure-7-star-8"]),
    ]


@pytest.mark.parametrize("symbol", ["circle", "square", "diamond", "triangle-up", "cross", "star", "x-thin"])
def test_symbols_are_about_as_large_as_they_should_be(symbol: str) -> None:
    numbers = [abs(float(text)) for text in re.findall(r"-?\d+\.?\d*", outline(symbol, 10))]
    assert 8 <= max(number for number in numbers if number not in (20, 23.1)) <= 14


def test_ticks_stand_at_their_values_with_their_words() -> None:
    x = {**axis(0, 10), "tickvals": [0, 5], "ticktext": ["none", "half"], "title": {"text": "Loads"}}
    y = {**axis(0, 1), "tickvals": [1], "ticktext": ["one<br>more"], "title": {"text": "Rates"}}
    svg = drawn(spec(x=x, y=y))
    texts = {"".join(n.itertext()): n for n in svg.iter("text")}
    assert {"none", "half", "onemore", "Loads", "Rates"} == set(texts)
    assert (texts["none"].get("x"), texts["half"].get("x")) == ("0%", "50%")
    assert [span.text for span in texts["onemore"].iter("tspan")] == ["more"]
    (grid,) = [n.get("d") for n in svg.iter("path") if n.get("class") == "ls-grid"]
    assert grid == f"M0 0v200M500 0v200M0 0h{WIDE}"


def test_shapes_are_cut_at_the_edges_of_the_plot() -> None:
    shape = {
        "type": "rect",
        "x0": 8,
        "x1": 40,
        "layer": "below",
        "fillcolor": "var(--ls-band)",
        "line": {"width": 0},
    }
    svg = drawn(spec(x=axis(0, 10), y=axis(0, 1), shapes=[shape]))
    assert svg.find(".//path").get("d") == f"M800 0H{WIDE}V200H800z"  # type: ignore[union-attr]


def test_a_line_across_lies_above_the_data() -> None:
    line = {"color": "var(--ls-bad)", "width": 2, "dash": "dash"}
    shape = {"type": "line", "x0": 5, "x1": 5, "line": line}
    svg = drawn(spec(lines([0, 10], [0, 1]), x=axis(0, 10), y=axis(0, 1), shapes=[shape]))
    last = list(svg.iter("path"))[-1]
    assert (last.get("d"), last.get("stroke-dasharray")) == ("M500 0v200", "9")


def test_cells_are_coloured_by_their_share_and_hold_their_text() -> None:
    cells = {
        **{
            "type": "heatmap",
            "x": [0, 1],
            "y": [1, 0],
            "z": [[1.0, 0.25], [0.5, None]],
            "xgap": 2,
            "ygap": 2,
        },
        **{
            "text": [["≥ 9", "2"], ["5", ""]],
            "colorscale": [[0, "var(--ls-heat-0)"], [1, "var(--ls-heat-1)"]],
        },
        "textfont": {"color": "var(--ls-ink)"},
    }
    svg = drawn(spec(cells, x=axis(-0.5, 1.5), y=axis(-0.5, 1.5)))
    found = [(n.get("x"), n.get("y"), n.get("style", "").split()[-1]) for n in svg.iter("rect")]
    shares = [re.search(r"heat-1\) ([\d.]+)%", n.get("style", ""))[1] for n in svg.iter("rect")]  # type: ignore[index]
    assert [place[:2] for place in found] == [("0%", "0"), ("50%", "0"), ("0%", "100")]
    assert shares == ["100", "25", "50"]
    texts = [(n.get("x"), n.text) for n in svg.iter("text")]
    assert texts == [("25%", "≥ 9"), ("75%", "2"), ("25%", "5")]


# --- axes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("high", [3e-7, 0.004, 0.7, 1, 9.99, 37, 130, 6_630, 40_000, 2.5e9])
@pytest.mark.parametrize("count", [2, 3, 5, 7])
def test_linear_ticks_are_few_even_round_and_within(high: float, count: int) -> None:
    axis = axes.linear([high / 3, high], count)
    ticks, (first, last) = axis["tickvals"], axis["range"]
    assert 2 <= len(ticks) <= count + 1
    steps = [b - a for a, b in pairwise(ticks)]
    assert max(steps) == pytest.approx(min(steps))
    assert first == 0
    assert ticks[0] == 0
    assert high < last < high * 1.1
    assert ticks[-1] <= last
    assert [float(text.replace(",", "")) for text in axis["ticktext"]] == pytest.approx(ticks)


@pytest.mark.parametrize(("low", "high"), [(0.3, 550), (1, 1.4), (40, 90), (2e-4, 9e-3), (1, 1e9)])
def test_logarithmic_ticks_are_within_and_not_too_many(low: float, high: float) -> None:
    axis = axes.logarithmic([low, high], 7)
    first, last = axis["range"]
    assert first < math.log10(low) < math.log10(high) < last
    assert 1 <= len(axis["tickvals"]) <= 7
    assert all(first <= math.log10(tick) <= last for tick in axis["tickvals"])
    assert [float(text.replace(",", "")) for text in axis["ticktext"]] == pytest.approx(axis["tickvals"])


@pytest.mark.parametrize("high", [3e-7, 0.7, 9.99, 37, 130, 5_400, 6_630, 40_000])
def test_an_axis_may_end_at_a_tick_past_the_data(high: float) -> None:
    axis = axes.linear([high / 3, high], 8, beyond=True)
    assert 5 <= len(axis["tickvals"]) <= 9
    assert axis["tickvals"][-1] == pytest.approx(axis["range"][1])
    assert high < axis["range"][1] < high * 1.3


def test_axes_of_equal_values_and_of_none_have_a_range() -> None:
    for axis in (axes.linear([], 5), axes.linear([0, 0], 5), axes.linear([-3, -3], 5), axes.at([4], ["4"])):
        first, last = axis["range"]
        assert first < last


def test_labels_get_room_for_their_widest_line() -> None:
    wide, short = axes.label_margin(["漢字漢字"], 10), axes.label_margin(["abcd"], 10)
    assert wide > short > 10
    assert axes.label_margin(["a<br>abcd"], 10) == short
    assert axes.pixels("&lt;&lt;") == axes.pixels("WW") > axes.pixels("ii")
    assert axes.fitting(["1,000,000"], 250, 9) < axes.fitting(["10"], 250, 9)
    assert [axes.every(["10"] * count, 100) for count in (2, 3, 5, 8)] == [1, 1, 2, 3]


# --- names -------------------------------------------------------------------------------------------


def test_hostile_names_are_text_in_picture_legend_and_box() -> None:
    label = plotly_text(EVIL)
    x = {
        **axis(0, 1),
        "tickvals": [0],
        "ticktext": ["<br>".join(plotly_lines(EVIL, 20))],
        "title": {"text": label},
    }
    trace = {**markers([0], [0]), "name": label}
    what = spec(trace, x=x, y=axis(0, 1))
    text = box(Figure(what, EVIL, 250, 300, EVIL), "figure-1") + legend(what)
    for tag in ("<img", "<script", "<b>"):
        assert tag not in text
    root = ElementTree.fromstring(f"<div>{re.sub(r' data-search-exclude', '', text)}</div>")
    assert not [node for node in root.iter() if "onerror" in node.attrib]
    assert "<img src=x onerror" in "".join(root.find(".//title").itertext())  # type: ignore[union-attr]
    assert "<img src=x onerror" in "".join(root.find(".//bdi").itertext())  # type: ignore[union-attr]
    assert root.find(".//desc").text.split() == EVIL.split()  # type: ignore[union-attr]


def test_picture_names_and_tells_itself_to_a_screen_reader() -> None:
    svg = drawn(spec(x=axis(0, 1), y=axis(0, 1)), "figure-3")
    assert svg.get("role") == "img"
    named = [svg.find(f"*[@id='{name}']") for name in svg.get("aria-labelledby", "").split()]
    assert [node.text for node in named if node is not None] == ["A title", "Some words."]


# --- a real chart ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def chart(tmp_path_factory: pytest.TempPathFactory) -> tuple[View, Figure]:
    artifacts = tmp_path_factory.mktemp("artifacts")
    write_run(artifacts, "ref-flawed", mutate=flawed, raw=False)
    view = load(artifacts, ["ref-flawed"])["ref-flawed"]
    assert isinstance(view, View)
    (grid,) = grids(view, ["server"], "workload", ["rps"], {"workload": "get_item"})
    lines = lines_of(grid, "get_item", {})
    return view, range_chart(grid, "get_item", lines, "ref-flawed-rps-get_item")


def test_range_chart_draws_every_attempt_in_its_row(chart: tuple[View, Figure]) -> None:
    view, figure = chart
    svg = ElementTree.fromstring(static_svg(figure.spec, "figure-1", figure.label, figure.words))
    first, last = figure.spec["layout"]["xaxis"]["range"]
    found: dict[float, list[float]] = {}
    for x, y in uses(svg):
        found.setdefault(y, []).append(first + (last - first) * x / 100)
    rows = [row for row in view.rows("rps") if row["role"] == "case" and row["workload"] == "get_item"]
    rows.sort(key=lambda row: -row["median"] if row["n"] else 0)
    assert len(found) == len(rows) == 14
    for row, y in zip(rows, sorted(found), strict=True):
        values = [p.value for p in view.points(row["case"], "rps") if p.value is not None]
        values += [row["median"]] if row["n"] else []
        assert sorted(found[y]) == pytest.approx(sorted(values), abs=(last - first) * 1e-4)


def test_range_chart_tells_in_words_what_it_shows(chart: tuple[View, Figure]) -> None:
    _, figure = chart
    assert figure.words.startswith("14 rows, the best median first. Best: granian, ≥ 40,000 requests/s (")
    assert "Samples that do not count: 1 rejected and 7 failed." in figure.words


def test_picture_costs_little(chart: tuple[View, Figure]) -> None:
    """Of a chart of 14 rows and 70 samples: well under a millisecond, and a few kilobytes."""
    _, figure = chart
    times = []
    for _ in range(50):
        start = time.perf_counter()
        text = static_svg(figure.spec, "figure-1", figure.label, figure.words)
        times.append(time.perf_counter() - start)
    assert min(times) < 0.0005
    assert len(text) < 12_000


def test_symbol_ids_are_of_the_figure(chart: tuple[View, Figure], tmp_path: Path) -> None:
    _, figure = chart
    one, two = (static_svg(figure.spec, f"figure-{n}", "", "") for n in (1, 2))
    ids = [set(re.findall(r' id="([^"]+)"', text)) for text in (one, two)]
    assert ids[0]
    assert not ids[0] & ids[1]
    assert set(re.findall(r'href="#([^"]+)"', one)) <= ids[0]
