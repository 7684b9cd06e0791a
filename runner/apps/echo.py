"""The upstream of the proxy suite: native aiohttp on uvloop, in as many processes as wanted.

POST /echo answers the bytes and the content type of the request; GET /ready answers 200. One process
accepts every connection and hands them to the workers in turn. Neither of the usual ways spreads that
evenly: the kernel's hash over listeners that share a port (SO_REUSEPORT) gives one of two workers 16 of 25
connections or more about every fourth time, and of workers that wait on one socket the first to wake takes
what it finds. A proxy keeps its connections, so the spread of a run's first second stays for all of it.

A channel joins each worker to the accepting process; whoever ends, the other end sees it. SIGTERM and
SIGINT stop all (exit status 0); when a worker ends by itself, so do the others (1).
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import selectors
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aiohttp import web

LARGEST_BODY = 64 * 2**20
STOPPING = (signal.SIGTERM, signal.SIGINT)


class Worker:
    """A worker process and this end of its channel."""

    def __init__(self) -> None:
        self.channel, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other:
            command = [sys.executable, __file__, "--channel", str(other.fileno())]
            self.process = subprocess.Popen(command, pass_fds=[other.fileno()])

    def ready(self) -> bool:
        """Wait until it serves; False if it ended instead."""
        return self.channel.recv(1) == b"r"

    def hand(self, connection: socket.socket) -> None:
        """Give it a connection. Raises OSError if it has ended."""
        socket.send_fds(self.channel, [b"c"], [connection.fileno()])

    def end(self) -> None:
        """End it by closing the channel; by force after 2 s."""
        self.channel.close()
        try:
            self.process.wait(2)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def accept(host: str, port: int, workers: int) -> int:
    """Start the workers and hand them connections until a signal or the end of one; the exit status."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError as error:
            print(f"echo.py: {host}:{port}: {error.strerror}", file=sys.stderr)
            return 1
        started: list[Worker] = []
        try:
            # Blocked while workers start, so that none is lost; a worker keeps them blocked and obeys its
            # channel, whether one process gets a signal or the whole group.
            signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
            for number in STOPPING:
                signal.signal(number, _stop)
            started += (Worker() for _ in range(workers))
            signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
            if all(worker.ready() for worker in started):
                _hand_out(listener, started)
        except _Stopped:
            return 0
        finally:
            signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
            for worker in started:
                worker.end()
    print("echo.py: a worker ended by itself", file=sys.stderr)
    return 1


class _Stopped(BaseException):
    """A signal asked for the end."""


def _stop(number: int, frame: object) -> None:
    for awaited in STOPPING:
        signal.signal(awaited, signal.SIG_IGN)  # a second one must not interrupt the end
    raise _Stopped


def _hand_out(listener: socket.socket, workers: list[Worker]) -> None:
    """Accept and hand out connections until a worker has ended."""
    # Only now: until every worker is ready, a connection is refused.
    listener.listen(2048)
    listener.setblocking(False)
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    for worker in workers:
        selector.register(worker.channel, selectors.EVENT_READ)
    turns = itertools.cycle(workers)
    while all(key.fileobj is listener for key, _ in selector.select()):
        try:
            connection, _ = listener.accept()
        except (BlockingIOError, ConnectionAbortedError):  # the client has gone again
            continue
        with connection:
            try:
                next(turns).hand(connection)
            except OSError:
                return


def application() -> web.AppRunner:
    """The two routes, ready to be set up; no connection of theirs is logged or compressed."""
    from aiohttp import web  # here, and uvloop in `main`: the accepting process needs neither

    async def echo(request: web.Request) -> web.Response:
        kind = request.headers.get("Content-Type", "application/octet-stream")
        try:
            body = await request.read()
        except ConnectionResetError:  # whoever asked has gone: no error of the upstream, nothing to log
            return web.Response(status=400)
        return web.Response(body=body, headers={"Content-Type": kind})

    async def ready(request: web.Request) -> web.Response:
        return web.Response(text="ready")  # every worker serves, or the port would refuse connections

    app = web.Application(client_max_size=LARGEST_BODY)
    app.router.add_post("/echo", echo)
    app.router.add_get("/ready", ready)
    return web.AppRunner(
        app, access_log=None, handle_signals=False, shutdown_timeout=0.5, auto_decompress=False
    )


async def serve(channel: socket.socket) -> None:
    """Serve the connections that come over the channel until its other end is closed."""
    runner = application()
    await runner.setup()
    server = runner.server
    assert server is not None  # the runner has been set up
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    connecting: set[asyncio.Task[object]] = set()

    def take() -> None:
        message, descriptors, _, _ = socket.recv_fds(channel, 1, 1)
        if not descriptors:
            if message:
                print("echo.py: a connection came without a free file descriptor for it", file=sys.stderr)
            loop.remove_reader(channel)
            ended.set()
            return
        connection = socket.socket(fileno=descriptors[0])
        task: asyncio.Task[object] = loop.create_task(loop.connect_accepted_socket(server, connection))
        connecting.add(task)
        task.add_done_callback(connecting.discard)

    loop.add_reader(channel, take)
    channel.send(b"r")
    await ended.wait()
    await runner.cleanup()


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until told to stop; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--channel", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.channel is None:
        if options.port is None or options.workers < 1:
            parser.error("--port is needed, and a positive number of --workers")
        return accept(options.host, options.port, options.workers)
    import uvloop

    with socket.socket(fileno=options.channel) as channel:
        channel.setblocking(False)
        uvloop.run(serve(channel))
    return 0


if __name__ == "__main__":
    sys.exit(main())
