"""The cases of a run, and the order it measures them in."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

from runner.model import UPSTREAM, Case, Parameters
from runner.suite import Suite

CAPACITY = "capacity"
LADDER = "ladder"
CONTROL = "control"


def cases_of(suite: Suite, parameters: Parameters, cpus: int = 1, upstreams: int = 1) -> list[Case]:
    """Every case of the chosen servers, workloads and workers, with twins and controls, in file order.

    ``parameters.workers`` empty keeps each series' own number of workers; otherwise each series is run
    with those numbers instead, once where two series become the same, as series ``workers-N``. Likewise
    ``parameters.connections`` replace a series' own where they were chosen, as series ``connections-N``.
    With ``parameters.ladder`` each becomes a closed-loop case, series ``capacity``, and one open-loop case
    for each load, series ``ladder``. ``cpus`` is how many the server has, for series that want a worker for
    each; ``upstreams`` how many processes the upstream has.
    """
    found = _plain(suite, parameters, cpus)
    if parameters.ladder:
        found = [rung for case in found for rung in _rungs(case, parameters.ladder)]
    result = list(found)
    if parameters.twin:
        chosen = suite.twin.server if suite.twin else ""
        twin = chosen if chosen in parameters.servers else parameters.servers[0]
        result += [
            case.model_copy(update={"id": f"{case.id}/twin", "role": "twin", "twin_of": case.id})
            for case in found
            if case.dimensions["server"] == twin
        ]
    return result + _controls(suite, found, upstreams)


def _plain(suite: Suite, parameters: Parameters, cpus: int) -> list[Case]:
    servers = {server.name: server for server in suite.server}
    workloads = {workload.name: workload for workload in suite.workload}
    found: dict[str, Case] = {}
    for series in suite.series:
        connections, name = series.connections or parameters.connections, series.name
        if parameters.connections_chosen and connections != parameters.connections:
            connections = parameters.connections
            name = f"connections-{connections}"
        for workers in parameters.workers or [cpus if series.workers == "cpus" else series.workers]:
            for server in parameters.servers:
                for workload in parameters.workloads:
                    if not _covers(series.servers, server) or not _covers(series.workloads, workload):
                        continue
                    if workloads[workload].requires_lifespan and not servers[server].lifespan:
                        continue
                    case = Case(
                        id=f"{server}/{workload}/w{workers}/c{connections}",
                        series=f"workers-{workers}" if parameters.workers else name,
                        environment=servers[server].environment,
                        dimensions={
                            "server": server,
                            "workload": workload,
                            "workers": workers,
                            "connections": connections,
                        },
                        attributes=servers[server].attributes,
                    )
                    found.setdefault(case.id, case)
    return list(found.values())


def _rungs(case: Case, ladder: Iterable[float]) -> Iterator[Case]:
    """The closed-loop case that measures the capacity, then one open-loop case a load, in per cent."""
    loads: list[tuple[str, str | int]] = [(CAPACITY, CAPACITY)]
    loads += [(LADDER, round(100 * share)) for share in ladder]
    for series, load in loads:
        update = {
            "id": f"{case.id}/load-{load}",
            "series": series,
            "dimensions": case.dimensions | {"load": load},
        }
        yield case.model_copy(update=update)


def _controls(suite: Suite, found: list[Case], upstreams: int) -> list[Case]:
    """The upstream by itself, at the most connections of the cases it covers; none where it covers none."""
    result = []
    for control in suite.control:
        covered = [case for case in found if case.dimensions["workload"] in control.covers]
        if not covered:
            continue
        connections = max(int(case.dimensions["connections"]) for case in covered)
        result.append(
            Case(
                id=f"{UPSTREAM}/{control.name}/w{upstreams}/c{connections}",
                series=CONTROL,
                role="control",
                covers=[name for name in control.covers if any(_has(case, name) for case in covered)],
                dimensions={
                    "server": UPSTREAM,
                    "workload": control.name,
                    "workers": upstreams,
                    "connections": connections,
                },
            )
        )
    return result


def _has(case: Case, workload: str) -> bool:
    return case.dimensions["workload"] == workload


def _covers(names: list[str], name: str) -> bool:
    return "*" in names or name in names


def capacity_of(case: Case, among: Iterable[Case]) -> Case:
    """The closed-loop case that says what the loads of this rung are shares of."""
    wanted = case.dimensions | {"load": CAPACITY}
    return next(other for other in among if other.dimensions == wanted and other.role == case.role)


def stages(found: list[Case], parameters: Parameters) -> Iterator[tuple[int, list[Case]]]:
    """What is measured one after another: a round's number and cases in order.

    The capacities of a ladder come first, all their rounds; then each round has its controls before its
    cases, and the controls come once more at the end. Within a round the cases are in a permutation of
    its own. A stage's rejected samples are tried again at its end.
    """
    capacities = [case for case in found if case.series == CAPACITY]
    controls = [case for case in found if case.role == "control"]
    rest = [case for case in found if case.series != CAPACITY and case.role != "control"]
    everyone = range(1, parameters.repeats + 1)
    for repeat in everyone:
        yield repeat, round_order(capacities, parameters.seed, repeat)
    for repeat in everyone:
        yield repeat, controls
        yield repeat, round_order(rest, parameters.seed, repeat)
    yield parameters.repeats + 1, controls


def round_order(found: list[Case], seed: int, repeat: int) -> list[Case]:
    """The cases in the order of that round (from 1): a permutation of its own from the seed.

    The same seed and cases give the same order on every Python version and machine.
    """
    shuffled = list(found)
    random.Random(f"{seed}/{repeat}").shuffle(shuffled)
    return shuffled
