"""Single figures and parameters inside a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hooks.cells import figure
from hooks.claims_pairs import pairs
from hooks.environment import probe_words, upstream_words
from hooks.factors import factor
from hooks.facts import seconds
from hooks.markup import escape, join_names
from hooks.methodology import body_sizes
from hooks.near import near
from hooks.view import View
from runner.errors import AnalysisError

_STATS = ["median", "low", "high", "n"]
_COUNTED = ["workers", "connections"]


def value_text(view: View, metric: str, stat: str, where: Mapping[str, Any]) -> str:
    """A figure with its unit, as HTML. Raises AnalysisError where the run has none to give."""
    if stat not in _STATS:
        raise AnalysisError(f"no statistic {stat!r}", near(stat, _STATS))
    row = view.one(metric, where)
    if stat == "n":
        return str(row["n"])
    if not row["n"]:
        raise AnalysisError(f"{row['case']} has no accepted sample of {metric}", "Say so in words instead.")
    return f"{figure(row, stat)} {escape(view.metric(metric).display_unit)}".strip()


def ratio_text(
    view: View, metric: str, of: Mapping[str, Any], to: Mapping[str, Any], where: Mapping[str, Any]
) -> str:
    """One median over another, with its bound, as HTML. Raises AnalysisError where there is not one."""
    from runner.verdicts import ratio, refusal

    view.metric(metric)
    found = pairs(view, metric, of, to, where)
    if len(found) > 1:
        listed = ", ".join(a["case"] for a, _ in found)
        raise AnalysisError(
            f"{len(found)} pairs of cases differ so: {listed}", "Choose one by its dimensions."
        )
    times = ratio(*found[0])
    if times.bound == "?":
        raise AnalysisError(refusal(*found[0]), "Choose other cases.")
    return factor(times)


def count_text(view: View, name: str, where: Mapping[str, Any]) -> str:
    """How many values of a dimension the cases have that these values choose, as text."""
    if name not in view.dimensions:
        raise AnalysisError(f"run {view.id} has no dimension {name!r}", near(name, view.dimensions))
    view.must_have(where)
    chosen = (
        case.dimensions
        for case in view.run.cases
        if case.role == "case" and all(case.dimensions.get(key) == value for key, value in where.items())
    )
    return f"{len({dimensions[name] for dimensions in chosen if name in dimensions}):,}"


def param_text(view: View, name: str, unit: bool = False) -> str:
    """A parameter, dimension or package of a run, as text; with ``unit`` as in ``1 and 2 workers``.

    Raises AnalysisError with the near matches, or for a unit of what has none.
    """
    if not unit:
        return _param(view, name)
    values = view.dimensions.get(name, [view.run.parameters.connections] if name == "connections" else [])
    if name not in _COUNTED or not values:
        raise AnalysisError(f"{name!r} has no unit", near(name, _COUNTED))
    return f"{_param(view, name)} {name if values != [1] else name.removesuffix('s')}"


def _param(view: View, name: str) -> str:
    run = view.run
    asked = run.parameters.model_dump()
    if name in ("duration", "warmup"):
        return seconds(asked[name])
    if name in view.dimensions:
        return join_names(view.label(name, value) for value in view.dimensions[name])
    known: dict[str, Any] = asked | {
        "generator": f"{run.generator.name} {run.generator.version}",
        "python": run.python.get("version", "unknown"),
        "date": f"{run.created:%Y-%m-%d}",
        "cases": len(run.cases),
        "samples": run.samples,
    }
    sizes = body_sizes(run)
    if sizes:
        known["bodies"] = f"{join_names(f'{size:,}' for size in sorted(set(sizes.values())))} bytes"
    known |= {"upstream": upstream_words(run) or None, "probe": probe_words(run) or None}
    value = known[name] if name in known else run.packages.get(name)
    if value is None:
        raise AnalysisError(f"run {view.id} has no parameter {name!r}", near(name, [*known, *run.packages]))
    if isinstance(value, list):
        return join_names(map(str, value))
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
