"""Which CPUs each role of a run gets.

Everything is a pure function of the CPUs allowed and their topology, so that the layout of a machine
with 128 CPUs is tested on one with two.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from runner.errors import MachineError
from runner.model import Layout

RUNNER = "runner"
SERVER = "server"
MOST = 4  # CPUs of a role other than the server: enough to keep ahead of four workers
_LIST = re.compile(r"\d{1,6}(-\d{1,6})?(,\d{1,6}(-\d{1,6})?)*")

Topology = Mapping[int, tuple[int, int]]
"""CPU → (package, core within the package); CPUs with one pair are SMT siblings."""


def plan_layout(
    roles: list[str],
    *,
    workers: int,
    allowed: set[int] | None = None,
    overrides: dict[str, list[int]] | None = None,
    topology: Topology | None = None,
) -> Layout:
    """The CPUs of each role, and of the runner, which is added to ``roles``.

    The server gets up to ``workers`` CPUs, every other role up to four, the runner one that is left over;
    with too few CPUs the server keeps its own and the others share. SMT siblings are given to one role
    where there are cores enough. ``allowed`` and ``topology`` default to this process's and this
    machine's. ``shared`` names the roles that share a CPU with another one; the runner, which sleeps
    during a sample, is named when it shares, but makes nobody else count as sharing.

    Raises MachineError for an override of an unknown role or with a CPU that is not there.
    """
    cpus = set(os.sched_getaffinity(0)) if allowed is None else set(allowed)
    where = read_topology() if topology is None else topology
    fixed = _checked(overrides or {}, roles, cpus)
    free = cpus - {cpu for chosen in fixed.values() for cpu in chosen}
    open_roles = [role for role in roles if role not in fixed]
    notes = []
    if open_roles and not free:
        free = cpus
        notes.append(f"no CPU is left for {' and '.join(open_roles)}: all allowed CPUs are used")
    split = _Split(open_roles, workers, _cores(free, where), seat_runner=RUNNER not in fixed)
    given = {**split.given, **fixed}
    if RUNNER not in given:
        given[RUNNER] = given["generator" if "generator" in given else roles[-1]]
    ordered = {role: sorted(given[role]) for role in [*roles, RUNNER]}
    shared = _shared(ordered, roles)
    notes += _notes(ordered, roles, shared, workers, where)
    return Layout(roles=ordered, shared=shared, note="; ".join(notes))


def parse_cpus(text: str) -> tuple[str, list[int]]:
    """``server=0,2-3`` as ``("server", [0, 2, 3])``. Raises MachineError if it is of another form."""
    role, separator, listing = (part.strip() for part in text.partition("="))
    try:
        if not separator or not role:
            raise ValueError
        return role, parse_list(listing)
    except ValueError:
        raise MachineError(
            f"--cpus {text!r}: not of the form ROLE=LIST", "Write it as in server=1-4 or generator=0,2-3."
        ) from None


def parse_overrides(texts: Iterable[str]) -> dict[str, list[int]]:
    """Every ``--cpus`` option given, by role. Raises MachineError if one is malformed or a role twice."""
    found: dict[str, list[int]] = {}
    for text in texts:
        role, cpus = parse_cpus(text)
        if role in found:
            raise MachineError(f"--cpus names role {role!r} twice", "Give all its CPUs in one list.")
        found[role] = cpus
    return found


def parse_list(text: str) -> list[int]:
    """A kernel CPU list, ``0,2-3``, sorted. Raises ValueError if it is malformed, empty or backwards."""
    if not _LIST.fullmatch(text):
        raise ValueError(f"not a CPU list: {text!r}")
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        if int(last or first) < int(first):
            raise ValueError(f"a range that runs backwards: {part!r}")
        found.update(range(int(first), int(last or first) + 1))
    return sorted(found)


def format_list(cpus: Iterable[int]) -> str:
    """``[0, 2, 3]`` as ``0,2-3``."""
    runs: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if runs and cpu == runs[-1][1] + 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(f"{first}" if first == last else f"{first}-{last}" for first, last in runs)


def shape(layout: Layout) -> str:
    """The layout without CPU numbers, to compare two machines: ``server 1, generator 1, runner shared``."""
    parts = []
    for role, cpus in layout.roles.items():
        sharing = role in layout.shared
        if role == RUNNER and sharing:
            parts.append(f"{role} shared")
        else:
            parts.append(f"{role} {len(cpus)}{' shared' if sharing else ''}")
    return ", ".join(parts)


def read_topology(root: Path = Path("/")) -> dict[int, tuple[int, int]]:
    """The package and core of every online CPU, from sysfs; a CPU that sysfs hides is a core of its own."""
    found = {}
    for folder in (root / "sys/devices/system/cpu").glob("cpu[0-9]*"):
        cpu = int(folder.name[3:])
        try:
            package = int((folder / "topology/physical_package_id").read_text())
            # core_id repeats between dies and is -1 or 0 throughout on some virtual machines; the list of
            # siblings does not lie there.
            core = min(parse_list((folder / "topology/thread_siblings_list").read_text().strip()))
        except (OSError, ValueError):
            continue
        found[cpu] = (max(package, 0), core)
    return found


def _checked(overrides: dict[str, list[int]], roles: list[str], cpus: set[int]) -> dict[str, list[int]]:
    for role, chosen in overrides.items():
        if role not in [*roles, RUNNER]:
            raise MachineError(
                f"--cpus names an unknown role {role!r}", f"Roles here: {', '.join([*roles, RUNNER])}."
            )
        if not chosen:
            raise MachineError(f"--cpus {role}: an empty list", f"CPUs here: {format_list(cpus)}.")
        missing = sorted(set(chosen) - cpus)
        if missing:
            what = (
                "CPU {} does not exist here or is"
                if len(missing) == 1
                else "CPUs {} do not exist here or are"
            )
            raise MachineError(
                f"--cpus {role}={format_list(chosen)}: {what.format(format_list(missing))} "
                "not allowed to this process",
                f"CPUs here: {format_list(cpus)}.",
            )
    return overrides


def _cores(cpus: set[int], topology: Topology) -> list[list[int]]:
    """The CPUs grouped by physical core, cores of one package side by side."""
    cores: dict[tuple[int, int], list[int]] = {}
    for cpu in sorted(cpus):
        cores.setdefault(topology.get(cpu, (0, cpu)), []).append(cpu)
    return [cores[key] for key in sorted(cores)]


@dataclass
class _Split:
    """The CPUs of the roles that no override names, in ``given``."""

    roles: list[str]
    workers: int
    cores: list[list[int]]
    seat_runner: bool

    def __post_init__(self) -> None:
        self.given: dict[str, list[int]] = {}
        if not self.roles:
            return
        if len(self.cores) < len(self.roles):
            self.cores = [[cpu] for core in self.cores for cpu in core]
        if len(self.cores) < len(self.roles):
            self._squeeze()
        else:
            self._deal()

    def _squeeze(self) -> None:
        """Fewer CPUs than roles: the first role, the server, alone; the last ones share the last CPU."""
        for place, role in enumerate(self.roles):
            self.given[role] = self.cores[min(place, len(self.cores) - 1)]

    def _deal(self) -> None:
        """Cores dealt in turn until each role has what it wants, then laid out side by side."""
        wants = {role: max(1, self.workers) if role == SERVER else MOST for role in self.roles}
        # With a core for every CPU wanted each role runs on one thread of its cores, siblings idle.
        whole = sum(wants.values()) <= len(self.cores)
        counts = dict.fromkeys(self.roles, 0)
        left = len(self.cores)
        width = 1 if whole else min(len(core) for core in self.cores)
        while left and any(counts[role] * width < wants[role] for role in self.roles):
            for role in self.roles:
                if left and counts[role] * width < wants[role]:
                    counts[role] += 1
                    left -= 1
        cores = iter(self.cores)
        if left and self.seat_runner:
            # The first core is the one most kernels send interrupts to: the last to be measured on.
            self.given[RUNNER] = next(cores)[:1]
        for role in self.roles:
            mine = [next(cores) for _ in range(counts[role])]
            by_thread = [
                core[rank] for rank in range(max(map(len, mine))) for core in mine if rank < len(core)
            ]
            self.given[role] = sorted(by_thread[: wants[role]])


def _shared(given: dict[str, list[int]], roles: list[str]) -> list[str]:
    def meets(role: str, others: Iterable[str]) -> bool:
        return any(set(given[role]) & set(given[other]) for other in others if other != role)

    return [role for role in [*roles, RUNNER] if meets(role, roles)]


def _notes(
    given: dict[str, list[int]], roles: list[str], shared: list[str], workers: int, topology: Topology
) -> list[str]:
    notes = []
    sharing = [role for role in shared if role != RUNNER]
    if sharing:
        every = set().union(*(given[role] for role in sharing))
        what = f"CPU {format_list(every)}" if len(every) == 1 else f"CPUs {format_list(every)}"
        notes.append(f"{' and '.join(sharing)} share {what}")
    if RUNNER in shared:
        hosts = [role for role in roles if set(given[role]) & set(given[RUNNER])]
        notes.append(f"the runner shares the CPUs of {' and '.join(f'the {host}' for host in hosts)}")
    owners: dict[tuple[int, int], set[str]] = {}
    for role in roles:
        for cpu in given[role]:
            owners.setdefault(topology.get(cpu, (0, cpu)), set()).add(role)
    torn = {role for held in owners.values() if len(held) > 1 for role in held}
    split = [role for role in roles if role in torn and role not in sharing]
    if split:
        notes.append(f"SMT siblings of one core are split between {' and '.join(split)}")
    count = len(given.get(SERVER, []))
    if count and workers > count:
        notes.append(f"{workers} workers on {count} CPU{'s' if count > 1 else ''}")
    return notes
