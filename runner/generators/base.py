"""What a load generator is to Lapsheet: a command to run and a reader of its raw output.

A generator is one module with one class. It never runs anything itself: the capture starts the command
(pinned, watched, stopped) and hands the folder of raw files to ``read``, so that a stored run can be
recomputed by the same code, years later, without the generator.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from runner.model import Note

# The body of a request that a generator takes from a file, in its folder.
BODY_FILE = "request-body"


@dataclass(frozen=True)
class Load:
    """What to send. ``duration`` in seconds; ``rate`` in requests/s (open loop) or None (closed loop).

    ``threads`` is how many the generator should use, or None for its own choice; ``payload`` the bytes of
    the body where its rate is a figure of the sample.
    """

    url: str
    connections: int
    duration: float
    method: str = "GET"
    headers: dict[str, str] = field(default_factory=dict)
    body: str | None = None
    rate: float | None = None
    threads: int | None = None
    payload: int | None = None

    def lasting(self, seconds: float) -> Load:
        """The same load for another time."""
        return replace(self, duration=seconds)


@dataclass(frozen=True)
class Command:
    """An argv, and the name of the raw file its standard output goes to."""

    argv: list[str]
    stdout: str


@dataclass(frozen=True)
class Outcome:
    """What one execution of a generator measured, from its raw files alone.

    ``window`` is the measured time in seconds; ``ok`` are completed 2xx responses; ``statuses`` maps
    status code to completed responses; ``errors`` maps the generator's words to failed requests, without
    those cut off at the deadline, which are ``cut_off``. ``latency`` has metric keys of
    `runner.metrics` and seconds; ``reported`` the generator's own other figures, in base units;
    ``flags`` what a reader must know of them; ``payload`` the body's bytes in one direction where its rate
    is a figure, ``body_bytes`` what all answers' bodies had together, None where the generator does not say.
    """

    window: float
    ok: int
    statuses: dict[int, int]
    errors: dict[str, int]
    cut_off: int
    latency: dict[str, float]
    reported: dict[str, float]
    flags: list[Note] = field(default_factory=list)
    payload: int | None = None
    body_bytes: int | None = None

    @property
    def throughput(self) -> float:
        """2xx completions over the measured window, in 1/s: ours, because generators disagree."""
        return self.ok / self.window if self.window > 0 else 0.0

    @property
    def metrics(self) -> dict[str, float]:
        """The figures of a sample, by key of `runner.metrics`; empty without a 2xx answer."""
        if not self.throughput:
            return {}
        body = {"body_rate": self.throughput * self.payload} if self.payload else {}
        return {"rps": self.throughput, **self.latency, **body}


class LoadGenerator(Protocol):
    """The interface of every generator.

    ``notes`` are its standing limits (a censored tail, uncorrected percentiles), shown on every page
    that has its figures.
    """

    name: str
    notes: list[Note]

    def version(self) -> str | None:
        """The version found on this machine, or None where the generator is not to be had."""

    def flags(self, load: Load) -> list[str]:
        """The flags that shape the measurement, without the URL and the body, for the manifest."""

    def refuse(self, load: Load) -> None:
        """Raise GeneratorError if it cannot do what is asked (open loop, a method), installed or not."""

    def command(self, load: Load, folder: Path) -> Command:
        """The command of one execution; a plan it needs is written to ``folder``.

        Raises GeneratorError if it is not there, and for what it refuses.
        """

    def read(self, folder: Path) -> Outcome:
        """What the raw files in ``folder`` say. Raises GeneratorError naming file and field."""
