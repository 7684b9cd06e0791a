"""The knee of a load ladder: the first load that climbs or is not reached."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from runner.ladder import CLIMB, Rung, knee


def rung(load: int, low: float, median: float | None = None, reached: int | None = 3, n: int = 3) -> Rung:
    """Samples all alike, and the rate reached in all of them, unless told otherwise."""
    return Rung(load, 10.0 * load, median or low, low, n, reached)


def test_a_flat_ladder_has_no_knee() -> None:
    assert knee([rung(load, 0.01) for load in (20, 40, 60, 80, 95)]) is None


def test_the_first_load_whose_lowest_sample_is_over_twice_the_median_of_the_lowest_load() -> None:
    rungs = [rung(20, 0.010, 0.012), rung(40, 0.020, 0.030), rung(60, 0.0241, 0.05), rung(80, 0.5)]
    found = knee(rungs)
    assert found is not None
    assert (found.load, found.before) == (60, 40)
    assert f"{CLIMB:g} times" in found.reason


@pytest.mark.parametrize(("low", "bends"), [(0.024, False), (0.02401, True)])
def test_exactly_twice_is_no_climb(low: float, bends: bool) -> None:
    assert (knee([rung(20, 0.01, 0.012), rung(90, low)]) is not None) is bends


def test_one_high_sample_is_no_climb() -> None:
    assert knee([rung(20, 0.01), rung(40, 0.011, 3.0)]) is None


@pytest.mark.parametrize(("reached", "bends"), [(0, True), (1, True), (2, False), (3, False), (None, False)])
def test_a_rate_mostly_not_reached_is_a_knee_even_on_the_lowest_load(
    reached: int | None, bends: bool
) -> None:
    found = knee([rung(20, 0.01, reached=reached), rung(40, 0.01)])
    assert (found is not None) is bends
    if found is not None:
        assert (found.load, found.before) == (20, None)
        assert f"reached in {reached} of 3 samples" in found.reason


def test_loads_at_which_the_generator_was_at_its_limit_decide_no_knee() -> None:
    limited = replace(rung(40, 0.9, reached=0), limited=True)
    assert knee([rung(20, 0.01), limited, rung(60, 0.01)]) is None
    assert knee([limited]) is None
    found = knee([replace(rung(20, 5.0), limited=True), rung(40, 0.01), rung(60, 0.03)])
    assert found is not None
    assert (found.load, found.before) == (60, 40)


def test_half_of_an_even_number_of_samples_is_not_mostly_missed() -> None:
    assert knee([rung(20, 0.01, reached=2, n=4)]) is None


def test_rungs_come_in_any_order_and_those_without_a_sample_are_passed_over() -> None:
    empty = rung(10, math.nan, n=0, reached=None)
    found = knee([rung(80, 0.03), empty, rung(20, 0.01), rung(95, 0.9)])
    assert found is not None
    assert (found.load, found.before) == (80, 20)
    assert knee([empty]) is None
    assert knee([]) is None
