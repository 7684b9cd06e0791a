"""Which figures are bounds of the true one: from below, from above, or not at all."""

from __future__ import annotations

from typing import Any, Literal, Protocol

from runner.metrics import METRICS

Bound = Literal["", "≥", "≤", "?"]
"""What a true figure is to the one given; "?" where nothing bounds it."""


class Bounded(Protocol):
    """A row of a summary: a dict, or a pandas Series."""

    def __getitem__(self, key: Any, /) -> Any: ...

    def get(self, key: Any, default: Any = None, /) -> Any: ...


def bound(row: Bounded) -> Bound:
    """What a row's figure bounds; ``row`` has metric, floor and, of open-loop latencies, ``unsent``.

    A saturated generator makes a throughput a lower bound, and a latency an upper one. Latencies that leave
    out requests never sent are lower bounds; with both, nothing bounds them. assets/format.js has the same.
    """
    if row.get("unsent"):
        return "?" if row["floor"] else "≥"
    if not row["floor"]:
        return ""
    return "≥" if METRICS[row["metric"]].better == "higher" else "≤"


def ratio_bound(a: Bounded, b: Bounded) -> Bound:
    """What the ratio of two rows bounds: what bounds ``b`` from below bounds it from above."""
    over, under = bound(a), _TURNED[bound(b)]
    if not over or not under:
        return over or under
    return over if over == under else "?"


_TURNED: dict[Bound, Bound] = {"": "", "≥": "≤", "≤": "≥", "?": "?"}
