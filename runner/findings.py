"""The checks of `lapsheet doctor`: each turns what was read into a finding with its remedy.

They are functions of their arguments alone, so that another machine's troubles are tested on this one.
"""

from __future__ import annotations

import resource
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from runner import provenance
from runner.errors import LapsheetError
from runner.layout import format_list
from runner.machine import UNKNOWN

Status = Literal["ok", "warn", "fail"]
OLDEST_PYTHON = (3, 11)
# 100 connections at both ends of the loopback, and what servers open besides.
FILES_NEEDED, FILES_COMFORTABLE = 256, 1024
DISK_NEEDED, DISK_COMFORTABLE = 200 * 2**20, 2 * 2**30
FAST_CLOCKS = {"tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter", "riscv_clocksource"}


@dataclass(frozen=True)
class Finding:
    """One thing looked at. ``remedy`` is a sentence, never empty where the status is not ``ok``."""

    name: str
    status: Status
    value: str
    remedy: str = ""


def cpus(allowed: set[int], facts: Mapping[str, Any], cores: set[tuple[int, int]]) -> Finding:
    """Whether server and generator can have CPUs of their own."""
    value = f"{len(allowed)} of {facts['cpus']} allowed ({format_list(allowed)}), {len(cores)} cores"
    quota = facts["cpu_quota"]
    if isinstance(quota, float | int) and quota < len(allowed):
        return Finding(
            "CPUs",
            "warn",
            f"{value}, limited to the time of {quota:g}",
            "Lift the container's CPU limit, or give it whole CPUs (docker run --cpuset-cpus): a limit stops "
            "processes in the middle of a sample.",
        )
    if len(allowed) == 1:
        return Finding(
            "CPUs",
            "warn",
            value,
            "Allow a second CPU: on one, server and generator share it, and every figure includes both.",
        )
    if len(cores) == 1:
        return Finding(
            "CPUs",
            "warn",
            value,
            "Allow CPUs of a second core: server and generator would run on two threads of one core.",
        )
    return Finding("CPUs", "ok", value)


def governor(facts: Mapping[str, Any]) -> Finding:
    """Whether CPUs hold their frequency."""
    found = str(facts["governor"])
    if found == UNKNOWN:
        return _hidden("Frequency governor", facts)
    if found == "performance":
        return Finding("Frequency governor", "ok", found)
    remedy = "Hold the frequency while measuring: sudo cpupower frequency-set -g performance."
    return Finding("Frequency governor", "warn", found, remedy)


def smt(facts: Mapping[str, Any]) -> Finding:
    """No trouble in itself: the layout keeps siblings with one role, and `cpus` sees when it cannot."""
    return Finding("SMT", "ok", str(facts["smt"]))


def turbo(facts: Mapping[str, Any]) -> Finding:
    """Whether the frequency depends on heat and on what other cores do."""
    found = str(facts["turbo"])
    if found == UNKNOWN:
        return _hidden("Turbo", facts)
    if found == "off":
        return Finding("Turbo", "ok", found)
    remedy = (
        "Turn it off while measuring, as root: write 1 to /sys/devices/system/cpu/intel_pstate/no_turbo, "
        "or 0 to /sys/devices/system/cpu/cpufreq/boost."
    )
    return Finding("Turbo", "warn", found, remedy)


def virtualisation(facts: Mapping[str, Any]) -> Finding:
    """Whether the CPUs are this system's own."""
    machine_kind, box = str(facts["virtualisation"]), str(facts["container"])
    value = machine_kind if box == "none" else f"{machine_kind}, in a container ({box})"
    if machine_kind == "bare metal":
        return Finding("Virtualisation", "ok", value)
    if machine_kind == UNKNOWN:
        remedy = "Say in your report whether this is a virtual machine: nothing here tells."
        return Finding("Virtualisation", "warn", value, remedy)
    remedy = (
        "Use real hardware for absolute figures; here compare only within one run, and look at its stolen "
        "and foreign CPU time."
    )
    return Finding("Virtualisation", "warn", value, remedy)


def clock(facts: Mapping[str, Any]) -> Finding:
    """Whether reading the time is cheap: a slow clock is paid for in every request."""
    found = str(facts["clocksource"])
    if found in FAST_CLOCKS or found == UNKNOWN:
        return Finding("Clock source", "ok", found)
    remedy = (
        "Boot with clocksource=tsc where the CPU allows: reading this clock costs a system call each time."
    )
    return Finding("Clock source", "warn", found, remedy)


def load(now: Mapping[str, float | None], cpu_count: int) -> Finding:
    """Whether anything else is running."""
    average, pressure = now.get("load_1"), now.get("cpu_pressure")
    if average is None:
        return Finding("Load", "warn", UNKNOWN, "Look with `top` whether anything else is running.")
    value = f"load average {average:.2f} on {cpu_count} CPU{'' if cpu_count == 1 else 's'}"
    if pressure is not None:
        value += f", tasks waited {pressure:.0%} of the last 10 s"
    if average > 0.25 * cpu_count or (pressure or 0.0) > 0.05:
        return Finding("Load", "warn", value, "Stop what else is running (see `top`) and wait a minute.")
    return Finding("Load", "ok", value)


def generators(found: Mapping[str, str], missing: list[LapsheetError]) -> Finding:
    """Which load generators can run, by version; one is enough. ``missing`` is why the others cannot."""
    value = ", ".join([f"{name} {version}" for name, version in found.items()] + [e.message for e in missing])
    remedy = " ".join(error.hint for error in missing)
    status: Status = "fail" if not found else "warn" if missing else "ok"
    return Finding("Load generators", status, value, remedy)


def python(version: tuple[int, ...], build: Mapping[str, str]) -> Finding:
    """Whether this interpreter is supported, and a build that anybody would use."""
    number = ".".join(map(str, version))
    value = f"{build['implementation']} {number}, GIL {build['gil']}, {build['optimisation']}"
    if version < OLDEST_PYTHON:
        wanted = ".".join(map(str, OLDEST_PYTHON))
        return Finding(
            "Python", "fail", value, f"Use Python {wanted} or later, as with uv run --python {wanted}."
        )
    if build["debug"] == "yes" or build["optimisation"] in ("-O0", "-Og"):
        remedy = "Use an optimised build: this one is for debugging and many times slower."
        return Finding("Python", "warn", value, remedy)
    return Finding("Python", "ok", value)


def bench_group(wanted: list[str], installed: Mapping[str, str]) -> Finding:
    """Whether the servers, loops and clients under test are installed."""
    missing = [name for name in wanted if name not in installed]
    value = f"{len(wanted) - len(missing)} of {len(wanted)} distributions installed"
    if not missing:
        return Finding("Bench group", "ok", value)
    remedy = "Install them: uv sync --group bench (or run everything with uv run --group bench)."
    status: Status = "fail" if len(missing) == len(wanted) else "warn"
    return Finding("Bench group", status, f"{value}; missing: {', '.join(missing)}", remedy)


def lock_drift(lock_path: Path) -> Finding:
    """Whether what is installed is what the lock says."""
    short = "/".join(lock_path.parts[-2:])
    if not lock_path.is_file():
        remedy = "Work in a clone of Lapsheet: a run without a lock cannot be repeated exactly."
        return Finding("Lock", "warn", f"no {short}", remedy)
    try:
        lock = provenance.lock_state(lock_path)
    except LapsheetError as error:
        return Finding("Lock", "warn", error.message, error.hint)
    if lock.matches:
        return Finding("Lock", "ok", f"installed as in {lock.path}")
    shown = "; ".join(lock.drift[:3]) + ("; …" if len(lock.drift) > 3 else "")
    remedy = f"Install what it says: uv pip install -r {short}."
    count = "1 difference" if len(lock.drift) == 1 else f"{len(lock.drift)} differences"
    return Finding("Lock", "warn", f"{count} from {lock.path}: {shown}", remedy)


def git(version: str | None) -> Finding:
    """Whether a run can name its revision."""
    if version:
        return Finding("git", "ok", version)
    return Finding(
        "git", "warn", "not found", "Install git: without it a run cannot say which revision it ran."
    )


def git_lfs(version: str | None, configured: bool) -> Finding:
    """Whether raw files can be committed and fetched; capturing needs it not."""
    if version is None:
        remedy = "Install git-lfs (Debian: apt install git-lfs) before committing or fetching raw files."
        return Finding("Git LFS", "warn", "not found", remedy)
    if not configured:
        remedy = "Run `git lfs install` once: without its filter raw files land in plain Git."
        return Finding("Git LFS", "warn", f"{version}, filter not configured", remedy)
    return Finding("Git LFS", "ok", f"{version}, filter configured")


def ports(bound: int, tried: int, span: tuple[int, int] | None) -> Finding:
    """Whether servers can listen on the loopback; ``span`` is the kernel's range of free ports."""
    value = f"{bound} of {tried} tried can be bound"
    if span:
        value += f", {span[1] - span[0] + 1} in the local range"
    if bound == 0:
        remedy = "Allow listening on 127.0.0.1: bring the interface lo up, or leave the sandbox."
        return Finding("Loopback ports", "fail", value, remedy)
    if bound < tried or (span and span[1] - span[0] < 1000):
        remedy = "Widen the range: sudo sysctl net.ipv4.ip_local_port_range='32768 60999'."
        return Finding("Loopback ports", "warn", value, remedy)
    return Finding("Loopback ports", "ok", value)


def open_files(soft: int, hard: int) -> Finding:
    """Whether 100 connections, at both ends, fit."""
    unlimited = resource.RLIM_INFINITY
    value = "no limit" if soft == unlimited else f"{soft} a process"
    if soft == unlimited or soft >= FILES_COMFORTABLE:
        return Finding("Open files", "ok", value)
    wanted = FILES_COMFORTABLE * 4
    if hard != unlimited and hard < FILES_COMFORTABLE:
        remedy = (
            f"Raise the hard limit of this shell, as root: prlimit --pid SHELL --nofile={wanted}:{wanted}."
        )
    else:
        remedy = f"Raise the limit: ulimit -n {wanted if hard == unlimited else min(hard, wanted)}."
    return Finding("Open files", "fail" if soft < FILES_NEEDED else "warn", value, remedy)


def disk(artifacts: Path, free: int, writable: bool) -> Finding:
    """Whether there is room for a run: the reference run takes 3 MB, one with raw probes some hundred."""
    value = f"{free / 2**30:.1f} GiB free"
    if not writable:
        remedy = f"Choose a place you may write to with --output, or change the owner of {artifacts.name}/."
        return Finding("Disk", "fail", f"{value}, not writable", remedy)
    if free >= DISK_COMFORTABLE:
        return Finding("Disk", "ok", value)
    remedy = f"Make room where {artifacts.name}/ is, or choose another place with --output."
    return Finding("Disk", "fail" if free < DISK_NEEDED else "warn", value, remedy)


def _hidden(name: str, facts: Mapping[str, Any]) -> Finding:
    """A setting that the system does not show: expected in a virtual machine, suspicious on real hardware."""
    if facts["virtualisation"] not in ("bare metal", UNKNOWN):
        return Finding(name, "ok", f"{UNKNOWN}: the host's business, not visible in a virtual machine")
    return Finding(name, "warn", UNKNOWN, "Look it up in the firmware's settings, and say it in your report.")
