"""What pages need of a run's samples, in a small fraction of their size.

The samples of one run are read, counted and dropped before the next run is read: held together, those
of hundreds of runs would cost more time in memory alone than making the pages. And of each line only
what is shown is taken; `lapsheet verify` looks at all of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, TypeVar

import orjson
from pydantic import Field

# Python's own cannot be validated before 3.12.
from typing_extensions import TypedDict

from runner import store
from runner.cases import LADDER
from runner.errors import ArtifactError
from runner.model import SATURATED, UPSTREAM, Case, Finite, Note, Record, Run, Sample

T = TypeVar("T")

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
    status, reasons and flags (codes), then one a metric, None where an attempt has none of it. ``limited_by``
    has, for each attempt, the roles that were saturated, as `runner.frames.Taken` wants them.
    ``statuses`` and ``checks`` (by name and status) count; ``unchecked`` tells why checks were not made;
    ``flags`` maps a code to its count and a first example; ``commands`` holds the first command of each
    role (``server``, ``generator`` …) and value of what it depends on (a server, a workload); the generator
    of a ladder's loads is a role of its own, `OPEN_LOOP`.
    """

    columns: Columns
    metrics: list[str]
    limited_by: list[str]
    statuses: Counter[str]
    checks: Counter[tuple[str, str]]
    unchecked: dict[str, list[str]]
    outcasts: list[Outcast]
    flags: dict[str, tuple[int, str]]
    commands: dict[tuple[str, str], list[str]]

    def __len__(self) -> int:
        return len(self.columns["case"])


def read_attempts(folder: Path, run: Run, data: bytes | None) -> Attempts:
    """The attempts of a run folder; ``data`` are the bytes of its samples, None where there is no file.

    Raises ArtifactError naming file, line and field.
    """
    path = folder / store.SAMPLES
    if data is None:
        return _digest(run, [])
    try:
        # Plain lines, as all that Lapsheet wrote are, need no model: it would take twice the time.
        return _digest(run, [orjson.loads(line) for line in data.splitlines()])
    except _NOT_PLAIN:
        samples = store.read_lines(folder, Attempt, data)
    cases = {case.id for case in run.cases}
    for number, sample in enumerate(samples, 1):
        if sample.case not in cases:
            raise ArtifactError(
                f"{path}, line {number}: unknown case {sample.case!r}",
                "The samples are of another run, or the manifest is.",
            )
    return attempts_of(run, samples)


def attempts_of(run: Run, samples: Iterable[Attempt | Sample]) -> Attempts:
    """The attempts of a run whose samples all name a case it has."""
    return _digest(run, [sample.model_dump(exclude_none=True) for sample in samples])


# What `_digest` raises for lines that are not as Lapsheet writes them; their model says what is wrong.
_NOT_PLAIN = (ValueError, TypeError, KeyError, AttributeError)
_STATUSES = {"accepted", "rejected", "failed"}


def _digest(run: Run, rows: list[Any]) -> Attempts:
    """The attempts from samples as JSON has them. Raises one of `_NOT_PLAIN` for what is not plain."""
    known = {case.id: case for case in run.cases}
    cases = [known[row["case"]] for row in rows]
    status = _all(str, [row["status"] for row in rows])
    if not _STATUSES.issuperset(status):
        raise ValueError
    reasons = [_notes(row.get("reasons")) for row in rows]
    flagged = [_notes(row.get("flags")) for row in rows]
    columns: Columns = {
        "run": [run.id] * len(rows),
        "case": [case.id for case in cases],
        "series": [case.series for case in cases],
        "role": [case.role for case in cases],
    }
    for name in dict.fromkeys(name for case in run.cases for name in case.dimensions):
        columns[name] = [case.dimensions.get(name) for case in cases]
    columns |= {
        "repeat": _counted([row["repeat"] for row in rows]),
        "attempt": _counted([row.get("attempt", 1) for row in rows]),
        "order": _counted([row["order"] for row in rows]),
        "started": [row["started"] for row in rows],
        "status": status,
        "reasons": [_codes(notes) for notes in reasons],
        "flags": [_codes(notes) for notes in flagged],
    }
    outcasts = [
        Outcast(row["case"], row["repeat"], row.get("attempt", 1), row["status"], why)
        for row, why in zip(rows, reasons, strict=True)
        if row["status"] != "accepted"
    ]
    flags: dict[str, tuple[int, str]] = {}
    for note in chain.from_iterable(flagged):
        count, first = flags.get(note.code, (0, note.message))
        flags[note.code] = (count + 1, first)
    measured = [row.get("metrics") or {} for row in rows]
    metrics = list(dict.fromkeys(chain.from_iterable(measured)))
    columns |= {key: _figures([found.get(key) for found in measured]) for key in metrics}
    checks, unchecked = _checks(rows)
    return Attempts(
        columns=columns,
        metrics=metrics,
        limited_by=[_limited_by(row, case) for row, case in zip(rows, cases, strict=True)],
        statuses=Counter(status),
        checks=checks,
        unchecked=unchecked,
        outcasts=outcasts,
        flags=flags,
        commands=_commands(rows, cases),
    )


def _all(kind: type[T], values: list[Any]) -> list[T]:
    if set(map(type, values)) <= {kind}:
        return values
    raise TypeError


def _counted(values: list[Any]) -> list[int]:
    """Whole numbers from 1."""
    if _all(int, values) and min(values) < 1:
        raise ValueError
    return values


def _figures(values: list[Any]) -> list[float | None]:
    kinds = set(map(type, values))
    if kinds <= {float, type(None)}:
        return values
    if kinds <= {float, int, type(None)}:
        return [None if value is None else float(value) for value in values]
    raise TypeError


def _checks(rows: list[Any]) -> tuple[Counter[tuple[str, str]], dict[str, list[str]]]:
    """How many checks of each name had each status, and why some were not made."""
    made = [check for row in rows for check in row.get("checks", ())]
    counts = Counter(map(itemgetter("name", "status"), made))
    reasons: dict[str, dict[str, None]] = {}
    for name, status in counts:
        if type(name) is not str or status not in ("ok", "failed", "not checked"):
            raise TypeError
    if any(status == "not checked" for _, status in counts):
        for check in made:
            if check["status"] == "not checked" and check.get("detail"):
                reasons.setdefault(check["name"], {})[check["detail"]] = None
    return counts, {name: _all(str, list(details)) for name, details in reasons.items()}


def _limited_by(row: Any, case: Case) -> str:
    """The saturated roles of an attempt, joined; a control's server is the upstream, which it measures."""
    witness, roles = row.get("witness"), []
    for role in ("generator",) if case.role == "control" else ("generator", UPSTREAM):
        if witness and role in witness:
            busy = witness[role]
            if max(busy["busiest_cpu"], busy["busiest_thread"]) >= SATURATED:
                roles.append(role)
    return ", ".join(roles)


def _commands(rows: list[Any], cases: Sequence[Case]) -> dict[tuple[str, str], list[str]]:
    found: dict[tuple[str, str], list[str]] = {}
    seen: set[tuple[str, ...]] = set()
    for row, case in zip(rows, cases, strict=True):
        commands = row.get("commands", {})
        if (kind := (case.id, *commands)) in seen:
            continue
        seen.add(kind)
        for role, argv in commands.items():
            depends = "server" if role == "server" else "workload"
            name = OPEN_LOOP if role == "generator" and case.series == LADDER else role
            place = (name, str(case.dimensions.get(depends, "")))
            if place not in found:
                found[place] = _all(str, argv)
    return found


def _notes(notes: Any) -> list[Note]:
    return [Note.model_validate(note) for note in notes] if notes else []


def _codes(notes: list[Note]) -> str:
    return "; ".join(dict.fromkeys(note.code for note in notes)) if notes else ""
