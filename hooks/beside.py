"""Our figures beside published ones: each ratio within its own side, and how far apart the ratios are.

Absolute figures of two machines say little about each other; what may be compared is how far a row is
from its own side's baseline. The published side is another kind of thing, and looks like it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hooks.cells import cell
from hooks.factors import empty_cell, factor_cell, times
from hooks.grid import Key, describe_fixed
from hooks.hues import DEFAULT, Style
from hooks.markup import escape, scroll
from hooks.near import near
from hooks.published import figure_text, must_be_published
from hooks.tables import heading, swatch
from hooks.view import Row, View
from runner.errors import AnalysisError
from runner.metrics import METRICS

if TYPE_CHECKING:
    from runner.verdicts import Ratio

Where = Mapping[str, Any]
Place = tuple[Key, str | int | None]


@dataclass(frozen=True)
class _Side:
    """One run's part: its rows by place, each with its baseline, and what all of them share."""

    view: View
    cells: dict[Place, tuple[Row, Row | None]]
    fixed: dict[str, str | int]


def beside_block(
    ours: View,
    theirs: View,
    metric: str,
    baseline: Where,
    rows: str | Sequence[str],
    columns: str | None,
    where: Where,
    here: Where,
    there: Where,
    styles: Mapping[str, Style],
    common: bool = False,
) -> str:
    """The tables, as HTML.

    ``where`` holds on both sides, ``here`` and ``there`` on one. A column that ours has not is there if our
    suite knows it, for another suite's say nothing here; with ``common``, only the rows that ours has are.
    Raises AnalysisError for an unknown name or value, a condition left open, or a second run that was not
    published by others.
    """
    must_be_published(theirs)
    if ours.run.origin == "published":
        raise AnalysisError(f"run {ours.id} was published by others", "Give a run of your own first.")
    names = [rows] if isinstance(rows, str) else list(rows)
    left = _side(ours, metric, baseline, names, columns, {**where, **here})
    right = _side(theirs, metric, baseline, names, columns, {**where, **there})
    keys, across = _axes(left, right, columns, common)
    # Two of them do not fit beside each other, so each column is a table of its own.
    tables = "".join(
        _table(left, right, metric, baseline, names, columns, keys, column, styles) for column in across
    )
    return f'<div class="ls-block">{tables}{_note(left, right, baseline)}</div>'


def _side(
    view: View, metric: str, baseline: Where, rows: Sequence[str], columns: str | None, where: Where
) -> _Side:
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
            open_ = view.varying(found, axes)
            raise AnalysisError(
                f"run {view.id} has several cases for {' '.join(map(str, place[0]))}",
                "Say which, in here or there: "
                + "; ".join(f"{name} = {', '.join(map(str, values))}" for name, values in open_.items())
                + ".",
            )
        cells[place] = (row, every.get(frozenset({**dimensions, **baseline}.items())))
    shared: dict[str, set[str | int]] = {}
    for row in found:
        for name, value in view.cases[row["case"]].dimensions.items():
            if name not in axes:
                shared.setdefault(name, set()).add(value)
    fixed = {name: next(iter(values)) for name, values in shared.items() if len(values) == 1}
    return _Side(view, cells, fixed)


def _axes(
    left: _Side, right: _Side, columns: str | None, common: bool
) -> tuple[list[Key], list[str | int | None]]:
    """Rows and columns, in our order, then theirs."""
    known = {column for _, column in left.cells} | left.view.run.labels.get(columns or "", {}).keys()
    across = list(
        dict.fromkeys(column for side in (left, right) for _, column in side.cells if column in known)
    )
    sides = (left,) if common else (left, right)
    keys = dict.fromkeys(key for side in sides for key, column in side.cells if column in known)
    return list(keys), across


def _rank(left: _Side, right: _Side, place: Place) -> tuple[int, float]:
    """Our best first; then those that only they have, their best first."""
    for position, side in enumerate((left, right)):
        row = side.cells.get(place, (None,))[0]
        if row is not None and row["n"]:
            higher = METRICS[row["metric"]].better == "higher"
            return position, -row["median"] if higher else row["median"]
    return 2, 0.0


def _table(
    left: _Side,
    right: _Side,
    metric: str,
    baseline: Where,
    rows: Sequence[str],
    columns: str | None,
    keys: Sequence[Key],
    column: str | int | None,
    styles: Mapping[str, Style],
) -> str:
    """One table: the rows that either side has in that column."""
    unit = heading(metric).partition(", ")[2]
    subs = [
        (f"Here{f', {unit}' if unit else ''}", ""),
        ("Here, to baseline", ""),
        (f"Published{f', {unit}' if unit else ''}", "ls-elsewhere"),
        ("Published, to baseline", "ls-elsewhere"),
        ("Here ÷ published, of the ratios", ""),
    ]
    heads = [f'<th scope="col"{_css(css)}>{escape(text)}</th>' for text, css in subs]
    corner = [f'<th scope="col">{escape(name.capitalize())}</th>' for name in rows]
    body = []
    for key in sorted(keys, key=lambda key: _rank(left, right, (key, column))):
        here, there = left.cells.get((key, column)), right.cells.get((key, column))
        if here is not None or there is not None:
            body.append([*_heads(left, right, rows, key, styles), *_cells(here, there)])
    title = f"{METRICS[metric].label} by {' and '.join(rows)}"
    if columns:
        title += f", {_label(left, right, columns, column)}"
    conditions = "; ".join(
        f"{name}: {words}"
        for name, side in (("here", left), ("published", right))
        if (words := describe_fixed(side.view, side.fixed))
    )
    base = ", ".join(_label(left, right, name, value) for name, value in baseline.items())
    text = f"{title}, beside published figures{f' ({conditions})' if conditions else ''}. Baseline: {base}"
    table = (
        f'<table class="ls-table ls-beside"><caption>{escape(text)}. Here: the median; below it the range '
        f"and number of samples. Published: not measured here, no range.</caption>"
        f"<thead>{_lines([[*corner, *heads]])}</thead><tbody>{_lines(body)}</tbody></table>"
    )
    return scroll(table, text)


def _css(name: str) -> str:
    return f' class="{name}"' if name else ""


def _lines(rows: Iterable[list[str]]) -> str:
    return "".join(f"<tr>{' '.join(cells)}</tr>\n" for cells in rows)


def _label(left: _Side, right: _Side, name: str, value: Any) -> str:
    """A value's label: ours, or theirs where we have none."""
    for side in (left, right):
        if value in side.view.dimensions.get(name, []) or str(value) in side.view.run.labels.get(name, {}):
            return describe_fixed(side.view, {name: value})
    return str(value)


def _heads(
    left: _Side, right: _Side, rows: Sequence[str], key: Key, styles: Mapping[str, Style]
) -> list[str]:
    heads = []
    for position, (name, value) in enumerate(zip(rows, key, strict=True)):
        dot = swatch(styles.get(str(value), DEFAULT)) if name == "server" else ""
        text = f'{dot}<bdi class="ls-name">{escape(_label(left, right, name, value))}</bdi>'
        heads.append(f"<td>{text}</td>" if position else f'<th scope="row">{text}</th>')
    return heads


def _cells(here: tuple[Row, Row | None] | None, there: tuple[Row, Row | None] | None) -> list[str]:
    """The five cells of one place."""
    ours, reason = _ratio(here, "this run has no such case")
    theirs, silence = _ratio(there, "not published")
    own = here is not None and here[0] is here[1]
    found = [
        _figure(here),
        _baseline()
        if own and ours
        else factor_cell(ours, _base_doubts(here))
        if ours
        else empty_cell(reason),
    ]
    if there is None or not there[0]["n"]:
        found += [_elsewhere("–", "not published"), _elsewhere("–", silence)]
    else:
        found.append(_elsewhere(figure_text(there[0]["metric"], there[0]["median"])))
        mine = "baseline" if there[0] is there[1] else times(theirs.value) if theirs else "–"
        found.append(_elsewhere(mine, "" if theirs else silence))
    if own and there is not None and there[0] is there[1]:
        found.append(_baseline())
    elif ours is None or theirs is None:
        found.append(empty_cell("no ratio here" if ours is None else "no published ratio"))
    else:
        by = theirs.value
        again = type(ours)(ours.value / by, ours.low / by, ours.high / by, ours.bound)
        found.append(factor_cell(again))
    return found


def _ratio(pair: tuple[Row, Row | None] | None, missing: str) -> tuple[Ratio | None, str]:
    """A row over its baseline; or why there is no such ratio."""
    from runner.verdicts import ratio

    if pair is None:
        return None, missing
    row, base = pair
    if base is None or not base["n"]:
        return None, "no figure of the baseline"
    if not row["n"]:
        return None, "no figure"
    if base["low"] <= 0:
        return None, "the baseline is nought"
    found = ratio(row, base)
    if found.bound == "?" and row is not base:
        return None, "both sides are bounds, so nothing bounds their ratio"
    return found, ""


def _base_doubts(pair: tuple[Row, Row | None] | None) -> list[str]:
    """What is held against the baseline; what is held against the row stands beside its figure."""
    base = pair[1] if pair else None
    return [f"baseline: {base['untiered']}"] if base is not None and base["untiered"] else []


def _figure(pair: tuple[Row, Row | None] | None) -> str:
    if pair is None:
        return empty_cell("not in this run")
    parts = cell(pair[0])
    words = [f'<span class="ls-value">{parts.value}</span>']
    words += [f'<span class="ls-tier">{parts.tier}</span>'] if parts.tier else []
    words.append(f'<span class="ls-spread">{parts.spread}</span>')
    words += [f'<span class="ls-remark">{escape(text)}</span>' for text in parts.remarks]
    return f"<td>{' '.join(words)}</td>"


def _baseline() -> str:
    return '<td><span class="ls-spread">baseline</span></td>'


def _elsewhere(value: str, remark: str = "") -> str:
    css = "ls-spread" if value == "baseline" else "ls-value"
    words = f'<span class="{css}">{value}</span>'
    told = f' <span class="ls-remark">{escape(remark)}</span>' if remark else ""
    return f'<td class="ls-elsewhere">{words}{told}</td>'


def _note(left: _Side, right: _Side, baseline: Where) -> str:
    base = ", ".join(_label(left, right, name, value) for name, value in baseline.items())
    source = str(right.view.run.facts.get("source") or right.view.run.title)
    return (
        '<p class="ls-note">Each ratio is formed within its own side: '
        f"ours over our <bdi>{escape(base)}</bdi>, published over published. Published figures are from "
        f"<bdi>{escape(source)}</bdi>; they were not "
        "measured here, and no range of them is known. A last column of 1 would mean that a row is as far "
        "from the baseline here as there; its range is that of our samples alone. ≥ and ≤ mark bounds.</p>"
    )
