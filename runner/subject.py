"""The server under test of one sample: started on its CPUs, waited for, asked who it is."""

from __future__ import annotations

import contextlib
import http.client
import os
import socket
import sys
import time
from pathlib import Path

import psutil

from runner import client
from runner.apps import counter
from runner.checks import check_answer
from runner.client import Identity
from runner.errors import RejectionError, ServerError
from runner.process import ProcessTree, Spec
from runner.suite import LoadedSuite, Server, Workload

LOG_LIMIT = 512 * 1024
# What would change a server behind the suite's back: the caller's settings for Python (without bytecode a
# fresh server takes twice as long to start) and for the servers. A suite's own `env` comes after.
_SHAPING = ("PYTHON", "UVICORN_", "GUNICORN_", "GRANIAN_", "HYPERCORN_", "DAPHNE_", "WEB_CONCURRENCY")
WRONG_ANSWER_GRACE_S = 3.0


class Subject:
    """One server, on a port of its own, with ``workers`` workers on ``cpus``.

    ``argv`` is known before `start`; ``tree`` is None until then. ``log`` takes both its outputs.
    """

    def __init__(
        self, loaded: LoadedSuite, server: Server, workers: int, cpus: list[int], port: int, folder: Path
    ) -> None:
        self.server = server
        self.workers = workers
        self.cpus = cpus
        self.port = port
        self.log = folder / "server.log"
        self.tree: ProcessTree | None = None
        self._loaded = loaded
        self._counters = folder / "counters"
        self._identity = loaded.suite.identity
        self.argv = server.argv(
            app=loaded.suite.app, host=client.LOOPBACK, port=port, workers=workers, python=sys.executable
        )

    def start(self) -> None:
        """Start it. Raises ServerError (``start``) if the program cannot be executed."""
        counter.create(self._counters, slots=4 * self.workers + 16)
        environment = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(_SHAPING) and not key.lower().endswith("_proxy")
        }
        environment |= {
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
            "PYTHONPATH": str(self._loaded.directory),
            counter.VARIABLE: str(self._counters),
        }
        self.tree = ProcessTree(
            Spec(
                argv=self.argv,
                cwd=self._loaded.directory,
                stdout=self.log,
                stderr=self.log,
                cpus=self.cpus,
                env=environment | self.server.env,
            )
        )

    def pids(self) -> set[int]:
        """The living processes of the server; empty before `start`."""
        return self.tree.pids() if self.tree is not None else set()

    def wait_ready(self, workload: Workload) -> None:
        """Wait for the first expected answer: a log line that says "listening" is no proof.

        Raises ServerError (``start``; ``response`` where it goes on answering something else) or
        RejectionError (``port``).
        """
        begin = time.monotonic()
        first_wrong: float | None = None
        while True:
            self.must_live(code="start")
            waited = time.monotonic() - begin
            try:
                answer = client.request(
                    self.port, workload.path, workload.method, workload.headers, workload.body, timeout=2.0
                )
            except (OSError, http.client.HTTPException):
                first_wrong = None
            else:
                self.must_own_port()
                if answer.status == workload.expect.status:
                    return
                first_wrong = first_wrong if first_wrong is not None else waited
                if waited - first_wrong > WRONG_ANSWER_GRACE_S:
                    check_answer(self.port, workload)
            if waited > self.server.start_timeout:
                raise ServerError(
                    "start",
                    f"no answer within {self.server.start_timeout:.0f} s of the start; "
                    f"its log ends: {tail(self.log)}",
                    "Does the command listen on {host}:{port}? If it only needs longer, raise start_timeout.",
                )
            time.sleep(0.01)

    def must_live(self, code: str = "died") -> None:
        """Raise ServerError with that code, or RejectionError (``port``), if the server has ended."""
        status = self.tree.exited() if self.tree is not None else None
        if status is None:
            return
        last = tail(self.log)
        if code == "start" and "address already in use" in last.lower():
            raise RejectionError("port", f"the port was taken before the server could bind it: {last}")
        raise ServerError(code, f"the server ended with status {status}; its log ends: {last}")

    def must_own_port(self) -> None:
        """Raise RejectionError (``port``) if what listens on the port is not of this server's tree."""
        for pid in self.pids():
            try:
                sockets = psutil.Process(pid).net_connections("tcp")
            except psutil.AccessDenied:
                return  # a server of another user: nothing can be told
            except psutil.Error:
                continue
            if any(s.status == psutil.CONN_LISTEN and s.laddr.port == self.port for s in sockets):
                return
        raise RejectionError("port", f"a process that is not this server's answers on port {self.port}")

    def identities(self, timeout: float = 5.0) -> dict[int, Identity] | None:
        """Who answers, pid → identity; None where the suite has no identity endpoint."""
        if self._identity is None:
            return None
        return client.identities(self.port, self._identity.path, self.workers, timeout)

    def settled_count(self, limit: float = 2.0) -> int | None:
        """The server's own count of requests, once those left over from a load no longer change it.

        None where the suite has no identity endpoint.
        """
        if self._identity is None:
            return None
        # One worker answers in turn, so nothing is before the second answer; of several, one may be busy
        # with what was left while another answers.
        wanted = 1 if self.workers == 1 else 5
        path, same = self._identity.path, 0
        last = client.identity(self.port, path, client.PATIENT_S).requests
        deadline = time.monotonic() + limit
        while same < wanted and time.monotonic() < deadline:
            time.sleep(0.02)
            count = client.identity(self.port, path, client.PATIENT_S).requests
            same = same + 1 if count == last else 0
            last = count
        return last

    def captured_log(self) -> bytes:
        """The log, its middle left out and said so where it is over 512 KiB."""
        size = self.log.stat().st_size if self.log.exists() else 0
        if size <= LOG_LIMIT:
            return self.log.read_bytes() if size else b""
        half = LOG_LIMIT // 2
        with self.log.open("rb") as file:
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
