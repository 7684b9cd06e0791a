"""Beginning a run, or going on with one: the manifest, with everything known before the first sample."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from runner import machine, probing, provenance, store
from runner.apps import counter, identity
from runner.cases import CAPACITY, CONTROL, LADDER
from runner.errors import ArtifactError, SuiteError
from runner.generators.base import Load
from runner.layout import shape
from runner.model import UPSTREAM, Generator, Lock, Note, Probe, Run, Upstream
from runner.plan import Options, Plan, check_installed, make
from runner.redact import Redactor
from runner.snapshot import Snapshot, snapshot
from runner.store import RAW
from runner.suite import LoadedSuite
from runner.upstream import command, processes
from runner.writer import RunWriter

LOCK_FILE = Path("locks") / "bench.txt"


def new_run_id(suite: str, started: datetime, salt: str) -> str:
    """``<suite>-<UTC start>-<short hash>``."""
    short = hashlib.sha256(f"{salt}{started.isoformat()}{os.getpid()}".encode()).hexdigest()[:6]
    return f"{suite[:32]}-{started:%Y%m%dt%H%M%Sz}-{short}"


@dataclass(frozen=True)
class Surroundings:
    """What a run is captured in: machine, lock and source, as they are now."""

    fingerprint: dict[str, Any]
    lock: Lock | None
    source: Snapshot
    comparable: dict[str, Any]


def surroundings(plan: Plan, artifacts: Path, project: Path) -> Surroundings:
    """Look at the surroundings.

    Raises SuiteError if a chosen server is not installed, ArtifactError if the source cannot be read.
    """
    check_installed(plan.loaded, plan.parameters)
    fingerprint = machine.fingerprint()
    path = project / LOCK_FILE
    lock = provenance.lock_state(path) if path.is_file() else None
    source = snapshot(plan.loaded.directory, artifacts, redactor(project, plan))
    return Surroundings(fingerprint, lock, source, _comparable(plan, fingerprint, source, lock))


def begin(
    plan: Plan, artifacts: Path, project: Path, command_line: list[str], run_id: str | None = None
) -> RunWriter:
    """Create the run's folder and manifest, with everything that is known before the first sample.

    Raises SuiteError for what is not installed, ArtifactError for a folder that exists.
    """
    found = surroundings(plan, artifacts, project)
    started = datetime.now(UTC)
    redact = redactor(project, plan)
    suite = plan.loaded.suite
    run = Run(
        id=run_id or new_run_id(suite.name, started, plan.loaded.file.sha256),
        suite=suite.name,
        title=suite.title,
        created=started,
        suite_file=plan.loaded.file,
        parameters=plan.parameters,
        command_line=redact.value(command_line),
        source=provenance.source(project),
        lock=found.lock,
        packages=provenance.distributions(),
        python=machine.python_build(),
        machine=redact.value(found.fingerprint),
        layout=plan.layout,
        generator=Generator(
            name=plan.generator.name,
            version=plan.generator_version,
            flags=_flags(plan),
            notes=plan.generator.notes,
        ),
        upstream=_upstream(plan, redact),
        probe=_probe(plan),
        labels=_labels(plan),
        cases=plan.cases,
        comparable=found.comparable,
        facts={"counter_cost_s": identity.cost(counter.Counter()), "load_at_start": machine.load()},
        warnings=_warnings(plan, found, redact),
    )
    writer = RunWriter(artifacts / run.id, run)
    try:
        if found.source.archive is not None:
            writer.raw("source.tar.gz", found.source.archive)
        if found.lock:
            writer.raw("lock.txt", redact.bytes((project / LOCK_FILE).read_bytes()))
    except BaseException:
        writer.close()
        raise
    return writer


def resume(plan: Plan, folder: Path, project: Path) -> RunWriter:
    """Open an unfinished run to complete it.

    Raises ArtifactError if the suite, the machine, the lock or the layout is not the one it began with.
    """
    found = surroundings(plan, folder.parent, project)
    writer = RunWriter(folder)
    try:
        # The stored manifest went through JSON; compare what JSON keeps.
        now, then = json.loads(json.dumps(found.comparable)), writer.run.comparable
        changed = sorted(key for key in now.keys() | then.keys() if now.get(key) != then.get(key))
        if writer.run.packages != provenance.distributions():
            changed.append("packages")
        if changed:
            raise ArtifactError(
                f"{folder}: cannot resume, these changed since it began: {', '.join(changed)}",
                "A run is one machine, one lock, one suite. Start a new run; this one stays as it is.",
            )
        for path in sorted((folder / RAW).glob("[0-9]*")):
            if int(path.name) > len(writer.samples):
                shutil.rmtree(path)  # of the sample that was running when the capture was killed
    except BaseException:
        writer.close()
        raise
    return writer


def unfinished(loaded: LoadedSuite, options: Options, output: Path, run_id: str | None) -> tuple[Plan, Path]:
    """The run to resume, and its plan from its own manifest.

    Raises ArtifactError if there is none, SuiteError if the suite file changed or options were given.
    """
    if options != Options():
        raise SuiteError(
            "--resume takes all parameters from the run",
            "Leave out everything but --id, --output and --port.",
        )
    unreadable: list[str] = []
    if run_id:
        runs = [store.read_manifest(store.run_folder(output, run_id))]
    else:
        runs, unreadable = _readable(output)
    open_runs = [r for r in runs if r.suite == loaded.suite.name and (r.state != "complete" or run_id)]
    if not open_runs:
        raise ArtifactError(
            f"no unfinished run of suite {loaded.suite.name!r} in {output}",
            f"These cannot be read, see `lapsheet verify`: {', '.join(unreadable)}."
            if unreadable
            else "See `lapsheet run`.",
        )
    stored = max(open_runs, key=lambda r: r.created)
    if stored.suite_file.sha256 != loaded.file.sha256:
        raise SuiteError(
            f"{loaded.path} is not the suite that {stored.id} began with",
            "Restore the file, or start a new run; the stored text is in its run.json.",
        )
    asked = stored.parameters
    own = Options(
        servers=list(asked.servers),
        workloads=list(asked.workloads),
        workers=list(asked.workers),
        connections=asked.connections if asked.connections_chosen else None,
        duration=asked.duration,
        warmup=asked.warmup,
        repeats=asked.repeats,
        seed=asked.seed,
        rate=asked.rate,
        twin=asked.twin,
        foreign_limit=asked.foreign_limit,
        ladder=bool(asked.ladder),
        generator=stored.generator.name,
        cpus=[
            f"{role}={','.join(map(str, cpus))}"
            for role, cpus in stored.layout.roles.items()
            if role != "runner"
        ],
    )
    plan = make(loaded, own)
    plan = replace(plan, layout=stored.layout, cases=stored.cases, parameters=asked)
    return plan, output / stored.id


def _readable(output: Path) -> tuple[list[Run], list[str]]:
    """The runs there, and the names of those whose manifest is damaged: no reason to refuse another."""
    runs: list[Run] = []
    unreadable: list[str] = []
    for name in store.run_ids(output):
        try:
            runs.append(store.read_manifest(output / name))
        except ArtifactError:
            unreadable.append(name)
    return runs, unreadable


def redactor(project: Path, plan: Plan) -> Redactor:
    """Replaces this machine's and the project's names in what the run stores."""
    return Redactor.of_this_machine(project, suite=plan.loaded.directory)


def _labels(plan: Plan) -> dict[str, dict[str, str]]:
    suite = plan.loaded.suite
    labels = {
        "server": {server.name: server.label or server.name for server in suite.server},
        "workload": {item.name: item.label or item.name for item in [*suite.workload, *suite.control]},
        "series": _series_labels(plan),
    }
    if suite.control and suite.upstream:
        labels["server"][UPSTREAM] = suite.upstream.label or UPSTREAM
    if plan.parameters.ladder:
        labels["load"] = {CAPACITY: "capacity (closed loop)"}
        labels["load"] |= {f"{100 * share:.0f}": f"{100 * share:.0f} %" for share in plan.parameters.ladder}
    return labels


def _series_labels(plan: Plan) -> dict[str, str]:
    own = {series.name: series.label or series.name for series in plan.loaded.suite.series}
    if plan.parameters.workers:
        own = {f"workers-{n}": f"{n} worker{'s' if n > 1 else ''}" for n in plan.parameters.workers}
    if plan.parameters.ladder:
        own |= {CAPACITY: "Capacity, closed loop", LADDER: "Load ladder, open loop"}
    if plan.loaded.suite.control:
        own |= {CONTROL: "Upstream by itself"}
    return own


def _upstream(plan: Plan, redact: Redactor) -> Upstream | None:
    table = plan.loaded.suite.upstream
    if table is None:
        return None
    cpus = plan.layout.roles[UPSTREAM]
    return Upstream(
        label=table.label or UPSTREAM,
        processes=processes(table, cpus),
        command=redact.value(command(table, cpus, "{port}")),
    )


def _probe(plan: Plan) -> Probe | None:
    table = plan.loaded.suite.probe
    if table is None:
        return None
    return Probe(requests=table.requests, client=probing.client())


def _flags(plan: Plan) -> list[str]:
    parameters = plan.parameters
    load = Load(
        "",
        parameters.connections,
        parameters.duration,
        rate=parameters.rate,
        threads=len(plan.layout.roles["generator"]),
    )
    return plan.generator.flags(load)


def _comparable(
    plan: Plan, fingerprint: dict[str, Any], source: Snapshot, lock: Lock | None
) -> dict[str, Any]:
    """What two runs must share for their figures to be compared, by name."""
    suite, parameters = plan.loaded.suite, plan.parameters
    return {
        "application": suite.app or suite.name,
        "application_sha256": source.sha256,
        "workloads": {
            workload.name: hashlib.sha256(workload.model_dump_json(exclude={"label"}).encode()).hexdigest()[
                :16
            ]
            for workload in suite.workload
            if workload.name in parameters.workloads
        },
        **_beside(plan),
        "generator": plan.generator.name,
        "generator_version": plan.generator_version,
        "generator_flags": _flags(plan),
        "duration": parameters.duration,
        "warmup": parameters.warmup,
        "rate": parameters.rate,
        "machine": machine.machine_key(fingerprint),
        "python": machine.python_build()["version"],
        "lock": lock.sha256 if lock else None,
        "layout": shape(plan.layout),
    }


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


def _warnings(plan: Plan, found: Surroundings, redact: Redactor) -> list[Note]:
    """What a reader must know of the surroundings, beside the numbers."""
    layout, repeats, notes = plan.layout, plan.parameters.repeats, []

    def note(code: str, message: str) -> None:
        notes.append(Note(code=code, message=message))

    if layout.shared:
        note("shared-cpus", f"shared CPUs: {layout.note}")
    elif layout.note:
        note("layout", layout.note)
    virtual = found.fingerprint.get("virtualisation")
    if virtual not in (None, "none", "bare metal", "unknown"):
        note("virtual", f"not bare metal: {virtual}")
    if found.lock is None:
        note("no-lock", "captured without a lock file")
    elif not found.lock.matches:
        note("lock-drift", "installed packages differ from the lock")
    if repeats < 5:
        note("few-samples", f"{repeats} {'sample' if repeats == 1 else 'samples'} a case; rankings want five")
    if redact.text(plan.loaded.file.text) != plan.loaded.file.text:
        # Verbatim all the same: its hash is what a resumed run is recognised by.
        note("names", "the suite file, stored as it is, names this machine, its user or a folder of theirs")
    if found.source.archive is None:
        note("no-snapshot", "the source is over 8 MiB and not stored with the run")
    return notes
