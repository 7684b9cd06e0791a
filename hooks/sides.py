"""One side of a statement: the rows it has, how far two of them are apart, and which is better.

The published side has figures without ranges, so they are compared as they stand. Our side is held to what
every claim on this site is held to: ranges, the noise band, and no row without a tier.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from hooks.cells import figure, percent, spread
from hooks.factors import plain, times
from hooks.grid import describe_fixed
from hooks.markup import escape
from hooks.view import Row, View
from runner.errors import AnalysisError
from runner.metrics import METRICS

Where = Mapping[str, str | int]
Relation = Literal["better", "worse", "unsaid"]
_COUNTED = ("workers", "connections", "load")


class Unsaid(Exception):
    """This side cannot say it; the message is why, as HTML."""


@dataclass(frozen=True)
class Estimate:
    """A ratio, from ``low`` to ``high`` whatever of its samples and of the noise band (relative) one takes.

    The two bounds are those between which no other ratio could be told from this one: its range, or what
    the band alone spans if that is more. ``spread`` is the range as shown.
    """

    value: float
    low: float
    high: float
    bound: str = ""
    spread: str = ""
    band: float = 0.0

    def words(self) -> str:
        sign = f"{self.bound} " if self.bound else ""
        return f"{sign}{times(self.value)}{self.spread}"

    def allowed(self, digits: int) -> str:
        """What may be the case, and why no less, as words."""
        if self.bound:
            return "a bound only, because a side was limited by the load generator or the upstream"
        noise = f" and the noise band of {percent(self.band)}" if self.band else ""
        digits = max(digits, 2)
        return f"its samples{noise} allow {self.low:.{digits}f}–{self.high:.{digits}f}×"


@dataclass(frozen=True)
class Side:
    """One run to judge by.

    ``plain`` compares medians as they are; ``instead`` replaces conditions; ``bounds`` lets a floor take
    part in a factor, as the bound it is.
    """

    view: View
    plain: bool
    instead: Where = field(default_factory=dict)
    bounds: bool = True

    def conditions(self, where: Where, named: set[str], kept: set[str] | None = None) -> dict[str, str | int]:
        """A statement's conditions on this side; dimensions that the statement itself names stay."""
        kept = named if kept is None else named | kept
        return {**where, **{name: value for name, value in self.instead.items() if name not in kept}}

    def row(self, metric: str, where: Where, role: str = "case") -> Row:
        """The one row there. Raises Unsaid without one, AnalysisError if there are several."""
        found = self.rows(metric, where, role)
        if not found:
            raise Unsaid(self._without(where))
        if len(found) > 1:
            raise AnalysisError(
                f"{len(found)} cases of run {self.view.id} have {where}",
                "Say which, as in here={'connections': 100}.",
            )
        if not found[0]["n"]:
            raise Unsaid(f"{self.name(found[0])}: no accepted sample")
        return found[0]

    def rows(self, metric: str, where: Where, role: str = "case") -> list[Row]:
        return [
            row
            for row in self.view.rows(metric)
            if row["role"] == role
            and all(self.view.cases[row["case"]].dimensions.get(name) == v for name, v in where.items())
        ]

    def against(self, row: Row) -> str:
        """Why no statement may rest on this row, or nothing. A floor may, where bounds do."""
        if self.plain:
            return ""
        if row["missing"]:
            return f"{row['missing']} of {row['wanted']} samples missing"
        if row["n"] == 1:
            return "one sample only"
        if row["role"] == "control" or (self.bounds and row["floor"]):
            return ""
        return str(row["untiered"])

    def estimate(self, a: Row, b: Row) -> Estimate:
        """Row ``a`` over ``b``. Raises Unsaid for a row without a statement, or if workers take `turns`."""
        from runner.verdicts import indivisible, ratio

        for row in (a, b):
            if reason := self.against(row):
                raise Unsaid(f"{self.name(row)}: {escape(reason)}")
        for row in (a, b):
            if reason := indivisible(row):
                raise Unsaid(f"{self.name(row)}: {escape(reason)}")
        if reason := self.turns(a, b):
            raise Unsaid(reason)
        found = ratio(a, b)
        if self.plain:
            return Estimate(found.value, found.low, found.high)
        low, high, band = found.low, found.high, max((x for x in (a["band"], b["band"]) if x == x), default=0)
        if band:
            # What is not `runner.tiers.distinct` from the ratio by the band alone; from 2 on, that is all.
            by = (2 + band) / (2 - band) if band < 2 else math.inf
            low, high = min(low, found.value / by), max(high, found.value * by)
        if found.bound in ("≥", "?"):
            high = math.inf
        if found.bound in ("≤", "?"):
            low = 0.0
        return Estimate(
            found.value, low, high, found.bound, f" ({plain(found.low)}–{plain(found.high)})", float(band)
        )

    def turns(self, a: Row, b: Row) -> str:
        """Why no factor lies between numbers of workers: they take turns on the server's CPUs; or nothing."""
        counts = [self.view.cases[row["case"]].dimensions.get("workers") for row in (a, b)]
        known = [count for count in counts if isinstance(count, int)]
        cpus = len(self.view.run.layout.roles.get("server", []))
        if self.plain or len(set(known)) < 2 or max(known) <= cpus:
            return ""
        return f"not scaling: {max(known)} workers share {cpus} CPU{'s' if cpus != 1 else ''}"

    def compare(self, a: Row, b: Row) -> tuple[Relation, str]:
        """Whether row ``a`` is better than ``b``, and why that cannot be said."""
        from runner.verdicts import verdict

        if self.plain:
            if a["median"] == b["median"]:
                return "unsaid", "equal as published"
            higher = METRICS[a["metric"]].better == "higher"
            return ("better" if (a["median"] > b["median"]) == higher else "worse"), ""
        found = verdict(a, b, a["metric"])
        if found.relation in ("faster", "slower"):
            return ("better" if found.relation == "faster" else "worse"), ""
        return "unsaid", found.reason

    def told(self, row: Row) -> str:
        """The row's figure; on a side with samples with their range."""
        return figure(row) if self.plain else f"{figure(row)} ({spread(row)})"

    def name(self, row: Row) -> str:
        """The row's configuration, as HTML."""
        dimensions = self.view.cases[row["case"]].dimensions
        return self.view.label_html("server", dimensions["server"])

    def place(self, where: Where) -> str:
        """Values as labels, as HTML."""
        return " · ".join(place_words(self.view, name, value) for name, value in where.items())

    def _without(self, where: Where) -> str:
        """What of the conditions this run does not have: the one that says it, where there is one."""
        lacking = {name: v for name, v in where.items() if v not in self.view.dimensions.get(name, [])}
        return f"this run has no case with {self.place(lacking or where)}"


def place_words(view: View, name: str, value: str | int) -> str:
    """A value for reading, as HTML: ``1 worker``, or its label."""
    if name in _COUNTED:
        return escape(describe_fixed(view, {name: value}))
    if isinstance(value, int):
        return f"{value:,} {escape(name if value != 1 or not name.endswith('s') else name[:-1])}"
    return view.label_html(name, value)
