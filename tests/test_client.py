"""The few requests of the runner's own: how long they wait, and for whom."""

from __future__ import annotations

import itertools
import socket
import threading
import time

import pytest

from runner import client
from runner.client import Identity


def test_a_worker_that_is_still_starting_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    begin, pids = time.monotonic(), itertools.cycle([1, 2, 3])

    def identity(port: int, path: str, timeout: float) -> Identity:
        pid = next(pids)
        late = pid == 3 and time.monotonic() - begin < 0.3
        return Identity(1 if late else pid, "loop", [0], 0)

    monkeypatch.setattr(client, "identity", identity)
    assert client.identities(0, "/", 3, within=5.0).keys() == {1, 2, 3}
    assert 0.3 <= time.monotonic() - begin < 5.0
    again = time.monotonic()
    assert client.identities(0, "/", 4, within=0.2).keys() == {1, 2, 3}
    assert 0.2 <= time.monotonic() - again < 5.0


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (b"HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\nonly a part", "IncompleteRead"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n8\r\nhalf", "IncompleteRead"),
        (b"", "RemoteDisconnected"),
    ],
)
def test_an_answer_cut_short_is_an_error(answer: bytes, error: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(Exception) as caught:  # noqa: PT011 - its class is what is looked at
            client.request(server.getsockname()[1], "/")
        thread.join()
    assert type(caught.value).__name__ == error
