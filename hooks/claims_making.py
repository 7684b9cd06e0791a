"""What a claim is made of: sides, conditions and figures of a call, checked, as a predicate."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import ValidationError

from hooks.claims_pairs import pairs
from hooks.near import near
from hooks.view import View
from runner.errors import AnalysisError
from runner.importers.published.predicates import Predicate

Where = Mapping[str, Any]
Sides = Where | Sequence[Where]
Combination = dict[str, str | int]


@dataclass(frozen=True)
class Claim:
    """What is claimed.

    ``predicate`` holds in each of ``cases``, whose conditions are added to its own; of kinds that list
    their cases themselves there is one, which adds none. ``in_any`` asks for one of them only.
    """

    predicate: Predicate
    cases: tuple[Combination, ...] = ({},)
    in_any: bool = False


def sides_of(of: Sides, to: Sides) -> list[tuple[Where, Where]]:
    ofs, tos = ([side] if isinstance(side, Mapping) else list(side) for side in (of, to))
    if len(ofs) != len(tos) or not ofs:
        raise AnalysisError(f"{len(ofs)} sides of and {len(tos)} sides to", "Give as many `to` as `of`.")
    return list(zip(ofs, tos, strict=True))


def several(value: object) -> bool:
    return isinstance(value, list | tuple)


def first_values(where: Where) -> dict[str, Any]:
    """One value of each, which is enough to see that names are right."""
    return {name: value[0] if several(value) and value else value for name, value in where.items()}


def single_values(view: View, where: Where) -> dict[str, Any]:
    """Conditions that take one value each."""
    for name, value in where.items():
        if several(value):
            raise AnalysisError(f"{name} must be one value here, not {list(value)}", "Make two claims of it.")
    view.must_have(where)
    return dict(where)


def case_of(kind: str, by: str, where: Where) -> Any:
    """The case of a claim that gives one figure or one leader."""
    if by not in where:
        raise AnalysisError(
            f"claim {kind!r}: of which {by} is it true?", f"Add {by}=…, or give a table by {by}."
        )
    return where[by]


def must_have_dimension(view: View, name: str) -> None:
    if name not in view.dimensions:
        raise AnalysisError(f"run {view.id} has no dimension {name!r}", near(name, view.dimensions))


def predicate_of(model: type[Predicate], **fields: Any) -> Any:
    """The predicate. Raises AnalysisError naming the argument that it does not take."""
    (kind,) = get_args(model.model_fields["kind"].annotation)
    try:
        return model(topic="claim", kind=kind, **fields)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or kind
        raise AnalysisError(f"{place}: {first['msg']}") from None


def of_pairs(
    view: View,
    model: type[Predicate],
    sides: Sequence[tuple[Where, Where]],
    metric: str,
    in_any: bool,
    where: Where,
    **more: Any,
) -> Claim:
    """A claim of pairs, in every combination of the dimensions that are listed or left open."""
    view.metric(metric)
    fixed = {name: value for name, value in where.items() if not several(value)}
    listed = {name: list(value) for name, value in where.items() if several(value)}
    for name, values in listed.items():
        for value in values:
            view.must_have({name: value})
    named = {name for side, _ in sides for name in side}
    rows = [
        row
        for of, to in sides
        for row, _ in pairs(view, metric, of, to, fixed)
        if all(view.cases[row["case"]].dimensions.get(name) in values for name, values in listed.items())
    ]
    open_ = [name for name in view.varying(rows, named) if name not in fixed]
    names = [*listed, *(name for name in open_ if name not in listed)]
    cases = [{name: view.cases[row["case"]].dimensions[name] for name in names} for row in rows]
    # What the run has several of, and these cases one, must be said; what varies is said of each case.
    shared = {
        name: value
        for name, value in (view.cases[rows[0]["case"]].dimensions.items() if rows else ())
        if name not in named and name not in names and len(view.dimensions.get(name, [])) > 1
    }
    for name, values in listed.items():
        for value in values:
            if not any(case[name] == value for case in cases):
                raise AnalysisError(f"run {view.id} has no two such cases with {name} {value!r}")
    predicate = predicate_of(
        model,
        metric=metric,
        where={**shared, **fixed},
        pairs=[{"of": dict(of), "to": dict(to)} for of, to in sides],
        **more,
    )
    distinct = tuple(dict(items) for items in dict.fromkeys(tuple(case.items()) for case in cases))
    return Claim(predicate, distinct, in_any)


def arguments(kind: Callable[..., Any]) -> list[str]:
    """The arguments that a kind names, apart from the run and the dimensions."""
    return [name for name in inspect.signature(kind).parameters if name not in ("view", "where")]
