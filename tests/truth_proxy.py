"""A proxy of known behaviour: forwards each request to ``$LAPSHEET_UPSTREAM`` and returns the answer's body.

Standard library only, one process, a connection to the upstream for each request. ``/_identity`` tells the
worker and counts the requests and the timeouts that fired. ``--timeout`` seconds limit the forwarding: a
request that takes longer is counted and answered 504. Past ``--after`` requests, ``--fault alter`` changes
the last byte of every body, ``--fault drop`` closes the connection without an answer, and ``--fault late``
lets every 20th request on a kept connection, which no check of the runner's is, run into the timeout.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from urllib.parse import urlsplit


async def read_message(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """Head and body of one request or response; raises IncompleteReadError at the end."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = 0
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            length = int(value)
    return head, await reader.readexactly(length)


class Proxy:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.upstream = urlsplit(os.environ["LAPSHEET_UPSTREAM"])
        self.requests = self.timeouts = 0

    async def forward(self, head: bytes, body: bytes) -> bytes:
        reader, writer = await asyncio.open_connection(self.upstream.hostname, self.upstream.port)
        try:
            line, _, rest = head.partition(b"\r\n")
            headers = [h for h in rest.split(b"\r\n") if h and not h.lower().startswith(b"connection")]
            writer.write(b"\r\n".join([line, *headers, b"connection: close", b"", body]))
            _, answer = await read_message(reader)
        finally:
            writer.close()
        return answer

    async def connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head, body = await read_message(reader)
                close = b"connection: close" in head.lower()
                status, answer = "200 OK", self.identity()
                if not head.startswith(b"GET /_identity "):
                    self.requests += 1
                    faulty = self.requests > self.options.after
                    if faulty and self.options.fault == "drop":
                        break
                    late = faulty and self.options.fault == "late" and not close and self.requests % 20 == 0
                    try:
                        forwarding = asyncio.Event().wait() if late else self.forward(head, body)
                        answer = await asyncio.wait_for(forwarding, self.options.timeout)
                    except TimeoutError:
                        self.timeouts += 1
                        status, answer = "504 Gateway Timeout", b"{}"
                    except (OSError, asyncio.IncompleteReadError):
                        status, answer = "502 Bad Gateway", b"{}"
                    if faulty and self.options.fault == "alter":
                        answer = answer[:-1] + bytes([answer[-1] ^ 1])
                start = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\n"
                writer.write(f"{start}content-length: {len(answer)}\r\n\r\n".encode() + answer)
                await writer.drain()
                if close:
                    break
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def identity(self) -> bytes:
        loop = type(asyncio.get_running_loop())
        return json.dumps(
            {
                "pid": os.getpid(),
                "loop": f"{loop.__module__}.{loop.__qualname__}",
                "affinity": sorted(os.sched_getaffinity(0)),
                "requests": self.requests,
                "workers": {str(os.getpid()): self.requests},
                "timeouts": self.timeouts,
            }
        ).encode()


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--timeout", type=float, default=5.0)
    parser.add_argument("--fault", choices=["alter", "drop", "late"])
    parser.add_argument("--after", type=int, default=0)
    proxy = Proxy(parser.parse_args())
    server = await asyncio.start_server(proxy.connection, "127.0.0.1", proxy.options.port, backlog=1024)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
