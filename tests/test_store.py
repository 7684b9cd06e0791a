"""Reading runs: damage of every kind is told by file, line and field."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.synthetic import write_run
from runner import store
from runner.errors import ArtifactError
from runner.store import StoredRun

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 12345\n"


@pytest.fixture
def written(tmp_path: Path) -> StoredRun:
    return write_run(tmp_path, "run-1", servers=2, workloads=1, repeats=2)


def refusal(folder: Path) -> ArtifactError:
    with pytest.raises(ArtifactError) as caught:
        store.read(folder)
    return caught.value


def edit(path: Path, **changes: Any) -> None:
    data = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps(data | changes), "utf-8")


# What is right


def test_a_run_is_read_back_as_it_was_written(written: StoredRun) -> None:
    assert store.read(written.folder) == written
    assert len(written.samples) == 6


def test_every_file_of_a_run_has_its_size_and_hash_in_the_manifest(written: StoredRun) -> None:
    files = {entry.path: entry for entry in written.run.files}
    there = {p.relative_to(written.folder).as_posix(): p for p in written.folder.rglob("*") if p.is_file()}
    assert set(there) - {"run.json"} == set(files)
    for name, entry in files.items():
        data = there[name].read_bytes()
        assert (entry.size, entry.sha256) == (len(data), hashlib.sha256(data).hexdigest())
        assert store.sha256_file(there[name]) == entry.sha256


def test_run_folders_are_those_with_a_manifest(written: StoredRun) -> None:
    artifacts = written.folder.parent
    (artifacts / "not-a-run").mkdir()
    write_run(artifacts, "a-run", servers=1, workloads=1, repeats=1)
    assert store.run_ids(artifacts) == ["a-run", "run-1"]
    assert store.run_ids(artifacts / "nowhere") == []
    assert store.run_folder(artifacts, "run-1") == written.folder


def test_a_run_without_samples_yet_is_read(written: StoredRun) -> None:
    (written.folder / "samples.jsonl").unlink()
    assert store.read(written.folder).samples == []


def test_a_newer_minor_version_with_unknown_fields_is_accepted(written: StoredRun) -> None:
    edit(written.folder / "run.json", schema_version="1.9", energy={"joules": 12})
    lines = (written.folder / "samples.jsonl").read_text("utf-8").splitlines()
    later = [json.dumps(json.loads(line) | {"energy": 3.5}) for line in lines]
    (written.folder / "samples.jsonl").write_text("\n".join(later) + "\n", "utf-8")
    got = store.read(written.folder)
    assert got.run.schema_version == "1.9"
    assert got.run.model_copy(update={"schema_version": written.run.schema_version}) == written.run
    assert got.samples == written.samples


# What is damaged


@pytest.mark.parametrize("version", ["2.0", "0.9", "10.0"])
def test_another_major_version_is_refused(written: StoredRun, version: str) -> None:
    edit(written.folder / "run.json", schema_version=version)
    error = refusal(written.folder)
    assert f"run.json: schema_version is '{version}', this Lapsheet reads 1.x" in error.message
    assert error.hint == "Use the Lapsheet that captured it, or a newer one."


def test_another_major_version_is_told_before_the_fields_it_changed(written: StoredRun) -> None:
    (written.folder / "run.json").write_text('{"schema_version": "2.0", "everything": "new"}', "utf-8")
    assert "this Lapsheet reads 1.x" in refusal(written.folder).message


def test_a_missing_manifest_and_an_unknown_run_are_told(written: StoredRun) -> None:
    artifacts = written.folder.parent
    with pytest.raises(ArtifactError, match="no run 'run-2'") as caught:
        store.run_folder(artifacts, "run-2")
    assert caught.value.hint == "There are: run-1."
    with pytest.raises(ArtifactError, match="is not a run id"):
        store.run_folder(artifacts, "../run-1")
    (written.folder / "run.json").unlink()
    assert refusal(written.folder).message.endswith("run.json: missing")


@pytest.mark.parametrize("name", ["run.json", "samples.jsonl"])
def test_an_lfs_pointer_is_named_with_the_remedy(written: StoredRun, name: str) -> None:
    (written.folder / name).write_bytes(POINTER)
    error = refusal(written.folder)
    assert error.message.endswith(f"{name}: a Git LFS pointer, not the file")
    assert error.hint == "Run `git lfs pull` first."


def test_a_pointer_is_known_by_its_format_alone() -> None:
    assert store.is_pointer(POINTER)
    assert not store.is_pointer(b"version https://git-lfs.github.com/spec/v1\n")
    assert not store.is_pointer(POINTER + b"x" * 1024)
    assert not store.is_pointer(b"{}\n" + POINTER)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"id": "run-1"}', b"\xff\xfe"])
def test_a_manifest_that_is_none_is_refused(written: StoredRun, data: bytes) -> None:
    (written.folder / "run.json").write_bytes(data)
    assert "run.json: " in refusal(written.folder).message


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("state", "done"),
        ("id", "Run 1"),
        ("cases", None),
        ("parameters", {"servers": []}),
        ("created", "soon"),
    ],
)
def test_a_wrong_field_of_the_manifest_is_named(written: StoredRun, field: str, value: object) -> None:
    edit(written.folder / "run.json", **{field: value})
    assert f"run.json: {field}" in refusal(written.folder).message


def test_a_copied_folder_is_not_another_run(written: StoredRun) -> None:
    copy = written.folder.rename(written.folder.with_name("run-2"))
    assert "id is 'run-1', the folder is 'run-2'" in refusal(copy).message


def test_a_torn_line_is_named_by_its_number(written: StoredRun) -> None:
    path = written.folder / "samples.jsonl"
    data = path.read_bytes()
    lines = data.splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]) + lines[-1][:40])
    error = refusal(written.folder)
    assert f"samples.jsonl, line {len(lines)}: " in error.message
    assert "--resume" in error.hint


@pytest.mark.parametrize(
    ("field", "value"),
    [("status", "fine"), ("repeat", 0), ("metrics", {"rps": "fast"}), ("started", "2026-01-01T00:00:00")],
)
def test_a_wrong_field_of_a_sample_is_named_with_its_line(
    written: StoredRun, field: str, value: object
) -> None:
    path = written.folder / "samples.jsonl"
    lines = path.read_text("utf-8").splitlines()
    lines[2] = json.dumps(json.loads(lines[2]) | {field: value})
    path.write_text("\n".join(lines) + "\n", "utf-8")
    assert f"samples.jsonl, line 3: {field}" in refusal(written.folder).message


@pytest.mark.parametrize("figure", ["NaN", "Infinity", "1e999"])
def test_figures_are_finite(written: StoredRun, figure: str) -> None:
    path = written.folder / "samples.jsonl"
    lines = path.read_text("utf-8").splitlines()
    lines[0] = lines[0].replace('"metrics":{"rps":', f'"metrics":{{"rps":{figure},"x":')
    path.write_text("\n".join(lines) + "\n", "utf-8")
    assert "samples.jsonl, line 1: " in refusal(written.folder).message


def test_a_path_that_leaves_the_folder_is_no_file_entry(written: StoredRun) -> None:
    for name in ("../outside", "/etc/passwd", ".hidden", "raw/a b", "raw/../../outside"):
        edit(written.folder / "run.json", files=[{"path": name, "size": 1, "sha256": "0" * 64}])
        assert "run.json: files.0.path" in refusal(written.folder).message


# Pins


def pins(artifacts: Path, text: str) -> dict[str, store.Pin]:
    (artifacts / "pins.toml").write_text(text, "utf-8")
    return store.read_pins(artifacts)


def test_pins_are_read_in_file_order(tmp_path: Path) -> None:
    sha = "ab" * 32
    got = pins(
        tmp_path, f'[rest]\nrun = "ref-1"\nsha256 = "{sha}"\n[a]\nrun = "r"\nsha256 = "{sha}"\nnote = "n"\n'
    )
    assert list(got) == ["rest", "a"]
    assert got["rest"] == store.Pin(run="ref-1", sha256=sha)
    assert got["a"].note == "n"


def test_no_pins_file_is_no_pins(tmp_path: Path) -> None:
    assert store.read_pins(tmp_path) == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[rest", "not valid TOML"),
        ('["Re st"]\nrun = "r"\nsha256 = "0"', "pin 'Re st' is not an id"),
        ('[rest]\nrun = "r"', "pin 'rest': sha256"),
        ('[rest]\nrun = "r"\nsha256 = "zz"', "pin 'rest': sha256"),
        ('[rest]\nrun = "../r"\nsha256 = "%s"' % ("0" * 64), "pin 'rest': run"),
        ('[rest]\nrun = "r"\nsha = "1"\nsha256 = "%s"' % ("0" * 64), "pin 'rest': sha"),
        ('rest = "r"', "pin 'rest'"),
    ],
)
def test_a_wrong_pin_is_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ArtifactError) as caught:
        pins(tmp_path, text)
    assert "pins.toml: " in caught.value.message
    assert said in caught.value.message
