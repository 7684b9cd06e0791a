"""One attempt at one case: start, check, warm up, sample, check."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from runner import client, proc
from runner.checks import (
    Findings,
    check_affinity,
    check_answer,
    check_workers,
    judge_counter,
    judge_outcome,
    judge_witness,
    judge_workers,
)
from runner.client import Identity
from runner.errors import ArtifactError, GeneratorError, RejectionError, ServerError
from runner.generators.base import Load, Outcome
from runner.model import Case
from runner.pending import Pending
from runner.plan import Plan
from runner.process import ProcessTree, Spec
from runner.redact import Redactor
from runner.subject import Subject, free_port, tail
from runner.suite import Server, Workload
from runner.witness import Witness
from runner.writer import RunWriter

# Both ends of the witness's window lie inside the load: a generator that has ended has no threads to read.
WITNESS_MARGIN_S = 0.1
GENERATOR_GRACE_S = 15.0
LEAST_FREE = 4 * 2**20


class Bench:
    """What all attempts of a run share."""

    def __init__(self, plan: Plan, writer: RunWriter, redactor: Redactor, port: int | None = None) -> None:
        self.plan = plan
        self.writer = writer
        self.redactor = redactor
        self.port = port
        proc.interrupts_charged()  # a short self-test, which must not fall into the first sample
        suite = plan.loaded.suite
        self.servers: dict[str, Server] = {server.name: server for server in suite.server}
        self.workloads: dict[str, Workload] = {workload.name: workload for workload in suite.workload}

    def attempt(
        self, case: Case, repeat: int, attempt: int, order: int, settle_previous: Callable[[], None]
    ) -> Pending:
        """Measure once. The server is left stopping; the caller settles what is returned.

        A failure of the server or of the surroundings is in the result, never raised.
        ``settle_previous`` may be called more than once; it is called before anything is measured.
        """
        pending = Pending(case, repeat, attempt, order, datetime.now(UTC))
        workload = self.workloads[str(case.dimensions["workload"])]
        folder = self._folder(order)
        if self.port is not None:
            settle_previous()  # the one port must be free before the next server binds it
        subject = pending.subject = Subject(
            self.plan.loaded,
            self.servers[str(case.dimensions["server"])],
            int(case.dimensions["workers"]),
            self.plan.layout.roles["server"],
            self.port or free_port(),
            folder,
        )
        pending.commands["server"] = subject.argv
        try:
            clock = _Clock(pending.timing)
            subject.start()
            settle_previous()
            subject.wait_ready(workload)
            clock.lap("start")
            self._measure(pending, subject, workload, folder, clock)
        except ServerError as error:
            pending.findings.fail(error.code, str(error))
        except RejectionError as error:
            pending.findings.reject(error.code, str(error))
        except BaseException:
            pending.abandon()
            raise
        pending.begin_stop()
        settle_previous()
        return pending

    def _folder(self, order: int) -> Path:
        """A scratch folder for the attempt.

        Raises ArtifactError where the disk is all but full: a server whose log cannot be written would
        seem to fail by its own doing.
        """
        if shutil.disk_usage(self.writer.scratch).free < LEAST_FREE:
            raise ArtifactError(
                f"{self.writer.folder}: disk full",
                "Free some space, then continue with --resume; all stored samples are safe.",
            )
        folder = self.writer.scratch / f"{order:04d}"
        folder.mkdir()
        return folder

    def _measure(
        self, pending: Pending, subject: Subject, workload: Workload, folder: Path, clock: _Clock
    ) -> None:
        findings = pending.findings
        check_answer(subject.port, workload)
        findings.ok("response", "exact answer before the load")
        before = _identify(findings, subject)
        threads = check_affinity(subject.pids(), subject.cpus)
        findings.ok("affinity", f"{threads} threads on CPUs {subject.cpus}")
        clock.lap("checks_before")

        self._warm_up(pending, subject, workload, folder)
        subject.must_live()
        count = subject.settled_count()
        clock.lap("warmup")

        spent = time.process_time()
        outcome = self._load(pending, subject, workload, folder)
        clock.lap("measured")
        pending.timing["runner_cpu"] = time.process_time() - spent
        subject.must_live()

        judge_outcome(findings, outcome)
        pending.fields |= _figures(outcome)
        judge_witness(findings, pending.fields["witness"], self.plan.parameters.foreign_limit)
        recount, after = subject.settled_count(), subject.identities(client.PATIENT_S)
        if count is not None and recount is not None and before is not None and after is not None:
            counted = recount - count
            pending.fields["counts"]["server"] = counted
            judge_counter(findings, counted, outcome, int(pending.case.dimensions["connections"]))
            judge_workers(findings, before, after)
            pending.raw["identity.json"] = _identity_json(before, after, counted)
        check_answer(subject.port, workload, client.PATIENT_S)
        findings.ok("response", "exact answer after the load")
        clock.lap("checks_after")

    def _warm_up(self, pending: Pending, subject: Subject, workload: Workload, folder: Path) -> None:
        seconds = self.plan.parameters.warmup
        if seconds <= 0:
            return
        with self._generate(pending, subject, workload, folder / "warmup", seconds, "warmup") as generator:
            if generator.wait(seconds + GENERATOR_GRACE_S) is None:
                raise RejectionError("generator", "the generator did not end after the warm-up")

    def _load(self, pending: Pending, subject: Subject, workload: Workload, folder: Path) -> Outcome:
        """Run the generator once, with the witness inside its window, and read what it wrote."""
        seconds = self.plan.parameters.duration
        roles, scratch = self.plan.layout.roles, folder / "load"
        with self._generate(pending, subject, workload, scratch, seconds, "generator") as generator:
            witness = Witness(
                {
                    "server": (roles["server"], subject.pids),
                    "generator": (roles["generator"], generator.pids),
                    "runner": (roles["runner"], lambda: {os.getpid()}),
                }
            )
            margin = min(WITNESS_MARGIN_S, seconds / 10)
            generator.wait(margin)
            witness.start()
            end = time.monotonic() + seconds - 2 * margin
            while (status := generator.wait(min(1.0, max(0.0, end - time.monotonic())))) is None:
                if time.monotonic() >= end:
                    break
                witness.observe()
            pending.fields["witness"] = witness.stop()
            if status is None:
                status = generator.wait(GENERATOR_GRACE_S)
        log = scratch / "generator.log"
        pending.raw |= {
            path.name: path.read_bytes()
            for path in sorted(scratch.iterdir())
            if path.is_file() and (path != log or path.stat().st_size)
        }
        if status is None:
            raise RejectionError("generator", f"the generator did not end within {GENERATOR_GRACE_S:.0f} s")
        try:
            return self.plan.generator.read(scratch)
        except GeneratorError as error:
            subject.must_live()  # a dead server is the reason, not what it did to the generator
            raise RejectionError(
                "generator", f"the generator ended with status {status}: {error.message}; {tail(log)}"
            ) from error

    def _generate(
        self, pending: Pending, subject: Subject, workload: Workload, folder: Path, seconds: float, name: str
    ) -> ProcessTree:
        """Start the generator in ``folder``, which is made. Raises RejectionError if it cannot be started."""
        folder.mkdir()
        load = Load(
            url=f"http://{client.LOOPBACK}:{subject.port}{workload.path}",
            connections=int(pending.case.dimensions["connections"]),
            duration=seconds,
            method=workload.method,
            headers=workload.headers,
            body=workload.body,
            rate=self.plan.parameters.rate,
            threads=len(self.plan.layout.roles["generator"]),
        )
        command = self.plan.generator.command(load, folder)
        pending.commands[name] = command.argv
        try:
            return ProcessTree(
                Spec(
                    argv=command.argv,
                    cwd=folder,
                    stdout=folder / command.stdout,
                    stderr=folder / "generator.log",
                    cpus=self.plan.layout.roles["generator"],
                )
            )
        except ServerError as error:
            raise RejectionError("generator", error.message) from error


class _Clock:
    """Seconds between laps, into a dict."""

    def __init__(self, timing: dict[str, float]) -> None:
        self._timing = timing
        self._last = time.monotonic()

    def lap(self, name: str) -> None:
        now = time.monotonic()
        self._timing[name] = now - self._last
        self._last = now


def _identify(findings: Findings, subject: Subject) -> dict[int, Identity] | None:
    """The workers before the load, checked; None where the suite cannot tell."""
    found = subject.identities()
    if found is None:
        for name in ("workers", "loop", "counter"):
            findings.skip(name, "the suite has no identity endpoint")
        return None
    check_workers(found, subject.server, subject.workers, subject.pids(), subject.cpus)
    loops = ", ".join(sorted({answer.loop for answer in found.values()}))
    if subject.server.loop is None:
        findings.skip("loop", f"the suite names none; found {loops}")
    else:
        findings.ok("loop", loops)
    return found


def _figures(outcome: Outcome) -> dict[str, dict[str, float] | dict[str, int]]:
    """The fields of a sample that come from the generator's raw files."""
    return {
        "metrics": outcome.metrics,
        "reported": outcome.reported,
        "counts": {
            "ok": outcome.ok,
            "other_status": sum(outcome.statuses.values()) - outcome.ok,
            "errors": sum(outcome.errors.values()),
            "cut_off": outcome.cut_off,
        },
    }


def _identity_json(before: dict[int, Identity], after: dict[int, Identity], counted: int) -> bytes:
    value = {
        "before": [vars(answer) for answer in before.values()],
        "after": [vars(answer) for answer in after.values()],
        "counted": counted,
    }
    return json.dumps(value, indent=1).encode() + b"\n"
