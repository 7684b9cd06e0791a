"""A built site on a loopback port, sent as a web server would: text compressed, every answer counted."""

from __future__ import annotations

import functools
import gzip
import http.server
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit

LEVEL = 6
_COMPRESSED = ("text/", "application/javascript", "application/json", "application/xml", "image/svg+xml")


@dataclass(frozen=True)
class Answer:
    """``path`` of a request, without its query; the answer's status, and its body's bytes as sent."""

    path: str
    status: int
    size: int


@dataclass
class Wire:
    """``url`` is the site's address; ``answers`` what was sent so far, in the order it was asked for."""

    url: str
    answers: list[Answer] = field(default_factory=list)


@contextmanager
def serve(folder: Path) -> Iterator[Wire]:
    """The folder, which may still be empty, on a loopback port until the block ends."""
    wire = Wire("")
    handler = functools.partial(_Handler, wire, directory=str(folder))
    server = _Server(("127.0.0.1", 0), handler)
    wire.url = f"http://127.0.0.1:{server.server_port}/"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield wire
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@functools.lru_cache(maxsize=256)
def _body(path: Path, compressed: bool, changed: int) -> bytes:
    data = path.read_bytes()
    return gzip.compress(data, LEVEL, mtime=0) if compressed else data


class _Server(http.server.ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        if not isinstance(sys.exception(), ConnectionError):  # a browser that goes away is none
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class _Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, wire: Wire, *arguments: object, directory: str) -> None:
        self._wire = wire
        super().__init__(*arguments, directory=directory)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        asked = urlsplit(self.path).path
        path = Path(self.translate_path(self.path))
        status = HTTPStatus.OK
        if asked.endswith("/"):
            path /= "index.html"
        if not path.is_file():
            path, status = Path(self.directory) / "404.html", HTTPStatus.NOT_FOUND
        kind = self.guess_type(path)
        compressed = kind.startswith(_COMPRESSED)
        body = _body(path, compressed, path.stat().st_mtime_ns) if path.is_file() else b""
        self._wire.answers.append(Answer(asked, status, len(body)))
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8" if compressed else kind)
        self.send_header("Content-Length", str(len(body)))
        if compressed:
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass
