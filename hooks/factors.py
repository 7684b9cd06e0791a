"""Factors as words and cells, with their range, their bound and what is held against them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from hooks.markup import escape
from hooks.view import Row

if TYPE_CHECKING:
    from runner.verdicts import Ratio


def digits(value: float) -> int:
    """How many decimals a factor is shown with: two from 0.1 to 10, else three significant digits.

    Without a logarithm, which may be rounded otherwise in assets/format.js.
    """
    if value >= 0.1 or value <= 0:
        return 0 if value >= 100 else 1 if value >= 10 else 2
    places = 2
    while value < 1:
        value *= 10
        places += 1
    return places


def plain(value: float) -> str:
    """``3.52``, ``12.4``, ``1,234``."""
    return f"{value:,.{digits(value)}f}"


def times(value: float) -> str:
    """``3.52×``, ``12.4×``, ``1,234×``."""
    return f"{plain(value)}×"


def divided(ratio: Ratio, by: float) -> Ratio:
    """A ratio over a plain figure: a bound stays one, and its range is that of its own samples."""
    return replace(ratio, value=ratio.value / by, low=ratio.low / by, high=ratio.high / by)


def factor(ratio: Ratio) -> str:
    """``≥ 3.52×``; "?" where nothing bounds it."""
    return f"{ratio.bound} {times(ratio.value)}".strip()


def span(ratio: Ratio) -> str:
    """``3.10–3.92×``, the furthest apart that samples allow; of a bound only the end that it bounds."""
    low, high = plain(ratio.low), plain(ratio.high)
    if ratio.bound in ("≥", "≤"):
        return f"{ratio.bound} {low if ratio.bound == '≥' else high}×"
    return f"{low}–{high}×" if low != high else f"{high}×"


def factor_cell(ratio: Ratio, remarks: Sequence[str] = ()) -> str:
    """A table's cell; ``remarks`` are text."""
    words = [
        f'<span class="ls-value">{factor(ratio)}</span>',
        f'<span class="ls-spread">{span(ratio)}</span>',
    ]
    return "<td>" + " ".join(words + [_remark(text) for text in remarks]) + "</td>"


def empty_cell(*remarks: str) -> str:
    """A cell with no figure, and why."""
    return (
        "<td>" + " ".join(['<span class="ls-value">–</span>', *[_remark(text) for text in remarks]]) + "</td>"
    )


def _remark(text: str) -> str:
    return f'<span class="ls-remark">{escape(text)}</span>'


def row_ratio(a: Row, b: Row) -> Ratio | None:
    """Row ``a`` over row ``b``; None where a side's figure is none to divide or to divide by."""
    from runner.verdicts import indivisible, ratio

    return None if indivisible(a) or indivisible(b) else ratio(a, b)


def no_ratio(a: Row, b: Row) -> list[str]:
    """Why there is no ratio of the rows to show: what is held against them, and what refuses it."""
    from runner.verdicts import refusal

    return list(dict.fromkeys([*doubts(a, b), *filter(None, [refusal(a, b)])]))


def doubts(*rows: Row) -> list[str]:
    """Why the rows of a ratio carry no claim, each reason once."""
    return list(dict.fromkeys(str(row["untiered"]) for row in rows if row["untiered"]))
