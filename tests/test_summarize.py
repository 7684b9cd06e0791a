"""The summary of a run as people and programs get it."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path

import pytest
from evidence import case, failed, measured, sample, saturated, stored
from rich.console import Console

from benchmarks.synthetic import flawed, write_run
from runner.analysis import summary
from runner.export import as_csv, as_json
from runner.model import Probe, Upstream
from runner.store import StoredRun
from runner.summarize import printable, render


def shown(run: StoredRun, width: int = 200, terminal: bool = False) -> str:
    console = Console(
        file=io.StringIO(), width=width, force_terminal=terminal, color_system=None, legacy_windows=False
    )
    render(run, console)
    assert console.width == width
    output = console.file
    assert isinstance(output, io.StringIO)
    return output.getvalue()


def table(text: str) -> list[list[str]]:
    """The body of the printed table, cell by cell."""
    return [
        [cell.strip() for cell in line.strip("│").split("│")]
        for line in text.splitlines()
        if line.startswith("│")
    ]


def parsed(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


# The terminal table


def test_a_row_has_median_range_tier_and_counts() -> None:
    run = measured({"a": [30000, 30415.66, 31000], "b": [19000, 20000, 20001.5]}, repeats=3)
    assert table(shown(run)) == [
        ["a", "get", "1", "30,416 [30,000–31,000]", "1", "3/3", "", ""],
        ["b", "get", "1", "20,000 [19,000–20,002]", "2", "3/3", "", ""],
    ]


def test_connections_are_those_of_the_cases() -> None:
    """The pool's series have numbers of their own, whatever the run's parameter is."""
    cases = [case("a", workload=f"w{n}", connections=n) for n in (100, 5, 25)]
    text = shown(stored(cases, [sample(one, 1, 10.0) for one in cases], 1))
    assert "oha 1.16.0, 5, 25, 100 connections, closed loop" in text


def ladder() -> StoredRun:
    """A capacity and two loads of one sample each; at 95 % not everything that was due was sent."""
    loads = [case("a", series="capacity", load="capacity")]
    loads += [case("a", series="ladder", load=load) for load in (20, 95)]
    loads = [one.model_copy(update={"id": f"{one.id}/{one.dimensions['load']}"}) for one in loads]
    flag = [{"code": "rate-not-reached", "message": "told"}]
    samples = [
        sample(loads[0], 1, 100.0),
        sample(loads[1], 1, 0.002, "open_p99"),
        sample(loads[2], 1, 0.5, "open_p99", flags=flag),
    ]
    made = stored(loads, samples, 1)
    parameters = made.run.parameters.model_copy(update={"ladder": [0.2, 0.95]})
    return StoredRun(made.folder, made.run.model_copy(update={"parameters": parameters}), made.samples)


def test_a_ladder_is_told_as_both_loops() -> None:
    assert "closed loop for the capacity, then open loop at 20, 95 % of it" in shown(ladder())


def test_latencies_of_a_rate_that_was_not_reached_are_lower_bounds() -> None:
    text = shown(ladder())
    assert "≥ 500" in text
    assert "2.00" in text
    assert "≥ 2.00" not in text
    assert "≥ marks latencies that leave out requests which were due and never sent" in text
    assert "never sent" not in shown(measured({"a": [1.0] * 5}))


def test_columns_are_named_with_their_units(tmp_path: Path) -> None:
    text = shown(write_run(tmp_path, "one", servers=2, workloads=1, raw=False))
    for heading in (
        *["configuration", "workload", "workers", "Throughput, requests/s", "median [low–high]"],
        *["p50 latency, ms", "p99 latency, ms", "tier", "n", "rejected", "failed"],
    ):
        assert heading in text
    assert "connections" not in text.splitlines()[4]
    assert "oha 1.16.0, 100 connections, closed loop, 5 × 5 s after 1 s warm-up, seed 42" in text
    assert "not the p99 of all" in text


def test_rows_are_sorted_by_workload_and_workers_then_from_the_best() -> None:
    cases = [
        case(s, workload=w, workers=n) for w in ("post", "get") for n in (4, 1) for s in ("slow", "fast")
    ]
    value = {"slow": 10.0, "fast": 20.0}
    run = stored(cases, [sample(c, 1, value[str(c.dimensions["server"])]) for c in cases], repeats=1)
    assert [row[:3] for row in table(shown(run))] == [
        [server, workload, workers]
        for workload in ("post", "get")
        for workers in ("1", "4")
        for server in ("fast", "slow")
    ]


def test_latency_sorts_the_lowest_first_and_failures_last() -> None:
    a, b, c = case("a"), case("b"), case("c")
    run = stored([a, b, c], [failed(a, 1), sample(b, 1, 0.3, "p99"), sample(c, 1, 0.1, "p99")], repeats=1)
    assert [row[0] for row in table(shown(run))] == ["c", "b", "a"]


def test_failures_are_shown_with_count_and_reason_in_words() -> None:
    a, b = case("a"), case("b")
    samples = [sample(a, i, 100.0) for i in (1, 2, 3)]
    samples += [failed(b, 1, "timeouts"), failed(b, 2, "timeouts"), failed(b, 3, "non-2xx")]
    samples += [failed(a, 3, "foreign-cpu", status="rejected")]
    text = shown(stored([a, b], samples, repeats=3))
    assert table(text)[0][-2:] == ["1", ""]
    assert table(text)[1] == ["b", "get", "1", "failed", "–", "0/3", "", "3"]
    assert "Failed: b · get · workers 1: 3 × (timeouts: told of timeouts; non-2xx: told of non-2xx)" in text
    assert "Rejected: a · get · workers 1: 1 × (foreign-cpu: told of foreign-cpu)" in text
    assert "No tier (no accepted sample): b · get · workers 1" in text


def test_reasons_of_one_kind_are_told_once_and_a_case_only_rejected_says_so() -> None:
    a = case("a")
    samples = [
        sample(a, 1, 9.0, attempt=i, status="rejected", reasons=[{"code": "foreign", "message": f"{i} %"}])
        for i in (1, 2, 3)
    ]
    text = shown(stored([a], samples, repeats=1))
    assert table(text)[0][3:] == ["rejected", "–", "0/1", "3", ""]
    assert "Rejected: a · get · workers 1: 3 × (foreign: 1 %)" in text


def test_a_floor_is_at_least_for_throughput_and_at_most_for_latency() -> None:
    a = case("a")
    both = {"rps": 100.0, "p50": 0.01}
    run = stored([a], [sample(a, 1, None, metrics=both, witness=saturated("generator"))], repeats=1)
    text = shown(run)
    assert table(text)[0][3:6] == ["≥ 100.0 [100.0–100.0]", "≤ 10.0", "–"]
    assert "mark figures that the load generator limited" in text
    helped = run.run.model_copy(
        update={"upstream": Upstream(label="echo", processes=1), "probe": Probe(requests=1)}
    )
    told = "mark figures that the load generator, the upstream or the probe limited"
    assert told in shown(StoredRun(run.folder, helped, run.samples))


def test_the_noise_band_is_told_or_told_to_be_unknown() -> None:
    lanes = {"a": [100, 101, 102]}
    assert "Noise band: a (A/A twin) · get · workers 1: Throughput 2.9 %" in shown(
        measured(lanes, twin={"a": [103, 104, 105]}, repeats=3)
    )
    assert "Noise band: unknown (no A/A lane), so ranges alone decide the tiers." in shown(
        measured(lanes, repeats=3)
    )
    assert "unknown (it takes two rounds" in shown(measured(lanes, twin={"a": [103]}, repeats=3))


def test_the_twin_is_a_row_of_its_own_without_a_tier() -> None:
    run = measured({"a": [100, 101]}, twin={"a": [90, 91]}, repeats=2)
    assert [(row[0], row[4]) for row in table(shown(run))] == [("a", "1"), ("a (A/A twin)", "–")]


def test_an_unfinished_run_says_how_far_it_got() -> None:
    a, b = case("a"), case("b")
    samples = [sample(a, 1, 1.0), failed(b, 1), failed(a, 2, status="rejected")]
    text = shown(stored([a, b], samples, repeats=5, state="interrupted"))
    assert "Not complete (interrupted): 2 of 10 samples are there." in text
    assert "Not complete" not in shown(measured({"a": [1]}, repeats=1))


def test_a_run_without_any_sample_prints_its_cases() -> None:
    assert table(shown(stored([case("a")], [], state="running")))[0][:4] == ["a", "get", "1", "–"]


def test_a_case_without_the_headline_metric_keeps_its_row() -> None:
    a, b = case("a", series="one"), case("b", series="two")
    run = stored([a, b], [sample(a, 1, 5.0, "rps"), sample(b, 1, 0.1, "p90")], repeats=1)
    assert [row[0] for row in table(shown(run))] == ["a", "b"]


def test_warnings_of_the_run_are_printed(tmp_path: Path) -> None:
    text = shown(write_run(tmp_path, "one", servers=1, workloads=1, raw=False))
    assert "Warning: These numbers come from a seed; nothing was measured." in text


def test_labels_are_text_not_markup_nor_terminal_control() -> None:
    evil = "[red]x[/red] [/] :smile: \x1b[31mred\x1b[0m\r\n\u202eesrever"
    run = measured({"a": [1]}, repeats=1, labels={"server": {"a": evil}, "workload": {"get": "[bold]w"}})
    text = shown(run)
    assert "[red]x[/red] [/] :smile: �[31mred�[0m  �esrever" in text
    assert "[bold]w" in text
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_printable_keeps_every_ordinary_letter() -> None:
    assert printable("Größe – 速度 🚀 'q' \"d\" \\") == "Größe – 速度 🚀 'q' \"d\" \\"
    assert printable("a\tb\nc\x00d\x7f") == "a b c�d�"


def test_without_a_terminal_a_table_is_not_folded_to_80_columns(tmp_path: Path) -> None:
    run = write_run(tmp_path, "one", servers=4, workloads=1, raw=False)
    assert len(table(shown(run, width=80))) == 5
    narrow = shown(run, width=60, terminal=True)
    assert max(len(line) for line in narrow.splitlines()) <= 60


# CSV


def test_csv_has_a_row_a_case_and_metric_with_exact_values(tmp_path: Path) -> None:
    run = write_run(tmp_path, "one", servers=3, workloads=1, raw=False, mutate=flawed)
    frame = summary([run])
    got = parsed(as_csv(run))
    assert len(got) == len(frame)
    for line, row in zip(got, frame.to_dict("records"), strict=True):
        for name in ("median", "low", "high", "band"):
            assert line[name] == "" if math.isnan(row[name]) else float(line[name]) == row[name]
        for name in ("n", "wanted", "rejected", "failed", "missing", "workers", "connections"):
            assert int(line[name]) == row[name]
        assert line["floor"] == str(row["floor"]).lower()
        assert line["case"] == row["case"]
        assert line["untiered"] == row["untiered"]
        assert (line["tier"] == "") == bool(row["untiered"])
    assert {line["unit"] for line in got} == {"1/s", "s"}


def test_csv_of_a_given_part_of_the_summary() -> None:
    run = measured({"a": [1], "b": [2]}, repeats=1)
    frame = summary([run])
    assert [line["server"] for line in parsed(as_csv(run, frame[frame["server"] == "b"]))] == ["b"]


@pytest.mark.parametrize(
    "label",
    [
        'say "hi"',
        "two\nlines",
        "two\r\nlines",
        "lone\rreturn",
        "a,b;c",
        "<b>&amp;</b>",
        "../..",
        "Größe 速度",
        " x ",
    ],
)
def test_a_csv_label_comes_back_as_it_was(label: str) -> None:
    run = measured({"a": [1], "b": [2]}, repeats=1, labels={"server": {"a": label}})
    lines = parsed(as_csv(run))
    assert [line["server_label"] for line in lines] == [label, "b"]
    assert [line["n"] for line in lines] == ["1", "1"]


@pytest.mark.parametrize(
    "label",
    [
        "=1+1",
        "+1",
        "-1",
        "@SUM(A1)",
        "\t=1+1",
        "\r=1+1",
        "\n=1+1",
        '=HYPERLINK("http://x")',
        "＝1",
        "'quoted'",
    ],
)
def test_a_csv_label_never_starts_a_formula_and_can_be_restored(label: str) -> None:
    run = measured({"a": [1]}, repeats=1, labels={"server": {"a": label}})
    cell = parsed(as_csv(run))[0]["server_label"]
    assert cell == f"'{label}"


def test_csv_guards_free_text_dimensions_and_their_names_but_no_numbers() -> None:
    cases = [case("a", **{"=cmd": "+x"})]
    lines = parsed(as_csv(stored(cases, [sample(cases[0], 1, -1.5)], repeats=1)))
    assert lines[0]["'=cmd"] == "'+x"
    assert lines[0]["median"] == "-1.5"


# JSON


def test_json_says_what_the_csv_says_with_real_types(tmp_path: Path) -> None:
    run = write_run(tmp_path, "one", servers=3, workloads=1, raw=False, mutate=flawed)
    document = json.loads(as_json(run))
    assert document["run"] == "one"
    assert document["state"] == "complete"
    assert "not the p99" in document["note"]
    assert [warning["code"] for warning in document["warnings"]] == ["synthetic"]
    lines = parsed(as_csv(run))
    assert len(document["rows"]) == len(lines)
    for row, line in zip(document["rows"], lines, strict=True):
        assert list(row) == list(line)
        assert (row["median"] is None) == (line["median"] == "")
        assert (row["tier"] is None) == (line["tier"] == "")
        assert isinstance(row["floor"], bool)
    assert any(row["median"] is None for row in document["rows"])
    assert any(row["tier"] == 1 for row in document["rows"])


def test_json_keeps_labels_as_they_are() -> None:
    label = '=1+1\n"q" <b> \''
    run = measured({"a": [1]}, repeats=1, labels={"server": {"a": label}})
    assert json.loads(as_json(run))["rows"][0]["server_label"] == label
