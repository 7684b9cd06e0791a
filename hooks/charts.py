"""Range charts: every sample drawn, the median marked, the noise band shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hooks import axes, markup
from hooks.cells import figure, floor_sign, percent, shown, spread
from hooks.figures import Figure, about_figure, base_layout, config
from hooks.grid import Grid, describe_fixed
from hooks.hover import Hover, add, attempt_words, columns, drawn, out_words
from hooks.hues import DEFAULT, Style
from hooks.markup import escape, plotly_lines, plotly_text, text_width
from hooks.tables import heading, swatch
from hooks.view import Point, Row
from runner.metrics import METRICS, Metric

_ROW, _TOP, _BOTTOM, _TICK_LINE = 30, 10, 46, 17
# Beyond this spread a linear axis would press most rows into its edge.
_LOG_SPREAD = 25
# Names of one line stand above their rows in a narrow figure; where one is longer, all stay beside them.
_LABEL, _ONE_LINE = 24, 40
_TICKS, _RIGHT, _NARROW_LEFT = 8, 18, 10
OUT = "does not count"
CROSS = {"symbol": "x-thin", "size": 9, "line": {"color": "var(--ls-bad)", "width": 2}}
"""How attempts that do not count are called and drawn, in every chart."""


@dataclass(frozen=True)
class Line:
    """One row of a chart: its name, its summary and its attempts by round, with their figures as text."""

    label: str
    style: Style
    row: Row
    points: list[Point]
    shown: list[str]


def lines_of(grid: Grid, column: str | int | None, styles: Mapping[str, Style]) -> list[Line]:
    """The lines of one column, best median first; those without one last."""
    metric, found = grid.metrics[0], []
    for key in grid.rows:
        row = grid.cells.get((key, column, metric))
        if row is None:
            continue
        points = grid.view.points(row["case"], metric)
        values = dict(zip(grid.row_dimensions, key, strict=True))
        style = styles.get(str(values.get("server", "")), DEFAULT)
        shown_points = ["" if point.value is None else shown(metric, point.value) for point in points]
        found.append(Line(grid.row_label(key), style, row, points, shown_points))
    sign = -1 if METRICS[metric].better == "higher" else 1
    found.sort(key=lambda line: (not line.row["n"], sign * line.row["median"] if line.row["n"] else 0.0))
    return found


def range_chart(grid: Grid, column: str | int | None, lines: list[Line], name: str) -> Figure:
    """One metric of one column: a line from the smallest to the largest sample of each row.

    Traces, in this order: ranges, samples, medians, and where there are any, attempts that do not count.
    ``name`` is that of a file with its picture.
    """
    metric = METRICS[grid.metrics[0]]
    rows = [line.row for line in lines]
    hover = Hover()
    data = _traces(lines, metric, hover)
    values = [value for trace in data[1:] for value in trace["x"]]
    log = bool(values) and min(values) > 0 and max(values) / min(values) > _LOG_SPREAD
    above = all(text_width(line.label) <= _ONE_LINE for line in lines)
    ticks = [_tick(line, _ONE_LINE if above else _LABEL) for line in lines]
    left = axes.label_margin(ticks, 16)
    room = (axes.NARROW if above else axes.PHONE) - left - 2 * _RIGHT
    most = axes.fitting([f"{max(values, default=1):,.0f}"], room, _TICKS)
    across = axes.logarithmic(values, most) if log else axes.linear(values, most, beyond=True)
    right = max(_RIGHT, round(axes.pixels(across["ticktext"][-1]) / 2) + 2) if across["ticktext"] else _RIGHT
    margin = {"l": left, "r": right, "t": _TOP, "b": _BOTTOM}
    row_height = max([_ROW, *(_TICK_LINE * (text.count("<br>") + 1) + 8 for text in ticks)])
    height = _TOP + _BOTTOM + row_height * max(1, len(lines))
    title = heading(metric.key) + (" (log scale)" if log else "")
    places = list(range(len(lines) - 1, -1, -1))
    layout = base_layout(
        height,
        margin=margin,
        hovermode="closest",
        showlegend=False,
        xaxis={
            **across,
            "title": {"text": title, **axes.TITLE},
            "gridcolor": "var(--ls-line)",
        },
        yaxis={
            **axes.at(places, ticks),
            "range": [-0.6, max(0, len(lines) - 1) + 0.6],
            "ticklabelstandoff": 8,
            "automargin": True,
            "showgrid": False,
        },
        shapes=_band_shape(metric, rows),
    )
    about = about_figure(
        grid.view, metric.key, chart_title(grid, column), drawn_words(rows, "every sample, range"), name
    )
    spec = {"data": data, "layout": layout, "config": config(), "about": about, "places": hover.places}
    if above:
        narrow = axes.PHONE - _NARROW_LEFT - right
        spec["narrow"] = {"left": _NARROW_LEFT, "every": axes.every(across["ticktext"], narrow)}
    return Figure(spec, f"Chart: {about['title']}", height, words=_words(lines, metric))


def _traces(lines: Sequence[Line], metric: Metric, hover: Hover) -> list[dict[str, Any]]:
    scale, unit = metric.scale, metric.display_unit
    samples, others, medians = columns(), columns(), columns()
    ranges: dict[str, list[Any]] = {"x": [], "y": []}
    colours: list[str] = []
    symbols: list[str] = []
    for y, line in zip(range(len(lines) - 1, -1, -1), lines, strict=True):
        row = line.row
        place = hover.place(f"<b>{plotly_text(line.label)}</b>", row)
        for point, text in zip(line.points, line.shown, strict=True):
            if point.value is None:
                continue
            trace = samples if point.status == "accepted" else others
            add(trace, drawn(point.value * scale), y, place, attempt_words(f"{text} {unit}", point))
        more = len(samples["x"]) - len(colours)
        colours += [line.style.colour] * more
        symbols += [line.style.symbol] * more
        if row["n"]:
            add(medians, drawn(row["median"] * scale), y, place)
            ranges["x"] += [drawn(row["low"] * scale), drawn(row["high"] * scale), None]
            ranges["y"] += [y, y, None]
    marker = {"size": 8, "opacity": 0.9, "line": {"color": "var(--ls-paper)", "width": 1}}
    tick = {"symbol": "line-ns", "size": 14, "color": "var(--ls-ink)"}
    tick["line"] = {"color": "var(--ls-ink)", "width": 2.5}
    data = [
        _trace("range", "lines", ranges, line={"color": "var(--ls-faint)", "width": 6}, hoverinfo="skip"),
        _trace("sample", "markers", samples, marker={**marker, "color": colours, "symbol": symbols}),
        _trace("median", "markers", medians, marker=tick),
    ]
    if others["x"]:
        data.append(_trace(OUT, "markers", others, marker=CROSS))
    return data


def _words(lines: Sequence[Line], metric: Metric) -> str:
    """The chart in a few sentences, for those who cannot see it."""
    told = [f"{len(lines)} row{'s' if len(lines) != 1 else ''}, the best median first."]
    if ranked := [line for line in lines if line.row["n"]]:
        first, last = (
            f"{n.label}, {figure(n.row)} {metric.display_unit} ({spread(n.row)})"
            for n in (ranked[0], ranked[-1])
        )
        told.append(f"Best: {first}." if len(ranked) == 1 else f"Best: {first}; last: {last}.")
    rejected, failed = (sum(line.row[key] for line in lines) for key in ("rejected", "failed"))
    if outs := out_words(rejected, failed):
        told.append(f"Samples that do not count: {outs}.")
    return " ".join([*told, "Its figures follow as a table."])


def chart_title(grid: Grid, column: str | int | None) -> str:
    """What a chart shows, as text: ``Throughput, GET /items (1 worker, 100 connections)``."""
    label, fixed = grid.column_label(column), describe_fixed(grid.view, grid.fixed)
    title = METRICS[grid.metrics[0]].label + (f", {label}" if label else "")
    return f"{title} ({fixed})" if fixed else title


def band_of(rows: list[Row]) -> float | None:
    """The relative noise band of a group's rows; None where it is unknown."""
    known = [row["band"] for row in rows if row["band"] == row["band"]]
    return max(known) if known else None


def samples_table(grid: Grid, column: str | int | None, lines: list[Line]) -> str:
    """The chart's figures as an HTML table: median, range, tier and every attempt."""
    metric = METRICS[grid.metrics[0]]
    body = []
    for line in lines:
        row = line.row
        counted, rest = counted_and_not(line.points, line.shown)
        tier = str(row["tier"]) if row["tier"] is not None else f"none: {escape(row['untiered'])}"
        body.append(
            markup.row(
                f"{swatch(line.style)}<bdi>{escape(line.label)}</bdi>",
                figure(row),
                spread(row) if row["n"] else "–",
                tier,
                counted,
                rest,
            )
        )
    names = " and ".join(grid.row_dimensions).capitalize()
    heads = [names, "Median", "Range", "Tier", "Samples, by round", "Attempts that do not count"]
    return markup.table(f"{chart_title(grid, column)}: {metric.display_unit}", heads, body, "ls-samples")


def drawn_words(rows: Sequence[Row], also: str) -> str:
    """What a chart draws, for the foot of its picture: ``median of 5 samples, range; noise band 2.1 %``.

    ``also`` is what it draws beside the median.
    """
    counts = sorted({row["n"] for row in rows if row["n"]})
    many = f"{counts[0]}–{counts[-1]}" if len(counts) > 1 else "".join(map(str, counts)) or "no"
    words = f"median of {many} sample{'s' if counts != [1] else ''}{also and f', {also}'}"
    bands = sorted({row["band"] for row in rows if row["band"] == row["band"]})
    if bands:
        ends = dict.fromkeys(percent(band) for band in (bands[0], bands[-1]))
        words += f"; noise band {' to '.join(ends)}"
    return words


def counted_and_not(points: Sequence[Point], texts: Sequence[str]) -> tuple[str, str]:
    """The accepted attempts' figures by round, and the others with what became of them, as HTML."""
    counted, rest = [], []
    for point, text in zip(points, texts, strict=True):
        if point.status == "accepted":
            counted.append(text)
        else:
            why = f"{point.status}: {escape(point.reason)}"
            rest.append(f"{text} ({why})" if text else why)
    return " · ".join(counted) or "–", "; ".join(rest) or "–"


def _tick(line: Line, width: int) -> str:
    """The row's name in lines of ``width`` columns, and "≥" where its figure is a bound."""
    sign = f" {floor_sign(line.row).strip()}" if line.row["n"] else ""
    return f"{'<br>'.join(plotly_lines(line.label, width))}{sign}"


def _trace(name: str, mode: str, columns: dict[str, list[Any]], **more: Any) -> dict[str, Any]:
    return {
        **{"type": "scatter", "name": name, "mode": mode, "cliponaxis": False, "hoverinfo": "text"},
        **columns,
        **more,
    }


def _band_shape(metric: Metric, rows: list[Row]) -> list[dict[str, Any]]:
    """The noise band, around the best median: what ends inside it is not told apart from the best."""
    band, ranked = band_of(rows), [row for row in rows if row["n"]]
    if band is None or band >= 2 or not ranked:  # of 2 and more, everything is within it
        return []
    best = ranked[0]["median"] * metric.scale
    # The band is relative to the middle of the two figures compared: b = a (2 − band) / (2 + band).
    worse, better = (2 - band) / (2 + band), (2 + band) / (2 - band)
    return [
        {
            "type": "rect",
            "xref": "x",
            "yref": "paper",
            "x0": best * worse,
            "x1": best * better,
            "y0": 0,
            "y1": 1,
            "layer": "below",
            "fillcolor": "var(--ls-band)",
            "line": {"width": 0},
            "name": f"noise band {percent(band)}",
            "showlegend": True,
        }
    ]
