"""What stands below a table of what its signs mean."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from sites import ROOT

from benchmarks.synthetic import flawed, write_run
from hooks.grid import grids
from hooks.loading import load
from hooks.notes import notes
from hooks.view import View


def view_of(artifacts: Path, run_id: str) -> View:
    found = load(artifacts, [run_id])[run_id]
    assert isinstance(found, View)
    return found


@pytest.fixture(scope="module")
def ladder(tmp_path_factory: pytest.TempPathFactory) -> View:
    folder = tmp_path_factory.mktemp("artifacts")
    shutil.copytree(ROOT / "artifacts" / "ref-rest-ladder", folder / "ref-rest-ladder")
    return view_of(folder, "ref-rest-ladder")


def test_sign_of_a_latency_that_leaves_out_the_unsent_is_explained(ladder: View) -> None:
    (grid,) = grids(ladder, ["load"], None, ["open_p99"], {}, tiers=False)
    assert any(grid.part(key, None, "open_p99").value.startswith("≥ ") for key in grid.rows)
    told = notes(grid)
    assert [text for text in told if "≥" in text] == [
        "≥ of an open-loop latency: requests that were due were never sent and are left out, so the latency "
        "is higher than the figure; such a row has no tier."
    ]
    (plain,) = grids(ladder, ["load"], None, ["open_p99"], {"load": 35}, tiers=False)
    assert "≥" not in " ".join(notes(plain))


def test_tiers_are_spoken_of_only_where_there_are_tiers(ladder: View) -> None:
    for tiers in (True, False):
        (grid,) = grids(ladder, ["load"], None, ["open_p99"], {"load": 35}, tiers=tiers)
        assert notes(grid)[0].startswith("Noise band: unknown")
        assert ("tiers" in notes(grid)[0]) == tiers


def test_a_case_that_has_no_such_figure_is_not_said_to_be_missing(ladder: View) -> None:
    (grid,) = grids(ladder, ["load"], None, ["rps", "open_p99"], {}, tiers=False)
    assert grid.part(("capacity",), None, "open_p99").spread == "not measured for this case"
    assert grid.part(("capacity",), None, "rps").spread != "not measured for this case"


def test_limits_of_the_generator_are_explained_where_a_row_met_them(tmp_path: Path) -> None:
    write_run(tmp_path, "flawed", mutate=flawed)
    (grid,) = grids(view_of(tmp_path, "flawed"), ["server"], "workload", ["rps"], {})
    told = " ".join(notes(grid))
    assert "≥ (for latencies ≤): the load generator was at its limit" in told
    assert "Rejected samples" in told
    assert "A percentile here" not in told
