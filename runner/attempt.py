"""One attempt at one case: start, check, warm up, sample, check; the stop overlaps the next start."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from runner import client
from runner.apps import counter
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
from runner.errors import GeneratorError, RejectionError, ServerError
from runner.generators.base import Command, Load, Outcome
from runner.model import Case, Sample
from runner.plan import Plan
from runner.process import ProcessTree, Spec, Stopped
from runner.redact import Redactor
from runner.suite import Server, Workload
from runner.witness import Witness
from runner.writer import RunWriter

LOG_LIMIT = 128 * 1024
# Both ends of the witness's window lie inside the load: a generator that has ended has no threads to read.
WITNESS_MARGIN_S = 0.1
GENERATOR_GRACE_S = 15.0
WRONG_ANSWER_GRACE_S = 3.0


@dataclass
class Pending:
    """A sample that was measured, whose server is still stopping; ``settle`` stores it."""

    case: Case
    repeat: int
    attempt: int
    order: int
    started: datetime
    findings: Findings = field(default_factory=Findings)
    fields: dict[str, Any] = field(default_factory=dict)
    timing: dict[str, float] = field(default_factory=dict)
    commands: dict[str, list[str]] = field(default_factory=dict)
    raw: dict[str, bytes] = field(default_factory=dict)
    tree: ProcessTree | None = None
    stop_limit: float = 15.0
    log: Path | None = None

    def settle(self, writer: RunWriter, redactor: Redactor) -> Sample:
        """Wait for the server's end, store the raw files, then the sample."""
        if self.tree is not None:
            self._note_stop(self.tree.finish_stop(self.stop_limit))
        if self.log is not None and self.log.exists() and self.log.stat().st_size:
            self.raw["server.log"] = _capped(self.log)
        entries = [
            writer.raw(f"{self.order:04d}/{name}", redactor.bytes(data))
            for name, data in sorted(self.raw.items())
        ]
        sample = Sample(
            case=self.case.id,
            repeat=self.repeat,
            attempt=self.attempt,
            order=self.order,
            started=self.started,
            status=self.findings.status,
            reasons=redactor.value(
                [note.model_dump() for note in self.findings.failures + self.findings.rejections]
            ),
            flags=redactor.value([note.model_dump() for note in self.findings.flags]),
            checks=redactor.value([check.model_dump() for check in self.findings.checks]),
            timing={key: round(value, 6) for key, value in self.timing.items()},
            commands=redactor.value(self.commands),
            raw=entries,
            **self.fields,
        )
        writer.append(sample)
        return sample

    def _note_stop(self, stopped: Stopped) -> None:
        self.timing["stop"] = stopped.seconds
        if stopped.killed:
            self.findings.flag(
                "stop",
                f"{len(stopped.killed)} processes did not end within {self.stop_limit:.0f} s "
                "of SIGTERM and were killed",
            )


class Bench:
    """What all attempts of a run share. ``before_wait`` is called once the next server was started."""

    def __init__(self, plan: Plan, writer: RunWriter, redactor: Redactor, port: int | None = None) -> None:
        self.plan = plan
        self.writer = writer
        self.redactor = redactor
        self.port = port
        suite = plan.loaded.suite
        self.servers: dict[str, Server] = {server.name: server for server in suite.server}
        self.workloads: dict[str, Workload] = {workload.name: workload for workload in suite.workload}

    def attempt(
        self, case: Case, repeat: int, attempt: int, order: int, before_wait: Callable[[], None]
    ) -> Pending:
        """Measure once. The server is left stopping; the caller settles what is returned.

        A failure of the server or of the surroundings is in the result, never raised.
        """
        pending = Pending(case, repeat, attempt, order, datetime.now(UTC))
        server = self.servers[str(case.dimensions["server"])]
        workload = self.workloads[str(case.dimensions["workload"])]
        folder = self.writer.scratch / f"{order:04d}"
        folder.mkdir()
        pending.stop_limit = server.stop_timeout
        settled = False

        def settle_previous() -> None:
            nonlocal settled
            if not settled:
                settled = True
                before_wait()

        try:
            self._measure(pending, server, workload, folder, settle_previous)
        except ServerError as error:
            pending.findings.fail(error.code, str(error))
        except RejectionError as error:
            pending.findings.reject(error.code, str(error))
        except BaseException:
            if pending.tree is not None:
                pending.tree.stop(0.0)
            raise
        if pending.tree is not None:
            pending.tree.begin_stop(server.stop_timeout)
        settle_previous()
        return pending

    def _measure(
        self,
        pending: Pending,
        server: Server,
        workload: Workload,
        folder: Path,
        settle_previous: Callable[[], None],
    ) -> None:
        suite, cpus = self.plan.loaded.suite, self.plan.layout.roles["server"]
        workers = int(pending.case.dimensions["workers"])
        clock = _Clock(pending.timing)
        if self.port is not None:
            settle_previous()  # the one port must be free before the next server binds it
        port = self.port or free_port()
        pending.log = folder / "server.log"
        tree = pending.tree = self._start(server, port, workers, folder, pending)
        settle_previous()
        self._wait_ready(tree, port, server, workload, pending.log)
        clock.lap("start")

        check_answer(port, workload)
        pending.findings.ok("response", "exact answer before the load")
        before = self._identify(pending, server, port, workers, tree)
        threads = check_affinity(tree.pids(), cpus)
        pending.findings.ok("affinity", f"{threads} threads on CPUs {cpus}")
        clock.lap("checks_before")

        self._warm_up(pending, workload, port, folder)
        self._must_live(tree, pending.log)
        identity_path = suite.identity.path if suite.identity else None
        count = settled_count(port, identity_path) if identity_path else None
        clock.lap("warmup")

        spent = time.process_time()
        outcome = self._load(pending, tree, workload, port, folder)
        clock.lap("measured")
        pending.timing["runner_cpu"] = time.process_time() - spent
        self._must_live(tree, pending.log)
        judge_outcome(pending.findings, outcome, workload)
        pending.fields["metrics"] = (
            {"rps": outcome.throughput, **outcome.latency} if outcome.ok and outcome.window > 0 else {}
        )
        pending.fields["reported"] = outcome.reported
        pending.fields["counts"] = {
            "ok": outcome.ok,
            "other_status": sum(outcome.statuses.values()) - outcome.ok,
            "errors": sum(outcome.errors.values()),
            "cut_off": outcome.cut_off,
        }
        judge_witness(pending.findings, pending.fields["witness"], self.plan.parameters.foreign_limit)
        if identity_path and count is not None:
            counted = settled_count(port, identity_path) - count
            pending.fields["counts"]["server"] = counted
            judge_counter(pending.findings, counted, outcome, int(pending.case.dimensions["connections"]))
            after = client.identities(port, identity_path, workers)
            judge_workers(pending.findings, before, after)
            pending.raw["identity.json"] = _identity_json(before, after, counted)
        check_answer(port, workload)
        pending.findings.ok("response", "exact answer after the load")
        clock.lap("checks_after")

    def _start(self, server: Server, port: int, workers: int, folder: Path, pending: Pending) -> ProcessTree:
        loaded = self.plan.loaded
        argv = server.argv(
            app=loaded.suite.app, host=client.LOOPBACK, port=port, workers=workers, python=sys.executable
        )
        counters = folder / "counters"
        counter.create(counters, slots=4 * workers + 16)
        environment = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
        environment |= {
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
            "PYTHONPATH": str(loaded.directory),
            counter.VARIABLE: str(counters),
        }
        # Without bytecode a fresh Python server takes twice as long to start.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        environment |= server.env
        pending.commands["server"] = argv
        assert pending.log is not None
        return ProcessTree(
            Spec(
                argv=argv,
                cwd=loaded.directory,
                stdout=pending.log,
                stderr=pending.log,
                cpus=self.plan.layout.roles["server"],
                env=environment,
            )
        )

    def _wait_ready(
        self, tree: ProcessTree, port: int, server: Server, workload: Workload, log: Path
    ) -> None:
        """Wait for the first expected answer: a log line that says "listening" is no proof.

        Raises ServerError (``start``; ``response`` where it goes on answering something else) or
        RejectionError (``port``).
        """
        begin = time.monotonic()
        first_wrong: float | None = None
        while True:
            self._must_live(tree, log, code="start")
            waited = time.monotonic() - begin
            try:
                answer = client.request(
                    port, workload.path, workload.method, workload.headers, workload.body, timeout=2.0
                )
            except (OSError, http.client.HTTPException):
                first_wrong = None
            else:
                if answer.status == workload.expect.status:
                    return
                first_wrong = first_wrong if first_wrong is not None else waited
                if waited - first_wrong > WRONG_ANSWER_GRACE_S:
                    check_answer(port, workload)
            if waited > server.start_timeout:
                raise ServerError(
                    "start",
                    f"no answer within {server.start_timeout:.0f} s of the start; its log ends: {_tail(log)}",
                    "Does the command listen on {host}:{port}? If it only needs longer, raise start_timeout.",
                )
            time.sleep(0.01)

    def _must_live(self, tree: ProcessTree, log: Path, code: str = "died") -> None:
        status = tree.exited()
        if status is None:
            return
        tail = _tail(log)
        if code == "start" and "address already in use" in tail.lower():
            raise RejectionError("port", f"the port was taken before the server could bind it: {tail}")
        raise ServerError(code, f"the server ended with status {status}; its log ends: {tail}")

    def _identify(
        self, pending: Pending, server: Server, port: int, workers: int, tree: ProcessTree
    ) -> dict[int, Identity]:
        identity = self.plan.loaded.suite.identity
        if identity is None:
            for name in ("workers", "loop", "counter"):
                pending.findings.skip(name, "the suite has no identity endpoint")
            return {}
        found = client.identities(port, identity.path, workers)
        check_workers(found, server, workers, tree.pids(), self.plan.layout.roles["server"])
        loops = ", ".join(sorted({answer.loop for answer in found.values()}))
        if server.loop is None:
            pending.findings.skip("loop", f"the suite names none; found {loops}")
        else:
            pending.findings.ok("loop", loops)
        return found

    def _warm_up(self, pending: Pending, workload: Workload, port: int, folder: Path) -> None:
        seconds = self.plan.parameters.warmup
        if seconds <= 0:
            return
        scratch = folder / "warmup"
        scratch.mkdir()
        generator = self._generate(pending, workload, port, scratch, seconds, "warmup")
        with generator:
            if generator.wait(seconds + GENERATOR_GRACE_S) is None:
                raise RejectionError("generator", "the generator did not end after the warm-up")

    def _load(
        self, pending: Pending, tree: ProcessTree, workload: Workload, port: int, folder: Path
    ) -> Outcome:
        """Run the generator once, with the witness inside its window, and read what it wrote."""
        seconds = self.plan.parameters.duration
        roles, scratch = self.plan.layout.roles, folder / "load"
        scratch.mkdir()
        with self._generate(pending, workload, port, scratch, seconds, "generator") as generator:
            witness = Witness(
                {
                    "server": (roles["server"], tree.pids),
                    "generator": (roles["generator"], generator.pids),
                    "runner": (roles["runner"], lambda: {os.getpid()}),
                }
            )
            generator.wait(WITNESS_MARGIN_S)
            witness.start()
            status = generator.wait(max(0.0, seconds - 2 * WITNESS_MARGIN_S))
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
            if tree.exited() is not None:
                self._must_live(tree, pending.log or log)
            raise RejectionError(
                "generator", f"the generator ended with status {status}: {error.message}; {_tail(log)}"
            ) from error

    def _generate(
        self, pending: Pending, workload: Workload, port: int, folder: Path, seconds: float, name: str
    ) -> ProcessTree:
        load = Load(
            url=f"http://{client.LOOPBACK}:{port}{workload.path}",
            connections=int(pending.case.dimensions["connections"]),
            duration=seconds,
            method=workload.method,
            headers=workload.headers,
            body=workload.body,
            rate=self.plan.parameters.rate,
            threads=len(self.plan.layout.roles["generator"]),
        )
        command: Command = self.plan.generator.command(load, folder)
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


def free_port() -> int:
    """A TCP port of the loopback that is free at this moment."""
    with socket.socket() as probe:
        probe.bind((client.LOOPBACK, 0))
        return int(probe.getsockname()[1])


def port_is_free(port: int) -> bool:
    """Whether a server could bind this loopback port now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((client.LOOPBACK, port))
        except OSError:
            return False
        return True


def settled_count(port: int, path: str, limit: float = 2.0) -> int:
    """The server's request count once requests left over from a load no longer change it."""
    deadline = time.monotonic() + limit
    last = client.identity(port, path).requests
    while True:
        time.sleep(0.02)
        count = client.identity(port, path).requests
        if count == last or time.monotonic() > deadline:
            return count
        last = count


def _identity_json(before: dict[int, Identity], after: dict[int, Identity], counted: int) -> bytes:
    value = {
        "before": [vars(answer) for answer in before.values()],
        "after": [vars(answer) for answer in after.values()],
        "counted": counted,
    }
    return json.dumps(value, indent=1).encode() + b"\n"


def _capped(log: Path) -> bytes:
    """A server's log, its middle left out and said so where it is over 128 KiB."""
    size = log.stat().st_size
    if size <= LOG_LIMIT:
        return log.read_bytes()
    half = LOG_LIMIT // 2
    with log.open("rb") as file:
        head = file.read(half)
        file.seek(-half, os.SEEK_END)
        return head + f"\n[… {size - 2 * half} bytes left out …]\n".encode() + file.read()


def _tail(log: Path, lines: int = 6) -> str:
    with contextlib.suppress(OSError):
        text = log.read_bytes()[-4096:].decode("utf-8", "replace").strip()
        if text:
            return "\n    " + "\n    ".join(text.splitlines()[-lines:])
    return "(empty)"
