"""Percentile curves: a configuration's latency from its median to its slowest request, one curve a row."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from hooks import markup
from hooks.cells import figure, spread
from hooks.curves import Curve, Plot, stop
from hooks.grid import Grid, describe_fixed, grids
from hooks.hues import DEFAULT, Style, neutral
from hooks.markup import escape
from hooks.tables import swatch
from hooks.view import View
from runner.errors import AnalysisError
from runner.metrics import METRICS

# Each tenth of the requests that are left takes as much room as the last: x = −log10(1 − percentile).
STOPS = {"p50": 0.301, "p75": 0.602, "p90": 1.0, "p95": 1.301, "p99": 2.0, "p999": 3.0, "max": 3.6}
NAMES = {"p999": "99.9", "max": "max", **{key: key[1:] for key in STOPS if key not in ("p999", "max")}}
_FAMILY = re.compile(rf"(.*?)({'|'.join(STOPS)})$")
NOTE = (
    "Each point is the median of the samples' own percentiles, which is not the percentile of all their "
    "requests merged: that one cannot be computed from percentiles. The slowest request depends on how many "
    "were sent."
)


def stops_of(plot: Plot) -> dict[float, str]:
    """Where the percentiles of a plot stand on its x axis, and how they are called there."""
    found = {place.x for curve in plot.curves for place in curve.stops}
    return {x: NAMES[key] for key, x in STOPS.items() if x in found}


def percentile_plots(
    view: View,
    rows: Sequence[str],
    columns: str | None,
    metric: str,
    where: Mapping[str, Any],
    styles: Mapping[str, Style],
) -> list[Plot]:
    """A plot for each value of ``columns``, and for each combination of what is in no axis.

    ``metric`` is any of the percentiles' family: ``p99``, ``open_p50``, ``probe_total_p95``; another one
    means the closed loop's, or failing that the open loop's. Raises AnalysisError where a run has fewer
    than two of them, and as `grids`.
    """
    keys = _family(view, metric)
    parts = grids(view, rows, columns, list(keys), where)
    return [_plot(grid, column, keys, styles) for grid in parts for column in grid.columns]


def _family(view: View, metric: str) -> dict[str, float]:
    """The run's metrics of one family, by where they stand."""
    known = _FAMILY.match(metric)
    prefixes = [known[1]] if known else ["", "open_"]
    for prefix in prefixes:
        keys = {f"{prefix}{name}": x for name, x in STOPS.items() if f"{prefix}{name}" in view.metrics}
        if len(keys) > 1:
            return keys
    raise AnalysisError(
        f"run {view.id} has no percentiles like {metric!r}", f"It has {', '.join(view.metrics)}."
    )


def _plot(
    grid: Grid, column: str | int | None, keys: Mapping[str, float], styles: Mapping[str, Style]
) -> Plot:
    curves = []
    for number, key in enumerate(grid.rows):
        cells = {metric: grid.cells.get((key, column, metric)) for metric in keys}
        stops = [stop(grid.view, keys[metric], row) for metric, row in cells.items() if row is not None]
        if not stops:
            continue
        values = dict(zip(grid.row_dimensions, key, strict=True))
        known = "server" in values
        style = styles.get(str(values["server"]), DEFAULT) if known else neutral(number)
        curves.append(Curve(grid.row_label(key), style, stops))
    first = next(iter(keys))
    kind = METRICS[first].label.replace("p50 ", "").replace(" p50", "")
    rest = ", ".join(
        text for text in (grid.column_label(column), describe_fixed(grid.view, grid.fixed)) if text
    )
    title = f"{kind[:1].upper()}{kind[1:]} by percentile" + (f" ({rest})" if rest else "")
    unit = METRICS[first].display_unit
    return Plot(grid.view, title, "Percentile", first, curves, f"{kind[:1].upper()}{kind[1:]}, {unit}")


def percentile_table(plot: Plot) -> str:
    """The chart's figures as an HTML table: a row for each curve, a column for each percentile."""
    stops = stops_of(plot)
    body = []
    for curve in plot.curves:
        cells = {place.x: place.row for place in curve.stops}
        texts = []
        for x in stops:
            row = cells.get(x)
            known = row is not None and row["n"]
            texts.append(
                f'<span class="ls-value">{figure(row)}</span> <span class="ls-spread">{spread(row)}</span>'
                if row is not None and known
                else "–"
            )
        counts = {row["n"] for row in cells.values()}
        label = f"{swatch(curve.style)}<bdi>{escape(curve.label)}</bdi>"
        body.append(markup.row(label, *texts, "–".join(map(str, sorted(counts)))))
    heads = ["Curve", *(name if name == "max" else f"p{name}" for name in stops.values()), "n"]
    unit = METRICS[plot.metric].display_unit
    caption = f"{plot.title}: medians with their range, {unit}; every sample is in the files below"
    return markup.table(caption, heads, body, "ls-samples")
