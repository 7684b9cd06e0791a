"""`lapsheet doctor`: reads this machine and asks every check of `runner.findings`."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import socket
import subprocess
import sys
import tomllib
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from runner import findings as checks
from runner import machine, provenance, suite
from runner.errors import LapsheetError
from runner.findings import Finding
from runner.layout import read_topology

__all__ = ["Finding", "as_json", "examine", "render"]

PORTS_TRIED = 16
_STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}


def examine(artifacts: Path, project: Path | None = None) -> list[Finding]:
    """Look at everything that matters to a run stored in ``artifacts``.

    ``project`` has pyproject.toml and locks/, by default the work directory, as in a run. Nothing is
    changed, installed or sent.
    """
    project = project or Path.cwd()
    facts = machine.fingerprint()
    allowed = os.sched_getaffinity(0)
    topology = read_topology()
    return [
        checks.cpus(allowed, facts, {topology.get(cpu, (0, cpu)) for cpu in allowed}),
        checks.governor(facts),
        checks.smt(facts),
        checks.turbo(facts),
        checks.virtualisation(facts),
        checks.clock(facts),
        checks.load(machine.load(), len(allowed)),
        checks.generators(*_generators()),
        checks.python(sys.version_info[:3], machine.python_build()),
        checks.bench_group(bench_names(project), provenance.distributions()),
        checks.lock_drift(project / "locks" / "bench.txt"),
        checks.git(_version("git", "--version")),
        checks.git_lfs(_version("git", "lfs", "version"), _lfs_configured(project)),
        checks.ports(_bindable(PORTS_TRIED), PORTS_TRIED, _port_range()),
        checks.open_files(*resource.getrlimit(resource.RLIMIT_NOFILE)),
        checks.disk(artifacts, *_room(artifacts)),
    ]


def render(findings: list[Finding], console: Console | None = None) -> None:
    """Print the findings, each problem with its remedy under it, and how many there are."""
    out = console or Console(highlight=False)
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for finding in findings:
        # Text, not markup: values hold brackets of their own.
        words = Text(finding.value)
        if finding.remedy:
            words.append(f"\n{finding.remedy}", style="italic")
        table.add_row(Text(finding.status, style=_STYLES[finding.status]), Text(finding.name), words)
    out.print(table)
    warned = sum(finding.status == "warn" for finding in findings)
    failed = sum(finding.status == "fail" for finding in findings)
    if failed:
        out.print(f"{failed} of {len(findings)} prevent a run, {warned} more can spoil its figures.")
    elif warned:
        out.print(f"A run is possible; {warned} of {len(findings)} can spoil its figures.")
    else:
        out.print("A run is possible, and nothing here speaks against its figures.")


def as_json(findings: list[Finding]) -> str:
    """The findings as a JSON array of objects with name, status, value and remedy."""
    return json.dumps([asdict(finding) for finding in findings], indent=1, ensure_ascii=False)


def bench_names(project: Path) -> list[str]:
    """The distributions of the bench group in the project's pyproject.toml, normalised.

    Without one, what the bundled suites require.
    """
    try:
        groups = tomllib.loads((project / "pyproject.toml").read_text("utf-8"))["dependency-groups"]
        wanted = [entry for entry in groups["bench"] if isinstance(entry, str)]
    except (OSError, ValueError, KeyError):
        loaded = [suite.load(str(path)).suite for path in suite.bundled()]
        wanted = [name for found in loaded for server in found.server for name in server.requires]
    names = [re.split(r"[^\w.-]", entry.strip(), maxsplit=1)[0] for entry in wanted]
    return list(dict.fromkeys(provenance.normalised(name) for name in names if name))


def _generators() -> tuple[dict[str, str], list[LapsheetError]]:
    """Generator → version of those that can run, and why the others cannot."""
    # Here, because doctor must still speak where a generator's module cannot be imported.
    from runner.generators import GENERATORS, pick

    found, missing = {}, []
    for name in GENERATORS:
        try:
            found[name] = str(pick(name).version())
        except LapsheetError as error:
            missing.append(error)
    return found, missing


def _version(*command: str) -> str | None:
    """The first line a tool prints of its version, or None where it is missing or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip().partition("\n")[0] or None


def _lfs_configured(project: Path) -> bool:
    where = project if project.is_dir() else Path.cwd()
    return _version("git", "-C", str(where), "config", "--get", "filter.lfs.process") is not None


def _bindable(wanted: int) -> int:
    """How many of so many loopback ports can be bound at once."""
    held = []
    try:
        for _ in range(wanted):
            probe = socket.socket()
            held.append(probe)
            probe.bind(("127.0.0.1", 0))
        return wanted
    except OSError:
        return len(held) - 1
    finally:
        for probe in held:
            probe.close()


def _port_range() -> tuple[int, int] | None:
    try:
        first, last = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()
    except (OSError, ValueError):
        return None
    return int(first), int(last)


def _room(folder: Path) -> tuple[int, bool]:
    """The free bytes where a folder is or will be, and whether this user may write there."""
    there = folder.absolute()
    while not there.exists():
        there = there.parent
    return shutil.disk_usage(there).free, os.access(there, os.W_OK | os.X_OK)
