"""A grid as an HTML table, which every reader can use, and as a Plotly table."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any

from hooks.cells import Cell, cell
from hooks.figures import Figure, base_layout, config
from hooks.grid import Grid, Key, describe_fixed
from hooks.hues import DEFAULT, Style
from hooks.markup import escape, plotly_text, scroll
from runner.metrics import METRICS

# Plotly draws a table without telling its height, so the place to reserve is computed from these.
_LINE, _PADDING, _CHARACTER = 19, 11, 7.4
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
    per_column = len(grid.metrics)
    head = []
    depth = 2 if grid.column_dimension else 1
    corner = "".join(
        f'<th scope="col" rowspan="{depth}">{escape(name.capitalize())}</th>' for name in grid.row_dimensions
    )
    metrics = "".join(f'<th scope="col">{escape(heading(key))}</th>' for key in grid.metrics)
    if grid.column_dimension:
        groups = "".join(
            f'<th scope="colgroup" colspan="{per_column}"><bdi>{escape(grid.column_label(column))}</bdi></th>'
            for column in grid.columns
        )
        head = [f"<tr>{corner}{groups}</tr>", f"<tr>{metrics * len(grid.columns)}</tr>"]
    else:
        head = [f"<tr>{corner}{metrics}</tr>"]
    body = []
    for key in grid.rows:
        cells = "".join(
            _html_cell(cell(grid.cells.get((key, column, metric))))
            for column in grid.columns
            for metric in grid.metrics
        )
        body.append(f"<tr>{_row_heads(grid, key, styles)}{cells}</tr>")
    text = caption(grid)
    table = (
        f'<table class="ls-table"><caption>{escape(text)}. Median; below it the range and number of samples.'
        f"</caption><thead>{''.join(head)}</thead><tbody>{''.join(body)}</tbody></table>"
    )
    return scroll(table, text)


def swatch(style: Style) -> str:
    """The dot before a server's name."""
    return f'<span class="ls-dot ls-hue-{style.hue}" aria-hidden="true"></span>'


def _row_heads(grid: Grid, key: Key, styles: Styles) -> str:
    heads = []
    for position, (name, value) in enumerate(zip(grid.row_dimensions, key, strict=True)):
        dot = swatch(styles.get(str(value), DEFAULT)) if name == "server" else ""
        label = grid.view.label_html(name, value)
        tag = 'th scope="row"' if position == 0 else "td"
        heads.append(f"<{tag}>{dot}{label}</{tag.split()[0]}>")
    return "".join(heads)


def _html_cell(parts: Cell) -> str:
    tier = f' <span class="ls-tier">{parts.tier}</span>' if parts.tier else ""
    remarks = "".join(f'<span class="ls-remark">{escape(text)}</span>' for text in parts.remarks)
    return (
        f'<td><span class="ls-value">{parts.value}</span>{tier}'
        f'<span class="ls-spread">{parts.spread}</span>{remarks}</td>'
    )


def plotly_table(grid: Grid, name: str, styles: Styles) -> Figure:
    """The grid as a Plotly table, its full height: no cell is cut off and nothing scrolls inside."""
    head_columns = [[_head(dimension.capitalize()), ""] for dimension in grid.row_dimensions]
    columns: list[list[str]] = []
    widths: list[float] = []
    lines = [1] * len(grid.rows)
    for position, dimension in enumerate(grid.row_dimensions):
        texts, column = [], []
        for row, key in enumerate(grid.rows):
            label = grid.view.label(dimension, key[position])
            texts.append(label)
            lines[row] = max(lines[row], -(-_width(label) // _WRAP))
            colour = styles.get(str(key[position]), DEFAULT).colour
            dot = f'<span style="color:{colour}">●</span> ' if dimension == "server" else ""
            column.append(f"{dot}{plotly_text(label)}")
        widths.append(min(_WRAP, max([_width(text) for text in texts], default=0)) + 4)
        columns.append(column)
    for across in grid.columns:
        for number, metric in enumerate(grid.metrics):
            parts = [cell(grid.cells.get((key, across, metric))) for key in grid.rows]
            head_columns.append([_head(grid.column_label(across)) if not number else "", heading(metric)])
            columns.append([_plotly_cell(item) for item in parts])
            for row, item in enumerate(parts):
                lines[row] = max(lines[row], 2 + len(_wrapped(item.remarks)))
            longest = [max(_width(item.value) + 8, _width(item.spread)) for item in parts]
            longest += [_width(line) for item in parts for line in _wrapped(item.remarks)]
            widths.append(max([*longest, _width(heading(metric))]) + 2)
    row_height = max(lines, default=1) * _LINE + _PADDING
    head_lines = [-(-_width(grid.column_label(column)) // _WRAP) for column in grid.columns]
    head_height = max([1, *head_lines]) * _LINE + _PADDING
    height = 2 * head_height + row_height * len(grid.rows) + 12
    aligned = ["left"] * len(grid.row_dimensions) + ["right"] * (len(columns) - len(grid.row_dimensions))
    trace: dict[str, Any] = {
        "type": "table",
        "columnwidth": widths,
        "header": {
            "values": head_columns,
            "align": aligned,
            "height": head_height,
            "fill": {"color": "rgba(0,0,0,0)"},
            "line": {"color": "var(--ls-line)", "width": 1},
            "font": {"color": "var(--ls-muted)", "size": 13},
        },
        "cells": {
            "values": columns,
            "align": aligned,
            "height": row_height,
            "fill": {"color": "rgba(0,0,0,0)"},
            "line": {"color": "var(--ls-line)", "width": 1},
            "font": {"color": "var(--ls-ink)", "size": 13},
        },
    }
    layout = base_layout(height, margin={"l": 1, "r": 1, "t": 1, "b": 1})
    spec = {"data": [trace], "layout": layout, "config": config(name, static=True)}
    min_width = round(sum(widths) * _CHARACTER)
    return Figure(name, spec, f"Table: {caption(grid)}. The same table follows as text.", height, min_width)


def _head(text: str) -> str:
    return f"<b>{plotly_text(text)}</b>"


def _plotly_cell(parts: Cell) -> str:
    small = [parts.spread, *_wrapped(parts.remarks)]
    tier = f'{_NBSP} <span style="font-size:11px">{parts.tier}</span>' if parts.tier else ""
    below = "".join(
        f'<br><span style="font-size:11px;color:var(--ls-muted)">{_solid(line)}</span>' for line in small
    )
    return f"<b>{_solid(parts.value)}</b>{tier.replace(' ', _NBSP, 0)}{below}"


def _solid(text: str) -> str:
    """Text that Plotly will not break into lines by itself."""
    return plotly_text(text).replace(" ", _NBSP)


def _wrapped(remarks: list[str]) -> list[str]:
    """Remarks in lines of at most `_WRAP` characters, where words allow."""
    lines: list[str] = []
    for remark in remarks:
        line = ""
        for word in remark.split():
            if line and len(line) + 1 + len(word) > _WRAP:
                lines.append(line)
                line = word
            else:
                line = f"{line} {word}".strip()
        lines.append(line)
    return lines


def _width(text: str) -> int:
    """Columns that a text takes: wide (East Asian) characters take two."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)
