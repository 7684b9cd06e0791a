"""The kinds of published statements that are about which row is better: ahead of another, an order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hooks.cells import figure
from hooks.judgment import Part, Status, spread_out
from hooks.markup import escape
from hooks.sides import Relation, Side, Unsaid, Where
from hooks.view import Row
from runner.importers.published.predicates import Ahead, Order
from runner.metrics import METRICS

_FOLLOWS: dict[Relation, Status] = {"better": "holds", "worse": "fails", "unsaid": "unsaid"}


def ahead(statement: Ahead, side: Side) -> Iterator[Part]:
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
            yield Part(_FOLLOWS[relation], place, f"{figure(a)} against {figure(b)}", escape(why))


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
    decided = True
    for position, a in enumerate(here):
        for b in here[position + 1 :]:
            one, _ = side.compare(a, b)
            other, _ = side.compare(*(by_value[_value_of(statement, side, row)] for row in (a, b)))
            if {one, other} == {"better", "worse"}:
                return "holds", ""
            decided = decided and "unsaid" not in (one, other)
    return ("fails", "the same order") if decided else ("unsaid", "the order of some cannot be told")
