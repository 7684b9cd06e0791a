"""The artifact format: what a run is on disk.

A run is a folder with ``run.json`` (one `Run`), ``samples.jsonl`` (one `Sample` a line, one line an
attempt) and ``raw/`` (the bytes they came from). Readers accept every minor version of the major they
know and ignore fields they do not know, because runs are immutable and later versions only add.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints

SCHEMA_MAJOR = 1
SCHEMA_VERSION = f"{SCHEMA_MAJOR}.1"

ID_PATTERN = r"[a-z0-9][a-z0-9._-]{0,63}"
ID_RULE = "lower-case letters, digits, '.', '_' and '-', first a letter or digit, at most 64 characters"

# A generator or upstream with a CPU or thread this busy makes a figure a floor.
SATURATED = 0.95
# The role of a suite's helper process, and the server of the controls that measure it directly.
UPSTREAM = "upstream"
# Why no row of a run of origin "published" has a tier, and no claim uses one.
PUBLISHED = "published by others, not measured here"
# A sample that the surroundings spoilt is tried again, twice at most.
MAX_ATTEMPTS = 3

Id = Annotated[str, StringConstraints(pattern=rf"^{ID_PATTERN}$")]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Finite = Annotated[float, Field(allow_inf_nan=False)]


def is_id(text: str) -> bool:
    """Whether the text may name a server, workload, series, run or pin."""
    return re.fullmatch(ID_PATTERN, text) is not None


class Record(BaseModel):
    """Base of all stored records: immutable, tolerant of fields of later minor versions."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class FileEntry(Record):
    """One file of the run; ``path`` is relative to the run folder, with '/', and cannot leave it."""

    path: Annotated[
        str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*$")
    ]
    size: Annotated[int, Field(ge=0)]
    sha256: Sha256


class Note(Record):
    """A reason, flag or warning: a short stable ``code`` and a sentence for the reader."""

    code: str
    message: str


class Case(Record):
    """What one sample measures.

    ``dimensions`` are the case's coordinates (``server``, ``workload``, ``workers``, ``connections``, and
    ``load`` on a load ladder); ``role`` is ``case``, ``twin`` (the A/A lane's second label, whose
    ``twin_of`` names the case it repeats) or ``control`` (the upstream by itself, before each round and
    after the last, whose figure bounds those of the workloads it ``covers``); ``attributes`` are facts to
    show beside it (loop, HTTP parser).
    """

    id: str
    series: Id
    role: Literal["case", "twin", "control"] = "case"
    twin_of: str | None = None
    covers: list[Id] = []
    environment: Id | None = None
    dimensions: dict[str, str | int]
    attributes: dict[str, str] = {}


class Check(Record):
    """One check of a sample. ``not checked`` says why in ``detail``; it is never a pass."""

    name: str
    status: Literal["ok", "failed", "not checked"]
    detail: str = ""


class CpuSetWitness(Record):
    """What one CPU set did during the measured window; shares are 0 to 1 of the window.

    ``busy``, ``steal`` and ``foreign`` are means over the set's CPUs (foreign: busy time, with steal,
    that the run's own processes do not account for); ``busiest_cpu`` and ``busiest_thread`` are the
    largest share of any one CPU of the set and of any one thread of the role's processes.
    """

    cpus: list[int]
    busy: Finite
    steal: Finite = 0.0
    foreign: Finite = 0.0
    busiest_cpu: Finite
    busiest_thread: Finite
    own: Finite
    threads: int


class Sample(Record):
    """One attempt at one case: accepted, rejected (environmental) or failed (the server's own).

    ``dimensions`` repeat the case's, so that a line can be read by itself. ``metrics`` are in SI base units
    (see `runner.metrics`), computed by us from the raw files; ``reported`` are the generator's own figures,
    kept beside them. ``attempt`` counts from 1 within one case and repeat; ``order`` is the position in
    the run, from 1. ``timing`` are the seconds of each step (``start`` includes waiting for
    the previous server's end), and ``runner_cpu``, the CPU seconds that the runner itself used while it
    measured.
    """

    case: str
    dimensions: dict[str, str | int] = {}
    repeat: Annotated[int, Field(ge=1)]
    attempt: Annotated[int, Field(ge=1)] = 1
    order: Annotated[int, Field(ge=1)]
    started: AwareDatetime
    status: Literal["accepted", "rejected", "failed"]
    reasons: list[Note] = []
    flags: list[Note] = []
    metrics: dict[str, Finite] = {}
    reported: dict[str, Finite] = {}
    counts: dict[str, int] = {}
    checks: list[Check] = []
    witness: dict[str, CpuSetWitness] = {}
    timing: dict[str, Finite] = {}
    commands: dict[str, list[str]] = {}
    raw: list[FileEntry] = []


class Source(Record):
    """The revision the run was captured from; ``None`` where there was no git to ask."""

    revision: str | None = None
    dirty: bool | None = None
    remote: str | None = None


class Lock(Record):
    """The lock file of the capture environment, and whether what was installed matched it."""

    path: str
    sha256: Sha256
    matches: bool
    drift: list[str] = []


class Layout(Record):
    """Which CPUs each role ran on. ``shared`` names the roles that share a CPU with another."""

    roles: dict[str, list[int]]
    shared: list[str] = []
    note: str = ""


class Upstream(Record):
    """The helper behind the server: what it is, how many processes, and the command that started it."""

    label: str
    processes: int
    command: list[str] = []


class Probe(Record):
    """What follows each sample's load: so many requests, timed one by one by a Python client."""

    requests: int
    client: str = ""


class Generator(Record):
    """The load generator. ``threads`` is what was counted in /proc, or None before the first sample."""

    name: str
    version: str
    threads: int | None = None
    flags: list[str] = []
    notes: list[Note] = []


class SuiteFile(Record):
    """The suite as it was run, verbatim."""

    name: str
    sha256: Sha256
    text: str


class Parameters(Record):
    """What was asked for. Times in seconds, ``rate`` in requests/s (open loop) or None (closed).

    ``connections`` are those of every case where ``connections_chosen`` (on the command line), else of the
    series that have none of their own. ``foreign_limit`` is the share of the server's CPUs beyond which
    foreign load rejects a sample. ``ladder`` are the loads of a load ladder, as shares of the capacity that
    the same run measures first; empty without one.
    """

    servers: list[Id]
    workloads: list[Id]
    workers: list[int]
    connections: int
    connections_chosen: bool = False
    duration: Finite
    warmup: Finite
    repeats: int
    seed: int
    rate: Finite | None = None
    twin: bool = True
    foreign_limit: Finite = 0.10
    ladder: list[Finite] = []


def rounds(case: Case, parameters: Parameters) -> range:
    """The rounds, from 1, that a case has a sample in: a control has one more, after the last."""
    return range(1, parameters.repeats + (2 if case.role == "control" else 1))


class Run(Record):
    """The manifest, ``run.json``.

    ``state`` is ``running`` until every sample is there; ``files`` lists every file of a complete run
    except the manifest itself. ``comparable`` holds, by name, what two runs must share for their
    figures to be compared. ``labels`` maps dimension → value → free text.
    """

    schema_version: str = SCHEMA_VERSION
    id: Id
    suite: Id
    kind: Literal["http", "command"] = "http"
    title: str
    origin: Literal["captured", "imported", "published"] = "captured"
    state: Literal["running", "complete", "interrupted"] = "running"
    created: AwareDatetime
    finished: AwareDatetime | None = None
    suite_file: SuiteFile
    parameters: Parameters
    command_line: list[str]
    source: Source
    lock: Lock | None = None
    packages: dict[str, str] = {}
    python: dict[str, str] = {}
    machine: dict[str, Any] = {}
    layout: Layout
    generator: Generator
    upstream: Upstream | None = None
    probe: Probe | None = None
    labels: dict[str, dict[str, str]] = {}
    cases: list[Case]
    comparable: dict[str, Any] = {}
    facts: dict[str, Any] = {}
    warnings: list[Note] = []
    files: list[FileEntry] = []

    @property
    def samples(self) -> int:
        """How many samples the complete run has, without retries."""
        return sum(len(rounds(case, self.parameters)) for case in self.cases)
