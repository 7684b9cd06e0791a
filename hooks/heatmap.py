"""A heat map: rows by columns of one metric, coloured by the share of each column's best."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hooks import axes, markup
from hooks.cells import figure
from hooks.charts import drawn_words
from hooks.figures import Figure, about_figure, base_layout, config
from hooks.grid import Grid, describe_fixed
from hooks.hover import Hover, add, columns, out_words
from hooks.hues import DEFAULT, Style
from hooks.markup import escape, plotly_lines, plotly_text
from hooks.tables import swatch
from hooks.view import Row
from runner.metrics import METRICS

_ROW, _LINE, _LABEL, _HEAD = 30, 17, 24, 16
_COLUMN = 72


def title(grid: Grid) -> str:
    """What the heat map shows, as text."""
    fixed = describe_fixed(grid.view, grid.fixed)
    axes_ = " and ".join([*grid.row_dimensions, *([grid.column_dimension] if grid.column_dimension else [])])
    return f"{METRICS[grid.metrics[0]].label} by {axes_}" + (f" ({fixed})" if fixed else "")


def share(row: Row, best: float) -> float | None:
    """How near a row comes to its column's best median, 1 being as good; None without a figure."""
    if not row["n"] or row["median"] <= 0 or best <= 0:
        return None
    ratio = row["median"] / best
    return float(ratio if METRICS[row["metric"]].better == "higher" else 1 / ratio)


def bests(grid: Grid) -> dict[str | int | None, float]:
    """Column → its best median, of the columns that have one."""
    pick = max if METRICS[grid.metrics[0]].better == "higher" else min
    medians: dict[str | int | None, list[float]] = {}
    for (_, column, metric), row in grid.cells.items():
        if metric == grid.metrics[0] and row["n"] and row["median"] > 0:
            medians.setdefault(column, []).append(row["median"])
    return {column: pick(values) for column, values in medians.items()}


def heatmap_figure(grid: Grid, file: str) -> Figure:
    """The heat map of the grid's first metric. ``file`` names a file with its picture.

    Its traces are the cells that have a figure, and the words in those that have none.
    """
    metric = grid.metrics[0]
    ticks = ["<br>".join(plotly_lines(grid.row_label(key), _LABEL)) for key in grid.rows]
    heads = ["<br>".join(plotly_lines(grid.column_label(column), _HEAD)) for column in grid.columns]
    rows = [row for (_, _, key), row in grid.cells.items() if key == metric]
    left = axes.label_margin(ticks, 16)
    top = 12 + _LINE * max([1, *(head.count("<br>") + 1 for head in heads)])
    high = max([_ROW, *(_LINE * (tick.count("<br>") + 1) + 8 for tick in ticks)])
    height = top + 8 + high * max(1, len(grid.rows))
    down, across = list(range(len(grid.rows) - 1, -1, -1)), list(range(len(grid.columns)))
    layout = base_layout(
        height,
        margin={"l": left, "r": 8, "t": top, "b": 8},
        hovermode="closest",
        showlegend=False,
        xaxis={
            **axes.at(across, heads),
            "range": [-0.5, len(grid.columns) - 0.5],
            "side": "top",
            "showgrid": False,
        },
        yaxis={
            **axes.at(down, ticks),
            "range": [-0.5, len(grid.rows) - 0.5],
            "ticklabelstandoff": 8,
            "automargin": True,
            "showgrid": False,
        },
    )
    drawn = f"colour: share of the best in each column; figures: {drawn_words(rows, '')}"
    about = about_figure(grid.view, metric, title(grid), drawn, file)
    hover = Hover()
    data = _traces(grid, across, down, hover)
    spec = {"data": data, "layout": layout, "config": config(), "about": about, "places": hover.places}
    widest = max((axes.pixels(line) for head in heads for line in head.split("<br>")), default=0.0)
    width = left + 8 + round(max(_COLUMN, widest + 8)) * len(grid.columns)
    return Figure(spec, f"Heat map: {title(grid)}", height, width, _words(grid, rows))


def _traces(grid: Grid, across: list[int], down: list[int], hover: Hover) -> list[dict[str, Any]]:
    metric, best = grid.metrics[0], bests(grid)
    shares: list[list[float | None]] = []
    texts: list[list[str]] = []
    places: list[list[int | None]] = []
    missing = {**columns(), "text": []}
    for y, key in zip(down, grid.rows, strict=True):
        shares.append([])
        texts.append([])
        places.append([])
        for x, column in zip(across, grid.columns, strict=True):
            row = grid.cells.get((key, column, metric))
            head = f"<b>{plotly_text(grid.row_label(key))}</b>"
            if label := plotly_text(grid.column_label(column)):
                head += f"<br>{label}"
            found = share(row, best.get(column, 0.0)) if row is not None else None
            place = hover.place(head, row) if row is not None else hover.empty(head, "not in this run")
            shares[-1].append(None if found is None else round(found, 4))
            texts[-1].append(figure(row) if row is not None and found is not None else "")
            places[-1].append(place if found is not None else None)
            if found is None:
                add(missing, x, y, place)
                missing["text"].append(_absent(row))
    ink = {"color": "var(--ls-ink)", "size": 13}
    cells = {
        **{"type": "heatmap", "x": across, "y": down, "z": shares, "zmin": 0, "zmax": 1, "showscale": False},
        "colorscale": [[0, "var(--ls-heat-0)"], [1, "var(--ls-heat-1)"]],
        **{"text": texts, "texttemplate": "%{text}", "textfont": ink, "xgap": 2, "ygap": 2},
        **{"customdata": places, "hovertext": _words_of(shares), "hoverinfo": "text", "hoverongaps": False},
    }
    if not missing["x"]:
        return [cells]
    words = {"type": "scatter", "mode": "text", "hoverinfo": "text", "showlegend": False}
    return [cells, {**words, "textfont": {"color": "var(--ls-muted)", "size": 12}, **missing}]


def _words_of(shares: list[list[float | None]]) -> list[list[str]]:
    return [
        ["" if found is None else f"{found * 100:.0f} % of the column's best" for found in row]
        for row in shares
    ]


def _absent(row: Row | None) -> str:
    """What a cell without a figure says."""
    if row is None:
        return "not run"
    if row["n"]:
        return figure(row)
    return "failed" if row["failed"] else "no sample"


def _words(grid: Grid, rows: list[Row]) -> str:
    metric = METRICS[grid.metrics[0]]
    told = [
        f"{len(grid.rows)} rows by {len(grid.columns)} columns; colour is the share of each column's best."
    ]
    best = bests(grid)
    for column in grid.columns[:6]:
        lead = next(
            (
                f"{grid.row_label(key)}, {figure(row)} {metric.display_unit}"
                for key in grid.rows
                if (row := grid.cells.get((key, column, metric.key))) is not None
                and row["n"]
                and row["median"] == best.get(column)
            ),
            None,
        )
        label = grid.column_label(column)
        told.append(f"Best{f' of {label}' if label else ''}: {lead or 'none has a figure'}.")
    rejected, failed = (sum(row[key] for row in rows) for key in ("rejected", "failed"))
    if outs := out_words(rejected, failed):
        told.append(f"Samples that do not count: {outs}.")
    return " ".join([*told, "Its figures follow as a table."])


def heatmap_table(grid: Grid, styles: Mapping[str, Style]) -> str:
    """The heat map as an HTML table: each figure with its share of the column's best."""
    metric, best = grid.metrics[0], bests(grid)
    body = []
    for key in grid.rows:
        texts = []
        for column in grid.columns:
            row = grid.cells.get((key, column, metric))
            found = share(row, best.get(column, 0.0)) if row is not None else None
            if row is None or found is None:
                texts.append(_absent(row))
            else:
                part = grid.part(key, column, metric)
                texts.append(
                    f'<span class="ls-value">{part.value}</span> '
                    f'<span class="ls-spread">{found * 100:.0f} % of the best · {part.spread}</span>'
                )
        server = dict(zip(grid.row_dimensions, key, strict=True)).get("server")
        dot = swatch(styles.get(str(server), DEFAULT)) if server is not None else ""
        body.append(markup.row(f"{dot}<bdi>{escape(grid.row_label(key))}</bdi>", *texts))
    heads = [" and ".join(grid.row_dimensions).capitalize()]
    heads += [grid.column_label(column) or METRICS[metric].label for column in grid.columns]
    return markup.table(f"{title(grid)}: {METRICS[metric].display_unit}", heads, body, "ls-samples")
