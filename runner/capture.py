"""A whole run: rounds of attempts, each stored as it ends; a resumed run keeps the order."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

from runner import machine, provenance
from runner.apps import counter, identity
from runner.attempt import Bench, Pending, port_is_free
from runner.errors import ArtifactError, MachineError
from runner.generators.base import Load
from runner.layout import shape
from runner.model import Case, Generator, Note, Run, Sample
from runner.plan import Plan, check_installed
from runner.redact import Redactor
from runner.store import RAW
from runner.suite import round_order
from runner.writer import RunWriter, snapshot

MAX_ATTEMPTS = 3


class Progress(Protocol):
    """What a display is told. All calls come from the capturing thread."""

    def begin(self, run: Run, total: int, done: int) -> None: ...
    def measuring(self, case: Case, repeat: int, attempt: int) -> None: ...
    def stored(self, case: Case, sample: Sample) -> None: ...
    def message(self, text: str) -> None: ...


def new_run_id(suite: str, started: datetime, salt: str) -> str:
    """``<suite>-<UTC start>-<short hash>``."""
    short = hashlib.sha256(f"{salt}{started.isoformat()}{os.getpid()}".encode()).hexdigest()[:6]
    return f"{suite[:32]}-{started:%Y%m%dt%H%M%Sz}-{short}"


def begin(
    plan: Plan, artifacts: Path, project: Path, command_line: list[str], run_id: str | None = None
) -> RunWriter:
    """Create the run's folder and manifest, with everything that is known before the first sample.

    Raises SuiteError for what is not installed, ArtifactError for a folder that exists.
    """
    check_installed(plan.loaded, plan.parameters)
    started = datetime.now(UTC)
    redactor = _redactor(project, plan)
    identifier = run_id or new_run_id(plan.loaded.suite.name, started, plan.loaded.file.sha256)
    source = provenance.source(project)
    lock_path = project / "locks" / "bench.txt"
    lock = provenance.lock_state(lock_path) if lock_path.is_file() else None
    fingerprint = machine.fingerprint()
    packed = snapshot(plan.loaded.directory, artifacts)
    suite = plan.loaded.suite
    run = Run(
        id=identifier,
        suite=suite.name,
        title=suite.title,
        created=started,
        suite_file=plan.loaded.file,
        parameters=plan.parameters,
        command_line=redactor.value(command_line),
        source=source,
        lock=lock,
        packages=provenance.distributions(),
        python=machine.python_build(),
        machine=redactor.value(fingerprint),
        layout=plan.layout,
        generator=Generator(
            name=plan.generator.name,
            version=plan.generator_version,
            flags=_flags(plan),
            notes=plan.generator.notes,
        ),
        labels={
            "server": {server.name: server.label or server.name for server in suite.server},
            "workload": {workload.name: workload.label or workload.name for workload in suite.workload},
            "series": _series_labels(plan),
        },
        cases=plan.cases,
        comparable=_comparable(
            plan, fingerprint, packed[1] if packed else None, lock.sha256 if lock else None
        ),
        facts={"counter_cost_s": identity.cost(counter.Counter())},
        warnings=_warnings(plan, fingerprint, lock, packed is not None),
    )
    writer = RunWriter(artifacts / identifier, run)
    if packed:
        writer.raw("source.tar.gz", packed[0])
    if lock:
        writer.raw("lock.txt", redactor.bytes(lock_path.read_bytes()))
    return writer


def resume(plan: Plan, folder: Path, project: Path) -> RunWriter:
    """Open an unfinished run to complete it.

    Raises ArtifactError if the suite, the machine, the lock or the layout is not the one it began with.
    """
    check_installed(plan.loaded, plan.parameters)
    writer = RunWriter(folder)
    try:
        lock_path = project / "locks" / "bench.txt"
        lock = provenance.lock_state(lock_path) if lock_path.is_file() else None
        packed = snapshot(plan.loaded.directory, folder.parent)
        now = _comparable(
            plan, machine.fingerprint(), packed[1] if packed else None, lock.sha256 if lock else None
        )
        # The manifest went through JSON; compare what JSON keeps.
        now = json.loads(json.dumps(now))
        then = writer.run.comparable
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
        writer.__exit__(None, None, None)
        raise
    return writer


def execute(plan: Plan, writer: RunWriter, project: Path, progress: Progress, port: int | None = None) -> Run:
    """Measure what is missing, round by round, and finish the manifest.

    The first Ctrl-C ends the run after the running sample (state ``interrupted``), the second at once
    (KeyboardInterrupt; the running sample is lost). Raises MachineError if ``port`` is taken.
    """
    if port is not None and not port_is_free(port):
        raise MachineError(f"port {port} is in use", "Choose another --port, or leave it out for a free one.")
    run = writer.run.model_copy(update={"state": "running", "finished": None, "files": []})
    writer.save_manifest(run)
    os.sched_setaffinity(0, plan.layout.roles["runner"])
    bench = Bench(plan, writer, _redactor(project, plan), port)
    cases = {case.id: case for case in run.cases}
    progress.begin(run, len(run.cases) * run.parameters.repeats, _settled(writer.samples))
    pending: list[Pending] = []

    def settle() -> None:
        while pending:
            sample = pending.pop().settle(writer, bench.redactor)
            progress.stored(cases[sample.case], sample)

    with _interruptible(progress) as interrupted:
        try:
            for case, repeat, attempt in _agenda(run, writer.samples, pending):
                if interrupted():
                    break
                progress.measuring(case, repeat, attempt)
                order = len(writer.samples) + len(pending) + 1
                pending.append(bench.attempt(case, repeat, attempt, order, settle))
        finally:
            settle()
    complete = next(_agenda(run, writer.samples, []), None) is None
    threads = [s.witness["generator"].threads for s in writer.samples if "generator" in s.witness]
    final = run.model_copy(
        update={
            "state": "complete" if complete else "interrupted",
            "finished": datetime.now(UTC),
            "generator": run.generator.model_copy(update={"threads": max(threads, default=None)}),
        }
    )
    return writer.finish(final)


def _agenda(run: Run, samples: list[Sample], pending: list[Pending]) -> Iterator[tuple[Case, int, int]]:
    """What to measure next: each round's own permutation, then what it rejected, twice at most.

    A pure function of the manifest and of what is stored or pending, so that a resumed run continues the
    order of an uninterrupted one.
    """

    def attempts(case: Case, repeat: int) -> list[str]:
        stored = [s.status for s in samples if s.case == case.id and s.repeat == repeat]
        return stored + [p.findings.status for p in pending if p.case.id == case.id and p.repeat == repeat]

    for repeat in range(1, run.parameters.repeats + 1):
        order = round_order(run.cases, run.parameters.seed, repeat)
        for number in range(1, MAX_ATTEMPTS + 1):
            for case in order:
                made = attempts(case, repeat)
                if len(made) == number - 1 and all(status == "rejected" for status in made):
                    yield case, repeat, number


def _settled(samples: list[Sample]) -> int:
    """How many (case, repeat) pairs need no further attempt."""
    attempts: dict[tuple[str, int], list[str]] = defaultdict(list)
    for sample in samples:
        attempts[sample.case, sample.repeat].append(sample.status)
    return sum(made[-1] != "rejected" or len(made) >= MAX_ATTEMPTS for made in attempts.values())


@contextmanager
def _interruptible(progress: Progress) -> Iterator[Callable[[], bool]]:
    """The first SIGINT or SIGTERM asks for an end after the sample, the second ends at once."""
    asked: list[int] = []

    def handle(number: int, frame: FrameType | None) -> None:
        asked.append(number)
        if len(asked) > 1:
            raise KeyboardInterrupt
        progress.message("Stopping after this sample; once more to stop now (the running sample is lost).")

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _redactor(project: Path, plan: Plan) -> Redactor:
    return Redactor.of_this_machine(project, suite=plan.loaded.directory)


def _series_labels(plan: Plan) -> dict[str, str]:
    own = {series.name: series.label or series.name for series in plan.loaded.suite.series}
    if not plan.parameters.workers:
        return own
    return {f"workers-{n}": f"{n} worker{'s' if n > 1 else ''}" for n in plan.parameters.workers}


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
    plan: Plan, fingerprint: dict[str, Any], application: str | None, lock: str | None
) -> dict[str, Any]:
    """What two runs must share for their figures to be compared, by name."""
    suite, parameters = plan.loaded.suite, plan.parameters
    return {
        "application": suite.app or suite.name,
        "application_sha256": application,
        "workloads": {
            workload.name: hashlib.sha256(workload.model_dump_json(exclude={"label"}).encode()).hexdigest()[
                :16
            ]
            for workload in suite.workload
            if workload.name in parameters.workloads
        },
        "generator": plan.generator.name,
        "generator_version": plan.generator_version,
        "generator_flags": _flags(plan),
        "duration": parameters.duration,
        "warmup": parameters.warmup,
        "rate": parameters.rate,
        "machine": machine.machine_key(fingerprint),
        "python": machine.python_build()["version"],
        "lock": lock,
        "layout": shape(plan.layout),
    }


def _warnings(plan: Plan, fingerprint: dict[str, Any], lock: Any, has_snapshot: bool) -> list[Note]:
    """What a reader must know of the surroundings, beside the numbers."""
    found = []
    if plan.layout.shared:
        found.append(Note(code="shared-cpus", message=f"shared CPUs: {plan.layout.note}"))
    elif plan.layout.note:
        found.append(Note(code="layout", message=plan.layout.note))
    if fingerprint.get("virtualisation") not in (None, "none", "bare metal", "unknown"):
        found.append(Note(code="virtual", message=f"not bare metal: {fingerprint['virtualisation']}"))
    if lock is None:
        found.append(Note(code="no-lock", message="captured without a lock file"))
    elif not lock.matches:
        found.append(Note(code="lock-drift", message="installed packages differ from the lock"))
    if plan.parameters.repeats < 5:
        found.append(
            Note(code="few-samples", message=f"{plan.parameters.repeats} samples a case; rankings want five")
        )
    if not has_snapshot:
        found.append(Note(code="no-snapshot", message="the source is over 8 MiB and not stored with the run"))
    return found
