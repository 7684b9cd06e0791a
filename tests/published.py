"""The project's own site of the runs it publishes, served as a web server would."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sites import ROOT, Builder

from benchmarks.serving import Wire, serve
from benchmarks.synthetic import write_run
from runner import store


@contextmanager
def published(folder: Path, *, local_runs: int = 0) -> Iterator[Wire]:
    """The site built in ``folder``, with that many synthetic local runs beside the published ones.

    It knows its own address, as a published site does.
    """
    with pytest.MonkeyPatch.context() as patch:
        builder = Builder(folder, patch)
        if local_runs:
            _copy_pinned(builder.artifacts)
            for seed in range(local_runs):
                write_run(builder.artifacts, f"synthetic-{seed:04}", seed=seed, raw=False)
        else:
            builder.artifacts = ROOT / "artifacts"
        with serve(builder.site) as wire:
            patch.setenv("SITE_URL", wire.url)
            builder.build(local=bool(local_runs))
            yield wire


def _copy_pinned(target: Path) -> None:
    source = ROOT / "artifacts"
    shutil.copy(source / store.PINS, target)
    for run in {pin.run for pin in store.read_pins(source).values()}:
        shutil.copytree(source / run, target / run, copy_function=os.link)
