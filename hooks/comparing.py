"""Comparisons that fall either way: whatever the data says of one side against another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from hooks.cells import figure, noun, spread
from hooks.claims_pairs import pairs
from hooks.factors import doubts, factor, no_ratio, row_ratio, span
from hooks.grid import describe_fixed
from hooks.markup import escape, join_names
from hooks.near import near
from hooks.view import Row, View
from runner.errors import AnalysisError
from runner.metrics import METRICS

_WAYS = {
    "up": ("goes up", "go up"),
    "down": ("goes down", "go down"),
    "not told apart": ("cannot be told apart", "cannot be told apart"),
    "without a claim": ("allows no claim", "allow no claim"),
}
Where = Mapping[str, Any]
Pair = tuple[Row, Row]


def compare_block(view: View, of: Where, to: Where, metrics: Sequence[str], where: Where) -> str:
    """What the data says of ``of`` against ``to``: an item a metric and pair of cases."""
    items = []
    for metric in metrics:
        found = pairs(view, metric, of, to, where)
        items += [_compared(view, of, to, pair, [row for row, _ in found]) for pair in found]
    return f'<ul class="ls-findings">{"".join(f"<li>{item}</li>" for item in items)}</ul>'


def _compared(view: View, of: Where, to: Where, pair: Pair, among: Sequence[Row]) -> str:
    from runner.verdicts import verdict

    a, b = pair
    metric = METRICS[a["metric"]]
    unit, name = escape(metric.display_unit), escape(noun(metric))
    names = [f'<bdi class="ls-name">{escape(describe_fixed(view, side))}</bdi>' for side in (of, to)]
    dimensions = view.cases[a["case"]].dimensions
    apart = {name: dimensions[name] for name in view.varying(among) if name in dimensions}
    place = f" ({escape(describe_fixed(view, apart))})" if apart else ""
    told = [f"{figure(row)} {unit} ({spread(row)})" if row["n"] else "no accepted sample" for row in pair]
    found = verdict(a, b, metric.key)
    if found.relation == "not comparable":
        reasons = "; ".join(doubts(a, b))
        return (
            f"{names[0]} against {names[1]} by {name}{place}: {told[0]} against {told[1]}. No claim is made "
            f"of them: {escape(reasons)}."
        )
    if found.relation == "indistinguishable":
        return (
            f"{names[0]} and {names[1]} cannot be told apart by {name}{place}: {told[0]} and {told[1]}; "
            f"{escape(found.reason)}."
        )
    direction = "higher" if a["median"] > b["median"] else "lower"
    return (
        f"{names[0]} has a {direction} {name} than {names[1]}{place}, {told[0]} against {told[1]}{_by(pair)}."
    )


def _by(pair: Pair) -> str:
    """The factor of a pair, or why there is none."""
    found = row_ratio(*pair)
    if found is None:
        why = "; ".join(no_ratio(*pair))
        return f"; no factor, because {escape(why)}" if why else ""
    return "" if found.bound else f": {factor(found)} (samples allow {span(found)})"


def steps_block(view: View, dimension: str, metrics: Sequence[str], where: Where) -> str:
    """Every step from one value of a dimension of numbers to the next, and how many went which way.

    Raises AnalysisError for an unknown name, a dimension that is no number, or one with a single value.
    """
    if dimension not in view.dimensions:
        raise AnalysisError(f"run {view.id} has no dimension {dimension!r}", near(dimension, view.dimensions))
    items = []
    for metric in metrics:
        found = view.select(metric, where)
        values = view.varying(found).get(dimension, [])
        if len(values) < 2 or not all(isinstance(value, int) for value in values):
            raise AnalysisError(
                f"run {view.id} has no steps of {dimension}", "It takes two numbers at least."
            )
        ways: Counter[str] = Counter()
        for below, above in pairwise(sorted(values)):
            among = pairs(view, metric, {dimension: above}, {dimension: below}, where)
            for pair in among:
                text, way = _step(view, {dimension: below}, {dimension: above}, pair, [a for a, _ in among])
                items.append(text)
                ways[way] += 1
        items.append(f"<strong>In {escape(noun(METRICS[metric]))}</strong>, {_counted(ways)}.")
    return f'<ul class="ls-findings">{"".join(f"<li>{item}</li>" for item in items)}</ul>'


def _counted(ways: Counter[str]) -> str:
    """How many steps went which way: ``2 of 4 steps go down, 1 goes up and 1 cannot be told apart``."""
    total = ways.total()
    told = []
    for place, (way, count) in enumerate(ways.items()):
        one, several = _WAYS[way]
        verb = several if count > 1 else one
        told.append(f"{count} {verb}" if place else f"{count} of {total} step{'s' * (total > 1)} {verb}")
    return join_names(told)


def _step(view: View, below: Where, above: Where, pair: Pair, among: Sequence[Row]) -> tuple[str, str]:
    """What a step does, as HTML, and in a word: ``up``, ``down``, ``not told apart``, ``without a claim``."""
    from runner.verdicts import verdict

    after, before = pair
    metric = METRICS[after["metric"]]
    dimensions = view.cases[after["case"]].dimensions
    apart = {name: dimensions[name] for name in view.varying(among) if name in dimensions}
    place = f" ({escape(describe_fixed(view, apart))})" if apart else ""
    unit = escape(metric.display_unit)
    told = [f"{figure(row)} {unit} ({spread(row)})" if row["n"] else "no sample" for row in (before, after)]
    start, end = (escape(describe_fixed(view, side)) for side in (below, above))
    head = f"From {start} to {end}{place}, {escape(noun(metric))}"
    found = verdict(after, before, metric.key)
    if found.relation == "not comparable":
        reasons = escape("; ".join(doubts(after, before)))
        return f"{head}: {told[0]}, then {told[1]}; no claim is made of it: {reasons}.", "without a claim"
    if found.relation == "indistinguishable":
        words = f"{head} cannot be told apart: {told[0]}, then {told[1]}; {escape(found.reason)}."
        return words, "not told apart"
    way = "up" if after["median"] > before["median"] else "down"
    return f"{head} goes {way}: {told[0]}, then {told[1]}{_by(pair)}.", way
