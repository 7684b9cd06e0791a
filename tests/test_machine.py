"""The fingerprint, of this machine and of machines made of a folder."""

from __future__ import annotations

import getpass
import json
import os
import platform
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from runner import machine

CPU = "sys/devices/system/cpu"


def build(root: Path, files: dict[str, str]) -> Path:
    """A root file system with these files."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


XEON = {
    "proc/cpuinfo": "processor\t: 0\nmodel name\t: Intel(R)  Xeon(R) Gold 9999\nflags\t\t: fpu sse2 ht\n",
    "proc/meminfo": "MemTotal:       131072000 kB\nMemFree: 1 kB\n",
    "proc/sys/kernel/osrelease": "6.12.9-amd64\n",
    "proc/self/cgroup": "0::/user.slice/session-1.scope\n",
    "etc/os-release": 'ID=debian\nPRETTY_NAME="Debian GNU/Linux 13 (trixie)"\n',
    "sys/class/dmi/id/sys_vendor": "Dell Inc.\n",
    "sys/class/dmi/id/product_name": "PowerEdge R999\n",
    "sys/class/dmi/id/product_serial": "SERIAL-4711\n",
    "sys/devices/system/node/node0/cpulist": "0,2\n",
    "sys/devices/system/node/node1/cpulist": "1,3\n",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
    f"{CPU}/smt/control": "on\n",
    f"{CPU}/intel_pstate/no_turbo": "1\n",
    **{f"{CPU}/cpu{cpu}/cpufreq/scaling_governor": "performance\n" for cpu in range(8)},
    **{f"{CPU}/cpu{cpu}/topology/physical_package_id": f"{cpu % 2}\n" for cpu in range(8)},
    **{f"{CPU}/cpu{cpu}/topology/thread_siblings_list": f"{cpu % 4},{cpu % 4 + 4}\n" for cpu in range(8)},
}


def test_a_server_with_two_sockets(tmp_path: Path) -> None:
    facts = machine.fingerprint(build(tmp_path, XEON))
    assert facts == {
        "cpu_model": "Intel(R) Xeon(R) Gold 9999",
        "architecture": platform.machine(),
        "cpus": 8,
        "cores": 4,
        "sockets": 2,
        "allowed_cpus": len(os.sched_getaffinity(0)),
        "smt": "on",
        "governor": "performance",
        "turbo": "off",
        "memory_bytes": 131072000 * 1024,
        "numa_nodes": 2,
        "virtualisation": "bare metal",
        "container": "none",
        "cpu_quota": "none",
        "clocksource": "tsc",
        "os": "Debian GNU/Linux 13 (trixie)",
        "kernel": "6.12.9-amd64",
    }


def test_what_nothing_tells_is_unknown(tmp_path: Path) -> None:
    facts = machine.fingerprint(tmp_path)
    told = {"architecture", "allowed_cpus", "cpus", "container"}
    assert {name for name, value in facts.items() if value != "unknown"} == told
    assert facts["container"] == "none"


def test_this_machine() -> None:
    facts = machine.fingerprint()
    assert facts["kernel"] == platform.release()
    assert facts["allowed_cpus"] == len(os.sched_getaffinity(0))
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert facts["memory_bytes"] == pytest.approx(pages, rel=0.01)
    assert json.loads(json.dumps(facts)) == facts
    told = json.dumps(facts)
    for secret in (socket.gethostname(), getpass.getuser()):
        # A name such as "vm" or "root" may be part of a word that means something else.
        assert len(secret) < 5 or secret not in told


def test_files_tell_of_this_machine_what_the_tool_does(tmp_path: Path) -> None:
    """The files alone, as where systemd is missing; they may know less, but nothing else."""
    for name in ("proc/cpuinfo", "sys/class/dmi/id", "sys/devices/system/clocksource", "sys/hypervisor"):
        if Path("/", name).exists():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).symlink_to(Path("/", name))
    files, whole = machine.virtualisation(tmp_path), machine.virtualisation()
    assert files in (whole, "virtual machine", "unknown") or (files, whole) == ("kvm", "amazon")
    assert (files == "bare metal") == (whole == "bare metal")


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"sys/class/dmi/id/sys_vendor": "QEMU\n"}, "kvm"),
        ({"sys/class/dmi/id/product_name": "VirtualBox\n"}, "virtualbox"),
        ({"sys/class/dmi/id/sys_vendor": "VMware, Inc.\n"}, "vmware"),
        ({"sys/class/dmi/id/product_name": "Virtual Machine\n"}, "hyper-v"),
        ({"sys/hypervisor/type": "xen\n"}, "xen"),
        (
            {"sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc kvm-clock \n"},
            "kvm",
        ),
        ({"proc/cpuinfo": "flags\t: fpu hypervisor sse2\n"}, "virtual machine"),
        ({"proc/cpuinfo": "flags\t: fpu sse2\n"}, "bare metal"),
        ({"proc/cpuinfo": "Features\t: fp asimd\n"}, "unknown"),
        ({"proc/cpuinfo": "Features\t: fp\n", "sys/class/dmi/id/sys_vendor": "Ampere\n"}, "bare metal"),
    ],
)
def test_virtualisation(tmp_path: Path, files: dict[str, str], expected: str) -> None:
    assert machine.virtualisation(build(tmp_path, files)) == expected


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, "none"),
        ({".dockerenv": ""}, "docker"),
        ({"run/.containerenv": ""}, "podman"),
        ({"proc/1/environ": "PATH=/bin\0container=lxc\0TERM=x"}, "lxc"),
        ({"proc/1/cgroup": "12:cpu:/kubepods/burstable/pod1\n"}, "kubepods"),
        ({"proc/1/cgroup": "0::/init.scope\n"}, "none"),
    ],
)
def test_container(tmp_path: Path, files: dict[str, str], expected: str) -> None:
    assert machine.container(build(tmp_path, files)) == expected


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "150000 100000\n"}, 1.5),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"}, "none"),
        ({"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/cpu.max": "200000 100000\n"}, 2.0),
        (
            {
                "proc/self/cgroup": "0::/a/b\n",
                "sys/fs/cgroup/a/cpu.max": "300000 100000\n",
                "sys/fs/cgroup/a/b/cpu.max": "50000 100000\n",
            },
            0.5,
        ),
        (
            {
                "proc/self/cgroup": "3:memory:/x\n2:cpu,cpuacct:/x\n",
                "sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us": "250000\n",
                "sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us": "100000\n",
            },
            2.5,
        ),
        (
            {
                "proc/self/cgroup": "2:cpu:/x\n",
                "sys/fs/cgroup/cpu/x/cpu.cfs_quota_us": "-1\n",
                "sys/fs/cgroup/cpu/x/cpu.cfs_period_us": "100000\n",
            },
            "none",
        ),
        ({}, "unknown"),
    ],
)
def test_cpu_quota(tmp_path: Path, files: dict[str, str], expected: float | str) -> None:
    assert machine.cpu_quota(build(tmp_path, files)) == expected


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({f"{CPU}/intel_pstate/no_turbo": "0\n"}, "on"),
        ({f"{CPU}/cpufreq/boost": "0\n"}, "off"),
        ({f"{CPU}/cpufreq/boost": "1\n"}, "on"),
        ({f"{CPU}/cpufreq/policy0/boost": "0\n", f"{CPU}/cpufreq/policy1/boost": "1\n"}, "on"),
        ({}, "unknown"),
    ],
)
def test_turbo(tmp_path: Path, files: dict[str, str], expected: str) -> None:
    assert machine.turbo(build(tmp_path, files)) == expected


def test_governors_that_differ_are_all_named(tmp_path: Path) -> None:
    names = {0: "powersave", 1: "performance", 2: "powersave"}
    files = {f"{CPU}/cpu{cpu}/cpufreq/scaling_governor": name for cpu, name in names.items()}
    assert machine.governor(build(tmp_path, files)) == "performance, powersave"


@pytest.mark.parametrize(
    ("cpuinfo", "expected"),
    [
        ("model name : A  B\n", "A B"),
        ("processor : 0\nBogoMIPS : 1\nModel : Raspberry Pi 9\n", "Raspberry Pi 9"),
        ("CPU implementer : 0x41\nCPU part : 0xd0c\n", "ARM implementer 0x41 part 0xd0c"),
        ("", "unknown"),
    ],
)
def test_cpu_model(tmp_path: Path, cpuinfo: str, expected: str) -> None:
    assert machine.fingerprint(build(tmp_path, {"proc/cpuinfo": cpuinfo}))["cpu_model"] == expected


class TestKey:
    def facts(self, **changes: object) -> dict[str, object]:
        base = {
            "cpu_model": "X",
            "architecture": "x86_64",
            "cpus": 8,
            "cores": 4,
            "sockets": 1,
            "memory_bytes": 16 * 2**30,
            "virtualisation": "kvm",
            "container": "none",
            "cpu_quota": "none",
            "kernel": "6.12.9-amd64",
            "governor": "performance",
        }
        return base | changes

    @pytest.mark.parametrize(
        "changes",
        [
            {"memory_bytes": 16 * 2**30 - 40 * 2**20},
            {"kernel": "6.12.10-amd64"},
            {"allowed_cpus": 4},
            {"governor": "powersave"},
        ],
    )
    def test_what_does_not_matter_leaves_it(self, changes: dict[str, object]) -> None:
        assert machine.machine_key(self.facts(**changes)) == machine.machine_key(self.facts())

    @pytest.mark.parametrize(
        "changes",
        [
            {"cpu_model": "Y"},
            {"cpus": 4},
            {"cores": 8},
            {"sockets": 2},
            {"memory_bytes": 32 * 2**30},
            {"virtualisation": "bare metal"},
            {"container": "docker"},
            {"cpu_quota": 2.0},
            {"kernel": "6.13.0"},
            {"architecture": "aarch64"},
        ],
    )
    def test_what_matters_changes_it(self, changes: dict[str, object]) -> None:
        assert machine.machine_key(self.facts(**changes)) != machine.machine_key(self.facts())

    def test_it_is_short_and_the_same_in_another_process(self) -> None:
        key = machine.machine_key(machine.fingerprint())
        code = "from runner import machine; print(machine.machine_key(machine.fingerprint()))"
        again = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert again.stdout.strip() == key
        assert len(key) == 12


def test_load_here_and_where_nothing_tells(tmp_path: Path) -> None:
    now = machine.load()
    assert now["load_1"] == pytest.approx(os.getloadavg()[0], abs=1.0)
    assert machine.load(tmp_path) == {"cpu_pressure": None}
    told = {
        "proc/loadavg": "0.50 1.25 2.00 1/99 123\n",
        "proc/pressure/cpu": "some avg10=12.50 avg60=1.00 avg300=0.10 total=9\nfull avg10=0.00\n",
    }
    assert machine.load(build(tmp_path, told)) == {
        "load_1": 0.5,
        "load_5": 1.25,
        "load_15": 2.0,
        "cpu_pressure": 0.125,
    }


def test_python_build_names_version_and_gil_and_no_place() -> None:
    build = machine.python_build()
    assert build["version"] == platform.python_version()
    assert build["implementation"] == platform.python_implementation()
    assert build["gil"] in ("on", "off", "on (free-threaded build)")
    assert all(isinstance(value, str) and value for value in build.values())
    assert not any("/" in value for value in build.values())


def test_the_gil_of_a_free_threaded_build(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    assert machine.gil() == "off"
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: True, raising=False)
    monkeypatch.setattr(machine.sysconfig, "get_config_var", lambda name: 1)
    assert machine.gil() == "on (free-threaded build)"
