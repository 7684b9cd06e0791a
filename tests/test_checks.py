"""The judgement of a sample: which findings reject it, which fail it, which are only flagged."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runner.checks import (
    Findings,
    check_workers,
    json_difference,
    judge_counter,
    judge_foreign,
    judge_outcome,
    judge_saturation,
    judge_size,
    judge_timeouts,
    judge_workers,
)
from runner.client import Identity
from runner.errors import RejectionError, ServerError
from runner.generators.base import Outcome
from runner.model import CpuSetWitness
from runner.tables import Server

SERVER = Server(name="s", command=["true"], loop="a.Loop")


def outcome(**changes: object) -> Outcome:
    fields: dict = {
        "window": 1.0,
        "ok": 1000,
        "statuses": {200: 1000},
        "errors": {},
        "cut_off": 5,
        "latency": {"p50": 0.001, "max": 0.01},
        "reported": {},
    }
    fields |= changes
    fields["ok"] = fields["statuses"].get(200, 0) if "statuses" in changes else fields["ok"]
    return Outcome(**fields)


def witness(foreign: float = 0.0, busiest: float = 0.5) -> CpuSetWitness:
    return CpuSetWitness(
        cpus=[0],
        busy=0.9,
        steal=0.0,
        foreign=foreign,
        busiest_cpu=busiest,
        busiest_thread=busiest,
        own=0.8,
        threads=1,
    )


def codes(notes) -> list[str]:
    return [note.code for note in notes]


@pytest.mark.parametrize(
    ("expected", "found", "difference"),
    [
        ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 2}]}, ""),
        ({"a": 1}, {}, "$.a: missing"),
        ({}, {"a": 1}, "$.a: not expected, got 1"),
        ({"a": [1, 2]}, {"a": [1]}, "$.a: expected 2 items, got 1"),
        ({"a": [{"b": "x"}]}, {"a": [{"b": "y"}]}, '$.a[0].b: expected "x", got "y"'),
        (True, 1, "$: expected true, got 1"),
        (1, True, "$: expected 1, got true"),
        (1, 1.0, ""),
        ({"a": 1}, [1], '$: expected {"a": 1}, got [1]'),
        (None, 0, "$: expected null, got 0"),
    ],
)
def test_json_difference(expected: object, found: object, difference: str) -> None:
    assert json_difference(expected, found) == difference


def test_clean_sample_is_accepted() -> None:
    findings = Findings()
    judge_outcome(findings, outcome())
    judge_counter(findings, 1003, outcome(), 10)
    judge_workers(findings, {1, 2}, {2, 1})
    judge_foreign(findings, witness(), 0.1)
    judge_saturation(findings, {"server": witness(), "generator": witness()}, ["generator"])
    assert findings.status == "accepted"
    assert findings.flags == []
    assert all(check.status == "ok" for check in findings.checks)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"statuses": {200: 990, 500: 10}, "ok": 990}, ["status"]),
        ({"errors": {"timeout": 3}}, ["errors"]),
        ({"statuses": {}, "ok": 0, "latency": {}}, ["collapse"]),
        ({"statuses": {404: 7}, "ok": 0}, ["status", "collapse"]),
    ],
)
def test_the_servers_own_failures(changes: dict, expected: list[str]) -> None:
    findings = Findings()
    judge_outcome(findings, outcome(**changes))
    assert codes(findings.failures) == expected
    assert findings.status == "failed"


def test_stall_is_flagged_not_rejected() -> None:
    findings = Findings()
    judge_outcome(findings, outcome(latency={"p50": 0.001, "max": 1.2}))
    assert codes(findings.flags) == ["stall"]
    assert findings.status == "accepted"


@pytest.mark.parametrize(
    ("counted", "status", "code"),
    [
        (999, "rejected", "counter"),
        (1000, "accepted", None),
        (1010, "accepted", None),
        (1011, "failed", "retries"),
    ],
)
def test_counter_bounds(counted: int, status: str, code: str | None) -> None:
    findings = Findings()
    judge_counter(findings, counted, outcome(), 10)
    assert findings.status == status
    assert codes(findings.failures + findings.rejections) == ([code] if code else [])


def test_a_changed_worker_fails() -> None:
    findings = Findings()
    judge_workers(findings, {1, 2}, {2, 3})
    assert codes(findings.failures) == ["workers"]


@pytest.mark.parametrize(
    ("foreign", "status", "flags"),
    [(0.02, "accepted", []), (0.05, "accepted", ["foreign"]), (0.11, "rejected", [])],
)
def test_foreign_cpu(foreign: float, status: str, flags: list[str]) -> None:
    findings = Findings()
    judge_foreign(findings, witness(foreign), 0.1)
    assert findings.status == status
    assert codes(findings.flags) == flags


def test_what_the_kernel_does_not_tell_is_not_checked() -> None:
    findings = Findings()
    judge_foreign(findings, None, 0.1)
    assert [(check.name, check.status) for check in findings.checks] == [("foreign", "not checked")]


def test_a_saturated_generator_is_flagged_and_a_busy_server_is_not() -> None:
    findings = Findings()
    roles = {"server": witness(busiest=1.0), "generator": witness(busiest=0.95)}
    judge_saturation(findings, roles, ["generator", "upstream"])
    assert codes(findings.flags) == ["saturated"]


def test_a_saturated_upstream_makes_a_floor_as_a_generator_does() -> None:
    findings = Findings()
    judge_saturation(findings, {"upstream": witness(busiest=0.96)}, ["generator", "upstream"])
    assert [note.message for note in findings.flags] == [
        "upstream had a CPU or thread 96% busy: the figure is a floor"
    ]


@pytest.mark.parametrize(
    ("body_bytes", "size", "statuses", "told"),
    [
        (5_000, 5, {200: 1000}, "ok"),
        (5_001, 5, {200: 1000}, "failed"),
        (None, 5, {200: 1000}, "not checked"),
        (5_000, 5, {200: 999, 500: 1}, "not checked"),
        (0, None, {200: 1000}, ""),
    ],
)
def test_all_answers_together_have_the_right_bytes(body_bytes, size, statuses, told: str) -> None:
    findings = Findings()
    judge_size(findings, replace(outcome(statuses=statuses), body_bytes=body_bytes), size)
    assert [check.status for check in findings.checks] == ([told] if told else [])


def test_a_timeout_that_fires_is_the_servers_own_failure() -> None:
    findings = Findings()
    before, after = (replace(identity(1), timeouts=count) for count in (2, 5))
    judge_timeouts(findings, before, before)
    assert findings.status == "accepted"
    judge_timeouts(findings, before, after)
    assert findings.status == "failed"
    assert findings.failures[0].message == "3 of the server's own timeouts fired"
    judge_timeouts(findings, identity(1), identity(1))
    assert findings.checks[-1].status == "not checked"


def test_no_bad_environment_hides_a_servers_failure() -> None:
    findings = Findings()
    judge_foreign(findings, witness(0.5), 0.1)
    judge_outcome(findings, outcome(errors={"timeout": 1}))
    assert findings.status == "failed"


def identity(pid: int, loop: str = "a.Loop", affinity: tuple[int, ...] = (0,)) -> Identity:
    return Identity(pid, loop, list(affinity), 0)


def test_workers_are_who_they_should_be() -> None:
    check_workers({1: identity(1), 2: identity(2)}, SERVER, 2, {1, 2, 9}, [0])


@pytest.mark.parametrize(
    ("found", "tree", "error", "code"),
    [
        ({7: identity(7)}, {1}, RejectionError, "port"),
        ({1: identity(1)}, {1, 2}, ServerError, "workers"),
        ({1: identity(1), 2: identity(2, "b.Loop")}, {1, 2}, ServerError, "loop"),
        ({1: identity(1), 2: identity(2, affinity=(0, 1))}, {1, 2}, ServerError, "affinity"),
    ],
)
def test_workers_that_are_not(found: dict, tree: set[int], error: type, code: str) -> None:
    with pytest.raises(error) as caught:
        check_workers(found, SERVER, 2, tree, [0])
    assert caught.value.code == code
