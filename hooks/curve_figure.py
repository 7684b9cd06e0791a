"""Curves drawn: every sample, the medians joined, and what does not count."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from hooks import axes
from hooks.cells import figure
from hooks.charts import CROSS, OUT, drawn_words
from hooks.curves import Curve, Plot, Stop
from hooks.figures import Figure, about_figure, base_layout, config
from hooks.hover import Columns, Hover, add, attempt_words, columns, drawn, out_words
from hooks.hues import HUES
from hooks.markup import plotly_text
from hooks.tables import heading
from runner.metrics import METRICS, Metric

_HEIGHT, _TOP, _BOTTOM = 380, 22, 46
# An axis that spans more than a decade is logarithmic, or its lower end could not be read.
_DECADE = 10
_DASHES = ["solid", "dash", "dot"]
_TICKS = 7
_MARKER = {"size": 9, "opacity": 0.85, "line": {"color": "var(--ls-paper)", "width": 1}}
# Where many curves have many samples each, these must not hide the medians.
_LIGHT = {"size": 4, "opacity": 0.35, "symbol": "circle"}
_MEDIAN = {"symbol": "line-ew", "size": 17}


def curve_figure(
    plot: Plot,
    file: str,
    shapes: Sequence[dict[str, Any]] = (),
    *,
    stops: Mapping[float, str] | None = None,
    light: bool = False,
) -> Figure:
    """The chart: for each curve its joined medians and its samples; then attempts that do not count.

    ``stops`` gives names to the places on the x axis, which then is neither logarithmic nor numbers.
    ``light`` draws samples small and medians as dots. ``file`` names a file with its picture.
    """
    metric = METRICS[plot.metric]
    hover = Hover()
    data = _traces(plot, metric, stops or {}, hover, light=light)
    xs = sorted({place.x for curve in plot.curves for place in curve.stops})
    ys = [value for trace in data for value in trace["y"]]
    # A tail is some factor away from the median, and the same factor at all speeds.
    tails = stops is not None and bool(ys) and min(ys) > 0
    log_x, log_y = stops is None and _spans_decades(xs), tails or _spans_decades(ys)
    down = axes.logarithmic(ys, _TICKS) if log_y else axes.linear(ys, _TICKS)
    title = (plot.y_title or heading(plot.metric)) + (" (log scale)" if log_y else "")
    x_title = plot.x_title + (" (log scale)" if log_x else "")
    texts = [(stops or {}).get(x, f"{x:,}") for x in xs]
    layout = base_layout(
        _HEIGHT,
        margin={"l": axes.label_margin(down["ticktext"], 36), "r": 24, "t": _TOP, "b": _BOTTOM},
        hovermode="closest",
        showlegend=False,
        xaxis={
            **axes.at(xs, texts, log=log_x),
            "title": {"text": x_title, **axes.TITLE},
            "gridcolor": "var(--ls-line)",
        },
        yaxis={
            **down,
            "title": {"text": title, **axes.TITLE},
            "automargin": True,
            "gridcolor": "var(--ls-line)",
        },
        shapes=list(shapes),
    )
    told = drawn_words(plot.rows(), "every sample") + (f". {plot.note}" if plot.note else "")
    about = about_figure(plot.view, plot.metric, plot.title, told, file)
    spec = {"data": data, "layout": layout, "config": config(), "about": about, "places": hover.places}
    return Figure(spec, f"Chart: {plot.title}", _HEIGHT, words=_words(plot, metric, texts))


def _traces(
    plot: Plot, metric: Metric, stops: Mapping[float, str], hover: Hover, *, light: bool
) -> list[dict[str, Any]]:
    data: list[dict[str, Any]] = []
    others = columns()
    for number, curve in enumerate(plot.curves):
        label, samples, medians, alone = plotly_text(curve.label), columns(), columns(), columns()
        # One point makes no line.
        joined = plot.joined if sum(place.x <= plot.joined for place in curve.stops) > 1 else -math.inf
        for place in curve.stops:
            where = plotly_text(f"{plot.x_title} {stops.get(place.x) or f'{place.x:,}'}")
            number_of = hover.place(f"<b>{label}</b><br>{where}", place.row)
            _stop(place, number_of, metric, samples, medians if place.x <= joined else alone, others)
        colour = curve.style.colour
        # Servers of one family share a hue, and shades are hard to tell; and lines may lie on each other.
        twins = sum(
            other.style.hue == curve.style.hue or curve.style.hue >= HUES for other in plot.curves[:number]
        )
        line = {"color": colour, "width": 2, "dash": _DASHES[twins % len(_DASHES)]}
        shown = {**_MARKER, "color": colour, "symbol": curve.style.symbol}
        shared = {
            **{"type": "scatter", "name": label, "legendgroup": f"curve-{number}"},
            **{"hoverinfo": "text", "cliponaxis": False},
        }
        if medians["x"]:
            data.append({**shared, "mode": "lines", "line": line, "showlegend": light, **medians})
        if alone["x"]:
            tick = {**_MEDIAN, "color": colour, "line": {"color": colour, "width": 2}}
            data.append(
                {
                    **shared,
                    "mode": "markers",
                    "marker": tick,
                    "showlegend": light and not medians["x"],
                    **alone,
                }
            )
        marker = {**_LIGHT, "color": colour} if light else shown
        data.append({**shared, "mode": "markers", "marker": marker, "showlegend": not light, **samples})
    if others["x"]:
        kind = {"type": "scatter", "name": OUT, "mode": "markers", "marker": CROSS, "hoverinfo": "text"}
        data.append({**kind, "cliponaxis": False, **others})
    return data


def _stop(
    place: Stop, number: int, metric: Metric, samples: Columns, medians: Columns, others: Columns
) -> None:
    """Add one place of a curve to the points of its traces."""
    for point, text in zip(place.points, place.shown, strict=True):
        if point.value is None:
            continue
        to = samples if point.status == "accepted" else others
        words = attempt_words(f"{text} {metric.display_unit}", point)
        add(to, place.x, drawn(point.value * metric.scale), number, words)
    if place.row["n"]:
        add(medians, place.x, drawn(place.row["median"] * metric.scale), number)


def _spans_decades(values: Sequence[float]) -> bool:
    return bool(values) and min(values) > 0 and max(values) / min(values) > _DECADE


def _words(plot: Plot, metric: Metric, texts: Sequence[str]) -> str:
    """The chart in a few sentences, for those who cannot see it."""
    many = f"{len(plot.curves)} curve{'s' if len(plot.curves) != 1 else ''}"
    told = [f"{many} over {plot.x_title}: {', '.join(texts)}."]
    told += [_ends(curve, metric) for curve in plot.curves[:4]]
    if len(plot.curves) > 4:
        told.append("And so on.")
    cases = {row["case"]: row for row in plot.rows()}.values()
    rejected, failed = (sum(row[key] for row in cases) for key in ("rejected", "failed"))
    if outs := out_words(rejected, failed):
        told.append(f"Samples that do not count: {outs}.")
    if plot.note:
        told.append(f"{plot.note}.")
    return " ".join([*told, "Its figures follow as a table."])


def _ends(curve: Curve, metric: Metric) -> str:
    rows = [place.row for place in curve.stops if place.row["n"]]
    if not rows:
        return f"{curve.label}: no accepted sample."
    ends = " to ".join(dict.fromkeys(figure(row) for row in (rows[0], rows[-1])))
    return f"{curve.label}: from {ends} {metric.display_unit}."
