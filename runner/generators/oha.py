"""oha 1.10 or later: https://github.com/hatoo/oha."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from pathlib import Path

from runner.errors import GeneratorError
from runner.generators.base import BODY_FILE, Command, Load, Outcome
from runner.generators.reading import (
    CENSORED_TAIL,
    CLOSED_LOOP,
    RawFile,
    flags,
    latency,
    read_load,
    write_load,
)
from runner.model import Note

OUTPUT = "oha.json"
INSTALL = "Install it with `cargo install oha --locked`."
OLDEST = (1, 10)
TAKES_THREADS = (1, 16)

# Seconds before an unanswered request is an error instead of a very long wait: beyond the deadline of a
# usual sample, so that it never turns a slow answer, which is a result, into a failure.
TIMEOUT = 10
# A longer body goes to oha as a file: it would fill every stored command line.
_INLINE_BODY = 1024
_DEADLINE = "aborted due to deadline"
_PERCENTILES = {"p50": "p50", "p75": "p75", "p90": "p90", "p95": "p95", "p99": "p99", "p999": "p99.9"}

NOTES = [
    CENSORED_TAIL,
    CLOSED_LOOP,
    Note(
        code="every-status",
        message="Percentiles are over all responses of whatever status, from all of them, not from a "
        "histogram; a connection's first request includes connecting.",
    ),
]


class Oha:
    """Drives oha in closed loop or, with a rate, in open loop with corrected latencies."""

    name = "oha"
    notes = NOTES

    def version(self) -> str | None:
        """The version on PATH or in cargo's folder, or None where there is none that runs."""
        program = _program()
        return None if program is None else _version(program)

    def flags(self, load: Load) -> list[str]:
        """The flags that shape the measurement."""
        chosen = ["--no-tui", "--output-format", "json", "--http-version", "1.1", "--redirect", "0"]
        chosen += ["--disable-compression", "-c", str(load.connections), "-z", _duration(load.duration)]
        chosen += ["-t", f"{TIMEOUT}s"]
        if load.threads is not None and _takes_threads():
            chosen += ["--worker-threads", str(load.threads)]
        if load.rate is not None:
            chosen += ["-q", f"{load.rate:.10g}", "--latency-correction"]
        return chosen

    def refuse(self, load: Load) -> None:
        """Nothing to refuse: oha sends every method, in closed and in open loop."""

    def command(self, load: Load, folder: Path) -> Command:
        """The command of one execution. Raises GeneratorError without a usable oha."""
        program = _program()
        found = None if program is None else _version(program)
        if program is None or found is None:
            raise GeneratorError("oha is not on this machine", INSTALL)
        if not supported(found):
            wanted = ".".join(map(str, OLDEST))
            raise GeneratorError(f"oha {found} is too old: {wanted} or later is needed", INSTALL)
        argv = [program, *self.flags(load), "-m", load.method]
        for name, value in load.headers.items():
            argv += ["-H", f"{name}: {value}"]
        if load.body is not None:
            argv += _body(load.body, folder)
        write_load(folder, load)
        return Command([*argv, load.url], OUTPUT)

    def read(self, folder: Path) -> Outcome:
        """What oha's JSON says; everything in it is in seconds except its ``latency_ms``, left alone."""
        asked = read_load(folder)
        file = RawFile.read(folder / OUTPUT)
        window = file.positive("summary", "total")
        statuses = {}
        for code in file.table("statusCodeDistribution"):
            if re.fullmatch(r"[1-9]\d\d", code) is None:
                raise file.error("statusCodeDistribution", what=f"{code[:40]!r} is not a status code")
            statuses[int(code)] = file.count("statusCodeDistribution", code)
        errors = {text: file.count("errorDistribution", text) for text in file.table("errorDistribution")}
        cut_off = errors.pop(_DEADLINE, 0)
        responses = sum(statuses.values())
        times: dict[str, float | None] = {}
        if responses:
            times["mean"] = file.number("summary", "average")
            times |= {key: file.number("latencyPercentiles", name) for key, name in _PERCENTILES.items()}
            times["max"] = file.number("summary", "slowest")
        return Outcome(
            window=window,
            ok=sum(count for status, count in statuses.items() if 200 <= status < 300),
            statuses=statuses,
            errors=errors,
            cut_off=cut_off,
            latency=latency(file, times, rate=asked.rate),
            reported=_reported(file),
            payload=asked.payload,
            body_bytes=None if (total := file.number("summary", "totalData")) is None else int(total),
            flags=flags(
                asked,
                window=window,
                responses=responses,
                failures=sum(errors.values()),
                cut_off=cut_off,
                mean=times.get("mean") or 0.0,
                slowest=times.get("max") or 0.0,
            ),
        )


def supported(version: str) -> bool:
    """Whether that version writes the JSON read here."""
    match = re.match(r"(\d+)\.(\d+)", version)
    return match is not None and (int(match[1]), int(match[2])) >= OLDEST


def _takes_threads() -> bool:
    """Whether this oha can be told its threads; by itself it starts one a core, whatever its affinity."""
    program = _program()
    match = re.match(r"(\d+)\.(\d+)", (program and _version(program)) or "")
    return match is not None and (int(match[1]), int(match[2])) >= TAKES_THREADS


@functools.cache
def _version(program: str) -> str | None:
    try:
        run = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.match(r"oha (\d+\.\d+\S*)", run.stdout)
    return match[1] if match else None


def _program() -> str | None:
    """The path of oha: on PATH, or where cargo puts it, which is often not on PATH."""
    cargo = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    return shutil.which("oha") or shutil.which("oha", path=cargo / "bin")


def _duration(seconds: float) -> str:
    return f"{seconds:.0f}s" if seconds == int(seconds) else f"{max(1, round(seconds * 1000))}ms"


def _body(body: str, folder: Path) -> list[str]:
    if len(body.encode()) > _INLINE_BODY:
        (folder / BODY_FILE).write_bytes(body.encode())
        return ["-D", str(folder / BODY_FILE)]
    # oha would take a body that begins with '-' for a flag.
    return [f"-d={body}"] if body.startswith("-") else ["-d", body]


def _reported(file: RawFile) -> dict[str, float]:
    """oha's own figures: its requests/s count errors and cut-off requests, its success a 500."""
    named = {
        "requests_per_second": "requestsPerSec",
        "success_rate": "successRate",
        "fastest": "fastest",
        "bytes": "totalData",
    }
    found = {key: file.number("summary", name) for key, name in named.items()}
    return {key: value for key, value in found.items() if value is not None}
