"""The proxy application, its echo upstream and the shop without Nagle, each as real processes."""

from __future__ import annotations

import asyncio
import gzip
import http.client
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pytest

from runner import suite
from runner.apps import counter as counters
from runner.program import free_port
from tests.capturing import ended

APPS = Path(counters.__file__).parent
PROXY = suite.load("proxy")
CLIENTS = ("aiohttp", "httpx")
TIMEOUT_S = 5.0  # as the suite's page says


# --- Processes ---------------------------------------------------------------------------------------


def wait_until(true: Callable[[], bool], limit: float = 20) -> None:
    end = time.monotonic() + limit
    while time.monotonic() < end:
        with suppress(OSError, http.client.HTTPException):
            if true():
                return
        time.sleep(0.01)
    pytest.fail("timed out")


@contextmanager
def running(command: list[str], log: Path, **env: str) -> Iterator[subprocess.Popen[bytes]]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=APPS,
            env={**os.environ, "PATH": path, "PYTHONPATH": str(APPS), **env},
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    with ended(process):
        yield process


class Served(NamedTuple):
    """A server, its port, its log and its file of request counts."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path
    counts: Path


@contextmanager
def serving(loaded: suite.LoadedSuite, name: str, workers: int, folder: Path, **env: str) -> Iterator[Served]:
    server = next(server for server in loaded.suite.server if server.name == name)
    port, counts, log = free_port(), folder / f"{name}.counters", folder / f"{name}.log"
    counters.create(counts, 16)
    command = server.argv(
        app=loaded.suite.app, host="127.0.0.1", port=port, workers=workers, python=sys.executable
    )
    with running(command, log, **{counters.VARIABLE: str(counts)}, **env) as process:
        yield Served(process, port, log, counts)


@contextmanager
def echoing(workers: int, folder: Path) -> Iterator[Served]:
    upstream = PROXY.suite.upstream
    assert upstream is not None
    port, log = free_port(), folder / "echo.log"
    values: dict[str, Any] = {"host": "127.0.0.1", "port": port, "workers": workers}
    command = [item.format(python=sys.executable, **values) for item in upstream.command]
    with running(command, log) as process:
        wait_until(lambda: ask(port, "GET", "/ready").status == 200)
        yield Served(process, port, log, log)


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


def ask(
    port: int | http.client.HTTPConnection, method: str, path: str, body: bytes | None = None, kind: str = ""
) -> Answer:
    """One request, on a connection of its own where a port is given."""
    own = http.client.HTTPConnection("127.0.0.1", port, timeout=20) if isinstance(port, int) else None
    connection = own or port
    assert isinstance(connection, http.client.HTTPConnection)
    try:
        connection.request(method, path, body, {"Content-Type": kind} if kind else {})
        got = connection.getresponse()
        headers = {name.lower(): value for name, value in got.getheaders()}
        return Answer(got.status, headers, got.read())
    finally:
        if own:
            own.close()


def identity(port: int | http.client.HTTPConnection) -> dict[str, Any]:
    return json.loads(ask(port, "GET", "/_identity").body)


@contextmanager
def one_to_each_worker(port: int, workers: int) -> Iterator[list[http.client.HTTPConnection]]:
    """A kept connection to each worker."""
    found: dict[int, http.client.HTTPConnection] = {}

    def all_found() -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        kept = found.setdefault(identity(connection)["pid"], connection)
        if kept is not connection:
            connection.close()
        return len(found) == workers

    try:
        wait_until(all_found)
        yield list(found.values())
    finally:
        for connection in found.values():
            connection.close()


def together(calls: list[Callable[[], Answer]]) -> list[Answer]:
    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result() for future in [pool.submit(call) for call in calls]]


# --- An upstream that does what the body says --------------------------------------------------------


class Stub:
    """An HTTP upstream in a thread: answers by the request's body, counts connections, keeps headers."""

    TRICKLE = (b"drop ", b"by ", b"drop ", b"by ", b"drop")

    def __init__(self) -> None:
        self.port = 0
        self.accepted = 0
        self.held = 0
        self.seen: list[dict[str, str]] = []
        self.release = threading.Event()
        self._started = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Stub:
        self._thread.start()
        assert self._started.wait(10)
        return self

    def __exit__(self, *error: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def _run(self) -> None:
        async def start() -> None:
            server = await asyncio.start_server(self._connected, "127.0.0.1", 0, backlog=512)
            self.port = server.sockets[0].getsockname()[1]
            self._started.set()

        task = self._loop.create_task(start())
        self._loop.run_forever()
        assert task.done()
        for left in asyncio.all_tasks(self._loop):
            left.cancel()
        self._loop.run_until_complete(asyncio.sleep(0.01))

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        with suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                headers = {
                    name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:])
                }
                self.seen.append({"request": head[0], **headers})
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                await self._answer(body, reader, writer)
        writer.close()

    async def _answer(self, body: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        status, extra = "200 OK", "content-type: text/x-stub; a=b\r\n"
        parts: tuple[bytes, ...] = (body,)
        if body == b"alter":
            parts = (b"al\xfft\x00er",)
        elif body == b"gzip":
            parts, extra = (gzip.compress(b"{}", mtime=0),), extra + "content-encoding: gzip\r\n"
        elif body == b"fail":
            status = "418 Teapot"
        elif body == b"move":
            status, extra = "307 Elsewhere", extra + "location: /elsewhere\r\n"
        elif body == b"silence":
            await reader.read()  # until the other end gives up
            raise ConnectionAbortedError
        elif body == b"trickle":
            parts = self.TRICKLE
        elif body == b"cut":
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\ncut")
            await writer.drain()
            raise ConnectionAbortedError
        elif body == b"hold":
            self.held += 1
            while not self.release.is_set():
                await asyncio.sleep(0.01)
        size = sum(map(len, parts))
        writer.write(f"HTTP/1.1 {status}\r\n{extra}content-length: {size}\r\n\r\n".encode())
        for part in parts:
            if len(parts) > 1:
                await asyncio.sleep(TIMEOUT_S * 1.5 / len(parts))
            writer.write(part)
            await writer.drain()


@pytest.fixture
def stub() -> Iterator[Stub]:
    with Stub() as stub:
        yield stub


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("proxy")


@pytest.fixture(scope="module")
def shared(folder: Path) -> Iterator[tuple[Stub, Served]]:
    """A stub and a proxy with one worker before it, for tests that leave them as they were."""
    with ExitStack() as stack:
        stub = stack.enter_context(Stub())
        # Settings that the clients must not follow: a proxy that refuses every connection.
        nowhere = dict.fromkeys(("HTTP_PROXY", "http_proxy", "ALL_PROXY"), f"http://127.0.0.1:{free_port()}")
        served = stack.enter_context(
            serving(PROXY, "uvicorn-httptools", 1, folder, LAPSHEET_UPSTREAM=stub.url, **nowhere)
        )
        wait_until(lambda: identity(served.port)["timeouts"] == 0)
        yield stub, served


# --- The proxy ---------------------------------------------------------------------------------------

BODIES = [
    *(workload.payload.text.encode() for workload in PROXY.suite.workload if workload.payload),
    '{"größe": "٣ ☃ 𝄞"}'.encode(),
    '{"größe": 1}'.encode("latin-1"),
    b'{"open": [1, 2,',
    bytes(range(256)),
    b"",
]


def test_both_clients_return_exactly_what_the_upstream_echoes(tmp_path: Path) -> None:
    assert {1036, 65548} <= set(map(len, BODIES))
    with echoing(2, tmp_path) as echo:
        upstream = f"http://127.0.0.1:{echo.port}"
        with serving(PROXY, "uvicorn-httptools", 1, tmp_path, LAPSHEET_UPSTREAM=upstream) as proxy:
            wait_until(lambda: identity(proxy.port)["requests"] == 0)
            for client in CLIENTS:
                for body in BODIES:
                    for kind in ("application/json", 'text/x-odd; charset="latin-1"'):
                        got = ask(proxy.port, "POST", f"/proxy/{client}", body, kind)
                        assert (got.status, got.headers["content-type"]) == (200, kind)
                        assert got.body == body
            assert identity(proxy.port)["requests"] == len(CLIENTS) * len(BODIES) * 2


@pytest.mark.parametrize("client", CLIENTS)
def test_what_the_upstream_changes_stays_changed(client: str, shared: tuple[Stub, Served]) -> None:
    stub, proxy = shared
    altered = ask(proxy.port, "POST", f"/proxy/{client}", b"alter", "application/json")
    assert (altered.status, altered.body) == (200, b"al\xfft\x00er")
    assert altered.headers["content-type"] == "text/x-stub; a=b"
    assert ask(proxy.port, "POST", f"/proxy/{client}", b"fail").status == 418
    assert ask(proxy.port, "POST", f"/proxy/{client}", b"move").status == 307
    zipped = ask(proxy.port, "POST", f"/proxy/{client}", b"gzip")
    assert (zipped.body, zipped.headers["content-encoding"]) == (gzip.compress(b"{}", mtime=0), "gzip")
    assert {seen["request"] for seen in stub.seen} == {"POST /echo HTTP/1.1"}
    assert not any("accept-encoding" in seen for seen in stub.seen)


@pytest.mark.parametrize("client", CLIENTS)
def test_an_answer_cut_short_is_a_bad_gateway(client: str, shared: tuple[Stub, Served]) -> None:
    _, proxy = shared
    got = ask(proxy.port, "POST", f"/proxy/{client}", b"cut")
    assert got.status == 502
    assert got.body.startswith(f"{client} failed: ".encode())
    assert identity(proxy.port)["timeouts"] == 0


def test_a_worker_has_one_pool_a_client_of_100_connections(tmp_path: Path, stub: Stub) -> None:
    with serving(PROXY, "uvicorn-httptools", 1, tmp_path, LAPSHEET_UPSTREAM=stub.url) as proxy:
        wait_until(lambda: identity(proxy.port)["requests"] == 0)
        for number, client in enumerate(CLIENTS, start=1):
            path = f"/proxy/{client}"
            for _ in range(10):
                assert ask(proxy.port, "POST", path, b"one by one").body == b"one by one"
            assert stub.accepted == 100 * (number - 1) + 1
            stub.release.clear()
            stub.held = 0
            with ThreadPoolExecutor(110) as pool:
                calls = [pool.submit(ask, proxy.port, "POST", path, b"hold") for _ in range(110)]
                wait_until(lambda: stub.held == 100)
                wait_until(lambda number=number: identity(proxy.port)["requests"] == 120 * number)
                time.sleep(0.1)
                assert stub.held == 100  # the other ten wait for one of the hundred
                stub.release.set()
                assert {call.result().status for call in calls} == {200}
            assert stub.accepted == 100 * number


def test_every_worker_has_clients_of_its_own(tmp_path: Path, stub: Stub) -> None:
    with (
        serving(PROXY, "uvicorn-httptools", 2, tmp_path, LAPSHEET_UPSTREAM=stub.url) as proxy,
        one_to_each_worker(proxy.port, 2) as connections,
    ):
        for connection in connections * 5:
            for client in CLIENTS:
                assert ask(connection, "POST", f"/proxy/{client}", b"x").status == 200
        assert stub.accepted == 4


def test_clients_are_closed_with_the_server(tmp_path: Path, stub: Stub) -> None:
    # uvloop warns of every connection that is open when the loop closes, and Hypercorn closes its loop.
    strict = {"LAPSHEET_UPSTREAM": stub.url, "PYTHONWARNINGS": "always::ResourceWarning"}
    with serving(PROXY, "hypercorn-uvloop", 1, tmp_path, **strict) as proxy:
        wait_until(lambda: identity(proxy.port)["requests"] == 0)
        for client in CLIENTS:
            assert ask(proxy.port, "POST", f"/proxy/{client}", b"x").status == 200
        proxy.process.terminate()
        assert proxy.process.wait(10) == 0
        assert "unclosed" not in proxy.log.read_text().lower()


def test_a_timeout_is_answered_and_counted_over_all_workers(tmp_path: Path, stub: Stub) -> None:
    with (
        serving(PROXY, "uvicorn-httptools", 2, tmp_path, LAPSHEET_UPSTREAM=stub.url) as proxy,
        ExitStack() as stack,
    ):
        sets = [stack.enter_context(one_to_each_worker(proxy.port, 2)) for _ in range(4)]
        wanted = [(client, body) for client in CLIENTS for body in (b"silence", b"trickle")]
        calls: list[Callable[[], Answer]] = []
        for (client, body), connections in zip(wanted, sets, strict=True):
            for connection in connections:
                calls.append(lambda c=connection, p=f"/proxy/{client}", b=body: ask(c, "POST", p, b))
        begin = time.monotonic()
        answers = together(calls)
        assert TIMEOUT_S <= time.monotonic() - begin < TIMEOUT_S * 2.4
        statuses = [answer.status for answer in answers]
        # Silence ends both; drops that come within 5 s of each other, but take 7.5 in all, end only aiohttp.
        assert statuses == [504, 504, 504, 504, 504, 504, 200, 200]
        assert answers[0].body.startswith(b"aiohttp timed out: ")
        assert answers[4].body.startswith(b"httpx timed out: ")
        assert answers[6].body == b"".join(Stub.TRICKLE)
        for connection in sets[0]:
            told = identity(connection)
            assert (told["timeouts"], told["requests"]) == (6, 8)
        assert sorted(counters.read(f"{proxy.counts}.timeouts").values()) == [3, 3]


def test_an_upstream_that_is_down_is_a_bad_gateway_and_no_timeout(tmp_path: Path) -> None:
    upstream = f"http://127.0.0.1:{free_port()}"
    with serving(PROXY, "uvicorn-httptools", 1, tmp_path, LAPSHEET_UPSTREAM=upstream) as proxy:
        wait_until(lambda: identity(proxy.port)["requests"] == 0)
        for client in CLIENTS:
            got = ask(proxy.port, "POST", f"/proxy/{client}", b"{}", "application/json")
            assert got.status == 502
            assert got.body.startswith(f"{client} failed: ".encode())
        assert identity(proxy.port)["timeouts"] == 0


def test_without_an_upstream_the_server_does_not_start(tmp_path: Path) -> None:
    with serving(PROXY, "uvicorn-httptools", 1, tmp_path, LAPSHEET_UPSTREAM="") as proxy:
        assert proxy.process.wait(15) != 0
        assert "LAPSHEET_UPSTREAM is ''" in proxy.log.read_text()


def test_a_counter_beside_another_is_made_once_by_whoever_comes_first(tmp_path: Path) -> None:
    counters.create(tmp_path / "counters", 3)
    first = counters.Counter(tmp_path / "counters").beside(".timeouts")
    first.increment()
    second = counters.Counter(tmp_path / "counters").beside(".timeouts")
    second.increment()
    assert second.totals() == {os.getpid(): 2}
    assert (tmp_path / "counters.timeouts").stat().st_size == 3 * counters.SLOT_BYTES
    assert sorted(path.name for path in tmp_path.iterdir()) == ["counters", "counters.timeouts"]
    with pytest.raises(counters.CounterError, match=r"none\.timeouts \(beside LAPSHEET_COUNTERS\).*No such"):
        counters.Counter(tmp_path / "none").beside(".timeouts")
    private = counters.Counter().beside(".timeouts")
    private.increment()
    assert private.totals() == {os.getpid(): 1}


# --- The echo upstream -------------------------------------------------------------------------------


def workers_of(echo: Served) -> list[psutil.Process]:
    return psutil.Process(echo.process.pid).children()


def alive(process: psutil.Process) -> bool:
    # An orphan that has ended may stay a zombie until the system's first process looks at it.
    with suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def test_echo_gives_every_worker_its_share_of_the_connections(tmp_path: Path) -> None:
    with echoing(3, tmp_path) as echo, ExitStack() as stack:
        for _ in range(24):
            connection = http.client.HTTPConnection("127.0.0.1", echo.port, timeout=20)
            stack.callback(connection.close)
            assert ask(connection, "GET", "/ready").status == 200
        got = ask(connection, "POST", "/echo", bytes(3 * 2**20), "a/b")
        assert (got.status, got.headers["content-type"], got.body) == (200, "a/b", bytes(3 * 2**20))
        held = Counter(
            worker.pid
            for worker in workers_of(echo)
            for open_ in worker.net_connections("tcp")
            if open_.laddr.port == echo.port and open_.status == psutil.CONN_ESTABLISHED
        )
        assert list(held.values()) == [8, 8, 8]


def test_echo_ends_whole_when_a_worker_dies(tmp_path: Path) -> None:
    with echoing(3, tmp_path) as echo:
        workers = workers_of(echo)
        assert len(workers) == 3
        workers[1].kill()
        assert echo.process.wait(5) == 1
        assert not any(map(alive, workers))
        assert "a worker ended by itself" in echo.log.read_text()


@pytest.mark.parametrize("whole_group", [False, True])
def test_echo_stops_at_once_on_sigterm_under_load(tmp_path: Path, whole_group: bool) -> None:
    with echoing(2, tmp_path) as echo, ExitStack() as stack:
        workers = workers_of(echo)
        for _ in range(10):  # kept connections, and one whose body never comes
            connection = http.client.HTTPConnection("127.0.0.1", echo.port, timeout=20)
            stack.callback(connection.close)
            assert ask(connection, "GET", "/ready").status == 200
        connection.putrequest("POST", "/echo")
        connection.putheader("Content-Length", "10")
        connection.endheaders()
        begin = time.monotonic()
        (os.killpg if whole_group else os.kill)(echo.process.pid, signal.SIGTERM)
        assert echo.process.wait(5) == 0
        assert time.monotonic() - begin < 2
        assert not any(map(alive, workers))
        assert echo.log.read_text() == ""


def test_echo_workers_do_not_outlive_a_killed_parent(tmp_path: Path) -> None:
    with echoing(2, tmp_path) as echo:
        workers = workers_of(echo)
        echo.process.kill()
        wait_until(lambda: not any(map(alive, workers)), 5)


def test_echo_says_which_port_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        command = [sys.executable, "echo.py", "--host", "127.0.0.1", "--port", str(port)]
        with running(command, tmp_path / "log") as process:
            assert process.wait(10) == 1
    assert (tmp_path / "log").read_text() == f"echo.py: 127.0.0.1:{port}: Address already in use\n"


# --- The shop without Nagle --------------------------------------------------------------------------


def gap(port: int, requests: int = 30) -> float:
    """Median seconds between headers and body over one kept connection, its first ten requests left out:
    a young connection acknowledges at once."""
    gaps = []
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        for _ in range(requests):
            connection.sendall(b"GET /items/42 HTTP/1.1\r\nhost: shop\r\n\r\n")
            got = b""
            while b"\r\n\r\n" not in got:
                got += connection.recv(65536)
            begin = time.perf_counter()
            head, _, body = got.partition(b"\r\n\r\n")
            size = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
            while len(body) < size:
                body += connection.recv(65536)
            gaps.append(time.perf_counter() - begin)
    return statistics.median(gaps[10:])


def test_nodelay_closes_the_gap_between_headers_and_body(tmp_path: Path) -> None:
    nagle, names = suite.load("nagle"), ("uvicorn-h11", "uvicorn-h11-nodelay")
    with ExitStack() as stack:
        servers = [stack.enter_context(serving(nagle, name, 2, tmp_path)) for name in names]
        for served in servers:
            wait_until(lambda port=served.port: ask(port, "GET", "/items/42").status == 200)
        found = {name: gap(served.port) for name, served in zip(names, servers, strict=True)}
    assert found["uvicorn-h11-nodelay"] < 0.010
    # Without this the line above would hold for a server that was never slow.
    assert found["uvicorn-h11"] > 4 * found["uvicorn-h11-nodelay"]
    assert found["uvicorn-h11"] > 0.020


# --- The suite files ---------------------------------------------------------------------------------


def test_the_proxy_suite_has_the_rest_suites_servers_but_daphne() -> None:
    rest = {server.name: server for server in suite.load("rest").suite.server}
    assert [server.name for server in PROXY.suite.server] == [name for name in rest if name != "daphne"]
    for server in PROXY.suite.server:
        ours, theirs = server.model_dump(), rest[server.name].model_dump()
        assert set(ours.pop("requires")) == {*theirs.pop("requires"), "aiohttp", "httpx"}
        assert ours == theirs


def test_the_proxy_suites_bodies_and_controls() -> None:
    control = {workload: control for control in PROXY.suite.control for workload in control.covers}
    for workload in PROXY.suite.workload:
        client, _, size = workload.name.partition("-")
        assert (workload.method, workload.path) == ("POST", f"/proxy/{client}")
        assert workload.payload is not None
        json.loads(workload.payload.text)
        assert len(workload.payload.text) == workload.expect.size == {"1k": 1036, "64k": 65548}[size]
        assert control[workload.name].payload == workload.payload
        assert control[workload.name].path == "/echo"


def test_the_investigations_change_one_thing() -> None:
    plain, forced = suite.load("nagle").suite.server
    assert [item.replace("nodelay:app", "{app}") for item in forced.command] == plain.command
    assert (plain.loop, plain.requires, plain.env) == (forced.loop, forced.requires, forced.env)
    rest = suite.load("rest").suite
    assert suite.load("nagle").suite.workload == rest.workload[:1]
    pool = suite.load("pool").suite
    assert [(series.workers, series.connections) for series in pool.series] == [
        (1, count) for count in (5, 10, 25, 50, 100)
    ]
    assert pool.workload == [workload for workload in PROXY.suite.workload if workload.name.endswith("-1k")]
    assert pool.upstream == PROXY.suite.upstream
