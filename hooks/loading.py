"""Runs from disk to views: read once for each content, summarised in one pass.

What is known of a content from an earlier build is not read again: its view then reads when it is asked for
more than its head. MkDocs keeps hook modules over the rebuilds of ``mkdocs serve``, so the views are kept
too; they are keyed by content, so that a touched file costs a hash and a changed one is never missed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson

from hooks.attempts import Attempts, Columns, read_attempts
from hooks.cache import NO_CACHE, Cache
from hooks.view import Head, View
from runner import store
from runner.errors import ArtifactError, LapsheetError
from runner.model import Run

Loaded = dict[str, View | LapsheetError]

_views: dict[str, StoredView] = {}
_HEAD = "head"


class StoredView(View):
    """A view of a run folder, which reads what it is asked for and was not read yet.

    Raises ArtifactError where the folder has changed since it was loaded.
    """

    def __init__(self, folder: Path, key: str, manifest: bytes, samples_sha256: str) -> None:
        known = {
            "id": folder.name,
            "key": key,
            "manifest_sha256": hashlib.sha256(manifest).hexdigest(),
            "manifest_size": len(manifest),
            "folder": folder,
            "fragments": {},
            "samples_sha256": samples_sha256,
        }
        self.__dict__.update(known)

    @cached_property
    def run(self) -> Run:
        return store.read_manifest(self.folder, self._bytes(store.MANIFEST, self.manifest_sha256))

    @cached_property
    def attempts(self) -> Attempts:
        data = self._bytes(store.SAMPLES, self.__dict__["samples_sha256"])
        return read_attempts(self.folder, self.run, data)

    @cached_property
    def columns(self) -> Columns:
        return _summaries([self])[self.id]

    def _bytes(self, name: str, sha256: str) -> bytes | None:
        data = _bytes(self.folder / name)
        if hashlib.sha256(data or b"").hexdigest() != sha256:
            raise ArtifactError(f"{self.folder / name}: changed while the site was built", "Build it again.")
        return data


def load(artifacts: Path, ids: Iterable[str], cache: Cache = NO_CACHE) -> Loaded:
    """The runs of these folders: a view each, or what is wrong with it.

    A manifest that lists its files is held to them: a missing file, another size, an LFS pointer or
    other bytes of the samples are errors. The hashes of raw files are checked where they are copied.
    """
    found: Loaded = {}
    fresh: list[StoredView] = []
    for run_id in ids:
        try:
            view, read = _open(artifacts / run_id, cache)
        except LapsheetError as error:
            found[run_id] = error
            continue
        found[run_id] = view
        if read:
            fresh.append(view)
    found |= _analysed(fresh)
    for view in fresh:
        if found[view.id] is view:
            cache.put(_HEAD, view.key, [orjson.dumps(view.head)])
    kept = {view.key: view for view in found.values() if isinstance(view, StoredView)}
    _views.clear()
    _views.update(kept)
    return found


def analyse(views: Iterable[View]) -> None:
    """Read and summarise, in one pass, the views that were not; what is wrong is told when it is used."""
    _analysed([v for v in views if isinstance(v, StoredView) and "columns" not in v.__dict__])


def _analysed(views: list[StoredView]) -> Loaded:
    """Give views their columns; what is wrong with a view stands in its place."""
    if not views:
        return {}
    found: Loaded = dict.fromkeys([view.id for view in views], ArtifactError(""))
    try:
        for view, columns in zip(views, _summaries(views).values(), strict=True):
            view.__dict__["columns"] = columns
            found[view.id] = view
    except LapsheetError as error:
        if len(views) == 1:
            return {views[0].id: error}
        # It is one run's fault, and no other shall suffer for it.
        return {run_id: one for view in views for run_id, one in _analysed([view]).items()}
    return found


def _open(folder: Path, cache: Cache) -> tuple[StoredView, bool]:
    """The view of a run folder whose files are as its manifest says, and whether it was read now."""
    manifest, samples = _bytes(folder / store.MANIFEST), _bytes(folder / store.SAMPLES)
    sha = hashlib.sha256(manifest or b"").hexdigest()
    samples_sha = hashlib.sha256(samples or b"").hexdigest()
    key = hashlib.sha256(f"{folder.name} {sha} {samples_sha}".encode()).hexdigest()
    known = _views.get(key)
    if known is not None and known.folder == folder:
        _check_files(folder, known.head.files, samples_sha)
        return known, False
    view = StoredView(folder, key, manifest or b"", samples_sha)
    if (parts := cache.get(_HEAD, key)) is not None:
        view.__dict__["head"] = _head(parts[0])
        _check_files(folder, view.head.files, samples_sha)
        return view, False
    view.__dict__["run"] = run = store.read_manifest(folder, manifest)
    view.__dict__["attempts"] = read_attempts(folder, run, samples)
    _check_files(folder, view.head.files, samples_sha)
    return view, True


def _head(data: bytes) -> Head:
    stored = orjson.loads(data)
    return Head(**(stored | {"files": [tuple(entry) for entry in stored["files"]]}))


def _bytes(path: Path) -> bytes | None:
    """A file's bytes; None where it is missing, which is for the reader to explain."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ArtifactError(f"{path}: {error.strerror}", "Check the file's permissions.") from None


def _check_files(folder: Path, files: Iterable[tuple[str, int, str]], samples_sha: str) -> None:
    for name, wanted, sha256 in files:
        path = folder / name
        try:
            size = path.stat().st_size
        except OSError:
            raise ArtifactError(
                f"{path}: missing", "Restore it: `git checkout` the run folder, or `git lfs pull`."
            ) from None
        if size != wanted:
            if size < 1024 and store.is_pointer(path.read_bytes()):
                raise ArtifactError(f"{path}: a Git LFS pointer, not the file", "Run `git lfs pull` first.")
            raise ArtifactError(
                f"{path}: {size} bytes, the manifest says {wanted}",
                "The run was altered after its capture; restore it, or capture it again.",
            )
        if name == store.SAMPLES and sha256 != samples_sha:
            raise ArtifactError(
                f"{path}: its SHA-256 is not the manifest's",
                "The run was altered after its capture; restore it, or capture it again.",
            )


def _summaries(views: Sequence[View]) -> dict[str, Columns]:
    """Run → the columns of its summary, in the order of ``views``. Raises as `runner.analysis.summary`."""
    # Imported here because pandas is the largest part of the start, and a build that finds every run
    # in the cache does not need it.
    from runner.analysis import summary
    from runner.frames import Taken

    def taken(view: View) -> Taken:
        told, columns = view.attempts, view.attempts.columns
        return Taken(
            run=view.run,
            case=columns["case"],
            repeat=columns["repeat"],
            attempt=columns["attempt"],
            order=columns["order"],
            status=columns["status"],
            reasons=columns["reasons"],
            flags=columns["flags"],
            limited_by=told.limited_by,
            metrics={key: columns[key] for key in told.metrics},
        )

    parts = _parts(summary(map(taken, views)))
    return {view.id: _own(parts.get(view.id, {}), view.run) for view in views}


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
