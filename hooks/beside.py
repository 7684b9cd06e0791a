"""Our figures beside published ones: each ratio within its own side, and how far apart the ratios are.

Absolute figures of two machines say little about each other; what may be compared is how far a row is
from its own side's baseline. The published side is another kind of thing, and looks like it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hooks.beside_sides import Comparand, Place, Where, comparand, in_both, must_compare, ratio_of
from hooks.cells import cell
from hooks.factors import divided, empty_cell, factor_cell, times
from hooks.grid import Key, describe_fixed
from hooks.hues import DEFAULT, Style
from hooks.markup import escape, framed, lines
from hooks.tables import heading, swatch
from hooks.transcribed import figure_text, must_be_published
from hooks.view import Row, View
from runner.errors import AnalysisError
from runner.metrics import METRICS


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

    ``where`` holds on both sides, ``here`` and ``there`` on one. A ``baseline`` that names the dimension of
    the columns is, for each row, the figure in that column; an empty one leaves the figures without ratios,
    for a metric that nothing is divided by. A column that ours has not is there if our suite
    knows it, for another suite's say nothing here; with ``common``, only the rows that both have are. Raises
    AnalysisError for an unknown name or value, a condition left open, a second run that was not published by
    others, or a baseline by which no row at all has a ratio on both sides.
    """
    must_be_published(theirs)
    if ours.run.origin == "published":
        raise AnalysisError(f"run {ours.id} was published by others", "Give a run of your own first.")
    names = [rows] if isinstance(rows, str) else list(rows)
    left = comparand(ours, metric, baseline, names, columns, {**where, **here})
    right = comparand(theirs, metric, baseline, names, columns, {**where, **there})
    must_compare(left, right, baseline)
    if common:
        left, right = in_both(left, right)
    keys, across = _axes(left, right, columns)
    # Two of them do not fit beside each other, so each column is a table of its own.
    tables = "".join(
        _table(left, right, metric, baseline, names, columns, keys, column, styles) for column in across
    )
    return f'<div class="ls-block">{tables}{_note(left, right, baseline, common)}</div>'


def _axes(left: Comparand, right: Comparand, columns: str | None) -> tuple[list[Key], list[str | int | None]]:
    """Rows and columns, in our order, then theirs."""
    known = {column for _, column in left.cells} | left.view.run.labels.get(columns or "", {}).keys()
    across = list(
        dict.fromkeys(column for side in (left, right) for _, column in side.cells if column in known)
    )
    keys = dict.fromkeys(key for side in (left, right) for key, column in side.cells if column in known)
    return list(keys), across


def _rank(left: Comparand, right: Comparand, place: Place) -> tuple[int, float]:
    """Our best first; then those that only they have, their best first."""
    for position, side in enumerate((left, right)):
        row = side.cells.get(place, (None,))[0]
        if row is not None and row["n"]:
            higher = METRICS[row["metric"]].better == "higher"
            return position, -row["median"] if higher else row["median"]
    return 2, 0.0


def _table(
    left: Comparand,
    right: Comparand,
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
    here_, there_ = (f"{side}{f', {unit}' if unit else ''}" for side in ("Here", "Published"))
    subs = [
        (here_, ""),
        ("Here, to baseline", ""),
        (there_, "ls-elsewhere"),
        ("Published, to baseline", "ls-elsewhere"),
        ("Here ÷ published, of the ratios", ""),
    ]
    shown = _shown(baseline)
    heads = [f'<th scope="col"{_css(css)}>{escape(text)}</th>' for text, css in subs[shown]]
    corner = [f'<th scope="col">{escape(name.capitalize())}</th>' for name in rows]
    body = []
    for key in sorted(keys, key=lambda key: _rank(left, right, (key, column))):
        here, there = left.cells.get((key, column)), right.cells.get((key, column))
        if here is not None or there is not None:
            body.append([*_heads(left, right, rows, key, styles), *_cells(right.view, here, there)[shown]])
    title = f"{METRICS[metric].label} by {' and '.join(rows)}"
    if columns:
        title += f", {_label(left, right, columns, column)}"
    conditions = "; ".join(
        f"{name}: {words}"
        for name, side in (("here", left), ("published", right))
        if (words := describe_fixed(side.view, side.fixed))
    )
    base = ", ".join(_label(left, right, name, value) for name, value in baseline.items())
    text = f"{title}, beside published figures{f' ({conditions})' if conditions else ''}"
    text += f". Baseline: {base}" if base else ""
    note = ". Here: the median; below it the range and number of samples."
    note += " Published: not measured here, no range."
    return framed(text, note, lines([[*corner, *heads]]), lines(body), "ls-beside")


def _shown(baseline: Where) -> slice:
    """Which of the five columns: without a baseline, the two figures alone."""
    return slice(None) if baseline else slice(0, 3, 2)


def _css(name: str) -> str:
    return f' class="{name}"' if name else ""


def _label(left: Comparand, right: Comparand, name: str, value: Any) -> str:
    """A value's label: ours, or theirs where we have none."""
    for side in (left, right):
        if value in side.view.dimensions.get(name, []) or str(value) in side.view.run.labels.get(name, {}):
            return describe_fixed(side.view, {name: value})
    return str(value)


def _heads(
    left: Comparand, right: Comparand, rows: Sequence[str], key: Key, styles: Mapping[str, Style]
) -> list[str]:
    heads = []
    for position, (name, value) in enumerate(zip(rows, key, strict=True)):
        dot = swatch(styles.get(str(value), DEFAULT)) if name == "server" else ""
        text = f'{dot}<bdi class="ls-name">{escape(_label(left, right, name, value))}</bdi>'
        heads.append(f"<td>{text}</td>" if position else f'<th scope="row">{text}</th>')
    return heads


def _cells(
    right: View, here: tuple[Row, Row | None] | None, there: tuple[Row, Row | None] | None
) -> list[str]:
    """The five cells of one place."""
    ours, reason = ratio_of(here, "this run has no such case")
    theirs, silence = ratio_of(there, "not published")
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
        found.append(_elsewhere(figure_text(right, there[0])))
        mine = "baseline" if there[0] is there[1] else times(theirs.value) if theirs else "–"
        found.append(_elsewhere(mine, "" if theirs else silence))
    if own and there is not None and there[0] is there[1]:
        found.append(_baseline())
    elif ours is None or theirs is None:
        found.append(empty_cell("no ratio here" if ours is None else "no published ratio"))
    else:
        found.append(factor_cell(divided(ours, theirs.value)))
    return found


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


def _note(left: Comparand, right: Comparand, baseline: Where, common: bool) -> str:
    base = ", ".join(_label(left, right, name, value) for name, value in baseline.items())
    source = str(right.view.run.facts.get("source") or right.view.run.title)
    few = " Rows that only one side has are left out." if common else ""
    told = (
        f"Published figures are from <bdi>{escape(source)}</bdi>; they were not measured here, and no range "
        "of them is known."
    )
    if base:
        told = (
            f"Each ratio is formed within its own side: ours over our <bdi>{escape(base)}</bdi>, published "
            f"over published. {told} A last column of 1 would mean that a row is as far from the baseline "
            "here as there; its range is that of our samples alone. ≥ and ≤ mark bounds."
        )
    return f'<p class="ls-note">{told}{few}</p>'
