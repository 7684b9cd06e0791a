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
from runner.importers.published.making import decimals_of, make
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
        run_id = f"ref-published-{loaded.mapping.name}" if run_id is None else run_id
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
        return make(*_inside(stored.folder, run), run.id, run.created, run.command_line)


def decimals(folder: Path, run: Run) -> dict[tuple[str, str], int]:
    """(case id, metric) → the decimals that a run's figure was published with, in its display unit.

    Read from the run's own raw files below ``folder``. Raises ArtifactError if these cannot be read.
    """
    return decimals_of(*_inside(folder, run))


def _inside(folder: Path, run: Run) -> tuple[mappings.LoadedMapping, list[Source]]:
    """A run's own mapping and raw files. Raises ArtifactError."""
    where = f"{folder}: the mapping {run.suite_file.name} in its manifest"
    loaded = mappings.parse(run.suite_file.text, where, run.suite_file.name)
    names = [entry.path.removeprefix(f"{RAW}/") for entry in run.files if entry.path.startswith(f"{RAW}/")]
    if not names:
        raise ArtifactError(f"{folder}: there is no file to compute its figures from")
    paths = {name: folder / RAW / name for name in names}
    return loaded, [Source(str(path), name, read_bytes(path)) for name, path in paths.items()]
