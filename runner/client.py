"""The few requests that Lapsheet itself sends: readiness, exact answers, identity."""

from __future__ import annotations

import http.client
import json
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from runner.errors import ServerError

LOOPBACK = "127.0.0.1"
# After a load a request waits behind what the generator left in the server's queue.
PATIENT_S = 30.0


@dataclass(frozen=True)
class Response:
    """A complete answer."""

    status: int
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Identity:
    """What the identity endpoint told: the worker that answered, and the counters of all workers.

    ``timeouts`` is how many of the server's own timeouts have fired, None where it does not say.
    """

    pid: int
    loop: str
    affinity: list[int]
    requests: int
    workers: dict[int, int] = field(default_factory=dict)
    timeouts: int | None = None


def request(
    port: int,
    path: str,
    method: str = "GET",
    headers: dict[str, str] | None = None,
    body: str | None = None,
    timeout: float = 5.0,
) -> Response:
    """One request on a connection of its own, answered in full within ``timeout`` seconds.

    Raises OSError (TimeoutError among them) or http.client.HTTPException.
    """
    deadline = time.monotonic() + timeout
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=timeout)
    try:
        connection.request(
            method,
            path,
            body=body.encode() if body else None,
            headers={**(headers or {}), "Connection": "close"},
        )
        answer = connection.getresponse()
        return Response(
            answer.status, {k.lower(): v for k, v in answer.getheaders()}, _body(answer, deadline, timeout)
        )
    finally:
        connection.close()


def _body(answer: http.client.HTTPResponse, deadline: float, timeout: float) -> bytes:
    """The whole body. The connection's own timeout is of each read: a byte now and then would never end."""
    body = bytearray()
    while piece := answer.read1(65536):
        body += piece
        if time.monotonic() > deadline:
            raise TimeoutError(f"the answer was not whole after {timeout:g} s")
    if answer.length:
        raise http.client.IncompleteRead(bytes(body), answer.length)
    return bytes(body)


def identity(port: int, path: str, timeout: float = 5.0) -> Identity:
    """Ask one worker who it is. Raises ServerError (code ``identity``) for anything but a right answer."""
    try:
        response = request(port, path, timeout=timeout)
        data: Any = json.loads(response.body)
        return Identity(
            pid=int(data["pid"]),
            loop=str(data["loop"]),
            affinity=[int(cpu) for cpu in data["affinity"]],
            requests=int(data["requests"]),
            workers={int(pid): int(count) for pid, count in data.get("workers", {}).items()},
            timeouts=None if data.get("timeouts") is None else int(data["timeouts"]),
        )
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError) as error:
        raise ServerError(
            "identity",
            f"the identity endpoint {path} did not answer as it must: {type(error).__name__}: {error}",
            "It answers JSON with pid, loop, affinity and requests; see runner/apps.",
        ) from error


def identities(
    port: int, path: str, workers: int, timeout: float = 5.0, within: float = 5.0
) -> dict[int, Identity]:
    """Ask until as many different workers as there should be have answered: pid → identity.

    Asks concurrently, because an idle server hands sequential connections to one worker. A worker may
    still be starting when another answers already; after ``within`` seconds those that were found are
    returned.
    """
    found: dict[int, Identity] = {}
    if workers == 1:
        only = identity(port, path, timeout)
        return {only.pid: only}
    deadline = time.monotonic() + within
    with ThreadPoolExecutor(min(4 * workers, 64)) as pool:
        while True:
            for answer in pool.map(lambda _: identity(port, path, timeout), range(4 * workers)):
                found[answer.pid] = answer
            if len(found) >= workers or time.monotonic() >= deadline:
                return found
            time.sleep(0.01)
