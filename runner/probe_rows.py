"""The rows of a probe, read without trusting them; every reader raises GeneratorError naming file, line and
field.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from gzip import GzipFile
from io import BytesIO
from pathlib import Path
from typing import Any, NoReturn

from runner.errors import GeneratorError
from runner.generators.reading import DAMAGED, read_bytes

TIMES = ("headers", "first_body", "gap", "total")

_LONGEST_LINE = 4096
# Each time of a row was rounded to a float of its own.
_ROUNDING_S = 2e-9


@dataclass(frozen=True)
class Row:
    """One row, the JSON object of one line; times in seconds."""

    path: Path
    line: int
    data: dict[str, Any]

    def wrong(self, key: str, what: str) -> NoReturn:
        raise GeneratorError(f"{self.path}, line {self.line}: {key}: {what}", DAMAGED)

    def seconds(self, key: str) -> float:
        value = self.data.get(key)
        if value is None:
            self.wrong(key, "missing")
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.wrong(key, f"not a number (found {str(value)[:40]!r})")
        if not math.isfinite(value) or value < 0:
            self.wrong(key, f"{value} is not a time")
        return float(value)

    def whole(self, key: str, least: int, most: int) -> int:
        value = self.data.get(key)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            self.wrong(key, "missing" if value is None else f"{str(value)[:40]} is not what it can be")
        return value

    def true(self, key: str) -> bool:
        value = self.data.get(key, False)
        if not isinstance(value, bool):
            self.wrong(key, "neither true nor false")
        return value

    def error_name(self) -> str:
        """The error's name; empty where the request has none."""
        if "error" not in self.data:
            return ""
        name = self.data["error"]
        if not isinstance(name, str) or not name.isascii() or not name.isalpha():
            self.wrong("error", "not the name of an error")
        return name

    def status(self) -> int:
        self.whole("bytes", 0, 2**53)
        return self.whole("status", 200, 999)

    def times(self) -> dict[str, float]:
        """The four times of an answered request, which must agree with each other."""
        found = {name: self.seconds(name) for name in TIMES}
        if found["first_body"] < found["headers"]:
            self.wrong("first_body", f"{found['first_body']} s is before headers, {found['headers']} s")
        if found["total"] < found["first_body"]:
            self.wrong("total", f"{found['total']} s is before first_body, {found['first_body']} s")
        if abs(found["first_body"] - found["headers"] - found["gap"]) > _ROUNDING_S:
            self.wrong("gap", f"{found['gap']} s is not first_body − headers")
        return found


def read_rows(path: Path, requests: int) -> Iterator[Row]:
    """The rows, numbered from 1 in order of sending, exactly as many as there were requests."""
    start, number = 0.0, 0
    for number, line in enumerate(_lines(path), 1):
        row = Row(path, number, _object(path, number, line))
        if number > requests:
            row.wrong("n", f"more rows than the probe's {requests} requests")
        if row.whole("n", 0, 2**53) != number:
            row.wrong("n", f"{row.data['n']} where {number} was to be")
        begun = row.seconds("start")
        if begun < start or (number == 1 and begun):
            row.wrong("start", f"{begun} s does not follow on {start} s")
        start = begun
        yield row
    if number < requests:
        raise GeneratorError(
            f"{path}, line {number + 1}: n: missing, the probe sent {requests} requests", DAMAGED
        )


def _object(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        told = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise GeneratorError(f"{path}, line {number}: not JSON: {told}", DAMAGED) from None
    if not isinstance(data, dict):
        raise GeneratorError(f"{path}, line {number}: not a JSON object", DAMAGED)
    return data


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of a gzip file, as far as they are whole."""
    packed = read_bytes(path, "probe")
    number = 0
    with GzipFile(fileobj=BytesIO(packed)) as file:
        while True:
            number += 1
            try:
                line = file.readline(_LONGEST_LINE)
            except (EOFError, OSError, zlib.error) as error:
                raise GeneratorError(f"{path}, line {number}: not whole gzip: {error}", DAMAGED) from None
            if not line:
                return
            if not line.endswith(b"\n"):
                raise GeneratorError(f"{path}, line {number}: cut short, or too long for a row", DAMAGED)
            yield line
