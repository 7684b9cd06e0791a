"""The probe as the capture sees it: its plan, its command, what its files say, and the judgement of that.

The program itself is `runner.probe`, which is never imported: reading a stored run needs no aiohttp.
"""

from __future__ import annotations

import importlib.metadata
import json
import math
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from runner.checks import Findings
from runner.errors import GeneratorError
from runner.generators.reading import RawFile
from runner.model import SATURATED, Note
from runner.probe_rows import TIMES, read_rows

PROGRAM = Path(__file__).with_name("probe.py")
PLAN = "probe-plan.json"
BODY = "probe-body"
ROWS = "probe.jsonl.gz"
ABOUT = "probe.json"
RAW_FILES = (ROWS, ABOUT)

PERCENTILES = (50, 95, 99)
TIMEOUT_S = 10.0

# Beyond this many answers a p99 is more than the slowest of them.
_FEW = 100


@dataclass(frozen=True)
class ProbePlan:
    """What the probe sends, and what must come back.

    ``expect_sha256`` is of the answer's body, or None where any will do; ``timeout`` in seconds, of a whole
    request.
    """

    url: str
    connections: int
    requests: int
    method: str = "GET"
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    expect_status: int = 200
    expect_sha256: str | None = None
    timeout: float = TIMEOUT_S

    @property
    def longest(self) -> float:
        """Seconds after which the probe has ended even if every request timed out."""
        return math.ceil(self.requests / self.connections) * self.timeout


@dataclass(frozen=True)
class ProbeOutcome:
    """What one execution of the probe measured, from its two files alone.

    ``ok`` are answers with a 2xx and, where ``compared``, the expected body; ``statuses`` maps status code to
    complete answers; ``errors`` the error's name to requests; ``altered`` are 2xx answers other than the
    expected. ``opened`` are connections. ``metrics`` are nearest-rank percentiles over the ``ok``, in
    seconds by key of `runner.metrics`. ``cpu_share`` is the process's CPU time over the wall time, and
    ``busy_share`` the share of it in which its event loop did not sleep.
    """

    requests: int
    ok: int
    errors: dict[str, int]
    statuses: dict[int, int]
    altered: int
    opened: int
    compared: bool
    metrics: dict[str, float]
    cpu_share: float
    busy_share: float
    flags: list[Note] = field(default_factory=list)


def client() -> str:
    """The client and its version, for the manifest. Raises GeneratorError if it is not installed."""
    try:
        return f"aiohttp {importlib.metadata.version('aiohttp')}, asyncio's own event loop"
    except importlib.metadata.PackageNotFoundError:
        raise GeneratorError(
            "the probe needs aiohttp, which is not installed", "Run through `uv run --group bench`."
        ) from None


def command(plan: ProbePlan, folder: Path) -> list[str]:
    """Write the plan to ``folder``, which is there, and give the argv; the results go there, too.

    Results of an earlier execution are removed, so that they cannot pass for this one's.
    """
    for name in RAW_FILES:
        (folder / name).unlink(missing_ok=True)
    fields = {**vars(plan), "body": None}
    if plan.body is not None:
        (folder / BODY).write_bytes(plan.body)
        fields["body"] = str(folder / BODY)
    (folder / PLAN).write_text(json.dumps(fields, indent=1) + "\n", "utf-8")
    # Isolated, so that neither this package's modules nor PYTHONPATH can stand in for others.
    return [sys.executable, "-I", str(PROGRAM), str(folder / PLAN), str(folder)]


def percentile(values: Sequence[float], percent: float) -> float:
    """The nearest-rank percentile of values in rising order: the smallest that ``percent`` of them reach.

    That is the value of rank ceil(percent / 100 · n), from 1 (Hyndman and Fan 1996, The American
    Statistician 50(4), definition 1); always one that was measured. Raises ValueError for no values and
    for a percent outside (0, 100].
    """
    if not values or not 0 < percent <= 100:
        raise ValueError(f"no {percent}th percentile of {len(values)} values")
    # Exact, and the percent as it is written: in floats 7 / 100 · 100 is 7.000000000000001, of rank 8.
    return values[math.ceil(Fraction(str(percent)) * len(values) / 100) - 1]


def read(folder: Path) -> ProbeOutcome:
    """What the probe's files in ``folder`` say. Raises GeneratorError naming file, line and field."""
    about = RawFile.read(folder / ABOUT)
    requests, cpu_share = about.count("requests"), _share(about, "cpu_share")
    busy_share, sha256 = _share(about, "busy_share"), about.data.get("expect_sha256")
    if sha256 is not None and not isinstance(sha256, str):
        raise about.error("expect_sha256", what="neither null nor a hash")
    times: dict[str, list[float]] = {name: [] for name in TIMES}
    statuses: Counter[int] = Counter()
    errors: Counter[str] = Counter()
    altered = opened = 0
    for row in read_rows(folder / ROWS, requests):
        opened += row.true("opened")
        if error := row.error_name():
            errors[error] += 1
            continue
        status = row.status()
        statuses[status] += 1
        found = row.times()
        if row.true("altered"):
            altered += 1
        elif 200 <= status < 300:
            for name, value in found.items():
                times[name].append(value)
    for values in times.values():
        values.sort()
    ok = len(times["total"])
    metrics = {
        f"probe_{name}_p{percent}": percentile(values, percent)
        for name, values in times.items()
        if values
        for percent in PERCENTILES
    }
    flags = _flags(requests, ok, opened, about.count("connections"), errors.total(), cpu_share, busy_share)
    return ProbeOutcome(
        requests=requests,
        ok=ok,
        errors=dict(errors),
        statuses=dict(statuses),
        altered=altered,
        opened=opened,
        compared=sha256 is not None,
        metrics=metrics,
        cpu_share=cpu_share,
        busy_share=busy_share,
        flags=flags,
    )


def judge(findings: Findings, outcome: ProbeOutcome) -> None:
    """Every request answered, with a 2xx and the right body; anything else is the server's own failure."""
    wrong = {status: count for status, count in outcome.statuses.items() if not 200 <= status < 300}
    told = [f"{count} × {name}" for name, count in sorted(outcome.errors.items())]
    told += [f"{count} × status {status}" for status, count in sorted(wrong.items())]
    if outcome.altered:
        told.append(f"{outcome.altered} × another answer than the expected")
    if told:
        findings.fail("probe", f"of {outcome.requests} requests by the probe: {', '.join(told)}")
    else:
        how = "and the expected body" if outcome.compared else "bodies not compared"
        findings.ok("probe", f"{outcome.ok} requests, all answered with 2xx, {how}")
    findings.flags += outcome.flags


def _flags(
    requests: int, ok: int, opened: int, connections: int, failed: int, cpu_share: float, busy_share: float
) -> list[Note]:
    """What a reader must know of one execution."""
    found = []
    if max(cpu_share, busy_share) >= SATURATED:
        message = (
            f"The probe used {cpu_share:.0%} of a CPU and its event loop was busy {busy_share:.0%} of the "
            "time: answers waited in the probe, and its times have that wait in them."
        )
        found.append(Note(code="probe-saturated", message=message))
    # A failed request may leave its connection unusable, and one was then opened for it.
    again = opened - min(connections, requests) - failed
    if again > 0:
        message = f"{again} connections had to be opened again, closed by the server between two requests."
        found.append(Note(code="probe-reconnected", message=message))
    if 0 < ok < _FEW:
        message = f"The probe has only {ok} good answers: its p99 is no more than the slowest one."
        found.append(Note(code="probe-few", message=message))
    return found


def _share(about: RawFile, key: str) -> float:
    """The share at that key, which must be there."""
    value = about.number(key)
    if value is None:
        raise about.error(key, what="missing or not a number")
    return value
