"""A grid as an HTML table, which every reader can use, and as a Plotly table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hooks.cells import Cell
from hooks.figures import Figure, base_layout, config
from hooks.grid import Grid, Key, describe_fixed
from hooks.hues import DEFAULT, Style
from hooks.markup import escape, plotly_lines, plotly_text, scroll, text_width
from runner.metrics import METRICS

# Plotly draws a table without telling its height, so the place to reserve is computed from these.
_LINE, _PADDING, _CHARACTER = 17, 18, 7.4
_WRAP = 30
_NBSP = "\u00a0"

Styles = Mapping[str, Style]


def heading(metric: str) -> str:
    """``Throughput, requests/s``."""
    shown = METRICS[metric]
    return f"{shown.label}, {shown.display_unit}" if shown.display_unit else shown.label


def caption(grid: Grid) -> str:
    """What the table holds, as text: metrics, axes, and what all cells share."""
    metrics = " and ".join(METRICS[key].label for key in grid.metrics)
    if len(grid.metrics) > 2:
        metrics = ", ".join(METRICS[key].label for key in grid.metrics)
    axes = " and ".join([*grid.row_dimensions, *([grid.column_dimension] if grid.column_dimension else [])])
    fixed = describe_fixed(grid.view, grid.fixed)
    return f"{metrics} by {axes}" + (f" ({fixed})" if fixed else "")


def html_table(grid: Grid, styles: Styles) -> str:
    """The grid as a table with caption and scopes, in a box that scrolls on a narrow screen."""
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
            cells += [_html_cell(grid.part(key, column, metric)) for metric in grid.metrics]
        body.append(cells)
    text = caption(grid)
    table = (
        f'<table class="ls-table"><caption>{escape(text)}. Median; below it the range and number of samples.'
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


def _html_cell(parts: Cell) -> str:
    words = [f'<span class="ls-value">{parts.value}</span>']
    if parts.tier:
        words.append(f'<span class="ls-tier">{parts.tier}</span>')
    words.append(f'<span class="ls-spread">{parts.spread}</span>')
    words += [f'<span class="ls-remark">{escape(text)}</span>' for text in parts.remarks]
    return f"<td>{' '.join(words)}</td>"


def plotly_table(grid: Grid, name: str, styles: Styles) -> Figure:
    """The grid as a Plotly table, its full height: no cell is cut off and nothing scrolls inside.

    Plotly breaks a cell that is too wide at its spaces, also at those inside a tag, and tells nobody how
    high it became; so all lines are broken here, and hold no space.
    """
    columns = [_dots(grid, styles)] if "server" in grid.row_dimensions else []
    columns += [_names(grid, position) for position in range(len(grid.row_dimensions))]
    for across in grid.columns:
        columns += [_figures(grid, across, metric) for metric in grid.metrics]
    lines = [max(column.cells[row].count("<br>") + 1 for column in columns) for row in range(len(grid.rows))]
    head_lines = [max(column.head[row].count("<br>") + 1 for column in columns) for row in range(2)]
    height = sum(count * _LINE + _PADDING for count in [*lines, *head_lines]) + 8
    stripes = [("rgba(0,0,0,0)", "var(--ls-wash)")[row % 2] for row in range(len(grid.rows))]
    trace: dict[str, Any] = {
        "type": "table",
        "columnwidth": [column.width for column in columns],
        "header": {
            "values": [column.head for column in columns],
            "align": "left",
            "height": _LINE + _PADDING,
            "fill": {"color": "rgba(0,0,0,0)"},
            "line": {"width": 0},
            "font": {"color": "var(--ls-muted)", "size": 13},
        },
        "cells": {
            "values": [column.cells for column in columns],
            "align": "left",
            "height": _LINE + _PADDING,
            "fill": {"color": [stripes]},
            "line": {"width": 0},
            "font": {
                "color": [column.colours or "var(--ls-ink)" for column in columns],
                "size": [17 if column.colours else 13 for column in columns],
            },
        },
    }
    layout = base_layout(height, margin={"l": 0, "r": 0, "t": 0, "b": 0})
    spec = {"data": [trace], "layout": layout, "config": config(name, static=True)}
    min_width = round(sum(column.width for column in columns) * _CHARACTER)
    return Figure(spec, f"Table: {caption(grid)}. The same table follows as text.", height, min_width)


@dataclass(frozen=True)
class _Column:
    """One column: two rows of head, its cells, and its width in characters."""

    head: list[str]
    cells: list[str]
    width: float
    colours: list[str] | None = None


def _dots(grid: Grid, styles: Styles) -> _Column:
    servers = [key[grid.row_dimensions.index("server")] for key in grid.rows]
    return _Column(
        ["", ""], ["●"] * len(servers), 3, [styles.get(str(server), DEFAULT).colour for server in servers]
    )


def _names(grid: Grid, position: int) -> _Column:
    dimension = grid.row_dimensions[position]
    labels = [grid.view.label(dimension, key[position]) for key in grid.rows]
    width = min(_WRAP, max(map(text_width, [dimension, *labels]))) + 3
    head = ["", f"<b>{_solid(dimension.capitalize())}</b>"]
    return _Column(head, ["<br>".join(plotly_lines(label, _WRAP)) for label in labels], width)


def _figures(grid: Grid, across: str | int | None, metric: str) -> _Column:
    parts = [grid.part(key, across, metric) for key in grid.rows]
    label, title = grid.column_label(across), heading(metric)
    widths = [len(item.value) + len(item.tier) + 2 for item in parts]
    widths += [len(text) for item in parts for text in (item.spread, item.short)]
    width = max([min(_WRAP, text_width(label)), len(title), *widths])
    head = ["<br>".join(plotly_lines(label, width)), f"<b>{_solid(title)}</b>"]
    return _Column(head, [_plotly_cell(item) for item in parts], width + 3)


def _plotly_cell(parts: Cell) -> str:
    """Figures and our own words: nothing in them needs escaping."""
    tier = f"  {parts.tier}" if parts.tier else ""
    short = f"<br>{parts.short}" if parts.short else ""
    return f"<b>{parts.value}</b>{tier}<br>{parts.spread}{short}".replace(" ", _NBSP)


def _solid(text: str) -> str:
    """Text that Plotly will not break into lines by itself."""
    return plotly_text(text).replace(" ", _NBSP)
