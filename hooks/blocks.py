"""Tables as blocks of a page."""

from __future__ import annotations

from collections.abc import Sequence

from hooks.catalogue import Entry
from hooks.context import PageContext
from hooks.downloads import export_links
from hooks.explorer import controls, frame, shown_first
from hooks.grid import Grid
from hooks.markup import details, escape, join_names
from hooks.notes import notes
from hooks.tables import caption, html_table, table_heights
from runner.metrics import METRICS


def table_block(
    page: PageContext, entry: Entry, those: Sequence[Grid], also: Sequence[Sequence[Grid]] = ()
) -> str:
    """Each grid as a table, with what its reader must know.

    The HTML table stands where the page's script draws the interactive one, and then moves below it. ``also``
    are grids of one metric each, which the interactive tables show at a click: closed, as plain tables.
    """
    styles, about = page.catalogue.styles, page.about(entry.view)
    if "frame" not in about:
        about["frame"] = frame(entry.view, styles)
    cases = {case: position for position, case in enumerate(about["frame"]["cases"]["id"])}
    below = details("As text and as files", export_links(page, entry))
    parts = []
    more = [metric for grids in also for metric in grids[0].metrics]
    for grid in those:
        name = f"table-{len(page.data.tables) + 1}"
        page.data.tables[name] = shown_first(grid, cases)
        title = caption(grid)
        wide, narrow = table_heights(grid)
        parts.append(
            f'<div class="ls-block" data-table="{name}"><p class="ls-title">{escape(title)}</p>'
            f"{controls(grid, title, more)}"
            f'<div class="ls-stage" style="--ls-wide:{wide}px;--ls-narrow:{narrow}px">'
            f"{html_table(grid, styles)}</div>{below}{_note(grid)}</div>"
        )
    if also:
        names = join_names(METRICS[metric].label for metric in more)
        tables = "".join(
            html_table(grid, styles, receipts=False) + _note(grid) for grids in also for grid in grids
        )
        parts.append(details(f"{names} of the same cases", tables))
    return "".join(parts)


def _note(grid: Grid) -> str:
    return f'<p class="ls-note">{escape(" ".join(notes(grid)))}</p>'
