"""Head-room: the control over the row, its bound and mark, and how a control drifted."""

from __future__ import annotations

from typing import Any

import pytest
from evidence import case, sample, saturated, stored

from runner import analysis
from runner.errors import AnalysisError
from runner.headroom import Headroom, drift, headroom
from runner.model import Case
from runner.store import StoredRun


def control(name: str, covers: list[str], connections: int = 100) -> Case:
    made = case("upstream", "control", "control", workload=name, connections=connections)
    return made.model_copy(update={"covers": covers, "id": f"upstream/{name}/c{connections}"})


def run(*values: tuple[Case, list[float]], busy: dict[str, str] | None = None) -> StoredRun:
    """Cases with their accepted values; ``busy`` maps case id → the role that was saturated."""
    samples = [
        sample(one, i, value, witness=saturated(busy[one.id]) if busy and one.id in busy else {})
        for one, figures in values
        for i, value in enumerate(figures, 1)
    ]
    return stored([one for one, _ in values], samples, repeats=3)


def found(run: StoredRun) -> dict[str, Headroom]:
    rows: list[Any] = analysis.summary([run]).to_dict("records")
    cases = {case.id: case for case in run.run.cases}
    return {item.case: item for item in headroom([row for row in rows if row["metric"] == "rps"], cases)}


def test_factor_is_the_control_over_the_row_with_the_furthest_that_samples_allow() -> None:
    one = case("a", workload="small")
    item = found(
        run((one, [90.0, 100.0, 110.0]), (control("direct", ["small"]), [390.0, 400.0, 420.0, 400.0]))
    )[one.id]
    assert item.factor is not None
    assert (item.factor.value, item.factor.low, item.factor.high) == pytest.approx((4, 390 / 110, 420 / 90))
    assert (item.mark, item.factor.bound, item.control) == ("", "", "upstream/direct/c100")


@pytest.mark.parametrize(("above", "mark"), [(199.0, "little head-room"), (200.0, ""), (300.0, "")])
def test_a_factor_below_two_is_marked(above: float, mark: str) -> None:
    one = case("a", workload="small")
    assert found(run((one, [100.0] * 3), (control("direct", ["small"]), [above] * 4)))[one.id].mark == mark


@pytest.mark.parametrize(("busy", "bound"), [("upstream/direct/c100", "≥"), ("a/small/w1", "≤")])
def test_a_saturated_generator_makes_the_factor_a_bound(busy: str, bound: str) -> None:
    one = case("a", workload="small")
    made = run((one, [100.0] * 3), (control("direct", ["small"]), [400.0] * 4), busy={busy: "generator"})
    factor = found(made)[one.id].factor
    assert factor is not None
    assert factor.bound == bound


@pytest.mark.parametrize(
    ("above", "busy", "mark"),
    [
        (230.0, ["a/small/w1"], "cannot be said"),  # at most 2.3×
        (180.0, ["a/small/w1"], "little head-room"),  # at most 1.8×
        (180.0, ["upstream/direct/c100"], "may be little head-room"),  # at least 1.8×
        (230.0, ["upstream/direct/c100"], ""),  # at least 2.3×
        (900.0, ["a/small/w1", "upstream/direct/c100"], "cannot be said"),
    ],
)
def test_a_bound_is_marked_by_what_it_lets_be_said_of_two(above: float, busy: list[str], mark: str) -> None:
    made = run(
        (case("a", workload="small"), [100.0] * 3),
        (control("direct", ["small"]), [above] * 4),
        busy=dict.fromkeys(busy, "generator"),
    )
    assert found(made)["a/small/w1"].mark == mark


def test_a_busy_upstream_is_what_a_control_measures_and_makes_it_no_floor() -> None:
    one, direct = case("a", workload="small"), control("direct", ["small"])
    factor = found(run((one, [100.0] * 3), (direct, [400.0] * 4), busy={direct.id: "upstream"}))[
        one.id
    ].factor
    assert factor is not None
    assert factor.bound == ""


def test_without_an_accepted_control_sample_there_is_no_factor() -> None:
    small, large = case("a", workload="small"), case("a", workload="large")
    items = found(run((small, [100.0] * 3), (large, [50.0] * 3), (control("direct", ["small"]), [])))
    assert [(item.factor, item.mark) for item in items.values()] == [(None, "no control")] * 2
    assert [item.control for item in items.values()] == ["upstream/direct/c100", ""]


def test_a_row_without_an_accepted_sample_has_no_factor() -> None:
    one = case("a", workload="small")
    item = found(run((one, []), (control("direct", ["small"]), [400.0] * 4)))[one.id]
    assert (item.factor, item.mark) == (None, "no accepted sample")


def test_the_control_of_as_many_connections_goes_first_then_any_that_was_measured() -> None:
    few, many = (case("a", workload="small", connections=n) for n in (5, 100))
    few = few.model_copy(update={"id": "few"})
    at_5, at_100 = control("direct", ["small"], 5), control("direct", ["small"], 100)
    both = found(run((few, [10.0] * 3), (many, [10.0] * 3), (at_5, [40.0] * 4), (at_100, [80.0] * 4)))
    assert {item.control for item in both.values()} == {at_5.id, at_100.id}
    assert both["few"].control == at_5.id
    assert found(run((few, [10.0] * 3), (at_5, []), (at_100, [80.0] * 4)))["few"].control == at_100.id


def test_twins_and_controls_have_none_of_their_own() -> None:
    one, twin = case("a", workload="small"), case("a", "twin", workload="small")
    made = run((one, [100.0] * 3), (twin, [100.0] * 3), (control("direct", ["small"]), [400.0] * 4))
    assert list(found(made)) == [one.id]


def test_rows_of_two_metrics_are_refused() -> None:
    one, direct = case("a", workload="small"), control("direct", ["small"])
    rows: list[Any] = analysis.summary(
        [stored([one, direct], [sample(one, 1, 5.0), sample(direct, 1, 1.0, "p99")], 1)]
    ).to_dict("records")
    mixed = [row for row in rows if (row["role"], row["metric"]) in (("case", "rps"), ("control", "p99"))]
    with pytest.raises(AnalysisError, match="no ratio"):
        headroom(mixed, {one.id: one, direct.id: direct})


def test_drift_is_from_the_first_sample_to_the_last() -> None:
    moved = drift([100.0, 50.0, 90.0])
    assert moved is not None
    assert (moved.first, moved.last) == (100, 90)
    assert (moved.change, moved.widest) == pytest.approx((-0.1, 0.5))


@pytest.mark.parametrize("values", [[], [1.0], [0.0, 1.0], [1.0, float("nan")]])
def test_without_two_samples_there_is_no_drift(values: list[float]) -> None:
    assert drift(values) is None
