"""One attempt at one case: start, check, warm up, sample, probe, check."""

from __future__ import annotations

import json
import shutil
import statistics
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from runner import client, probing, proc
from runner.cases import capacity_of
from runner.checks import (
    Findings,
    check_affinity,
    check_answer,
    check_workers,
    judge_counter,
    judge_foreign,
    judge_outcome,
    judge_saturation,
    judge_size,
    judge_timeouts,
    judge_workers,
)
from runner.client import Identity
from runner.controls import measure_control
from runner.driver import Driver
from runner.errors import ArtifactError, RejectionError, ServerError, SuiteError
from runner.model import UPSTREAM, Case
from runner.pending import Pending
from runner.plan import Plan
from runner.program import free_port
from runner.redact import Redactor
from runner.subject import Subject
from runner.tables import Control, Server, Workload
from runner.upstream import UpstreamProgram
from runner.writer import RunWriter

LEAST_FREE = 4 * 2**20


class Bench:
    """What all attempts of a run share; ``close`` it at the end."""

    def __init__(self, plan: Plan, writer: RunWriter, redactor: Redactor, port: int | None = None) -> None:
        self.plan = plan
        self.writer = writer
        self.redactor = redactor
        self.port = port
        proc.interrupts_charged()  # a short self-test, which must not fall into the first sample
        suite = plan.loaded.suite
        self.servers: dict[str, Server] = {server.name: server for server in suite.server}
        self.workloads: dict[str, Workload] = {workload.name: workload for workload in suite.workload}
        self.controls: dict[str, Control] = {control.name: control for control in suite.control}
        self.upstream = (
            UpstreamProgram(plan.loaded, suite.upstream, plan.layout.roles[UPSTREAM], writer.scratch)
            if suite.upstream
            else None
        )

    def prepare(self) -> None:
        """Start the upstream. Raises SuiteError where it will not: then no sample could be had."""
        if self.upstream is not None:
            try:
                self.upstream.ensure()
            except RejectionError as error:
                raise SuiteError(
                    f"[upstream]: {error.message}", "Mend it, then start a new run; this one has no sample."
                ) from error

    def close(self) -> None:
        """Stop the upstream."""
        if self.upstream is not None:
            self.upstream.close()

    def attempt(
        self, case: Case, repeat: int, attempt: int, order: int, settle_previous: Callable[[], None]
    ) -> Pending:
        """Measure once. The server is left stopping; the caller settles what is returned.

        A failure of the server or of the surroundings is in the result, never raised.
        ``settle_previous`` may be called more than once; it is called before anything is measured.
        """
        pending = Pending(case, repeat, attempt, order, datetime.now(UTC))
        folder = pending.folder = self._folder(order)
        log_start = self._upstream_log()
        try:
            if self.upstream is not None:
                self.upstream.ensure()
            if case.role == "control":
                settle_previous()
                assert self.upstream is not None, "a suite with controls has an upstream"
                control = self.controls[str(case.dimensions["workload"])]
                measure_control(self.plan, pending, self.upstream, control, folder)
            else:
                self._serve(pending, folder, settle_previous)
        except ServerError as error:
            try:
                self._check_upstream(case)
            except RejectionError as cause:
                # Whatever the server did, its upstream explains it; a fault of its own comes up again.
                pending.findings.reject(cause.code, f"{cause.message}; the server then: {error.message}")
            else:
                pending.findings.fail(error.code, str(error))
        except RejectionError as error:
            pending.findings.reject(error.code, str(error))
        except BaseException:
            pending.abandon()
            raise
        pending.begin_stop()
        if self.upstream is not None and (log := self.upstream.captured_log(log_start)):
            pending.raw["upstream.log"] = log
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

    def _upstream_log(self) -> int:
        log = self.upstream.log if self.upstream else None
        return log.stat().st_size if log and log.exists() else 0

    def _serve(self, pending: Pending, folder: Path, settle_previous: Callable[[], None]) -> None:
        """A sample of a server."""
        case = pending.case
        workload = self.workloads[str(case.dimensions["workload"])]
        if self.port is not None or "load" in case.dimensions:
            settle_previous()  # the one port must be free; a ladder's rung needs the capacity before it
        rate = self._rate(case)
        subject = pending.subject = Subject(
            self.plan.loaded,
            self.servers[str(case.dimensions["server"])],
            int(case.dimensions["workers"]),
            self.plan.layout.roles["server"],
            self.port or free_port(),
            folder,
        )
        pending.commands["server"] = subject.argv
        self._check_upstream(case)  # or the server would wait for it, and be waited for
        subject.launch(self.upstream)
        settle_previous()
        subject.ready(workload)
        pending.lap("start")
        self._measure(pending, subject, workload, rate, folder)

    def _rate(self, case: Case) -> float | None:
        """The rate of an open loop in requests/s; of a ladder's rung, its share of the measured capacity."""
        load = case.dimensions.get("load")
        if not isinstance(load, int):
            return self.plan.parameters.rate
        capacity = capacity_of(case, self.writer.run.cases)
        measured = [
            sample.metrics["rps"]
            for sample in self.writer.samples
            if sample.case == capacity.id and sample.status == "accepted"
        ]
        if not measured:
            raise RejectionError("capacity", f"{capacity.id} has no accepted sample to take {load} % of")
        return statistics.median(measured) * load / 100

    def _measure(
        self,
        pending: Pending,
        subject: Subject,
        workload: Workload,
        rate: float | None,
        folder: Path,
    ) -> None:
        findings, upstream, roles = pending.findings, self.upstream, self.plan.layout.roles
        self._check_upstream(pending.case)
        check_answer(subject.port, workload)
        findings.ok("response", "exact answer before the load")
        before = _identify(findings, subject)
        threads = check_affinity(subject.pids(), subject.cpus)
        findings.ok("affinity", f"{threads} threads on CPUs {subject.cpus}")
        pending.lap("checks_before")

        driver = Driver(
            plan=self.plan,
            pending=pending,
            folder=folder,
            request=workload,
            port=subject.port,
            rate=rate,
            watched={
                "server": (roles["server"], subject.pids),
                **({UPSTREAM: (roles[UPSTREAM], upstream.pids)} if upstream else {}),
            },
            must_live=subject.must_live,
            glance=lambda: self._check_upstream(pending.case),
        )
        driver.warm_up()
        subject.must_live()
        count = subject.settled()
        pending.lap("warmup")

        outcome = driver.measure()
        subject.must_live()
        self._check_upstream(pending.case)  # a fault of the upstream explains whatever the load met
        judge_outcome(findings, outcome)
        judge_size(findings, outcome, workload.expect.size)
        witness = pending.fields["witness"]
        judge_foreign(findings, witness.get("server"), self.plan.parameters.foreign_limit)
        judge_saturation(findings, witness, ("generator", UPSTREAM))
        recount = subject.settled()
        if count is not None and recount is not None:
            counted = recount.requests - count.requests
            pending.fields["counts"]["server"] = counted
            judge_counter(findings, counted, outcome, int(pending.case.dimensions["connections"]))
        if self.plan.loaded.suite.probe is not None:
            answer = check_answer(subject.port, workload, client.PATIENT_S)
            probed = driver.probe(self.plan.loaded.suite.probe.requests, answer)
            subject.must_live()
            self._check_upstream(pending.case)
            probing.judge(findings, probed)
        after = subject.identities(client.PATIENT_S)
        if count is not None and before is not None and after is not None and recount is not None:
            if self.plan.loaded.suite.upstream or count.timeouts is not None:
                judge_timeouts(findings, count, next(iter(after.values()), count))
            judge_workers(findings, before, after)
            pending.raw["identity.json"] = _identity_json(before, after, counted)
        check_answer(subject.port, workload, client.PATIENT_S)
        findings.ok("response", "exact answer after the load")
        pending.lap("checks_after")

    def _check_upstream(self, case: Case) -> None:
        """The upstream lives and answers what this case asks of it. Raises RejectionError."""
        if self.upstream is not None:
            workload = case.dimensions["workload"]
            direct = next((c for c in self.controls.values() if workload in c.covers), None)
            self.upstream.check(direct)


def _identify(findings: Findings, subject: Subject) -> dict[int, Identity] | None:
    """The workers before the load, checked; None where the suite cannot tell."""
    found = subject.identities(within=subject.start_timeout)
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


def _identity_json(before: dict[int, Identity], after: dict[int, Identity], counted: int) -> bytes:
    value = {
        "before": [vars(answer) for answer in before.values()],
        "after": [vars(answer) for answer in after.values()],
        "counted": counted,
    }
    return json.dumps(value, indent=1).encode() + b"\n"
