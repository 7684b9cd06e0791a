"""A whole run: rounds of attempts, each stored as it ends; a resumed run keeps the order."""

from __future__ import annotations

import os
import resource
import signal
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Protocol

from runner.attempt import Bench
from runner.beginning import redactor
from runner.cases import stages
from runner.errors import MachineError
from runner.model import MAX_ATTEMPTS, Case, Layout, Run, Sample
from runner.pending import Pending
from runner.plan import Plan
from runner.program import port_is_free
from runner.writer import RunWriter


class Progress(Protocol):
    """What a display is told. All calls come from the capturing thread."""

    def begin(self, run: Run, total: int, done: int) -> None: ...
    def measuring(self, case: Case, repeat: int, attempt: int) -> None: ...
    def stored(self, case: Case, sample: Sample) -> None: ...
    def message(self, text: str) -> None: ...


@contextmanager
def on_runner_cpus(layout: Layout) -> Iterator[None]:
    """Run on the runner's CPUs, with all the open files this user may have; as before afterwards.

    Enter it before starting threads: affinity is each thread's own.
    """
    cpus, files = os.sched_getaffinity(0), resource.getrlimit(resource.RLIMIT_NOFILE)
    os.sched_setaffinity(0, layout.roles["runner"])
    resource.setrlimit(resource.RLIMIT_NOFILE, (files[1], files[1]))
    try:
        yield
    finally:
        os.sched_setaffinity(0, cpus)
        resource.setrlimit(resource.RLIMIT_NOFILE, files)


def execute(plan: Plan, writer: RunWriter, project: Path, progress: Progress, port: int | None = None) -> Run:
    """Measure what is missing, round by round, and finish the manifest.

    The first Ctrl-C ends the run after the running sample (state ``interrupted``), the second at once
    (KeyboardInterrupt; the running sample is lost). Raises MachineError if ``port`` is taken.
    """
    if port is not None and not port_is_free(port):
        raise MachineError(f"port {port} is in use", "Choose another --port, or leave it out for a free one.")
    run = writer.run.model_copy(update={"state": "running", "finished": None, "files": []})
    writer.save_manifest(run)
    bench = Bench(plan, writer, redactor(project, plan), port)
    cases = {case.id: case for case in run.cases}
    progress.begin(run, run.samples, _settled(writer.samples))
    pending: list[Pending] = []

    def settle() -> None:
        while pending:
            try:
                sample = pending[-1].settle(writer, bench.redactor)
            except KeyboardInterrupt:
                # The sample is measured: only its server's end is cut short.
                pending[-1].abandon()
                if len(writer.samples) < pending[-1].order:
                    pending[-1].settle(writer, bench.redactor)
                pending.pop()
                raise
            pending.pop()
            progress.stored(cases[sample.case], sample)

    with _interruptible(progress) as interrupted:
        try:
            bench.prepare()
            for case, repeat, attempt in _agenda(run, writer.samples, pending):
                if interrupted():
                    break
                progress.measuring(case, repeat, attempt)
                order = len(writer.samples) + len(pending) + 1
                pending.append(bench.attempt(case, repeat, attempt, order, settle))
        finally:
            try:
                settle()
            finally:
                bench.close()
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
    """What to measure next: stage by stage, and after each what it rejected, twice at most.

    A pure function of the manifest and of what is stored or pending, so that a resumed run continues the
    order of an uninterrupted one.
    """

    def attempts(case: Case, repeat: int) -> list[str]:
        stored = [s.status for s in samples if s.case == case.id and s.repeat == repeat]
        return stored + [p.findings.status for p in pending if p.case.id == case.id and p.repeat == repeat]

    for repeat, order in stages(run.cases, run.parameters):
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
