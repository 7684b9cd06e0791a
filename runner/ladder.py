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
"""The share of the offered rate that a sample must achieve for the rate to count as reached."""
NOT_REACHED = "rate-not-reached"
"""The flag of a sample that could not send what was due, so that its percentiles leave the worst out."""


@dataclass(frozen=True)
class Rung:
    """One load of a ladder.

    ``load`` is in per cent of the capacity, ``offered`` the rate in requests/s, None where it is not
    known; ``median`` and ``low`` are the median and the smallest accepted sample of the open-loop p99 in
    seconds; ``n`` how many samples were accepted, and ``reached`` in how many of them the offered rate
    was achieved, None where nobody can say; ``limited`` whether the load generator or the upstream was at
    its limit, so that latency and rate may be theirs.
    """

    load: int
    offered: float | None
    median: float
    low: float
    n: int
    reached: int | None = None
    limited: bool = False


@dataclass(frozen=True)
class Knee:
    """Where a ladder bends: the load in per cent, the load below it, and why it counts."""

    load: int
    before: int | None
    reason: str


def knee(rungs: Sequence[Rung]) -> Knee | None:
    """The first load at which the latency climbs or the rate is no longer reached.

    A load climbs when its open-loop p99, at the lowest of its samples, exceeds `CLIMB` times the median
    of the ladder's lowest load: no single sample of either, high or low, can bring that about or hide
    it, except a low one of the load itself. The rate is not reached when fewer than half of the samples
    achieved it. Rungs without an accepted sample, and limited ones, say nothing of the server and are
    passed over; None where no rung bends, or none can. The rule is a convention of this project, chosen
    to be simple to check by hand.
    """
    measured = sorted((rung for rung in rungs if rung.n and not rung.limited), key=lambda rung: rung.load)
    below: int | None = None
    for rung in measured:
        if rung.reached is not None and 2 * rung.reached < rung.n:
            return Knee(
                rung.load, below, f"the offered rate was reached in {rung.reached} of {rung.n} samples"
            )
        if rung is not measured[0] and rung.low > CLIMB * measured[0].median:
            words = f"in each of its samples the p99 is over {CLIMB:g} times the lowest load's median"
            return Knee(rung.load, below, words)
        below = rung.load
    return None
