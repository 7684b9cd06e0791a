"""The tables of a suite file, each validated by itself; `runner.suite` puts them together."""

from __future__ import annotations

import random
import string
from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from runner.model import Id
from runner.texts import (
    Argument,
    Distribution,
    HeaderName,
    HeaderValue,
    Json,
    Target,
    Text,
    Variable,
    Workers,
)

_CHARACTERS = string.ascii_letters + string.digits


class Table(BaseModel):
    """Base of all suite tables: a wrong key or type is an error, never ignored and never converted."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Expect(Table):
    """What a right answer is: status (2xx), and the exact JSON or text, or the size in bytes.

    ``echo`` means that the answer's body is the request's own, byte for byte.
    """

    status: int = 200
    json_: Json = Field(default=None, alias="json")
    size: Annotated[int, Field(ge=0)] | None = None
    text: str | None = None
    echo: bool = False

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


class Payload(Table):
    """A generated body: ``before``, then ``size`` letters and digits drawn from ``seed``, then ``after``."""

    before: Text = ""
    size: Annotated[int, Field(ge=1, le=2**26)]
    after: Text = ""
    seed: int = 1

    @cached_property
    def text(self) -> str:
        """The whole body, the same on every machine and Python version."""
        characters = random.Random(self.seed).choices(_CHARACTERS, k=self.size)
        return f"{self.before}{''.join(characters)}{self.after}"


class Request(Table):
    """One kind of request and the exact answer it must get."""

    name: Id
    label: str = ""
    method: Literal["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"] = "GET"
    path: Target
    headers: dict[HeaderName, HeaderValue] = {}
    body: Text | None = None
    payload: Payload | None = None
    expect: Expect = Expect()

    @property
    def content(self) -> str | None:
        """The body to send, given or generated."""
        return self.payload.text if self.payload else self.body

    @property
    def payload_bytes(self) -> int | None:
        """The bytes of a generated body, all of it; None without one."""
        return len(self.payload.text.encode()) if self.payload else None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.body is not None and self.payload is not None:
            raise ValueError("body and payload: give one of them")
        expect, content = self.expect, self.content
        if expect.echo:
            if not content:
                raise ValueError("expect.echo: there is no body that could come back")
            if expect.json_ is not None or expect.text is not None:
                raise ValueError("expect.echo: says what the answer is, so no json or text beside it")
            sent = len(content.encode())
            if expect.size not in (None, sent):
                raise ValueError(f"expect.size: {expect.size} bytes, but the body that comes back has {sent}")
        return self


class Workload(Request):
    """A request to the server under test."""

    requires_lifespan: bool = False


class Control(Request):
    """A request straight to the upstream, whose capacity bounds the workloads it ``covers``."""

    covers: Annotated[list[Id], Field(min_length=1)]


class Upstream(Table):
    """A helper process behind the server under test, one for the whole run, on CPUs of its own.

    Servers find its address in the environment variable LAPSHEET_UPSTREAM. ``{workers}`` of the command
    are ``workers`` or as many as the role has CPUs, whichever is less. It is ready when GET ``ready``
    is answered with a 2xx. A direct request that takes longer than ``slow`` seconds rejects the sample.
    """

    label: str = ""
    command: Annotated[list[Argument], Field(min_length=1)]
    workers: Annotated[int, Field(ge=1, le=1024)] = 4
    env: dict[Variable, Text] = {}
    requires: list[Distribution] = []
    ready: Target = "/"
    slow: Annotated[float, Field(gt=0, le=60)] = 1.0
    start_timeout: Annotated[float, Field(gt=0, le=600)] = 20.0
    stop_timeout: Annotated[float, Field(gt=0, le=600)] = 15.0


class Probe(Table):
    """After each sample's load, ``requests`` requests on as many connections, timed one by one."""

    requests: Annotated[int, Field(ge=1, le=1_000_000)] = 1000


class Series(Table):
    """Which servers and workloads run with how many workers and connections; ``["*"]`` means all.

    ``workers`` may be ``"cpus"``: as many as the server has CPUs.
    """

    name: Id
    label: str = ""
    servers: list[str] = ["*"]
    workloads: list[str] = ["*"]
    workers: Workers = 1
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
