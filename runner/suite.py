"""A suite file: TOML, validated, with the directory its programs live in."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationError, model_validator

from runner.errors import SuiteError
from runner.mistakes import explain
from runner.model import ID_RULE, UPSTREAM, Id, SuiteFile, is_id
from runner.tables import (
    Control,
    Defaults,
    Identity,
    Probe,
    Series,
    Server,
    Table,
    Twin,
    Upstream,
    Workload,
)
from runner.texts import Text

BUNDLED = Path(__file__).parent / "suites"


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
    upstream: Upstream | None = None
    probe: Probe | None = None
    control: list[Control] = Field(default_factory=list)
    server: Annotated[list[Server], Field(min_length=1)]
    workload: Annotated[list[Workload], Field(min_length=1)]
    series: Annotated[list[Series], Field(min_length=1)]

    @model_validator(mode="after")
    def _names(self) -> Self:
        for table in ("server", "workload", "series", "control"):
            names = [item.name for item in getattr(self, table)]
            for name in names:
                if names.count(name) > 1:
                    raise ValueError(f"two [[{table}]] tables are named {name!r}")
        for series in self.series:
            for key, known in (("servers", self.server), ("workloads", self.workload)):
                unknown = set(getattr(series, key)) - {item.name for item in known} - {"*"}
                if unknown:
                    raise ValueError(f"series {series.name!r}: {key} names unknown {min(unknown)!r}")
        for control in self.control:
            unknown = set(control.covers) - {workload.name for workload in self.workload}
            if unknown:
                raise ValueError(f"control {control.name!r}: covers names unknown {min(unknown)!r}")
            if control.name in {workload.name for workload in self.workload}:
                raise ValueError(f"control {control.name!r} has the name of a workload")
        self._check_covers()
        if self.control and not self.upstream:
            raise ValueError("[[control]] measures the upstream, and there is no [upstream]")
        if self.upstream and UPSTREAM in {server.name for server in self.server}:
            raise ValueError(f"a server cannot be named {UPSTREAM!r}: that is the helper's name")
        if self.twin and self.twin.server not in {server.name for server in self.server}:
            raise ValueError(f"twin.server names unknown {self.twin.server!r}")
        return self

    def _check_covers(self) -> None:
        """A workload has one control at most, and it sends as many bytes."""
        bodies = {workload.name: len((workload.content or "").encode()) for workload in self.workload}
        covered: dict[str, str] = {}
        for control in self.control:
            size = len((control.content or "").encode())
            for name in control.covers:
                if name in covered:
                    both = sorted({covered[name], control.name})
                    raise ValueError(f"{name!r} is covered twice, by {' and '.join(both)}")
                covered[name] = control.name
                if bodies[name] != size:
                    raise ValueError(
                        f"control {control.name!r} sends a body of {size:,} bytes, "
                        f"and {name!r}, which it covers, one of {bodies[name]:,}"
                    )


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
