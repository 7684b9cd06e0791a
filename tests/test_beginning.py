"""What a run begins with: the source's hash and archive, the names kept out, the run that is resumed."""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

from benchmarks.synthetic import write_run
from runner import beginning, manifest, plan, store, suite
from runner.errors import ArtifactError
from runner.generators import GENERATORS
from runner.plan import Options
from runner.redact import Redactor
from runner.snapshot import snapshot
from runner.suite import LoadedSuite
from tests.capturing import have, suite_text

ROOT = Path(__file__).parents[1]
needs_git = pytest.mark.skipif(bool(have("git")), reason="needs git")


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True)


def packed(archive: bytes | None) -> dict[str, bytes]:
    assert archive is not None
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        files = {member.name: tar.extractfile(member) for member in tar}
        return {name: file.read() for name, file in files.items() if file}


# The source


def test_the_hash_of_a_stored_run_is_reproduced_from_its_archive(tmp_path: Path) -> None:
    """Another rule would make every stored run incomparable with the next."""
    folder = ROOT / "artifacts" / "ref-rest-one-worker"
    for name, data in packed((folder / "raw" / "source.tar.gz").read_bytes()).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    found = snapshot(tmp_path, ROOT / "artifacts")
    assert found.sha256 == store.read_manifest(folder).comparable["application_sha256"]


def test_snapshot_is_reproducible_and_hides_nothing_visible(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "sub" / "__pycache__").mkdir(parents=True)
    (source / "app.py").write_text("a = 1\n")
    (source / "sub" / "data.txt").write_text("x")
    (source / "sub" / "__pycache__" / "junk.pyc").write_text("x")
    (source / ".secret").write_text("x")
    (source / "link").symlink_to("/etc/hostname")
    (source / "artifacts").mkdir()
    (source / "artifacts" / "run.json").write_text("{}")
    first = snapshot(source, source / "artifacts")
    assert packed(first.archive) == {"app.py": b"a = 1\n", "sub/data.txt": b"x"}
    copy = tmp_path / "copy"
    shutil.copytree(source, copy, symlinks=True)
    os.utime(copy / "app.py", (1, 1))
    assert snapshot(copy, copy / "artifacts") == first
    (copy / "app.py").write_text("a = 2\n")
    assert snapshot(copy, copy / "artifacts").sha256 != first.sha256


def test_a_source_too_large_is_not_packed_but_hashed(tmp_path: Path) -> None:
    path = tmp_path / "big.bin"
    path.write_bytes(b"\0" * (9 * 2**20))
    first = snapshot(tmp_path, tmp_path / "artifacts")
    assert first.archive is None
    path.write_bytes(b"\0" * (9 * 2**20 - 1) + b"1")
    assert snapshot(tmp_path, tmp_path / "artifacts").sha256 != first.sha256


def test_the_hash_does_not_depend_on_whether_it_is_packed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "app.py").write_text("a = 1\n")
    (tmp_path / "empty").write_bytes(b"")
    packed_too = snapshot(tmp_path, tmp_path / "artifacts")
    monkeypatch.setattr("runner.snapshot.LIMIT", 1)
    monkeypatch.setattr("runner.snapshot._CHUNK", 2)
    assert snapshot(tmp_path, tmp_path / "artifacts").sha256 == packed_too.sha256


@pytest.mark.parametrize("code", [errno.EACCES, errno.ENOENT])
def test_a_file_that_is_unreadable_or_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    (tmp_path / "app.py").write_text("a = 1\n")
    path = tmp_path / "log.txt"
    path.write_text("x")
    real = Path.open

    def refuse(self: Path, *arguments: Any, **options: Any) -> Any:
        if self == path:
            raise OSError(code, os.strerror(code), str(self))
        return real(self, *arguments, **options)

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(ArtifactError, match=r"log\.txt: cannot be read") as caught:
        snapshot(tmp_path, tmp_path / "artifacts")
    assert caught.value.hint


def test_a_file_cut_short_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.txt"
    path.write_bytes(b"x" * 100_000)
    monkeypatch.setattr("runner.snapshot._CHUNK", 20_000)
    real = snapshot.__globals__["_hashed"]

    def cut(*arguments: Any) -> Any:
        for chunk in real(*arguments):
            os.truncate(path, 10)
            yield chunk

    monkeypatch.setattr("runner.snapshot._hashed", cut)
    with pytest.raises(ArtifactError, match=r"log\.txt: became shorter"):
        snapshot(tmp_path, tmp_path / "artifacts")


@needs_git
def test_what_git_ignores_is_no_source(tmp_path: Path) -> None:
    project = tmp_path / "project"
    app = project / "app"
    app.mkdir(parents=True)
    (app / "tracked.py").write_text("a = 1\n")
    (app / "gone.py").write_text("")
    (app / "forced.log").write_text("")
    before_git = snapshot(app, project / "artifacts")
    git(project, "init")
    (project / ".gitignore").write_text("*.log\n*.sqlite\nignored/\n")
    git(project, "add", "-f", "app")
    (app / "gone.py").unlink()
    (app / "new é.py").write_text("b = 1\n")
    (app / ".env").write_text("PASSWORD=1\n")
    first = snapshot(app, project / "artifacts")
    assert sorted(packed(first.archive)) == ["forced.log", "new é.py", "tracked.py"]
    (app / "access.log").write_text("written by the server")
    (app / "db.sqlite").write_text("so is this")
    assert snapshot(app, project / "artifacts") == first
    (app / "new é.py").write_text("b = 2\n")
    assert snapshot(app, project / "artifacts").sha256 != first.sha256
    # Git decides what belongs to the source, and nothing else of its hash.
    (app / "new é.py").unlink()
    (app / "gone.py").write_text("")
    assert snapshot(app, project / "artifacts") == before_git


@needs_git
def test_a_directory_that_git_ignores_and_a_repository_within(tmp_path: Path) -> None:
    git(tmp_path, "init")
    (tmp_path / ".gitignore").write_text("ignored/\n")
    ignored = tmp_path / "ignored"
    ignored.mkdir()
    (ignored / "app.py").write_text("a = 1\n")
    assert sorted(packed(snapshot(ignored, tmp_path / "artifacts").archive)) == ["app.py"]
    inner = tmp_path / "inner"
    inner.mkdir()
    git(inner, "init")
    (inner / "lib.py").write_text("a = 1\n")
    assert sorted(packed(snapshot(tmp_path, tmp_path / "artifacts").archive)) == ["inner/lib.py"]


def test_names_are_replaced_in_the_archive_and_not_in_the_hash(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("HOME = '/home/wilhelmina/shop'\n")
    redactor = Redactor({}, user="wilhelmina", home="/home/wilhelmina")
    plain = snapshot(tmp_path, tmp_path / "artifacts")
    clean = snapshot(tmp_path, tmp_path / "artifacts", redactor)
    assert clean.sha256 == plain.sha256
    assert packed(clean.archive) == {"app.py": b"HOME = '<home>/shop'\n"}


# The manifest


def begun(project: Path, text: str) -> store.StoredRun:
    if not any(generator.version() for generator in GENERATORS.values()):
        pytest.skip("needs a load generator (uv's group bench has k9)")
    path = project / "truth.toml"
    path.write_text(text)
    made = plan.make(suite.load(str(path)), Options())
    with beginning.begin(made, project / "artifacts", project, []) as writer:
        return store.read(writer.folder)


def test_a_suite_that_names_this_machine_is_kept_and_marked(tmp_path: Path) -> None:
    def marked(text: str) -> bool:
        stored = begun(tmp_path, text)
        assert stored.run.suite_file.text == text
        archive = packed((stored.folder / "raw" / "source.tar.gz").read_bytes())
        assert str(tmp_path).encode() not in archive["truth.toml"]
        return "names" in [note.code for note in stored.run.warnings]

    plain = suite_text({}) + '[[server]]\nname = "good"\ncommand = ["serve", "{port}"]\n'
    assert not marked(plain)
    assert marked(plain.replace('"serve"', f'"{tmp_path}/serve"'))


def test_a_large_source_has_its_hash_and_a_warning(tmp_path: Path) -> None:
    (tmp_path / "big.bin").write_bytes(b"\0" * (9 * 2**20))
    stored = begun(tmp_path, suite_text({"good": []}))
    assert len(stored.run.comparable["application_sha256"]) == 64
    assert "no-snapshot" in [note.code for note in stored.run.warnings]
    assert not (stored.folder / "raw" / "source.tar.gz").exists()


# The run to resume


def loaded_and_half(tmp_path: Path) -> tuple[LoadedSuite, Path]:
    """A suite and an unfinished run of it in ``tmp_path/artifacts``."""
    stored = begun(tmp_path, suite_text({"good": []}))
    return suite.load(str(tmp_path / "truth.toml")), stored.folder


@pytest.mark.parametrize("damage", ["half", "empty", "directory"])
def test_a_broken_neighbour_does_not_keep_a_run_from_being_resumed(tmp_path: Path, damage: str) -> None:
    loaded, folder = loaded_and_half(tmp_path)
    neighbour = write_run(tmp_path / "artifacts", "neighbour", servers=1, repeats=1).folder / "run.json"
    whole = neighbour.read_bytes()
    neighbour.unlink()
    if damage == "directory":
        neighbour.mkdir()
    else:
        neighbour.write_bytes(whole[: len(whole) // 2] if damage == "half" else b"")
    made, found = beginning.unfinished(loaded, Options(), tmp_path / "artifacts", None)
    assert found == folder
    assert made.cases == store.read_manifest(folder).cases
    with pytest.raises(ArtifactError, match="neighbour"):  # asked for by name, it is told
        beginning.unfinished(loaded, Options(), tmp_path / "artifacts", "neighbour")
    shutil.rmtree(folder)
    with pytest.raises(ArtifactError, match="no unfinished run") as caught:
        beginning.unfinished(loaded, Options(), tmp_path / "artifacts", None)
    assert "neighbour" in caught.value.hint


@needs_git
def test_a_log_beside_the_suite_does_not_keep_a_run_from_being_resumed(tmp_path: Path) -> None:
    git(tmp_path, "init")
    (tmp_path / ".gitignore").write_text("*.log\n/artifacts/\n")
    loaded, folder = loaded_and_half(tmp_path)
    (tmp_path / "access.log").write_text("written by the server")
    made, found = beginning.unfinished(loaded, Options(), tmp_path / "artifacts", None)
    with beginning.resume(made, found, tmp_path) as writer:
        assert writer.folder == folder
    (tmp_path / "app.py").write_text("changed = True\n")
    with pytest.raises(ArtifactError, match="application_sha256"):
        beginning.resume(made, found, tmp_path)


def test_a_workload_without_new_keys_is_the_same_as_in_format_1_0() -> None:
    """Or no run of today could be compared with those captured before."""
    stored = json.loads((ROOT / "artifacts" / "ref-rest-one-worker" / "run.json").read_text())
    assert stored["schema_version"] == "1.0"
    workloads = suite.load("rest").suite.workload
    assert {item.name: manifest._fingerprint(item) for item in workloads} == stored["comparable"]["workloads"]
