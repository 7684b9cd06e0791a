"""The scaling factor from one worker to several, and when it is refused."""

from __future__ import annotations

from typing import Any

import pytest
from evidence import case, sample, saturated, stored

from runner import analysis
from runner.errors import AnalysisError
from runner.scaling import scaling


def rows(one: list[float], many: list[float], busy: bool = False) -> tuple[Any, Any]:
    """The rows of one worker and of four; ``busy``: the generator was saturated with four."""
    cases = [case("a", workers=1), case("a", workers=4)]
    samples = [sample(cases[0], i, value) for i, value in enumerate(one, 1)]
    witness = saturated("generator") if busy else {}
    samples += [sample(cases[1], i, value, witness=witness) for i, value in enumerate(many, 1)]
    found: list[Any] = analysis.summary([stored(cases, samples, 3)]).to_dict("records")
    return found[0], found[1]


def test_factor_is_a_ratio_of_medians_with_the_furthest_that_samples_allow() -> None:
    one, many = rows([90, 100, 110], [340, 350, 390])
    found = scaling(one, many, workers=4, cpus=4)
    assert found.factor is not None
    assert found.refusal == ""
    assert (found.factor.value, found.factor.low, found.factor.high) == pytest.approx(
        (3.5, 340 / 110, 390 / 90)
    )


@pytest.mark.parametrize(
    ("cpus", "words"),
    [(1, "not scaling: 4 workers share 1 CPU"), (3, "not scaling: 4 workers share 3 CPUs")],
)
def test_more_workers_than_cpus_do_not_scale(cpus: int, words: str) -> None:
    found = scaling(*rows([100] * 3, [150] * 3), workers=4, cpus=cpus)
    assert (found.factor, found.refusal) == (None, words)


def test_a_floor_makes_it_a_bound() -> None:
    found = scaling(*rows([100] * 3, [300] * 3, busy=True), workers=4, cpus=8)
    assert found.factor is not None
    assert found.factor.bound == "≥"


def test_a_side_without_samples_is_refused_by_name() -> None:
    assert scaling(*rows([], [300] * 3), workers=4, cpus=4).refusal == "no accepted sample with 1 worker"
    assert scaling(*rows([100] * 3, []), workers=4, cpus=4).refusal == "no accepted sample with 4 workers"


def test_a_side_too_small_to_divide_by_is_refused() -> None:
    one, many = ({**row, "metric": "probe_gap_p50"} for row in rows([3e-6] * 3, [4e-2] * 3))
    found = scaling(one, many, workers=4, cpus=4)
    assert found.factor is None
    assert found.refusal == "no factor: with one worker it is below what the probe resolves (0.1 ms)"
    found = scaling(many, one, workers=4, cpus=4)
    assert found.refusal == "no factor: with 4 workers it is below what the probe resolves (0.1 ms)"


def test_two_metrics_are_an_error() -> None:
    one, many = rows([100] * 3, [300] * 3)
    with pytest.raises(AnalysisError, match="no scaling from 'p99' to 'rps'"):
        scaling(one | {"metric": "p99"}, many, workers=4, cpus=4)
