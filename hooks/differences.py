"""How two sides differ in everything but their figures, read from both manifests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hooks.facts import seconds
from hooks.markup import escape, join_names, row, table
from hooks.view import View
from runner.layout import format_list
from runner.model import Run

UNKNOWN = "unknown"
NONE = "none"


def differences_block(ours: View, theirs: View) -> str:
    """A table of what differs, or may differ because a side does not say; then what is the same."""
    differing, same = [], []
    for name, here, there in compared(ours, theirs):
        if here == there and here != UNKNOWN:
            same.append(f"{name} ({here})")
        else:
            differing.append(row(escape(name), *(_cell(text) for text in (here, there))))
    second = "Published" if theirs.run.origin == "published" else theirs.id
    caption = "How the two sides differ, from what each says of itself"
    listing = table(caption, ["What", "Here", second], differing, "ls-facts ls-differences")
    if not same:
        return listing
    return f'{listing}<p class="ls-note">The same on both sides: {escape(join_names(same))}.</p>'


def compared(ours: View, theirs: View) -> list[tuple[str, str, str]]:
    """(what, here, there) as text; what neither side has is left out."""
    names: dict[str, Callable[[View], str | None]] = {
        "Servers": lambda view: str(len(view.dimensions.get("server", []))) or None,
        "Workers": lambda view: _numbers(view, "workers"),
        "Connections": lambda view: _numbers(view, "connections"),
        "Connections a worker": _per_worker,
        "Samples a case": _samples,
        "A sample": lambda view: seconds(view.run.parameters.duration),
        "Warm-up": lambda view: _asked(view, "warm-up", seconds(view.run.parameters.warmup)),
        "Seed of the order": lambda view: _asked(view, "seed", str(view.run.parameters.seed)),
        **{f"CPUs of the {role}": _cpus(role) for role in ("server", "upstream", "generator", "runner")},
        "Processes of the upstream": _upstream,
        "CPUs shared by roles": lambda view: join_names(view.run.layout.shared) or NONE,
        "CPU": lambda view: _machine(view, "cpu_model"),
        "CPUs of the machine": lambda view: _machine(view, "cpus"),
        "Virtualisation": lambda view: _machine(view, "virtualisation"),
        "System": lambda view: _machine(view, "os"),
        "Kernel": lambda view: _machine(view, "kernel"),
        "Python": lambda view: " ".join(
            text for key in ("implementation", "version") if (text := view.run.python.get(key))
        ),
        "Load generator": lambda view: f"{view.run.generator.name} {view.run.generator.version}",
        "Flags of the load generator": lambda view: " ".join(view.run.generator.flags),
        "Lock": lambda view: view.run.lock.sha256[:12] if view.run.lock else None,
        "Measured": lambda view: _date(view.run),
    }
    found = [(name, read(ours), read(theirs)) for name, read in names.items()]
    # A published run tells the versions that matter; an own one has every distribution.
    few = min((ours.run.packages, theirs.run.packages), key=lambda packages: len(packages) or 1 << 30)
    found += [(name, ours.run.packages.get(name), theirs.run.packages.get(name)) for name in few]
    return [(name, here or UNKNOWN, there or UNKNOWN) for name, here, there in found if here or there]


def _cell(text: str) -> str:
    return f"<em>{UNKNOWN}</em>" if text == UNKNOWN else escape(text)


def _numbers(view: View, name: str) -> str | None:
    return ", ".join(map(str, view.dimensions.get(name, []))) or None


def _per_worker(view: View) -> str | None:
    """Connections over workers, of every combination that was measured."""
    found: dict[str, None] = {}
    for case in view.run.cases:
        workers, connections = (case.dimensions.get(name) for name in ("workers", "connections"))
        if case.role == "case" and isinstance(workers, int) and isinstance(connections, int) and workers:
            found[f"{connections / workers:g} ({connections} over {workers})"] = None
    return ", ".join(found) or None


def _samples(view: View) -> str | None:
    """How many samples a figure is the median of."""
    if view.run.origin == "published":
        told = view.run.facts.get("samples_a_case")
        return None if told is None else str(told)
    return str(view.run.parameters.repeats)


def _asked(view: View, name: str, text: str) -> str | None:
    """A parameter, unless the source is silent on it."""
    return None if name in (view.run.facts.get("unknown") or []) else text


def _cpus(role: str) -> Callable[[View], str | None]:
    def read(view: View) -> str | None:
        cpus = view.run.layout.roles.get(role)
        if not cpus:
            # A captured run stores the CPUs of every role that it had.
            return None if view.run.origin == "published" else NONE
        note = f"; {view.run.layout.note}" if role == "server" and view.run.origin == "published" else ""
        return f"{len(cpus)} ({format_list(cpus)}){note if view.run.layout.note else ''}"

    return read


def _upstream(view: View) -> str | None:
    """How many processes the upstream had; a captured run without one had none."""
    if view.run.upstream is not None:
        return str(view.run.upstream.processes)
    return None if view.run.origin == "published" else NONE


def _machine(view: View, name: str) -> str | None:
    value: Any = view.run.machine.get(name)
    return None if value in (None, "", UNKNOWN) else str(value)


def _date(run: Run) -> str | None:
    """When it was measured; of a published run only the import is known."""
    return None if run.origin == "published" else f"{run.created:%Y-%m-%d}"
