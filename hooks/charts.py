"""Range charts: every sample drawn, the median marked, the noise band shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hooks import markup
from hooks.cells import figure, floor_sign, spread
from hooks.figures import Figure, base_layout, config
from hooks.grid import Grid, Key, describe_fixed
from hooks.hues import DEFAULT, Style
from hooks.markup import escape, plotly_lines, plotly_text
from hooks.tables import heading, swatch
from hooks.view import Row, View
from runner.metrics import METRICS, Metric

_ROW, _TOP, _BOTTOM, _TICK_LINE = 30, 44, 52, 17
# Beyond this spread a linear axis would press most rows into its edge.
_LOG_SPREAD = 25
_LABEL = 24


@dataclass(frozen=True)
class Point:
    """One attempt's figure, in the metric's base unit."""

    value: float
    status: str
    repeat: int
    attempt: int
    reason: str


def points(view: View, row: Row) -> list[Point]:
    """Every attempt of a row's case that has the metric, in the order of rounds."""
    metric = row["metric"]
    return [
        Point(
            sample.metrics[metric],
            sample.status,
            sample.repeat,
            sample.attempt,
            "; ".join(dict.fromkeys(note.code for note in sample.reasons)),
        )
        for sample in view.samples[row["case"]]
        if metric in sample.metrics
    ]


def range_chart(grid: Grid, column: str | int | None, name: str, styles: Mapping[str, Style]) -> Figure:
    """One metric of one column: a line from the smallest to the largest sample of each row.

    Traces, in this order: ranges, samples, medians, and where there are any, attempts that do not count.
    """
    view, metric = grid.view, METRICS[grid.metrics[0]]
    rows = _ordered(grid, column)
    places = {key: len(rows) - 1 - index for index, (key, _) in enumerate(rows)}
    samples: dict[str, list[Any]] = {"x": [], "y": [], "hovertext": [], "color": [], "symbol": []}
    others: dict[str, list[Any]] = {"x": [], "y": [], "hovertext": []}
    medians: dict[str, list[Any]] = {"x": [], "y": [], "hovertext": []}
    lines: dict[str, list[Any]] = {"x": [], "y": []}
    for key, row in rows:
        y, label = places[key], plotly_text(grid.row_label(key))
        style = _style(grid, key, styles)
        for point in points(view, row):
            text = f"<b>{label}</b><br>{_unit(metric, metric.show(point.value))}, round {point.repeat}"
            if point.status == "accepted":
                _append(samples, x=point.value * metric.scale, y=y, hovertext=text)
                _append(samples, color=style.colour, symbol=style.symbol)
            else:
                text += f"<br>{point.status}, does not count: {plotly_text(point.reason)}"
                _append(others, x=point.value * metric.scale, y=y, hovertext=text)
        if row["n"]:
            _append(medians, x=row["median"] * metric.scale, y=y, hovertext=_hover(label, metric, row))
            lines["x"] += [row["low"] * metric.scale, row["high"] * metric.scale, None]
            lines["y"] += [y, y, None]
    data = [
        _trace("range", "lines", lines, line={"color": "var(--ls-faint)", "width": 6}, hoverinfo="skip"),
        _trace(
            "sample",
            "markers",
            {axis: samples[axis] for axis in ("x", "y", "hovertext")},
            marker={
                "color": samples["color"],
                "symbol": samples["symbol"],
                "size": 8,
                "opacity": 0.9,
                "line": {"color": "var(--ls-paper)", "width": 1},
            },
        ),
        _trace(
            "median",
            "markers",
            medians,
            marker={
                "symbol": "line-ns",
                "size": 17,
                "color": "var(--ls-ink)",
                "line": {"color": "var(--ls-ink)", "width": 2.5},
            },
        ),
    ]
    if others["x"]:
        marker = {"symbol": "x-thin", "size": 9, "line": {"color": "var(--ls-bad)", "width": 2}}
        data.append(_trace("does not count", "markers", others, marker=marker))
    shown = [value for value in [*samples["x"], *others["x"]] if value is not None]
    log = bool(shown) and min(shown) > 0 and max(shown) / min(shown) > _LOG_SPREAD
    ticks = [_tick(grid, key, row) for key, row in rows]
    row_height = max([_ROW, *(_TICK_LINE * (tick.count("<br>") + 1) + 8 for tick in ticks)])
    height = _TOP + _BOTTOM + row_height * max(1, len(rows))
    layout = base_layout(
        height,
        margin={"l": 10, "r": 14, "t": _TOP, "b": _BOTTOM},
        hovermode="closest",
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "font": {"size": 12}},
        xaxis={
            "title": {
                "text": heading(metric.key) + (" (log scale)" if log else ""),
                "standoff": 8,
                "font": {"size": 13},
            },
            "type": "log" if log else "linear",
            "rangemode": "tozero",
            "gridcolor": "var(--ls-line)",
            "zeroline": False,
            "fixedrange": True,
            "nticks": 6,
        },
        yaxis={
            "tickmode": "array",
            "tickvals": [places[key] for key, _ in rows],
            "ticktext": ticks,
            "range": [-0.6, max(0, len(rows) - 1) + 0.6],
            "automargin": True,
            "fixedrange": True,
            "showgrid": False,
            "zeroline": False,
        },
        shapes=_band_shape(metric, [row for _, row in rows]),
    )
    title = chart_title(grid, column)
    spec = {"data": data, "layout": layout, "config": config(name)}
    return Figure(name, spec, f"Chart: {title}. Its figures follow as a table.", height)


def chart_title(grid: Grid, column: str | int | None) -> str:
    """What a chart shows, as text: ``Throughput, GET /items (1 worker, 100 connections)``."""
    label, fixed = grid.column_label(column), describe_fixed(grid.view, grid.fixed)
    title = METRICS[grid.metrics[0]].label + (f", {label}" if label else "")
    return f"{title} ({fixed})" if fixed else title


def band_of(rows: list[Row]) -> float | None:
    """The relative noise band of a group's rows; None where it is unknown."""
    known = [row["band"] for row in rows if row["band"] == row["band"]]
    return max(known) if known else None


def samples_table(grid: Grid, column: str | int | None, styles: Mapping[str, Style]) -> str:
    """The chart's figures as an HTML table: median, range, tier and every attempt."""
    view, metric = grid.view, METRICS[grid.metrics[0]]
    body = []
    for key, row in _ordered(grid, column):
        counted, rest = [], []
        for point in points(view, row):
            text = metric.show(point.value)
            if point.status == "accepted":
                counted.append(text)
            else:
                rest.append(f"{text} ({point.status}: {escape(point.reason)})")
        unmeasured = [
            f"{sample.status}: {escape('; '.join(note.code for note in sample.reasons))}"
            for sample in view.samples[row["case"]]
            if sample.status != "accepted" and metric.key not in sample.metrics
        ]
        tier = str(row["tier"]) if row["tier"] is not None else f"none: {escape(row['untiered'])}"
        name = f"{swatch(_style(grid, key, styles))}<bdi>{escape(grid.row_label(key))}</bdi>"
        shown = spread(row) if row["n"] else "–"
        others = "; ".join([*rest, *unmeasured]) or "–"
        body.append(markup.row(name, figure(row), shown, tier, " · ".join(counted) or "–", others))
    names = " and ".join(grid.row_dimensions).capitalize()
    heads = [names, "Median", "Range", "Tier", "Samples, by round", "Attempts that do not count"]
    text = f"{chart_title(grid, column)}: {metric.display_unit}"
    return markup.table(text, heads, body, "ls-samples")


def _ordered(grid: Grid, column: str | int | None) -> list[tuple[Key, Row]]:
    """The column's rows, best median first; those without one last."""
    sign = -1 if METRICS[grid.metrics[0]].better == "higher" else 1
    found = [
        (key, grid.cells[key, column, grid.metrics[0]])
        for key in grid.rows
        if (key, column, grid.metrics[0]) in grid.cells
    ]
    return sorted(found, key=lambda item: (not item[1]["n"], sign * item[1]["median"] if item[1]["n"] else 0))


def _style(grid: Grid, key: Key, styles: Mapping[str, Style]) -> Style:
    values = dict(zip(grid.row_dimensions, key, strict=True))
    return styles.get(str(values.get("server", "")), DEFAULT)


def _tick(grid: Grid, key: Key, row: Row) -> str:
    """The row's name, and "≥" where its figure is a bound."""
    lines = plotly_lines(grid.row_label(key), _LABEL)
    sign = f" {floor_sign(row).strip()}" if row["n"] else ""
    return f"{'<br>'.join(lines)}{sign} "


def _hover(label: str, metric: Metric, row: Row) -> str:
    lines = [f"<b>{label}</b>", f"median {_unit(metric, figure(row))}"]
    lines.append(f"range {spread(row)}, n = {row['n']}")
    lines.append(f"tier {row['tier']}" if row["tier"] is not None else plotly_text(row["untiered"]))
    if row["rejected"] or row["failed"]:
        lines.append(f"{row['rejected']} rejected, {row['failed']} failed")
    return "<br>".join(lines)


def _unit(metric: Metric, shown: str) -> str:
    return f"{shown} {metric.display_unit}".strip()


def _append(columns: dict[str, list[Any]], **values: Any) -> None:
    for name, value in values.items():
        columns[name].append(value)


def _trace(name: str, mode: str, columns: dict[str, list[Any]], **more: Any) -> dict[str, Any]:
    return {"type": "scatter", "name": name, "mode": mode, "hoverinfo": "text", **columns, **more}


def _band_shape(metric: Metric, rows: list[Row]) -> list[dict[str, Any]]:
    """The noise band, around the best median: what ends inside it is not told apart from the best."""
    band, ranked = band_of(rows), [row for row in rows if row["n"]]
    if band is None or not ranked:
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
