"""Small suites around the truth server, for tests that capture for real."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from runner import beginning, capture, store, suite
from runner import plan as plans
from runner.model import Case, Run, Sample
from runner.plan import Options
from runner.store import StoredRun

TRUTH = Path(__file__).with_name("truth_server.py")


def suite_text(
    servers: dict[str, list[str]], *, identity: bool = True, extra: str = "", foreign_limit: float = 1.0
) -> str:
    """A suite of truth servers: name → further arguments (``--mode …``).

    Foreign load rejects nothing here unless a test asks for it: a test machine has neighbours.
    """
    tables = [
        'name = "truth"',
        'title = "Truth"',
        "[defaults]\nconnections = 4\nduration = 0.6\nwarmup = 0.1\nrepeats = 1\n"
        f"foreign_limit = {foreign_limit}",
        '[identity]\npath = "/_identity"' if identity else "",
        '[[workload]]\nname = "root"\npath = "/"\nexpect = { json = { ok = true } }',
        '[[series]]\nname = "one"\nworkers = 1',
        extra,
    ]
    for name, arguments in servers.items():
        command = [sys.executable, "-S", str(TRUTH), "--port", "{port}", *arguments]
        tables.append(
            f"[[server]]\nname = {json.dumps(name)}\ncommand = {json.dumps(command)}\nstart_timeout = 5"
        )
    return "\n\n".join(tables) + "\n"


class Silent:
    """A progress display that only remembers."""

    def __init__(self) -> None:
        self.samples: list[Sample] = []
        self.messages: list[str] = []

    def begin(self, run: Run, total: int, done: int) -> None:
        self.total, self.done = total, done

    def measuring(self, case: Case, repeat: int, attempt: int) -> None:
        self.current = case.id, repeat, attempt

    def stored(self, case: Case, sample: Sample) -> None:
        self.samples.append(sample)

    def message(self, text: str) -> None:
        self.messages.append(text)


def capture_run(project: Path, text: str, progress: Silent | None = None, **options: object) -> StoredRun:
    """Capture the suite in this process; the run as it was stored."""
    path = project / "truth.toml"
    path.write_text(text)
    plan = plans.make(suite.load(str(path)), Options(**options))  # type: ignore[arg-type]
    command_line = ["lapsheet", "run", "truth.toml"]
    with (
        beginning.begin(plan, project / "artifacts", project, command_line) as writer,
        capture.on_runner_cpus(plan.layout),
    ):
        run = capture.execute(plan, writer, project, progress or Silent())
    return store.read(project / "artifacts" / run.id)


@contextmanager
def ended(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """At the end the process, the first of a group of its own, is stopped, and what is left of the group."""
    try:
        yield
    finally:
        with suppress(subprocess.TimeoutExpired):
            process.terminate()
            process.wait(10)
        with suppress(ProcessLookupError):  # the group is empty, as it should be
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)


def have(*programs: str) -> str:
    """The first program that is missing, or nothing: for ``skipif`` with its reason."""
    return next((program for program in programs if not shutil.which(program)), "")
