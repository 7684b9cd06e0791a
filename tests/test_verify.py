"""`verify` proves a run and names what is wrong: one byte, one line, one file."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.synthetic import write_run
from runner.store import Pin, StoredRun, sha256_file
from runner.verify import verify


@pytest.fixture
def stored(tmp_path: Path) -> StoredRun:
    return write_run(tmp_path, "whole", servers=2, workloads=1, repeats=2)


def rewrite(folder: Path, path: str, data: bytes) -> None:
    """Change a file and the manifest with it, as somebody would who wants to cheat."""
    import hashlib

    (folder / path).write_bytes(data)
    manifest = json.loads((folder / "run.json").read_text())
    for entry in manifest["files"]:
        if entry["path"] == path:
            entry["size"], entry["sha256"] = len(data), hashlib.sha256(data).hexdigest()
    (folder / "run.json").write_text(json.dumps(manifest))


def problems(stored: StoredRun) -> str:
    report = verify(stored.folder)
    assert not report.ok
    return "\n".join(report.problems)


def test_a_whole_run_is_proved(stored: StoredRun) -> None:
    pin = Pin(run="whole", sha256=sha256_file(stored.folder / "run.json"))
    report = verify(stored.folder, pin)
    assert report.ok, report.problems
    assert report.files == len(stored.run.files)
    assert report.figures == sum(len(sample.metrics) for sample in stored.samples)


def test_every_file_is_guarded_to_the_byte(stored: StoredRun) -> None:
    for entry in stored.run.files:
        path = stored.folder / entry.path
        whole = path.read_bytes()
        middle = len(whole) // 2
        path.write_bytes(whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :])
        assert entry.path in problems(stored)
        path.write_bytes(whole)
    assert verify(stored.folder).ok


def test_missing_added_and_pointer_files(stored: StoredRun) -> None:
    path = stored.folder / stored.run.files[0].path
    whole = path.read_bytes()
    path.unlink()
    assert f"{path}: missing" in problems(stored)
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 12345\n")
    assert "LFS pointer" in problems(stored)
    path.write_bytes(whole)
    extra = stored.folder / "raw" / "extra.json"
    extra.write_text("{}")
    assert "extra.json: not listed" in problems(stored)


def test_another_manifest_than_the_pinned_one(stored: StoredRun) -> None:
    report = verify(stored.folder, Pin(run="whole", sha256="0" * 64))
    assert "not the pinned" in report.problems[0]


def test_a_figure_that_the_raw_files_do_not_give(stored: StoredRun) -> None:
    lines = (stored.folder / "samples.jsonl").read_bytes().splitlines()
    sample = json.loads(lines[0])
    sample["metrics"]["rps"] *= 1.001
    lines[0] = json.dumps(sample).encode()
    rewrite(stored.folder, "samples.jsonl", b"\n".join(lines) + b"\n")
    told = problems(stored)
    assert "line 1: rps is" in told
    assert "recomputed" in told


def test_a_dropped_line(stored: StoredRun) -> None:
    lines = (stored.folder / "samples.jsonl").read_bytes().splitlines(keepends=True)
    rewrite(stored.folder, "samples.jsonl", b"".join(lines[:1] + lines[2:]))
    told = problems(stored)
    assert "line 2: order is 3" in told
    assert "no attempt at" in told


def test_dimensions_of_another_case(stored: StoredRun) -> None:
    lines = (stored.folder / "samples.jsonl").read_bytes().splitlines()
    sample = json.loads(lines[0])
    sample["dimensions"] = {"server": "another"}
    lines[0] = json.dumps(sample).encode()
    rewrite(stored.folder, "samples.jsonl", b"\n".join(lines) + b"\n")
    assert "dimensions are not those of case" in problems(stored)


def test_a_sample_accepted_against_its_checks(stored: StoredRun) -> None:
    lines = (stored.folder / "samples.jsonl").read_bytes().splitlines()
    sample = json.loads(lines[0])
    sample["checks"] = [{"name": "loop", "status": "failed"}]
    lines[0] = json.dumps(sample).encode()
    rewrite(stored.folder, "samples.jsonl", b"\n".join(lines) + b"\n")
    assert "accepted, but these checks failed: loop" in problems(stored)


@pytest.mark.parametrize(
    ("data", "told"),
    [(b"", "run.json"), (b"[]", "run.json"), (b'{"schema_version": "2.0"}', "reads 1.x")],
)
def test_a_manifest_that_is_none(stored: StoredRun, data: bytes, told: str) -> None:
    (stored.folder / "run.json").write_bytes(data)
    assert told in problems(stored)


def test_a_path_out_of_the_folder(stored: StoredRun) -> None:
    manifest = json.loads((stored.folder / "run.json").read_text())
    manifest["files"].append({"path": "raw/../../outside", "size": 0, "sha256": "0" * 64})
    (stored.folder / "run.json").write_text(json.dumps(manifest))
    assert "path" in problems(stored)


def test_a_link_out_of_the_folder(stored: StoredRun) -> None:
    path = stored.folder / stored.run.files[0].path
    outside = stored.folder.parent / "outside"
    path.rename(outside)
    path.symlink_to(outside)
    assert "leads out of the run folder" in problems(stored)


def edit(folder: Path, **changes: object) -> None:
    path = folder / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_an_unknown_generator(stored: StoredRun) -> None:
    edit(stored.folder, generator={"name": "later", "version": "1"})
    told = problems(stored)
    assert "run.json: generator: no load generator 'later'" in told


@pytest.mark.parametrize("name", ["run.json", "samples.jsonl", "raw"])
def test_a_directory_in_place_of_a_file(stored: StoredRun, name: str) -> None:
    path = stored.folder / (stored.run.files[0].path if name == "raw" else name)
    path.unlink()
    path.mkdir()
    assert str(path) in problems(stored)


@pytest.mark.parametrize("name", ["run.json", "samples.jsonl", "raw"])
def test_a_file_that_may_not_be_read(stored: StoredRun, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    path = stored.folder / (stored.run.files[0].path if name == "raw" else name)
    real = Path.open

    def refuse(self: Path, *arguments: Any, **options: Any) -> Any:
        # What chmod does for anybody but root, who may run these tests.
        if self == path:
            raise PermissionError(errno.EACCES, "Permission denied", str(self))
        return real(self, *arguments, **options)

    monkeypatch.setattr(Path, "open", refuse)
    monkeypatch.setattr(Path, "read_bytes", lambda self: _read(self))
    told = problems(stored)
    assert f"{path}: cannot be read: Permission denied" in told
    assert len(told.splitlines()) <= 2  # the other files are whole, and were still looked at


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        data: bytes = file.read()
        return data


def test_links_in_a_circle_and_names_too_long(stored: StoredRun) -> None:
    path = stored.folder / stored.run.files[0].path
    path.unlink()
    path.symlink_to(path.name)
    assert str(path) in problems(stored)
    path.unlink()
    manifest = json.loads((stored.folder / "run.json").read_text())
    manifest["files"].append({"path": "raw/" + "x" * 300, "size": 0, "sha256": "0" * 64})
    edit(stored.folder, files=manifest["files"])
    assert "xxx: cannot be read: File name too long" in problems(stored)


@pytest.mark.parametrize("wrong", [b"\xff\xfe", b"[" * 100_000, b'{"a": "\\ud800"}'])
def test_nothing_in_a_folder_makes_it_raise(stored: StoredRun, wrong: bytes) -> None:
    rewrite(stored.folder, "samples.jsonl", wrong)
    assert "samples.jsonl" in problems(stored)
    for entry in stored.run.files:
        if entry.path.endswith(".json"):
            rewrite(stored.folder, "samples.jsonl", _lines(stored))
            rewrite(stored.folder, entry.path, wrong)
            assert entry.path in problems(stored)
    (stored.folder / "run.json").write_bytes(wrong)
    assert "run.json" in problems(stored)


def _lines(stored: StoredRun) -> bytes:
    return b"".join(sample.model_dump_json(exclude_none=True).encode() + b"\n" for sample in stored.samples)


def test_what_nobody_foresaw_is_a_problem_of_that_run(
    stored: StoredRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(folder: Path) -> None:
        raise KeyError("surprise")

    monkeypatch.setattr("runner.generators.GENERATORS", {"oha": type("Broken", (), {"read": fail})})
    assert "KeyError" in problems(stored)


@pytest.mark.parametrize("state", ["complete", "interrupted"])
def test_a_manifest_that_lists_no_files(stored: StoredRun, state: str) -> None:
    edit(stored.folder, files=[], state=state)
    assert "run.json: the manifest lists no files" in problems(stored)


def test_a_manifest_that_leaves_files_out(stored: StoredRun) -> None:
    for left_out in stored.run.files:
        edit(stored.folder, files=[e.model_dump() for e in stored.run.files if e != left_out])
        assert str(stored.folder / left_out.path) in problems(stored)


def test_a_running_run_lists_none_yet(stored: StoredRun) -> None:
    edit(stored.folder, files=[], state="running")
    report = verify(stored.folder)
    assert report.ok, report.problems
    assert report.files > 0
