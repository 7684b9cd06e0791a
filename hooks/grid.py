"""Rows of a summary laid out as a table: which case stands in which row and column."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from hooks.cells import UNMEASURED, Cell, apart_words, cell, scattered, shown
from hooks.near import near
from hooks.view import Row, View
from runner.errors import AnalysisError
from runner.metrics import METRICS

Key = tuple[str | int, ...]


@dataclass(frozen=True)
class Grid:
    """One table's cells.

    ``rows`` holds the values of ``row_dimensions``, the best first; ``columns`` the values of
    ``column_dimension`` (one None without one); ``fixed`` what all cells share and a caption must say.
    ``cells`` maps (row, column, metric) to the summary's row, where there is such a case; it and ``words``
    (the same cells as words, made when they are asked for) may hold more metrics than the grid shows.
    Without ``tiers`` its rows are of several groups, and no cell has a tier.
    """

    view: View
    row_dimensions: list[str]
    column_dimension: str | None
    rows: list[Key]
    columns: list[str | int | None]
    metrics: list[str]
    fixed: dict[str, str | int]
    cells: dict[tuple[Key, str | int | None, str], Row]
    tiers: bool = True

    words: dict[tuple[Key, str | int | None, str], Cell] = field(default_factory=dict)

    def part(self, key: Key, column: str | int | None, metric: str) -> Cell:
        """The words of a cell; `EMPTY` where the run has no such case."""
        place = (key, column, metric)
        if place not in self.words:
            words = self._part(self.cells.get(place))
            if place not in self.cells and any((key, column, other) in self.cells for other in self.metrics):
                words = UNMEASURED
            self.words[place] = words
        return self.words[place]

    def _part(self, row: Row | None) -> Cell:
        parts = cell(row)
        if not self.tiers:
            parts = replace(parts, tier="")
        if row is None or not scattered(row):
            return parts
        points = self.view.points(row["case"], row["metric"])
        each = [
            shown(row["metric"], p.value) for p in points if p.status == "accepted" and p.value is not None
        ]
        apart = apart_words(row)
        return replace(
            parts,
            remarks=[*parts.remarks, f"{apart}: {' · '.join(each)}"],
            short=" · ".join(text for text in (parts.short, apart) if text),
        )

    def only(self, metrics: Sequence[str]) -> Grid:
        """The same cells with some of their metrics, ordered by the first of these."""
        rows = sorted(self.rows, key=_order(self.cells, self.columns, metrics)) if self.tiers else self.rows
        return replace(self, rows=rows, metrics=list(metrics))

    def first_column(self) -> Grid:
        """The same cells with their first column only."""
        return replace(self, columns=self.columns[:1])

    def column_label(self, value: str | int | None) -> str:
        """Free text; not escaped."""
        if self.column_dimension is None or value is None:
            return ""
        return self.view.label(self.column_dimension, value)

    def row_label(self, key: Key) -> str:
        """Free text; not escaped."""
        labels = [self.view.label(name, v) for name, v in zip(self.row_dimensions, key, strict=True)]
        return " · ".join(labels)

    def all_rows(self) -> list[Row]:
        return [row for (_, _, metric), row in self.cells.items() if metric in self.metrics]


def grids(
    view: View,
    rows: Sequence[str],
    columns: str | None,
    metrics: Sequence[str],
    where: Mapping[str, Any],
    *,
    tiers: bool = True,
) -> list[Grid]:
    """The tables of these cases: one for each combination of the dimensions that are in neither axis.

    With ``tiers`` a table holds one series, the best rows first; without, all series in the order of cases,
    numbers by size. Raises AnalysisError with the near matches for an unknown dimension, value or metric.
    """
    axes = [*rows, *([columns] if columns else [])]
    for name in axes:
        if name not in view.dimensions:
            raise AnalysisError(f"run {view.id} has no dimension {name!r}", near(name, view.dimensions))
    if not rows or not metrics:
        raise AnalysisError("a table needs rows and metrics")
    split: dict[tuple[str, tuple[tuple[str, str | int], ...]], list[Row]] = {}
    for metric in metrics:
        for row in view.select(metric, where):
            series, rest = group_of(view, row, axes)
            split.setdefault((series if tiers else "", rest), []).append(row)
    return [
        _grid(view, list(rows), columns, list(metrics), fixed_of(key, split), part, tiers)
        for key, part in split.items()
    ]


def group_of(
    view: View, row: Row, apart_from: Collection[str]
) -> tuple[str, tuple[tuple[str, str | int], ...]]:
    """The group a row belongs to, within which tiers hold: its series, and its other dimensions."""
    dimensions = view.cases[row["case"]].dimensions
    return row["series"], tuple((name, value) for name, value in dimensions.items() if name not in apart_from)


def fixed_of(
    key: tuple[str, tuple[tuple[str, str | int], ...]],
    among: Collection[tuple[str, tuple[tuple[str, str | int], ...]]],
) -> dict[str, str | int]:
    """What a group's rows share; its series is told where nothing else tells it from another group."""
    series, fixed = key
    twins = sum(other == fixed for _, other in among)
    return {**dict(fixed), **({"series": series} if twins > 1 else {})}


def _grid(
    view: View,
    rows: list[str],
    columns: str | None,
    metrics: list[str],
    fixed: dict[str, str | int],
    part: list[Row],
    tiers: bool,
) -> Grid:
    cells: dict[tuple[Key, str | int | None, str], Row] = {}
    for row in part:
        dimensions = view.cases[row["case"]].dimensions
        key = tuple(dimensions.get(name, "") for name in rows)
        cells[key, dimensions.get(columns) if columns else None, row["metric"]] = row
    across = list(dict.fromkeys(column for _, column, _ in cells))
    keys = list(dict.fromkeys(key for key, _, _ in cells))
    keys.sort(key=_order(cells, across, metrics) if tiers else partial(_natural, keys[:]))
    return Grid(view, rows, columns, keys, across, metrics, fixed, cells, tiers)


def _natural(keys: Sequence[Key], key: Key) -> tuple[int, ...]:
    """Numbers by size, names by first appearance."""
    return tuple(
        value if isinstance(value, int) else [other[place] for other in keys].index(value)
        for place, value in enumerate(key)
    )


def _order(
    cells: Mapping[tuple[Key, str | int | None, str], Row],
    across: Sequence[str | int | None],
    metrics: Sequence[str],
) -> Callable[[Key], tuple[bool, float]]:
    lead = [(column, metric) for column in across for metric in metrics]

    def order(key: Key) -> tuple[bool, float]:
        """Best median of the first column in which this row has one."""
        for column, metric in lead:
            row = cells.get((key, column, metric))
            if row is not None and row["n"]:
                sign = -1 if METRICS[metric].better == "higher" else 1
                return (column, metric) != lead[0], sign * row["median"]
        return True, 0.0

    return order


def describe_fixed(view: View, fixed: Mapping[str, str | int]) -> str:
    """What all cells share, as words: ``1 worker, 100 connections``. Free text; not escaped."""
    words = []
    for name, value in fixed.items():
        if name in ("workers", "connections") and isinstance(value, int):
            words.append(f"{value:,} {name if value != 1 else name[:-1]}")
        elif name == "load":
            words.append(f"{value} % of capacity" if isinstance(value, int) else "closed loop at capacity")
        else:
            words.append(view.label(name, value))
    return ", ".join(words)
