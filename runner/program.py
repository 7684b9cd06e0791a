"""A program that serves on a port of the loopback: started on its CPUs, waited for, watched."""

from __future__ import annotations

import contextlib
import http.client
import os
import socket
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil

from runner import client
from runner.client import Response
from runner.errors import RejectionError, ServerError
from runner.process import ProcessTree, Spec

LOG_LIMIT = 512 * 1024
# What would change a program behind the suite's back: the caller's settings for Python (without bytecode a
# fresh server takes twice as long to start) and for the servers. A suite's own `env` comes after.
_SHAPING = ("PYTHON", "UVICORN_", "GUNICORN_", "GRANIAN_", "HYPERCORN_", "DAPHNE_", "WEB_CONCURRENCY")
WRONG_ANSWER_GRACE_S = 3.0


class Program:
    """One process tree on a port of its own and on ``cpus``; ``log`` takes both its outputs.

    ``what`` is what messages call it. ``tree`` is None until `start`. Times in seconds.
    """

    def __init__(
        self,
        what: str,
        argv: list[str],
        *,
        directory: Path,
        cpus: Sequence[int],
        port: int,
        log: Path,
        start_timeout: float,
        stop_timeout: float,
    ) -> None:
        self.what = what
        self.argv = argv
        self.directory = directory
        self.cpus = list(cpus)
        self.port = port
        self.log = log
        self.start_timeout = start_timeout
        self.stop_timeout = stop_timeout
        self.tree: ProcessTree | None = None

    def start(self, env: dict[str, str]) -> None:
        """Start it with these variables too. Raises ServerError (``start``) if it cannot be executed."""
        environment = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(_SHAPING) and not key.lower().endswith("_proxy")
        }
        environment |= {
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
            "PYTHONPATH": str(self.directory),
        }
        self.tree = ProcessTree(
            Spec(
                argv=self.argv,
                cwd=self.directory,
                stdout=self.log,
                stderr=self.log,
                cpus=self.cpus,
                env=environment | env,
            )
        )

    def pids(self) -> set[int]:
        """The living processes of the tree; empty before `start`."""
        return self.tree.pids() if self.tree is not None else set()

    def wait_ready(
        self, ask: Callable[[], Response], right: Callable[[int], bool], explain: Callable[[], object]
    ) -> None:
        """Ask until an answer's status is right: a log line that says "listening" is no proof.

        ``explain`` is called where it goes on answering something else, and may raise what says why.
        Raises ServerError (``start``) or RejectionError (``port``).
        """
        begin = time.monotonic()
        first_wrong: float | None = None
        while True:
            self.must_live(code="start")
            waited = time.monotonic() - begin
            try:
                answer = ask()
            except (OSError, http.client.HTTPException):
                first_wrong = None
            else:
                self.must_own_port()
                if right(answer.status):
                    return
                first_wrong = first_wrong if first_wrong is not None else waited
                if waited - first_wrong > WRONG_ANSWER_GRACE_S:
                    explain()
            if waited > self.start_timeout:
                raise ServerError(
                    "start",
                    f"no answer of {self.what} within {self.start_timeout:.0f} s of the start; "
                    f"its log ends: {tail(self.log)}",
                    "Does the command listen on {host}:{port}? If it only needs longer, raise start_timeout.",
                )
            time.sleep(0.01)

    def must_live(self, code: str = "died") -> None:
        """Raise ServerError with that code, or RejectionError (``port``), if it has ended."""
        status = self.tree.exited() if self.tree is not None else None
        if status is None:
            return
        last = tail(self.log)
        if code == "start" and "address already in use" in last.lower():
            raise RejectionError("port", f"the port was taken before {self.what} could bind it: {last}")
        raise ServerError(code, f"{self.what} ended with status {status}; its log ends: {last}")

    def must_own_port(self) -> None:
        """Raise RejectionError (``port``) if what listens on the port is not of this tree."""
        for pid in self.pids():
            try:
                sockets = psutil.Process(pid).net_connections("tcp")
            except psutil.AccessDenied:
                return  # a program of another user: nothing can be told
            except psutil.Error:
                continue
            if any(s.status == psutil.CONN_LISTEN and s.laddr.port == self.port for s in sockets):
                return
        raise RejectionError("port", f"a process that is not {self.what}'s answers on port {self.port}")

    def captured_log(self, start: int = 0) -> bytes:
        """The log from that byte on, its middle left out and said so where it is over 512 KiB."""
        size = self.log.stat().st_size - start if self.log.exists() else 0
        if size <= 0:
            return b""
        with self.log.open("rb") as file:
            file.seek(start)
            if size <= LOG_LIMIT:
                return file.read()
            half = LOG_LIMIT // 2
            head = file.read(half)
            file.seek(-half, os.SEEK_END)
            return head + f"\n[… {size - 2 * half} bytes left out …]\n".encode() + file.read()


def free_port() -> int:
    """A TCP port of the loopback that is free at this moment."""
    with socket.socket() as probe:
        probe.bind((client.LOOPBACK, 0))
        return int(probe.getsockname()[1])


def port_is_free(port: int) -> bool:
    """Whether a server could bind this loopback port now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((client.LOOPBACK, port))
        except OSError:
            return False
        return True


def tail(log: Path, lines: int = 6) -> str:
    """The last lines of a log, indented below a message."""
    with contextlib.suppress(OSError):
        text = log.read_bytes()[-4096:].decode("utf-8", "replace").strip()
        if text:
            return "\n    " + "\n    ".join(text.splitlines()[-lines:])
    return "(empty)"
