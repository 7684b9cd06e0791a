"""Runs from disk to views: read once for each content, summarised in one pass.

MkDocs keeps hook modules over the rebuilds of ``mkdocs serve``, so the cache does too; it is keyed by
content, so that a touched file costs a hash and a changed one is never missed.
"""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, cast

from hooks.attempts import Attempt, Attempts, Columns, attempts_of
from hooks.view import View
from runner import store
from runner.errors import ArtifactError, LapsheetError
from runner.model import Run, Sample

Loaded = dict[str, View | LapsheetError]

_cache: dict[str, View] = {}


@dataclass(frozen=True)
class _Read:
    """A run that was read, without its samples."""

    key: str
    manifest_sha256: str
    manifest_size: int
    run: Run
    attempts: Attempts


def load(artifacts: Path, ids: Iterable[str]) -> Loaded:
    """The runs of these folders: a view each, or what is wrong with it.

    A manifest that lists its files is held to them: a missing file, another size, an LFS pointer or
    other bytes of the samples are errors. The hashes of raw files are checked where they are copied.
    """
    ids = list(ids)
    with _uncollected():
        found = _load(artifacts, ids)
    kept = {view.key: view for view in found.values() if isinstance(view, View)}
    _cache.clear()
    _cache.update(kept)
    return {run_id: found[run_id] for run_id in ids}


@contextmanager
def _uncollected() -> Iterator[None]:
    """Keep the garbage collector away from what is read.

    That is a great many small objects without a cycle among them, and it would walk through them again
    and again, also while the pages are made.
    """
    gc.unfreeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.freeze()


def _load(artifacts: Path, ids: list[str]) -> Loaded:
    found: Loaded = {}
    fresh: dict[str, _Read] = {}

    def read() -> Iterator[store.StoredRun]:
        """Each run that is not in the cache, one after the other, while the summary is being made."""
        for run_id in ids:
            folder = artifacts / run_id
            try:
                manifest, samples = _bytes(folder / store.MANIFEST), _bytes(folder / store.SAMPLES)
                sha = hashlib.sha256(manifest or b"").hexdigest()
                samples_sha = hashlib.sha256(samples or b"").hexdigest()
                key = hashlib.sha256(f"{run_id} {sha} {samples_sha}".encode()).hexdigest()
                if key in _cache:
                    _check_files(folder, _cache[key].run, samples_sha)
                    found[run_id] = _cache[key]
                    continue
                run = store.read_manifest(folder, manifest)
                lines = store.read_lines(folder, Attempt, samples)
                _check_files(folder, run, samples_sha)
                _check_cases(folder, run, lines)
                attempts = attempts_of(run, lines)
            except LapsheetError as error:
                found[run_id] = error
                continue
            fresh[run_id] = _Read(key, sha, len(manifest or b""), run, attempts)
            # The summary takes of a sample what an Attempt has.
            yield store.StoredRun(folder, run, cast("list[Sample]", lines))

    runs = read()
    first = next(runs, None)
    if first is None:
        return found
    # Imported here because pandas is the largest part of the start, and a build that finds every run
    # in the cache does not need it.
    from runner.analysis import summary

    try:
        frame = summary(chain([first], runs))
    except LapsheetError as error:
        if len(ids) == 1:
            return dict.fromkeys(ids, error)
        # It is one run's fault, and no other shall suffer for it.
        return {run_id: loaded for one in ids for run_id, loaded in _load(artifacts, [one]).items()}
    parts = _parts(frame)
    for run_id, one in fresh.items():
        columns = _own(parts.get(run_id, {}), one.run)
        folder = artifacts / run_id
        found[run_id] = View(
            run_id, one.key, one.manifest_sha256, one.manifest_size, folder, one.run, one.attempts, columns
        )
    return found


def _check_cases(folder: Path, run: Run, lines: list[Attempt]) -> None:
    cases = {case.id for case in run.cases}
    for number, line in enumerate(lines, 1):
        if line.case not in cases:
            raise ArtifactError(
                f"{folder / store.SAMPLES}, line {number}: unknown case {line.case!r}",
                "The samples are of another run, or the manifest is.",
            )


def _bytes(path: Path) -> bytes | None:
    """A file's bytes; None where it is missing, which is for the reader to explain."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ArtifactError(f"{path}: {error.strerror}", "Check the file's permissions.") from None


def _check_files(folder: Path, run: Run, samples_sha: str) -> None:
    for entry in run.files:
        path = folder / entry.path
        try:
            size = path.stat().st_size
        except OSError:
            raise ArtifactError(
                f"{path}: missing", "Restore it: `git checkout` the run folder, or `git lfs pull`."
            ) from None
        if size != entry.size:
            if size < 1024 and store.is_pointer(path.read_bytes()):
                raise ArtifactError(f"{path}: a Git LFS pointer, not the file", "Run `git lfs pull` first.")
            raise ArtifactError(
                f"{path}: {size} bytes, the manifest says {entry.size}",
                "The run was altered after its capture; restore it, or capture it again.",
            )
        if entry.path == store.SAMPLES and entry.sha256 != samples_sha:
            raise ArtifactError(
                f"{path}: its SHA-256 is not the manifest's",
                "The run was altered after its capture; restore it, or capture it again.",
            )


def _parts(frame: Any) -> dict[str, Columns]:
    """Run → its part of the summary, as columns of plain values with None for what is unknown."""
    columns: Columns = {}
    for name in frame.columns:
        column = frame[name]
        if column.isna().any():
            column = column.astype(object).where(column.notna(), None)
        columns[str(name)] = column.tolist()
    found: dict[str, Columns] = {}
    runs, start = columns.get("run", []), 0
    for end in range(1, len(runs) + 1):
        if end == len(runs) or runs[end] != runs[start]:
            found[runs[start]] = {name: values[start:end] for name, values in columns.items()}
            start = end
    return found


def _own(columns: Columns, run: Run) -> Columns:
    """One run's columns, without the dimensions that only other runs have."""
    from runner.frames import RESERVED

    dimensions = {name for case in run.cases for name in case.dimensions}
    return {name: values for name, values in columns.items() if name in RESERVED or name in dimensions}
