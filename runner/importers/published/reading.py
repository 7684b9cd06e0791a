"""Transcribed CSV files, read strictly: whatever is not a plain figure is an error with its place."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from runner.errors import ArtifactError
from runner.importers.published.mapping import File
from runner.store import is_pointer

# A transcribed figure is some digits: no sign, no grouping, no exponent, and so no NaN or infinity.
_FIGURE = re.compile(r"[0-9]{1,15}(\.[0-9]{1,15})?")


@dataclass(frozen=True)
class Source:
    """A file as it was given: ``place`` is its path for messages, ``name`` its name in the run."""

    place: str
    name: str
    data: bytes


@dataclass(frozen=True)
class Row:
    """A row's key columns, and its figures by column, as published."""

    line: int
    keys: dict[str, str]
    figures: dict[str, Decimal]


def csv_files(paths: Sequence[Path]) -> list[Path]:
    """The files meant: those given, or all ``*.csv`` of a folder. Raises ArtifactError."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            found += sorted(item for item in path.iterdir() if item.suffix == ".csv")
        elif path.exists():
            found.append(path)
        else:
            raise ArtifactError(f"{path}: no such file or folder", "Give the folder with the CSV files.")
    if not found:
        raise ArtifactError(f"{paths[0] if paths else 'nothing'}: no CSV file", "Give a folder with some.")
    names = [path.name for path in found]
    for path in found:
        if names.count(path.name) > 1:
            raise ArtifactError(f"{path}: two files have this name", "Give each once.")
    return found


def read_bytes(path: Path) -> bytes:
    """A file's bytes. Raises ArtifactError if it cannot be read, or is an LFS pointer."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ArtifactError(
            f"{path}: cannot be read: {error.strerror}", "Is it a file, and yours to read?"
        ) from None
    if is_pointer(data):
        raise ArtifactError(f"{path}: a Git LFS pointer, not the file", "Run `git lfs pull` first.")
    return data


def rows(source: Source, file: File) -> list[Row]:
    """The rows of a file. Raises ArtifactError naming file, line and column."""
    place = source.place
    try:
        text = source.data.decode("utf-8-sig")  # a spreadsheet's mark at the start is no part of a name
    except UnicodeDecodeError as error:
        line = source.data.count(b"\n", 0, error.start) + 1
        raise ArtifactError(f"{place}, line {line}: not UTF-8", "Save it as UTF-8.") from None
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    found: list[Row] = []
    seen: dict[tuple[str, ...], int] = {}
    try:
        head = next(reader, None)
        if not head:
            raise ArtifactError(f"{place}, line 1: no header", f"It must be: {','.join(file.columns)}.")
        _check_head(head, file, place)
        for cells in reader:
            line = reader.line_num
            if len(cells) != len(head):
                raise ArtifactError(
                    f"{place}, line {line}: {len(cells)} cells, the header has {len(head)}",
                    "Every line needs one cell a column.",
                )
            by_name = dict(zip(head, cells, strict=True))
            row = Row(
                line,
                {name: by_name[name] for name in file.keys},
                {
                    value.column: _figure(
                        by_name[value.column], f"{place}, line {line}, column {value.column}"
                    )
                    for value in file.value
                },
            )
            key = tuple(row.keys.values())
            if key in seen:
                raise ArtifactError(
                    f"{place}, line {line}: {', '.join(key)} is in line {seen[key]} already",
                    "A row is published once.",
                )
            seen[key] = line
            found.append(row)
    except csv.Error as error:
        raise ArtifactError(f"{place}, line {reader.line_num}: not CSV: {error}") from None
    if not found:
        raise ArtifactError(f"{place}: no row below its header", "Was it cut off?")
    return found


def _check_head(head: list[str], file: File, place: str) -> None:
    for name in file.columns:
        if name not in head:
            raise ArtifactError(
                f"{place}, line 1: no column {name!r}", f"Its columns must be: {', '.join(file.columns)}."
            )
    for name in head:
        if head.count(name) > 1:
            raise ArtifactError(f"{place}, line 1: two columns {name!r}", "Name each once.")
        if name not in file.columns:
            raise ArtifactError(
                f"{place}, line 1: column {name!r} is not in the mapping",
                "Say there what it holds; nothing is dropped in silence.",
            )


def _figure(text: str, place: str) -> Decimal:
    if not _FIGURE.fullmatch(text):
        if text.startswith("-"):
            raise ArtifactError(f"{place}: {text!r} is negative", "A figure is nought or more.")
        raise ArtifactError(
            f"{place}: {text!r} is not a number", "Write plain digits, with a full stop before decimals."
        )
    return Decimal(text)
