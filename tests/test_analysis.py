"""The analysis against figures worked out by hand."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from evidence import case, failed, measured, sample, saturated, stored

from benchmarks import synthetic
from runner import analysis
from runner.analysis import comparable, ratio, summary, verdict
from runner.bounds import bound
from runner.errors import AnalysisError
from runner.store import StoredRun
from runner.verdicts import indivisible, refusal


def rows(run: StoredRun, metric: str = "rps") -> pd.DataFrame:
    """The rows of that metric, by server; twins are left out."""
    frame = summary([run])
    return frame[(frame["metric"] == metric) & (frame["role"] == "case")].set_index("server", drop=False)


def tiers(run: StoredRun, metric: str = "rps") -> dict[str, int | None]:
    return {str(k): None if pd.isna(v) else int(v) for k, v in rows(run, metric)["tier"].items()}


def row(run: StoredRun, server: str, metric: str = "rps") -> pd.Series:
    return rows(run, metric).loc[server]


# Medians, ranges, counts


def test_median_and_range_are_of_the_accepted_samples() -> None:
    a = row(measured({"a": [104, 100, 101, 103, 109]}), "a")
    assert (a["median"], a["low"], a["high"]) == (103, 100, 109)
    assert (a["n"], a["wanted"], a["missing"], a["rejected"], a["failed"]) == (5, 5, 0, 0, 0)
    assert a["reasons"] == ""
    assert a["untiered"] == ""


def test_rejected_and_failed_attempts_are_counted_and_kept_out_of_the_figures() -> None:
    a = case("a")
    run = stored(
        [a],
        [
            sample(a, 1, 100.0),
            sample(a, 2, 5.0, status="rejected", reasons=[{"code": "foreign-cpu", "message": ""}]),
            sample(a, 2, 102.0, attempt=2),
            failed(a, 3, "timeouts"),
            failed(a, 4, "timeouts"),
            failed(a, 5, "non-2xx"),
        ],
    )
    got = row(run, "a")
    assert (got["n"], got["missing"], got["rejected"], got["failed"]) == (2, 3, 1, 3)
    assert (got["median"], got["low"], got["high"]) == (101, 100, 102)
    assert got["reasons"] == "foreign-cpu; timeouts; non-2xx"
    assert got["untiered"] == "3 of 5 samples failed"


def test_a_case_without_any_accepted_sample_still_has_its_row() -> None:
    a, b = case("a"), case("b")
    run = stored([a, b], [*[sample(a, i, 100.0 + i) for i in range(1, 6)], failed(b, 1), failed(b, 2)])
    got = row(run, "b")
    assert got["n"] == 0
    assert math.isnan(got["median"])
    assert math.isnan(got["low"])
    assert math.isnan(got["high"])
    assert got["failed"] == 2
    assert got["missing"] == 5
    assert got["untiered"] == "no accepted sample"
    assert pd.isna(got["tier"])


def test_a_run_in_which_everything_failed_lists_its_cases_under_throughput() -> None:
    a = case("a")
    frame = summary([stored([a, case("b")], [failed(a, 1)])])
    assert frame[["server", "metric", "n", "failed"]].values.tolist() == [
        ["a", "rps", 0, 1],
        ["b", "rps", 0, 0],
    ]


def test_metrics_of_one_series_give_no_rows_to_another() -> None:
    a, b = case("a", series="one"), case("b", series="two")
    run = stored([a, b], [sample(a, 1, 1.0, "rps"), sample(b, 1, 1.0, "p99")], repeats=1)
    assert summary([run])[["server", "metric"]].values.tolist() == [["a", "rps"], ["b", "p99"]]


def test_a_metric_of_a_later_version_is_in_the_long_form_only() -> None:
    a = case("a")
    run = stored([a], [sample(a, 1, 1.0).model_copy(update={"metrics": {"rps": 1.0, "joules": 2.0}})])
    assert set(summary([run])["metric"]) == {"rps"}
    assert set(analysis.long([run])["metric"]) == {"rps", "joules"}


def test_all_runs_in_one_pass_are_what_each_gives_alone(tmp_path: Path) -> None:
    runs = [
        synthetic.write_run(tmp_path, "one", servers=4, seed=1, raw=False),
        synthetic.write_run(tmp_path, "two", servers=6, seed=2, raw=False, mutate=synthetic.flawed),
        measured({"a": [5, 6]}, id="three", repeats=2),
    ]
    together = summary(runs)
    alone = pd.concat([summary([run]) for run in runs], ignore_index=True)
    pd.testing.assert_frame_equal(together, alone)


def test_nothing_gives_empty_frames_with_their_columns() -> None:
    assert {"run", "case", "metric", "median", "tier"} <= set(summary([]).columns)
    assert {"run", "case", "status", "floor"} <= set(analysis.attempts([]).columns)
    assert {"run", "case", "metric", "value"} <= set(analysis.long([]).columns)
    assert len(summary([])) == len(analysis.attempts([])) == len(analysis.long([])) == 0


# Frames


def test_attempts_and_long_form_keep_every_attempt() -> None:
    a = case("a")
    run = stored([a], [failed(a, 1, status="rejected"), sample(a, 1, 7.0, attempt=2)])
    frame = analysis.attempts([run])
    assert frame[["server", "workers", "repeat", "attempt", "status", "reasons"]].values.tolist() == [
        ["a", 1, 1, 1, "rejected", "timeouts"],
        ["a", 1, 1, 2, "accepted", ""],
    ]
    long = analysis.long([run])
    assert long[["case", "repeat", "attempt", "metric", "value"]].values.tolist() == [
        ["a/get/w1", 1, 2, "rps", 7.0]
    ]


@pytest.mark.parametrize(
    ("role", "share", "floor"),
    [
        ("generator", 0.95, True),
        ("generator", 0.949, False),
        ("upstream", 0.95, True),
        ("server", 1.0, False),
    ],
)
def test_a_floor_is_a_saturated_generator_or_upstream(role: str, share: float, floor: bool) -> None:
    a = case("a")
    run = stored([a], [sample(a, 1, 1.0, witness=saturated(role, share))])
    assert bool(analysis.attempts([run])["floor"].iloc[0]) is floor


def test_a_busy_cpu_is_as_good_as_a_busy_thread() -> None:
    a = case("a")
    witness = saturated("generator", 0.1)["generator"].model_copy(update={"busiest_cpu": 0.96})
    run = stored([a], [sample(a, 1, 1.0, witness={"generator": witness})])
    assert bool(analysis.attempts([run])["floor"].iloc[0])


def test_a_saturated_generator_bounds_no_figure_of_the_probe_and_a_saturated_probe_only_its_own() -> None:
    both = {"rps": 100.0, "probe_headers_p50": 0.01, "probe_gap_p50": 0.001}
    lane, other = case("a"), case("b")
    late = [{"code": "probe-saturated", "message": "late"}]
    samples = [sample(lane, i, None, metrics=both, witness=saturated("generator")) for i in (1, 2)]
    samples += [sample(other, i, None, metrics=both, flags=late) for i in (1, 2)]
    table = summary([stored([lane, other], samples, repeats=2)]).set_index(["case", "metric"])
    found = {key: (bool(row["floor"]), row["untiered"]) for key, row in table.iterrows()}
    a, b = lane.id, other.id
    assert found[a, "rps"] == (True, "limited by the load generator")
    assert found[a, "probe_headers_p50"] == found[a, "probe_gap_p50"] == (False, "")
    assert found[b, "rps"] == (False, "")
    assert found[b, "probe_headers_p50"] == (True, "limited by the probe")
    # What a late probe adds to the headers it takes from the gap: no bound, and no tier.
    assert found[b, "probe_gap_p50"] == (False, "limited by the probe")
    assert pd.isna(table.loc[(b, "probe_gap_p50"), "tier"])


def test_percentiles_of_a_rate_that_was_not_reached_are_not_ranked() -> None:
    both = {"rps": 100.0, "open_p99": 0.01}
    lane, other = case("a"), case("b")
    unsent = [{"code": "rate-not-reached", "message": "all connections were busy"}]
    samples = [sample(lane, i, None, metrics=both, flags=unsent if i == 2 else []) for i in (1, 2)]
    samples += [sample(other, i, None, metrics=both) for i in (1, 2)]
    table = summary([stored([lane, other], samples, repeats=2)]).set_index(["case", "metric"])
    assert table.loc[(lane.id, "open_p99"), "untiered"] == "the rate was not reached"
    assert pd.isna(table.loc[(lane.id, "open_p99"), "tier"])
    assert table.loc[(lane.id, "rps"), "tier"] == table.loc[(other.id, "open_p99"), "tier"] == 1


def test_evidence_that_contradicts_itself_is_refused() -> None:
    a = case("a")
    with pytest.raises(AnalysisError, match=r"run run: case 'a/get/w1', round 2: two accepted attempts"):
        summary([stored([a], [sample(a, 2, 1.0), sample(a, 2, 1.0, attempt=2)])])
    with pytest.raises(AnalysisError, match="a sample of unknown case 'b/get/w1'"):
        summary([stored([a], [sample(case("b"), 1, 1.0)])])
    with pytest.raises(AnalysisError, match="twin of unknown case 'b/get/w1'"):
        summary([stored([a, case("b", "twin")], [])])
    with pytest.raises(AnalysisError, match="a dimension is named 'tier'"):
        summary([stored([case("a", tier="gold")], [])])


# Noise band


def test_band_is_the_difference_of_the_twins_medians_where_that_is_larger() -> None:
    # Medians 100 and 140; four of five rounds agree, so the typical round differs by nought.
    run = measured({"a": [100, 100, 100, 140, 140]}, twin={"a": [100, 100, 140, 140, 140]})
    assert row(run, "a")["band"] == pytest.approx(40 / 120)


def test_band_is_not_nought_when_the_medians_agree_by_luck() -> None:
    # Medians 100 and 100, but each round is 20 apart, except one.
    run = measured({"a": [90, 110, 100, 90, 110]}, twin={"a": [110, 90, 100, 110, 90]})
    assert row(run, "a")["band"] == pytest.approx(20 / 100)


def test_band_belongs_to_a_metric_and_all_dimensions_but_the_server() -> None:
    wide, narrow = case("a", workload="wide"), case("a", workload="narrow")
    other = case("b", workload="wide")
    twins = [case("a", "twin", workload="wide"), case("a", "twin", workload="narrow")]
    values = {wide.id: [100, 100], narrow.id: [100, 100], other.id: [50, 50]}
    values |= {twins[0].id: [130, 130], twins[1].id: [101, 101]}
    cases = [wide, narrow, other, *twins]
    run = stored(cases, [sample(c, i + 1, v) for c in cases for i, v in enumerate(values[c.id])], repeats=2)
    bands = summary([run]).set_index("case")["band"]
    assert bands[wide.id] == bands[other.id] == bands[twins[0].id] == pytest.approx(30 / 115)
    assert bands[narrow.id] == pytest.approx(1 / 100.5)


def test_no_band_without_a_twin_or_with_a_single_common_round() -> None:
    assert math.isnan(row(measured({"a": [1, 2, 3, 4, 5]}), "a")["band"])
    assert math.isnan(row(measured({"a": [100, 101]}, twin={"a": [100]}, repeats=2), "a")["band"])


def test_band_pairs_the_lanes_by_round_and_uses_accepted_samples_only() -> None:
    a, twin = case("a"), case("a", "twin")
    samples = [sample(a, i, v) for i, v in [(1, 100), (2, 200), (3, 300)]]
    samples += [sample(twin, i, v) for i, v in [(3, 300), (1, 100), (2, 200)]]
    samples.append(sample(twin, 4, 900.0, status="failed"))
    assert row(stored([a, twin], samples, repeats=3), "a")["band"] == 0


def test_the_twin_itself_has_a_row_and_no_tier() -> None:
    frame = summary([measured({"a": [1, 2, 3, 4, 5]}, twin={"a": [1, 2, 3, 4, 5]})])
    twin = frame[frame["role"] == "twin"].iloc[0]
    assert twin["twin_of"] == "a/get/w1"
    assert twin["median"] == 3
    assert pd.isna(twin["tier"])
    assert twin["untiered"] == "the second lane of the A/A pair"


# Tiers


def test_overlap_is_not_transitive_so_only_the_leader_counts() -> None:
    # a [100, 110] overlaps b [92, 101]; b overlaps c [85, 95]; a and c are separate.
    run = measured({"a": [100, 104, 105, 106, 110], "b": [92, 94, 96, 98, 101], "c": [85, 88, 90, 92, 95]})
    assert tiers(run) == {"a": 1, "b": 1, "c": 2}


def test_a_new_tier_is_compared_with_its_own_leader() -> None:
    # c leads tier 2; d overlaps c but not a; e is separate from c.
    run = measured(
        {
            "e": [60, 61, 62, 63, 64],
            "d": [80, 81, 84, 86, 87],
            "c": [85, 88, 90, 92, 95],
            "a": [100, 104, 105, 106, 110],
        }
    )
    assert tiers(run) == {"a": 1, "c": 2, "d": 2, "e": 3}


def test_ranges_that_touch_are_not_separate() -> None:
    assert tiers(measured({"a": [100, 101, 102], "b": [98, 99, 100]}, repeats=3)) == {"a": 1, "b": 1}
    assert tiers(measured({"a": [100, 101, 102], "b": [98, 99, 99.9]}, repeats=3)) == {"a": 1, "b": 2}


def test_the_noise_band_swallows_a_small_separate_difference() -> None:
    # b is separate from a and 2.0 % apart; c 9.9 % apart. The twins differ by 3 in every round: ~3 %.
    lanes = {"a": [100, 101, 102], "b": [98, 99, 99.5], "c": [91, 91.5, 92]}
    assert tiers(measured(lanes, repeats=3)) == {"a": 1, "b": 2, "c": 3}
    run = measured(lanes, twin={"a": [103, 104, 105]}, repeats=3)
    assert row(run, "a")["band"] == pytest.approx(3 / 102.5)
    assert tiers(run) == {"a": 1, "b": 1, "c": 2}


def test_lower_is_better_for_latency() -> None:
    run = measured({"slow": [0.30, 0.31, 0.32], "fast": [0.10, 0.11, 0.12]}, metric="p99", repeats=3)
    assert tiers(run, "p99") == {"fast": 1, "slow": 2}
    run = measured({"slow": [30, 31, 32], "fast": [100, 110, 120]}, metric="rps", repeats=3)
    assert tiers(run) == {"fast": 1, "slow": 2}


def test_missing_attempts_and_a_single_sample_have_no_tier_and_lead_none() -> None:
    run = measured({"short": [200, 201, 202, 203], "a": [100, 101, 102, 103, 104]})
    assert tiers(run) == {"short": None, "a": 1}
    assert row(run, "short")["untiered"] == "1 of 5 samples missing"
    single = measured({"a": [100]}, repeats=1)
    assert tiers(single) == {"a": None}
    assert row(single, "a")["untiered"] == "one sample only"


def test_tiers_are_counted_anew_in_each_group() -> None:
    cases = [case(s, workers=w) for w in (1, 4) for s in ("a", "b")]
    base = {("a", 1): 100, ("b", 1): 50, ("a", 4): 300, ("b", 4): 200}
    samples = [
        sample(c, i + 1, base[str(c.dimensions["server"]), int(c.dimensions["workers"])] + i)
        for c in cases
        for i in range(2)
    ]
    frame = summary([stored(cases, samples, repeats=2)])
    assert frame["tier"].tolist() == [1, 2, 1, 2]


# Floors


def floor_run(floors: list[str], lanes: dict[str, list[float]], role: str = "generator") -> StoredRun:
    cases = [case(server) for server in lanes]
    samples = [
        sample(c, i, value, witness=saturated(role) if c.dimensions["server"] in floors else {})
        for c in cases
        for i, value in enumerate(lanes[str(c.dimensions["server"])], 1)
    ]
    return stored(cases, samples, repeats=3)


def test_a_floor_on_top_has_no_tier_but_what_is_below_it_is_not_first() -> None:
    lanes = {"floor": [300.0, 301, 302], "near": [299.0, 300, 301], "a": [100.0, 101, 102]}
    run = floor_run(["floor"], lanes)
    assert tiers(run) == {"floor": None, "near": 1, "a": 2}
    got = row(run, "floor")
    assert bool(got["floor"])
    assert got["untiered"] == "limited by the load generator"
    assert not bool(row(run, "a")["floor"])


def test_nothing_is_ranked_above_a_floor() -> None:
    # By the figures the floor is second; its server may be the fastest of all.
    run = floor_run(["floor"], {"a": [300, 301, 302], "floor": [200, 201, 202], "b": [100, 101, 102]})
    assert tiers(run) == {"a": 1, "floor": None, "b": 2}
    assert verdict(row(run, "a"), row(run, "floor"), "rps").relation == "not comparable"


def test_one_saturated_sample_makes_the_row_a_floor_and_the_role_is_named() -> None:
    a = case("a")
    samples = [sample(a, 1, 1.0), sample(a, 2, 1.0, witness=saturated("upstream")), sample(a, 3, 1.0)]
    got = row(stored([a], samples, repeats=3), "a")
    assert bool(got["floor"])
    assert got["untiered"] == "limited by the upstream"


def test_a_saturated_rejected_attempt_makes_no_floor() -> None:
    a = case("a")
    samples = [
        sample(a, 1, 1.0, status="rejected", witness=saturated("generator")),
        sample(a, 1, 1.0, attempt=2),
    ]
    assert not bool(row(stored([a], samples, repeats=1), "a")["floor"])


# Verdicts and ratios


def test_verdict_is_read_in_the_metrics_direction_and_from_both_sides() -> None:
    high = measured({"a": [200, 201, 202], "b": [100, 101, 102]}, repeats=3)
    assert verdict(row(high, "a"), row(high, "b"), "rps").relation == "faster"
    assert verdict(row(high, "b"), row(high, "a"), "rps").relation == "slower"
    low = measured({"a": [200, 201, 202], "b": [100, 101, 102]}, metric="p99", repeats=3)
    assert verdict(row(low, "a", "p99"), row(low, "b", "p99"), "p99").relation == "slower"
    assert verdict(row(low, "b", "p99"), row(low, "a", "p99"), "p99").relation == "faster"


def test_verdict_says_why_two_rows_cannot_be_told_apart() -> None:
    lanes = {"a": [100, 101, 102], "b": [98, 99, 99.5], "c": [97, 100, 105]}
    run = measured(lanes, twin={"a": [103, 104, 105]}, repeats=3)
    inside = verdict(row(run, "a"), row(run, "b"), "rps")
    assert (inside.relation, inside.reason) == (
        "indistinguishable",
        "the difference is within the noise band of 2.9 %",
    )
    assert inside.band == pytest.approx(3 / 102.5)
    overlap = verdict(row(run, "a"), row(run, "c"), "rps")
    assert (overlap.relation, overlap.reason) == ("indistinguishable", "the ranges overlap")
    # A band that the caller knows better; and none at all, so that the ranges alone decide.
    assert verdict(row(run, "a"), row(run, "b"), "rps", 0.001).relation == "faster"
    assert verdict(row(run, "a"), row(run, "b"), "rps", math.nan).relation == "faster"


GAP = "probe_gap_p50"
"""Its resolution is 0.1 ms, whatever the samples' ranges say."""


def test_gaps_below_the_resolution_share_a_tier_and_no_order() -> None:
    run = measured(
        {"a": [3e-6] * 5, "b": [9e-6] * 5, "c": [9.9e-5] * 5, "d": [2e-4] * 5, "e": [4e-2] * 5}, metric=GAP
    )
    assert tiers(run, GAP) == {"a": 1, "b": 1, "c": 1, "d": 2, "e": 3}
    found = verdict(row(run, "a", GAP), row(run, "c", GAP), GAP)
    assert found.relation == "indistinguishable"
    assert found.reason == "both are below what the probe resolves (0.1 ms)"
    assert verdict(row(run, "a", GAP), row(run, "d", GAP), GAP).relation == "faster"


def test_a_difference_below_the_resolution_is_none_at_any_height() -> None:
    run = measured({"a": [0.04] * 5, "b": [0.04009] * 5, "c": [0.04011] * 5}, metric=GAP)
    found = verdict(row(run, "a", GAP), row(run, "b", GAP), GAP)
    assert (found.relation, found.reason) == (
        "indistinguishable",
        "the difference is below what the probe resolves (0.1 ms)",
    )
    assert verdict(row(run, "a", GAP), row(run, "c", GAP), GAP).relation == "faster"


def test_other_metrics_of_the_same_figures_have_no_such_limit() -> None:
    run = measured({"a": [3e-6] * 5, "b": [9e-6] * 5}, metric="probe_headers_p50")
    assert tiers(run, "probe_headers_p50") == {"a": 1, "b": 2}
    assert ratio(row(run, "b", "probe_headers_p50"), row(run, "a", "probe_headers_p50")).value == 3


def test_nothing_is_divided_by_a_figure_below_the_resolution() -> None:
    run = measured({"a": [9.9e-5] * 5, "b": [1e-4] * 5, "c": [4e-2] * 5}, metric=GAP)
    a, b, c = (row(run, name, GAP) for name in "abc")
    for pair in ((c, a), (a, c)):
        with pytest.raises(
            AnalysisError, match=r"^a/.* below what the probe resolves \(0\.1 ms\), so no ratio"
        ):
            ratio(*pair)
        assert refusal(*pair) == "no ratio with what is below what the probe resolves (0.1 ms)"
    assert refusal(c, b) == ""
    assert ratio(c, b).value == pytest.approx(400)
    assert (indivisible(a), indivisible(b)) == ("below what the probe resolves (0.1 ms)", "")


def test_no_claim_on_rows_without_a_tier() -> None:
    run = measured({"a": [200, 201, 202], "short": [1, 2]}, twin={"a": [200, 201, 202]}, repeats=3)
    got = verdict(row(run, "a"), row(run, "short"), "rps")
    assert (got.relation, got.reason) == ("not comparable", "short/get/w1: 1 of 3 samples missing")
    frame = summary([run])
    twin = frame[frame["role"] == "twin"].iloc[0]
    assert verdict(twin, row(run, "a"), "rps").relation == "not comparable"
    with pytest.raises(AnalysisError, match="'rps' cannot be judged by 'p99'"):
        verdict(row(run, "a"), row(run, "a"), "p99")


def test_ratio_is_of_medians_with_the_widest_range_the_samples_allow() -> None:
    run = measured({"a": [190, 200, 220], "b": [95, 100, 110]}, repeats=3)
    got = ratio(row(run, "a"), row(run, "b"))
    assert got == analysis.Ratio(2.0, 190 / 110, 220 / 95, "")


def test_a_ratio_with_a_floor_is_a_bound() -> None:
    lanes = {"f": [300.0, 300, 300], "g": [200.0, 200, 200], "a": [100.0, 100, 100]}
    run = floor_run(["f", "g"], lanes)
    assert ratio(row(run, "f"), row(run, "a")).bound == "≥"
    assert ratio(row(run, "a"), row(run, "f")).bound == "≤"
    assert ratio(row(run, "f"), row(run, "g")).bound == "?"


def test_a_ratio_of_latencies_with_a_floor_is_bound_the_other_way() -> None:
    f, a = case("f"), case("a")
    samples = [sample(f, 1, 0.2, "p50", witness=saturated("generator")), sample(a, 1, 0.1, "p50")]
    run = stored([f, a], samples, repeats=1)
    assert ratio(row(run, "f", "p50"), row(run, "a", "p50")).bound == "≤"


def latency(**given: Any) -> dict[str, Any]:
    figures = {"n": 3, "median": 0.2, "low": 0.1, "high": 0.3, "floor": False, "unsent": 0, "untiered": ""}
    return {"case": "c", "metric": "open_p99", **figures, **given}


PLAIN, ABOVE, BELOW, NONE = (
    latency(), latency(unsent=1), latency(floor=True), latency(floor=True, unsent=1)
)  # fmt: skip


def test_what_a_figure_bounds() -> None:
    """A saturated generator adds to a latency; requests that were never sent are missing from it."""
    assert [bound(row) for row in (PLAIN, ABOVE, BELOW, NONE)] == ["", "≥", "≤", "?"]
    assert bound(latency(metric="rps", floor=True)) == "≥"


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [(PLAIN, PLAIN, ""), (ABOVE, PLAIN, "≥"), (PLAIN, ABOVE, "≤"), (BELOW, PLAIN, "≤"), (PLAIN, BELOW, "≥"),
     (ABOVE, ABOVE, "?"), (BELOW, BELOW, "?"), (ABOVE, BELOW, "≥"), (BELOW, ABOVE, "≤"),
     (NONE, PLAIN, "?"), (PLAIN, NONE, "?"), (NONE, ABOVE, "?"), (BELOW, NONE, "?")],
)  # fmt: skip
def test_what_a_ratio_bounds(a: dict[str, Any], b: dict[str, Any], expected: str) -> None:
    assert ratio(a, b).bound == expected
    none = NONE in (a, b)
    sides = "a side is no bound at all" if none else "both sides are bounds"
    assert refusal(a, b) == (f"{sides}, so nothing bounds their ratio" if expected == "?" else "")


def test_no_ratio_of_nothing() -> None:
    a, b = case("a"), case("b")
    run = stored([a, b], [sample(a, 1, 1.0), failed(b, 1)], repeats=1)
    with pytest.raises(AnalysisError, match="b/get/w1 has no accepted sample of rps"):
        ratio(row(run, "a"), row(run, "b"))
    nought = measured({"a": [1], "b": [0]}, repeats=1)
    with pytest.raises(AnalysisError, match="b/get/w1 has a rps of nought"):
        ratio(row(nought, "a"), row(nought, "b"))


# Comparability


FIELDS = {
    "application_sha256": "a" * 64,
    "workloads": {"get": "GET /1", "post": "POST /2"},
    "generator": "oha",
    "machine": "one",
}


def fielded(run_id: str, **changes: object) -> StoredRun:
    return measured({"a": [1], "b": [1]}, id=run_id, repeats=1, comparable=FIELDS | changes)


def test_what_differs_beyond_what_varies_is_named() -> None:
    a, b = fielded("a"), fielded("b", machine="two", generator="wrk")
    mine, other = case("a"), case("b", workers=4)
    assert comparable(a.run, mine, b.run, mine, set()) == ["generator", "machine"]
    assert comparable(a.run, mine, b.run, mine, {"machine", "generator"}) == []
    assert comparable(a.run, mine, a.run, other, {"server"}) == ["workers"]
    assert comparable(a.run, mine, a.run, other, {"server", "workers"}) == []


def test_only_the_workload_of_the_two_cases_counts() -> None:
    a, b = fielded("a"), fielded("b", workloads={"get": "GET /1", "post": "POST /changed"})
    get, post = case("a"), case("a", workload="post")
    assert comparable(a.run, get, b.run, get, set()) == []
    assert comparable(a.run, post, b.run, post, set()) == ["workloads"]
    assert comparable(a.run, get, b.run, post, {"workload"}) == []
    assert comparable(a.run, get, a.run, post, set()) == ["workload", "workloads"]


def test_a_field_nobody_recorded_is_not_taken_to_agree() -> None:
    a, bare = fielded("a"), measured({"a": [1]}, id="bare", repeats=1)
    later = fielded("later", kernel="6.1")
    assert comparable(a.run, case("a"), later.run, case("a"), set()) == ["kernel"]
    assert "comparable" in comparable(a.run, case("a"), bare.run, case("a"), set())
    assert comparable(bare.run, case("a"), bare.run, case("b"), {"server"}) == []


def test_an_environment_goes_with_its_server() -> None:
    run = fielded("a").run
    other = case("a").model_copy(update={"environment": "old"})
    assert comparable(run, case("a"), run, other, set()) == ["environment"]
    assert comparable(run, case("a"), run, other, {"server"}) == []


# A run of known structure


@pytest.mark.parametrize("seed", [1, 2, 42])
def test_the_structure_of_a_synthetic_run_is_found_again(tmp_path: Path, seed: int) -> None:
    run = synthetic.write_run(tmp_path, "known", seed=seed, raw=False)
    frame = summary([run])
    cases = frame[frame["role"] == "case"]
    assert (cases["band"] > 0).all()
    assert (cases["band"] <= 2.02 * synthetic.SPREAD).all()
    for position, server in enumerate(run.run.parameters.servers):
        for index, workload in enumerate(run.run.parameters.workloads):
            of = cases[(cases["server"] == server) & (cases["workload"] == workload)].set_index("metric")
            true = synthetic.true_rate(position, index)
            assert of.loc["rps", "median"] == pytest.approx(true, rel=1e-4)
            assert set(of["tier"]) == {synthetic.true_tier(position)}


def test_three_hundred_runs_are_summarised_in_seconds(tmp_path: Path) -> None:
    run = synthetic.write_run(tmp_path, "one", raw=False)
    runs = [
        StoredRun(run.folder, run.run.model_copy(update={"id": f"run-{i}"}), run.samples) for i in range(300)
    ]
    start = time.process_time()
    frame = summary(runs)
    assert len(frame) == 300 * len(summary([run]))
    # Half a second on the development machine; a pass a run would take ten times that.
    assert time.process_time() - start < 4
