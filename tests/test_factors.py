"""Factors as words, and which pairs of rows have one."""

from __future__ import annotations

from typing import Any

import pytest

from hooks.factors import factor, no_ratio, plain, row_ratio, span
from runner.verdicts import Ratio


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *[(1234.4, "1,234"), (100.0, "100"), (12.44, "12.4"), (3.517, "3.52"), (0.8123, "0.81")],
        *[(0.1, "0.10"), (0.0999, "0.0999"), (0.0166, "0.0166"), (0.01, "0.0100"), (0.00119, "0.00119")],
        (0.0, "0.00"),
    ],
)
def test_a_factor_keeps_its_digits_however_small(value: float, text: str) -> None:
    assert plain(value) == text
    assert factor(Ratio(value, value, value, "≥")) == f"≥ {text}×"


def test_each_end_of_a_span_keeps_its_own_digits() -> None:
    assert span(Ratio(0.0166, 0.0003, 0.031)) == "0.000300–0.0310×"
    assert span(Ratio(50.0, 9.512, 123.4)) == "9.51–123×"
    assert span(Ratio(2.0, 2.001, 2.002)) == "2.00×"


GAP = {"case": "c", "metric": "probe_gap_p50", "n": 3, "floor": False, "untiered": ""}


def gap(value: float, **given: Any) -> dict[str, Any]:
    return {**GAP, "median": value, "low": value, "high": value, **given}


def test_no_ratio_has_a_side_that_is_too_small_to_mean_more_than_nothing() -> None:
    small, large = gap(5e-5), gap(4e-2)
    for pair in ((small, large), (large, small)):
        assert row_ratio(*pair) is None
        assert no_ratio(*pair) == ["no ratio with what is below what the probe resolves (0.1 ms)"]
    found = row_ratio(large, gap(2e-2))
    assert found is not None
    assert found.value == 2


def test_what_is_held_against_a_row_is_said_once() -> None:
    nothing = gap(float("nan"), n=0, untiered="no accepted sample")
    assert row_ratio(nothing, gap(1.0)) is None
    assert no_ratio(nothing, gap(1.0)) == ["no accepted sample"]
    assert no_ratio(gap(0.0), gap(1.0)) == ["no ratio with what is nought"]
