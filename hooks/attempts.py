"""What pages need of a run's samples, in a small fraction of their size.

The samples of one run are read, counted and dropped before the next run is read: held together, those
of hundreds of runs would cost more time in memory alone than making the pages. And of each line only
what is shown is taken; `lapsheet verify` looks at all of it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field

# Python's own cannot be validated before 3.12.
from typing_extensions import TypedDict

from runner.cases import LADDER
from runner.model import Finite, Note, Record, Run

OPEN_LOOP = "generator, open loop"

Columns = dict[str, list[Any]]
"""Column name → values, with None for what is unknown."""


class MadeCheck(TypedDict):
    """A check of a sample; a dict, because there are ten a sample."""

    name: str
    status: Literal["ok", "failed", "not checked"]
    detail: NotRequired[str]


class Busy(Record):
    """Of `runner.model.CpuSetWitness`, what tells a floor."""

    busiest_cpu: Finite
    busiest_thread: Finite


class Attempt(Record):
    """Of `runner.model.Sample`, what the summary and the pages take."""

    case: str
    repeat: Annotated[int, Field(ge=1)]
    attempt: Annotated[int, Field(ge=1)] = 1
    order: Annotated[int, Field(ge=1)]
    started: str
    status: Literal["accepted", "rejected", "failed"]
    reasons: list[Note] = Field(default_factory=list)
    flags: list[Note] = Field(default_factory=list)
    metrics: dict[str, Finite] = Field(default_factory=dict)
    checks: list[MadeCheck] = Field(default_factory=list)
    witness: dict[str, Busy] = Field(default_factory=dict)
    commands: dict[str, list[str]] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcast:
    """An attempt that does not count, and why."""

    case: str
    repeat: int
    attempt: int
    status: str
    reasons: list[Note]


@dataclass(frozen=True)
class Attempts:
    """The attempts of a run.

    ``columns``: run, case, series, role, the dimensions, repeat, attempt, order, started (ISO 8601),
    status, reasons and flags (codes), then one a metric, None where an attempt has none of it.
    ``statuses`` and ``checks`` (by name and status) count; ``unchecked`` tells why checks were not made;
    ``flags`` maps a code to its count and a first example; ``commands`` holds the first command of each
    role (``server``, ``generator`` …) and value of what it depends on (a server, a workload); the generator
    of a ladder's loads is a role of its own, `OPEN_LOOP`.
    """

    columns: Columns
    metrics: list[str]
    statuses: Counter[str]
    checks: Counter[tuple[str, str]]
    unchecked: dict[str, list[str]]
    outcasts: list[Outcast]
    flags: dict[str, tuple[int, str]]
    commands: dict[tuple[str, str], list[str]]

    def __len__(self) -> int:
        return len(self.columns["case"])


def attempts_of(run: Run, samples: list[Attempt]) -> Attempts:
    """The attempts of a run whose samples all name a case it has."""
    checks: Counter[tuple[str, str]] = Counter()
    checks.update([(check["name"], check["status"]) for sample in samples for check in sample.checks])
    unchecked: dict[str, dict[str, None]] = {}
    outcasts: list[Outcast] = []
    flags: dict[str, tuple[int, str]] = {}
    commands: dict[tuple[str, str], list[str]] = {}
    cases = {case.id: case for case in run.cases}
    for sample in samples:
        if sample.status != "accepted":
            outcasts.append(
                Outcast(sample.case, sample.repeat, sample.attempt, sample.status, sample.reasons)
            )
        for note in sample.flags:
            count, first = flags.get(note.code, (0, note.message))
            flags[note.code] = (count + 1, first)
        case = cases[sample.case]
        for role, argv in sample.commands.items():
            depends = "server" if role == "server" else "workload"
            name = OPEN_LOOP if role == "generator" and case.series == LADDER else role
            commands.setdefault((name, str(case.dimensions.get(depends, ""))), argv)
    if any(status == "not checked" for _, status in checks):
        for sample in samples:
            for check in sample.checks:
                if check["status"] == "not checked" and check.get("detail"):
                    unchecked.setdefault(check["name"], {})[check["detail"]] = None
    columns, metrics = _columns(run, samples)
    return Attempts(
        columns=columns,
        metrics=metrics,
        statuses=Counter(sample.status for sample in samples),
        checks=checks,
        unchecked={name: list(reasons) for name, reasons in unchecked.items()},
        outcasts=outcasts,
        flags=flags,
        commands=commands,
    )


def _columns(run: Run, samples: list[Attempt]) -> tuple[Columns, list[str]]:
    cases = {case.id: case for case in run.cases}
    those = [cases[sample.case] for sample in samples]
    columns: Columns = {
        "run": [run.id] * len(samples),
        "case": [case.id for case in those],
        "series": [case.series for case in those],
        "role": [case.role for case in those],
    }
    for name in dict.fromkeys(name for case in run.cases for name in case.dimensions):
        columns[name] = [case.dimensions.get(name) for case in those]
    columns |= {
        "repeat": [sample.repeat for sample in samples],
        "attempt": [sample.attempt for sample in samples],
        "order": [sample.order for sample in samples],
        "started": [sample.started for sample in samples],
        "status": [sample.status for sample in samples],
        "reasons": [_codes(sample.reasons) for sample in samples],
        "flags": [_codes(sample.flags) for sample in samples],
    }
    found = [sample.metrics for sample in samples]
    metrics = list(dict.fromkeys(key for values in found for key in values))
    return columns | {key: [values.get(key) for values in found] for key in metrics}, metrics


def _codes(notes: list[Note]) -> str:
    return "; ".join(dict.fromkeys(note.code for note in notes)) if notes else ""
