"""What earlier builds made, on disk, by the content it was made from.

A key says everything that the thing depends on; the code that makes it, and the versions of what that code
uses, are part of every name. So nothing ever has to be invalidated: what changed has another name, and what
is not used for a while is deleted. The folder may be deleted at any time. An entry that is torn, altered or
not ours counts as none. Nothing here can end a build: what cannot be stored is made again next time.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import logging
import os
import re
import sys
import time
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

import orjson

_ROOT = Path(__file__).parent.parent
# What the pages and exports are made with, beside the code of this repository.
_DISTRIBUTIONS = ("jinja2", "markupsafe", "numpy", "orjson", "pandas", "plotly", "pyarrow", "pydantic")
_MAGIC = b"lapsheet cache 1 "
_UNUSED_DAYS = 14
_UNUSED_BYTES = 512 * 2**20
_DAY = 86400.0
# An entry's name, or that of one that was never finished.
_OURS = re.compile(r"[a-z]+-[0-9a-f]{64}|\.[a-z]+-[0-9a-f]{64}\.\d+\.\d+")

_number = itertools.count()
log = logging.getLogger("mkdocs.hooks.lapsheet")


class Cache:
    """Entries of bytes below a folder; without a ``folder`` it holds nothing."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._used: set[str] = set()
        self._failed = False

    def has(self, kind: str, key: str) -> bool:
        """Whether there is such an entry, sound or not; it is kept for the next build."""
        if self._folder is None:
            return False
        name = _name(kind, key)
        self._used.add(name)
        return (self._folder / name).exists()

    def get(self, kind: str, key: str) -> list[bytes] | None:
        """The parts that were put under this key; None without a sound entry."""
        if self._folder is None:
            return None
        name = _name(kind, key)
        self._used.add(name)
        try:
            with (self._folder / name).open("rb") as file:
                head, rest = file.readline(), file.read()
        except OSError:
            return None
        if head != _head(name, rest):
            return None
        sizes, _, content = rest.partition(b"\n")
        ends = list(itertools.accumulate(orjson.loads(sizes)))
        return [content[start:end] for start, end in zip([0, *ends], ends, strict=False)]

    def put(self, kind: str, key: str, parts: Sequence[bytes]) -> None:
        """Store these parts under this key, whole or not at all."""
        if self._folder is None or self._failed:
            return
        name = _name(kind, key)
        self._used.add(name)
        rest = [orjson.dumps([len(part) for part in parts]), b"\n", *parts]
        partial = self._folder / f".{name}.{os.getpid()}.{next(_number)}"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with partial.open("wb") as file:
                file.write(_head(name, *rest))
                file.writelines(rest)
            partial.replace(self._folder / name)
        except OSError as error:
            self._failed = True
            log.info("Nothing is cached: %s: %s", error.filename or self._folder, error.strerror)

    def prune(self) -> None:
        """Delete what no build has used for a while, and the oldest of the rest while it is too much.

        What this build used stays.
        """
        if self._folder is None or not self._folder.is_dir():
            return
        now, unused = time.time(), []
        try:
            with os.scandir(self._folder) as entries:
                for entry in entries:
                    if not _OURS.fullmatch(entry.name):
                        continue
                    status = entry.stat()
                    if entry.name not in self._used:
                        unused.append((status.st_mtime, status.st_size, entry.path))
                    elif now - status.st_mtime > _DAY:
                        os.utime(entry.path)
            total = 0
            for used, size, path in sorted(unused, reverse=True):
                total += size
                if now - used > _UNUSED_DAYS * _DAY or total > _UNUSED_BYTES:
                    Path(path).unlink()
        except OSError as error:
            log.info("The cache was not pruned: %s: %s", error.filename or self._folder, error.strerror)


def _name(kind: str, key: str) -> str:
    return f"{kind}-{hashlib.sha256(f'{code()} {kind} {key}'.encode()).hexdigest()}"


def _head(name: str, *rest: bytes) -> bytes:
    digest = hashlib.sha256(name.encode())
    for part in rest:
        digest.update(part)
    return _MAGIC + digest.hexdigest().encode() + b"\n"


@functools.cache
def code() -> str:
    """The hash of all that makes pages: this code as it was at the first call, Python, distributions.

    Once a process, because a module that is edited while ``mkdocs serve`` runs is not loaded again.
    """
    digest = hashlib.sha256(sys.version.encode())
    for name in _DISTRIBUTIONS:
        digest.update(f"{name} {_version(name)}\n".encode())
    for package in ("hooks", "runner"):
        for path in sorted((_ROOT / package).rglob("*")):
            if path.suffix in (".py", ".toml") and path.is_file():
                digest.update(f"{path.relative_to(_ROOT).as_posix()} {path.stat().st_size}\n".encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "none"


NO_CACHE = Cache(None)
