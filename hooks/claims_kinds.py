"""The kinds of claim a page may make: from a call's arguments to the predicate that is judged.

Every kind takes ``metric`` and, as further arguments, dimensions to choose cases by: one value, or a list of
which each must hold. A dimension that is left open stands for every value that the run has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from hooks.claims_making import (
    Claim,
    Sides,
    Where,
    case_of,
    first_values,
    must_have_dimension,
    of_pairs,
    predicate_of,
    several,
    sides_of,
    single_values,
)
from hooks.claims_pairs import pairs
from hooks.near import near
from hooks.view import View
from runner.errors import AnalysisError
from runner.importers.published.predicates import (
    Ahead,
    Alike,
    Behind,
    Headroom,
    Larger,
    Order,
    Predicate,
    Share,
    Within,
)


def paired(
    model: type[Predicate],
    view: View,
    *,
    server: str | Sequence[str] | None = None,
    than: str | None = None,
    of: Sides | None = None,
    to: Sides | None = None,
    metric: str = "rps",
    in_any: bool = False,
    **where: Any,
) -> Claim:
    """One against the other: two servers, or two sides told apart by any dimension."""
    if isinstance(server, str) and than is not None and of is None and to is None:
        sides: list[tuple[Where, Where]] = [({"server": server}, {"server": than})]
    elif than is None and of is not None and to is not None:
        # Then a server is one of the conditions, as it is of every other kind.
        where = where if server is None else {"server": server, **where}
        sides = sides_of(of, to)
    else:
        raise AnalysisError("this claim needs either server and than, or of and to")
    return of_pairs(view, model, sides, metric, in_any, where)


def within(
    view: View,
    *,
    of: Sides,
    to: Sides,
    low: float,
    high: float,
    metric: str = "rps",
    in_any: bool = False,
    **where: Any,
) -> Claim:
    """Every ratio lies from ``low`` to ``high``, rounded as these are written."""
    return of_pairs(view, Within, sides_of(of, to), metric, in_any, where, low=float(low), high=float(high))


def share(
    view: View,
    *,
    of: Where,
    to: Where,
    share: float | Mapping[str | int, float],
    by: str = "workload",
    metric: str = "rps",
    **where: Any,
) -> Claim:
    """One is this share of the other (0.78 for 78 %); of several cases, by the values of ``by``."""
    shares = share if isinstance(share, Mapping) else {case_of("share", by, where): share}
    rest = {name: value for name, value in where.items() if name != by}
    for value in shares:
        pairs(view, metric, of, to, {**rest, by: value})
    return Claim(
        predicate_of(
            Share,
            metric=metric,
            where=single_values(view, rest),
            pair={"of": dict(of), "to": dict(to)},
            parts=[{"where": {by: case}, "value": float(value)} for case, value in shares.items()],
        )
    )


def larger(
    view: View,
    *,
    of: Sides,
    to: Sides,
    than: str,
    values: Sequence[str] | None = None,
    metric: str = "rps",
    **where: Any,
) -> Claim:
    """The smallest factor of ``of`` over ``to`` exceeds the largest that values of ``than`` make.

    Among those values the factor must hold in each, and the values are compared in each case that ``of`` or
    ``to`` name.
    """
    must_have_dimension(view, than)
    chosen = list(values) if values is not None else [str(value) for value in view.dimensions[than]]
    sides = sides_of(of, to)
    named = {name for side, _ in sides for name in side}
    if len(named) != 1 or than in named:
        raise AnalysisError(
            "larger compares the effect of one dimension with that of another",
            f'As in of={{"workload": …}}, than="server"; not {", ".join(sorted(named))} and {than!r}.',
        )
    for value in chosen:
        for a, b in sides:
            pairs(view, metric, a, b, {**first_values(where), than: value})
    (name,) = named
    among = {key: list(value) for key, value in where.items() if several(value)}
    ends = dict.fromkeys(value for side in sides for end in side for value in end.values())
    return Claim(
        predicate_of(
            Larger,
            metric=metric,
            where={key: value for key, value in where.items() if not several(value)},
            among={than: chosen, **among},
            pairs=[{"of": dict(a), "to": dict(b)} for a, b in sides],
            dimension=than,
            values=chosen,
            over={name: list(ends), **among},
        )
    )


def order(
    view: View,
    *,
    first: str | Mapping[str, str],
    dimension: str = "server",
    values: Sequence[str] | None = None,
    by: str = "workload",
    unlike: Where | None = None,
    metric: str = "rps",
    **where: Any,
) -> Claim:
    """Among ``values`` of ``dimension`` this one leads; by the values of ``by`` where several do.

    Under the conditions ``unlike`` instead, two of them stand the other way round.
    """
    must_have_dimension(view, dimension)
    must_have_dimension(view, by)
    chosen = list(values) if values is not None else [str(value) for value in view.dimensions[dimension]]
    leaders = first if isinstance(first, Mapping) else {case_of("order", by, where): first}
    rest = {name: value for name, value in where.items() if name != by}
    for value in chosen:
        view.must_have({dimension: value})
    for case, leader in leaders.items():
        view.must_have({by: case})
        if leader not in chosen:
            raise AnalysisError(f"the leader {leader!r} is not among the values", near(leader, chosen))
    view.must_have(unlike or {})
    if lacking := [name for name in unlike or {} if name not in rest]:
        raise AnalysisError(
            f"order: unlike names {lacking[0]!r}, and no condition says what it is here",
            f"Add {lacking[0]}=… to the claim.",
        )
    return Claim(
        predicate_of(
            Order,
            metric=view.metric(metric).key,
            where=single_values(view, rest),
            unlike=dict(unlike or {}),
            dimension=dimension,
            values=chosen,
            leaders=[{"where": {by: case}, "first": leader} for case, leader in leaders.items()],
        )
    )


def headroom(view: View, *, times: Mapping[str, float], metric: str = "rps", **where: Any) -> Claim:
    """Each control, by its workload, is so many times the best row that it bounds, rounded as written."""
    controls = [
        str(case.dimensions["workload"])
        for case in view.run.cases
        if case.role == "control" and "workload" in case.dimensions
    ]
    for name in times:
        if name not in controls:
            raise AnalysisError(f"run {view.id} has no control {name!r}", near(name, controls))
    return Claim(
        predicate_of(
            Headroom,
            metric=view.metric(metric).key,
            where=single_values(view, where),
            parts=[{"where": {"workload": name}, "value": float(value)} for name, value in times.items()],
        )
    )


KINDS: dict[str, Callable[..., Claim]] = {
    "faster": partial(paired, Ahead),
    "slower": partial(paired, Behind),
    "indistinguishable": partial(paired, Alike),
    "within": within,
    "share": share,
    "larger": larger,
    "order": order,
    "headroom": headroom,
}
