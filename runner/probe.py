"""The probe: sends a fixed number of requests in a closed loop and keeps the times of each.

A program of its own, so that nothing of Lapsheet runs in the process that measures; needs aiohttp and the
standard library:

    python -I probe.py PLAN.json OUT_DIR

The plan is an object of ``url``, ``method``, ``headers``, ``body`` (the path of a file, or null),
``connections``, ``requests``, ``expect_status``, ``expect_sha256`` (of the body, or null for any body) and
``timeout`` (seconds, of a whole request). OUT_DIR gets ``probe.jsonl.gz``, one row a request in the order
of sending, and then ``probe.json``, what made them. A row's times are seconds from just before the request
was handed to the client:

    n           the request's number, from 1
    start       when it was sent, since the first
    headers     until the answer's headers were parsed (with the connect, where ``opened`` is true)
    first_body  until the first piece of the body; of an empty one, until its end
    gap         first_body − headers
    total       until the end of the body
    status, bytes
    opened      true where the request opened a connection
    altered     true where a 2xx answer is not the expected one: other bytes, or another 2xx
    error       where there is one, its name; the row then has the times that it came to

Failed requests are data: the exit status is 0. It is 1 or 2 only where the probe itself could not work.
"""

from __future__ import annotations

import asyncio
import contextvars
import errno
import gzip
import hashlib
import io
import json
import os
import platform
import resource
import selectors
import socket
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import http_parser
from yarl import URL

VERSION = 1
ROWS = "probe.jsonl.gz"
ABOUT = "probe.json"
SPARE_FILES = 64
# Of a second: tenths of a microsecond, finer than any event loop is punctual; more digits are noise to store.
DIGITS = 7

# A lack of these is the probe's own and says nothing of the server.
_OWN_ERRNOS = {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS, errno.EADDRNOTAVAIL}
_clock = time.perf_counter_ns
# How many connections the current task has opened; a list, to be changed from tasks of its client.
_opened: contextvars.ContextVar[list[int]] = contextvars.ContextVar("opened")


class BrokenProbeError(Exception):
    """The probe itself cannot work: a wrong plan, or too few files or ports."""


class LostError(Exception):
    """A request whose connection failed; the cause is aiohttp's error."""


@dataclass(frozen=True)
class Plan:
    """What to send, and what must come back."""

    url: str
    method: str
    headers: dict[str, str]
    body: bytes | None
    connections: int
    requests: int
    expect_status: int
    expect_sha256: str | None
    timeout: float

    @classmethod
    def read(cls, path: Path) -> Plan:
        """The plan of a file. Raises BrokenProbeError."""
        try:
            data = json.loads(path.read_bytes())
            body = data["body"]
            plan = cls(
                url=str(data["url"]),
                method=str(data["method"]),
                headers={str(name): str(value) for name, value in data["headers"].items()},
                body=None if body is None else Path(body).read_bytes(),
                connections=int(data["connections"]),
                requests=int(data["requests"]),
                expect_status=int(data["expect_status"]),
                expect_sha256=data["expect_sha256"],
                timeout=float(data["timeout"]),
            )
        except KeyError as error:
            raise BrokenProbeError(f"{path}: {error.args[0]}: missing") from None
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise BrokenProbeError(f"{path}: {error}") from None
        for name in ("connections", "requests", "timeout"):
            if not getattr(plan, name) > 0:
                raise BrokenProbeError(f"{path}: {name}: must be above zero")
        if not plan.url.startswith("http://"):
            raise BrokenProbeError(f"{path}: url: must begin with http://")
        return plan


@dataclass(slots=True)
class Request:
    """One request: clock readings in nanoseconds, 0 where it did not come to that."""

    n: int
    sent: int
    headers: int = 0
    first_body: int = 0
    ended: int = 0
    status: int = 0
    bytes: int = 0
    opened: bool = False
    altered: bool = False
    error: str = ""

    def row(self, first_sent: int) -> dict[str, Any]:
        """The row of the file, with only what there is."""
        row: dict[str, Any] = {"n": self.n, "start": _seconds(self.sent - first_sent)}
        if self.headers:
            row["headers"] = _seconds(self.headers - self.sent)
        if self.first_body:
            row["first_body"] = _seconds(self.first_body - self.sent)
            row["gap"] = round(row["first_body"] - row["headers"], DIGITS)
        if self.ended:
            row["total"] = _seconds(self.ended - self.sent)
        if self.status:
            row |= {"status": self.status, "bytes": self.bytes}
        row |= {name: True for name in ("opened", "altered") if getattr(self, name)}
        return row | ({"error": self.error} if self.error else {})


def _seconds(nanoseconds: int) -> float:
    return round(nanoseconds / 1e9, DIGITS)


@dataclass
class Answers:
    """Tells right bodies from wrong ones."""

    status: int
    sha256: str | None
    known: bytes | None = field(default=None, repr=False)

    def altered(self, status: int, body: bytes) -> bool:
        """Whether a 2xx answer is not the expected one.

        Called after the request's last time was taken, but on the loop that serves the other connections,
        so it must be quick: a hash only until the first right body is known, from then on a comparison
        with that. Measured on 64 KiB, the comparison takes 1 µs, joining the pieces before it 1 µs, and
        hashing each would take 40 µs and show in the others' times.
        """
        if not 200 <= status < 300:
            return False
        if status != self.status:
            return True
        if self.sha256 is None or body == self.known:
            return False
        if hashlib.sha256(body).hexdigest() != self.sha256:
            return True
        self.known = body
        return False


async def send_once(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """Keep connection errors from aiohttp, which would silently send a GET, PUT or DELETE again.

    A middleware, as the one public place between its connection and its retry.
    """
    try:
        return await handler(request)
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise LostError from error


def name_error(error: BaseException) -> str:
    """The stable name of a request's failure. Raises BrokenProbeError where it is the probe's own."""
    cause = (error.__cause__ or error) if isinstance(error, LostError) else error
    number = cause.errno if isinstance(cause, OSError) else None
    if number in _OWN_ERRNOS:
        raise BrokenProbeError(f"no connection for want of resources: {cause}")
    if isinstance(cause, TimeoutError) or number == errno.ETIMEDOUT:
        return "timeout"
    if number == errno.ECONNREFUSED:
        return "refused"
    if number in (errno.ECONNRESET, errno.EPIPE):
        return "reset"
    # The second: the connection was already closing when the request was to be written.
    if isinstance(cause, aiohttp.ServerDisconnectedError | aiohttp.ClientConnectionResetError):
        return "disconnected"
    if isinstance(cause, aiohttp.ClientPayloadError):
        return "payload"
    if isinstance(cause, aiohttp.ClientResponseError):
        return "malformed"
    return "connect" if isinstance(cause, aiohttp.ClientConnectorError) else "other"


async def exchange(session: aiohttp.ClientSession, plan: Plan, url: URL, record: Request) -> bytes:
    """Send one request and take its times; the answer's body."""
    pieces: list[bytes] = []
    record.sent = _clock()
    response = await session.request(
        plan.method, url, data=plan.body, headers=plan.headers, allow_redirects=False
    )
    record.headers = _clock()
    record.status = response.status
    try:
        while piece := await response.content.readany():
            if not pieces:
                record.first_body = _clock()
            pieces.append(piece)
            record.bytes += len(piece)
        record.ended = _clock()
    finally:
        response.release()
    record.first_body = record.first_body or record.ended
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def open_socket(address: Any) -> socket.socket:
    """A socket for a new connection, counted for the request that opens it."""
    _opened.get()[0] += 1
    family, kind, _, _, _ = address
    # With protocol 0 asyncio would leave Nagle's algorithm on.
    return socket.socket(family, kind, socket.IPPROTO_TCP)


class TimedSelector(selectors.DefaultSelector):
    """The loop's selector, which also tells how long it slept, in nanoseconds.

    Unlike its CPU time, what a loop did not sleep has in it the time it was ready and others had its CPU:
    then, too, an answer waits in the probe. Costs two clock readings a turn of the loop.
    """

    idle = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is not None and timeout <= 0:
            return super().select(timeout)
        start = _clock()
        try:
            return super().select(timeout)
        finally:
            self.idle += _clock() - start


async def run(plan: Plan, selector: TimedSelector) -> tuple[list[Request], dict[str, Any]]:
    """All requests in order of sending, and what the process used meanwhile.

    As many tasks as connections, each sending its next request when its last one ended (a closed loop).
    """
    # Verbatim: the generator's requests are not normalised either.
    url = URL(plan.url, encoded=True)
    answers = Answers(plan.expect_status, plan.expect_sha256)
    numbers = iter(range(1, plan.requests + 1))
    records: list[Request] = []
    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(
            limit=plan.connections,
            force_close=False,
            keepalive_timeout=plan.timeout + 60,
            socket_factory=open_socket,
        ),
        # Without a threshold above it, aiohttp rounds a long timeout up to a whole second of its clock.
        timeout=aiohttp.ClientTimeout(total=plan.timeout, ceil_threshold=float("inf")),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        trust_env=False,
        skip_auto_headers=["Accept-Encoding", "Content-Type"],
        middlewares=[send_once],
    )

    async def connection() -> None:
        opened = [0]
        _opened.set(opened)
        for n in numbers:
            record = Request(n, 0)
            records.append(record)
            before = opened[0]
            try:
                body = await exchange(session, plan, url, record)
                record.altered = answers.altered(record.status, body)
            except (aiohttp.ClientError, OSError, LostError) as error:
                record.error = name_error(error)
            record.opened = opened[0] > before

    async with session:
        cpu, idle, start = time.process_time(), selector.idle, _clock()
        async with asyncio.TaskGroup() as group:
            for _ in range(min(plan.connections, plan.requests)):
                group.create_task(connection())
        wall, slept = (_clock() - start) / 1e9, (selector.idle - idle) / 1e9
        cpu_seconds = time.process_time() - cpu
    loop = type(asyncio.get_running_loop())
    about = {
        "loop": f"{loop.__module__}.{loop.__qualname__}",
        "wall": wall,
        "cpu_seconds": cpu_seconds,
        "cpu_share": cpu_seconds / wall,
        "busy_share": 1 - slept / wall,
    }
    return records, about


def write(folder: Path, plan: Plan, records: list[Request], about: dict[str, Any]) -> None:
    """The two files, each whole or not at all, ``probe.json`` last."""
    lines = [json.dumps(record.row(records[0].sent)) + "\n" for record in records]
    packed = io.BytesIO()
    # No name and no time inside: the same rows are the same bytes.
    with gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=0) as file:
        file.write("".join(lines).encode())
    described = {
        "version": VERSION,
        "client": f"aiohttp {aiohttp.__version__}",
        "parser": "C" if http_parser.HttpResponseParser is not http_parser.HttpResponseParserPy else "Python",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "method": plan.method,
        "url": plan.url,
        "requests": plan.requests,
        "connections": plan.connections,
        "timeout": plan.timeout,
        "expect_status": plan.expect_status,
        "expect_sha256": plan.expect_sha256,
        **about,
    }
    _replace(folder / ROWS, packed.getvalue())
    _replace(folder / ABOUT, json.dumps(described, indent=1).encode() + b"\n")


def _replace(path: Path, data: bytes) -> None:
    scratch = path.with_name(f"{path.name}.new")
    scratch.write_bytes(data)
    os.replace(scratch, path)  # noqa: PTH105


def _allow_files(needed: int) -> None:
    """Raise the limit of open files as far as needed and allowed; what is still missing shows as EMFILE."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def main(arguments: list[str]) -> int:
    """The exit status: 0 with both files written, 2 with the reason on standard error."""
    if len(arguments) != 2:
        print("usage: python -I probe.py PLAN.json OUT_DIR", file=sys.stderr)
        return 2
    folder = Path(arguments[1])
    try:
        plan = Plan.read(Path(arguments[0]))
        folder.mkdir(parents=True, exist_ok=True)
        for name in (ROWS, ABOUT):
            (folder / name).unlink(missing_ok=True)
        _allow_files(plan.connections + SPARE_FILES)
        # Not the policy's loop, which a package installed here may have made another.
        selector = TimedSelector()
        with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selector)) as runner:
            records, about = runner.run(run(plan, selector))
        write(folder, plan, records, about)
    except (BrokenProbeError, OSError) as error:
        return _broken(error)
    except BaseExceptionGroup as group:
        broken = group.subgroup(BrokenProbeError)
        if broken is None:
            raise
        return _broken(broken.exceptions[0])
    return 0


def _broken(reason: BaseException) -> int:
    print(f"probe: {reason}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
