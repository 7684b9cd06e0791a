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

from runner import machine, manifest, provenance, store
from runner.apps import counter, identity
from runner.errors import ArtifactError, SuiteError
from runner.model import Generator, Lock, Run
from runner.plan import Options, Plan, check_installed, make
from runner.redact import Redactor
from runner.snapshot import Snapshot, snapshot
from runner.store import RAW
from runner.suite import LoadedSuite
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
    return Surroundings(fingerprint, lock, source, manifest.comparable(plan, fingerprint, source, lock))


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
            flags=manifest.flags(plan),
            notes=plan.generator.notes,
        ),
        upstream=manifest.upstream(plan, redact),
        probe=manifest.probe(plan),
        labels=manifest.labels(plan),
        cases=plan.cases,
        comparable=found.comparable,
        facts={"counter_cost_s": identity.cost(counter.Counter()), "load_at_start": machine.load()},
        warnings=manifest.warnings(plan, found.fingerprint, found.source, found.lock, redact),
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
