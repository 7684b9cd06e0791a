"""What a manifest says of a plan: labels, helpers, what makes figures comparable, and warnings."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

from runner import machine, probing
from runner.cases import CAPACITY, CONTROL, LADDER
from runner.generators.base import Load
from runner.layout import shape
from runner.model import UPSTREAM, Lock, Note, Probe, Upstream
from runner.plan import Plan
from runner.redact import Redactor
from runner.snapshot import Snapshot
from runner.tables import Workload
from runner.upstream import command, processes

# Stands for the rates of a ladder, which are not known before its capacity.
_SOME_RATE = 987654.0


def labels(plan: Plan) -> dict[str, dict[str, str]]:
    """Dimension → value → what readers see."""
    suite = plan.loaded.suite
    found = {
        "server": {server.name: server.label or server.name for server in suite.server},
        "workload": {item.name: item.label or item.name for item in [*suite.workload, *suite.control]},
        "series": _series_labels(plan),
    }
    if suite.control and suite.upstream:
        found["server"][UPSTREAM] = suite.upstream.label or UPSTREAM
    if plan.parameters.ladder:
        found["load"] = {CAPACITY: "capacity (closed loop)"}
        found["load"] |= {f"{100 * share:.0f}": f"{100 * share:.0f} %" for share in plan.parameters.ladder}
    return found


def _series_labels(plan: Plan) -> dict[str, str]:
    own = {series.name: series.label or series.name for series in plan.loaded.suite.series}
    if plan.parameters.workers:
        own = {f"workers-{n}": f"{n} worker{'s' if n > 1 else ''}" for n in plan.parameters.workers}
    if plan.parameters.ladder:
        own |= {CAPACITY: "Capacity, closed loop", LADDER: "Load ladder, open loop"}
    if plan.loaded.suite.control:
        own |= {CONTROL: "Upstream by itself"}
    return own


def upstream(plan: Plan, redact: Redactor) -> Upstream | None:
    """The helper behind the servers, if the suite has one."""
    table = plan.loaded.suite.upstream
    if table is None:
        return None
    cpus = plan.layout.roles[UPSTREAM]
    return Upstream(
        label=table.label or UPSTREAM,
        processes=processes(table, cpus),
        command=redact.value(command(table, cpus, "{port}")),
    )


def probe(plan: Plan) -> Probe | None:
    """What follows each sample, if the suite has one."""
    table = plan.loaded.suite.probe
    if table is None:
        return None
    return Probe(requests=table.requests, client=probing.client())


def flags(plan: Plan) -> list[str]:
    """The generator's flags that shape the measurement."""
    parameters = plan.parameters
    load = Load(
        "",
        parameters.connections,
        parameters.duration,
        rate=parameters.rate,
        threads=len(plan.layout.roles["generator"]),
    )
    closed = plan.generator.flags(load)
    if not parameters.ladder:
        return closed
    # A ladder's rungs are open loops, each at a rate of its own.
    opened = plan.generator.flags(replace(load, rate=_SOME_RATE))
    added = [flag for flag in opened if flag not in closed]
    return closed + ["{rate}" if flag == f"{_SOME_RATE:g}" else flag for flag in added]


def comparable(
    plan: Plan, fingerprint: dict[str, Any], source: Snapshot, lock: Lock | None
) -> dict[str, Any]:
    """What two runs must share for their figures to be compared, by name."""
    suite, parameters = plan.loaded.suite, plan.parameters
    return {
        "application": suite.app or suite.name,
        "application_sha256": source.sha256,
        "workloads": {
            workload.name: _fingerprint(workload)
            for workload in suite.workload
            if workload.name in parameters.workloads
        },
        **_beside(plan),
        "generator": plan.generator.name,
        "generator_version": plan.generator_version,
        "generator_flags": flags(plan),
        "duration": parameters.duration,
        "warmup": parameters.warmup,
        "rate": parameters.rate,
        "machine": machine.machine_key(fingerprint),
        "python": machine.python_build()["version"],
        "lock": lock.sha256 if lock else None,
        "layout": shape(plan.layout),
    }


def _fingerprint(workload: Workload) -> str:
    """Of all that shapes its requests and their check.

    Keys that suites did not have in format 1.0 count only where they are used: a workload without them is
    the same as it was.
    """
    data = workload.model_dump(mode="json", exclude={"label"})
    if data["payload"] is None:
        del data["payload"]
    if not data["expect"]["echo"]:
        del data["expect"]["echo"]
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _beside(plan: Plan) -> dict[str, Any]:
    """What stands beside the server, by name; nothing where a suite has neither."""
    suite, parameters = plan.loaded.suite, plan.parameters
    found: dict[str, Any] = {}
    if suite.upstream:
        table = suite.upstream.model_dump_json(exclude={"label"})
        found["upstream"] = hashlib.sha256(table.encode()).hexdigest()[:16]
    if suite.probe:
        found["probe"] = suite.probe.requests
    if parameters.ladder:
        found["ladder"] = parameters.ladder
    return found


def warnings(
    plan: Plan, fingerprint: dict[str, Any], source: Snapshot, lock: Lock | None, redact: Redactor
) -> list[Note]:
    """What a reader must know of the surroundings, beside the numbers."""
    layout, repeats, notes = plan.layout, plan.parameters.repeats, []

    def note(code: str, message: str) -> None:
        notes.append(Note(code=code, message=message))

    if layout.shared:
        note("shared-cpus", f"shared CPUs: {layout.note}")
    elif layout.note:
        note("layout", layout.note)
    virtual = fingerprint.get("virtualisation")
    if virtual not in (None, "none", "bare metal", "unknown"):
        note("virtual", f"not bare metal: {virtual}")
    if lock is None:
        note("no-lock", "captured without a lock file")
    elif not lock.matches:
        note("lock-drift", "installed packages differ from the lock")
    if repeats < 5:
        note("few-samples", f"{repeats} {'sample' if repeats == 1 else 'samples'} a case; rankings want five")
    if redact.text(plan.loaded.file.text) != plan.loaded.file.text:
        # Verbatim all the same: its hash is what a resumed run is recognised by.
        note("names", "the suite file, stored as it is, names this machine, its user or a folder of theirs")
    if source.archive is None:
        note("no-snapshot", "the source is over 8 MiB and not stored with the run")
    return notes
