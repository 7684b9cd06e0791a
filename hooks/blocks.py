"""Tables as blocks of a page."""

from __future__ import annotations

from collections.abc import Sequence

from hooks.catalogue import Entry
from hooks.cells import percent
from hooks.charts import band_of
from hooks.context import PageContext
from hooks.downloads import export_links
from hooks.environment import limiters
from hooks.explorer import controls, frame, shown_first
from hooks.grid import Grid
from hooks.markup import details, escape
from hooks.tables import caption, html_table, table_heights
from runner.metrics import METRICS


def table_block(page: PageContext, entry: Entry, those: Sequence[Grid]) -> str:
    """Each grid as a table, with what its reader must know.

    The HTML table stands where the page's script draws the interactive one, and then moves below it.
    """
    styles, about = page.catalogue.styles, page.about(entry.view)
    if "frame" not in about:
        about["frame"] = frame(entry.view, styles)
    cases = {case: position for position, case in enumerate(about["frame"]["cases"]["id"])}
    below = details("As text and as files", export_links(page, entry))
    parts = []
    for grid in those:
        name = f"table-{len(page.data.tables) + 1}"
        page.data.tables[name] = shown_first(grid, cases)
        title = caption(grid)
        wide, narrow = table_heights(grid)
        parts.append(
            f'<div class="ls-block" data-table="{name}"><p class="ls-title">{escape(title)}</p>'
            f'{controls(grid, title)}<div class="ls-stage" style="--ls-wide:{wide}px;--ls-narrow:{narrow}px">'
            f"{html_table(grid, styles)}</div>{below}{_notes(grid)}</div>"
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
