"""What a reader's own view of a table is made from: the run's figures as data, and the table's controls.

The browser draws the interactive table (site_src/assets/explorer.js). From Python it gets, once a run and
page, every accepted sample of every case, from which it makes medians, ranges and ratios by the rules of
`runner.analysis` and `runner.verdicts`; and for each table which case stands where.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache
from itertools import accumulate, chain
from typing import Any

from hooks.grid import Grid
from hooks.hues import DEFAULT, Style
from hooks.markup import escape
from hooks.notes import sign_words
from hooks.tables import laid_out
from hooks.view import OPEN, View
from runner.metrics import METRICS

# Offered at once beside what a table shows at first; the other metrics of the run are behind "More".
_MAIN = ("rps", "p50", "p99")
_STATISTICS = {"median": "median", "min": "min", "max": "max", "each": "each sample"}


def frame(view: View, styles: Mapping[str, Style]) -> dict[str, Any]:
    """The figures of a run's plain cases, as columns: one place a case, in case order.

    ``cases`` holds id, wanted, failed, rejected, reasons, and ``unsent`` (open loop: samples that did not
    send all that was due). ``notes`` are `hooks.notes.sign_words`. ``dimensions`` maps a name to its values,
    labels (null where the same), hues (of servers) and ``at``, the value of each case by position.
    ``metrics`` maps a key to its part of the registry and, a case: ``values`` (accepted samples in the order
    of rounds, SI base units), ``tier`` (a number, or in words why there is none, 0 without a reason, null for
    a case without a row), ``band``; and ``floor``, the positions of cases that were limited.
    """
    cases = [case for case in view.run.cases if case.role == "case"]
    place = {case.id: position for position, case in enumerate(cases)}
    columns, attempts = view.columns, view.attempts.columns
    status = attempts["status"]
    accepted = [[i for i in view.order[case.id] if status[i] == "accepted"] for case in cases]
    places = list(chain.from_iterable(accepted))
    ends = list(accumulate(map(len, accepted)))
    bounds = list(zip([0, *ends], ends, strict=False))
    size = len(cases)
    metrics: dict[str, dict[str, Any]] = {}
    for key in view.metrics:
        column = attempts.get(key)
        figures = [column[i] for i in places] if column else [None] * len(places)
        values = [figures[start:end] for start, end in bounds]
        if None in figures:
            values = [[value for value in found if value is not None] for found in values]
        metrics[key] = {
            **_registered(key),
            "values": values,
            "tier": [None] * size,
            "band": [None] * size,
            "floor": [],
        }
    counts: dict[str, list[Any]] = {name: [0] * size for name in (*_COUNTED, "unsent")}
    first: dict[int, int] = {}
    told = zip(*(columns[name] for name in _TOLD), strict=True)
    for number, (case, metric, tier, untiered, band, floor) in enumerate(told):
        at = place.get(case)
        if at is None:
            continue
        first.setdefault(at, number)  # all rows of a case have the same counts
        found = metrics[metric]
        found["tier"][at] = untiered or tier or 0
        found["band"][at] = band
        if floor:
            found["floor"].append(at)
    for name in _COUNTED:
        for at, number in first.items():
            counts[name][at] = columns[name][number]
    if any(key.startswith(OPEN) for key in metrics):
        counts["unsent"] = [view.unsent(case.id) for case in cases]
    return {
        "cases": {"id": [case.id for case in cases], **counts},
        "notes": sign_words(view),
        "dimensions": {
            name: _dimension(view, name, values, [case.dimensions.get(name) for case in cases], styles)
            for name, values in view.dimensions.items()
        },
        "metrics": metrics,
    }


_TOLD = ("case", "metric", "tier", "untiered", "band", "floor")
_COUNTED = ("wanted", "failed", "rejected", "reasons")


@lru_cache(maxsize=256)
def _registered(key: str) -> Mapping[str, Any]:
    """What a page needs to show a figure; ``small`` is said of one below the resolution."""
    metric = METRICS[key]
    return {
        "label": metric.label,
        "unit": metric.display_unit,
        "scale": metric.scale,
        "digits": metric.digits,
        "better": metric.better,
        "resolution": metric.resolution,
        "small": metric.too_small,
    }


def _dimension(
    view: View, name: str, values: list[str | int], at: list[Any], styles: Mapping[str, Style]
) -> dict[str, Any]:
    position = {value: number for number, value in enumerate(values)}
    labels = view.run.labels.get(name, {})
    found: dict[str, Any] = {
        "values": values,
        "labels": [labels.get(str(value)) or None for value in values],
        "at": [position.get(value) for value in at],
    }
    if name == "server":
        found["hues"] = [styles.get(str(value), DEFAULT).hue for value in values]
    return found


def shown_first(grid: Grid, cases: Mapping[str, int]) -> dict[str, Any]:
    """What a table shows before its reader changes anything; ``cases`` are the frame's, by id.

    ``cells`` has a list a row with, a column, the position of its case in the frame, or null; ``by`` is what
    its title says after the metrics.
    """
    found: dict[tuple[Any, Any], int] = {
        (key, column): cases[row["case"]] for (key, column, _), row in grid.cells.items()
    }
    return {
        "run": grid.view.id,
        "rows": grid.row_dimensions,
        "columns": grid.column_dimension,
        "metrics": grid.metrics,
        "by": laid_out(grid),
        "tiers": grid.tiers,
        "cells": [[found.get((key, column)) for column in grid.columns] for key in grid.rows],
    }


def controls(grid: Grid, caption: str, also: Collection[str] = ()) -> str:
    """The controls that stand above a table from the start; explorer.js adds the panel behind "More".

    ``also`` are metrics with a chip from the start, beside those shown and the main ones.
    """
    shown = {*grid.metrics, *also}
    main = [key for key in grid.view.metrics if key in shown or (key in _MAIN and _has(grid, key))]
    groups = [
        _chips("Metrics", "metric", {key: METRICS[key].label for key in main}, frozenset(grid.metrics)),
        _statistics(),
    ]
    if grid.column_dimension and len(grid.columns) > 1:
        labels = {str(value): grid.column_label(value) for value in grid.columns}
        title = grid.column_dimension.capitalize()
        groups.append(_chips(title, f"={grid.column_dimension}", labels, frozenset()))
    rows = f"{len(grid.rows)} row{'s' if len(grid.rows) != 1 else ''}"
    tiers = grid.tiers and any(row["tier"] is not None for row in grid.all_rows())
    order = " Rows within a tier are in no order." if tiers and len(grid.rows) > 1 else ""
    return (
        f'<div class="ls-controls" role="group" aria-label="{escape(f"View of: {caption}")}" '
        "data-search-exclude>"
        '<input type="search" class="ls-search" placeholder="Filter rows" aria-label="Filter rows by name" '
        'autocomplete="off" spellcheck="false">'
        '<button type="button" class="ls-more" aria-expanded="false">More</button>'
        f'<div class="ls-chips">{"".join(groups)}</div></div>'
        f'<p class="ls-says" aria-live="polite" data-search-exclude>{rows}.{order}</p>'
    )


def _has(grid: Grid, metric: str) -> bool:
    """Whether a case of the table has a row of that metric, which it may not show."""
    cases = {row["case"] for row in grid.all_rows()}
    return any(row["case"] in cases for row in grid.view.rows(metric))


def _chips(title: str, name: str, labels: Mapping[str, str], pressed: frozenset[str]) -> str:
    buttons = "".join(
        f'<button type="button" class="ls-chip" value="{escape(value)}" '
        f'aria-pressed="{"true" if value in pressed else "false"}">{escape(label)}</button>'
        for value, label in labels.items()
    )
    return f'<div role="group" aria-label="{escape(title)}" data-set="{escape(name)}">{buttons}</div>'


@lru_cache(maxsize=1)
def _statistics() -> str:
    return _chips("Statistic", "stat", _STATISTICS, frozenset(["median"]))
