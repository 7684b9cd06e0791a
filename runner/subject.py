"""The server under test of one sample: a program that can be asked who it is."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from runner import client
from runner.apps import counter
from runner.checks import check_answer
from runner.client import Identity
from runner.program import Program
from runner.suite import LoadedSuite
from runner.tables import Request, Server
from runner.upstream import ADDRESS, UpstreamProgram


class Subject(Program):
    """One server, on a port of its own, with ``workers`` workers on ``cpus``.

    ``argv`` is known before it is started; ``folder`` takes its log and its counters.
    """

    def __init__(
        self, loaded: LoadedSuite, server: Server, workers: int, cpus: list[int], port: int, folder: Path
    ) -> None:
        super().__init__(
            "the server",
            server.argv(
                app=loaded.suite.app, host=client.LOOPBACK, port=port, workers=workers, python=sys.executable
            ),
            directory=loaded.directory,
            cpus=cpus,
            port=port,
            log=folder / "server.log",
            start_timeout=server.start_timeout,
            stop_timeout=server.stop_timeout,
        )
        self.server = server
        self.workers = workers
        self._counters = folder / "counters"
        self._identity = loaded.suite.identity

    def launch(self, upstream: UpstreamProgram | None) -> None:
        """Start it, told where its upstream is. Raises ServerError (``start``) if it cannot be executed."""
        counter.create(self._counters, slots=4 * self.workers + 16)
        address = {ADDRESS: upstream.address} if upstream else {}
        self.start({counter.VARIABLE: str(self._counters)} | address | self.server.env)

    def ready(self, workload: Request) -> None:
        """Wait for the first expected answer.

        Raises ServerError (``start``; ``response`` where it goes on answering something else) or
        RejectionError (``port``).
        """
        self.wait_ready(
            lambda: client.request(
                self.port, workload.path, workload.method, workload.headers, workload.content, timeout=2.0
            ),
            lambda status: status == workload.expect.status,
            lambda: check_answer(self.port, workload),
        )

    def identities(self, timeout: float = 5.0, within: float = 5.0) -> dict[int, Identity] | None:
        """Who answers within that time, pid → identity; None where the suite has no identity endpoint."""
        if self._identity is None:
            return None
        return client.identities(self.port, self._identity.path, self.workers, timeout, within)

    def settled(self, limit: float = 2.0) -> Identity | None:
        """The identity of one worker, once requests left over from a load no longer change the counts.

        None where the suite has no identity endpoint.
        """
        if self._identity is None:
            return None
        # One worker answers in turn, so nothing is before the second answer; of several, one may be busy
        # with what was left while another answers.
        wanted = 1 if self.workers == 1 else 5
        path, same = self._identity.path, 0
        last = client.identity(self.port, path, client.PATIENT_S)
        deadline = time.monotonic() + limit
        while same < wanted and time.monotonic() < deadline:
            time.sleep(0.02)
            now = client.identity(self.port, path, client.PATIENT_S)
            same = same + 1 if now.requests == last.requests else 0
            last = now
        return last
