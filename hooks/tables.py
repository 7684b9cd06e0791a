"""A grid as an HTML table, which every reader can use, and the place it takes as a Plotly table."""

from __future__ import annotations

from collections.abc import Mapping

from hooks.cells import EMPTY, UNMEASURED, Cell
from hooks.grid import Grid, Key, describe_fixed
from hooks.hues import DEFAULT, Style
from hooks.markup import escape, plotly_lines, scroll
from runner.metrics import METRICS

# Plotly draws a table without telling its height, so the place to reserve is computed from these.
_LINE, _PADDING, _REST = 17, 18, 8
_WRAP, _NARROW = 30, 18

Styles = Mapping[str, Style]


def heading(metric: str) -> str:
    """``Throughput, requests/s``."""
    shown = METRICS[metric]
    return f"{shown.label}, {shown.display_unit}" if shown.display_unit else shown.label


def caption(grid: Grid) -> str:
    """What the table holds, as text: metrics, axes, and what all cells share."""
    between = " and " if len(grid.metrics) < 3 else ", "
    return f"{between.join(METRICS[key].label for key in grid.metrics)} {laid_out(grid)}"


def laid_out(grid: Grid) -> str:
    """The caption without its metrics, which the reader of a page may change."""
    axes = " and ".join([*grid.row_dimensions, *([grid.column_dimension] if grid.column_dimension else [])])
    fixed = describe_fixed(grid.view, grid.fixed)
    return f"by {axes}" + (f" ({fixed})" if fixed else "")


def html_table(grid: Grid, styles: Styles, *, receipts: bool = True) -> str:
    """The grid as a table with caption and scopes, in a box that scrolls on a narrow screen.

    ``receipts`` makes its figures buttons, for a block whose script answers them.
    """
    depth = 2 if grid.column_dimension else 1
    corner = [
        f'<th scope="col" rowspan="{depth}">{escape(name.capitalize())}</th>' for name in grid.row_dimensions
    ]
    metrics = [f'<th scope="col">{escape(heading(key))}</th>' for key in grid.metrics]
    if grid.column_dimension:
        span = f'scope="colgroup" colspan="{len(metrics)}"'
        labels = [escape(grid.column_label(column)) for column in grid.columns]
        groups = [f"<th {span}><bdi>{label}</bdi></th>" for label in labels]
        head = [[*corner, *groups], metrics * len(grid.columns)]
    else:
        head = [[*corner, *metrics]]
    body = []
    for key in grid.rows:
        cells = _row_heads(grid, key, styles)
        for column in grid.columns:
            cells += [_html_cell(grid.part(key, column, metric), receipts) for metric in grid.metrics]
        body.append(cells)
    text = caption(grid)
    table = (
        f'<table class="ls-table"><caption><span class="ls-told">{escape(text)}. </span>'
        "Median; below it the range and number of samples."
        f"</caption><thead>{_rows(head)}</thead><tbody>{_rows(body)}</tbody></table>"
    )
    return scroll(table, text)


def _rows(rows: list[list[str]]) -> str:
    """Rows of cells, with spaces between them, or a search would find their words grown together."""
    return "".join([f"<tr>{' '.join(cells)}</tr>\n" for cells in rows])


def swatch(style: Style) -> str:
    """The dot before a server's name."""
    return f'<span class="ls-dot ls-hue-{style.hue}" aria-hidden="true"></span>'


def _row_heads(grid: Grid, key: Key, styles: Styles) -> list[str]:
    heads = []
    for position, (name, value) in enumerate(zip(grid.row_dimensions, key, strict=True)):
        dot = swatch(styles.get(str(value), DEFAULT)) if name == "server" else ""
        label = grid.view.label_html(name, value)
        heads.append(f"<td>{dot}{label}</td>" if position else f'<th scope="row">{dot}{label}</th>')
    return heads


def _html_cell(parts: Cell, receipts: bool) -> str:
    value = parts.value
    if receipts and parts not in (EMPTY, UNMEASURED):
        value = f'<button type="button" class="ls-open">{value}</button>'
    words = [f'<span class="ls-value">{value}</span>']
    if parts.tier:
        words.append(f'<span class="ls-tier">{parts.tier}</span>')
    words.append(f'<span class="ls-spread">{parts.spread}</span>')
    words += [f'<span class="ls-remark">{escape(text)}</span>' for text in parts.remarks]
    return f"<td>{' '.join(words)}</td>"


def table_heights(grid: Grid) -> tuple[int, int]:
    """The height in CSS pixels of the grid as its page draws it at first, on a wide and on a narrow screen.

    plottable.js counts the same.
    """
    labels = [grid.column_label(column) for column in grid.columns] if grid.column_dimension else []
    heads = [_LINE, *([_lines(labels, _WRAP)] if labels else [])]
    wide, narrow = 0, 0
    for key in grid.rows:
        parts = [grid.part(key, column, metric) for column in grid.columns for metric in grid.metrics]
        figures = _LINE * max([1 + _count(item.spread) + _count(item.short) for item in parts])
        names = [grid.view.label(name, value) for name, value in zip(grid.row_dimensions, key, strict=True)]
        wide += max(figures, _lines(names, _WRAP))
        narrow += max(figures, _lines(names, _NARROW))
    rest = sum(heads) + (len(grid.rows) + len(heads)) * _PADDING + _REST
    return wide + rest, narrow + rest


def _count(text: str) -> int:
    """The lines of a cell's part; nearly all are short."""
    return len(plotly_lines(text, _WRAP)) if len(text) > _WRAP else bool(text)


def _lines(labels: list[str], width: int) -> int:
    return _LINE * max([len(plotly_lines(label, width)) for label in labels])
