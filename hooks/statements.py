"""The statements that were published with figures, each computed on both sides.

A sentence is rendered from its predicate (in the mapping that travels in the published run), so words and
test cannot part. It must be true of the published figures; what ours say of it stands beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hooks.judging import judge
from hooks.judging_factors import decimals
from hooks.judgment import WORST, Judgment, Part
from hooks.markup import escape, join_names, row, table
from hooks.near import near
from hooks.sides import Side, place_words
from hooks.transcribed import mapping_of
from hooks.view import View
from runner.errors import AnalysisError
from runner.importers.published.predicates import (
    Ahead,
    Headroom,
    Larger,
    Order,
    Pair,
    Share,
    Statement,
    Within,
)
from runner.metrics import METRICS

_WORDS = {"holds": "Holds", "fails": "Does not hold", "unsaid": "Cannot be said"}
_COUNTED = {"holds": ("holds", "hold"), "fails": ("does not hold", "do not hold")}
_COUNTED["unsaid"] = ("cannot be said", "cannot be said")


def statements_of(view: View, topic: str | None = None) -> list[Statement]:
    """The statements of a published run, of one topic or all.

    Raises AnalysisError for a run that was not published by others, or an unknown topic; ArtifactError for
    a damaged mapping.
    """
    found = mapping_of(view).statement
    if topic is None:
        return found
    those = [statement for statement in found if statement.topic == topic]
    if not those:
        topics = list(dict.fromkeys(statement.topic for statement in found))
        raise AnalysisError(f"run {view.id} states nothing on {topic!r}", near(topic, topics))
    return those


def statements_block(
    published: View, topic: str | None, ours: View | None, here: Mapping[str, Any] | None = None
) -> str:
    """A table with a row for each statement: the sentence, the published figures, and ours.

    ``here`` replaces conditions of the statements on our side, as ``{"workers": 1}`` where we had no four.
    Raises AnalysisError if the published figures contradict a statement.
    """
    instead = dict(here or {})
    if ours is not None:
        for name in instead:
            if name not in ours.dimensions:
                raise AnalysisError(f"run {ours.id} has no dimension {name!r}", near(name, ours.dimensions))
    rows = []
    for statement in statements_of(published, topic):
        text = sentence_of(statement, published)
        theirs = judge(statement, Side(published, plain=True))
        if theirs.status != "holds":
            bad = next(part for part in theirs.parts if part.status != "holds")
            raise AnalysisError(
                f"the published figures contradict a {statement.kind!r} statement on {statement.topic}: "
                f"{bad.figures or bad.why}",
                f"Look for a slip in the mapping {published.run.suite_file.name}, or in its CSV files.",
            )
        cells = [_figures(theirs)]
        if ours is not None:
            cells.append(
                _verdict(judge(statement, Side(ours, False, instead)), _swapped(statement, ours, instead))
            )
        rows.append(row(text, *cells))
    heads = ["Statement", "Published figures (not measured here)"]
    caption = "What was stated with the published figures, which bear it out as they are"
    if ours is not None:
        heads.append("Here")
        caption += (
            "; and what this site's own run says of it: it holds where all that its samples' ranges and "
            "noise band allow bears it out"
        )
    return table(caption, heads, rows, "ls-statements")


def _figures(judgment: Judgment) -> str:
    items = "".join(f"<li>{_part(part)}</li>" for part in judgment.parts)
    return f'<ul class="ls-elsewhere">{items}</ul>'


def _verdict(judgment: Judgment, swapped: str) -> str:
    """The verdict, and of how many parts; then each part with its figures and its own reason."""
    parts = judgment.parts
    told = f'<strong class="ls-verdict ls-verdict-{judgment.status}">{_WORDS[judgment.status]}</strong>'
    mixed = judgment.count(judgment.status) < len(parts)
    if mixed:
        also = [
            f"{count} {_COUNTED[status][count != 1]}"
            for status in WORST
            if status != judgment.status and (count := judgment.count(status))
        ]
        told += f" in {judgment.count(judgment.status)} of {len(parts)} parts; {join_names(also)}"
    if len({(part.figures, part.why) for part in parts}) == 1 and not parts[0].figures:
        # One reason for all of them: said once, of no place.
        parts = [replace(parts[0], place="")]
    listed = "".join(f"<li>{text}</li>" for part in parts if (text := _part(part, mixed)))
    return f"{told}{swapped}" + (f"<ul>{listed}</ul>" if listed else "")


def _part(part: Part, mixed: bool = False) -> str:
    """A figure with its place; what it says where others say otherwise, and why it decides nothing."""
    reason = ": ".join(text for text in (_WORDS[part.status].lower() if mixed else "", part.why) if text)
    text = f"{part.figures} ({reason})" if part.figures and reason else part.figures or reason
    return f"{part.place}: {text}" if part.place else text


def _swapped(statement: Statement, ours: View, instead: Mapping[str, str | int]) -> str:
    """The conditions that are others here, as words."""
    kept = set(statement.unlike) if isinstance(statement, Order) else set()
    kept |= {name for pair in _pairs(statement) for name in pair.of}
    told = [
        f"{place_words(ours, name, value)} instead of {place_words(ours, name, statement.where[name])}"
        for name, value in instead.items()
        if name not in kept and statement.where.get(name, value) != value
    ]
    return f" (with {join_names(told)})" if told else ""


def _pairs(statement: Statement) -> Sequence[Pair]:
    if isinstance(statement, Within | Ahead | Larger):
        return statement.pairs
    return [statement.pair] if isinstance(statement, Share) else []


def sentence_of(statement: Statement, view: View) -> str:
    """The statement in words, as HTML."""
    return _SENTENCES[type(statement)](statement, view)


def _noun(metric: str) -> str:
    label = METRICS[metric].label
    return escape(label[:1].lower() + label[1:])


def _names(view: View, dimension: str, values: Sequence[str | int]) -> str:
    return join_names(place_words(view, dimension, value) for value in values)


def _each(view: View, among: Mapping[str, Sequence[str | int]]) -> str:
    """``, for each of a and b, on each of c and d``."""
    words = {"server": "for", "workload": "on"}
    return "".join(
        f" {words.get(name, 'with')}{' each of' if len(values) > 1 else ''} {_names(view, name, values)}"
        for name, values in among.items()
    )


def _side(view: View, where: Mapping[str, str | int]) -> str:
    return join_names(place_words(view, name, value) for name, value in where.items())


def _with(view: View, where: Mapping[str, str | int]) -> str:
    return f" (with {_side(view, where)})" if where else ""


def _over(view: View, pairs: Sequence[Pair]) -> str:
    return join_names(f"{_side(view, pair.of)} over {_side(view, pair.to)}" for pair in pairs)


def _within(statement: Within, view: View) -> str:
    digits = max(decimals(statement.low), decimals(statement.high))
    span = f"{statement.low:.{digits}f}–{statement.high:.{digits}f}×"
    return (
        f"The {_noun(statement.metric)} of {_over(view, statement.pairs)} is {span}"
        f"{_each(view, statement.among)}{_with(view, statement.where)}."
    )


def _ahead(statement: Ahead, view: View) -> str:
    direction = METRICS[statement.metric].better
    pairs = join_names(
        f"{_side(view, pair.of)} has a {direction} {_noun(statement.metric)} than {_side(view, pair.to)}"
        for pair in statement.pairs
    )
    return f"{pairs}{_each(view, statement.among)}{_with(view, statement.where)}."


def _larger(statement: Larger, view: View) -> str:
    return (
        f"In {_noun(statement.metric)}, {_over(view, statement.pairs)} is a larger factor"
        f"{_each(view, statement.among)} than {_names(view, statement.dimension, statement.values)} make of "
        f"each other{_each(view, statement.over)}{_with(view, statement.where)}."
    )


def _order(statement: Order, view: View) -> str:
    best = "highest" if METRICS[statement.metric].better == "higher" else "lowest"
    leaders = [
        (place_words(view, statement.dimension, leader.first), _side(view, leader.where))
        for leader in statement.leaders
    ]
    has = f"has the {best} {_noun(statement.metric)} on"
    told = [f"{name} {'on' if i else has} {place}" for i, (name, place) in enumerate(leaders)]
    text = (
        f"Of {_names(view, statement.dimension, statement.values)}{_with(view, statement.where)}, "
        f"{join_names(told)}"
    )
    if statement.unlike:
        text += f"; with {_side(view, statement.unlike)} the order is another"
    return f"{text}."


def _share(statement: Share, view: View) -> str:
    parts = join_names(
        f"{part.value * 100:.{max(0, decimals(part.value) - 2)}f} % ({_side(view, part.where)})"
        for part in statement.parts
    )
    of, to = _side(view, statement.pair.of), _side(view, statement.pair.to)
    return f"{of} has {parts} of the {_noun(statement.metric)} of {to}{_with(view, statement.where)}."


def _headroom(statement: Headroom, view: View) -> str:
    parts = join_names(
        f"{part.value:.{decimals(part.value)}f} times ({_side(view, part.where)})" for part in statement.parts
    )
    return (
        f"The upstream by itself has {parts} the {_noun(statement.metric)} of the best row that it bounds"
        f"{_with(view, statement.where)}."
    )


_SENTENCES: dict[type, Callable[[Any, View], str]] = {
    Within: _within,
    Ahead: _ahead,
    Larger: _larger,
    Order: _order,
    Share: _share,
    Headroom: _headroom,
}
