"""Head-room: how far the upstream, asked directly, is above the rows that forward to it.

A proxy's figure says something of the proxy only while the upstream behind it could have served more. A
control sends the same bodies straight to the upstream; its throughput over a row's is that row's head-room.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from runner.model import Case
from runner.verdicts import Ratio, Row, indivisible, ratio

LITTLE = 2.0
"""Below this factor a row is marked: an upstream that is busy half of its time already makes others wait."""

Mark = Literal[
    "", "little head-room", "may be little head-room", "cannot be said", "no control", "no accepted sample"
]


@dataclass(frozen=True)
class Headroom:
    """The head-room of one case.

    ``factor`` is the covering control's median over the case's, with the furthest that samples allow as
    its range, "≥" where the control is a floor, "≤" where the row is and "?" where both are; None where
    there is nothing to divide. ``control`` is the control's case id, empty without one; ``mark`` is what
    a reader must know before using the row, empty only where it has `LITTLE` or more whatever the bounds.
    """

    case: str
    control: str
    factor: Ratio | None
    mark: Mark


@dataclass(frozen=True)
class Drift:
    """A control over the run: its first and last accepted sample, and the relative change between them.

    ``widest`` is the relative distance of the smallest from the largest sample: (high − low) / high.
    """

    first: float
    last: float
    change: float
    widest: float


def headroom(rows: Iterable[Row], cases: Mapping[str, Case]) -> list[Headroom]:
    """The head-room of every plain case among the rows, in their order.

    ``rows`` are those of one metric of one run's summary, controls among them; ``cases`` the run's, by id. A
    control bounds a case if it covers its workload; of several, one of as many connections goes first. Twins
    are left out: their case is there. Raises AnalysisError if the rows are of several metrics.
    """
    every = list(rows)
    found = []
    for row in every:
        if row["role"] != "case":
            continue
        control = _covering(every, cases, cases[row["case"]])
        if control is None or not control["n"]:
            found.append(
                Headroom(row["case"], "" if control is None else control["case"], None, "no control")
            )
        elif indivisible(row) or indivisible(control):
            found.append(Headroom(row["case"], control["case"], None, "no accepted sample"))
        else:
            factor = ratio(control, row)
            found.append(Headroom(row["case"], control["case"], factor, _mark(factor)))
    return found


def _mark(factor: Ratio) -> Mark:
    """What a factor says of `LITTLE`, as far as its bound lets it say anything."""
    below = factor.value < LITTLE
    if factor.bound == "?":
        return "cannot be said"
    if factor.bound == "≤":
        return "little head-room" if below else "cannot be said"
    if factor.bound == "≥":
        return "may be little head-room" if below else ""
    return "little head-room" if below else ""


def _covering(rows: Iterable[Row], cases: Mapping[str, Case], case: Case) -> Row | None:
    """The control that bounds a case: one that was measured first, then one of as many connections."""
    those = [
        row
        for row in rows
        if row["role"] == "control" and case.dimensions.get("workload") in cases[row["case"]].covers
    ]

    def suits(row: Row) -> tuple[bool, bool]:
        dimensions = cases[row["case"]].dimensions
        return bool(row["n"]), dimensions.get("connections") == case.dimensions.get("connections")

    return max(those, key=suits, default=None)


def drift(values: Sequence[float]) -> Drift | None:
    """How a control's figure moved; ``values`` are its accepted samples in the order they were taken.

    None with fewer than two of them, or where a relative change means nothing.
    """
    if len(values) < 2 or min(values) <= 0 or not all(map(math.isfinite, values)):
        return None
    first, last = values[0], values[-1]
    return Drift(first, last, last / first - 1, (max(values) - min(values)) / max(values))
