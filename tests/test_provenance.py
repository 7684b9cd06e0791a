"""Revision, lock and distributions."""

from __future__ import annotations

import hashlib
import importlib.metadata
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from runner import provenance
from runner.errors import ArtifactError
from runner.model import Source

ROOT = Path(__file__).parent.parent
HASH = "--hash=sha256:" + "0" * 64
needs_git = pytest.mark.skipif(not shutil.which("git"), reason="needs git")


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(
        ["git", "-C", folder, *identity, *arguments], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one commit, of the file ``code.py``."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "--quiet")
    (folder / "code.py").write_text("1\n")
    (folder / ".gitignore").write_text("env/\n")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "first")
    return folder


@needs_git
class TestSource:
    def test_a_clean_tree(self, repository: Path) -> None:
        found = provenance.source(repository)
        assert found == Source(revision=git(repository, "rev-parse", "HEAD"), dirty=False, remote=None)
        assert len(found.revision or "") == 40

    @pytest.mark.parametrize("name", ["code.py", "new.py", "folder/new.py"])
    def test_a_change_makes_it_dirty(self, repository: Path, name: str) -> None:
        (repository / name).parent.mkdir(exist_ok=True)
        (repository / name).write_text("2\n")
        assert provenance.source(repository).dirty is True

    def test_the_run_being_written_and_the_built_site_do_not(self, repository: Path) -> None:
        for name in ("artifacts/rest-1/run.json", "site/index.html"):
            (repository / name).parent.mkdir(parents=True)
            (repository / name).write_text("{}")
        assert provenance.source(repository).dirty is False

    def test_a_folder_below_sees_the_whole_tree(self, repository: Path) -> None:
        (repository / "below").mkdir()
        (repository / "code.py").write_text("2\n")
        assert provenance.source(repository / "below").dirty is True

    def test_the_remote_is_without_credentials(self, repository: Path) -> None:
        git(repository, "remote", "add", "origin", "https://me:secret@git.example.org/a/b.git")
        assert provenance.source(repository).remote == "https://git.example.org/a/b.git"

    def test_no_repository_no_commit_or_an_ignored_folder_tell_nothing(
        self, repository: Path, tmp_path: Path
    ) -> None:
        assert provenance.source(tmp_path / "nowhere") == Source()
        (tmp_path / "plain").mkdir()
        assert provenance.source(tmp_path / "plain") == Source()
        (tmp_path / "fresh").mkdir()
        git(tmp_path / "fresh", "init", "--quiet")
        assert provenance.source(tmp_path / "fresh") == Source()
        (repository / "env").mkdir()
        assert provenance.source(repository / "env") == Source()


def test_without_git_nothing_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert provenance.source(ROOT) == Source()


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://git.example.org/a/b.git", "https://git.example.org/a/b.git"),
        ("https://token@git.example.org:8443/a?key=1#x", "https://git.example.org:8443/a"),
        ("ssh://someone@git.example.org:22/a", "ssh://git@git.example.org:22/a"),
        ("ssh://git.example.org/a", "ssh://git.example.org/a"),
        ("git@git.example.org:a/b.git", "git@git.example.org:a/b.git"),
        ("someone@git.example.org:a/b.git", "git@git.example.org:a/b.git"),
        ("/home/someone/b.git", None),
        ("../b", None),
        ("file:///home/someone/b.git", None),
    ],
)
def test_what_of_a_remote_is_published(url: str, expected: str | None) -> None:
    assert provenance.public_remote(url) == expected


class TestLock:
    def write(self, tmp_path: Path, text: str) -> Path:
        path = tmp_path / "locks" / "bench.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    def test_what_is_installed_matches_itself(self, tmp_path: Path) -> None:
        text = "".join(
            f"{name}=={version} \\\n    {HASH} \\\n    {HASH}\n"
            for name, version in provenance.distributions().items()
        )
        path = self.write(tmp_path, text)
        lock = provenance.lock_state(path)
        assert lock.matches
        assert lock.drift == []
        assert lock.path == "locks/bench.txt"
        assert lock.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()

    def test_drift_names_both_versions_and_what_is_missing(self, tmp_path: Path) -> None:
        real = importlib.metadata.version("pydantic")
        lock = provenance.lock_state(
            self.write(
                tmp_path, f"# made by hand\nPydantic==0.0.1 \\\n    {HASH}\nno-such-thing==2.0 {HASH}\n"
            )
        )
        assert not lock.matches
        assert lock.drift == [
            "no-such-thing: lock 2.0, not installed",
            f"pydantic: lock 0.0.1, installed {real}",
        ]

    def test_a_distribution_installed_beyond_the_lock_is_no_drift(self, tmp_path: Path) -> None:
        version = importlib.metadata.version("pydantic")
        assert provenance.lock_state(self.write(tmp_path, f"pydantic=={version} \\\n    {HASH}\n")).matches

    def test_markers_decide_which_pin_holds_here(self) -> None:
        here = f"{sys.version_info.major}.{sys.version_info.minor}"
        text = (
            f"one==1.0 ; python_version == '{here}' \\\n    {HASH}\n"
            f"one==2.0 ; python_version != '{here}' \\\n    {HASH}\n"
            f"two==3.0 ; sys_platform == 'win32' \\\n    {HASH}\n"
            f"Three.Four_Five==4.0 ; python_full_version >= '3.11' and os_name != 'nt' \\\n    {HASH}\n"
        )
        assert provenance.read_lock(text, "x.txt") == {"one": "1.0", "three-four-five": "4.0"}

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("pydantic>=2", "pydantic is not pinned"),
            ("pydantic", "pydantic is not pinned"),
            ("pydantic==2.*", "pydantic is not pinned"),
            ("pydantic==2.0,<3", "pydantic is not pinned"),
            ("what is this", "not a requirement"),
            ("<<<<<<< HEAD", "not a requirement"),
        ],
    )
    def test_a_line_that_is_no_pin_is_an_error_with_its_number(self, line: str, message: str) -> None:
        with pytest.raises(ArtifactError, match=rf"x\.txt, line 3: .*{message}"):
            provenance.read_lock(f"# head\nrich==1.0\n{line}\n", "x.txt")

    def test_a_missing_lock_is_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(ArtifactError, match=r"bench\.txt: cannot be read"):
            provenance.lock_state(tmp_path / "bench.txt")

    def test_the_projects_own_locks_can_be_read(self) -> None:
        for path in sorted((ROOT / "locks").glob("*.txt")):
            pins = provenance.read_lock(path.read_text(), path.name)
            assert pins["pydantic"] == "2.14.1", path.name


def test_distributions_are_what_importlib_finds() -> None:
    found = provenance.distributions()
    assert found["pydantic"] == importlib.metadata.version("pydantic")
    assert list(found) == sorted(found)
    assert all(name == provenance.normalised(name) for name in found)
