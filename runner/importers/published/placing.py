"""A published run on the disk, whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from runner.errors import ArtifactError
from runner.importers.published.reading import Source
from runner.model import ID_RULE, Run, Sample, is_id
from runner.writer import RunWriter


def vacant(output: Path, run_id: str) -> None:
    """Raise ArtifactError if the id is malformed, or something has its place already."""
    if not is_id(run_id):
        raise ArtifactError(f"--into {run_id!r} is not an id", f"An id has {ID_RULE}.")
    if os.path.lexists(output / run_id):
        raise ArtifactError(
            f"{output / run_id} exists already", "A run is never overwritten: choose another with --into."
        )


def place(output: Path, run: Run, samples: Sequence[Sample], sources: Sequence[Source]) -> Run:
    """Write the run beside its place, then move it there in one step; give its final manifest.

    Raises ArtifactError, with nothing left behind.
    """
    try:
        output.mkdir(parents=True, exist_ok=True)
        # Two levels deep, so that nobody who looks for runs meanwhile finds half of one.
        aside = Path(tempfile.mkdtemp(prefix=".import-", dir=output))
    except OSError as error:
        raise ArtifactError(f"{output}: {error.strerror}", "Choose a folder with --output.") from None
    try:
        with RunWriter(aside / run.id, run) as writer:
            for source in sources:
                writer.raw(source.name, source.data)
            for sample in samples:
                writer.append(sample)
            final = writer.finish(run)
        vacant(output, run.id)
        (aside / run.id).rename(output / run.id)
    except OSError as error:
        raise ArtifactError(f"{output / run.id}: {error.strerror}") from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return final
