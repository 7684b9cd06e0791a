"""Several daphne processes on one listening socket, because daphne itself has no workers option.

SIGTERM and SIGINT stop them all (exit status 0); when one of them ends by itself, so do the others (1).
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Bind, listen, start the workers, wait for the end; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("app", help="module.path:name")
    options = parser.parse_args(arguments)
    listener = socket.create_server((options.host, options.port), backlog=2048)
    listener.set_inheritable(True)
    # Blocked and waited for, not handled: no signal can fall between the start of a worker and its pid.
    awaited = {signal.SIGTERM, signal.SIGINT, signal.SIGCHLD}
    signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
    command = [sys.executable, "-m", "daphne", "-v", "0", "--fd", str(listener.fileno()), options.app]
    workers = {
        os.posix_spawn(sys.executable, command, os.environ, setsigmask=()) for _ in range(options.workers)
    }
    ended = 0
    # SIGCHLD also tells that a worker was halted or goes on; only its end ends the others.
    while not ended and signal.sigwait(awaited) == signal.SIGCHLD:
        ended, _ = os.waitpid(-1, os.WNOHANG)
    workers.discard(ended)
    for pid in workers:
        os.kill(pid, signal.SIGTERM)
    for pid in workers:
        os.waitpid(pid, 0)
    return 1 if ended else 0


if __name__ == "__main__":
    sys.exit(main())
