"""Figures that others published, transcribed as CSV, as a run of origin ``published``.

What the files mean is told by a mapping (TOML, one a source, here beside this file), which travels in the
run: so the run's figures can be computed again from its own files alone. A published run has one sample
a case, its published figures; it has no range, because none was published.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from runner.errors import ArtifactError
from runner.importers.published import mapping as mappings
from runner.importers.published.making import make
from runner.importers.published.placing import place, vacant
from runner.importers.published.reading import Source, csv_files, read_bytes
from runner.model import Run, Sample
from runner.store import RAW, StoredRun


class Published:
    """The importer of published figures."""

    origin = "published"

    def bring(
        self,
        files: Sequence[Path],
        output: Path,
        run_id: str | None,
        mapping: Path | None,
        command_line: Sequence[str],
    ) -> Run:
        """Make a published run of the CSV files (or of those in the one folder) given.

        ``run_id`` is ``ref-published-<mapping's name>`` by default. Raises ArtifactError.
        """
        paths = csv_files(files)
        loaded = mappings.load(mapping) if mapping is not None else mappings.choose([p.name for p in paths])
        run_id = run_id or f"ref-published-{loaded.mapping.name}"
        vacant(output, run_id)
        sources = [Source(str(path), path.name, read_bytes(path)) for path in paths]
        now = datetime.now(UTC).replace(microsecond=0)
        # Where the files lay on this machine says nothing to a reader.
        command = [argument.rstrip("/").rpartition("/")[2] for argument in command_line]
        run, samples = make(loaded, sources, run_id, now, command)
        return place(output, run, samples, sources)

    def rebuild(self, stored: StoredRun) -> tuple[Run, list[Sample]]:
        """The run again from its raw files and the mapping in its manifest. Raises ArtifactError."""
        run = stored.run
        where = f"{stored.folder}: the mapping {run.suite_file.name} in its manifest"
        loaded = mappings.parse(run.suite_file.text, where, run.suite_file.name)
        names = [
            entry.path.removeprefix(f"{RAW}/") for entry in run.files if entry.path.startswith(f"{RAW}/")
        ]
        sources = []
        for name in names:
            path = stored.folder / RAW / name
            sources.append(Source(str(path), name, read_bytes(path)))
        if not sources:
            raise ArtifactError(f"{stored.folder}: there is no file to compute its figures from")
        return make(loaded, sources, run.id, run.created, run.command_line)
