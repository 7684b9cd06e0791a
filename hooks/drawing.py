"""The CPU layout, drawn: a box for each CPU with the roles that ran on it."""

from __future__ import annotations

from hooks.facts import note_words
from hooks.markup import escape, join_names, sentence
from runner.model import Layout, Run


def cpu_drawing(run: Run) -> str:
    """One box a CPU, from 0 to the machine's last that is known; roles are words, not colours alone."""
    layout = run.layout
    roles_on: dict[int, list[str]] = {cpu: [] for cpu in _cpus(run)}
    for role, cpus in layout.roles.items():
        for cpu in cpus:
            roles_on.setdefault(cpu, []).append(role)
    names = list(layout.roles)
    boxes = []
    for cpu, roles in sorted(roles_on.items()):
        tags = "".join(
            f'<span class="ls-role ls-role-{names.index(role) % 4}">{escape(role)}</span>' for role in roles
        )
        idle = '<span class="ls-idle">not used</span>'
        boxes.append(
            f'<div class="ls-cpu{"" if roles else " ls-cpu-idle"}" role="listitem">'
            f'<span class="ls-cpu-name">CPU {cpu}</span>{tags or idle}</div>'
        )
    return (
        f'<div class="ls-cpus" role="list" aria-label="CPU layout">{"".join(boxes)}</div>'
        f'<p class="ls-note">{escape(layout_words(layout))}</p>'
    )


def layout_words(layout: Layout) -> str:
    """The layout as sentences."""
    parts = [
        f"{role} on CPU{'s' if len(cpus) != 1 else ''} {_list(cpus)}" for role, cpus in layout.roles.items()
    ]
    words = sentence(join_names(parts)) if parts else "No CPU layout was recorded."
    if layout.shared and "share" not in (layout.note or ""):
        words += f" Shared with another role: {join_names(layout.shared)}."
    if layout.note:
        words += f" {sentence(note_words(layout.note))}"
    return words


def _list(cpus: list[int]) -> str:
    """``0, 2–5``."""
    parts: list[list[int]] = []
    for cpu in sorted(cpus):
        if parts and cpu == parts[-1][-1] + 1:
            parts[-1].append(cpu)
        else:
            parts.append([cpu])
    return ", ".join(str(p[0]) if len(p) == 1 else f"{p[0]}–{p[-1]}" for p in parts)


def _cpus(run: Run) -> list[int]:
    """All CPUs of the machine where the fingerprint tells their number; a page needs no more than 256."""
    count = run.machine.get("cpus")
    if isinstance(count, list):
        return [cpu for cpu in count if isinstance(cpu, int)][:256]
    if isinstance(count, int) and not isinstance(count, bool) and count > 0:
        return list(range(min(count, 256)))
    return []
