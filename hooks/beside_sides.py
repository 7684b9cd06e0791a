"""The two sides of a comparison with published figures: each row with its baseline, and their ratio."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hooks.grid import Key
from hooks.near import near
from hooks.view import Row, View
from runner.errors import AnalysisError

if TYPE_CHECKING:
    from runner.verdicts import Ratio

Where = Mapping[str, Any]
Place = tuple[Key, str | int | None]
"""A row's key and its column."""


@dataclass(frozen=True)
class Comparand:
    """One run's part: its rows by place, each with its baseline, and what all of them share."""

    view: View
    cells: dict[Place, tuple[Row, Row | None]]
    fixed: dict[str, str | int]


def comparand(
    view: View, metric: str, baseline: Where, rows: Sequence[str], columns: str | None, where: Where
) -> Comparand:
    axes = [*rows, *([columns] if columns else [])]
    for name in [*axes, *baseline]:
        if name not in view.dimensions:
            raise AnalysisError(f"run {view.id} has no dimension {name!r}", near(name, view.dimensions))
    for name, value in baseline.items():
        if value not in view.dimensions[name]:
            raise AnalysisError(f"run {view.id} has no {name} {value!r}", near(value, view.dimensions[name]))
    every = {
        frozenset(view.cases[row["case"]].dimensions.items()): row
        for row in view.rows(metric)
        if row["role"] == "case"
    }
    cells: dict[Place, tuple[Row, Row | None]] = {}
    found = view.select(metric, where)
    for row in found:
        dimensions = view.cases[row["case"]].dimensions
        place = (
            tuple(dimensions.get(name, "") for name in rows),
            dimensions.get(columns) if columns else None,
        )
        if place in cells:
            raise AnalysisError(
                f"run {view.id} has several cases for {' '.join(map(str, place[0]))}",
                f"Say which, in here or there: {view.choices(found, axes)}.",
            )
        cells[place] = (row, every.get(frozenset({**dimensions, **baseline}.items())))
    shared: dict[str, set[str | int]] = {}
    for row in found:
        for name, value in view.cases[row["case"]].dimensions.items():
            if name not in axes:
                shared.setdefault(name, set()).add(value)
    fixed = {name: next(iter(values)) for name, values in shared.items() if len(values) == 1}
    return Comparand(view, cells, fixed)


def must_compare(left: Comparand, right: Comparand, baseline: Where) -> None:
    """Raise AnalysisError unless some row, the baseline itself apart, has a ratio on both sides.

    Without a baseline a figure on both sides will do.
    """

    def told(side: Comparand) -> set[Place]:
        if not baseline:
            return {place for place, (row, _) in side.cells.items() if row["n"]}
        return {
            place for place, pair in side.cells.items() if pair[0] is not pair[1] and ratio_of(pair, "")[0]
        }

    if told(left) & told(right):
        return
    if not baseline:
        raise AnalysisError(
            f"no row has a figure both in run {left.view.id} and in run {right.view.id}",
            "Give other rows, columns or conditions.",
        )
    words = ", ".join(f"{name} = {value}" for name, value in baseline.items())
    shared = [
        " ".join(str(name) for name in (*key, column) if name)
        for key, column in in_both(left, right)[0].cells
    ]
    raise AnalysisError(
        f"no row has a ratio to {words} both in run {left.view.id} and in run {right.view.id}",
        f"Give a baseline that both have a figure of; both have {'; '.join(shared) or 'no row'}.",
    )


def in_both(left: Comparand, right: Comparand) -> tuple[Comparand, Comparand]:
    """The places that both have: ours even if all its samples failed, theirs if a figure was published."""
    kept = [place for place in left.cells if place in right.cells and right.cells[place][0]["n"]]
    return (
        replace(left, cells={place: left.cells[place] for place in kept}),
        replace(right, cells={place: right.cells[place] for place in kept}),
    )


def ratio_of(pair: tuple[Row, Row | None] | None, missing: str) -> tuple[Ratio | None, str]:
    """A row over its baseline; or why there is no such ratio."""
    from runner.verdicts import indivisible, ratio, refusal

    if pair is None:
        return None, missing
    row, base = pair
    if base is None or not base["n"]:
        return None, "no figure of the baseline"
    if not row["n"]:
        return None, "no figure"
    if small := indivisible(base):
        return None, f"the baseline is {small}"
    if row is not base and (why := refusal(row, base)):
        return None, why
    return ratio(row, base), ""
