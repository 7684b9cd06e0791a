"""CPU layouts of machines this one is not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runner.errors import MachineError
from runner.layout import (
    format_list,
    parse_cpus,
    parse_list,
    parse_overrides,
    plan_layout,
    read_topology,
    shape,
)
from runner.model import Layout

TWO = ["server", "generator"]
THREE = ["server", "upstream", "generator"]


def flat(count: int) -> dict[int, tuple[int, int]]:
    """So many CPUs, each a core of its own."""
    return {cpu: (0, cpu) for cpu in range(count)}


def smt(cores: int, packages: int = 1) -> dict[int, tuple[int, int]]:
    """Two threads a core, numbered as Linux does: first all first threads, then all second ones."""
    each = cores // packages
    return {cpu: (cpu % cores // each, cpu % cores) for cpu in range(2 * cores)}


def lay(roles: list[str], topology: dict[int, tuple[int, int]], workers: int = 1, **more: object) -> Layout:
    return plan_layout(roles, workers=workers, allowed=set(topology), topology=topology, **more)  # type: ignore[arg-type]


def test_one_cpu_is_shared_by_all_and_says_so() -> None:
    layout = lay(TWO, flat(1))
    assert layout.roles == {"server": [0], "generator": [0], "runner": [0]}
    assert layout.shared == ["server", "generator", "runner"]
    assert "server and generator share CPU 0" in layout.note


def test_two_cpus_are_one_each_and_the_runner_sits_with_the_generator() -> None:
    layout = lay(TWO, flat(2))
    assert layout.roles == {"server": [0], "generator": [1], "runner": [1]}
    assert layout.shared == ["runner"]
    assert shape(layout) == "server 1, generator 1, runner shared"
    assert "the runner shares the CPUs of the generator" in layout.note


def test_three_roles_on_two_cpus_leave_the_server_alone() -> None:
    layout = lay(THREE, flat(2))
    assert layout.roles == {"server": [0], "upstream": [1], "generator": [1], "runner": [1]}
    assert layout.shared == ["upstream", "generator", "runner"]
    assert "upstream and generator share CPU 1" in layout.note
    assert shape(layout) == "server 1, upstream 1 shared, generator 1 shared, runner shared"


def test_one_cpu_too_few_makes_only_the_last_roles_share() -> None:
    layout = lay(["server", "upstream", "database", "generator"], flat(3))
    assert layout.roles["server"] == [0]
    assert layout.roles["upstream"] == [1]
    assert layout.roles["database"] == layout.roles["generator"] == [2]
    assert layout.shared == ["database", "generator", "runner"]


@pytest.mark.parametrize(
    ("cpus", "workers", "sizes"),
    [
        (3, 1, {"server": 1, "generator": 2}),
        (4, 4, {"server": 2, "generator": 2}),
        (6, 4, {"server": 3, "generator": 3}),
        (8, 4, {"server": 4, "generator": 4}),
        (9, 4, {"server": 4, "generator": 4, "runner": 1}),
        (64, 8, {"server": 8, "generator": 4, "runner": 1}),
        (64, 1, {"server": 1, "generator": 4, "runner": 1}),
    ],
)
def test_more_cpus_serve_workers_then_generator_then_runner(
    cpus: int, workers: int, sizes: dict[str, int]
) -> None:
    layout = lay(TWO, flat(cpus), workers)
    for role, size in sizes.items():
        assert len(layout.roles[role]) == size, role
        assert layout.roles[role] == list(range(layout.roles[role][0], layout.roles[role][-1] + 1)), role
    assert layout.shared == ([] if "runner" in sizes else ["runner"])


def test_sixteen_cpus_look_like_the_published_layout() -> None:
    layout = lay(THREE, flat(16), workers=4)
    assert layout.roles == {
        "server": [1, 2, 3, 4],
        "upstream": [5, 6, 7, 8],
        "generator": [9, 10, 11, 12],
        "runner": [0],
    }
    assert layout.note == ""
    assert shape(layout) == "server 4, upstream 4, generator 4, runner 1"


def owners(layout: Layout, topology: dict[int, tuple[int, int]]) -> dict[tuple[int, int], set[str]]:
    found: dict[tuple[int, int], set[str]] = {}
    for role, cpus in layout.roles.items():
        if role not in layout.shared:
            for cpu in cpus:
                found.setdefault(topology[cpu], set()).add(role)
    return found


@pytest.mark.parametrize("cores", range(2, 24))
@pytest.mark.parametrize("workers", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("roles", [TWO, THREE], ids=["two", "three"])
def test_smt_siblings_stay_with_one_role_wherever_cores_suffice(
    cores: int, workers: int, roles: list[str]
) -> None:
    topology = smt(cores)
    layout = lay(roles, topology, workers)
    assert all(layout.roles[role] for role in roles)
    assert len(layout.roles["server"]) <= workers
    taken = [cpu for role in roles for cpu in layout.roles[role]]
    assert len(taken) == len(set(taken))
    if cores >= len(roles):
        assert all(len(held) == 1 for held in owners(layout, topology).values())
        assert "SMT" not in layout.note
    else:
        assert "SMT siblings of one core are split" in layout.note


def test_with_cores_enough_each_role_runs_one_thread_a_core() -> None:
    layout = lay(TWO, smt(16), workers=4)
    assert layout.roles == {"runner": [0], "server": [1, 2, 3, 4], "generator": [5, 6, 7, 8]}


def test_one_core_of_two_threads_is_split_and_says_so() -> None:
    layout = lay(TWO, smt(1))
    assert layout.roles["server"] == [0]
    assert layout.roles["generator"] == [1]
    assert "SMT siblings of one core are split between server and generator" in layout.note


def test_a_role_stays_on_one_package_where_the_numbers_alternate() -> None:
    topology = {cpu: (cpu % 2, cpu) for cpu in range(16)}
    layout = lay(TWO, topology, workers=4)
    assert layout.roles["runner"] == [0]
    assert layout.roles["server"] == [2, 4, 6, 8]


def test_only_allowed_cpus_are_used() -> None:
    layout = plan_layout(TWO, workers=1, allowed={5, 9}, topology=flat(16))
    assert layout.roles == {"server": [5], "generator": [9], "runner": [9]}


def test_more_workers_than_cpus_is_said() -> None:
    assert "4 workers on 1 CPU" in lay(TWO, flat(2), workers=4).note
    assert "4 workers on 2 CPUs" in lay(TWO, flat(4), workers=4).note
    assert "workers" not in lay(TWO, flat(16), workers=4).note


def test_this_machine_is_the_default() -> None:
    layout = plan_layout(TWO, workers=1)
    used = {cpu for cpus in layout.roles.values() for cpu in cpus}
    assert used <= os.sched_getaffinity(0)


class TestOverrides:
    def test_named_roles_get_their_cpus_and_the_others_the_rest(self) -> None:
        layout = lay(TWO, flat(8), workers=2, overrides={"server": [6, 7]})
        assert layout.roles["server"] == [6, 7]
        assert not set(layout.roles["generator"]) & {6, 7}

    def test_the_runner_can_be_placed(self) -> None:
        layout = lay(TWO, flat(4), overrides={"runner": [0]})
        assert layout.roles["runner"] == [0]
        assert 0 not in layout.roles["server"] + layout.roles["generator"]

    def test_no_core_is_kept_for_a_runner_that_has_its_place(self) -> None:
        layout = lay(TWO, flat(16), workers=4, overrides={"runner": [15]})
        assert layout.roles["server"] == [0, 1, 2, 3]
        assert layout.roles["generator"] == [4, 5, 6, 7]

    def test_all_roles_as_published(self) -> None:
        overrides = {"server": [1, 2, 3, 4], "upstream": [5, 6, 7, 8], "generator": [12, 13, 14, 15]}
        layout = lay(THREE, flat(16), workers=4, overrides=overrides)
        assert {role: layout.roles[role] for role in THREE} == overrides
        assert layout.roles["runner"] == [12, 13, 14, 15]

    def test_cpus_given_twice_are_shared_and_said(self) -> None:
        layout = lay(TWO, flat(4), overrides={"server": [1, 2], "generator": [2, 3]})
        assert layout.shared == ["server", "generator", "runner"]
        assert "server and generator share" in layout.note

    def test_overrides_that_take_everything_leave_the_others_all_cpus(self) -> None:
        layout = lay(TWO, flat(2), overrides={"server": [0, 1]})
        assert "no CPU is left for generator" in layout.note
        assert "generator" in layout.shared

    def test_an_unknown_role_is_refused_naming_the_roles(self) -> None:
        with pytest.raises(MachineError, match=r"unknown role 'upstream'") as error:
            lay(TWO, flat(4), overrides={"upstream": [1]})
        assert "server, generator, runner" in error.value.hint

    def test_a_cpu_that_is_not_there_is_refused_naming_which_are(self) -> None:
        with pytest.raises(MachineError, match="CPUs 4-5 do not exist here") as error:
            lay(TWO, flat(4), overrides={"server": [3, 4, 5]})
        assert "0-3" in error.value.hint
        with pytest.raises(MachineError, match="CPU 9 does not exist here"):
            lay(TWO, flat(4), overrides={"generator": [0, 9]})

    def test_an_empty_list_is_refused(self) -> None:
        with pytest.raises(MachineError, match="empty list"):
            lay(TWO, flat(4), overrides={"server": []})


class TestParsing:
    def test_lists_and_ranges(self) -> None:
        assert parse_cpus("server=1-4") == ("server", [1, 2, 3, 4])
        assert parse_cpus("generator=0,2-3") == ("generator", [0, 2, 3])
        assert parse_cpus(" upstream = 7 ") == ("upstream", [7])

    @pytest.mark.parametrize(
        "text", ["server", "server=", "=1", "server=a", "server=3-1", "server=1,,2", "server=-1", "server=1-"]
    )
    def test_anything_else_is_refused_with_an_example(self, text: str) -> None:
        with pytest.raises(MachineError) as error:
            parse_cpus(text)
        assert text in error.value.message
        assert "server=1-4" in error.value.hint

    def test_a_role_given_twice_is_refused(self) -> None:
        assert parse_overrides(["server=0", "generator=1"]) == {"server": [0], "generator": [1]}
        with pytest.raises(MachineError, match="'server' twice"):
            parse_overrides(["server=0", "server=1"])

    @pytest.mark.parametrize("cpus", [[0], [0, 1], [0, 2, 3, 4, 9], [1, 3, 5], list(range(128))])
    def test_format_and_parse_are_inverse(self, cpus: list[int]) -> None:
        assert parse_list(format_list(cpus)) == cpus


class TestTopology:
    def test_this_machine(self) -> None:
        assert set(os.sched_getaffinity(0)) <= set(read_topology())

    def test_siblings_make_a_core_whatever_core_id_says(self, tmp_path: Path) -> None:
        for cpu, siblings in enumerate(["0,2", "1,3", "0,2", "1,3"]):
            folder = tmp_path / f"sys/devices/system/cpu/cpu{cpu}/topology"
            folder.mkdir(parents=True)
            (folder / "physical_package_id").write_text("-1\n")
            (folder / "core_id").write_text("0\n")
            (folder / "thread_siblings_list").write_text(f"{siblings}\n")
        (tmp_path / "sys/devices/system/cpu/cpufreq").mkdir()
        assert read_topology(tmp_path) == {0: (0, 0), 1: (0, 1), 2: (0, 0), 3: (0, 1)}

    def test_hidden_topology_is_one_core_a_cpu(self, tmp_path: Path) -> None:
        assert read_topology(tmp_path) == {}
        layout = plan_layout(TWO, workers=1, allowed={0, 1}, topology={})
        assert layout.roles["server"] == [0]
        assert "SMT" not in layout.note
