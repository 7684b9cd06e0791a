"""A suite file: TOML, validated; its cases, in the order a round runs them."""

from __future__ import annotations

import hashlib
import random
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from runner.errors import SuiteError
from runner.mistakes import explain
from runner.model import ID_RULE, Case, Id, Parameters, SuiteFile, is_id
from runner.texts import Argument, Distribution, HeaderName, HeaderValue, Json, Target, Text, Variable

BUNDLED = Path(__file__).parent / "suites"


class Table(BaseModel):
    """Base of all suite tables: a wrong key or type is an error, never ignored and never converted."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Expect(Table):
    """What a right answer is: status (2xx), and the exact JSON, the exact text, or the size in bytes."""

    status: int = 200
    json_: Json = Field(default=None, alias="json")
    size: Annotated[int, Field(ge=0)] | None = None
    text: str | None = None

    @field_validator("status")
    @classmethod
    def _counted(cls, status: int) -> int:
        if not 200 <= status < 300:
            raise ValueError("must be 2xx: a throughput counts no other answers, so every sample would fail")
        return status


class Server(Table):
    """A server configuration under test.

    ``command`` is an argv with ``{app}``, ``{host}``, ``{port}``, ``{workers}`` and ``{python}`` (the
    interpreter that runs Lapsheet); ``loop`` is the event-loop class that the identity endpoint must
    report; ``requires`` are distributions that must be installed and whose versions are recorded;
    ``stop_timeout`` is how long it may take to stop, in seconds.
    """

    name: Id
    label: str = ""
    command: Annotated[list[Argument], Field(min_length=1)]
    env: dict[Variable, Text] = {}
    environment: Id | None = None
    requires: list[Distribution] = []
    loop: str | None = None
    lifespan: bool = True
    attributes: dict[str, str] = {}
    start_timeout: Annotated[float, Field(gt=0, le=600)] = 20.0
    stop_timeout: Annotated[float, Field(gt=0, le=600)] = 15.0

    @field_validator("command")
    @classmethod
    def _program(cls, command: list[str]) -> list[str]:
        if not command[0]:
            raise ValueError("the first item is the program, and empty")
        return command

    def argv(self, **values: str | int) -> list[str]:
        """The command with its placeholders filled in."""
        return [argument.format(**values) for argument in self.command]


class Workload(Table):
    """One kind of request and the exact answer it must get."""

    name: Id
    label: str = ""
    method: Literal["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"] = "GET"
    path: Target
    headers: dict[HeaderName, HeaderValue] = {}
    body: Text | None = None
    expect: Expect = Expect()
    requires_lifespan: bool = False


class Series(Table):
    """Which servers and workloads run with how many workers and connections; ``["*"]`` means all."""

    name: Id
    label: str = ""
    servers: list[str] = ["*"]
    workloads: list[str] = ["*"]
    workers: Annotated[int, Field(ge=1, le=1024)] = 1
    connections: Annotated[int, Field(ge=1, le=100_000)] | None = None


class Identity(Table):
    """The endpoint that tells pid, loop class, affinity and request counters (see runner/apps)."""

    path: Target


class Defaults(Table):
    """Parameters where the command line says nothing. Times in seconds.

    ``foreign_limit`` is the share of the server's CPUs that may go to others before a sample is
    rejected.
    """

    connections: Annotated[int, Field(ge=1, le=100_000)] = 100
    duration: Annotated[float, Field(gt=0, le=3600)] = 5.0
    warmup: Annotated[float, Field(ge=0, le=3600)] = 1.0
    repeats: Annotated[int, Field(ge=1, le=1000)] = 5
    seed: int = 42
    foreign_limit: Annotated[float, Field(gt=0, le=1)] = 0.10


class Twin(Table):
    """The A/A lane: this server runs twice a round, under two labels.

    Where it was not selected, or a suite has no such table, the first selected server is the twin.
    """

    server: str


class Suite(Table):
    """A whole suite file.

    ``app`` fills ``{app}``; ``directory`` is the work directory and PYTHONPATH of the servers,
    relative to the suite file.
    """

    name: Id
    kind: Literal["http"] = "http"
    title: str
    description: str = ""
    app: Text = ""
    directory: Text = "."
    defaults: Defaults = Defaults()
    identity: Identity | None = None
    twin: Twin | None = None
    server: Annotated[list[Server], Field(min_length=1)]
    workload: Annotated[list[Workload], Field(min_length=1)]
    series: Annotated[list[Series], Field(min_length=1)]

    @model_validator(mode="after")
    def _names(self) -> Self:
        for table in ("server", "workload", "series"):
            names = [item.name for item in getattr(self, table)]
            for name in names:
                if names.count(name) > 1:
                    raise ValueError(f"two [[{table}]] tables are named {name!r}")
        for series in self.series:
            for key, known in (("servers", self.server), ("workloads", self.workload)):
                unknown = set(getattr(series, key)) - {item.name for item in known} - {"*"}
                if unknown:
                    raise ValueError(f"series {series.name!r}: {key} names unknown {min(unknown)!r}")
        if self.twin and self.twin.server not in {server.name for server in self.server}:
            raise ValueError(f"twin.server names unknown {self.twin.server!r}")
        return self


class LoadedSuite:
    """A suite, the file it came from, and its directory."""

    def __init__(self, suite: Suite, path: Path, text: str) -> None:
        self.suite = suite
        self.path = path
        self.file = SuiteFile(name=path.name, sha256=hashlib.sha256(text.encode()).hexdigest(), text=text)
        self.directory = _directory(suite, path)


def _directory(suite: Suite, path: Path) -> Path:
    folder = path.parent / suite.directory
    try:
        folder = folder.resolve()
        there = folder.is_dir()
    except (OSError, RuntimeError):  # a loop of links; which of them, the versions of Python disagree on
        there = False
    if not there:
        raise SuiteError(
            f"{path}: directory: no folder {folder}",
            "It is relative to the suite file; servers run in it and import from it.",
        )
    return folder


def bundled() -> list[Path]:
    """The suite files that come with Lapsheet."""
    return sorted(BUNDLED.glob("*.toml"))


def load(name: str) -> LoadedSuite:
    """The suite of a bundled name or a file path.

    Raises SuiteError naming file, table and key.
    """
    path = Path(name) if name.endswith(".toml") or "/" in name else BUNDLED / f"{name}.toml"
    if not path.is_file():
        known = ", ".join(p.stem for p in bundled())
        raise SuiteError(f"no suite {name!r}", f"Bundled suites: {known}; or give the path of a .toml file.")
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise SuiteError(f"{path}: not UTF-8 at byte {error.start}", "Save the file as UTF-8.") from None
    return LoadedSuite(parse(text, str(path)), path, text)


def parse(text: str, name: str) -> Suite:
    """A suite from TOML text; ``name`` is the file's name for messages. Raises SuiteError."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SuiteError(f"{name}: not valid TOML: {error}") from None
    try:
        return Suite.model_validate(data)
    except ValidationError as error:
        raise SuiteError("\n".join(explain(name, data, dict(item)) for item in error.errors())) from None


def select(suite: Suite, kind: str, wanted: Iterable[str]) -> list[str]:
    """The names of that kind (``server``, ``workload``), all of them where none is wanted.

    Raises SuiteError listing the known names where one is unknown.
    """
    known = [item.name for item in getattr(suite, kind)]
    wanted = list(wanted)
    for name in wanted:
        if not is_id(name):
            raise SuiteError(f"{kind} {name!r} is not an id", f"An id has {ID_RULE}.")
        if name not in known:
            raise SuiteError(f"suite {suite.name!r} has no {kind} {name!r}", f"It has: {', '.join(known)}.")
    return [name for name in known if name in wanted] if wanted else known


def cases(suite: Suite, parameters: Parameters) -> list[Case]:
    """Every case of the chosen servers, workloads and workers, twins included, in file order.

    ``parameters.workers`` empty keeps each series' own number of workers; otherwise each series is run
    with those numbers instead, once where two series become the same, as series ``workers-N``. Likewise
    ``parameters.connections`` replace a series' own where they were chosen, as series ``connections-N``.
    """
    servers = {server.name: server for server in suite.server}
    workloads = {workload.name: workload for workload in suite.workload}
    found: dict[str, Case] = {}
    for series in suite.series:
        connections, name = series.connections or parameters.connections, series.name
        if parameters.connections_chosen and connections != parameters.connections:
            connections = parameters.connections
            name = f"connections-{connections}"
        for workers in parameters.workers or [series.workers]:
            for server in parameters.servers:
                for workload in parameters.workloads:
                    if not _covers(series.servers, server) or not _covers(series.workloads, workload):
                        continue
                    if workloads[workload].requires_lifespan and not servers[server].lifespan:
                        continue
                    case = Case(
                        id=f"{server}/{workload}/w{workers}/c{connections}",
                        series=f"workers-{workers}" if parameters.workers else name,
                        environment=servers[server].environment,
                        dimensions={
                            "server": server,
                            "workload": workload,
                            "workers": workers,
                            "connections": connections,
                        },
                        attributes=servers[server].attributes,
                    )
                    found.setdefault(case.id, case)
    result = list(found.values())
    if parameters.twin:
        chosen = suite.twin.server if suite.twin else ""
        twin = chosen if chosen in parameters.servers else parameters.servers[0]
        result += [
            case.model_copy(update={"id": f"{case.id}/twin", "role": "twin", "twin_of": case.id})
            for case in found.values()
            if case.dimensions["server"] == twin
        ]
    return result


def _covers(names: list[str], name: str) -> bool:
    return "*" in names or name in names


def round_order(cases: list[Case], seed: int, repeat: int) -> list[Case]:
    """The cases in the order of that round (from 1): a permutation of its own from the seed.

    The same seed and cases give the same order on every Python version and machine.
    """
    shuffled = list(cases)
    random.Random(f"{seed}/{repeat}").shuffle(shuffled)
    return shuffled
