"""How long a reader of `mkdocs serve` waits for a changed sample."""

from __future__ import annotations

import os
import shutil
import socket
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.building import Site, plain_site, prose, run_site, synthetic_runs, workspace
from benchmarks.figure import Figure
from benchmarks.synthetic import write_run
from runner.errors import LapsheetError

SERVE_LIMIT = 2.5
_PATIENCE = 120.0


def serve_cost(pages: int = 100, rounds: int = 5) -> Figure:
    """The wait for a changed run to show, over the wait for a changed plain page, in `mkdocs serve`.

    Both in sites of so many pages; from the change on disk until the page has it, in seconds of wall time,
    medians over rounds. Much of either is MkDocs' own: it looks for changes twice a second.
    """
    with workspace() as folder:
        runs = synthetic_runs(folder / "runs", pages)
        site = run_site(folder / "run", runs)
        run = Path(site.environment["LAPSHEET_ARTIFACTS"]) / runs[0].name
        plain = plain_site(folder / "plain", pages)
        page = folder / "plain" / "docs" / "pages" / "0000.md"

        def capture(turn: int) -> None:
            """Another run in the run's place, so that manifest and samples agree all the time."""
            write_run(folder / f"new-{turn}", run.name, seed=10_000 + turn, raw=False)
            run.rename(folder / f"old-{turn}")
            (folder / f"new-{turn}" / run.name).rename(run)

        def write(turn: int) -> None:
            page.write_text(prose(10_000 + turn), "utf-8")

        ours = _waits(site, f"runs/{run.name}/", capture, rounds)
        theirs = _waits(plain, "pages/0000/", write, rounds)
        shutil.rmtree(site.output, ignore_errors=True)
    print(f"a changed run of {pages} shows after {ours:.2f} s, a changed plain page after {theirs:.2f} s")
    return Figure("site-serve", ours / theirs, SERVE_LIMIT)


def _waits(site: Site, address: str, change: Callable[[int], None], rounds: int) -> float:
    """The median time in seconds from a change until the page at ``address`` is another."""
    spent = []
    with _served(site) as fetch:
        before = _until_other(fetch, address, b"")
        for turn in range(rounds):
            # Not in step with MkDocs' own looking for changes.
            time.sleep(1 + turn * 0.5 / rounds)
            start = time.monotonic()
            change(turn)
            before = _until_other(fetch, address, before)
            spent.append(time.monotonic() - start)
    return statistics.median(spent)


def _until_other(fetch: Callable[[str], bytes], address: str, known: bytes) -> bytes:
    """The page, once it is there and another than ``known``. Raises LapsheetError if it does not come."""
    limit = time.monotonic() + _PATIENCE
    while (content := fetch(address)) in (b"", known):
        if time.monotonic() > limit:
            raise LapsheetError(f"mkdocs serve did not show {address} within {_PATIENCE:.0f} s")
        time.sleep(0.02)
    return content


@contextmanager
def _served(site: Site) -> Iterator[Callable[[str], bytes]]:
    """`mkdocs serve` of a site; gives what fetches a page, without the script that reloads it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "mkdocs", "serve", "--quiet", "--config-file", str(site.config)]
    server = subprocess.Popen(
        [*command, "--dev-addr", f"127.0.0.1:{port}"],
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", **site.environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def fetch(address: str) -> bytes:
        if server.poll() is not None:
            raise LapsheetError(f"mkdocs serve of {site.config} ended", "Run it to see why.")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/{address}", timeout=_PATIENCE) as answer:
                content = bytes(answer.read())
        except (urllib.error.URLError, OSError):
            return b""
        return content.partition(b"var livereload")[0]

    try:
        yield fetch
    finally:
        server.terminate()
        server.wait(30)
