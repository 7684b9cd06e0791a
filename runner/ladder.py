"""A load ladder: latency against load in an open loop, and the load at which it begins to climb.

The runner measures a configuration's capacity in a closed loop, then offers shares of it at a fixed rate.
In an open loop requests are sent when they are due, whether or not earlier ones were answered, and latency
counts from when they were due; so a server that falls behind shows it in its latency.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

CLIMB = 2.0
"""How many times the p99 of the lowest load a p99 must be to count as climbing."""
REACHED = 0.98
"""The share of the offered rate that must be achieved for the rate to count as reached."""


@dataclass(frozen=True)
class Rung:
    """One load of a ladder.

    ``load`` is in per cent of the capacity; ``offered`` and ``achieved`` in requests/s, the offered rate
    None where it is not known, the achieved one the median of accepted samples, NaN without any; ``low``
    and ``high`` are the smallest and largest accepted sample of the open-loop p99 in seconds; ``n`` how
    many samples were accepted.
    """

    load: int
    offered: float | None
    achieved: float
    low: float
    high: float
    n: int

    @property
    def reached(self) -> bool | None:
        """Whether the offered rate was achieved; None where nobody can say."""
        if self.offered is None or self.offered <= 0 or not self.n:
            return None
        return self.achieved >= REACHED * self.offered


@dataclass(frozen=True)
class Knee:
    """Where a ladder bends: the load in per cent, the load below it, and why it counts."""

    load: int
    before: int | None
    reason: str


def knee(rungs: Sequence[Rung]) -> Knee | None:
    """The first load at which the latency climbs or the rate is no longer reached.

    A load climbs when its open-loop p99, at the lowest of its samples, exceeds `CLIMB` times the highest
    sample of the ladder's lowest load: no single sample of either can bring that about by itself. The rate
    is not reached when the achieved throughput is below `REACHED` of the offered one. Rungs without an
    accepted sample say nothing and are passed over; None where no rung bends, or none was measured. The
    rule is a convention of this project, chosen to be simple to check by hand.
    """
    measured = sorted((rung for rung in rungs if rung.n), key=lambda rung: rung.load)
    below: int | None = None
    for rung in measured:
        if rung.reached is False:
            return Knee(rung.load, below, "the offered rate was not reached")
        if rung is not measured[0] and rung.low > CLIMB * measured[0].high:
            return Knee(rung.load, below, f"its p99 is over {CLIMB:g} times that of the lowest load")
        below = rung.load
    return None
