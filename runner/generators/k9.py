"""k9 (the k9-load distribution, 0.1): the generator that installs with the bench group.

It runs a plan file and exports a summary in k6's format. Its raw per-request output is never asked for:
writing it multiplies the p99 it reports.
"""

from __future__ import annotations

import functools
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from runner.errors import GeneratorError
from runner.generators.base import Command, Load, Outcome
from runner.generators.reading import (
    CENSORED_TAIL,
    CLOSED_LOOP,
    DAMAGED,
    RawFile,
    flags,
    latency,
    read_load,
    read_text,
    write_load,
)
from runner.model import Note

PLAN = "k9-plan.json"
SUMMARY = "k9-summary.json"
OUTPUT = "k9.txt"
INSTALL = "It comes with the bench group: `uv run --group bench lapsheet …`."
NO_RESPONSE = "no response"
OTHER_STATUS = "a status that is not registered"

_METHODS = {"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"}
# The summary has no status codes of its own; it counts those that a threshold names. Registered codes
# (https://www.iana.org/assignments/http-status-codes), and 0, k9's for a request without response.
_STATUSES = (0, *range(200, 209), 226, *range(300, 309), *range(400, 419), *range(421, 427))
_STATUSES += (428, 429, 431, 451, *range(500, 509), 510, 511)
_TREND = {
    "mean": "avg",
    "p50": "med",
    "p75": "p(75)",
    "p90": "p(90)",
    "p95": "p(95)",
    "p99": "p(99)",
    "p999": "p(99.9)",
    "max": "max",
}

NOTES = [
    CENSORED_TAIL,
    CLOSED_LOOP,
    Note(
        code="silent-retries",
        message="k9 silently repeats a GET whose kept connection the server closed, and counts it once: "
        "aborts show only as an excess of the server's own counter, checked in every sample.",
    ),
    Note(
        code="no-timeout",
        message="k9 has no request timeout: a request that is never answered counts as cut off at the "
        "deadline, not as an error.",
    ),
    Note(
        code="every-status",
        message="Percentiles are over all responses of whatever status, rounded to three significant "
        "digits, without the time to connect.",
    ),
]


class K9:
    """Drives k9 in closed loop: one virtual user a connection, each sending as soon as it is answered."""

    name = "k9"
    notes = NOTES

    def version(self) -> str | None:
        """The version of the k9 of this environment, else of the one on PATH, or None."""
        program = _program()
        return None if program is None else _version(program)

    def flags(self, load: Load) -> list[str]:
        """The flags and plan options that shape the measurement."""
        options = _options(load)
        shown = [f"{key}={value}" for key, value in options["scenarios"]["load"].items()]
        shown += [f"{key}={json.dumps(options[key])}" for key in ("discardResponseBodies", "maxRedirects")]
        return [*_run_flags(), *shown]

    def refuse(self, load: Load) -> None:
        """Raise GeneratorError for what k9 cannot do as asked."""
        oha = "Use oha: `--generator oha`."
        if load.rate is not None:
            raise GeneratorError(
                "k9 has no open loop fit for this: with all connections busy it drops requests instead of "
                "sending them late, and its percentiles leave them out",
                oha,
            )
        if load.method not in _METHODS:
            raise GeneratorError(f"k9 cannot send {load.method} requests", oha)
        texts = [load.url, load.body or "", *load.headers, *load.headers.values()]
        if any("{{" in text for text in texts):
            raise GeneratorError("k9 takes '{{' in a URL, header or body for a template", oha)

    def command(self, load: Load, folder: Path) -> Command:
        """The command of one execution, its plan written to the folder.

        Raises GeneratorError without k9, for an open loop, and for a request k9 cannot send as it is.
        """
        program = _program()
        if program is None or _version(program) is None:
            raise GeneratorError("k9 is not in this environment", INSTALL)
        self.refuse(load)
        # Compression would change the work asked of the server, and k9 offers it unless told not to.
        headers = {"Accept": "*/*", "Accept-Encoding": "identity"}
        own = {name.lower() for name in load.headers}
        headers = {name: value for name, value in headers.items() if name.lower() not in own} | load.headers
        request: dict[str, Any] = {"method": load.method, "url": load.url, "headers": headers}
        if load.body is not None:
            request["body"] = load.body
        plan = {"options": _options(load), "flows": {"default": [{"request": request}]}}
        (folder / PLAN).write_text(json.dumps(plan, indent=1) + "\n", "utf-8")
        # A summary of an earlier execution must never pass for this one's.
        (folder / SUMMARY).unlink(missing_ok=True)
        write_load(folder, load)
        files = [str(folder / PLAN), "--summary-export", str(folder / SUMMARY)]
        return Command([program, "run", *files, *_run_flags()], OUTPUT)

    def read(self, folder: Path) -> Outcome:
        """What the exported summary says (milliseconds there), and the cut-off requests from the text."""
        asked = read_load(folder)
        file = RawFile.read(folder / SUMMARY)
        metrics = file.table("metrics")
        counted = {code: name for code in _STATUSES if (name := _counter(code)) in metrics}
        if 0 not in counted:
            raise file.error("metrics", _counter(0), what="missing")
        counts = {code: file.count("metrics", name, "count") for code, name in counted.items()}
        lost = counts.pop(0)
        statuses = {code: count for code, count in counts.items() if count}
        # With nothing completed there is no http_reqs, and no window but the one asked for.
        total = file.count("metrics", "http_reqs", "count") if "http_reqs" in metrics else 0
        window = total / file.positive("metrics", "http_reqs", "rate") if total else asked.duration
        other = total - lost - sum(statuses.values())
        if other < 0:
            raise file.error("metrics", "http_reqs", "count", what="below the sum of its statuses")
        errors = {NO_RESPONSE: lost, OTHER_STATUS: other}
        times: dict[str, float | None] = {}
        responses = total - lost
        if responses:
            for key, name in _TREND.items():
                value = file.number("metrics", "http_req_duration", name)
                times[key] = None if value is None else value / 1000
        cut_off = _interrupted(folder / OUTPUT)
        return Outcome(
            window=window,
            ok=sum(count for status, count in statuses.items() if 200 <= status < 300),
            statuses=statuses,
            errors={text: count for text, count in errors.items() if count},
            cut_off=cut_off,
            latency=latency(file, times, rate=asked.rate),
            reported=_reported(file, metrics),
            payload=asked.payload,
            flags=flags(
                asked,
                window=window,
                responses=responses,
                failures=lost,
                cut_off=cut_off,
                mean=times.get("mean") or 0.0,
                slowest=times.get("max") or 0.0,
            ),
        )


# Asked before every sample, and starting k9 to ask takes a tenth of a second.
@functools.cache
def _version(program: str) -> str | None:
    try:
        run = subprocess.run([program, "version"], capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    # Other programs are called k9, too; only its version line will do.
    match = re.match(r"k9 (\d+\.\d+\S*)", run.stdout)
    return match[1] if match else None


def _program() -> str | None:
    """The k9 beside this interpreter, which `uv run` and a plain `python` both have, else on PATH."""
    return shutil.which("k9", path=Path(sys.executable).parent) or shutil.which("k9")


def _run_flags() -> list[str]:
    trend = ",".join(["min", *_TREND.values(), "count"])
    return ["--summary-trend-stats", trend, "--http-version", "1.1", "-q", "--no-color"]


def _options(load: Load) -> dict[str, Any]:
    """The plan's options. ``gracefulStop`` has to be in the scenario: elsewhere it is 30 s."""
    scenario = {
        "executor": "constant-vus",
        "vus": load.connections,
        "duration": f"{max(1, round(load.duration * 1000))}ms",
        "gracefulStop": "0s",
    }
    return {
        "scenarios": {"load": scenario},
        "discardResponseBodies": True,
        "maxRedirects": 0,
        "systemTags": ["status"],
        "thresholds": {_counter(code): ["count>=0"] for code in _STATUSES},
    }


def _counter(status: int) -> str:
    return f"http_reqs{{status:{status}}}"


def _interrupted(path: Path) -> int:
    """The requests cut off at the deadline: only the text for the terminal has their number."""
    match = re.search(r"^running .*?(\d{1,15}) complete and (\d{1,15}) interrupted", read_text(path), re.M)
    if match is None:
        raise GeneratorError(f"{path}: no line with the number of interrupted iterations", DAMAGED)
    return int(match[2])


def _reported(file: RawFile, metrics: dict[str, Any]) -> dict[str, float]:
    """k9's own figures; its requests/s count failures."""
    named = {
        "requests_per_second": ("http_reqs", "rate", 1.0),
        "failed_rate": ("http_req_failed", "value", 1.0),
        "fastest": ("http_req_duration", "min", 1e-3),
        "bytes": ("data_received", "count", 1.0),
    }
    found = {}
    for key, (metric, field, scale) in named.items():
        value = file.number("metrics", metric, field) if metric in metrics else None
        if value is not None:
            found[key] = value * scale
    return found
