"""Nested facts of a manifest (machine, Python, parameters) as flat tables for reading."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from hooks.markup import escape, row, table

_WORDS = {"cpu": "CPU", "cpus": "CPUs", "smt": "SMT", "os": "OS", "libc": "C library", "url": "URL"}
_NAMES = {
    "load_at_start": "At the start",
    "load_1": "load average over 1 minute",
    "load_5": "load average over 5 minutes",
    "load_15": "load average over 15 minutes",
    "cpu_pressure": "time in which something waited for a CPU",
    "counter_cost_s": "Added to each request by counting it",
}
_SHARES = re.compile(r"(?<=shares the CPUs of )(?!the )\w+(?: and \w+)*")
_WORDS |= {name: name.upper() for name in ("gil", "lto", "numa", "pgo")}


def rows_of(facts: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """(name, value) of every fact, inner tables flattened; what is unknown (None, empty) is left out."""
    found: list[tuple[str, str]] = []
    for name, value in facts.items():
        label = f"{prefix}{_words(str(name))}"
        if isinstance(value, Mapping):
            found += rows_of(value, f"{label}: ")
        elif value not in (None, "", [], ()):
            found.append((label, _show(str(name), value)))
    return found


def facts_table(caption: str, rows: Iterable[tuple[str, str]]) -> str:
    """A two-column table of names and values, both free text."""
    return facts_table_html(caption, ((name, escape(value)) for name, value in rows))


def facts_table_html(caption: str, rows: Iterable[tuple[str, str]]) -> str:
    """As `facts_table`, with values that are HTML already."""
    return table(caption, [], (row(escape(name), value) for name, value in rows), "ls-facts")


def note_words(message: str) -> str:
    """A note of a run as a page says it: runs captured earlier name roles without an article."""
    return _SHARES.sub(lambda roles: " and ".join(f"the {role}" for role in roles[0].split(" and ")), message)


def _words(name: str) -> str:
    if name in _NAMES:
        return _NAMES[name]
    words = name.replace("_", " ").split()
    if words and words[-1] in ("bytes", "s"):
        words.pop()
    text = " ".join(_WORDS.get(word, word) for word in words)
    return text[:1].upper() + text[1:]


def _show(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float) and abs(value) >= 2**63:
        return str(value)  # of no unit that anything is measured in
    if isinstance(value, int | float) and name == "cpu_pressure":
        return f"{100 * value:.3g} % of the last 10 s"
    if isinstance(value, int | float) and name.endswith("_bytes"):
        return f"{value / 2**30:.1f} GiB" if value >= 2**30 else f"{value / 2**20:.1f} MiB"
    if isinstance(value, int | float) and name.endswith("_s"):
        return seconds(value)
    if isinstance(value, list | tuple):
        return ", ".join(str(item) for item in value)
    return str(value)


def seconds(value: float) -> str:
    """A time for reading: ``250 ns``, ``1.5 µs``, ``40 ms``, ``5 s``."""
    for scale, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "µs")):
        if value == 0 or abs(value) * scale >= 1:
            return f"{value * scale:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"
