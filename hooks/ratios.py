"""One side over another: tables of ratios with their ranges, and comparisons that fall either way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hooks.cells import figure, noun, spread
from hooks.claims import pairs
from hooks.factors import doubts, empty_cell, factor, factor_cell, span, times
from hooks.grid import describe_fixed
from hooks.hues import DEFAULT, Style
from hooks.markup import escape, scroll
from hooks.near import near
from hooks.tables import swatch
from hooks.view import Row, View
from runner.errors import AnalysisError
from runner.metrics import METRICS

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
    heads = "".join(f'<th scope="col"><bdi>{escape(title)}</bdi></th> ' for title, _ in columns)
    body = []
    for value in values:
        dot = swatch(styles.get(str(value), DEFAULT)) if rows == "server" else ""
        cells = " ".join(_cell(cells.get(value)) for _, cells in columns)
        body.append(f'<tr><th scope="row">{dot}{view.label_html(rows, value)}</th> {cells}</tr>\n')
    fixed = _fixed(view, columns)
    text = f"Ratios of {noun(shown)} by {rows}" + (f" ({fixed})" if fixed else "")
    table = (
        f'<table class="ls-table"><caption>{escape(text)}. Median over median; below it the furthest that '
        f'samples allow.</caption><thead><tr><th scope="col">{escape(rows.capitalize())}</th> {heads}</tr>'
        f"</thead><tbody>{''.join(body)}</tbody></table>"
    )
    items = "".join(f"<li>{_span_words(view, rows, title, cells)}</li>" for title, cells in columns)
    return f'<div class="ls-block"><ul class="ls-findings">{items}</ul>{scroll(table, text)}</div>'


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


def _ratio(pair: Pair | None) -> Any:
    """The `runner.verdicts.Ratio` of a pair; None where a side has no figure to divide."""
    from runner.verdicts import ratio

    if pair is None or not all(row["n"] and row["low"] > 0 for row in pair):
        return None
    return ratio(*pair)


def _cell(pair: Pair | None) -> str:
    if pair is None:
        return empty_cell("not in this run")
    found = _ratio(pair)
    if found is None:
        return empty_cell(*doubts(*pair))
    if found.bound == "?":
        return empty_cell("both sides are bounds, so nothing bounds their ratio")
    remarks = doubts(*pair) or ([why] if (why := _alike(pair)) else [])
    return factor_cell(found, remarks)


def _alike(pair: Pair) -> str:
    from runner.verdicts import verdict

    found = verdict(*pair, pair[0]["metric"])
    return f"not told apart: {found.reason}" if found.relation == "indistinguishable" else ""


def _span_words(view: View, rows: str, title: str, cells: Mapping[str | int, Pair]) -> str:
    """``aiohttp over httpx: from 3.5× (a) to 4.1× (b) over 13 servers``, of the rows that carry a claim."""
    firm = {v: _ratio(pair) for v, pair in cells.items() if not doubts(*pair) and _ratio(pair) is not None}
    head = f"<strong>{escape(title)}</strong>: "
    left = len(cells) - len(firm)
    out = f" {left} of {len(cells)} rows carry no claim, and are left out of this." if left else ""
    if not firm:
        return f"{head}nothing can be said of any row as a whole; the table gives each row's reason."
    low, high = (pick(firm, key=lambda value: firm[value].value) for pick in (min, max))
    least, most = (f"{factor(firm[value])} ({_row_name(view, rows, value)})" for value in (low, high))
    if len(firm) == 1:
        return f"{head}{least}.{out}"
    of_all = f"over {len(firm)} numbers of {rows}" if rows.endswith("s") else f"over {len(firm)} {rows}s"
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


def compare_block(view: View, of: Where, to: Where, metrics: Sequence[str], where: Where) -> str:
    """What the data says of ``of`` against ``to``: an item a metric and pair of cases."""
    items = []
    for metric in metrics:
        found = pairs(view, metric, of, to, where)
        items += [_compared(view, of, to, pair, [row for row, _ in found]) for pair in found]
    return f'<ul class="ls-findings">{"".join(f"<li>{item}</li>" for item in items)}</ul>'


def _compared(view: View, of: Where, to: Where, pair: Pair, among: Sequence[Row]) -> str:
    from runner.verdicts import verdict

    a, b = pair
    metric = METRICS[a["metric"]]
    unit, name = escape(metric.display_unit), escape(noun(metric))
    names = [f'<bdi class="ls-name">{escape(describe_fixed(view, side))}</bdi>' for side in (of, to)]
    dimensions = view.cases[a["case"]].dimensions
    apart = {name: dimensions[name] for name in view.varying(among) if name in dimensions}
    place = f" ({escape(describe_fixed(view, apart))})" if apart else ""
    told = [f"{figure(row)} {unit} ({spread(row)})" if row["n"] else "no accepted sample" for row in pair]
    found = verdict(a, b, metric.key)
    if found.relation == "not comparable":
        reasons = "; ".join(doubts(a, b))
        return (
            f"{names[0]} against {names[1]} by {name}{place}: {told[0]} against {told[1]}. No claim is made "
            f"of them: {escape(reasons)}."
        )
    if found.relation == "indistinguishable":
        return (
            f"{names[0]} and {names[1]} cannot be told apart by {name}{place}: {told[0]} and {told[1]}; "
            f"{escape(found.reason)}."
        )
    direction = "higher" if a["median"] > b["median"] else "lower"
    ratio = _ratio(pair)
    by = f": {factor(ratio)} (samples allow {span(ratio)})" if ratio is not None and not ratio.bound else ""
    return f"{names[0]} has a {direction} {name} than {names[1]}{place}, {told[0]} against {told[1]}{by}."
