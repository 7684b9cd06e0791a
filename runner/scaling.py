"""Scaling: what several workers do over one, where the CPUs let them do anything."""

from __future__ import annotations

from dataclasses import dataclass

from runner.errors import AnalysisError
from runner.verdicts import Ratio, Row, indivisible, ratio


@dataclass(frozen=True)
class Scaling:
    """``factor`` is many workers' median over one worker's, range [low/high, high/low].

    It is None where there is nothing to say, and then ``refusal`` says why.
    """

    factor: Ratio | None
    refusal: str = ""


def scaling(one: Row, many: Row, *, workers: int, cpus: int) -> Scaling:
    """The scaling factor from one worker to ``workers``, on a server of ``cpus`` CPUs.

    Workers in excess of CPUs take turns, so their factor would tell of the scheduler and not of the server:
    it is refused. So is the factor of a row without an accepted sample. Raises AnalysisError if the rows
    are of two metrics.
    """
    if one["metric"] != many["metric"]:
        raise AnalysisError(f"no scaling from {one['metric']!r} to {many['metric']!r}")
    if workers > cpus:
        return Scaling(None, f"not scaling: {workers} workers share {cpus} CPU{'s' if cpus != 1 else ''}")
    for row, count in ((one, 1), (many, workers)):
        if not row["n"] or row["low"] <= 0:
            return Scaling(None, f"no accepted sample with {count} worker{'s' if count != 1 else ''}")
    for row, words in ((one, "one worker"), (many, f"{workers} workers")):
        if why := indivisible(row):
            return Scaling(None, f"no factor: with {words} it is {why}")
    return Scaling(ratio(many, one))
