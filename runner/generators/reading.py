"""Reading a generator's raw files without trusting them; the notes and flags that generators share."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.errors import GeneratorError
from runner.generators.base import Load
from runner.model import Note
from runner.store import is_pointer

LOAD_FILE = "load.json"
CENSORED_TAIL = Note(
    code="censored-tail",
    message="Requests in flight at the deadline, up to one a connection, are dropped: they are in neither "
    "the throughput nor the percentiles.",
)
CLOSED_LOOP = Note(
    code="closed-loop",
    message="In closed loop a connection waits for its answer before it sends again: a stall delays one "
    "request a connection, and is not corrected for those it kept from being sent.",
)
DAMAGED = "The raw file is damaged or not this generator's; compare its SHA-256 with the manifest."

# No run here answers more; a larger count is a damaged file, and JSON readers lose it past 2**53.
_MOST = 10**15
# Percentiles of a histogram are rounded to three significant digits, so two of them may cross by this.
_ROUNDING = 1.001
# A generator short of CPU leaves its connections idle for up to a fifth of the window (measured: two
# oha threads on one busy CPU), which must not look like a server that stopped answering.
_IDLE_SHARE = 0.25
_FEW_RESPONSES = 100


@dataclass(frozen=True)
class RawFile:
    """A JSON object on disk; every reader raises GeneratorError naming file and field."""

    path: Path
    data: dict[str, Any]

    @classmethod
    def read(cls, path: Path) -> RawFile:
        """The file, if it holds a JSON object (NaN and Infinity allowed, as generators write them)."""
        try:
            data = json.loads(read_text(path))
        except RecursionError:
            raise GeneratorError(f"{path}: nested too deeply to be a result", DAMAGED) from None
        except json.JSONDecodeError as error:
            raise GeneratorError(f"{path}: not JSON at line {error.lineno}: {error.msg}", DAMAGED) from None
        except ValueError as error:
            raise GeneratorError(f"{path}: not JSON: {error}", DAMAGED) from None
        if not isinstance(data, dict):
            raise GeneratorError(f"{path}: not a JSON object", DAMAGED)
        return cls(path, data)

    def error(self, *keys: str, what: str) -> GeneratorError:
        """The error to raise about a field."""
        # A damaged file's keys are not ours: nothing of them may break the line.
        place = "".join(char if char.isprintable() else "?" for char in ".".join(keys))
        return GeneratorError(f"{self.path}: {place[:120]}: {what}", DAMAGED)

    def table(self, *keys: str) -> dict[str, Any]:
        """The object at that place."""
        here: Any = self.data
        for depth, key in enumerate(keys, 1):
            here = here.get(key)
            if not isinstance(here, dict):
                what = "missing" if here is None else "not an object"
                raise self.error(*keys[:depth], what=what)
        return here  # type: ignore[no-any-return]

    def number(self, *keys: str) -> float | None:
        """The number at that place; None where it is absent, null, NaN or infinite. Never negative."""
        value = self.table(*keys[:-1]).get(keys[-1])
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error(*keys, what=f"not a number (found {str(value)[:40]!r})")
        if isinstance(value, float) and not math.isfinite(value):
            return None
        if not 0 <= value <= _MOST:
            raise self.error(*keys, what="negative or too large to be true")
        return float(value)

    def positive(self, *keys: str) -> float:
        """The number at that place, which must be there and above zero."""
        value = self.number(*keys)
        if not value:
            raise self.error(*keys, what="missing or zero")
        return value

    def count(self, *keys: str) -> int:
        """The whole number at that place, which must be there."""
        value = self.number(*keys)
        if value is None or value != int(value):
            raise self.error(*keys, what="not a whole number")
        return int(value)


def read_bytes(path: Path, writer: str = "generator") -> bytes:
    """A raw file's bytes; ``writer`` is who left it. Raises GeneratorError if missing or an LFS pointer."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        hint = f"The {writer} was stopped before it wrote its result, or the raw files are not here."
        raise GeneratorError(f"{path}: missing", hint) from None
    except OSError as error:
        raise GeneratorError(f"{path}: {error.strerror}") from None
    if is_pointer(data):
        raise GeneratorError(f"{path}: a Git LFS pointer, not the file", "Run `git lfs pull` first.")
    return data


def read_text(path: Path) -> str:
    """A raw file's text. Raises GeneratorError as `read_bytes`, and if it is not UTF-8."""
    data = read_bytes(path)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise GeneratorError(f"{path}: not UTF-8 at byte {error.start}", DAMAGED) from None


@dataclass(frozen=True)
class Asked:
    """What the execution was asked to do, as `write_load` stored it; seconds, requests/s and bytes."""

    connections: int
    duration: float
    rate: float | None
    payload: int | None = None


def write_load(folder: Path, load: Load) -> None:
    """Keep what was asked beside the output, which does not tell it (open loop or closed, above all)."""
    asked: dict[str, Any] = {
        "method": load.method,
        "url": load.url,
        "connections": load.connections,
        "duration": load.duration,
        "rate": load.rate,
    }
    if load.body is not None:
        body = load.body.encode()
        asked["body"] = {"size": len(body), "sha256": hashlib.sha256(body).hexdigest()}
    if load.payload is not None:
        asked["payload"] = load.payload
    (folder / LOAD_FILE).write_text(json.dumps(asked, indent=1) + "\n", "utf-8")


def read_load(folder: Path) -> Asked:
    """What `write_load` stored. Raises GeneratorError naming file and field."""
    file = RawFile.read(folder / LOAD_FILE)
    rate = None if file.data.get("rate") is None else file.positive("rate")
    payload = None if file.data.get("payload") is None else file.count("payload")
    return Asked(file.count("connections"), file.positive("duration"), rate, payload)


def latency(file: RawFile, values: Mapping[str, float | None], *, rate: float | None) -> dict[str, float]:
    """Latencies by metric key, those without a value left out; open loop under keys of its own.

    ``values`` are seconds, ``mean`` and rising percentiles to ``max``. Raises GeneratorError where a
    higher percentile is the smaller one.
    """
    found = {key: value for key, value in values.items() if value is not None}
    rising = [(key, value) for key, value in found.items() if key != "mean"]
    for (low, below), (high, above) in itertools.pairwise(rising):
        if below > above * _ROUNDING:
            raise GeneratorError(f"{file.path}: {high} ({above} s) is below {low} ({below} s)", DAMAGED)
    prefix = "" if rate is None else "open_"
    return {prefix + key: value for key, value in found.items()}


def flags(
    asked: Asked, *, window: float, responses: int, failures: int, cut_off: int, mean: float, slowest: float
) -> list[Note]:
    """What a reader must know of one execution; ``mean`` and ``slowest`` in seconds, 0 with no responses."""
    found = []
    if abs(window - asked.duration) > 0.05 * asked.duration:
        message = f"The generator measured {window:.2f} s where {asked.duration:g} s were asked for."
        found.append(Note(code="window", message=message))
    if 0 < responses < _FEW_RESPONSES:
        message = f"Only {responses} responses: p99 and above are no more than the slowest ones."
        found.append(Note(code="few-responses", message=message))
    sent = responses + failures + cut_off
    if asked.rate is not None:
        if sent < 0.98 * asked.rate * asked.duration - 1:
            message = (
                f"{sent / window:.4g} of the {asked.rate:g} requests/s asked for were sent: all connections "
                "were busy, and the percentiles leave out what was never sent."
            )
            found.append(Note(code="rate-not-reached", message=message))
    elif waited := _unanswered(asked.connections, window, responses, failures, cut_off, mean, slowest):
        message = (
            f"The {cut_off} requests cut off at the deadline had waited {waited:.2f} s on average, longer "
            f"than the slowest response ({slowest:.3f} s): the server had stopped answering them."
        )
        found.append(Note(code="unanswered", message=message))
    return found


def _unanswered(
    connections: int, window: float, responses: int, failures: int, cut_off: int, mean: float, slowest: float
) -> float | None:
    """How long the cut-off requests had waited on average, in seconds, if that tells of a hang.

    In a closed loop every connection always has one request under way, so connections × window is the
    sum of all latencies (the interval form of Little's law; Little 1961, Operations Research 9(3)), and
    what the responses do not explain was spent in the requests cut off. The time that failures
    took is not known; with failures there is no answer.
    """
    if failures or not cut_off:
        return None
    waited = (connections * window - responses * mean) / cut_off
    return waited if waited > max(slowest, _IDLE_SHARE * window) else None
