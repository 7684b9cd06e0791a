"""The metric registry."""

from __future__ import annotations

import pytest

from runner.errors import AnalysisError
from runner.metrics import METRICS, metric


def test_every_metric_is_stored_under_its_own_key_in_a_base_unit() -> None:
    assert all(key == entry.key for key, entry in METRICS.items())
    assert {entry.unit for entry in METRICS.values()} <= {"1/s", "s", "B", "B/s"}


def test_throughput_is_better_high_and_latency_low() -> None:
    assert metric("rps").better == "higher"
    latencies = [entry for entry in METRICS.values() if entry.unit == "s"]
    assert {"p50", "p99", "p999", "max", "mean"} <= {entry.key for entry in latencies}
    assert {entry.better for entry in latencies} == {"lower"}


def test_open_and_closed_loop_percentiles_never_share_a_key() -> None:
    assert metric("p99") != metric("open_p99")
    assert metric("p99").label != metric("open_p99").label


@pytest.mark.parametrize(
    ("key", "value", "shown"),
    [
        ("rps", 0.0, "0"),
        ("rps", 1234567.8, "1,234,568"),
        ("rps", 30415.66, "30,416"),
        ("rps", 987.654, "987.7"),
        ("rps", 9.87654, "9.877"),
        ("rps", 0.123456, "0.1235"),
        ("p99", 0.0015761, "1.58"),
        ("p99", 0.0437, "43.7"),
        ("p99", 4.5, "4,500"),
    ],
)
def test_a_shown_number_is_scaled_grouped_and_of_few_digits(key: str, value: float, shown: str) -> None:
    assert metric(key).show(value) == shown


def test_an_unknown_metric_is_an_error_that_lists_the_known() -> None:
    with pytest.raises(AnalysisError, match="unknown metric 'rsp'") as caught:
        metric("rsp")
    assert "rps" in caught.value.hint
