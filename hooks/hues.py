"""One hue and one symbol for each server, the same in every table and chart of the site.

There are more servers than hues that a colour-blind reader can tell apart. So a family of servers (the
name up to the first hyphen) shares a hue, its members differ by symbol, and no figure relies on either:
every row carries its name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hooks.view import View

HUES = 8
"""The number of ``--ls-hue-N`` colours in lapsheet.css."""

_SYMBOLS = ["circle", "diamond", "square", "triangle-up", "cross", "star"]


SHADES = 3
"""The number of neutral ``--ls-hue-N`` after these, for curves that stand for no server."""


@dataclass(frozen=True)
class Style:
    """``hue`` counts from 0, below `HUES` + `SHADES`; ``symbol`` is a Plotly marker symbol."""

    hue: int
    symbol: str

    @property
    def colour(self) -> str:
        """The CSS colour; the page's script resolves it for Plotly, in light and in dark."""
        return f"var(--ls-hue-{self.hue})"


DEFAULT = Style(0, "circle")


def neutral(number: int) -> Style:
    """The style of a curve that stands for no server, by its position; the last shade repeats."""
    return Style(HUES + min(number, SHADES - 1), symbol(number))


def symbol(number: int) -> str:
    """A marker symbol by position, from 0; they repeat."""
    return _SYMBOLS[number % len(_SYMBOLS)]


def assign(views: Iterable[View]) -> dict[str, Style]:
    """Server → style. Earlier runs come first, so that a later one does not recolour them."""
    members: dict[str, list[str]] = {}
    for view in views:
        for server in view.head.servers:
            family = members.setdefault(server.split("-")[0], [])
            if server not in family:
                family.append(server)
    styles: dict[str, Style] = {}
    for number, family in enumerate(members.values()):
        lap = number // HUES
        for position, server in enumerate(family):
            styles[server] = Style(number % HUES, symbol(position + lap))
    return styles
