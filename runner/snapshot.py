"""The source under test: the hash that says whether two runs measured the same program, and its archive."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import subprocess
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from runner.errors import ArtifactError
from runner.redact import Redactor

LIMIT = 8 * 2**20
_CHUNK = 2**20
_NOT_SOURCE = {"__pycache__", "node_modules", "venv"}


@dataclass(frozen=True)
class Snapshot:
    """``sha256`` is over the names and contents as they are; ``archive``, a ``.tar.gz``, is redacted.

    ``archive`` is None for a source over 8 MiB; the hash is always there.
    """

    sha256: str
    archive: bytes | None


def snapshot(directory: Path, without: Path, redactor: Redactor | None = None) -> Snapshot:
    """The source under test: the SHA-256 over its names and contents, and a reproducible archive of it.

    Within a git work tree these are the files that git tracks or would not ignore, so that a log or a
    database that a server writes beside itself, and that git ignores, is no source; elsewhere (no git, or a
    directory that is itself ignored) all files. In either case hidden files, caches, symbolic links and the
    folder ``without`` (the artifacts, where they lie inside) are left out.

    Raises ArtifactError for what cannot be read or changes while it is read.
    """
    digest = hashlib.sha256()
    buffer = io.BytesIO()
    try:
        paths = sorted(_files(directory, without.resolve()))
        small = sum(path.stat().st_size for path in paths) <= LIMIT
        with (
            gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0) as zipped,
            tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            for path in paths:
                name = path.relative_to(directory).as_posix()
                data = bytearray()
                for chunk in _hashed(path, name, digest):
                    if small:
                        data += chunk
                if small:
                    _add(archive, name, bytes(data), redactor)
    except OSError as error:
        raise ArtifactError(
            f"{error.filename or directory}: cannot be read: {error.strerror or error}",
            "The source under test is stored with the run; make the file readable, or have git ignore it.",
        ) from error
    return Snapshot(digest.hexdigest(), buffer.getvalue() if small else None)


def _hashed(path: Path, name: str, digest: hashlib._Hash) -> Iterator[bytes]:
    """The contents of one file, chunk by chunk, each hashed as it is read."""
    with path.open("rb") as file:
        left = os.fstat(file.fileno()).st_size
        digest.update(name.encode("utf-8", "surrogateescape") + f"\0{left}\0".encode())
        # No more than the size that was hashed, of a file that grows meanwhile.
        while left:
            chunk = file.read(min(left, _CHUNK))
            if not chunk:
                raise ArtifactError(
                    f"{path}: became shorter while it was read",
                    "Does a program write it? Have git ignore it, or move it out of the suite's directory.",
                )
            digest.update(chunk)
            left -= len(chunk)
            yield chunk


def _add(archive: tarfile.TarFile, name: str, data: bytes, redactor: Redactor | None) -> None:
    if redactor is not None:
        name, data = redactor.text(name), redactor.bytes(data)
    info = tarfile.TarInfo(name)
    info.size = len(data)
    archive.addfile(info, io.BytesIO(data))


def _files(directory: Path, without: Path) -> Iterator[Path]:
    known = _known_to_git(directory)
    if known is None:
        yield from _walk(directory, without)
        return
    for name in known:
        path = directory / name
        if not _is_source(Path(name)) or path.is_relative_to(without) or path.is_symlink():
            continue
        if path.is_file():
            yield path
        elif path.is_dir():
            # A repository within the repository, of which git tells only the name.
            yield from _walk(path, without)


def _walk(directory: Path, without: Path) -> Iterator[Path]:
    def refuse(error: OSError) -> None:
        raise error

    for folder, folders, names in os.walk(directory, onerror=refuse):
        here = Path(folder)
        folders[:] = [name for name in folders if _is_source(Path(name)) and here / name != without]
        for name in names:
            path = here / name
            if _is_source(Path(name)) and path.is_file() and not path.is_symlink():
                yield path


def _is_source(path: Path) -> bool:
    return not any(part.startswith(".") or part in _NOT_SOURCE for part in path.parts)


def _known_to_git(directory: Path) -> set[str] | None:
    """The names below the directory that git tracks or would not ignore; None where git has no say."""
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}

    def git(*arguments: str) -> subprocess.CompletedProcess[bytes]:
        command = ["git", "-C", str(directory), *arguments]
        return subprocess.run(command, capture_output=True, timeout=60, env=environment, check=False)

    try:
        if git("check-ignore", "--quiet", ".").returncode == 0:
            return None
        listed = git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    except FileNotFoundError:
        return None
    except subprocess.TimeoutExpired:
        # The other rule would give another hash than the last run's: better no run.
        raise ArtifactError(
            f"{directory}: git does not list its files within 60 s", "Does `git status` work there?"
        ) from None
    if listed.returncode:
        return None
    # A set: a file in conflict is listed once for each side.
    return {os.fsdecode(name).rstrip("/") for name in listed.stdout.split(b"\0") if name}
