"""A mapping: what the transcribed files of one source mean, what is known of it, and what it states."""

from __future__ import annotations

import hashlib
import string
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints, ValidationError, field_validator, model_validator

from runner.errors import ArtifactError
from runner.importers.published.predicates import Statement, Table
from runner.metrics import METRICS
from runner.mistakes import explain
from runner.model import Id

BUNDLED = Path(__file__).parent
# How a published unit becomes the SI base unit of its metric: unit → (base unit, factor).
UNITS = {
    "1/s": ("1/s", Decimal(1)),
    "s": ("s", Decimal(1)),
    "ms": ("s", Decimal("0.001")),
    "us": ("s", Decimal("0.000001")),
    "B/s": ("B/s", Decimal(1)),
    "MiB/s": ("B/s", Decimal(2**20)),
}
FileName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]*\.csv$")]


class Value(Table):
    """One column of figures: its metric, its unit as published, and dimensions of its own.

    ``again`` marks a figure that another table gives too: it must be equal, and counts once.
    """

    column: str
    metric: str
    unit: str
    dimensions: dict[Id, str | int] = Field(default_factory=dict)
    again: bool = False

    @model_validator(mode="after")
    def _registered(self) -> Self:
        if self.metric not in METRICS:
            raise ValueError(f"no metric {self.metric!r}")
        if self.unit not in UNITS:
            raise ValueError(f"no unit {self.unit!r}; known: {', '.join(UNITS)}")
        if UNITS[self.unit][0] != METRICS[self.metric].unit:
            raise ValueError(f"{self.unit!r} is no unit of {self.metric!r}")
        return self


class File(Table):
    """One CSV file: the columns that name a row, and those that hold figures.

    ``dimensions`` are every row's; in a text, ``{column}`` stands for the row's own. ``covers`` tells, of
    a control's workloads, whose figures each one bounds. ``title`` is the table's heading on a page.
    """

    name: FileName
    title: str
    series: Id
    role: Literal["case", "control"] = "case"
    keys: Annotated[list[str], Field(min_length=1)]
    dimensions: dict[Id, str | int]
    covers: dict[Id, list[Id]] = Field(default_factory=dict)
    value: Annotated[list[Value], Field(min_length=1)]

    @field_validator("dimensions")
    @classmethod
    def _server(cls, dimensions: dict[str, str | int]) -> dict[str, str | int]:
        if "server" not in dimensions:
            raise ValueError("must say which server a row is of")
        return dimensions

    @model_validator(mode="after")
    def _columns(self) -> Self:
        columns = self.columns
        if len(set(columns)) < len(columns):
            raise ValueError("a column is named twice")
        for text in self.dimensions.values():
            for _, name, _, _ in string.Formatter().parse(str(text)):
                if name is not None and name not in self.keys:
                    raise ValueError(f"{text!r} speaks of {name!r}, which is not among the keys")
        return self

    @property
    def columns(self) -> list[str]:
        """Every column, in order."""
        return [*self.keys, *(value.column for value in self.value)]


class Origin(Table):
    """Where the figures were published, and what they were measured with, in the source's words."""

    title: str
    measured_with: str
    transcription: str = ""


class Asked(Table):
    """What the source says of its samples: connections, seconds of one, and how many a case."""

    connections: Annotated[int, Field(ge=1)]
    duration: Annotated[float, Field(gt=0)]
    samples: Annotated[int, Field(ge=1)]


class Tool(Table):
    """The load generator of the source."""

    name: str
    version: str


class Cpus(Table):
    """The CPUs of each role, as the source gives them."""

    roles: dict[Id, list[int]]
    note: str = ""


class Mapping(Table):
    """A whole mapping. ``unknown`` names what a captured run would tell and the source does not."""

    name: Id
    title: str
    unknown: list[str] = Field(default_factory=list)
    source: Origin
    parameters: Asked
    generator: Tool
    layout: Cpus
    python: dict[str, str] = Field(default_factory=dict)
    packages: dict[str, str] = Field(default_factory=dict)
    machine: dict[str, str | int] = Field(default_factory=dict)
    facts: dict[str, str | int] = Field(default_factory=dict)
    labels: dict[Id, dict[Id, str]]
    file: Annotated[list[File], Field(min_length=1)]
    statement: list[Statement] = Field(default_factory=list)

    @model_validator(mode="after")
    def _names(self) -> Self:
        for name in ("server", "workload"):
            if not self.labels.get(name):
                raise ValueError(f"labels.{name} must list every {name} that may appear")
        names = [file.name for file in self.file]
        if len(set(names)) < len(names):
            raise ValueError("a file is named twice")
        return self


@dataclass(frozen=True)
class LoadedMapping:
    """A mapping, its file's name and its text."""

    name: str
    text: str
    mapping: Mapping

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


def bundled() -> list[Path]:
    """The mappings that Lapsheet brings."""
    return sorted(BUNDLED.glob("*.toml"))


def load(path: Path) -> LoadedMapping:
    """A mapping from its file. Raises ArtifactError naming file, table and key."""
    try:
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise ArtifactError(f"{path}: cannot be read: {error.strerror}", "Give a mapping's file.") from None
    except UnicodeDecodeError as error:
        raise ArtifactError(f"{path}: not UTF-8: {error}") from None
    return parse(text, str(path), path.name)


def parse(text: str, where: str, name: str) -> LoadedMapping:
    """A mapping from its text; ``where`` stands in messages. Raises ArtifactError."""
    try:
        data: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ArtifactError(f"{where}: not valid TOML: {error}") from None
    try:
        return LoadedMapping(name, text, Mapping.model_validate(data))
    except ValidationError as error:
        raise ArtifactError(explain(where, data, dict(error.errors()[0]))) from None


def choose(names: Sequence[str], among: Iterable[Path] | None = None) -> LoadedMapping:
    """The bundled mapping that reads exactly these files.

    Raises ArtifactError saying what is missing or unknown to the mapping that comes nearest.
    """
    loaded = [load(path) for path in (bundled() if among is None else among)]
    given = set(names)
    found = [item for item in loaded if {file.name for file in item.mapping.file} == given]
    if found:
        return found[0]
    nearest = max(loaded, key=lambda item: len(given & {f.name for f in item.mapping.file}), default=None)
    if nearest is None or not given & {file.name for file in nearest.mapping.file}:
        raise ArtifactError(
            f"no mapping reads {', '.join(sorted(given)) or 'no files'}",
            f"There is one for: {', '.join(item.mapping.name for item in loaded)}. "
            "Write one for another source, and give it with --mapping.",
        )
    same_files(nearest, names)
    raise AssertionError("a mapping of the same files was not chosen")


def same_files(loaded: LoadedMapping, names: Sequence[str]) -> None:
    """Raise ArtifactError unless these are the mapping's files: nothing is left out, nothing ignored."""
    wanted, given = [file.name for file in loaded.mapping.file], set(names)
    missing = [name for name in wanted if name not in given]
    strange = sorted(given - set(wanted))
    if missing:
        raise ArtifactError(f"{missing[0]}: missing, and {loaded.name} reads it", "Give the whole folder.")
    if strange:
        raise ArtifactError(
            f"{strange[0]}: {loaded.name} does not say what it means", "Add a [[file]] table for it."
        )
