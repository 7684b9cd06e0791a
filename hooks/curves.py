"""A metric against a number (connections, workers, load): every sample drawn, the medians joined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hooks import markup
from hooks.cells import figure, shown, spread
from hooks.charts import counted_and_not, hover_text
from hooks.figures import Figure, base_layout, config
from hooks.grid import describe_fixed
from hooks.hues import DEFAULT, HUES, Style, symbol
from hooks.markup import escape, plotly_text
from hooks.near import near
from hooks.tables import heading, swatch
from hooks.view import Point, Row, View
from runner.errors import AnalysisError
from runner.metrics import METRICS

_HEIGHT = 380
# An axis that spans more than a decade is logarithmic, or its lower end could not be read.
_DECADE = 10
_DASHES = ["solid", "dash", "dot"]


@dataclass(frozen=True)
class Stop:
    """One place on a curve: ``x``, the summary's row, and all its attempts with their figures as text."""

    x: int
    row: Row
    points: list[Point]
    shown: list[str]


@dataclass(frozen=True)
class Curve:
    """A name and its stops by ``x``; rows of one metric."""

    label: str
    style: Style
    stops: list[Stop]


@dataclass(frozen=True)
class Plot:
    """One chart: its title, what ``x`` is called, and its curves, whose unit is that of ``metric``.

    ``y_title`` is for curves of several metrics; empty takes the metric's own.
    """

    title: str
    x_title: str
    metric: str
    curves: list[Curve]
    y_title: str = ""


def stop(view: View, x: int, row: Row) -> Stop:
    """A row's place on a curve."""
    points = view.points(row["case"], row["metric"])
    texts = ["" if point.value is None else shown(row["metric"], point.value) for point in points]
    return Stop(x, row, points, texts)


def plots(
    view: View,
    x: str,
    rows: Sequence[str],
    columns: str | None,
    metric: str,
    where: Mapping[str, Any],
    styles: Mapping[str, Style],
) -> list[Plot]:
    """A plot for each value of ``columns``, and for each combination of what is in no axis.

    Series are not kept apart, because a scan has one for each of its numbers. Raises AnalysisError for a
    dimension that the run does not have, or an ``x`` that is no number.
    """
    for name in [x, *rows, *([columns] if columns else [])]:
        if name not in view.dimensions:
            raise AnalysisError(f"run {view.id} has no dimension {name!r}", near(name, view.dimensions))
    split: dict[tuple[tuple[str, str | int], ...], list[Row]] = {}
    for row in view.select(metric, where):
        dimensions = view.cases[row["case"]].dimensions
        if not isinstance(dimensions.get(x), int):
            raise AnalysisError(f"{row['case']}: its {x} is no number, so nothing can be drawn against it")
        rest = tuple((name, value) for name, value in dimensions.items() if name not in (x, *rows))
        split.setdefault(rest, []).append(row)
    title = METRICS[metric].label
    return [
        Plot(
            f"{title} against {x}" + (f" ({words})" if (words := describe_fixed(view, dict(rest))) else ""),
            x.capitalize(),
            metric,
            _curves(view, x, rows, part, styles),
        )
        for rest, part in split.items()
    ]


def _curves(
    view: View, x: str, rows: Sequence[str], part: Sequence[Row], styles: Mapping[str, Style]
) -> list[Curve]:
    found: dict[tuple[str | int, ...], list[Stop]] = {}
    for row in part:
        dimensions = view.cases[row["case"]].dimensions
        key = tuple(dimensions.get(name, "") for name in rows)
        found.setdefault(key, []).append(stop(view, int(dimensions[x]), row))
    curves = []
    for number, (key, stops) in enumerate(found.items()):
        label = " · ".join(view.label(name, value) for name, value in zip(rows, key, strict=True))
        style = numbered(number)
        if "server" in rows:
            style = styles.get(str(key[list(rows).index("server")]), DEFAULT)
        curves.append(Curve(label, style, sorted(stops, key=lambda item: item.x)))
    return curves


def numbered(number: int) -> Style:
    """The style of a curve that stands for no server, by its position."""
    return Style(number % HUES, symbol(number))


def curve_figure(plot: Plot, name: str, shapes: Sequence[dict[str, Any]] = ()) -> Figure:
    """The chart: for each curve its samples and its joined medians; then attempts that do not count."""
    metric = METRICS[plot.metric]
    scale, unit = metric.scale, metric.display_unit
    data: list[dict[str, Any]] = []
    others: dict[str, list[Any]] = {"x": [], "y": [], "hovertext": []}
    for curve in plot.curves:
        label = plotly_text(curve.label)
        samples: dict[str, list[Any]] = {"x": [], "y": [], "hovertext": []}
        medians: dict[str, list[Any]] = {"x": [], "y": [], "hovertext": []}
        for place in curve.stops:
            where = f"{plotly_text(plot.x_title)} {place.x}"
            for point, text in zip(place.points, place.shown, strict=True):
                if point.value is None:
                    continue
                hover = hover_text(f"<b>{label}</b><br>{where}", f"{text} {unit}", point)
                trace = samples if point.status == "accepted" else others
                trace["x"].append(place.x)
                trace["y"].append(point.value * scale)
                trace["hovertext"].append(hover)
            if place.row["n"]:
                row = place.row
                medians["x"].append(place.x)
                medians["y"].append(row["median"] * scale)
                medians["hovertext"].append(
                    f"<b>{label}</b><br>{where}<br>median {figure(row)} {unit}<br>"
                    f"range {spread(row)}, n = {row['n']}"
                )
        colour, group = curve.style.colour, f"curve-{len(data)}"
        marker = {"size": 9, "opacity": 0.85, "color": colour, "symbol": curve.style.symbol}
        marker["line"] = {"color": "var(--ls-paper)", "width": 1}
        shared = {"type": "scatter", "name": label, "legendgroup": group, "hoverinfo": "text"}
        # Servers of one family share a hue, and their lines may lie on each other.
        twins = sum(trace.get("line", {}).get("color") == colour for trace in data)
        line = {"color": colour, "width": 2, "dash": _DASHES[twins % len(_DASHES)]}
        data.append({**shared, "mode": "lines", "line": line, "showlegend": False, **medians})
        data.append({**shared, "mode": "markers", "marker": marker, **samples})
    if others["x"]:
        cross = {"symbol": "x-thin", "size": 9, "line": {"color": "var(--ls-bad)", "width": 2}}
        data.append(
            {
                **{"type": "scatter", "name": "does not count", "mode": "markers", "marker": cross},
                **{"hoverinfo": "text"},
                **others,
            }
        )
    xs = sorted({place.x for curve in plot.curves for place in curve.stops})
    ys = [value for trace in data for value in trace["y"]]
    log_x, log_y = _spans_decades(xs), _spans_decades(ys)
    axis = {"zeroline": False, "fixedrange": True, "gridcolor": "var(--ls-line)"}
    title = (plot.y_title or heading(plot.metric)) + (" (log scale)" if log_y else "")
    x_title = plot.x_title + (" (log scale)" if log_x else "")
    rows = -(-len(plot.curves) // 3)
    layout = base_layout(
        _HEIGHT + 20 * rows,
        margin={"l": 10, "r": 18, "t": 24 + 20 * rows, "b": 52},
        hovermode="closest",
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "font": {"size": 12}},
        xaxis={
            **axis,
            **{"title": {"text": x_title, "standoff": 8, "font": {"size": 13}}},
            **{"type": "log" if log_x else "linear", "tickmode": "array", "tickvals": xs},
            "ticktext": [f"{value:,}" for value in xs],
        },
        yaxis={
            **axis,
            **{"title": {"text": title, "standoff": 8, "font": {"size": 13}}, "automargin": True},
            **{"type": "log" if log_y else "linear", "rangemode": "tozero", "tickformat": "~g"},
            **({"dtick": "D2" if max(ys) / min(ys) < 1000 else 1} if log_y else {"nticks": 6}),
        },
        shapes=list(shapes),
    )
    spec = {"data": data, "layout": layout, "config": config(name)}
    label = f"Chart: {plot.title}. Its figures follow as a table."
    return Figure(spec, label, _HEIGHT + 20 * rows)


def _spans_decades(values: Sequence[float]) -> bool:
    return bool(values) and min(values) > 0 and max(values) / min(values) > _DECADE


def curve_table(plot: Plot) -> str:
    """The chart's figures as an HTML table: for each curve and ``x`` the median, range and every attempt."""
    body = []
    for curve in plot.curves:
        for place in curve.stops:
            row = place.row
            counted, rest = counted_and_not(place.points, place.shown)
            body.append(
                markup.row(
                    f"{swatch(curve.style)}<bdi>{escape(curve.label)}</bdi>",
                    f"{place.x:,}",
                    figure(row),
                    spread(row) if row["n"] else "–",
                    counted,
                    rest,
                )
            )
    heads = ["Curve", plot.x_title, "Median", "Range", "Samples, by round", "Attempts that do not count"]
    return markup.table(f"{plot.title}: {METRICS[plot.metric].display_unit}", heads, body, "ls-samples")
