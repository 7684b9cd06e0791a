"""Claims: sentences rendered from their own predicate, so that words and data cannot part.

A claim that the data does not bear out is an AnalysisError that says what was claimed and what the data
says; it fails the build. On a run with samples, ranges and the noise band decide, and no claim uses a row
without a tier (one sample, samples missing, a floor). Published figures have neither, and are compared as
they stand; the sentence then says that they were published.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hooks.checking import of_their_types
from hooks.claims_kinds import KINDS
from hooks.claims_making import Claim, Combination, arguments
from hooks.claims_tiers import top_tier
from hooks.judging import judge
from hooks.judgment import Part
from hooks.markup import escape, text_of
from hooks.near import near
from hooks.sentences import sentence_of
from hooks.sides import Side
from hooks.view import View
from runner.errors import AnalysisError
from runner.importers.published.predicates import Larger, Predicate
from runner.model import PUBLISHED

_TIER = "top_tier"
# From here on a sentence names the extremes only.
_MANY = 6
_STATUS = {"fails": "does not hold", "unsaid": "cannot be said"}


def claim(view: View, kind: str, given: Mapping[str, Any]) -> str:
    """The claim's sentence as HTML, with the figures that bear it out.

    Kinds and their arguments are those of `hooks.claims_kinds.KINDS`, and ``top_tier``. Raises
    AnalysisError if it is false, or if there is no such kind, argument, case or metric.
    """
    kinds: dict[str, Callable[..., Any]] = {**KINDS, _TIER: top_tier}
    if kind not in kinds:
        raise AnalysisError(f"no kind of claim {kind!r}", near(kind, kinds))
    made = kinds[kind]
    _must_take(view, kind, made, given)
    if kind == _TIER:
        return str(top_tier(view, **given))
    return _borne_out(view, made(view, **given))


def _must_take(view: View, kind: str, made: Callable[..., Any], given: Mapping[str, Any]) -> None:
    known = list(dict.fromkeys([*arguments(made), *view.dimensions]))
    takes = f"It takes {', '.join(arguments(made))}, and dimensions to choose cases by."
    for name in given:
        if name not in known:
            raise AnalysisError(
                f"claim {kind!r} takes no {name!r}, and run {view.id} has no dimension {name!r}",
                near(name, known),
            )
    try:
        inspect.signature(made).bind(view, **given)
    except TypeError as error:
        raise AnalysisError(f"claim {kind!r}: {error}", takes) from None
    of_their_types(made, {name: given[name] for name in arguments(made) if name in given})


def _borne_out(view: View, made: Claim) -> str:
    """The sentence. Raises AnalysisError unless every case, or one of them, bears the claim out."""
    side = Side(view, plain=view.run.origin == "published", bounds=False)
    judged = [found for case in made.cases for found in _judged(made, case, side)]
    held = [case for case in judged if case.holds]
    if not held or (len(held) < len(judged) and not made.in_any):
        raise _refused(made, sentence_of(made.predicate, view), judged)
    alone = judged[0] if len(judged) == 1 else None
    said = _in_case(made.predicate, made.cases[0]) if alone else made.predicate
    head = _open(sentence_of(said, view))
    text = f"{head}: {_data(alone.words(place=False))}" if alone else f"{head}, {_counted(judged, held)}"
    if not side.plain:
        return f'<span class="ls-claim">{text}.</span>'
    mark = f'<span class="ls-claim ls-elsewhere" title="{escape(PUBLISHED)}">'
    return f"{mark}{text} <small>(published)</small>.</span>"


@dataclass(frozen=True)
class _Judged:
    """What the data says in one case: ``place`` names it, as HTML."""

    place: str
    parts: list[Part]

    @property
    def holds(self) -> bool:
        return all(part.status == "holds" for part in self.parts)

    @property
    def factor(self) -> float | None:
        return self.parts[0].factor

    def words(self, *, place: bool = True, verdict: bool = False) -> str:
        """The figures of its parts, each with its place where there are several, as HTML."""
        told = []
        for part in self.parts:
            where = " · ".join(filter(None, (self.place, part.place))) if place else ""
            if len(self.parts) > 1:
                where = part.place
            status = _STATUS[part.status] if verdict and part.status != "holds" else ""
            why = ": ".join(filter(None, (status, part.why)))
            figures = f"{part.figures} ({why})" if part.figures and why else part.figures or why
            told.append(f"{where}: {figures}" if where else figures)
        return "; ".join(told)


def _judged(made: Claim, case: Combination, side: Side) -> list[_Judged]:
    """A claim of pairs holds or not by each pair in each case; any other by all of its parts at once."""
    parts = judge(_in_case(made.predicate, case), side).parts
    if hasattr(made.predicate, "pairs") and not isinstance(made.predicate, Larger):
        return [_Judged(side.place(case), [part]) for part in parts]
    return [_Judged("", parts)]


def _in_case(predicate: Predicate, case: Combination) -> Predicate:
    return predicate.model_copy(update={"where": {**predicate.where, **case}})


def _data(figures: str) -> str:
    """What bears the sentence out, set apart from it."""
    return f'<span class="ls-claim-data">{figures}</span>'


def _open(sentence: str) -> str:
    """A sentence that goes on."""
    return sentence.removesuffix(".")


def _counted(judged: Sequence[_Judged], held: Sequence[_Judged]) -> str:
    """``in all 4 cases: …``, or ``in 1 of 4 cases: …; not in the others: …``."""
    if len(held) == len(judged):
        return f"in {'both' if len(held) == 2 else f'all {len(held)}'} cases: {_data(_listed(held))}"
    others = [case for case in judged if not case.holds]
    told = f"in {len(held)} of {len(judged)} cases: {_data(_listed(held))}"
    if len(others) > _MANY:
        return f"{told}; not in the other {len(others)}"
    rest = "; ".join(case.words(verdict=True) for case in others)
    return f"{told}; not in the other{'s' if len(others) > 1 else ''}: {_data(rest)}"


def _listed(held: Sequence[_Judged]) -> str:
    """All figures; of many cases those of the smallest and of the largest factor, where there are factors."""
    if len(held) > _MANY and all(case.factor is not None for case in held):
        least, most = (pick(held, key=lambda case: case.factor or 0.0) for pick in (min, max))
        return f"from {least.words()} to {most.words()}"
    return "; ".join(case.words() for case in held)


def _refused(made: Claim, sentence: str, judged: Sequence[_Judged]) -> AnalysisError:
    """What was claimed, and what the data says: only of the cases that do not bear it out."""
    against = [case for case in judged if not case.holds]
    false = any(part.status == "fails" for case in against for part in case.parts)
    extent = ""
    if len(judged) > 1:
        every = "both cases" if len(judged) == 2 else f"all {len(judged)} cases"
        extent = f" in {f'any of {len(judged)} cases' if made.in_any else every}"
    told = "; ".join(case.words(verdict=True) for case in against)
    message = f"{'false' if false else 'unsupported'} claim: {_open(sentence)}{extent}. The data says: {told}"
    hint = "Claim what the data says, or use compare() or findings(), which tell whatever it says."
    return AnalysisError(text_of(message), hint)
