"""The helper process behind the server: one for the whole run, watched and asked directly.

Whatever is wrong with it is an environmental failure: the server under test cannot answer better than
its upstream, so the sample is rejected (code ``upstream``) and tried again with a fresh one.
"""

from __future__ import annotations

import http.client
import sys
from pathlib import Path

from runner import client
from runner.checks import check_answer
from runner.errors import RejectionError, ServerError
from runner.model import UPSTREAM
from runner.program import Program, free_port
from runner.suite import LoadedSuite
from runner.tables import Request, Upstream

ADDRESS = "LAPSHEET_UPSTREAM"
# A process that is about to end leaves its sockets before its parent hears of it.
DYING_S = 0.1


class UpstreamProgram(Program):
    """The suite's upstream on ``cpus``; starts itself again where it is found dead."""

    def __init__(self, loaded: LoadedSuite, table: Upstream, cpus: list[int], folder: Path) -> None:
        port = free_port()
        super().__init__(
            "the upstream",
            command(table, cpus, port),
            directory=loaded.directory,
            cpus=cpus,
            port=port,
            log=folder / "upstream.log",
            start_timeout=table.start_timeout,
            stop_timeout=table.stop_timeout,
        )
        self.table = table
        self.address = f"http://{client.LOOPBACK}:{port}"

    def ensure(self) -> None:
        """Have it run and ready. Raises RejectionError (``upstream``) if it will not."""
        if self.tree is not None and self.tree.exited() is None:
            return
        self.close()
        try:
            self.start(self.table.env)
            self.wait_ready(
                lambda: client.request(self.port, self.table.ready, timeout=2.0),
                lambda status: 200 <= status < 300,
                lambda: self._ask(None),
            )
        except ServerError as error:
            self.close()
            raise RejectionError(UPSTREAM, error.message) from error

    def check(self, request: Request | None) -> None:
        """It lives, and answers this request exactly and within ``slow`` seconds.

        Without a request, its readiness path with a 2xx. Raises RejectionError (``upstream``).
        """
        try:
            self.must_live()
            try:
                self._ask(request)
            except ServerError:
                if self.tree is not None and self.tree.wait(DYING_S) is not None:
                    self.must_live()  # its end says more than the answer it did not give
                raise
        except ServerError as error:
            raise RejectionError(
                UPSTREAM, f"the upstream by itself, within {self.table.slow:g} s: {error.message}"
            ) from error

    def _ask(self, request: Request | None) -> None:
        if request is not None:
            check_answer(self.port, request, self.table.slow)
            return
        path = self.table.ready
        try:
            status = client.request(self.port, path, timeout=self.table.slow).status
        except (OSError, http.client.HTTPException) as error:
            raise ServerError(
                "response", f"GET {path}: no answer ({type(error).__name__}: {error})"
            ) from error
        if not 200 <= status < 300:
            raise ServerError("response", f"GET {path}: expected a 2xx, got {status}")

    def close(self) -> None:
        """Stop it and all it started. Doing so again does nothing."""
        if self.tree is not None:
            self.tree.stop(self.stop_timeout)
            self.tree = None


def processes(table: Upstream, cpus: list[int]) -> int:
    """How many processes it is given: as many as it asks for or as it has CPUs, whichever is less."""
    return min(table.workers, len(cpus))


def command(table: Upstream, cpus: list[int], port: int | str) -> list[str]:
    """Its argv."""
    values = {"host": client.LOOPBACK, "port": port, "workers": processes(table, cpus), "app": ""}
    return [argument.format(**values, python=sys.executable) for argument in table.command]
