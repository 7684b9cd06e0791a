"""The doctor: this machine for real, other machines' troubles as arguments."""

from __future__ import annotations

import io
import json
import os
import re
import resource
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from runner import doctor, findings, provenance
from runner.errors import GeneratorError
from runner.findings import Finding

GIB = 2**30


def facts(**changes: Any) -> dict[str, Any]:
    """A machine without any trouble, but for the changes."""
    healthy = {
        "cpus": 8,
        "governor": "performance",
        "smt": "off",
        "turbo": "off",
        "virtualisation": "bare metal",
        "container": "none",
        "cpu_quota": "none",
        "clocksource": "tsc",
    }
    return healthy | changes


def cores(count: int) -> set[tuple[int, int]]:
    return {(0, core) for core in range(count)}


BUILD = {"implementation": "CPython", "gil": "on", "optimisation": "-O3", "debug": "no"}
NO_OHA = GeneratorError("oha is not on this machine", "Install it with `cargo install oha --locked`.")
NO_K9 = GeneratorError("k9 is not in this environment", "It comes with the bench group.")

# What is looked at, the status it must get, and a word that its value or remedy must have.
CASES: list[tuple[Finding, str, str]] = [
    (findings.cpus({0, 1}, facts(cpus=2), cores(2)), "ok", "2 of 2 allowed (0-1)"),
    (findings.cpus({3}, facts(), cores(1)), "warn", "second CPU"),
    (findings.cpus({0, 4}, facts(), cores(1)), "warn", "second core"),
    (findings.cpus({0, 1}, facts(cpu_quota=1.5), cores(2)), "warn", "time of 1.5"),
    (findings.cpus({0, 1}, facts(cpu_quota=2.0), cores(2)), "ok", "2 cores"),
    (findings.governor(facts()), "ok", "performance"),
    (findings.governor(facts(governor="powersave")), "warn", "cpupower"),
    (findings.governor(facts(governor="performance, powersave")), "warn", "cpupower"),
    (findings.governor(facts(governor="unknown")), "warn", "firmware"),
    (findings.governor(facts(governor="unknown", virtualisation="kvm")), "ok", "virtual machine"),
    (findings.smt(facts(smt="on")), "ok", "on"),
    (findings.turbo(facts()), "ok", "off"),
    (findings.turbo(facts(turbo="on")), "warn", "no_turbo"),
    (findings.turbo(facts(turbo="unknown")), "warn", "firmware"),
    (findings.turbo(facts(turbo="unknown", virtualisation="xen")), "ok", "virtual machine"),
    (findings.virtualisation(facts()), "ok", "bare metal"),
    (findings.virtualisation(facts(container="docker")), "ok", "in a container (docker)"),
    (findings.virtualisation(facts(virtualisation="kvm")), "warn", "real hardware"),
    (findings.virtualisation(facts(virtualisation="unknown")), "warn", "whether this is a virtual machine"),
    (findings.clock(facts()), "ok", "tsc"),
    (findings.clock(facts(clocksource="hpet")), "warn", "clocksource=tsc"),
    (findings.load({"load_1": 0.1, "cpu_pressure": 0.0}, 2), "ok", "0.10 on 2 CPUs"),
    (findings.load({"load_1": 3.0, "cpu_pressure": None}, 2), "warn", "`top`"),
    (findings.load({"load_1": 0.1, "cpu_pressure": 0.4}, 2), "warn", "40%"),
    (findings.load({}, 2), "warn", "`top`"),
    (findings.generators({"oha": "1.16.0", "k9": "0.1.0"}, []), "ok", "oha 1.16.0, k9 0.1.0"),
    (findings.generators({"k9": "0.1.0"}, [NO_OHA]), "warn", "cargo install oha"),
    (findings.generators({}, [NO_OHA, NO_K9]), "fail", "bench group"),
    (findings.python((3, 13, 0), BUILD), "ok", "CPython 3.13.0, GIL on, -O3"),
    (findings.python((3, 10, 9), BUILD), "fail", "--python 3.11"),
    (findings.python((3, 12, 0), BUILD | {"debug": "yes"}), "warn", "optimised build"),
    (findings.python((3, 12, 0), BUILD | {"optimisation": "-O0"}), "warn", "optimised build"),
    (findings.bench_group(["a", "b"], {"a": "1", "b": "2"}), "ok", "2 of 2"),
    (findings.bench_group(["a", "b"], {"a": "1"}), "warn", "missing: b"),
    (findings.bench_group(["a", "b"], {}), "fail", "uv sync --group bench"),
    (findings.git("git version 2.50"), "ok", "2.50"),
    (findings.git(None), "warn", "Install git"),
    (findings.git_lfs("git-lfs/3.7", True), "ok", "filter configured"),
    (findings.git_lfs("git-lfs/3.7", False), "warn", "git lfs install"),
    (findings.git_lfs(None, False), "warn", "apt install git-lfs"),
    (findings.ports(16, 16, (32768, 60999)), "ok", "28232 in the local range"),
    (findings.ports(16, 16, None), "ok", "16 of 16"),
    (findings.ports(7, 16, (32768, 60999)), "warn", "ip_local_port_range"),
    (findings.ports(16, 16, (40000, 40100)), "warn", "ip_local_port_range"),
    (findings.ports(0, 16, None), "fail", "127.0.0.1"),
    (findings.open_files(1024, 4096), "ok", "1024"),
    (findings.open_files(resource.RLIM_INFINITY, resource.RLIM_INFINITY), "ok", "no limit"),
    (findings.open_files(512, resource.RLIM_INFINITY), "warn", "ulimit -n 4096"),
    (findings.open_files(512, 2000), "warn", "ulimit -n 2000"),
    (findings.open_files(128, 4096), "fail", "ulimit -n 4096"),
    (findings.open_files(128, 128), "fail", "prlimit"),
    (findings.disk(Path("artifacts"), 50 * GIB, True), "ok", "50.0 GiB"),
    (findings.disk(Path("artifacts"), GIB, True), "warn", "--output"),
    (findings.disk(Path("artifacts"), GIB // 10, True), "fail", "--output"),
    (findings.disk(Path("artifacts"), 50 * GIB, False), "fail", "not writable"),
]


@pytest.mark.parametrize(
    ("finding", "status", "word"), CASES, ids=[f"{case[0].name}-{case[2]}" for case in CASES]
)
def test_each_trouble_gets_its_status_and_remedy(finding: Finding, status: str, word: str) -> None:
    assert finding.status == status
    assert word in f"{finding.value} {finding.remedy}"
    assert bool(finding.remedy) == (status != "ok")
    if finding.remedy:
        assert re.fullmatch(r"[A-Z].*\.", finding.remedy), "a remedy is a sentence"


class TestLock:
    def lock(self, tmp_path: Path, text: str) -> Path:
        path = tmp_path / "locks" / "bench.txt"
        path.parent.mkdir()
        path.write_text(text)
        return path

    def test_the_installed_versions(self, tmp_path: Path) -> None:
        version = provenance.distributions()["pydantic"]
        finding = findings.lock_drift(self.lock(tmp_path, f"pydantic=={version}\n"))
        assert (finding.status, finding.remedy) == ("ok", "")

    def test_drift_is_counted_and_the_first_lines_shown(self, tmp_path: Path) -> None:
        text = "".join(f"no-such-{letter}==1.0\n" for letter in "abcd")
        finding = findings.lock_drift(self.lock(tmp_path, text))
        assert finding.status == "warn"
        assert finding.value.startswith(
            "4 differences from locks/bench.txt: no-such-a: lock 1.0, not installed"
        )
        assert finding.value.endswith("; …")
        assert "uv pip install -r locks/bench.txt" in finding.remedy

    def test_no_lock_and_a_broken_one(self, tmp_path: Path) -> None:
        assert findings.lock_drift(tmp_path / "locks" / "bench.txt").status == "warn"
        broken = findings.lock_drift(self.lock(tmp_path, "pydantic>=2\n"))
        assert broken.status == "warn"
        assert "line 1" in broken.value
        assert broken.remedy


class TestThisMachine:
    def test_everything_is_looked_at_once(self, tmp_path: Path) -> None:
        found = {finding.name: finding for finding in doctor.examine(tmp_path / "not" / "yet" / "artifacts")}
        assert list(found) == [
            "CPUs",
            "Frequency governor",
            "SMT",
            "Turbo",
            "Virtualisation",
            "Clock source",
            "Load",
            "Load generators",
            "Python",
            "Bench group",
            "Lock",
            "git",
            "Git LFS",
            "Loopback ports",
            "Open files",
            "Disk",
        ]
        assert f"{len(os.sched_getaffinity(0))} of " in found["CPUs"].value
        assert sys.version.split()[0] in found["Python"].value
        assert found["Loopback ports"].status == "ok"
        assert not (tmp_path / "not").exists()
        for finding in found.values():
            assert finding.value
            assert finding.remedy or finding.status == "ok"

    def test_no_name_of_this_machine_is_told(self, tmp_path: Path) -> None:
        told = doctor.as_json(doctor.examine(tmp_path))
        assert str(Path.home()) + "/" not in told
        assert len(socket.gethostname()) < 5 or socket.gethostname() not in told

    def test_a_machine_with_nothing_installed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.setenv("HOME", str(tmp_path))
        found = {finding.name: finding for finding in doctor.examine(tmp_path, tmp_path)}
        assert found["git"].status == found["Git LFS"].status == found["Lock"].status == "warn"

    def test_an_open_files_limit_is_read(self, tmp_path: Path) -> None:
        code = (
            "import resource, sys; from pathlib import Path; from runner import doctor\n"
            "resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))\n"
            "print(doctor.as_json(doctor.examine(Path(sys.argv[1]))))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=True
        )
        found = {entry["name"]: entry for entry in json.loads(done.stdout)}
        assert found["Open files"]["status"] == "fail"
        assert found["Open files"]["value"] == "200 a process"

    def test_affinity_is_read(self, tmp_path: Path) -> None:
        one = min(os.sched_getaffinity(0))
        code = (
            f"import os, sys; os.sched_setaffinity(0, {{{one}}}); from pathlib import Path\n"
            "from runner import doctor; print(doctor.as_json(doctor.examine(Path(sys.argv[1]))))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=True
        )
        cpus = json.loads(done.stdout)[0]
        assert cpus["status"] == "warn"
        assert f"({one})" in cpus["value"]


class TestBenchNames:
    def test_from_the_projects_own_file(self) -> None:
        names = doctor.bench_names(Path(__file__).parent.parent)
        assert {"granian", "uvicorn-worker", "aiohttp-asgi", "k9-load"} <= set(names)

    def test_extras_markers_and_included_groups(self, tmp_path: Path) -> None:
        (tmp_path / "pyproject.toml").write_text(
            '[dependency-groups]\nbench = ["Uvicorn[standard]==1.0", "rloop; sys_platform == \'linux\'", '
            '{include-group = "x"}, "hyper_corn>=2"]\n'
        )
        assert doctor.bench_names(tmp_path) == ["uvicorn", "rloop", "hyper-corn"]

    def test_without_a_project_what_the_suites_require(self, tmp_path: Path) -> None:
        names = doctor.bench_names(tmp_path)
        assert "granian" in names
        assert len(names) == len(set(names))


def shown(found: list[Finding]) -> str:
    stream = io.StringIO()
    doctor.render(found, Console(file=stream, width=100, color_system=None))
    return stream.getvalue()


def test_the_terminal_shows_value_and_remedy_and_counts() -> None:
    good = Finding("CPUs", "ok", "2 of 2")
    text = shown([good, Finding("Turbo", "warn", "[red]on[/red]", "Turn it off.")])
    assert "[red]on[/red]" in text
    assert "Turn it off." in text
    assert text.rstrip().endswith("A run is possible; 1 of 2 can spoil its figures.")
    assert "prevent a run" in shown([good, Finding("Disk", "fail", "full", "Make room.")])
    assert "nothing here speaks against" in shown([good])


def test_json_is_the_findings() -> None:
    found = [Finding("Disk", "fail", "voll: 0 €", "Make room.")]
    assert json.loads(doctor.as_json(found)) == [
        {"name": "Disk", "status": "fail", "value": "voll: 0 €", "remedy": "Make room."}
    ]
    assert "€" in doctor.as_json(found)
