"""What an interactive table is made from: a run's samples as the browser gets them, against the summary."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import pytest
from sites import EVIL, tree

from benchmarks.synthetic import flawed, write_run
from hooks.explorer import controls, frame, shown_first
from hooks.grid import grids
from hooks.hues import assign
from hooks.loading import load
from hooks.tables import caption, table_heights
from hooks.view import View
from runner import analysis, store
from runner.metrics import METRICS
from runner.model import PUBLISHED, Run, Sample

ARTIFACTS = Path(__file__).parent.parent / "artifacts"


def open_view(artifacts: Path, run_id: str) -> View:
    view = load(artifacts, [run_id])[run_id]
    assert isinstance(view, View)
    return view


def agrees(folder: Path, run_id: str) -> int:
    """Hold a run's frame to its summary; how many figures there were."""
    view = open_view(folder, run_id)
    # Through JSON, as the browser gets it: no figure may lose a digit on the way.
    found = json.loads(json.dumps(frame(view, assign([view]))))
    cases, metrics = found["cases"], found["metrics"]
    summary = analysis.summary([store.read(folder / run_id)])
    rows = summary[summary["role"] == "case"].to_dict("records")
    told = {
        (case, key)
        for key in metrics
        for case, tier in zip(cases["id"], metrics[key]["tier"], strict=True)
        if tier is not None
    }
    assert told == {(row["case"], row["metric"]) for row in rows}
    for row in rows:
        at, metric = cases["id"].index(row["case"]), metrics[row["metric"]]
        values = metric["values"][at]
        assert len(values) == row["n"]
        if values:
            assert statistics.median(values) == row["median"]
            assert (min(values), max(values)) == (row["low"], row["high"])
        tier = row["untiered"] or (
            0 if row["tier"] != row["tier"] or row["tier"] is None else int(row["tier"])
        )
        assert metric["tier"][at] == tier
        assert (at in metric["floor"]) == row["floor"]
        assert metric["band"][at] == (None if row["band"] != row["band"] else row["band"])
        for name in ("wanted", "failed", "rejected", "reasons"):
            assert cases[name][at] == row[name], name
    return len(rows)


def test_frame_is_the_summary(tmp_path: Path) -> None:
    write_run(tmp_path, "flawed", mutate=flawed)
    assert agrees(tmp_path, "flawed") > 200


@pytest.mark.parametrize(
    "run_id", ["ref-rest-one-worker", "ref-proxy-one-worker", "ref-rest-ladder", "ref-nagle"]
)
def test_frame_of_a_real_run_is_its_summary(run_id: str) -> None:
    assert agrees(ARTIFACTS, run_id) > 0


def test_frame_of_published_figures(tmp_path: Path) -> None:
    view = open_view(ARTIFACTS, "ref-published-aiohttp-asgi")
    found = frame(view, {})
    tiers = {tier for metric in found["metrics"].values() for tier in metric["tier"]}
    assert tiers <= {PUBLISHED, None}
    assert PUBLISHED in tiers


def test_run_without_a_sample_has_a_frame(tmp_path: Path) -> None:
    def nothing(run: Run, samples: list[Sample]) -> tuple[Run, list[Sample]]:
        broken = [s.model_copy(update={"status": "failed", "metrics": {}}) for s in samples]
        return run, broken

    write_run(tmp_path, "empty", servers=2, mutate=nothing)
    view = open_view(tmp_path, "empty")
    found = frame(view, {})
    assert list(found["metrics"]) == ["rps"]
    assert all(values == [] for values in found["metrics"]["rps"]["values"])
    assert found["metrics"]["rps"]["tier"][0] == "no accepted sample"


def test_open_loop_cases_tell_what_was_never_sent() -> None:
    view = open_view(ARTIFACTS, "ref-rest-ladder")
    cases = frame(view, {})["cases"]
    assert cases["unsent"] == [view.unsent(case) for case in cases["id"]]


def test_table_is_a_view_of_the_frame(tmp_path: Path) -> None:
    write_run(tmp_path, "flawed", mutate=flawed)
    view = open_view(tmp_path, "flawed")
    found = frame(view, assign([view]))
    (grid,) = grids(view, ["server"], "workload", ["rps", "p99"], {})
    table = shown_first(grid, {case: at for at, case in enumerate(found["cases"]["id"])})
    assert (table["run"], table["rows"], table["columns"]) == ("flawed", ["server"], "workload")
    assert table["metrics"] == ["rps", "p99"]
    server, workload = found["dimensions"]["server"], found["dimensions"]["workload"]
    for key, cells in zip(grid.rows, table["cells"], strict=True):
        for column, place in zip(grid.columns, cells, strict=True):
            assert server["values"][server["at"][place]] == key[0]
            assert workload["values"][workload["at"][place]] == column
    assert len(server["hues"]) == len(server["values"])


def test_reader_is_offered_every_metric_with_its_registry_entry(tmp_path: Path) -> None:
    write_run(tmp_path, "flawed", servers=2)
    view = open_view(tmp_path, "flawed")
    metrics = frame(view, {})["metrics"]
    assert list(metrics) == view.metrics
    for key, told in metrics.items():
        metric = METRICS[key]
        assert (told["label"], told["unit"], told["small"]) == (
            metric.label,
            metric.display_unit,
            metric.too_small,
        )
        assert (told["scale"], told["digits"], told["better"]) == (metric.scale, metric.digits, metric.better)
        assert told["resolution"] == metric.resolution


def test_a_metric_that_no_case_of_the_table_has_is_not_offered() -> None:
    view = open_view(ARTIFACTS, "ref-rest-ladder")
    offered = {}
    for rung, metric in ((35, "open_p99"), ("capacity", "p99")):
        (grid,) = grids(view, ["server"], None, [metric], {"load": rung})
        buttons = tree(controls(grid, caption(grid))).all("button")
        offered[rung] = {b.attributes.get("value") for b in buttons} & {"rps", "p50", "p99", "open_p99"}
    assert offered == {35: {"rps", "open_p99"}, "capacity": {"rps", "p50", "p99"}}


def hostile(run: Run, samples: list[Sample]) -> tuple[Run, list[Sample]]:
    labels = {kind: {name: f"{EVIL} {name}" for name in names} for kind, names in run.labels.items()}
    return run.model_copy(update={"labels": labels}), samples


def test_controls_are_named_and_hold_hostile_labels_as_text(tmp_path: Path) -> None:
    write_run(tmp_path, "evil", servers=3, mutate=hostile)
    view = open_view(tmp_path, "evil")
    (grid,) = grids(view, ["server"], "workload", ["rps", "p99"], {})
    document = tree(controls(grid, caption(grid)))
    assert document.all("img") == document.all("script") == []
    buttons = {b.attributes.get("value", ""): b for b in document.all("button")}
    labels = view.run.labels["workload"]
    assert buttons["get_item"].text == " ".join(labels["get_item"].split())
    pressed = {value for value, b in buttons.items() if b.attributes.get("aria-pressed") == "true"}
    assert pressed == {"rps", "p99", "median"}
    for group in document.all("div"):
        if group.attributes.get("role") == "group":
            assert group.attributes["aria-label"]
    (search,) = document.all("input")
    assert search.attributes["aria-label"]


def test_height_grows_with_rows_and_remarks(tmp_path: Path) -> None:
    heights: dict[str, Any] = {}
    for name, servers in {"few": 3, "more": 6}.items():
        write_run(tmp_path, name, servers=servers)
        (grid,) = grids(open_view(tmp_path, name), ["server"], "workload", ["rps"], {})
        heights[name] = table_heights(grid)
    write_run(tmp_path, "flawed", servers=6, mutate=flawed)
    (grid,) = grids(open_view(tmp_path, "flawed"), ["server"], "workload", ["rps"], {})
    wide, narrow = table_heights(grid)
    assert heights["few"][0] < heights["more"][0] < wide <= narrow
