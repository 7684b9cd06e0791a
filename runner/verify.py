"""Proving a run: every hash, the schema, and every figure recomputed from the raw files."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from runner import probing
from runner.errors import GeneratorError, LapsheetError
from runner.generators import by_name
from runner.importers import rebuild
from runner.model import FileEntry, Run, Sample, rounds
from runner.store import MANIFEST, RAW, SAMPLES, Pin, StoredRun, is_pointer, read, sha256_file
from runner.writer import LOCK, SCRATCH

RELATIVE_TOLERANCE = 1e-9


@dataclass
class Report:
    """What was proved of a run, and what is wrong with it: ``problems`` are sentences naming a file."""

    run: str
    files: int = 0
    bytes: int = 0
    figures: int = 0
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.problems


def verify(folder: Path, pin: Pin | None = None) -> Report:
    """Check a run folder in full. Never raises for what is wrong in it; the report says so."""
    report = Report(folder.name)
    try:
        _prove(folder, pin, report)
    except LapsheetError as error:
        report.problems.append(str(error))
    except OSError as error:
        report.problems.append(f"{error.filename or folder}: cannot be read: {error.strerror or error}")
    except Exception as error:
        # A folder is anybody's data: whatever it provokes is a finding of this run, and the next is checked.
        report.problems.append(f"{folder}: cannot be verified: {type(error).__name__}: {error}")
    return report


def _prove(folder: Path, pin: Pin | None, report: Report) -> None:
    stored = read(folder)
    run = stored.run
    if pin is not None and sha256_file(folder / MANIFEST) != pin.sha256:
        report.problems.append(f"{folder / MANIFEST}: SHA-256 is not the pinned {pin.sha256}")
    if hashlib.sha256(run.suite_file.text.encode()).hexdigest() != run.suite_file.sha256:
        report.problems.append(f"{folder / MANIFEST}: suite_file: the text does not have its SHA-256")
    if run.state != "complete":
        report.notes.append(f"the run is {run.state}: {len(stored.samples)} samples so far")
    entries = {entry.path: entry for sample in stored.samples for entry in sample.raw}
    if run.files:
        listed = {entry.path: entry for entry in run.files}
        for path, entry in entries.items():
            if listed.get(path) != entry:
                report.problems.append(f"{folder / path}: {SAMPLES} and {MANIFEST} do not agree on it")
        entries |= listed
        _unlisted(folder, listed, report)
    elif run.state != "running":
        report.problems.append(
            f"{folder / MANIFEST}: the manifest lists no files, of a run called {run.state}"
        )
    for entry in entries.values():
        problem = _check_file(folder, entry)
        if problem:
            report.problems.append(problem)
        else:
            report.files += 1
            report.bytes += entry.size
    if not report.problems:
        # With a wrong byte somewhere, a wrong figure would only say the same again.
        report.problems += _samples(stored)
        report.problems += _recompute(stored, report)


def _unlisted(folder: Path, listed: dict[str, FileEntry], report: Report) -> None:
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        own = name in {MANIFEST, LOCK} or name.startswith(f"{SCRATCH}/")
        if not own and name not in listed and (path.is_symlink() or path.is_file()):
            report.problems.append(f"{path}: not listed in {MANIFEST}")


def _check_file(folder: Path, entry: FileEntry) -> str:
    """What is wrong with one file; empty if nothing is."""
    path = folder / entry.path
    try:
        return _differs(folder, path, entry)
    except OSError as error:
        return f"{path}: cannot be read: {error.strerror or error}"
    except RuntimeError:  # what Python before 3.13 says of symbolic links in a circle
        return f"{path}: cannot be read: a symbolic link that leads to itself"


def _differs(folder: Path, path: Path, entry: FileEntry) -> str:
    if not path.resolve().is_relative_to(folder.resolve()):
        return f"{path}: leads out of the run folder"
    if not path.is_file():
        return f"{path}: not a file" if path.exists() else f"{path}: missing"
    size = path.stat().st_size
    if size != entry.size:
        if size < 1024 and is_pointer(path.read_bytes()):
            return f"{path}: a Git LFS pointer in place of the file; run `git lfs pull`"
        return f"{path}: {size} bytes, the manifest says {entry.size}"
    if sha256_file(path) != entry.sha256:
        return f"{path}: SHA-256 is not the manifest's {entry.sha256}; a byte was changed"
    return ""


def _samples(stored: StoredRun) -> Iterator[str]:
    """Every sample belongs to a case, in the order of its number, and none is accepted against a check."""
    cases = {case.id: case.dimensions for case in stored.run.cases}
    for number, sample in enumerate(stored.samples, 1):
        place = f"{stored.folder / SAMPLES}, line {number}"
        if sample.case not in cases:
            yield f"{place}: case {sample.case!r} is not in the manifest"
        elif sample.dimensions and sample.dimensions != cases[sample.case]:
            yield f"{place}: dimensions are not those of case {sample.case!r}"
        if sample.order != number:
            yield f"{place}: order is {sample.order}: a line is missing or moved"
        failed = [check.name for check in sample.checks if check.status == "failed"]
        if sample.status == "accepted" and failed:
            yield f"{place}: accepted, but these checks failed: {', '.join(failed)}"
    # What was published has one line a case; that none is missing is told by making the run again.
    if stored.run.state == "complete" and stored.run.origin != "published":
        yield from _missing(stored.run, stored.samples)


def _missing(run: Run, samples: list[Sample]) -> Iterator[str]:
    made = {(sample.case, sample.repeat) for sample in samples}
    for case in run.cases:
        for repeat in rounds(case, run.parameters):
            if (case.id, repeat) not in made:
                yield f"{SAMPLES}: no attempt at {case.id}, repeat {repeat}, in a run called complete"


def _recompute(stored: StoredRun, report: Report) -> Iterator[str]:
    """Read each sample's raw files again and compare every figure with the stored one."""
    run = stored.run
    if run.origin != "captured":
        yield from _import_again(stored, report)
        return
    try:
        generator = by_name(run.generator.name)
    except GeneratorError as error:
        yield f"{stored.folder / MANIFEST}: generator: {error.message}: its raw files cannot be recomputed"
        return
    for number, sample in enumerate(stored.samples, 1):
        if not sample.metrics and not sample.counts:
            continue
        place = f"{stored.folder / SAMPLES}, line {number}"
        folder = stored.folder / RAW / f"{sample.order:04d}"
        try:
            outcome = generator.read(folder)
            again = outcome.metrics
            if any(entry.path.endswith(f"/{probing.ROWS}") for entry in sample.raw):
                again |= probing.read(folder).metrics
        except GeneratorError as error:
            yield f"{place}: its raw files cannot be read: {error.message}"
            continue
        except (OSError, ArithmeticError, ValueError) as error:
            yield f"{place}: its raw files cannot be read: {error}"
            continue
        for key in sorted(again.keys() | sample.metrics.keys()):
            told, found = sample.metrics.get(key), again.get(key)
            if told is None or found is None or not math.isclose(told, found, rel_tol=RELATIVE_TOLERANCE):
                yield f"{place}: {key} is {told}, recomputed from the raw files {found}"
            else:
                report.figures += 1
        if sample.counts.get("ok") != outcome.ok:
            yield f"{place}: counts.ok is {sample.counts.get('ok')}, the raw files say {outcome.ok}"


def _import_again(stored: StoredRun, report: Report) -> Iterator[str]:
    """Make an imported run again from its own files, and compare all of it with what is stored."""
    run = stored.run
    made = rebuild(stored)
    if made is None:
        report.notes.append(f"origin is {run.origin}: no raw files to recompute from")
        return
    again, samples = made
    for name in type(run).model_fields:
        if name not in ("files", "schema_version") and getattr(again, name) != getattr(run, name):
            yield f"{stored.folder / MANIFEST}: {name} is not what its files and their mapping say"
    if len(samples) != len(stored.samples):
        yield f"{stored.folder / SAMPLES}: {len(stored.samples)} lines, its files have {len(samples)} cases"
        return
    for number, (told, found) in enumerate(zip(stored.samples, samples, strict=True), 1):
        place = f"{stored.folder / SAMPLES}, line {number}"
        if told.model_copy(update={"metrics": {}}) != found.model_copy(update={"metrics": {}}):
            yield f"{place}: not the sample that its files and their mapping say"
        for key in sorted(told.metrics.keys() | found.metrics.keys()):
            if told.metrics.get(key) == found.metrics.get(key):
                report.figures += 1
            else:
                yield f"{place}: {key} is {told.metrics.get(key)}, its files say {found.metrics.get(key)}"
