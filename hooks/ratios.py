"""One side over another: tables of ratios with their ranges, and the span of each column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hooks.cells import noun
from hooks.claims_pairs import pairs
from hooks.factors import doubts, empty_cell, factor, factor_cell, no_ratio, row_ratio, times
from hooks.grid import describe_fixed
from hooks.hues import DEFAULT, Style
from hooks.markup import escape, framed, lines
from hooks.near import near
from hooks.tables import swatch
from hooks.view import Row, View
from runner.errors import AnalysisError
from runner.metrics import METRICS

if TYPE_CHECKING:
    from runner.verdicts import Ratio

Where = Mapping[str, Any]
Pair = tuple[Row, Row]


def ratios_block(
    view: View,
    of: Where | Sequence[Where],
    to: Where | Sequence[Where],
    rows: str,
    metric: str,
    where: Where,
    styles: Mapping[str, Style],
) -> str:
    """A row for each value of ``rows``, a column for each pair of ``of`` and ``to``; before it, their span.

    Raises AnalysisError for sides that do not match, an unknown name, or more pairs in a cell than one.
    """
    ofs, tos = _listed(of), _listed(to)
    if len(ofs) != len(tos) or not ofs:
        raise AnalysisError("ratios: give as many `to` as `of`")
    if rows not in view.dimensions:
        raise AnalysisError(f"run {view.id} has no dimension {rows!r}", near(rows, view.dimensions))
    shown = METRICS[view.metric(metric).key]
    columns = [
        (side_words(view, a, b), _by_row(view, rows, pairs(view, metric, a, b, where)))
        for a, b in zip(ofs, tos, strict=True)
    ]
    values = [value for value in view.dimensions[rows] if any(value in cells for _, cells in columns)]
    if all(isinstance(value, int) for value in values):
        values.sort()
    else:
        values.sort(key=lambda value: _rank(columns[0][1].get(value)))
    heads = [f'<th scope="col">{escape(rows.capitalize())}</th>']
    heads += [f'<th scope="col"><bdi>{escape(title)}</bdi></th>' for title, _ in columns]
    body = []
    for value in values:
        dot = swatch(styles.get(str(value), DEFAULT)) if rows == "server" else ""
        head = f'<th scope="row">{dot}{view.label_html(rows, value)}</th>'
        body.append([head, *[_cell(cells.get(value)) for _, cells in columns]])
    fixed = _fixed(view, columns)
    text = f"Ratios of {noun(shown)} by {rows}" + (f" ({fixed})" if fixed else "")
    note = ". Median over median; below it the furthest that samples allow."
    table = framed(text, note, lines([heads]), lines(body))
    items = "".join(f"<li>{_span_words(view, rows, title, cells)}</li>" for title, cells in columns)
    return f'<div class="ls-block"><ul class="ls-findings">{items}</ul>{table}</div>'


def _listed(side: Where | Sequence[Where]) -> list[Where]:
    return [side] if isinstance(side, Mapping) else list(side)


def _by_row(view: View, rows: str, found: Sequence[Pair]) -> dict[str | int, Pair]:
    cells: dict[str | int, Pair] = {}
    for a, b in found:
        value = view.cases[a["case"]].dimensions.get(rows, "")
        if value in cells:
            raise AnalysisError(
                f"several pairs of cases have {rows} {value!r}: {cells[value][0]['case']}, {a['case']}",
                "Choose one by its dimensions.",
            )
        cells[value] = (a, b)
    return cells


def _rank(pair: Pair | None) -> tuple[bool, float]:
    """Rows by the ratio of their first column, the largest first; those without one last."""
    found = _ratio(pair)
    return found is None, -found.value if found is not None else 0.0


def _ratio(pair: Pair | None) -> Ratio | None:
    """The ratio of a pair; None where a side has no figure to divide, or to divide by."""
    return None if pair is None else row_ratio(*pair)


def _cell(pair: Pair | None) -> str:
    if pair is None:
        return empty_cell("not in this run")
    found = _ratio(pair)
    if found is None or found.bound == "?":
        return empty_cell(*no_ratio(*pair))
    remarks = doubts(*pair) or ([why] if (why := _alike(pair)) else [])
    return factor_cell(found, remarks)


def _alike(pair: Pair) -> str:
    from runner.verdicts import verdict

    found = verdict(*pair, pair[0]["metric"])
    return f"not told apart: {found.reason}" if found.relation == "indistinguishable" else ""


def _span_words(view: View, rows: str, title: str, cells: Mapping[str | int, Pair]) -> str:
    """``aiohttp over httpx: from 3.5× (a) to 4.1× (b) over 13 servers``, of the rows that carry a claim."""
    ratios = {v: _ratio(pair) for v, pair in cells.items() if not doubts(*pair)}
    firm = {v: found for v, found in ratios.items() if found is not None}
    head = f"<strong>{escape(title)}</strong>: "
    left = len(cells) - len(firm)
    out = f" {left} of {len(cells)} rows carry no claim, and are left out of this." if left else ""
    if not firm:
        return f"{head}nothing can be said of any row as a whole; the table gives each row's reason."
    low, high = (pick(firm, key=lambda value: firm[value].value) for pick in (min, max))
    least, most = (f"{factor(firm[value])} ({_row_name(view, rows, value)})" for value in (low, high))
    if len(firm) == 1:
        return f"{head}{least}.{out}"
    of_all = f"over {len(firm)} rows" if rows.endswith("s") else f"over {len(firm)} {rows}s"
    if times(firm[low].value) == times(firm[high].value):
        return f"{head}{times(firm[low].value)} throughout, {escape(of_all)}.{out}"
    return f"{head}from {least} to {most}, {escape(of_all)}.{out}"


def _row_name(view: View, rows: str, value: str | int) -> str:
    return f'<bdi class="ls-name">{escape(describe_fixed(view, {rows: value}))}</bdi>'


def _fixed(view: View, columns: Sequence[tuple[str, Mapping[str | int, Pair]]]) -> str:
    """Workers and connections, where all cells share them."""
    rows = [row for _, cells in columns for pair in cells.values() for row in pair]
    shared = {}
    for name in ("workers", "connections"):
        found = {view.cases[row["case"]].dimensions.get(name) for row in rows}
        value = next(iter(found), None)
        if len(found) == 1 and value is not None:
            shared[name] = value
    return describe_fixed(view, shared)


def side_words(view: View, of: Where, to: Where) -> str:
    """``A over B``; free text, not escaped."""
    return f"{describe_fixed(view, of)} over {describe_fixed(view, to)}"
