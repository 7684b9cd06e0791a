"""A metric against a number (connections, workers, load): the curves, and their figures as a table.

`hooks.curve_figure` draws them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hooks import markup
from hooks.cells import figure, shown, spread
from hooks.charts import counted_and_not
from hooks.grid import describe_fixed
from hooks.hues import DEFAULT, Style, neutral
from hooks.markup import escape, join_names
from hooks.near import near
from hooks.tables import swatch
from hooks.view import Point, Row, View
from runner.errors import AnalysisError
from runner.metrics import METRICS


@dataclass(frozen=True)
class Stop:
    """One place on a curve: ``x``, the summary's row, and all its attempts with their figures as text."""

    x: float
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

    ``y_title`` is for curves of several metrics; empty takes the metric's own. ``joined`` is the last ``x``
    up to which medians are joined, and ``note`` says why no further.
    """

    view: View
    title: str
    x_title: str
    metric: str
    curves: list[Curve]
    y_title: str = ""
    joined: float = math.inf
    note: str = ""

    def rows(self) -> list[Row]:
        return [place.row for curve in self.curves for place in curve.stops]


def stop(view: View, x: float, row: Row) -> Stop:
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
    joined, note = math.inf, ""
    if x == "workers":
        cases = (view.cases[row["case"]] for part in split.values() for row in part)
        joined, note = _turns(view, {int(case.dimensions[x]) for case in cases})
    return [
        Plot(
            view,
            f"{title} against {x}" + (f" ({words})" if (words := describe_fixed(view, dict(rest))) else ""),
            x.capitalize(),
            metric,
            _curves(view, x, rows, part, styles),
            joined=joined,
            note=note,
        )
        for rest, part in split.items()
    ]


def _turns(view: View, workers: Collection[int]) -> tuple[float, str]:
    """How many workers had a CPU each, and what to say of more: a line to them would claim too much."""
    cpus = len(view.run.layout.roles.get("server", []))
    beyond = sorted(count for count in workers if count > cpus)
    if not cpus or not beyond:
        return math.inf, ""
    them = join_names(map(str, beyond))
    return cpus, (
        f"No line leads to {them} workers: they share {cpus} CPU{'s' if cpus != 1 else ''}, so their figures "
        "do not show how a server scales"
    )


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
        style = neutral(number)
        if "server" in rows:
            style = styles.get(str(key[list(rows).index("server")]), DEFAULT)
        curves.append(Curve(label, style, sorted(stops, key=lambda item: item.x)))
    return curves


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
