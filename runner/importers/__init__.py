"""Foreign formats as runs: one package or module a format, behind `Importer`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from runner.errors import ArtifactError
from runner.importers.published import Published
from runner.model import Run, Sample
from runner.store import StoredRun

__all__ = ["IMPORTERS", "Importer", "by_name", "rebuild"]


class Importer(Protocol):
    """One foreign format.

    ``origin`` is the origin of the runs it makes, by which `rebuild` finds it again.
    """

    origin: str

    def bring(
        self,
        files: Sequence[Path],
        output: Path,
        run_id: str | None,
        mapping: Path | None,
        command_line: Sequence[str],
    ) -> Run:
        """Make a complete run below ``output``, or nothing.

        Raises ArtifactError naming file, line and column, or the run that is there already.
        """
        ...

    def rebuild(self, stored: StoredRun) -> tuple[Run, list[Sample]]:
        """The run again from nothing but its own raw files and the text of its mapping.

        Raises ArtifactError if these cannot be read.
        """
        ...


IMPORTERS: dict[str, Importer] = {"published": Published()}


def by_name(name: str) -> Importer:
    """The importer of that format. Raises ArtifactError listing the known ones."""
    try:
        return IMPORTERS[name]
    except KeyError:
        raise ArtifactError(f"no format {name!r} to import", f"Known: {', '.join(IMPORTERS)}.") from None


def rebuild(stored: StoredRun) -> tuple[Run, list[Sample]] | None:
    """An imported run made again from its raw files; None where no importer makes runs of its origin."""
    for importer in IMPORTERS.values():
        if importer.origin == stored.run.origin:
            return importer.rebuild(stored)
    return None
