"""Percentile curves, heat maps and scaling, against the summary that they are made from."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import pytest
from sites import EVIL, Builder, BuildFailed, page_data, pin, table_of, tree

from benchmarks.synthetic import flawed, write_run
from hooks.curve_figure import curve_figure
from hooks.curves import plots
from hooks.loading import load
from hooks.percentiles import STOPS
from hooks.view import View
from runner import analysis, store
from runner.metrics import METRICS
from runner.model import Run, Sample

PAGE = """# Charts

{{ chart("rest", kind="heatmap", metric="p99", workers=2) }}

{{ chart("rest", kind="percentiles", workers=1) }}

{{ chart("rest", kind="scaling", workload="get_item") }}

{{ chart("rest", kind="range", metric="rps") }}
"""


def evil(run: Run, samples: list[Sample]) -> tuple[Run, list[Sample]]:
    labels = {kind: {name: f"{EVIL} {name}" for name in names} for kind, names in run.labels.items()}
    return run.model_copy(update={"labels": labels, "title": EVIL}), samples


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Builder]:
    with pytest.MonkeyPatch.context() as patch:
        builder = Builder(tmp_path_factory.mktemp("site"), patch)
        write_run(builder.artifacts, "ref-rest", workers=(1, 2), mutate=flawed, raw=False)
        write_run(builder.artifacts, "ref-evil", servers=3, workers=(1, 2), mutate=evil, raw=False)
        pin(builder.artifacts, rest="ref-rest", evil="ref-evil")
        builder.build(pages={"index.md": PAGE, "evil.md": PAGE.replace('"rest"', '"evil"')})
        yield builder


@pytest.fixture(scope="module")
def summary(built: Builder) -> pd.DataFrame:
    frame = analysis.summary([store.read(built.artifacts / "ref-rest")])
    return frame[frame["role"] == "case"]


def figures(built: Builder, title: str, page: str = "index.html") -> list[dict[str, Any]]:
    found = page_data(built.site, page)["figures"].values()
    return [figure for figure in found if figure["about"]["title"].startswith(title)]


def texts(axis: dict[str, Any]) -> dict[float, str]:
    return {
        place: text.replace("<br>", " ").replace("\u00a0", " ")
        for place, text in zip(axis["tickvals"], axis["ticktext"], strict=True)
    }


@pytest.mark.parametrize("page", ["index.html", "evil/index.html"])
def test_every_figure_is_valid_plotly(built: Builder, page: str) -> None:
    found = page_data(built.site, page)["figures"].values()
    assert len(found) == 1 + 2 + 1 + 4
    for figure in found:
        spec = json.loads(re.sub(r"var\(--ls-[a-z0-9-]+\)", "#123456", json.dumps(figure)))
        go.Figure(data=spec["data"], layout=spec["layout"])
        assert spec["config"]["showSendToCloud"] is False
        assert set(figure["about"]) == {"run", "metric", "title", "drawn", "file"}


def test_every_point_has_a_place_that_is_its_case(built: Builder, summary: pd.DataFrame) -> None:
    cases = set(summary["case"])
    for figure in page_data(built.site, "index.html")["figures"].values():
        places = figure["places"]
        assert {case for case, *_ in places} <= cases
        for trace in figure["data"]:
            numbers = pd.Series(trace.get("customdata", []), dtype=object).explode().dropna()
            assert set(numbers) <= set(range(len(places)))


def test_places_tell_range_n_and_what_does_not_count(built: Builder, summary: pd.DataFrame) -> None:
    drawn = figures(built, "Throughput, get_item")
    places = [place for figure in drawn for place in figure["places"]]
    rows = summary[(summary["metric"] == "rps")].set_index("case")
    for case, metric, _, words in places:
        assert metric == "rps"
        row, shown = rows.loc[case], METRICS["rps"].show
        if row["n"]:
            assert f"range {shown(row['low'])}–{shown(row['high'])}, n = {row['n']}" in words
        else:
            assert f"n = 0 of {row['wanted']}" in words
        for status in ("rejected", "failed"):
            assert (f"{row[status]} {status}" in words) == bool(row[status])
    assert sum("rejected" in words for *_, words in places) == 1


# --- heat map ----------------------------------------------------------------------------------------


def test_heat_map_has_each_figure_and_its_share_of_the_best(built: Builder, summary: pd.DataFrame) -> None:
    (figure,) = figures(built, "p99 latency by server and workload")
    cells, missing = figure["data"]
    columns, names = texts(figure["layout"]["xaxis"]), texts(figure["layout"]["yaxis"])
    rows = summary[(summary["metric"] == "p99") & (summary["workers"] == 2)]
    labels = store.read(built.artifacts / "ref-rest").run.labels
    seen = 0
    for row in rows.to_dict("records"):
        x = next(place for place, text in columns.items() if text == row["workload"])
        y = next(place for place, text in names.items() if text == labels["server"][row["server"]])
        down = cells["y"].index(y)
        share, text = cells["z"][down][x], cells["text"][down][x]
        if not row["n"]:
            assert (share, text) == (None, "")
            at = list(zip(missing["x"], missing["y"], strict=True)).index((x, y))
            assert missing["text"][at] == "failed"
            continue
        best = rows[(rows["workload"] == row["workload"]) & (rows["n"] > 0)]["median"].min()
        assert share == pytest.approx(best / row["median"], abs=1e-4)
        assert text == ("≤ " if row["floor"] else "") + METRICS["p99"].show(row["median"])
        seen += 1
    assert seen == 27
    assert len(missing["x"]) == 1


def test_heat_map_has_its_numbers_as_a_table(built: Builder, summary: pd.DataFrame) -> None:
    table = table_of(built.text("index.html"), "p99 latency by server and workload")
    body = {
        row.all("th")[0].text: [cell.text for cell in row.all("td")]
        for row in table.all("tbody")[0].all("tr")
    }
    assert len(body) == 14
    assert body["daphne"][0] == "failed"
    rows = summary[
        (summary["metric"] == "p99") & (summary["workers"] == 2) & (summary["server"] == "granian")
    ]
    for cell, row in zip(body["granian"], rows.to_dict("records"), strict=True):
        assert METRICS["p99"].show(row["median"]) in cell
        assert " % of the best" in cell


# --- percentiles -------------------------------------------------------------------------------------


def test_percentile_curves_have_every_median_and_sample(built: Builder, summary: pd.DataFrame) -> None:
    plots = figures(built, "Latency by percentile")
    stored = store.read(built.artifacts / "ref-rest")
    assert len(plots) == 2
    for figure, workload in zip(plots, ["get_item", "create_order"], strict=True):
        curves = {trace["name"]: trace for trace in figure["data"] if trace["mode"] == "lines"}
        dots = {t["name"]: t for t in figure["data"] if t["mode"] == "markers" and t.get("legendgroup")}
        assert len(curves) == len(dots) == 14
        rows = summary[(summary["workload"] == workload) & (summary["workers"] == 1)]
        for server, label in stored.run.labels["server"].items():
            of_server = rows[(rows["server"] == server) & rows["metric"].isin(STOPS) & (rows["n"] > 0)]
            medians = {STOPS[row["metric"]]: row["median"] * 1e3 for row in of_server.to_dict("records")}
            curve = dict(zip(curves[label]["x"], curves[label]["y"], strict=True))
            assert curve == pytest.approx(medians, rel=1e-4)
            accepted = [
                value * 1e3
                for sample in stored.samples
                if sample.case in set(of_server["case"]) and sample.status == "accepted"
                for key, value in sample.metrics.items()
                if key in STOPS
            ]
            assert sorted(dots[label]["y"]) == pytest.approx(sorted(accepted), rel=1e-4)
        assert list(texts(figure["layout"]["xaxis"]).values()) == [
            "50",
            "75",
            "90",
            "95",
            "99",
            "99.9",
            "max",
        ]
        assert figure["layout"]["yaxis"]["type"] == "log"


def test_percentile_curves_say_what_a_median_of_percentiles_is_not(built: Builder) -> None:
    text = tree(built.text("index.html")).text
    assert text.count("which is not the percentile of all their requests merged") == 2
    table = table_of(built.text("index.html"), "Latency by percentile")
    assert [head.text for head in table.all("thead")[0].all("th")][1:] == [
        *("p50", "p75", "p90", "p95", "p99", "p99.9", "max", "n")
    ]


# --- scaling -----------------------------------------------------------------------------------------


def test_scaling_is_against_workers(built: Builder, summary: pd.DataFrame) -> None:
    (figure,) = figures(built, "Throughput against workers")
    rows = summary[(summary["metric"] == "rps") & (summary["workload"] == "get_item") & (summary["n"] > 0)]
    assert not [trace for trace in figure["data"] if trace["mode"] == "lines"]
    drawn = sorted(
        (x, y)
        for trace in figure["data"]
        if trace["marker"]["symbol"] == "line-ew"
        for x, y in zip(trace["x"], trace["y"], strict=True)
    )
    expected = sorted(zip(rows["workers"], rows["median"], strict=True))
    assert [x for x, _ in drawn] == [x for x, _ in expected]
    assert [y for _, y in drawn] == pytest.approx([y for _, y in expected], rel=1e-4)


def test_workers_that_share_a_cpu_are_not_joined_and_the_chart_says_so(built: Builder) -> None:
    told = "No line leads to 2 workers: they share 1 CPU, so their figures do not show how a server scales"
    (figure,) = figures(built, "Throughput against workers")
    assert figure["about"]["drawn"].endswith(told)
    assert f'<p class="ls-note">{told}.</p>' in (built.site / "index.html").read_text("utf-8")


def test_workers_with_a_cpu_each_are_joined(tmp_path: Any) -> None:
    def roomy(run: Run, samples: list[Sample]) -> tuple[Run, list[Sample]]:
        layout = run.layout.model_copy(update={"roles": {**run.layout.roles, "server": [2, 3]}})
        return run.model_copy(update={"layout": layout}), samples

    write_run(tmp_path, "ref-rest", servers=2, workers=(1, 2), raw=False, mutate=roomy)
    view = load(tmp_path, ["ref-rest"])["ref-rest"]
    assert isinstance(view, View)
    (plot,) = plots(view, "workers", ["server"], None, "rps", {"workload": "get_item"}, {})
    joined = [trace for trace in curve_figure(plot, "picture").spec["data"] if trace["mode"] == "lines"]
    assert plot.note == ""
    assert [trace["x"] for trace in joined] == [[1, 2], [1, 2]]


# --- refusals ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ('chart("rest", kind="heat-map")', "no kind of chart 'heat-map'"),
        (
            'chart("rest", kind="percentiles", metric="probe_gap_p50")',
            "has no percentiles like 'probe_gap_p50'",
        ),
        ('chart("rest", kind="percentiles", columns="workloads")', "no dimension 'workloads'"),
        ('chart("rest", kind="heatmap", metric="open_p99")', "has no metric 'open_p99'"),
    ],
)
def test_what_cannot_be_drawn_fails_the_build(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, call: str, told: str
) -> None:
    builder = Builder(tmp_path, monkeypatch)
    write_run(builder.artifacts, "ref-rest", servers=2, raw=False)
    pin(builder.artifacts, rest="ref-rest")
    with pytest.raises(BuildFailed) as caught:
        builder.build(pages={"index.md": f"# Charts\n\n{{{{ {call} }}}}\n"})
    assert "index.md, line 3" in str(caught.value)
    assert told in str(caught.value)
