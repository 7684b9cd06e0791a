"""The first look: a short run, the site with it, and a small server for that site."""

from __future__ import annotations

import functools
import http.server
import os
import subprocess
import sys
from pathlib import Path

from rich.console import Console

from runner.errors import LapsheetError
from runner.plan import Options

SERVERS = ["uvicorn-httptools", "granian", "hypercorn-asyncio"]


def options(servers: list[str]) -> Options:
    """Short samples, three a case, with the A/A lane: about a minute.

    A machine that is in use passes as it is: foreign load is flagged all the same, and rejects a sample
    only where it took a large part of the server's CPUs.
    """
    return Options(
        servers=servers or SERVERS,
        workers=[1],
        duration=1.0,
        warmup=0.3,
        repeats=3,
        connections=50,
        twin=True,
        foreign_limit=0.4,
    )


def check(project: Path) -> None:
    """Raise LapsheetError if there is no site to build in that folder."""
    if not (project / "mkdocs.yml").is_file():
        raise LapsheetError(
            f"no mkdocs.yml in {project}",
            "Run quickstart in a clone of Lapsheet, or `lapsheet run rest` here.",
        )


def build(project: Path, artifacts: Path) -> Path:
    """Build the site of the project with its unpinned local runs, and return its folder.

    Raises LapsheetError if MkDocs fails.
    """
    site = project / "site"
    environment = os.environ | {
        "LAPSHEET_LOCAL": "1",
        "LAPSHEET_ARTIFACTS": str(artifacts.resolve()),
        "NO_MKDOCS_2_WARNING": "1",
    }
    result = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(site)],
        cwd=project,
        env=environment,
    )
    if result.returncode:
        raise LapsheetError("the site could not be built", "MkDocs says why above; the run itself is stored.")
    return site


def serve(site: Path, port: int, page: str, console: Console) -> None:
    """Serve the built site on the loopback until Ctrl-C; takes the next free port if one is in use.

    ``page`` is the path of the page to point at.
    """
    handler = functools.partial(_Quiet, directory=str(site))
    for candidate in (port, *range(port + 1, min(port + 20, 65536)), 0):
        try:
            server = http.server.ThreadingHTTPServer(("127.0.0.1", candidate), handler)
        except OSError:
            continue
        break
    with server:
        address = f"http://127.0.0.1:{server.server_port}/"
        console.print(f"serving {address} (Ctrl-C ends it)", markup=False)
        console.print(f"this run: {address}{page}", markup=False, soft_wrap=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            console.print("stopped")


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass
