"""The writer: one at a time, whole lines or none, torn lines set aside."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
import textwrap
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

import pytest

from benchmarks.synthetic import write_run
from runner.errors import ArtifactError
from runner.model import Sample
from runner.store import read_manifest, read_samples, sha256_file
from runner.writer import LOCK, RunWriter


@pytest.fixture
def unfinished(tmp_path: Path) -> Path:
    """A run folder as a capture leaves it when it is killed."""
    stored = write_run(tmp_path, "half", servers=2, repeats=1)
    run = stored.run.model_copy(update={"state": "running", "finished": None, "files": []})
    (stored.folder / "run.json").write_text(run.model_dump_json(exclude_none=True))
    return stored.folder


def sample(order: int) -> Sample:
    return Sample(case="c", repeat=1, order=order, started=datetime.now(UTC), status="accepted")


def test_a_second_writer_is_refused(unfinished: Path) -> None:
    with RunWriter(unfinished), pytest.raises(ArtifactError, match="another runner"):
        RunWriter(unfinished)
    with RunWriter(unfinished):
        pass  # the lock is free again
    assert not (unfinished / LOCK).exists()


def test_a_writer_of_another_process_is_refused_until_it_dies(unfinished: Path) -> None:
    code = f"""
        import time
        from pathlib import Path
        from runner.writer import RunWriter
        writer = RunWriter(Path({str(unfinished)!r}))
        print("locked", flush=True)
        time.sleep(60)
    """
    other = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True)
    assert other.stdout
    assert other.stdout.readline() == "locked\n"
    with pytest.raises(ArtifactError, match="another runner"):
        RunWriter(unfinished)
    other.kill()
    other.wait()
    other.stdout.close()
    with RunWriter(unfinished):
        pass


def test_an_existing_folder_is_not_overwritten(unfinished: Path) -> None:
    before = (unfinished / "run.json").read_bytes()
    with pytest.raises(ArtifactError, match="exists already"):
        RunWriter(unfinished, read_manifest(unfinished))
    assert (unfinished / "run.json").read_bytes() == before


def test_a_complete_run_is_not_reopened(tmp_path: Path) -> None:
    folder = write_run(tmp_path, "whole", servers=1, repeats=1).folder
    with pytest.raises(ArtifactError, match="complete"):
        RunWriter(folder)
    assert not (folder / ".scratch").exists()


@pytest.mark.parametrize("cut", [1, 20, 400])
def test_a_torn_line_is_set_aside_and_nothing_else_changes(unfinished: Path, cut: int) -> None:
    path = unfinished / "samples.jsonl"
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    torn = lines[-1][:-cut]
    path.write_bytes(b"".join(lines[:-1]) + torn)
    with RunWriter(unfinished) as writer:
        if cut == 1:  # only the newline was missing: the sample is whole
            assert len(writer.samples) == len(lines)
        else:
            assert len(writer.samples) == len(lines) - 1
            assert (unfinished / "raw" / "torn-1.txt").read_bytes() == torn
    assert path.read_bytes() == (whole if cut == 1 else b"".join(lines[:-1]))


def test_parts_of_an_interrupted_write_are_removed(unfinished: Path) -> None:
    part = unfinished / "raw" / ".oha.json.part"
    part.write_text("half")
    with RunWriter(unfinished):
        assert not part.exists()


def test_finish_lists_every_file_with_its_hash(unfinished: Path) -> None:
    with RunWriter(unfinished) as writer:
        writer.raw("9999/extra.txt", b"hello")
        final = writer.finish(writer.run.model_copy(update={"state": "complete"}))
    entries = {entry.path: entry for entry in final.files}
    assert "raw/9999/extra.txt" in entries
    assert "samples.jsonl" in entries
    assert not any(".scratch" in path or path == LOCK for path in entries)
    for path, entry in entries.items():
        assert sha256_file(unfinished / path) == entry.sha256
        assert (unfinished / path).stat().st_size == entry.size


def test_disk_full_loses_nothing_that_was_stored(tmp_path: Path) -> None:
    """A real full disk: a file system of 256 KiB, in a mount namespace of its own."""
    code = f"""
        import ctypes, os, sys
        from datetime import UTC, datetime
        from pathlib import Path
        from benchmarks.synthetic import write_run
        from runner.errors import ArtifactError
        from runner.model import Sample
        from runner.writer import RunWriter
        disk = Path({str(tmp_path)!r}) / "disk"
        disk.mkdir()
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(0x00020000) or libc.mount(b"none", b"/", None, 0x44000, None):
            sys.exit("unshare")
        if libc.mount(b"tmpfs", bytes(disk), b"tmpfs", 0, b"size=256k"):
            sys.exit("mount")
        stored = write_run(disk, "small", servers=1, workloads=1, repeats=1)
        run = stored.run.model_copy(update={{"state": "running", "files": []}})
        (stored.folder / "run.json").write_text(run.model_dump_json(exclude_none=True))
        writer = RunWriter(stored.folder)
        before = len(writer.samples)
        added = 0
        try:
            while True:
                message = "x" * 1500
                writer.append(Sample(case="c", repeat=1, order=before + added + 1, started=datetime.now(UTC),
                                     status="failed", reasons=[{{"code": "c", "message": message}}]))
                added += 1
                assert added < 1000
        except ArtifactError as error:
            print("error:", error)
        try:
            writer.raw("big.bin", b"x" * 10**6)
        except ArtifactError as error:
            print("error:", error)
        writer.__exit__(None, None, None)
        from runner.store import read
        again = read(stored.folder)
        assert len(again.samples) == before + added > before, (len(again.samples), before, added)
        assert (stored.folder / "samples.jsonl").read_bytes().endswith(b"\\n")
        assert not list(stored.folder.rglob("*.part"))
        print("stored", added)
    """
    result = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True)
    if result.stderr.strip() in ("unshare", "mount"):
        pytest.skip("needs root to mount a small file system")
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("disk full") == 2
    assert "--resume" in result.stdout
    assert "samples.jsonl" in result.stdout
    assert "big.bin" in result.stdout


def test_a_failed_flush_leaves_no_half_line(unfinished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = unfinished / "samples.jsonl"
    before = path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with RunWriter(unfinished) as writer:
        count = len(writer.samples)
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(ArtifactError, match="disk full"):
                writer.append(sample(count + 1))
        assert path.read_bytes() == before
        assert len(writer.samples) == count
        writer.append(sample(count + 1))
    assert len(read_samples(unfinished)) == count + 1


def test_a_lock_file_removed_by_its_holder_locks_nothing(
    unfinished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second opens the first's lock file, the first removes it, the third makes a new one."""
    first = RunWriter(unfinished)
    third: list[RunWriter] = []
    real = fcntl.flock

    def late(file: IO[str], operation: int) -> None:
        monkeypatch.setattr(fcntl, "flock", real)
        first.close()
        third.append(RunWriter(unfinished))
        real(file, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    with pytest.raises(ArtifactError, match="another runner"):
        RunWriter(unfinished)
    first.close()  # a second time: it must not remove the lock of the third
    with pytest.raises(ArtifactError, match="another runner"):
        RunWriter(unfinished)
    third[0].close()
    assert not (unfinished / LOCK).exists()


def test_of_many_processes_one_writes_at_a_time(unfinished: Path) -> None:
    code = f"""
        import os, time
        from pathlib import Path
        from runner.errors import ArtifactError
        from runner.writer import RunWriter
        folder, written = Path({str(unfinished)!r}), 0
        end = time.monotonic() + 1.5
        while time.monotonic() < end or not written:
            try:
                writer = RunWriter(folder)
            except ArtifactError as error:
                assert "another runner" in str(error), error
                continue
            mark = os.open(folder.parent / "inside", os.O_CREAT | os.O_EXCL)
            os.unlink(folder.parent / "inside")
            os.close(mark)
            writer.close()
            written += 1
        print(written)
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    pipe = subprocess.PIPE
    others = [subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) for _ in range(3)]
    for other in others:
        told, error = other.communicate(timeout=30)
        assert other.returncode == 0, error
        assert int(told) > 0
