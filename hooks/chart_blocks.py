"""Charts as blocks of a page: the figure, and under it the same as an HTML table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hooks.catalogue import Entry
from hooks.charts import chart_title, lines_of, range_chart, samples_table
from hooks.context import PageContext
from hooks.curve_figure import curve_figure
from hooks.curves import curve_table, plots
from hooks.downloads import export_links
from hooks.figures import Figure
from hooks.grid import Grid
from hooks.heatmap import heatmap_figure, heatmap_table
from hooks.markup import details, escape
from hooks.percentiles import NOTE, percentile_plots, percentile_table, stops_of

_SAMPLES = "Every sample as a table"


def chart_block(page: PageContext, entry: Entry, those: Sequence[Grid]) -> str:
    """A range chart of the first metric, for each grid and each of its columns."""
    parts = []
    for grid in those:
        for column in grid.columns:
            lines = lines_of(grid, column, page.catalogue.styles)
            figure = range_chart(grid, column, lines, _file(entry, grid.metrics[0], column))
            table = samples_table(grid, column, lines)
            parts.append(_block(page, entry, chart_title(grid, column), figure, _SAMPLES, table))
    return "".join(parts)


def curve_block(
    page: PageContext,
    entry: Entry,
    x: str,
    rows: Sequence[str],
    columns: str | None,
    metric: str,
    where: Mapping[str, Any],
) -> str:
    """A chart of a metric against a number, for each value of ``columns``."""
    parts = []
    for plot in plots(entry.view, x, rows, columns, metric, where, page.catalogue.styles):
        figure = curve_figure(plot, _file(entry, metric, f"against-{x}"))
        note = f'<p class="ls-note">{escape(plot.note)}.</p>' if plot.note else ""
        parts.append(_block(page, entry, plot.title, figure, _SAMPLES, curve_table(plot), note))
    return "".join(parts)


def percentile_block(
    page: PageContext,
    entry: Entry,
    rows: Sequence[str],
    columns: str | None,
    metric: str,
    where: Mapping[str, Any],
) -> str:
    """Percentile curves of the metric's family, for each value of ``columns``."""
    parts = []
    for plot in percentile_plots(entry.view, rows, columns, metric, where, page.catalogue.styles):
        figure = curve_figure(plot, _file(entry, "percentiles", None), stops=stops_of(plot), light=True)
        table = percentile_table(plot)
        note = f'<p class="ls-note">{escape(NOTE)}</p>'
        parts.append(_block(page, entry, plot.title, figure, "The percentiles as a table", table, note))
    return "".join(parts)


def heatmap_block(page: PageContext, entry: Entry, those: Sequence[Grid]) -> str:
    """A heat map of the first metric, for each grid."""
    parts = []
    for grid in those:
        figure = heatmap_figure(grid, _file(entry, grid.metrics[0], "heat-map"))
        table = heatmap_table(grid, page.catalogue.styles)
        note = (
            '<p class="ls-note">The stronger the colour, the nearer a row comes to the best median of its '
            "column. Colours of two columns do not compare.</p>"
        )
        title = figure.spec["about"]["title"]
        parts.append(_block(page, entry, title, figure, "The heat map as a table", table, note))
    return "".join(parts)


def _block(
    page: PageContext, entry: Entry, title: str, figure: Figure, summary: str, table: str, note: str = ""
) -> str:
    text = details(summary, table + export_links(page, entry))
    return (
        f'<div class="ls-block"><p class="ls-title">{escape(title)}</p>'
        f"{page.figure(entry.view, figure)}{note}{text}</div>"
    )


def _file(entry: Entry, metric: str, what: str | int | None) -> str:
    """The name of a file with the chart's picture, without its ending."""
    return "-".join(str(part) for part in (entry.view.id, metric, what) if part is not None)
