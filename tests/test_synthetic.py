"""Synthetic runs pass every check that a captured one must, and say what they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.synthetic import flawed, write_run
from runner.verify import verify


@pytest.mark.parametrize("mutate", [None, flawed], ids=["plain", "flawed"])
def test_a_synthetic_run_verifies_down_to_its_figures(tmp_path: Path, mutate: object) -> None:
    run = write_run(tmp_path, "one", servers=4, repeats=4, mutate=mutate)  # type: ignore[arg-type]
    report = verify(run.folder)
    assert report.problems == []
    assert report.files == len(run.run.files) == 2 * len(run.samples) + 1
    assert report.figures == sum(len(sample.metrics) for sample in run.samples)


def test_a_changed_byte_is_found(tmp_path: Path) -> None:
    run = write_run(tmp_path, "one", servers=1, workloads=1, repeats=1)
    path = run.folder / "raw" / "0001" / "oha.json"
    path.write_bytes(path.read_bytes().replace(b'"total": 5', b'"total": 6'))
    assert [problem for problem in verify(run.folder).problems if str(path) in problem]


def test_the_same_seed_gives_the_same_bytes_and_another_seed_does_not(tmp_path: Path) -> None:
    def written(folder: str, seed: int) -> dict[str, bytes]:
        run = write_run(tmp_path / folder, "run", servers=2, repeats=2, seed=seed)
        return {p.relative_to(run.folder).as_posix(): p.read_bytes() for p in run.folder.rglob("*.json*")}

    assert written("a", 1) == written("b", 1)
    assert written("c", 2) != written("a2", 1)


def test_a_synthetic_run_never_passes_for_evidence(tmp_path: Path) -> None:
    run = write_run(tmp_path, "one", servers=1, workloads=1, repeats=1, raw=False)
    assert [warning.code for warning in run.run.warnings] == ["synthetic"]
    assert not (run.folder / "raw").exists()
