"""The kinds of statements that are about factors: within a span, larger than others, a share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hooks.cells import figure
from hooks.judgment import Part, Status, spread_out
from hooks.sides import Estimate, Side, Unsaid
from runner.importers.published.predicates import Headroom, Larger, Share, Within
from runner.metrics import METRICS


def decimals(value: float) -> int:
    """With how many decimals a figure was written."""
    text = repr(value)
    return len(text.partition(".")[2].rstrip("0")) if "." in text else 0


def within(statement: Within, side: Side) -> Iterator[Part]:
    digits = max(decimals(statement.low), decimals(statement.high))
    for place, found in _factors(statement, side):
        if isinstance(found, str):
            yield Part("unsaid", place, "", found)
            continue
        status, why = _lies(found, statement.low, statement.high, digits)
        yield Part(status, place, found.words(), why, found.value)


def _lies(found: Estimate, low: float, high: float, digits: int) -> tuple[Status, str]:
    """Whether a ratio lies from ``low`` to ``high``, rounded as these are written."""
    least, most = round(found.low, digits), round(found.high, digits)
    if most < low or least > high:
        return "fails", ""
    if low <= least and most <= high:
        return "holds", ""
    return "unsaid", found.allowed(digits)


def _factors(statement: Within | Larger, side: Side) -> Iterator[tuple[str, Estimate | str]]:
    """Every pair's ratio in every case, by place; or why there is none."""
    for there in spread_out(statement.among):
        for pair in statement.pairs:
            named = {*pair.of, *there}
            where = {**side.conditions(statement.where, named), **there}
            place = side.place(there)
            if len(statement.pairs) > 1:
                place = " · ".join(filter(None, (place, side.place(pair.of))))
            try:
                a, b = (side.row(statement.metric, {**where, **end}) for end in (pair.of, pair.to))
                yield place, side.estimate(a, b)
            except Unsaid as reason:
                yield place, str(reason)


def larger(statement: Larger, side: Side) -> Iterator[Part]:
    """The smallest of the one kind of factor against the largest of the other; then what is missing."""
    ours, lacking = _kept(_factors(statement, side))
    theirs, others = _kept(_effects(statement, side))
    if ours and theirs:
        smallest = min(ours, key=lambda item: item[1].value)
        largest = max(theirs, key=lambda item: item[1].value)
        status: Status = "unsaid"
        if min(item.high for _, item in ours) < max(item.low for _, item in theirs):
            status = "fails"
        elif min(item.low for _, item in ours) > max(item.high for _, item in theirs):
            status = "holds"
        figures = (
            f"the smallest {smallest[1].words()} ({smallest[0]}), "
            f"the largest of the other {largest[1].words()} ({largest[0]})"
        )
        why = "what the samples and the noise band allow of the one reaches the other"
        yield Part(status, "", figures, why if status == "unsaid" else "")
    yield from (Part("unsaid", place, "", why) for place, why in [*lacking, *others])


def _kept(
    found: Iterable[tuple[str, Estimate | str]],
) -> tuple[list[tuple[str, Estimate]], list[tuple[str, str]]]:
    """The ratios there are, and the reasons why others are not, each by its place."""
    items = list(found)
    return (
        [(place, item) for place, item in items if isinstance(item, Estimate)],
        [(place, item) for place, item in items if isinstance(item, str)],
    )


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


def share(statement: Share, side: Side) -> Iterator[Part]:
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
        status, why = _lies(found, part.value, part.value, decimals(part.value))
        yield Part(status, side.place(part.where), found.words(), why)


def headroom(statement: Headroom, side: Side) -> Iterator[Part]:
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
        status, why = _lies(found, part.value, part.value, decimals(part.value))
        text = f"{found.words()}: {figure(control)} over {figure(best)} ({side.name(best)})"
        yield Part(status, place, text, why)
