"""Whether a published statement is borne out: by its own figures, and by a run of ours.

The published side has figures without ranges, so they are compared as they stand. Our side is held to
what every claim on this site is held to: ranges, the noise band, and no row without a tier. So a
statement holds here, does not hold here, or cannot be said here, for a reason.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Literal

from hooks.cells import figure, percent
from hooks.markup import escape
from hooks.view import Row, View
from runner.errors import AnalysisError
from runner.importers.published.predicates import (
    Ahead,
    Headroom,
    Larger,
    Order,
    Share,
    Statement,
    Within,
)
from runner.metrics import METRICS

Where = Mapping[str, str | int]
Status = Literal["holds", "fails", "unsaid"]


_BOUND = "a bound only, because a side was limited by the load generator or the upstream"


class Unsaid(Exception):
    """This side cannot say it; the message is why, as HTML."""


@dataclass(frozen=True)
class Part:
    """One figure of a judgment: where, what, and what follows from it; all HTML."""

    status: Status
    place: str
    figures: str
    why: str = ""


@dataclass(frozen=True)
class Judgment:
    """What a side says of a statement, with the figures that it follows from."""

    parts: list[Part]

    @property
    def status(self) -> Status:
        """One part that fails decides; without one, one that cannot be said."""
        found = {part.status for part in self.parts}
        return "fails" if "fails" in found else "unsaid" if "unsaid" in found else "holds"


@dataclass(frozen=True)
class Estimate:
    """A ratio with the furthest apart that samples and noise allow, and how it is shown."""

    value: float
    low: float
    high: float
    bound: str
    spread: str
    band: float

    def words(self) -> str:
        sign = f"{self.bound} " if self.bound else ""
        return f"{sign}{self.value:.2f}×{self.spread}"


@dataclass(frozen=True)
class Side:
    """One run to judge by. ``plain`` compares medians as they are; ``instead`` replaces conditions."""

    view: View
    plain: bool
    instead: Where = field(default_factory=dict)

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
        """Why no statement may rest on this row, or nothing. A floor may: as a bound."""
        if self.plain:
            return ""
        if row["missing"]:
            return f"{row['missing']} of {row['wanted']} samples missing"
        if row["n"] == 1:
            return "one sample only"
        return "" if row["floor"] or row["role"] == "control" else str(row["untiered"])

    def estimate(self, a: Row, b: Row) -> Estimate:
        """Row ``a`` over ``b``. Raises Unsaid for a row that carries no statement."""
        from runner.verdicts import ratio

        for row in (a, b):
            if reason := self.against(row):
                raise Unsaid(f"{self.name(row)}: {escape(reason)}")
        found = ratio(a, b)
        band = 0.0 if self.plain else max((x for x in (a["band"], b["band"]) if x == x), default=0.0)
        low, high = found.low * (1 - band), found.high * (1 + band)
        if found.bound in ("≥", "?"):
            high = math.inf
        if found.bound in ("≤", "?"):
            low = 0.0
        spread = "" if self.plain else f" ({found.low:.2f}–{found.high:.2f})"
        return Estimate(found.value, low, high, found.bound, spread, band)

    def compare(self, a: Row, b: Row) -> tuple[Literal["better", "worse", "unsaid"], str]:
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
    if isinstance(value, int):
        return f"{value:,} {escape(name if value != 1 or not name.endswith('s') else name[:-1])}"
    return view.label_html(name, value)


def judge(statement: Statement, side: Side) -> Judgment:
    """What a side says of a statement."""
    return Judgment(list(_JUDGES[type(statement)](statement, side)))


def spread_out(among: Mapping[str, Sequence[str | int]]) -> list[dict[str, str | int]]:
    """Every combination of the values, as conditions."""
    return [dict(zip(among, values, strict=True)) for values in product(*among.values())]


def decimals(value: float) -> int:
    """With how many decimals a figure was written."""
    text = repr(value)
    return len(text.partition(".")[2].rstrip("0")) if "." in text else 0


def _within(statement: Within, side: Side) -> Iterator[Part]:
    digits = max(decimals(statement.low), decimals(statement.high))
    for place, found in _factors(statement, side):
        if isinstance(found, str):
            yield Part("unsaid", place, "", found)
            continue
        if round(found.high, digits) < statement.low or round(found.low, digits) > statement.high:
            yield Part("fails", place, found.words())
        elif found.bound:
            yield Part("unsaid", place, found.words(), _BOUND)
        elif statement.low <= round(found.value, digits) <= statement.high:
            yield Part("holds", place, found.words())
        else:
            yield Part("unsaid", place, found.words(), "outside, but its samples reach the span")


def _factors(statement: Within | Larger, side: Side) -> Iterator[tuple[str, Estimate | str]]:
    """Every pair's ratio in every case, by place; or why there is none."""
    for there in spread_out(statement.among):
        for pair in statement.pairs:
            named = {*pair.of, *there}
            where = {**side.conditions(statement.where, named), **there}
            place = side.place(there)
            if len(statement.pairs) > 1:
                place += f" · {side.place(pair.of)}"
            try:
                a, b = (side.row(statement.metric, {**where, **end}) for end in (pair.of, pair.to))
                yield place, side.estimate(a, b)
            except Unsaid as reason:
                yield place, str(reason)


def _ahead(statement: Ahead, side: Side) -> Iterator[Part]:
    for there in spread_out(statement.among):
        for pair in statement.pairs:
            where = {**side.conditions(statement.where, {*pair.of, *there}), **there}
            place = side.place(there)
            try:
                a, b = (side.row(statement.metric, {**where, **end}) for end in (pair.of, pair.to))
            except Unsaid as reason:
                yield Part("unsaid", place, "", str(reason))
                continue
            relation, why = side.compare(a, b)
            status: Status = {"better": "holds", "worse": "fails"}.get(relation, "unsaid")  # type: ignore[assignment]
            yield Part(status, place, f"{figure(a)} against {figure(b)}", escape(why))


def _larger(statement: Larger, side: Side) -> Iterator[Part]:
    """Two parts: the smallest of the one kind of factor, and the largest of the other."""
    ours, reasons = _kept(_factors(statement, side))
    theirs, others = _kept(_effects(statement, side))
    reasons += others
    if not ours or not theirs:
        yield Part("unsaid", "", "", "; ".join(dict.fromkeys(reasons)))
        return
    smallest = min(ours, key=lambda item: item[1].value)
    largest = max(theirs, key=lambda item: item[1].value)
    if reasons:
        status: Status = "unsaid"
        why = "; ".join(dict.fromkeys(reasons))
    elif min(item.low for _, item in ours) > max(item.high for _, item in theirs):
        status, why = "holds", ""
    elif min(item.high for _, item in ours) < max(item.low for _, item in theirs):
        status, why = "fails", ""
    else:
        status, why = "unsaid", "what the samples allow of the one reaches the other"
    yield Part(status, f"smallest ({smallest[0]})", smallest[1].words())
    yield Part(status, f"largest of the other ({largest[0]})", largest[1].words(), why)


def _kept(
    found: Iterator[tuple[str, Estimate | str]],
) -> tuple[list[tuple[str, Estimate]], list[str]]:
    kept: list[tuple[str, Estimate]] = []
    reasons: list[str] = []
    for place, item in found:
        if isinstance(item, str):
            reasons.append(item)
        else:
            kept.append((place, item))
    return kept, reasons


def _effects(statement: Larger, side: Side) -> Iterator[tuple[str, Estimate | str]]:
    """In each case of ``over``, the factor between the best and the worst value of the dimension."""
    for there in spread_out(statement.over):
        where = {**side.conditions(statement.where, {statement.dimension, *there}), **there}
        try:
            rows = [side.row(statement.metric, {**where, statement.dimension: v}) for v in statement.values]
            rows.sort(key=lambda row: float(row["median"]))
            yield side.place(there), side.estimate(rows[-1], rows[0])
        except Unsaid as reason:
            yield side.place(there), str(reason)


def _order(statement: Order, side: Side) -> Iterator[Part]:
    for leader in statement.leaders:
        named = {statement.dimension, *leader.where}
        where = {**side.conditions(statement.where, named, set(statement.unlike)), **leader.where}
        place = side.place({name: where[name] for name in [*leader.where, *statement.unlike]})
        try:
            rows = _ranked(statement, side, where)
        except Unsaid as reason:
            yield Part("unsaid", place, "", str(reason))
            continue
        status, why = _leads(statement, side, rows, leader.first)
        yield Part(status, place, _ranking(side, rows), why)
        if not statement.unlike:
            continue
        other = {**where, **statement.unlike}
        place = side.place({name: other[name] for name in [*leader.where, *statement.unlike]})
        try:
            there = _ranked(statement, side, other)
        except Unsaid as reason:
            yield Part("unsaid", place, "", str(reason))
            continue
        status, why = _reordered(statement, side, rows, there)
        yield Part(status, place, _ranking(side, there), why)


def _ranked(statement: Order, side: Side, where: Where) -> list[Row]:
    """The rows of the values, the best median first."""
    rows = [side.row(statement.metric, {**where, statement.dimension: v}) for v in statement.values]
    sign = -1 if METRICS[statement.metric].better == "higher" else 1
    return sorted(rows, key=lambda row: sign * float(row["median"]))


def _ranking(side: Side, rows: Sequence[Row]) -> str:
    return ", ".join(f"{side.name(row)} {figure(row)}" for row in rows)


def _value_of(statement: Order, side: Side, row: Row) -> str:
    return str(side.view.cases[row["case"]].dimensions[statement.dimension])


def _leads(statement: Order, side: Side, rows: Sequence[Row], first: str) -> tuple[Status, str]:
    leader = next(row for row in rows if _value_of(statement, side, row) == first)
    found = [(row, *side.compare(leader, row)) for row in rows if row is not leader]
    if any(relation == "worse" for _, relation, _ in found):
        return "fails", ""
    undecided = [f"{side.name(row)}: {escape(why)}" for row, relation, why in found if relation == "unsaid"]
    return ("unsaid", "; ".join(undecided)) if undecided else ("holds", "")


def _reordered(statement: Order, side: Side, here: Sequence[Row], there: Sequence[Row]) -> tuple[Status, str]:
    """Whether some two values stand the other way round under the other conditions."""
    by_value = {_value_of(statement, side, row): row for row in there}
    decided = True
    for position, a in enumerate(here):
        for b in here[position + 1 :]:
            one, _ = side.compare(a, b)
            other, _ = side.compare(*(by_value[_value_of(statement, side, row)] for row in (a, b)))
            if {one, other} == {"better", "worse"}:
                return "holds", ""
            decided = decided and "unsaid" not in (one, other)
    return ("fails", "the same order") if decided else ("unsaid", "the order of some cannot be told")


def _share(statement: Share, side: Side) -> Iterator[Part]:
    for part in statement.parts:
        named = {*statement.pair.of, *part.where}
        where = {**side.conditions(statement.where, named), **part.where}
        ends = (statement.pair.of, statement.pair.to)
        try:
            a, b = (side.row(statement.metric, {**where, **end}) for end in ends)
            found = side.estimate(a, b)
        except Unsaid as reason:
            yield Part("unsaid", side.place(part.where), "", str(reason))
            continue
        status, why = _is(found, part.value)
        yield Part(status, side.place(part.where), found.words(), why)


def _is(found: Estimate, value: float) -> tuple[Status, str]:
    """Whether a ratio may be this value, rounded as written."""
    from runner.tiers import relative_difference

    digits = decimals(value)
    if not round(found.low, digits) <= value <= round(found.high, digits):
        return "fails", ""
    if found.bound:
        return "unsaid", _BOUND
    if round(found.value, digits) == value:
        return "holds", ""
    if relative_difference(found.value, value) <= found.band:
        return "holds", f"apart by less than the noise band of {percent(found.band)}"
    return "unsaid", f"not {value:.{digits}f}, but its samples reach it"


def _headroom(statement: Headroom, side: Side) -> Iterator[Part]:
    for part in statement.parts:
        place = side.place(part.where)
        try:
            control = side.row(statement.metric, part.where, "control")
            covers = side.view.cases[control["case"]].covers
            where = side.conditions(statement.where, {"workload"})
            rows = [
                row
                for workload in covers
                for row in side.rows(statement.metric, {**where, "workload": workload})
                if row["n"]
            ]
            if not rows:
                raise Unsaid(f"this run has no case that {place} bounds")
            best = (max if METRICS[statement.metric].better == "higher" else min)(
                rows, key=lambda row: float(row["median"])
            )
            found = side.estimate(control, best)
        except Unsaid as reason:
            yield Part("unsaid", place, "", str(reason))
            continue
        status, why = _is(found, part.value)
        text = f"{found.words()}: {figure(control)} over {figure(best)} ({side.name(best)})"
        yield Part(status, place, text, why)


_JUDGES: dict[type, Any] = {
    Within: _within,
    Ahead: _ahead,
    Larger: _larger,
    Order: _order,
    Share: _share,
    Headroom: _headroom,
}
