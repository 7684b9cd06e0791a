"""Writing a run: one writer at a time, every sample on the disk before the next begins.

Order of writes, so that a kill at any moment loses at most the running sample: raw files first, each
written aside, flushed and renamed; then one line of ``samples.jsonl``, flushed; the manifest is replaced
in one step. What an interrupted write left behind is cut off or set aside at resume, never guessed at.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import io
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from pydantic import ValidationError

from runner.errors import ArtifactError
from runner.model import FileEntry, Run, Sample
from runner.store import MANIFEST, RAW, SAMPLES, read_manifest, read_samples, sha256_file

LOCK = ".lock"
SCRATCH = ".scratch"


class RunWriter:
    """The single writer of one run folder; a context manager that holds the folder's lock.

    ``scratch`` is a folder for what need not outlive the capture; it is emptied at start and removed at
    the end.
    """

    def __init__(self, folder: Path, run: Run | None = None) -> None:
        """Create the run folder for ``run``, or open an existing one to resume it.

        Raises ArtifactError if it exists (creating), is complete (resuming), or another runner has it.
        """
        self.folder = folder
        # Absolute, because servers and generators run in folders of their own.
        self.scratch = (folder / SCRATCH).absolute()
        if run is not None:
            with _disk(folder):
                folder.parent.mkdir(parents=True, exist_ok=True)
                try:
                    folder.mkdir()
                except FileExistsError:
                    raise ArtifactError(
                        f"{folder} exists already", "Choose another --id, or continue it with --resume."
                    ) from None
        self._lock = self._acquire()
        try:
            self._open(run)
        except BaseException:
            self._release()
            raise

    def _open(self, run: Run | None) -> None:
        if run is None:
            self.run = read_manifest(self.folder)
            if self.run.state == "complete":
                raise ArtifactError(f"{self.folder}: the run is complete", "There is nothing to resume.")
            self._set_torn_line_aside()
            self.samples = read_samples(self.folder)
        else:
            self.run = run
            self.samples = []
        shutil.rmtree(self.scratch, ignore_errors=True)
        with _disk(self.folder):
            self.scratch.mkdir()
        if run is not None:
            self.save_manifest(run)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove the scratch folder and let go of the run. Doing so again does nothing."""
        if not self._lock.closed:
            shutil.rmtree(self.scratch, ignore_errors=True)
            self._release()

    def save_manifest(self, run: Run) -> None:
        """Replace the manifest in one step."""
        data = run.model_dump_json(indent=1, by_alias=True, exclude_none=True).encode() + b"\n"
        self._write(self.folder / MANIFEST, data)
        self.run = run

    def raw(self, name: str, data: bytes) -> FileEntry:
        """Store raw evidence at ``raw/<name>`` and return its entry."""
        path = self.folder / RAW / name
        self._write(path, data)
        return FileEntry(path=f"{RAW}/{name}", size=len(data), sha256=hashlib.sha256(data).hexdigest())

    def append(self, sample: Sample) -> None:
        """Store one attempt: a whole line on the disk, or (disk full) none of it and an ArtifactError."""
        line = sample.model_dump_json(exclude_none=True).encode() + b"\n"
        path = self.folder / SAMPLES
        # Unbuffered: a buffer would try to write the rest of a failed line again when it is closed.
        with _disk(path), path.open("ab", buffering=0) as file:
            size = file.seek(0, os.SEEK_END)
            try:
                rest = memoryview(line)
                while rest:
                    rest = rest[file.write(rest) :]
                os.fsync(file.fileno())
            except OSError:
                with contextlib.suppress(OSError):
                    os.truncate(path, size)
                raise
        self.samples.append(sample)

    def finish(self, run: Run) -> Run:
        """Write the final manifest with every file's size and SHA-256, and return it."""
        files = [
            FileEntry(
                path=path.relative_to(self.folder).as_posix(),
                size=path.stat().st_size,
                sha256=sha256_file(path),
            )
            for path in sorted(self.folder.rglob("*"))
            if path.is_file() and path.name not in (MANIFEST, LOCK) and SCRATCH not in path.parts
        ]
        final = run.model_copy(update={"files": files})
        self.save_manifest(final)
        return final

    def _acquire(self) -> io.TextIOWrapper:
        """The lock file, locked.

        A lock file can be removed by its holder after we opened it and before we locked it; a lock on it
        would then shut nobody out, because the next writer makes a new file. So look again.
        """
        path = self.folder / LOCK
        while True:
            with _disk(path):
                file = path.open("a+")
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                        return file
                except FileNotFoundError:
                    pass
                except BlockingIOError:
                    file.close()
                    raise ArtifactError(
                        f"{self.folder}: another runner is writing this run",
                        "Wait for it to end, or start a run of another --id.",
                    ) from None
                except OSError:
                    file.close()
                    raise
                file.close()

    def _release(self) -> None:
        # Removed while it is still locked: afterwards it may be another writer's.
        with contextlib.suppress(OSError):
            (self.folder / LOCK).unlink()
        self._lock.close()

    def _write(self, path: Path, data: bytes) -> None:
        aside = path.with_name(f".{path.name}.part")
        with _disk(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                with aside.open("wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                aside.replace(path)
            except OSError:
                aside.unlink(missing_ok=True)
                raise

    def _set_torn_line_aside(self) -> None:
        """Move a last line that a kill cut short to ``raw/torn-N.txt``; whole lines stay as they are.

        Parts of files whose rename never came are removed: their sample was never stored.
        """
        for part in self.folder.rglob(".*.part"):
            part.unlink()
        path = self.folder / SAMPLES
        data = path.read_bytes() if path.exists() else b""
        head, _, last = data.rpartition(b"\n")
        if not last:
            return
        try:
            Sample.model_validate_json(last)
        except ValidationError:
            number = len(list((self.folder / RAW).glob("torn-*.txt"))) + 1
            self.raw(f"torn-{number}.txt", last)
            self._write(path, head + b"\n" if head else b"")
        else:
            self._write(path, data + b"\n")


@contextlib.contextmanager
def _disk(path: Path) -> Iterator[None]:
    """Turn what a disk can refuse into an error that says what is safe and what to do."""
    try:
        yield
    except OSError as error:
        resume = "then continue with --resume; all stored samples are safe."
        remedies = {
            errno.ENOSPC: f"Free some space, {resume}",
            errno.EDQUOT: f"Free some of your quota, {resume}",
            errno.EFBIG: f"Raise the file size limit, {resume}",
            errno.EACCES: "Is the folder yours to write? Choose another with --output.",
            errno.EEXIST: "Choose a folder with --output.",
            errno.ENOTDIR: "Choose a folder with --output.",
            errno.ENOENT: "Choose a folder that can be made, with --output.",
            errno.EROFS: "The file system is read-only; choose another folder with --output.",
        }
        reason = "disk full" if error.errno == errno.ENOSPC else (error.strerror or str(error))
        raise ArtifactError(f"{path}: {reason}", remedies.get(error.errno or 0, "")) from error
