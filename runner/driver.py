"""Drives a load generator against one port, with a witness beside it."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from runner import client, probing
from runner.checks import judge_foreign
from runner.errors import GeneratorError, RejectionError, ServerError
from runner.generators.base import BODY_FILE, Load, Outcome
from runner.model import SATURATED, UPSTREAM
from runner.pending import Pending
from runner.plan import Plan
from runner.process import ProcessTree, Spec
from runner.program import tail
from runner.tables import Request
from runner.witness import Roles, Witness

# Both ends of the witness's window lie inside the load: a generator that has ended has no threads to read.
WITNESS_MARGIN_S = 0.1
GENERATOR_GRACE_S = 15.0
PROBE_GRACE_S = 15.0


@dataclass(frozen=True)
class Driver:
    """The load of one attempt.

    ``watched`` are the roles whose CPUs and processes the witness looks at, beside generator and runner;
    ``must_live`` raises if what is loaded has died; ``glance`` is called about once a second during the
    measured load, and may raise. ``rate`` in requests/s, None for closed loop.
    """

    plan: Plan
    pending: Pending
    folder: Path
    request: Request
    port: int
    rate: float | None
    watched: Roles
    must_live: Callable[[], None]
    glance: Callable[[], None]

    @property
    def load(self) -> Load:
        """What is sent, for the measured duration."""
        return Load(
            url=f"http://{client.LOOPBACK}:{self.port}{self.request.path}",
            connections=int(self.pending.case.dimensions["connections"]),
            duration=self.plan.parameters.duration,
            method=self.request.method,
            headers=self.request.headers,
            body=self.request.content,
            rate=self.rate,
            threads=len(self.plan.layout.roles["generator"]),
            payload=self.request.payload_bytes,
        )

    def warm_up(self) -> None:
        """The load without looking at it, for the time of the warm-up. Raises RejectionError."""
        seconds = self.plan.parameters.warmup
        if seconds <= 0:
            return
        with self._generate(self.folder / "warmup", seconds, "warmup") as generator:
            if generator.wait(seconds + GENERATOR_GRACE_S) is None:
                raise RejectionError("generator", "the generator did not end after the warm-up")

    def measure(self) -> Outcome:
        """Run the generator once, with the witness inside its window, and read what it wrote.

        The sample's figures, witness and times are put into ``pending``. Raises RejectionError
        (``generator``), or what ``must_live`` and ``glance`` raise.
        """
        seconds, roles, scratch = self.plan.parameters.duration, self.plan.layout.roles, self.folder / "load"
        broken: RejectionError | None = None
        spent = time.process_time()
        with self._generate(scratch, seconds, "generator") as generator:
            witness = Witness(
                {
                    **self.watched,
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
                if broken is None:
                    try:
                        self.glance()
                    except RejectionError as error:
                        broken = error  # raised once the raw files are kept
            self.pending.fields["witness"] = witness.stop()
            if status is None:
                status = generator.wait(GENERATOR_GRACE_S)
        self.pending.lap("measured")
        self.pending.timing["runner_cpu"] = time.process_time() - spent
        self._keep(scratch)
        if status is None:
            raise broken or RejectionError(
                "generator", f"the generator did not end within {GENERATOR_GRACE_S:.0f} s"
            )
        try:
            outcome = self.plan.generator.read(scratch)
        except GeneratorError as error:
            if broken is not None:
                raise broken from error
            self.must_live()  # what is loaded is dead: that is the reason, not what it did to the generator
            log = tail(scratch / "generator.log")
            raise RejectionError(
                "generator", f"the generator ended with status {status}: {error.message}; {log}"
            ) from error
        self.pending.fields |= {
            "metrics": outcome.metrics,
            "reported": outcome.reported,
            "counts": {
                "ok": outcome.ok,
                "other_status": sum(outcome.statuses.values()) - outcome.ok,
                "errors": sum(outcome.errors.values()),
                "cut_off": outcome.cut_off,
            },
        }
        if broken is not None:
            raise broken  # the figures are kept all the same, with what was answered wrong among them
        return outcome

    def probe(self, requests: int, answer: bytes) -> probing.ProbeOutcome:
        """Time so many requests one by one, on the generator's CPUs; what came of them is not judged here.

        ``answer`` is the body that a request got before, and gets again where the suite says what is right.
        Raises RejectionError (``probe``) where the probe itself breaks.
        """
        scratch, cpus = self.folder / "probe", self.plan.layout.roles["generator"]
        scratch.mkdir()
        asked = self._probe_plan(requests, answer)
        argv = probing.command(asked, scratch)
        self.pending.commands["probe"] = argv
        log = scratch / "probe.log"
        try:
            tree = ProcessTree(Spec(argv, scratch, log, log, cpus))
        except ServerError as error:
            raise RejectionError("probe", error.message) from error
        with tree:
            witness = Witness({**self.watched, "probe": (cpus, tree.pids)})
            witness.start()
            status = tree.wait(asked.longest + PROBE_GRACE_S)
            found = witness.stop()
        for name in probing.RAW_FILES:
            if (scratch / name).is_file():
                self.pending.raw[name] = (scratch / name).read_bytes()
        if status != 0:
            raise RejectionError("probe", f"the probe ended with status {status}: {tail(log)}")
        try:
            outcome = probing.read(scratch)
        except GeneratorError as error:
            raise RejectionError("probe", error.message) from error
        self.pending.lap("probe")
        self.pending.fields["metrics"] |= outcome.metrics
        limit = self.plan.parameters.foreign_limit
        judge_foreign(self.pending.findings, found.get("server"), limit, name="foreign-probe")
        if "probe" in found:
            self.pending.fields["witness"]["probe"] = found["probe"]
        upstream = found.get(UPSTREAM)
        if upstream and (busiest := max(upstream.busiest_cpu, upstream.busiest_thread)) >= SATURATED:
            self.pending.findings.flag(
                "probe-saturated", f"upstream had a CPU or thread {busiest:.0%} busy during the probe"
            )
        return outcome

    def _probe_plan(self, requests: int, answer: bytes) -> probing.ProbePlan:
        load, expect = self.load, self.request.expect
        told = expect.echo or expect.text is not None or expect.json_ is not None
        return probing.ProbePlan(
            url=load.url,
            connections=load.connections,
            requests=requests,
            method=load.method,
            headers=load.headers,
            body=None if load.body is None else load.body.encode(),
            expect_status=expect.status,
            expect_sha256=hashlib.sha256(answer).hexdigest() if told else None,
        )

    def _keep(self, scratch: Path) -> None:
        """Take over the generator's files; the body it sent is in the suite, and its hash in the plan."""
        for path in sorted(scratch.iterdir()):
            empty_log = path.name == "generator.log" and not path.stat().st_size
            if path.is_file() and not empty_log and path.name != BODY_FILE:
                self.pending.raw[path.name] = path.read_bytes()

    def _generate(self, folder: Path, seconds: float, name: str) -> ProcessTree:
        """Start the generator in ``folder``, which is made. Raises RejectionError if it cannot be started."""
        folder.mkdir()
        command = self.plan.generator.command(self.load.lasting(seconds), folder)
        self.pending.commands[name] = command.argv
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
