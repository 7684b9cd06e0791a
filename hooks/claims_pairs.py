"""Two sides of a comparison inside one run: the pairs of rows that differ in nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hooks.view import Row, View
from runner.errors import AnalysisError

Where = Mapping[str, Any]
Pair = tuple[Row, Row]


def pairs(view: View, metric: str, of: Where, to: Where, where: Where) -> list[Pair]:
    """The rows of ``of`` and of ``to`` that agree in everything else, in case order.

    Raises AnalysisError if there is none, or if a pair differs in more than ``of`` and ``to`` name.
    """
    from runner.verdicts import comparable

    named = set(of) | set(to)
    for side in (of, to):
        view.must_have(side)
    if not named or set(of) != set(to):
        raise AnalysisError(
            f"a comparison needs the same dimensions on both sides, not {dict(of)} and {dict(to)}",
            'As in of={"workers": 4}, to={"workers": 1}.',
        )
    others = {_rest(view, row, named): row for row in view.select(metric, {**where, **to})}
    found = []
    for row in view.select(metric, {**where, **of}):
        other = others.get(_rest(view, row, named))
        if other is not None:
            found.append((row, other))
    if not found:
        raise AnalysisError(f"run {view.id} has no two cases that differ only as {dict(of)} and {dict(to)}")
    for a, b in found:
        differing = comparable(view.run, view.cases[a["case"]], view.run, view.cases[b["case"]], named)
        if differing:
            raise AnalysisError(f"{a['case']} and {b['case']} also differ in {', '.join(differing)}")
    return found


def _rest(view: View, row: Row, named: set[str]) -> tuple[tuple[str, str | int], ...]:
    return tuple((k, v) for k, v in view.cases[row["case"]].dimensions.items() if k not in named)
