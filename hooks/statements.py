"""The statements that were published with figures, each computed on both sides.

A sentence is rendered from its predicate (in the mapping that travels in the published run), so words and
test cannot part. It must be true of the published figures; what ours say of it stands beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hooks.judging import judge
from hooks.judgment import WORST, Judgment, Part
from hooks.markup import join_names, row, table
from hooks.near import near
from hooks.sentences import sentence_of
from hooks.sides import Side, place_words
from hooks.transcribed import mapping_of
from hooks.view import View
from runner.errors import AnalysisError
from runner.importers.published.predicates import Ahead, Larger, Order, Pair, Share, Statement, Within

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
    on = f" ({topic})" if topic else ""
    caption = f"What was stated with the published figures{on}, which bear it out as they are"
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
