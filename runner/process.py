"""Process trees under a guardian: start pinned, watch, stop, and know that nothing is left.

See `runner.guardian` for how the tree is held together.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from runner.errors import LapsheetError, ServerError
from runner.proc import tree

_GUARDIAN = Path(__file__).with_name("guardian.py")


@dataclass(frozen=True)
class Spec:
    """What to start. ``cpus`` empty leaves the affinity as it is; outputs are appended to."""

    argv: list[str]
    cwd: Path
    stdout: Path
    stderr: Path
    cpus: Sequence[int] = ()
    env: dict[str, str] = field(default_factory=lambda: dict(os.environ))


@dataclass(frozen=True)
class Stopped:
    """How a tree ended: exit status of its first process, seconds the stop took, pids that needed SIGKILL."""

    status: int | None
    seconds: float
    killed: list[int]
    cpu_seconds: float
    peak_bytes: int


class ProcessTree:
    """One running process and everything it started.

    Use as a context manager: leaving it stops the tree, at once if by an exception.
    """

    def __init__(self, spec: Spec) -> None:
        """Start it. Raises ServerError (code ``start``) if the program cannot be executed."""
        self.spec = spec
        self.status: int | None = None
        self.stopped: Stopped | None = None
        self._buffer = b""
        self._guardian = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_GUARDIAN)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._guardian.stdin
        assert self._guardian.stdout
        self._commands = self._guardian.stdin
        self._events = self._guardian.stdout
        message = {
            "argv": spec.argv,
            "cwd": str(spec.cwd),
            "env": spec.env,
            "cpus": list(spec.cpus),
            "stdout": str(spec.stdout),
            "stderr": str(spec.stderr),
        }
        self._send(json.dumps(message))
        event = self._next(30.0)
        if event is None or event["event"] != "started":
            self._close()
            reason = event["message"] if event else "the guardian did not answer"
            raise ServerError("start", f"cannot start {spec.argv[0]!r}: {reason}", _hint(spec.argv[0]))
        self.pid: int = event["pid"]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop(0.0 if error else 15.0)

    def pids(self) -> set[int]:
        """The living processes of the tree, orphans included."""
        return set(tree(self._guardian.pid)) - {self._guardian.pid}

    def exited(self) -> int | None:
        """The first process's exit status (negative: the signal), or None while it runs."""
        return self.wait(0.0)

    def wait(self, timeout: float) -> int | None:
        """Wait at most ``timeout`` seconds for the first process to end; its exit status or None."""
        deadline = time.monotonic() + timeout
        while self.status is None:
            event = self._next(max(0.0, deadline - time.monotonic()))
            if event is None:
                break
            self._note(event)
        return self.status

    def begin_stop(self, limit: float) -> None:
        """Ask the tree to stop, with ``limit`` seconds of grace, and do not wait for it."""
        if self.stopped is None:
            self._send(f"stop {limit}")

    def finish_stop(self, limit: float) -> Stopped:
        """Wait until nothing of the tree is left. Raises LapsheetError if something will not go."""
        deadline = time.monotonic() + limit + 10.0
        while self.stopped is None:
            event = self._next(max(0.0, deadline - time.monotonic()))
            if event is None:
                self._close()
                if self._guardian.returncode is None:
                    raise LapsheetError(f"{self.spec.argv[0]} (pid {self.pid}) does not end, even by SIGKILL")
                self.stopped = self._kill_group()
                break
            self._note(event)
        self._close()
        return self.stopped

    def stop(self, limit: float) -> Stopped:
        """Stop the tree: SIGTERM, ``limit`` seconds of grace, SIGKILL; returns when nothing is left."""
        if self.stopped is None:
            self.begin_stop(limit)
            return self.finish_stop(limit)
        return self.stopped

    def _kill_group(self) -> Stopped:
        """End what a guardian left that was itself killed; the first process went with it."""
        with contextlib.suppress(OSError):
            os.killpg(self.pid, signal.SIGKILL)
        return Stopped(self.status, 0.0, [self.pid], 0.0, 0)

    def _send(self, line: str) -> None:
        # A guardian that is gone is noticed when its answer does not come.
        with contextlib.suppress(OSError, ValueError):
            self._commands.write(line.encode() + b"\n")
            self._commands.flush()

    def _note(self, event: dict[str, Any]) -> None:
        if event["event"] == "exited":
            self.status = event["status"]
        elif event["event"] == "stopped":
            self.stopped = Stopped(**{key: value for key, value in event.items() if key != "event"})

    def _next(self, timeout: float) -> dict[str, Any] | None:
        """The guardian's next event within ``timeout`` seconds; None for none, or at its end."""
        deadline = time.monotonic() + timeout
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([self._events], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                return None
            data = os.read(self._events.fileno(), 65536)
            if not data:
                return None
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        event: dict[str, Any] = json.loads(line)
        return event

    def _close(self) -> None:
        with contextlib.suppress(OSError):  # what a guardian that is gone never read
            self._commands.close()
        try:
            self._guardian.wait(10.0)
        except subprocess.TimeoutExpired:
            return
        self._events.close()


def _hint(program: str) -> str:
    if "/" in program:
        return "Is the path right, and is the file executable?"
    return f"Is {program} installed in this environment? `uv sync --group bench` brings the bundled servers."
