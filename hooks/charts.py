"""Range charts: every sample drawn, the median marked, the noise band shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hooks import markup
from hooks.cells import figure, floor_sign, shown, spread
from hooks.figures import Figure, base_layout, config
from hooks.grid import Grid, describe_fixed
from hooks.hues import DEFAULT, Style
from hooks.markup import escape, plotly_lines, plotly_text
from hooks.tables import heading, swatch
from hooks.view import Point, Row
from runner.metrics import METRICS, Metric

_ROW, _TOP, _BOTTOM, _TICK_LINE = 30, 44, 52, 17
# Beyond this spread a linear axis would press most rows into its edge.
_LOG_SPREAD = 25
_LABEL = 24


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
    """
    metric = METRICS[grid.metrics[0]]
    scale, unit = metric.scale, metric.display_unit
    samples: dict[str, list[Any]] = {"x": [], "y": [], "hovertext": []}
    others: dict[str, list[Any]] = {"x": [], "y": [], "hovertext": []}
    medians: dict[str, list[Any]] = {"x": [], "y": [], "hovertext": []}
    ranges: dict[str, list[Any]] = {"x": [], "y": []}
    colours, symbols = [], []
    for y, line in zip(range(len(lines) - 1, -1, -1), lines, strict=True):
        row, label = line.row, plotly_text(line.label)
        for point, text in zip(line.points, line.shown, strict=True):
            if point.value is None:
                continue
            hover = hover_text(f"<b>{label}</b>", f"{text} {unit}", point)
            trace = samples if point.status == "accepted" else others
            if trace is samples:
                colours.append(line.style.colour)
                symbols.append(line.style.symbol)
            trace["x"].append(point.value * scale)
            trace["y"].append(y)
            trace["hovertext"].append(hover)
        if row["n"]:
            medians["x"].append(row["median"] * scale)
            medians["y"].append(y)
            medians["hovertext"].append(_hover(label, unit, row))
            ranges["x"] += [row["low"] * scale, row["high"] * scale, None]
            ranges["y"] += [y, y, None]
    marker = {"size": 8, "opacity": 0.9, "line": {"color": "var(--ls-paper)", "width": 1}}
    tick = {"symbol": "line-ns", "size": 17, "color": "var(--ls-ink)"}
    tick["line"] = {"color": "var(--ls-ink)", "width": 2.5}
    data = [
        _trace("range", "lines", ranges, line={"color": "var(--ls-faint)", "width": 6}, hoverinfo="skip"),
        _trace("sample", "markers", samples, marker={**marker, "color": colours, "symbol": symbols}),
        _trace("median", "markers", medians, marker=tick),
    ]
    if others["x"]:
        cross = {"symbol": "x-thin", "size": 9, "line": {"color": "var(--ls-bad)", "width": 2}}
        data.append(_trace("does not count", "markers", others, marker=cross))
    values = [*samples["x"], *others["x"]]
    log = bool(values) and min(values) > 0 and max(values) / min(values) > _LOG_SPREAD
    ticks = [_tick(line) for line in lines]
    row_height = max([_ROW, *(_TICK_LINE * (text.count("<br>") + 1) + 8 for text in ticks)])
    height = _TOP + _BOTTOM + row_height * max(1, len(lines))
    title = heading(metric.key) + (" (log scale)" if log else "")
    layout = base_layout(
        height,
        margin={"l": 10, "r": 14, "t": _TOP, "b": _BOTTOM},
        hovermode="closest",
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "font": {"size": 12}},
        xaxis={
            "title": {"text": title, "standoff": 8, "font": {"size": 13}},
            "type": "log" if log else "linear",
            "rangemode": "tozero",
            "gridcolor": "var(--ls-line)",
            "zeroline": False,
            "fixedrange": True,
            "tickformat": ",",
            "nticks": 5,
        },
        yaxis={
            "tickmode": "array",
            "tickvals": list(range(len(lines) - 1, -1, -1)),
            "ticktext": ticks,
            "range": [-0.6, max(0, len(lines) - 1) + 0.6],
            "ticklabelstandoff": 8,
            "automargin": True,
            "fixedrange": True,
            "showgrid": False,
            "zeroline": False,
        },
        shapes=_band_shape(metric, [line.row for line in lines]),
    )
    spec = {"data": data, "layout": layout, "config": config(name)}
    label = f"Chart: {chart_title(grid, column)}. Its figures follow as a table."
    return Figure(spec, label, height)


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


def hover_text(head: str, text: str, point: Point) -> str:
    """What an attempt's point tells: ``head`` in Plotly's markup, its figure, and why it does not count."""
    told = f"{head}<br>{text}, round {point.repeat}"
    if point.status != "accepted":
        told += f"<br>{point.status}, does not count: {plotly_text(point.reason)}"
    return told


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


def _tick(line: Line) -> str:
    """The row's name, and "≥" where its figure is a bound."""
    sign = f" {floor_sign(line.row).strip()}" if line.row["n"] else ""
    return f"{'<br>'.join(plotly_lines(line.label, _LABEL))}{sign}"


def _hover(label: str, unit: str, row: Row) -> str:
    tier = f"tier {row['tier']}" if row["tier"] is not None else plotly_text(row["untiered"])
    text = f"<b>{label}</b><br>median {figure(row)} {unit}<br>range {spread(row)}, n = {row['n']}<br>{tier}"
    if row["rejected"] or row["failed"]:
        text += f"<br>{row['rejected']} rejected, {row['failed']} failed"
    return text


def _trace(name: str, mode: str, columns: dict[str, list[Any]], **more: Any) -> dict[str, Any]:
    return {"type": "scatter", "name": name, "mode": mode, "hoverinfo": "text", **columns, **more}


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
            "name": "noise band",
            "showlegend": True,
        }
    ]
