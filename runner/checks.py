"""The checks of a sample, before and after load, and the judgement of what they found.

Two kinds of failure are told apart. The *server's own* (a wrong answer, a dead worker, errors) raise
ServerError or are collected as failures: a result, kept and shown. *Environmental* ones (foreign load, a
dead generator, a lost port) raise RejectionError or are collected as rejections: the sample is retried.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from runner import client
from runner.client import Identity
from runner.errors import RejectionError, ServerError
from runner.generators.base import Outcome
from runner.model import SATURATED, Check, CpuSetWitness, Note
from runner.proc import affinities
from runner.tables import Request, Server

FOREIGN_FLAG = 0.03
STALL_S = 0.25
STALL_TIMES_MEDIAN = 50.0


@dataclass
class Findings:
    """What the checks of one sample found."""

    checks: list[Check] = field(default_factory=list)
    failures: list[Note] = field(default_factory=list)
    rejections: list[Note] = field(default_factory=list)
    flags: list[Note] = field(default_factory=list)

    def ok(self, name: str, detail: str = "") -> None:
        self.checks.append(Check(name=name, status="ok", detail=detail))

    def skip(self, name: str, why: str) -> None:
        self.checks.append(Check(name=name, status="not checked", detail=why))

    def fail(self, name: str, detail: str, code: str | None = None) -> None:
        """The server's own failure."""
        self.checks.append(Check(name=name, status="failed", detail=detail))
        self.failures.append(Note(code=code or name, message=detail))

    def reject(self, code: str, message: str) -> None:
        """An environmental failure."""
        self.checks.append(Check(name=code, status="failed", detail=message))
        self.rejections.append(Note(code=code, message=message))

    def flag(self, code: str, message: str) -> None:
        self.flags.append(Note(code=code, message=message))

    @property
    def status(self) -> str:
        """The server's own failure outweighs a bad environment, so that no retry can hide it."""
        return "failed" if self.failures else "rejected" if self.rejections else "accepted"


def check_answer(port: int, workload: Request, timeout: float = 5.0) -> bytes:
    """Send the workload's request once, compare the answer exactly, and return its body.

    Raises ServerError (code ``response``) saying what was expected and what came.
    """
    request = f"{workload.method} {workload.path}"
    try:
        response = client.request(
            port, workload.path, workload.method, workload.headers, workload.content, timeout
        )
    except (OSError, http.client.HTTPException) as error:
        raise ServerError("response", f"{request}: no answer ({type(error).__name__}: {error})") from error
    expect = workload.expect
    if response.status != expect.status:
        raise ServerError(
            "response",
            f"{request}: expected status {expect.status}, got {response.status}: {_short(response.body)}",
        )
    if expect.size is not None and len(response.body) != expect.size:
        raise ServerError("response", f"{request}: expected {expect.size} bytes, got {len(response.body)}")
    if expect.text is not None and response.body != expect.text.encode():
        raise ServerError("response", f"{request}: expected {expect.text!r}, got {_short(response.body)}")
    if expect.echo and response.body != (sent := (workload.content or "").encode()):
        raise ServerError(
            "response", f"{request}: not the body that was sent: {_altered(sent, response.body)}"
        )
    if expect.json_ is not None:
        try:
            found = json.loads(response.body)
        except ValueError:
            raise ServerError("response", f"{request}: not JSON: {_short(response.body)}") from None
        difference = json_difference(expect.json_, found)
        if difference:
            raise ServerError("response", f"{request}: {difference}")
    return response.body


def json_difference(expected: object, found: object, path: str = "$") -> str:
    """The first difference of two JSON values as `path: expected …, got …`; empty if they are equal."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in sorted(expected.keys() | found.keys()):
            if key not in found:
                return f"{path}.{key}: missing"
            if key not in expected:
                return f"{path}.{key}: not expected, got {_short(found[key])}"
            difference = json_difference(expected[key], found[key], f"{path}.{key}")
            if difference:
                return difference
        return ""
    if isinstance(expected, list) and isinstance(found, list):
        if len(expected) != len(found):
            return f"{path}: expected {len(expected)} items, got {len(found)}"
        for number, (left, right) in enumerate(zip(expected, found, strict=True)):
            difference = json_difference(left, right, f"{path}[{number}]")
            if difference:
                return difference
        return ""
    # True == 1 and 1 == 1.0 in Python; in JSON the first pair differs and the second does not.
    if isinstance(expected, bool) is not isinstance(found, bool) or expected != found:
        return f"{path}: expected {_short(expected)}, got {_short(found)}"
    return ""


def check_workers(
    found: dict[int, Identity], server: Server, workers: int, tree: set[int], cpus: list[int]
) -> None:
    """The workers that answered are this server's, as many as there should be, on the expected loop.

    Raises RejectionError (``port``) if someone else answers there, ServerError (``workers``, ``loop``,
    ``affinity``) otherwise.
    """
    strangers = found.keys() - tree
    if strangers:
        raise RejectionError("port", f"pid {min(strangers)} answers on the port and is not of this server")
    if len(found) != workers:
        raise ServerError("workers", f"{len(found)} workers answer, {workers} were asked for")
    for pid, answer in sorted(found.items()):
        if server.loop is not None and answer.loop != server.loop:
            raise ServerError(
                "loop",
                f"worker {pid} runs on {answer.loop}, the suite says {server.loop}",
                "Is the event loop's package installed, and does the command select it?",
            )
        if not set(answer.affinity) <= set(cpus):
            raise ServerError("affinity", f"worker {pid} may run on CPUs {answer.affinity}, outside {cpus}")


def check_affinity(pids: Iterable[int], cpus: list[int]) -> int:
    """Every thread of these processes stays on the set; returns how many threads were looked at.

    Raises ServerError (code ``affinity``).
    """
    threads = affinities(pids)
    for thread, allowed in threads.items():
        if not set(allowed) <= set(cpus):
            raise ServerError("affinity", f"thread {thread} may run on CPUs {allowed}, outside {cpus}")
    return len(threads)


def judge_outcome(findings: Findings, outcome: Outcome) -> None:
    """No request without a 2xx answer, and not none at all; a stall is flagged."""
    wrong = {status: count for status, count in outcome.statuses.items() if not 200 <= status < 300}
    if wrong:
        told = ", ".join(f"{count} × {status}" for status, count in sorted(wrong.items()))
        findings.fail("status", f"answers without 2xx: {told} beside {outcome.ok} × 2xx")
    else:
        findings.ok("status", f"{outcome.ok} answers, all 2xx")
    if outcome.errors:
        told = ", ".join(f"{count} × {kind}" for kind, count in sorted(outcome.errors.items()))
        findings.fail("errors", f"requests that failed: {told}")
    else:
        findings.ok(
            "errors", f"none; {outcome.cut_off} requests cut off at the deadline, which are no errors"
        )
    if not outcome.ok:
        findings.fail("throughput", "no request got a 2xx answer", "collapse")
    slowest, median = (outcome.latency.get(key, outcome.latency.get(f"open_{key}")) for key in ("max", "p50"))
    if slowest is not None and median is not None and slowest > max(STALL_S, STALL_TIMES_MEDIAN * median):
        findings.flag("stall", f"the slowest answer took {slowest:.3f} s where the median was {median:.4f} s")
    findings.flags += outcome.flags


def judge_counter(findings: Findings, counted: int, outcome: Outcome, connections: int) -> None:
    """The server's count lies between what the generator completed and that plus what was in flight.

    More means requests the generator does not own up to: aborted and silently sent again. Fewer means
    that someone else answered.
    """
    completed = sum(outcome.statuses.values())
    failed = sum(outcome.errors.values())
    told = (
        f"server counted {counted}, generator {completed} completed, "
        f"{failed} failed, {outcome.cut_off} cut off"
    )
    if counted < completed:
        findings.reject("counter", f"{told}: fewer than were answered, so another server answered some")
    elif counted > completed + failed + connections:
        findings.fail("counter", f"{told}: requests were aborted and silently sent again", "retries")
    else:
        findings.ok("counter", told)


def judge_size(findings: Findings, outcome: Outcome, size: int | None) -> None:
    """All answers together have exactly the bytes that they should, where the generator counts bodies."""
    if size is None:
        return
    completed = sum(outcome.statuses.values())
    if outcome.body_bytes is None:
        findings.skip("size", "this generator does not tell the bytes of bodies")
    elif outcome.ok != completed:
        findings.skip("size", "not every answer was 2xx")
    elif outcome.body_bytes != size * outcome.ok:
        findings.fail(
            "size",
            f"{outcome.ok} answers of {size:,} bytes should have {size * outcome.ok:,} bytes, "
            f"and had {outcome.body_bytes:,}",
        )
    else:
        findings.ok("size", f"{outcome.ok} answers of exactly {size:,} bytes")


def judge_timeouts(findings: Findings, before: Identity, after: Identity) -> None:
    """None of the server's own timeouts fired: one that did is its own failure, whatever made it wait."""
    if before.timeouts is None or after.timeouts is None:
        findings.skip("timeouts", "the identity endpoint does not count them")
    elif after.timeouts != before.timeouts:
        findings.fail("timeouts", f"{after.timeouts - before.timeouts} of the server's own timeouts fired")
    else:
        findings.ok("timeouts", "none of the server's own fired")


def judge_workers(findings: Findings, before: Iterable[int], after: Iterable[int]) -> None:
    """The same workers before and after."""
    gone, new = set(before) - set(after), set(after) - set(before)
    if gone or new:
        findings.fail("workers", f"workers changed during the sample: {len(gone)} gone, {len(new)} new")
    else:
        findings.ok("workers", f"{len(set(before))} before, the same after")


def judge_foreign(
    findings: Findings, found: CpuSetWitness | None, limit: float, role: str = "server", name: str = "foreign"
) -> None:
    """Foreign CPU time on the role's set rejects beyond the limit and is flagged from 3 %."""
    if found is None:
        findings.skip(name, f"this kernel tells no CPU times of the {role}'s CPUs")
        return
    told = f"{found.foreign:.1%} of the {role}'s CPUs went to others (steal {found.steal:.1%})"
    if found.foreign > limit:
        findings.reject(name, told)
    else:
        findings.ok(name, told)
        if found.foreign > FOREIGN_FLAG:
            findings.flag(name, told)


def judge_saturation(findings: Findings, witness: dict[str, CpuSetWitness], roles: Iterable[str]) -> None:
    """A role beside the measured one with a CPU or thread at 95 % or more is flagged: a floor."""
    for role in roles:
        if role in witness:
            busiest = max(witness[role].busiest_cpu, witness[role].busiest_thread)
            if busiest >= SATURATED:
                findings.flag(
                    "saturated", f"{role} had a CPU or thread {busiest:.0%} busy: the figure is a floor"
                )


def _altered(sent: bytes, got: bytes) -> str:
    """Where two bodies part."""
    for place, (left, right) in enumerate(zip(sent, got, strict=False)):
        if left != right:
            return f"byte {place:,} of {len(sent):,} was {left:#04x} and came back as {right:#04x}"
    return f"{len(sent):,} bytes were sent and {len(got):,} came back"


def _short(value: object, limit: int = 160) -> str:
    text = (
        value.decode("utf-8", "replace")
        if isinstance(value, bytes)
        else json.dumps(value, ensure_ascii=False)
    )
    return text if len(text) <= limit else f"{text[:limit]}…"
