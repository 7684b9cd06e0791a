"""What this machine and this interpreter are, without a name, an address or a serial number.

What a system does not tell is "unknown", never guessed. Readers take the root of the file system, so that
other machines are tested from a folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from runner.layout import read_topology

UNKNOWN = "unknown"
ROOT = Path("/")
# What two machines must share for their figures to be compared; see `machine_key`.
_KEY_FIELDS = (
    "architecture",
    "cpu_model",
    "sockets",
    "cores",
    "cpus",
    "virtualisation",
    "container",
    "cpu_quota",
)
_CPU = "sys/devices/system/cpu"
# Words of the DMI vendor and product, and the hypervisor they give away.
_VENDORS = {
    "qemu": "kvm",
    "kvm": "kvm",
    "amazon ec2": "kvm",
    "google compute engine": "kvm",
    "openstack": "kvm",
    "digitalocean": "kvm",
    "hetzner": "kvm",
    "firecracker": "kvm",
    "vmware": "vmware",
    "virtualbox": "virtualbox",
    "innotek": "virtualbox",
    "xen": "xen",
    "virtual machine": "hyper-v",
    "parallels": "parallels",
    "apple virtualization": "apple",
}


def fingerprint(root: Path = ROOT) -> dict[str, Any]:
    """The machine as plain facts: strings, whole numbers, bytes for memory, CPUs for the quota."""
    cpuinfo = _text(root / "proc/cpuinfo")
    topology = read_topology(root)
    return {
        "cpu_model": _cpu_model(cpuinfo),
        "architecture": platform.machine() or UNKNOWN,
        "cpus": len(topology) or os.cpu_count() or UNKNOWN,
        "cores": len(set(topology.values())) or UNKNOWN,
        "sockets": len({package for package, _ in topology.values()}) or UNKNOWN,
        "allowed_cpus": len(os.sched_getaffinity(0)),
        "smt": smt(root),
        "governor": governor(root),
        "turbo": turbo(root),
        "memory_bytes": _memory(root),
        "numa_nodes": len(list((root / "sys/devices/system/node").glob("node[0-9]*"))) or UNKNOWN,
        "virtualisation": virtualisation(root, cpuinfo),
        "container": container(root),
        "cpu_quota": cpu_quota(root),
        "clocksource": _text(root / "sys/devices/system/clocksource/clocksource0/current_clocksource")
        or UNKNOWN,
        "os": _os_name(root),
        "kernel": _text(root / "proc/sys/kernel/osrelease") or UNKNOWN,
    }


def machine_key(facts: dict[str, Any]) -> str:
    """A short hash of the facts that decide whether two machines' figures may be compared.

    Memory counts in whole GiB and the kernel by its first two numbers, so that an update which changes
    neither leaves the key alone; governor and turbo are left to the reader.
    """
    memory, kernel = facts.get("memory_bytes"), re.match(r"\d+\.\d+", str(facts.get("kernel", "")))
    decisive = {name: facts.get(name, UNKNOWN) for name in _KEY_FIELDS}
    decisive["memory_gib"] = round(memory / 2**30) if isinstance(memory, int) else UNKNOWN
    decisive["kernel"] = kernel.group() if kernel else UNKNOWN
    return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()[:12]


def load(root: Path = ROOT) -> dict[str, float | None]:
    """Load averages over 1, 5 and 15 minutes, and the CPU pressure of the last 10 s; None where untold.

    The pressure is the share of time, 0 to 1, in which some task waited for a CPU.
    """
    averages = _text(root / "proc/loadavg").split()[:3]
    pressure = re.search(r"some avg10=([\d.]+)", _text(root / "proc/pressure/cpu"))
    return {
        **{f"load_{minutes}": float(value) for minutes, value in zip((1, 5, 15), averages, strict=False)},
        "cpu_pressure": float(pressure.group(1)) / 100 if pressure else None,
    }


def python_build() -> dict[str, str]:
    """The running interpreter: two runs with the same values ran the same build."""
    arguments = str(sysconfig.get_config_var("CONFIG_ARGS") or "")
    flags = str(sysconfig.get_config_var("PY_CORE_CFLAGS") or sysconfig.get_config_var("PY_CFLAGS") or "")
    levels = re.findall(r"-O\w+", flags)
    # Places differ between machines and say nothing of the code; everything else goes into the hash.
    placeless = re.sub(r"\S*/\S*", "", f"{arguments} {flags}")
    return {
        "version": platform.python_version(),
        "implementation": platform.python_implementation(),
        "compiler": platform.python_compiler(),
        "optimisation": levels[-1] if levels else UNKNOWN,
        "pgo": "yes" if "--enable-optimizations" in arguments or "-fprofile-use" in flags else "not recorded",
        "lto": "yes" if "--with-lto" in arguments or "-flto" in flags else "not recorded",
        "debug": "yes" if hasattr(sys, "gettotalrefcount") else "no",
        "flags_hash": hashlib.sha256(" ".join(placeless.split()).encode()).hexdigest()[:12],
        "gil": gil(),
        "libc": " ".join(platform.libc_ver()).strip() or UNKNOWN,
    }


def gil() -> str:
    """``on``, ``off``, or ``on (free-threaded build)``."""
    enabled = getattr(sys, "_is_gil_enabled", lambda: True)()
    if not enabled:
        return "off"
    return "on (free-threaded build)" if sysconfig.get_config_var("Py_GIL_DISABLED") else "on"


def smt(root: Path = ROOT) -> str:
    """``on``, ``off``, ``not supported``, or unknown."""
    state = _text(root / _CPU / "smt/control")
    words = {"forceoff": "off", "notsupported": "not supported", "notimplemented": UNKNOWN, "": UNKNOWN}
    return words.get(state, state)


def governor(root: Path = ROOT) -> str:
    """The frequency governor, all of them where CPUs differ, or unknown."""
    found = {_text(path) for path in (root / _CPU).glob("cpu[0-9]*/cpufreq/scaling_governor")} - {""}
    return ", ".join(sorted(found)) or UNKNOWN


def turbo(root: Path = ROOT) -> str:
    """Whether CPUs may exceed their base frequency: ``on``, ``off``, or unknown."""
    no_turbo = _text(root / _CPU / "intel_pstate/no_turbo")
    if no_turbo in ("0", "1"):
        return "off" if no_turbo == "1" else "on"
    boosts = {_text(root / _CPU / "cpufreq/boost")}
    boosts |= {_text(path) for path in (root / _CPU).glob("cpufreq/policy[0-9]*/boost")}
    return "on" if "1" in boosts else "off" if "0" in boosts else UNKNOWN


def virtualisation(root: Path = ROOT, cpuinfo: str | None = None) -> str:
    """The hypervisor's name, ``virtual machine`` where only that is certain, ``bare metal``, or unknown."""
    detected = _detect("--vm") if root == ROOT else ""
    if detected and detected != "none":
        return detected
    dmi = root / "sys/class/dmi/id"
    told = " ".join(_text(dmi / name) for name in ("sys_vendor", "product_name", "bios_vendor")).lower()
    for word, name in _VENDORS.items():
        if word in told:
            return name
    kind = _text(root / "sys/hypervisor/type")
    if kind:
        return kind
    if "kvm-clock" in _text(root / "sys/devices/system/clocksource/clocksource0/available_clocksource"):
        return "kvm"
    flags = re.search(r"^flags\s*:(.*)$", _text(root / "proc/cpuinfo") if cpuinfo is None else cpuinfo, re.M)
    if flags and "hypervisor" in flags.group(1).split():
        return "virtual machine"
    # Only x86 has that flag, so that its absence means something; elsewhere the firmware has to speak.
    return "bare metal" if flags or told.strip() or detected == "none" else UNKNOWN


def container(root: Path = ROOT) -> str:
    """The container's kind, or ``none`` where nothing speaks of one."""
    detected = _detect("--container") if root == ROOT else ""
    if detected and detected != "none":
        return detected
    if (root / ".dockerenv").exists():
        return "docker"
    if (root / "run/.containerenv").exists():
        return "podman"
    told = re.search(r"(?:^|\0)container=([\w.-]+)", _text(root / "proc/1/environ"))
    if told:
        return told.group(1)
    group = re.search(r"kubepods|docker|libpod|lxc|containerd", _text(root / "proc/1/cgroup"))
    return group.group() if group else "none"


def cpu_quota(root: Path = ROOT) -> float | str:
    """How many CPUs' time the cgroups above this process allow, ``none`` without a limit, or unknown."""
    groups = _text(root / "proc/self/cgroup")
    if not groups:
        return UNKNOWN
    found = []
    for line in groups.splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        mount = root / "sys/fs/cgroup"
        mounts = [mount / controllers, mount / "cpu"] if controllers else [mount, mount / "unified"]
        parts = [part for part in path.split("/") if part not in ("", "..")]
        for depth in range(len(parts) + 1):
            found += [_limit(place.joinpath(*parts[:depth])) for place in mounts]
    limits = [limit for limit in found if limit is not None]
    return round(min(limits), 3) if limits else "none"


def _limit(group: Path) -> float | None:
    """The CPU limit of one cgroup: ``cpu.max`` of version 2, ``cpu.cfs_*`` of version 1."""
    values = _text(group / "cpu.max").split() or [
        _text(group / "cpu.cfs_quota_us"),
        _text(group / "cpu.cfs_period_us"),
    ]
    try:
        quota, period = int(values[0]), int(values[1])
    except (ValueError, IndexError):
        return None
    return quota / period if quota > 0 and period > 0 else None


def _cpu_model(cpuinfo: str) -> str:
    for field in ("model name", "Model", "cpu model", "Processor", "cpu"):
        found = re.search(rf"^{field}\s*:\s*(.+)$", cpuinfo, re.M)
        if found:
            return " ".join(found.group(1).split())
    part = re.search(r"^CPU part\s*:\s*(\w+)$", cpuinfo, re.M)
    maker = re.search(r"^CPU implementer\s*:\s*(\w+)$", cpuinfo, re.M)
    return f"ARM implementer {maker.group(1)} part {part.group(1)}" if part and maker else UNKNOWN


def _memory(root: Path) -> int | str:
    found = re.search(r"^MemTotal:\s*(\d+) kB", _text(root / "proc/meminfo"), re.M)
    return int(found.group(1)) * 1024 if found else UNKNOWN


def _os_name(root: Path) -> str:
    release = _text(root / "etc/os-release") or _text(root / "usr/lib/os-release")
    found = re.search(r"^PRETTY_NAME=(.*)$", release, re.M)
    return found.group(1).strip("\"'") if found else UNKNOWN


def _detect(kind: str) -> str:
    """What systemd-detect-virt says, empty where it is missing; it exits 1 to say ``none``."""
    tool = shutil.which("systemd-detect-virt")
    if tool is None:
        return ""
    try:
        answer = subprocess.run(
            [tool, kind], capture_output=True, text=True, timeout=5, check=False
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
    return answer if re.fullmatch(r"[a-z0-9.-]+", answer) else ""


def _text(path: Path) -> str:
    """The file's text, stripped; empty where it is missing or may not be read."""
    try:
        return path.read_bytes().decode("utf-8", "replace").strip()
    except OSError:
        return ""
