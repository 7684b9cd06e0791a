"""The kinds of statements that are about which row is better: ahead, behind, alike, an order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from hooks.cells import figure
from hooks.factors import factor
from hooks.judgment import Part, Status, spread_out
from hooks.markup import escape
from hooks.sides import Relation, Side, Unsaid, Where
from hooks.view import Row
from runner.importers.published.predicates import Ahead, Alike, Behind, Order
from runner.metrics import METRICS

_AHEAD: dict[Relation, Status] = {"better": "holds", "worse": "fails", "unsaid": "unsaid"}
_BEHIND: dict[Relation, Status] = {"better": "fails", "worse": "holds", "unsaid": "unsaid"}


def ahead(statement: Ahead, side: Side) -> Iterator[Part]:
    yield from _paired(statement, side, lambda a, b: _ordered(side, a, b, _AHEAD))


def behind(statement: Behind, side: Side) -> Iterator[Part]:
    yield from _paired(statement, side, lambda a, b: _ordered(side, a, b, _BEHIND))


def alike(statement: Alike, side: Side) -> Iterator[Part]:
    yield from _paired(statement, side, lambda a, b: _same(side, a, b))


def _paired(
    statement: Ahead | Behind | Alike, side: Side, judged: Callable[[Row, Row], Part]
) -> Iterator[Part]:
    """A part for every pair in every case."""
    for there in spread_out(statement.among):
        for pair in statement.pairs:
            where = {**side.conditions(statement.where, {*pair.of, *there}), **there}
            place = side.place(there)
            if len(statement.pairs) > 1:
                place = " · ".join(filter(None, (place, side.place(pair.of))))
            try:
                a, b = (side.row(statement.metric, {**where, **end}) for end in (pair.of, pair.to))
            except Unsaid as reason:
                yield Part("unsaid", place, "", str(reason))
                continue
            yield replace(judged(a, b), place=place)


def _ordered(side: Side, a: Row, b: Row, follows: Mapping[Relation, Status]) -> Part:
    from runner.verdicts import indivisible, ratio

    relation, why = side.compare(a, b)
    figures = f"{side.told(a)} against {side.told(b)} {escape(METRICS[a['metric']].display_unit)}"
    if indivisible(a) or indivisible(b) or side.turns(a, b):
        return Part(follows[relation], "", figures, escape(why))
    times = ratio(a, b)
    return Part(follows[relation], "", f"{figures}, {factor(times)}", escape(why), times.value)


def _same(side: Side, a: Row, b: Row) -> Part:
    from runner.verdicts import verdict

    figures = f"{side.told(a)} and {side.told(b)} {escape(METRICS[a['metric']].display_unit)}"
    if side.plain:
        return Part("unsaid", "", figures, "published without ranges, so nothing says what is alike")
    found = verdict(a, b, a["metric"])
    if found.relation == "not comparable":
        return Part("unsaid", "", figures, escape(found.reason))
    return Part(
        "holds" if found.relation == "indistinguishable" else "fails", "", figures, escape(found.reason)
    )


def order(statement: Order, side: Side) -> Iterator[Part]:
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
    doubts: dict[str, None] = {}
    for position, a in enumerate(here):
        for b in here[position + 1 :]:
            one, why = side.compare(a, b)
            other, there_why = side.compare(*(by_value[_value_of(statement, side, row)] for row in (a, b)))
            if {one, other} == {"better", "worse"}:
                return "holds", ""
            doubts |= dict.fromkeys(escape(words) for words in (why, there_why) if words)
    if doubts:
        return "unsaid", f"the order of some cannot be told: {'; '.join(doubts)}"
    return "fails", "the same order"
