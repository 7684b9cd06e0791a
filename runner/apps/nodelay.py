"""The shop with Nagle's algorithm off on every connection, whatever the listening socket says of itself.

``nodelay:app`` is what servers run. asyncio sets TCP_NODELAY on a connection only where its socket object
says protocol 6 (TCP). An accepted socket has its protocol from the listening one, and a listening socket
that was made with the default protocol and handed to worker processes says 0; asyncio then leaves Nagle's
algorithm on. A small body that is written after its headers waits in the kernel until the client has
acknowledged them, and the client delays that acknowledgement.

This changes nothing but that condition. It reaches into asyncio, so it fails loudly where asyncio differs.
"""

from __future__ import annotations

import socket
from asyncio import base_events
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runner.apps.shop import app
else:
    from shop import app

__all__ = ["app"]


def _set_nodelay(sock: socket.socket) -> None:
    """Set TCP_NODELAY on a TCP socket; its family and type tell what it is, its protocol may be 0."""
    if sock.family in {socket.AF_INET, socket.AF_INET6} and sock.type == socket.SOCK_STREAM:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


if not hasattr(base_events, "_set_nodelay"):
    raise ImportError("asyncio.base_events has no _set_nodelay: how does this Python set TCP_NODELAY?")
base_events._set_nodelay = _set_nodelay
