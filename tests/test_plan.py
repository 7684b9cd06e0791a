"""What a run is decided to be, and what is refused before anything starts."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from runner import plan as plans
from runner import suite as suites
from runner.errors import GeneratorError, MachineError, SuiteError
from runner.generators import GENERATORS, Load
from runner.model import Parameters
from runner.plan import Options, Plan

SUITE = """
name = "mine"
title = "Mine"

[defaults]
connections = 20

[[server]]
name = "one"
command = ["serve"]
requires = ["no-such-distribution"]

[[workload]]
name = "get"
path = "/"

[[workload]]
name = "send"
method = "POST"
path = "/"
body = "plain"

[[series]]
name = "usual"

[[series]]
name = "few"
connections = 5

[[series]]
name = "scaled"
connections = 50
workers = 4
"""


@pytest.fixture(autouse=True)
def _generators(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both generators are there: what is decided does not depend on this machine's."""
    monkeypatch.setattr(GENERATORS["oha"], "version", lambda: "1.16.0", raising=False)
    monkeypatch.setattr(GENERATORS["k9"], "version", lambda: "0.1.2", raising=False)


def make(folder: Path, options: Options, text: str = SUITE) -> Plan:
    path = folder / "mine.toml"
    path.write_text(text, "utf-8")
    return plans.make(suites.load(str(path)), options)


def cases(plan: Plan) -> dict[str, str]:
    """Case → series, without the twins."""
    return {case.id: case.series for case in plan.cases if case.role == "case"}


# Connections


def test_every_series_has_its_own_connections_or_the_default(tmp_path: Path) -> None:
    plan = make(tmp_path, Options(workloads=["get"]))
    assert cases(plan) == {
        "one/get/w1/c20": "usual",
        "one/get/w1/c5": "few",
        "one/get/w4/c50": "scaled",
    }
    assert (plan.parameters.connections, plan.parameters.connections_chosen) == (20, False)


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (7, {"one/get/w1/c7": "usual", "one/get/w4/c7": "connections-7"}),
        # Chosen is chosen, even where it is the default; a series keeps its name where it keeps its own.
        (20, {"one/get/w1/c20": "usual", "one/get/w4/c20": "connections-20"}),
        (50, {"one/get/w1/c50": "usual", "one/get/w4/c50": "scaled"}),
    ],
)
def test_connections_of_the_command_line_are_those_of_every_case(
    tmp_path: Path, chosen: int, expected: dict[str, str]
) -> None:
    plan = make(tmp_path, Options(workloads=["get"], connections=chosen))
    assert cases(plan) == expected
    assert {case.dimensions["connections"] for case in plan.cases} == {chosen}
    assert (plan.parameters.connections, plan.parameters.connections_chosen) == (chosen, True)


def test_workers_and_connections_together(tmp_path: Path) -> None:
    plan = make(tmp_path, Options(workloads=["get"], workers=[1, 2], connections=7))
    assert cases(plan) == {"one/get/w1/c7": "workers-1", "one/get/w2/c7": "workers-2"}


def test_parameters_stored_before_connections_could_be_chosen_are_read() -> None:
    old = {
        "servers": ["one"],
        "workloads": ["get"],
        "workers": [],
        "connections": 20,
        "duration": 5.0,
        "warmup": 1.0,
        "repeats": 5,
        "seed": 42,
    }
    assert Parameters.model_validate(old).connections_chosen is False


# Options


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("rate", "--rate"),
        ("duration", "--duration"),
        ("warmup", "--warmup"),
        ("foreign_limit", "--foreign-limit"),
    ],
)
def test_an_option_without_end_is_refused_by_name(
    tmp_path: Path, name: str, option: str, value: float
) -> None:
    with pytest.raises(SuiteError) as caught:
        make(tmp_path, Options(**{name: value}))  # type: ignore[arg-type]
    assert caught.value.message == f"{option} {value} is not a finite number"
    assert caught.value.hint


def test_what_is_not_installed_is_no_matter_of_a_plan(tmp_path: Path) -> None:
    plan = make(tmp_path, Options())
    with pytest.raises(SuiteError, match="no-such-distribution"):
        plans.check_installed(plan.loaded, plan.parameters)


# Generators


def test_a_generator_without_open_loop_is_refused_a_rate(tmp_path: Path) -> None:
    assert make(tmp_path, Options(generator="k9")).generator.name == "k9"
    assert make(tmp_path, Options(generator="oha", rate=100.0)).parameters.rate == 100.0
    with pytest.raises(GeneratorError, match="k9 has no open loop") as caught:
        make(tmp_path, Options(generator="k9", rate=100.0))
    assert "--generator oha" in caught.value.hint


def test_a_generator_is_refused_only_what_it_would_have_to_send(tmp_path: Path) -> None:
    text = SUITE.replace('body = "plain"', 'body = "{{template}}"')
    with pytest.raises(GeneratorError, match=r"'\{\{'"):
        make(tmp_path, Options(generator="k9"), text)
    assert make(tmp_path, Options(generator="k9", workloads=["get"]), text).samples
    assert make(tmp_path, Options(generator="oha"), text).samples


def test_what_a_generator_refuses_it_refuses_to_command_too(tmp_path: Path) -> None:
    for load in (
        Load("http://127.0.0.1:1/", 1, 1.0, rate=10.0),
        Load("http://127.0.0.1:1/", 1, 1.0, "TRACE"),
    ):
        with pytest.raises(GeneratorError) as caught:
            GENERATORS["k9"].refuse(load)
        assert "k9" in caught.value.message
        with pytest.raises(GeneratorError):
            GENERATORS["k9"].command(load, tmp_path)


# Open files


def limit(monkeypatch: pytest.MonkeyPatch, hard: int) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (10, hard))


def test_more_connections_than_open_files_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(monkeypatch, 50 + 64)
    assert make(tmp_path, Options()).samples
    limit(monkeypatch, 50 + 63)
    with pytest.raises(MachineError, match="50 connections need 114 open files, and 113 is") as caught:
        make(tmp_path, Options())
    assert "ulimit -n" in caught.value.hint
    assert make(tmp_path, Options(connections=49)).samples
    limit(monkeypatch, resource.RLIM_INFINITY)
    assert make(tmp_path, Options(connections=100_000)).samples


# The command


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--rate", "inf"], "--rate inf is not a finite number"),
        # Typer has a word of its own for these.
        (["--rate", "nan"], "--rate"),
        (["--duration", "nan"], "--duration"),
        (["--foreign-limit", "nan"], "--foreign-limit"),
        (["--connections", "65"], "65 connections need 129 open files"),
    ],
)
def test_the_command_says_so_without_a_traceback(tmp_path: Path, arguments: list[str], said: str) -> None:
    (tmp_path / "mine.toml").write_text(SUITE, "utf-8")
    command = [sys.executable, "-m", "runner", "plan", "./mine.toml", *arguments]
    run = subprocess.run(
        ["sh", "-c", 'ulimit -n 128 && exec "$@"', "sh", *command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert run.returncode == 2, run.stderr
    assert said in run.stderr
    assert "Traceback" not in run.stderr


def test_a_rate_that_nothing_sends() -> None:
    with pytest.raises(SuiteError, match="more than any generator sends"):
        plans.make(suites.load("rest"), Options(rate=1e300))


def test_cpus_as_a_number_of_workers_is_what_the_server_has(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: set(range(8)))
    chosen = make(tmp_path, Options(workers=[1, "cpus", 3], cpus=["server=0-2", "generator=5-7"]))
    assert chosen.parameters.workers == [1, 3]


def test_a_ladder_and_a_rate_exclude_each_other(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="--rate and --ladder"):
        make(tmp_path, Options(rate=100, ladder=True))


def test_a_ladder_needs_a_generator_of_open_loops(tmp_path: Path) -> None:
    with pytest.raises(GeneratorError, match="open loop"):
        make(tmp_path, Options(ladder=True, generator="k9"))
    assert make(tmp_path, Options(ladder=True, generator="oha")).parameters.twin is False
