"""Runs from disk to views: read once for each content, summarised in one pass.

MkDocs keeps hook modules over the rebuilds of ``mkdocs serve``, so the cache does too; it is keyed by
content, so that a touched file costs a hash and a changed one is never missed.
"""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from hooks.view import Columns, View
from runner import store
from runner.errors import ArtifactError, LapsheetError
from runner.model import Run

Loaded = dict[str, View | LapsheetError]

_cache: dict[str, View] = {}


def load(artifacts: Path, ids: Iterable[str]) -> Loaded:
    """The runs of these folders: a view each, or what is wrong with it.

    A manifest that lists its files is held to them: a missing file, another size, an LFS pointer or
    other bytes of the samples are errors. The hashes of raw files are checked where they are copied.
    """
    with _uncollected():
        found = _load(artifacts, ids)
    kept = {view.key: view for view in found.values() if isinstance(view, View)}
    _cache.clear()
    _cache.update(kept)
    return found


@contextmanager
def _uncollected() -> Iterator[None]:
    """Keep the garbage collector away from the samples.

    They are millions of small objects without a cycle among them, and it would walk through all of them
    again and again, also while the pages are made.
    """
    gc.unfreeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.freeze()


def _load(artifacts: Path, ids: Iterable[str]) -> Loaded:
    found: Loaded = {}
    fresh: dict[str, tuple[str, str, int, store.StoredRun]] = {}
    for run_id in ids:
        folder = artifacts / run_id
        try:
            manifest, samples = _bytes(folder / store.MANIFEST), _bytes(folder / store.SAMPLES)
            sha = hashlib.sha256(manifest).hexdigest()
            samples_sha = hashlib.sha256(samples).hexdigest()
            key = hashlib.sha256(f"{run_id} {sha} {samples_sha}".encode()).hexdigest()
            if key in _cache:
                stored = _cache[key].stored
                found[run_id] = _cache[key]
            else:
                stored = _renamed(store.read(folder))
                fresh[run_id] = (key, sha, len(manifest), stored)
            _check_files(stored, samples_sha)
        except LapsheetError as error:
            fresh.pop(run_id, None)
            found[run_id] = error
    found.update(_summarise(fresh))
    return found


def _bytes(path: Path) -> bytes:
    """A file's bytes; none where it is missing, which is for the reader to explain."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise ArtifactError(f"{path}: {error.strerror}", "Check the file's permissions.") from None


def _renamed(stored: store.StoredRun) -> store.StoredRun:
    """The run under its folder's name: a committed copy of a run still here keeps the run's own id."""
    return replace(stored, run=stored.run.model_copy(update={"id": stored.folder.name}))


def _check_files(stored: store.StoredRun, samples_sha: str) -> None:
    for entry in stored.run.files:
        path = stored.folder / entry.path
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


def _summarise(fresh: dict[str, tuple[str, str, int, store.StoredRun]]) -> Loaded:
    """The views of runs that were just read; one pass for all, and one each if that fails."""
    if not fresh:
        return {}
    # Imported here because pandas is the largest part of the start, and a build that finds every run
    # in the cache does not need it.
    from runner.analysis import summary

    try:
        frame = summary([stored for _, _, _, stored in fresh.values()])
    except LapsheetError as error:
        if len(fresh) == 1:
            return dict.fromkeys(fresh, error)
        alone = [_summarise({run_id: entry}) for run_id, entry in fresh.items()]
        return {run_id: view for one in alone for run_id, view in one.items()}
    parts = _parts(frame)
    return {
        run_id: View(run_id, key, sha, size, stored, _own(parts.get(run_id, {}), stored.run))
        for run_id, (key, sha, size, stored) in fresh.items()
    }


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
