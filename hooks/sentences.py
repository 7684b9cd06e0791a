"""A statement in words, from its predicate: for what others published, and for what a page claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hooks.cells import noun
from hooks.judging_factors import decimals
from hooks.markup import escape, join_names, sentence
from hooks.sides import Where, place_words
from hooks.view import View
from runner.importers.published.predicates import (
    Ahead,
    Alike,
    Behind,
    Headroom,
    Larger,
    Order,
    Pair,
    Predicate,
    Share,
    Within,
)
from runner.metrics import METRICS

_BEFORE = {"server": "for", "workload": "on"}


def sentence_of(statement: Predicate, view: View) -> str:
    """The statement in words, as HTML."""
    return sentence(_SENTENCES[type(statement)](statement, view))


def conditions(view: View, where: Where) -> str:
    """`` on GET /items with 4 workers and 100 connections``, with a space before it; or nothing."""
    named = [f" {_BEFORE[name]} {place_words(view, name, where[name])}" for name in _BEFORE if name in where]
    others = [place_words(view, name, value) for name, value in where.items() if name not in _BEFORE]
    return "".join(named) + (f" with {join_names(others)}" if others else "")


def cases_words(view: View, among: Mapping[str, Sequence[str | int]]) -> str:
    """`` for each of a and b on each of c and d``, with a space before it; or nothing."""
    return "".join(
        f" {_BEFORE.get(name, 'with')}{' each of' if len(values) > 1 else ''} {_names(view, name, values)}"
        for name, values in among.items()
    )


def span_words(low: float, high: float) -> str:
    """``3.5–4.1``, with as many decimals as either was written with."""
    digits = max(decimals(low), decimals(high))
    return f"{low:.{digits}f}–{high:.{digits}f}" if low != high else f"{low:.{digits}f}"


def _noun(metric: str) -> str:
    return escape(noun(METRICS[metric]))


def _names(view: View, dimension: str, values: Sequence[str | int]) -> str:
    return join_names(place_words(view, dimension, value) for value in values)


def _side(view: View, where: Where) -> str:
    """``uvicorn with 2 workers``."""
    head, *rest = sorted(where, key=lambda name: (name != "server", name != "workload"))
    load = "a load of " if head == "load" else ""
    others = {name: where[name] for name in rest}
    return f"{load}{place_words(view, head, where[head])}{conditions(view, others)}"


def _has(where: Where) -> str:
    """The verb of a side: several workers *have* what one of them has."""
    several = [isinstance(value, int) and value != 1 and name != "load" for name, value in where.items()]
    return "have" if all(several) else "has"


def _scope(statement: Predicate, view: View) -> str:
    return cases_words(view, statement.among) + conditions(view, statement.where)


def _within(statement: Within, view: View) -> str:
    first, *others = statement.pairs
    text = (
        f"{_side(view, first.of)} {_has(first.of)} {span_words(statement.low, statement.high)}× the "
        f"{_noun(statement.metric)} of {_side(view, first.to)}"
    )
    text += "".join(
        f", as {_side(view, pair.of)} {_has(pair.of)} of {_side(view, pair.to)}" for pair in others
    )
    scope = _scope(statement, view)
    return f"{text}{',' if others and scope else ''}{scope}"


def _than(statement: Ahead | Behind, view: View, direction: str) -> str:
    first, *others = statement.pairs
    text = (
        f"{_side(view, first.of)} {_has(first.of)} a {direction} {_noun(statement.metric)} "
        f"than {_side(view, first.to)}"
    )
    text += "".join(f", and {_side(view, pair.of)} than {_side(view, pair.to)}" for pair in others)
    scope = _scope(statement, view)
    return f"{text}{',' if others and scope else ''}{scope}"


def _ahead(statement: Ahead, view: View) -> str:
    return _than(statement, view, METRICS[statement.metric].better)


def _behind(statement: Behind, view: View) -> str:
    return _than(statement, view, "lower" if METRICS[statement.metric].better == "higher" else "higher")


def _alike(statement: Alike, view: View) -> str:
    pairs = "; ".join(f"{_side(view, pair.of)} and {_side(view, pair.to)}" for pair in statement.pairs)
    return f"{pairs} cannot be told apart by {_noun(statement.metric)}{_scope(statement, view)}"


def _larger(statement: Larger, view: View) -> str:
    """Values of which each has had its factor are not named again, nor are cases that the pairs name."""
    factors = join_names(_over(view, pair) for pair in statement.pairs)
    are = "is a larger factor" if len(statement.pairs) == 1 else "are larger factors"
    values = statement.values
    lies = "any between two of" if len(values) > 2 else "lies between"
    again = list(statement.among.get(statement.dimension, [])) == values
    sides = [side for pair in statement.pairs for side in (pair.of, pair.to)]
    ends = {(name, value) for side in sides for name, value in side.items()}
    named = {(name, value) for name, listed in statement.over.items() for value in listed} == ends
    over = "".join(f" {_BEFORE.get(name, 'with')} the same {escape(name)}" for name in statement.over)
    return (
        f"In {_noun(statement.metric)}, {factors} {are}{cases_words(view, statement.among)} than {lies} "
        f"{'these' if again else _names(view, statement.dimension, values)}"
        f"{over if named else cases_words(view, statement.over)}{conditions(view, statement.where)}"
    )


def _over(view: View, pair: Pair) -> str:
    return f"{_side(view, pair.of)} over {_side(view, pair.to)}"


def _order(statement: Order, view: View) -> str:
    best = "highest" if METRICS[statement.metric].better == "higher" else "lowest"
    told = [
        f"{place_words(view, statement.dimension, leader.first)}"
        f"{'' if i else f' has the {best} {_noun(statement.metric)}'}{conditions(view, leader.where)}"
        for i, leader in enumerate(statement.leaders)
    ]
    text = f"Of {_names(view, statement.dimension, statement.values)}{conditions(view, statement.where)}, "
    text += join_names(told)
    if statement.unlike:
        text += f";{conditions(view, statement.unlike)} their order is different"
    return text


def _share(statement: Share, view: View) -> str:
    (first, *others), pair = statement.parts, statement.pair
    text = (
        f"{_side(view, pair.of)} {_has(pair.of)} {_per_cent(first.value)} of the {_noun(statement.metric)} "
        f"of {_side(view, pair.to)}{conditions(view, first.where)}"
    )
    told = [text, *(f"{_per_cent(part.value)}{conditions(view, part.where)}" for part in others)]
    rest = conditions(view, statement.where)
    return f"{join_names(told)}{f',{rest}' if rest else ''}"


def _per_cent(value: float) -> str:
    return f"{value * 100:.{max(0, decimals(value) - 2)}f} %"


def _headroom(statement: Headroom, view: View) -> str:
    parts = join_names(
        f"{span_words(part.value, part.value)} times ({_side(view, part.where)})" for part in statement.parts
    )
    rest = conditions(view, statement.where)
    return (
        f"The upstream by itself has {parts} the {_noun(statement.metric)} of the best row that it "
        f"bounds{f',{rest}' if rest else ''}"
    )


_SENTENCES: dict[type, Callable[[Any, View], str]] = {
    Within: _within,
    Ahead: _ahead,
    Behind: _behind,
    Alike: _alike,
    Larger: _larger,
    Order: _order,
    Share: _share,
    Headroom: _headroom,
}
