"""Tables and charts as blocks of a page: the figure, and under it the same as HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hooks.catalogue import Entry
from hooks.cells import percent
from hooks.charts import band_of, chart_title, lines_of, range_chart, samples_table
from hooks.context import PageContext
from hooks.curves import curve_figure, curve_table, plots
from hooks.downloads import export_links
from hooks.environment import limiters
from hooks.grid import Grid
from hooks.markup import details, escape
from hooks.tables import caption, html_table, plotly_table
from runner.metrics import METRICS


def table_block(page: PageContext, entry: Entry, those: Sequence[Grid]) -> str:
    """Each grid as a table, with what its reader must know."""
    parts = []
    for grid in those:
        text = html_table(grid, page.catalogue.styles) + export_links(page, entry)
        figure = plotly_table(grid, f"{entry.view.id}-table", page.catalogue.styles)
        parts.append(
            f'<div class="ls-block"><p class="ls-title">{escape(caption(grid))}</p>'
            f"{page.figure(figure)}"
            f"{details('The same table as text', text, searched=True)}{_notes(grid)}</div>"
        )
    return "".join(parts)


def chart_block(page: PageContext, entry: Entry, those: Sequence[Grid]) -> str:
    """A range chart of the first metric, for each grid and each of its columns."""
    parts = []
    for grid in those:
        for column in grid.columns:
            lines = lines_of(grid, column, page.catalogue.styles)
            text = samples_table(grid, column, lines) + export_links(page, entry)
            figure = range_chart(grid, column, lines, f"{entry.view.id}-{grid.metrics[0]}")
            parts.append(
                f'<div class="ls-block"><p class="ls-title">{escape(chart_title(grid, column))}</p>'
                f"{page.figure(figure)}"
                f"{details('Every sample as a table', text)}</div>"
            )
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
        text = curve_table(plot) + export_links(page, entry)
        figure = curve_figure(plot, f"{entry.view.id}-{metric}-against-{x}")
        parts.append(
            f'<div class="ls-block"><p class="ls-title">{escape(plot.title)}</p>{page.figure(figure)}'
            f"{details('Every sample as a table', text)}</div>"
        )
    return "".join(parts)


def _notes(grid: Grid) -> str:
    """What the table's signs mean, and the noise band of each of its columns."""
    words = [_band_words(grid)]
    rows = grid.all_rows()
    floors = [METRICS[row["metric"]].probe for row in rows if row["floor"] and row["n"]]
    for probe in dict.fromkeys(floors):
        words.append(
            f"≥ (for latencies ≤): {limiters(grid.view, probe=probe)} was at its limit, so the server may be "
            "better than the figure; such a row has no tier."
        )
    if any(row["rejected"] for row in rows):
        words.append("Rejected samples were disturbed from outside, and were repeated.")
    if any(row["failed"] for row in rows):
        words.append("Failed samples are the server's own doing, and were not repeated.")
    if any(metric.startswith(("p", "open_p")) for metric in grid.metrics):
        words.append(
            "A percentile here is the median of the samples' percentiles, which is not the percentile of "
            "all their requests merged."
        )
    return f'<p class="ls-note">{" ".join(escape(word) for word in words)}</p>'


def _band_words(grid: Grid) -> str:
    bands: dict[str, list[str]] = {}
    for metric in grid.metrics:
        for column in grid.columns:
            rows = [row for (_, c, m), row in grid.cells.items() if c == column and m == metric]
            band = band_of(rows)
            text = "unknown" if band is None else percent(band)
            label = grid.column_label(column)
            bands.setdefault(METRICS[metric].label, []).append(f"{text} on {label}" if label else text)
    if all(text.startswith("unknown") for texts in bands.values() for text in texts):
        return "Noise band: unknown (no configuration was measured twice); the ranges alone decide on tiers."
    listed = "; ".join(f"{label} {', '.join(texts)}" for label, texts in bands.items())
    return f"Noise band (the same configuration, run twice): {listed}."
