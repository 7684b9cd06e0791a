"""Factors as words and cells, with their range, their bound and what is held against them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from hooks.markup import escape
from hooks.view import Row

if TYPE_CHECKING:
    from runner.verdicts import Ratio


def digits(value: float) -> int:
    """How many decimals a factor is shown with: about three significant digits, and never none."""
    if 0 < value < 0.01:
        return 1 - math.floor(math.log10(value))
    return 0 if value >= 100 else 1 if value >= 10 else 2


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
    """``≥ 3.52×``; a ratio of two bounds is "?", for nothing bounds it."""
    return f"{ratio.bound} {times(ratio.value)}".strip()


def span(ratio: Ratio) -> str:
    """``3.10–3.92×``, the furthest apart that samples allow."""
    places = digits(ratio.high)
    low, high = f"{ratio.low:,.{places}f}", f"{ratio.high:,.{places}f}"
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
    """Row ``a`` over row ``b``; None where a side has no figure to divide, or to divide by."""
    from runner.verdicts import indivisible, ratio

    return None if not a["n"] or a["low"] <= 0 or indivisible(b) else ratio(a, b)


def no_ratio(a: Row, b: Row) -> list[str]:
    """Why `row_ratio` gave none: what is held against the rows, or that ``b`` is too small to divide by."""
    from runner.verdicts import unresolved

    small = unresolved(b)
    return [*doubts(a, b), *([f"nothing is divided by what is {small}"] if small else [])]


def doubts(*rows: Row) -> list[str]:
    """Why the rows of a ratio carry no claim, each reason once."""
    return list(dict.fromkeys(str(row["untiered"]) for row in rows if row["untiered"]))
