"""Interrupting and killing the real command, and completing what it began."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from runner import store, verify
from runner.cases import round_order
from tests.capturing import have, suite_text

pytestmark = pytest.mark.skipif(bool(have("oha")), reason="needs oha (cargo install oha --locked)")

SERVERS = {"a": ["--delay", "0.002"], "b": ["--delay", "0.002"], "c": ["--delay", "0.002"]}


class Command:
    """A `lapsheet run` in its own process group, as a shell would start it."""

    def __init__(self, project: Path, *arguments: str) -> None:
        self.project = project
        self.process = subprocess.Popen(
            [sys.executable, "-m", "runner", "run", *arguments],
            cwd=project,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def family(self) -> list[psutil.Process]:
        """Everything it has started and that is alive."""
        try:
            return psutil.Process(self.process.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return []

    def stored(self) -> int:
        """How many samples are on the disk."""
        path = next(self.project.glob("artifacts/*/samples.jsonl"), None)
        return path.read_bytes().count(b"\n") if path else 0

    def wait_until_sampling(self, samples: int) -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if self.stored() >= samples and any(self.is_load(process) for process in self.family()):
                return
            assert self.process.poll() is None, self.process.stdout.read() if self.process.stdout else ""
            time.sleep(0.01)
        raise AssertionError("the capture did not get that far")

    @staticmethod
    def is_load(process: psutil.Process) -> bool:
        """A running oha that measures, not one that is asked for its version."""
        with contextlib.suppress(psutil.Error):
            return process.name() == "oha" and "-z" in process.cmdline()
        return False

    def end(self, timeout: float = 60) -> tuple[int, str]:
        output, _ = self.process.communicate(timeout=timeout)
        return self.process.returncode, output


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "truth.toml").write_text(suite_text(SERVERS).replace("repeats = 1", "repeats = 2"))
    return tmp_path


@pytest.fixture
def no_survivors() -> Iterator[list[psutil.Process]]:
    """Processes noted here must be gone at the end of the test, and soon."""
    noted: list[psutil.Process] = []
    yield noted
    _, alive = psutil.wait_procs(noted, timeout=10)
    for process in alive:
        process.kill()
    assert not alive


def run_of(project: Path) -> store.StoredRun:
    (name,) = store.run_ids(project / "artifacts")
    return store.read(project / "artifacts" / name)


def assert_as_uninterrupted(project: Path) -> None:
    """Cases, order and count are those of a run that nobody stopped."""
    stored = run_of(project)
    assert stored.run.state == "complete"
    expected = [
        (case.id, repeat)
        for repeat in range(1, stored.run.parameters.repeats + 1)
        for case in round_order(stored.run.cases, stored.run.parameters.seed, repeat)
    ]
    assert [(s.case, s.repeat) for s in stored.samples if s.attempt == 1] == expected
    report = verify.verify(stored.folder)
    assert report.ok, report.problems


def test_ctrl_c_once_finishes_the_sample_and_resume_completes(project: Path, no_survivors: list) -> None:
    command = Command(project, "truth.toml", "--no-twin")
    command.wait_until_sampling(1)
    no_survivors += command.family()
    os.killpg(command.process.pid, signal.SIGINT)
    status, output = command.end()
    assert status == 130, output
    assert "--resume" in output
    stored = run_of(project)
    assert stored.run.state == "interrupted"
    assert len(stored.samples) == 2  # the one that was running is there
    assert stored.samples[-1].metrics
    assert verify.verify(stored.folder).ok
    status, output = Command(project, "truth.toml", "--resume").end()
    assert status in (0, 1), output
    assert_as_uninterrupted(project)


def interrupt_twice(command: Command) -> None:
    """Ctrl-C and once more: the command ends now."""
    begin = time.monotonic()
    os.killpg(command.process.pid, signal.SIGINT)
    time.sleep(0.3)
    os.killpg(command.process.pid, signal.SIGINT)
    status, output = command.end()
    assert status == 130, output
    assert time.monotonic() - begin < 8


def test_ctrl_c_twice_stops_now(project: Path, no_survivors: list) -> None:
    command = Command(project, "truth.toml", "--no-twin", "--duration", "20")
    command.wait_until_sampling(0)
    no_survivors += command.family()
    interrupt_twice(command)
    assert run_of(project).samples == []


@pytest.mark.parametrize("before", [0, 1])
def test_sigkill_loses_at_most_the_running_sample(project: Path, no_survivors: list, before: int) -> None:
    command = Command(project, "truth.toml", "--no-twin")
    command.wait_until_sampling(before)
    no_survivors += command.family()
    kept = command.stored()
    command.process.send_signal(signal.SIGKILL)
    command.end()
    assert len(run_of(project).samples) >= kept
    status, output = Command(project, "truth.toml", "--resume").end()
    assert status in (0, 1), output
    assert_as_uninterrupted(project)


def test_a_second_runner_on_the_same_run_is_refused(project: Path, no_survivors: list) -> None:
    command = Command(project, "truth.toml", "--no-twin", "--id", "mine")
    command.wait_until_sampling(0)
    no_survivors += command.family()
    status, output = Command(project, "truth.toml", "--resume", "--id", "mine").end()
    assert status == 2
    assert "another runner is writing this run" in output
    status, output = Command(project, "truth.toml", "--id", "mine").end()
    assert status == 2
    assert "exists already" in output
    status, output = command.end()
    assert status in (0, 1), output
    assert_as_uninterrupted(project)


def test_killing_the_servers_parent_fails_the_sample_and_leaves_nothing(
    project: Path, no_survivors: list
) -> None:
    command = Command(
        project, "truth.toml", "--no-twin", "--server", "a", "--duration", "2", "--repeats", "1"
    )
    command.wait_until_sampling(0)
    no_survivors += command.family()
    for process in command.family():
        if "truth_server" in " ".join(process.cmdline()):
            process.kill()
    status, output = command.end()
    assert status == 1, output
    (sample,) = run_of(project).samples
    assert sample.status == "failed"
    assert "died" in [reason.code for reason in sample.reasons], sample.reasons


def test_ctrl_c_twice_keeps_a_sample_whose_server_is_still_stopping(
    project: Path, no_survivors: list
) -> None:
    text = suite_text({"stubborn": ["--delay", "0.002", "--ignore-sigterm"]})
    (project / "truth.toml").write_text(text.replace("repeats = 1", "repeats = 2"))
    command = Command(project, "truth.toml", "--no-twin")
    command.wait_until_sampling(0)
    no_survivors += command.family()
    deadline = time.monotonic() + 20  # the load of 0.6 s ends; the server ignores SIGTERM, with 15 s of grace
    while any(Command.is_load(process) for process in command.family()) and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(1.0)
    assert command.stored() == 0
    interrupt_twice(command)
    (sample,) = run_of(project).samples
    assert sample.metrics
    assert "stop" in [flag.code for flag in sample.flags]
