"""An HTTP/1.1 server of known behaviour with exact counters, to hold load generators and checks against.

``python tests/truth_server.py --port N --mode MODE`` serves on 127.0.0.1 from one process, standard
library only. Every request except those to ``/_identity`` is counted on arrival and numbered from 1;
what happens to it depends on that number alone, so a test can say beforehand what a generator must see.

    ok          every reply ``{"ok": true}`` after ``--delay`` seconds
    two-mode    every ``--every``th reply takes ``--slow`` seconds, the others ``--delay``
    errors      every ``--every``th reply is a 500
    abort       every ``--every``th request gets no reply: its connection is closed
    stall       the whole process sleeps ``--stall`` seconds once, on request ``--after`` + 1
    wrong-body  replies ``{"ok": false}``
    altered     every ``--every``th reply's body has another last byte
    created     every ``--every``th reply is a 201
    cut         every ``--every``th reply ends after half of its body, and so does the connection
    reset       every ``--every``th request gets no reply: its connection is reset
    garbage     every ``--every``th reply is not HTTP
    leave       after every ``--every``th reply, whole, the connection is closed without a word before
    hang        no reply ever again, connections stay open (``--hang-identity``: the identity too)
    die         the process exits with status 3 without replying

A right body is ``{"ok": true}``, or ``--size`` bytes; ``--gap`` seconds lie between headers and body.
The fault of a mode begins after ``--after`` requests, and once the file ``--trigger`` is there. ``GET
/_identity`` answers the worker's identity and, under ``truth``, the counters: ``arrived`` = ``ok`` +
``errors`` + ``aborted`` + ``hung`` + ``unfinished`` (in delay at this moment, or the client left before the
reply was written).
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from typing import Any

IDENTITY = b"/_identity"
PERIODIC = ("two-mode", "errors", "abort", "altered", "created", "cut", "reset", "garbage", "leave")
MODES = ("ok", *PERIODIC, "stall", "wrong-body", "hang", "die")
RIGHT = b'{"ok": true}'
WRONG = b'{"ok": false}'
DIED = 3
MAX_HEAD = 64 * 1024


def reply(status: str, body: bytes, *, head: bool = False, close: bool = False) -> bytes:
    """One whole response; ``head`` leaves the body out, as a HEAD request wants."""
    connection = b"connection: close\r\n" if close else b""
    start = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
    return start.encode() + connection + b"\r\n" + (b"" if head else body)


class Truth:
    """The counters, and what happens to the request of a given number."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.right = RIGHT if options.size is None else b"x" * options.size
        self.connections = 0
        self.arrived = 0
        self.ok = 0
        self.errors = 0
        self.aborted = 0
        self.hung = 0
        self.first_arrival: float | None = None
        self.last_reply: float | None = None
        self.last_request: tuple[bytes, bytes] = (b"", b"")

    def arrive(self) -> int:
        """Count a request; its number, from 1."""
        if self.first_arrival is None:
            self.first_arrival = time.monotonic()
        self.arrived += 1
        return self.arrived

    def faulty(self, number: int) -> bool:
        """Whether the mode's fault strikes this request."""
        mode: str = self.options.mode
        past: int = number - self.options.after
        every: int = self.options.every
        if past <= 0 or mode == "ok":
            return False
        if self.options.trigger and not os.path.exists(self.options.trigger):  # noqa: PTH110
            return False
        if mode in PERIODIC:
            return past % every == 0
        return past == 1 or mode != "stall"

    def identity(self) -> bytes:
        """The JSON of the identity endpoint."""
        loop = type(asyncio.get_running_loop())
        head, body = self.last_request
        lines = head.decode("latin-1").split("\r\n")
        done = self.ok + self.errors + self.aborted + self.hung
        answer = {
            "pid": os.getpid(),
            "loop": f"{loop.__module__}.{loop.__qualname__}",
            "affinity": sorted(os.sched_getaffinity(0)),
            "requests": self.arrived,
            "workers": {str(os.getpid()): self.arrived},
            "tasks": len(asyncio.all_tasks()),
            "truth": {
                "connections": self.connections,
                "arrived": self.arrived,
                "ok": self.ok,
                "errors": self.errors,
                "aborted": self.aborted,
                "hung": self.hung,
                "unfinished": self.arrived - done,
                # From the first arrival to the last reply written, in seconds; None before both.
                "seconds": self.last_reply - self.first_arrival
                if self.first_arrival is not None and self.last_reply is not None
                else None,
                "last_request": {
                    "line": lines[0],
                    "headers": {
                        name.lower(): value.strip()
                        for name, _, value in (h.partition(":") for h in lines[1:])
                    },
                    "body": body.decode("utf-8", "replace"),
                },
            },
        }
        return json.dumps(answer).encode()


class Connection(asyncio.Protocol):
    """One client connection: requests one after another, a pipelined one waits its turn."""

    transport: asyncio.Transport

    def __init__(self, truth: Truth) -> None:
        self.truth = truth
        self.buffer = bytearray()
        self.busy = False
        self.closed = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.truth.connections += 1

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        if not self.busy:
            self._next()

    def _next(self) -> None:
        """Take the next whole request from the buffer, if there is one."""
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self.buffer) > MAX_HEAD:
                self._refuse("431 Request Header Fields Too Large")
            return
        head = bytes(self.buffer[:end])
        headers = {
            name.strip().lower(): value.strip()
            for name, _, value in (line.partition(b":") for line in head.split(b"\r\n")[1:])
        }
        length = headers.get(b"content-length", b"0")
        start = head.split(b"\r\n", 1)[0].split(b" ")
        if len(start) != 3 or not length.isdigit():
            self._refuse("400 Bad Request")
            return
        if b"transfer-encoding" in headers:
            self._refuse("411 Length Required")
            return
        size = end + 4 + int(length)
        if len(self.buffer) < size:
            return
        body = bytes(self.buffer[end + 4 : size])
        del self.buffer[:size]
        self.busy = True
        close = headers.get(b"connection", b"").lower() == b"close"
        self._handle(start[0] == b"HEAD", start[1].split(b"?", 1)[0], close, head, body)

    def _handle(self, is_head: bool, path: bytes, close: bool, head: bytes, body: bytes) -> None:
        truth, options = self.truth, self.truth.options
        if path == IDENTITY:
            hanging = options.mode == "hang" and truth.arrived > options.after
            if not (hanging and options.hang_identity):
                self._write(reply("200 OK", truth.identity(), head=is_head, close=close), close)
            return
        number = truth.arrive()
        truth.last_request = (head, body)
        faulty = truth.faulty(number)
        status, answer, delay = "200 OK", truth.right, options.delay
        leave = close
        if faulty and options.mode == "die":
            os._exit(DIED)
        if faulty and options.mode == "hang":
            truth.hung += 1
            return
        if faulty and options.mode == "abort":
            truth.aborted += 1
            self.transport.close()
            return
        if faulty and options.mode == "reset":
            truth.aborted += 1
            self._reset()
            return
        if faulty and options.mode == "stall":
            time.sleep(options.stall)
        elif faulty and options.mode == "two-mode":
            delay = options.slow
        elif faulty and options.mode == "errors":
            status, answer = "500 Internal Server Error", WRONG
        elif faulty and options.mode == "wrong-body":
            answer = WRONG
        elif faulty and options.mode == "altered":
            answer = answer[:-1] + bytes([answer[-1] ^ 1])
        elif faulty and options.mode == "created":
            status = "201 Created"
        elif faulty and options.mode == "leave":
            leave = True
        data = reply(status, answer, head=is_head, close=close)
        # These two are counted among the errors, whatever status they tell.
        if faulty and options.mode == "cut":
            status, data, leave = "", data[: len(data) - len(answer) // 2], True
        elif faulty and options.mode == "garbage":
            status, data, leave = "", b"nothing of HTTP\r\n\r\n", True
        if delay > 0:
            asyncio.get_running_loop().call_later(delay, self._answer, status, data, leave)
        else:
            self._answer(status, data, leave)

    def _answer(self, status: str, data: bytes, close: bool) -> None:
        """Write a counted reply, its body ``--gap`` seconds after its headers."""
        if not self.truth.options.gap:
            self._finish(status, data, close)
        elif not self.closed and not self.transport.is_closing():
            end = data.find(b"\r\n\r\n") + 4
            self.transport.write(data[:end])
            asyncio.get_running_loop().call_later(
                self.truth.options.gap, self._finish, status, data[end:], close
            )

    def _reset(self) -> None:
        """Close the connection by a reset: what is left to linger for no time is thrown away."""
        raw = self.transport.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def _finish(self, status: str, data: bytes, close: bool) -> None:
        """Write the last of a counted reply, unless the client has left."""
        if self.closed or self.transport.is_closing():
            return
        if status.startswith("2"):
            self.truth.ok += 1
        else:
            self.truth.errors += 1
        self.truth.last_reply = time.monotonic()
        self._write(data, close)

    def _write(self, data: bytes, close: bool) -> None:
        self.transport.write(data)
        self.busy = False
        if close:
            self.transport.close()
        elif self.buffer:
            # Not a direct call, so that a long pipeline does not recurse.
            asyncio.get_running_loop().call_soon(self._resume)

    def _resume(self) -> None:
        if not self.busy and not self.closed:
            self._next()

    def _refuse(self, status: str) -> None:
        self._write(reply(status, WRONG, close=True), close=True)


async def serve(options: argparse.Namespace) -> None:
    """Serve until SIGTERM or SIGINT."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set if not options.ignore_sigterm else lambda: None)
    truth = Truth(options)
    server = await loop.create_server(
        lambda: Connection(truth), options.host, options.port, backlog=4096, reuse_address=True
    )
    print(f"serving {options.host}:{server.sockets[0].getsockname()[1]}", flush=True)
    await stop.wait()
    server.close()


def parse(argv: list[str] | None = None) -> argparse.Namespace:
    """The command line; times in seconds."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument(
        "--port", type=int, default=0, help="0 takes a free one; the first line printed names it"
    )
    parser.add_argument("--mode", choices=MODES, default="ok")
    parser.add_argument("--delay", type=float, default=0.0, help="before every reply")
    parser.add_argument("--gap", type=float, default=0.0, help="between headers and body")
    parser.add_argument("--size", type=int, default=None, help="of a right body, in bytes")
    parser.add_argument("--slow", type=float, default=0.2, help="of two-mode")
    parser.add_argument("--every", type=int, default=None, help="two-mode 50, others 10")
    parser.add_argument("--stall", type=float, default=1.0)
    parser.add_argument("--after", type=int, default=0, help="requests before the fault begins")
    parser.add_argument("--trigger", help="a file; the fault begins once it is there")
    parser.add_argument("--ignore-sigterm", action="store_true", help="and SIGINT")
    parser.add_argument("--hang-identity", action="store_true")
    options = parser.parse_args(argv)
    if options.every is None:
        options.every = 50 if options.mode == "two-mode" else 10
    if options.every < 1:
        parser.error("--every must be at least 1")
    return options


class Served:
    """A running truth server: its base URL, its process, and its identity."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self.process = process
        self.port = port
        self.url = f"http://127.0.0.1:{port}/"

    def identity(self) -> dict[str, Any]:
        """The identity JSON. Raises OSError if the server does not answer within five seconds."""
        with urllib.request.urlopen(self.url + "_identity", timeout=5) as answer:
            found: dict[str, Any] = json.load(answer)
            return found


@contextlib.contextmanager
def serving(arguments: Sequence[str]) -> Iterator[Served]:
    """A truth server of its own process on a free port, stopped at the end."""
    argv = [sys.executable, __file__, "--port", "0", *arguments]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            first = process.stdout.readline()
            yield Served(process, int(first.rpartition(":")[2]))
        finally:
            process.kill()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(parse()))
