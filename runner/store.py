"""Runs on disk: reading them, their hashes, and the pins that name them."""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from runner.errors import ArtifactError
from runner.model import ID_RULE, SCHEMA_MAJOR, SCHEMA_VERSION, Id, Run, Sample, Sha256, is_id

MANIFEST = "run.json"
SAMPLES = "samples.jsonl"
RAW = "raw"
PINS = "pins.toml"
Line = TypeVar("Line", bound=BaseModel)
_POINTER = b"version https://git-lfs.github.com/spec/v1\n"


@dataclass(frozen=True)
class StoredRun:
    """A run that was read: its folder, manifest and samples (in the order they were stored)."""

    folder: Path
    run: Run
    samples: list[Sample]


class Pin(BaseModel):
    """A published name: the run it stands for, and its manifest's SHA-256."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    run: Id
    sha256: Sha256
    note: str = ""


def run_ids(artifacts: Path) -> list[str]:
    """The run folders under ``artifacts`` that have a manifest, sorted. No folder is no runs."""
    return sorted(manifest.parent.name for manifest in artifacts.glob(f"*/{MANIFEST}"))


def run_folder(artifacts: Path, run_id: str) -> Path:
    """The folder of a run. Raises ArtifactError if the id is malformed or there is no such run."""
    if not is_id(run_id):
        raise ArtifactError(f"{run_id!r} is not a run id", f"An id has {ID_RULE}.")
    folder = artifacts / run_id
    if not (folder / MANIFEST).is_file():
        known = run_ids(artifacts)
        there = f"There are: {', '.join(known)}." if known else "There is none yet: try `lapsheet run rest`."
        raise ArtifactError(f"no run {run_id!r} in {artifacts}", there)
    return folder


def read(folder: Path, manifest: bytes | None = None, samples: bytes | None = None) -> StoredRun:
    """A run from its folder. Raises ArtifactError naming file, line and field.

    ``manifest`` and ``samples`` are the bytes of these two files, where the caller has read them.
    """
    return StoredRun(folder, read_manifest(folder, manifest), read_samples(folder, samples))


def read_manifest(folder: Path, data: bytes | None = None) -> Run:
    """The manifest of a run folder, or of its bytes.

    Raises ArtifactError if it is missing, unreadable, an LFS pointer, malformed, or of an unknown major
    version.
    """
    path = folder / MANIFEST
    data = _read_bytes(path, data)
    try:
        run = Run.model_validate_json(data)
    except ValidationError as error:
        _check_version(path, data)
        raise ArtifactError(
            f"{path}: {_first(error)}", "The manifest is damaged or not Lapsheet's."
        ) from None
    _check_version(path, data)
    if run.id != folder.name:
        raise ArtifactError(f"{path}: id is {run.id!r}, the folder is {folder.name!r}", "Rename the folder.")
    return run


def read_samples(folder: Path, data: bytes | None = None) -> list[Sample]:
    """The samples of a run folder, or of its bytes, in stored order; empty if none was stored yet.

    Raises ArtifactError naming the line.
    """
    return read_lines(folder, Sample, data)


def read_lines(folder: Path, kind: type[Line], data: bytes | None = None) -> list[Line]:
    """As `read_samples`, each line as that ``kind`` of record, which may take less of it than a Sample."""
    path = folder / SAMPLES
    if data is None and not path.exists():
        return []
    samples = []
    for number, line in enumerate(_read_bytes(path, data).splitlines(), 1):
        try:
            samples.append(kind.model_validate_json(line))
        except ValidationError as error:
            raise ArtifactError(
                f"{path}, line {number}: {_first(error)}",
                "In an unfinished run `--resume` sets a torn last line aside; "
                "in a complete one the file was changed.",
            ) from None
    return samples


def read_pins(artifacts: Path) -> dict[str, Pin]:
    """Pin name → pin, in file order; empty without a file. Raises ArtifactError."""
    path = artifacts / PINS
    if not path.exists():
        return {}
    try:
        tables = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ArtifactError(f"{path}: not valid TOML: {error}") from None
    except OSError as error:
        raise _unreadable(path, error) from None
    pins = {}
    for name, table in tables.items():
        if not is_id(name):
            raise ArtifactError(f"{path}: pin {name!r} is not an id", f"An id has {ID_RULE}.")
        try:
            pins[name] = Pin.model_validate(table)
        except ValidationError as error:
            raise ArtifactError(f"{path}: pin {name!r}: {_first(error)}") from None
    return pins


def is_pointer(data: bytes) -> bool:
    """Whether these bytes are a Git LFS pointer file, by its format."""
    return len(data) < 1024 and data.startswith(_POINTER) and b"\noid sha256:" in data


def sha256_file(path: Path) -> str:
    """The SHA-256 of a file, as 64 hex digits, in constant memory."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read_bytes(path: Path, data: bytes | None = None) -> bytes:
    """The file's bytes, unless they are there; either way not an LFS pointer's."""
    if data is None:
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            hint = "A run folder needs it; was the copy interrupted?"
            raise ArtifactError(f"{path}: missing", hint) from None
        except OSError as error:
            raise _unreadable(path, error) from None
    if is_pointer(data):
        raise ArtifactError(f"{path}: a Git LFS pointer, not the file", "Run `git lfs pull` first.")
    return data


def _unreadable(path: Path, error: OSError) -> ArtifactError:
    return ArtifactError(f"{path}: cannot be read: {error.strerror}", "Is it a file, and yours to read?")


def _check_version(path: Path, data: bytes) -> None:
    """Raise if the manifest says a major version this reader does not know."""
    try:
        version = _Version.model_validate_json(data).schema_version
    except ValidationError:
        return
    if version.split(".")[0] != str(SCHEMA_MAJOR):
        raise ArtifactError(
            f"{path}: schema_version is {version!r}, this Lapsheet reads {SCHEMA_MAJOR}.x",
            "Use the Lapsheet that captured it, or a newer one.",
        )


class _Version(BaseModel):
    schema_version: str = SCHEMA_VERSION


def _first(error: ValidationError) -> str:
    item = error.errors()[0]
    field = ".".join(str(part) for part in item["loc"])
    return f"{field}: {item['msg']}" if field else item["msg"]
