"""Figures with one and with several workers, and the scaling factor where there is one to have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hooks.cells import figure, spread
from hooks.factors import doubts, empty_cell, factor_cell, times
from hooks.grid import describe_fixed
from hooks.hues import DEFAULT, Style
from hooks.markup import escape, framed, lines
from hooks.tables import heading, swatch
from hooks.view import Row, View
from runner.errors import AnalysisError
from runner.metrics import METRICS

Key = tuple[tuple[str, str | int], ...]


def scaling_block(view: View, metric: str, where: Mapping[str, Any], styles: Mapping[str, Style]) -> str:
    """A table for each workload: one row a server, one column a number of workers, and the factors from one.

    Raises AnalysisError for an unknown name, or where no case has one worker.
    """
    if "workers" not in view.dimensions:
        raise AnalysisError(f"run {view.id} has no dimension 'workers'")
    groups: dict[Key, dict[str, dict[int, Row]]] = {}
    for row in view.select(metric, where):
        dimensions = view.cases[row["case"]].dimensions
        rest = tuple((k, v) for k, v in dimensions.items() if k not in ("server", "workers"))
        servers = groups.setdefault(rest, {})
        servers.setdefault(str(dimensions["server"]), {})[int(dimensions["workers"])] = row
    parts, told = [], []
    for rest, servers in groups.items():
        several = sorted({n for counts in servers.values() for n in counts if n > 1})
        if not any(1 in counts for counts in servers.values()) or not several:
            continue
        parts.append(_table(view, metric, rest, servers, several, styles))
        told += [item for n in several for item in _words(view, rest, servers, n)]
    if not parts:
        raise AnalysisError(f"run {view.id} has no case with one worker and with several", "Nothing scales.")
    items = "".join(f"<li>{item}</li>" for item in [_cpus(view), *dict.fromkeys(told)])
    return f'<div class="ls-block"><ul class="ls-findings">{items}</ul>{"".join(parts)}</div>'


def _server_cpus(view: View) -> int:
    return len(view.run.layout.roles.get("server", []))


def _cpus(view: View) -> str:
    count = _server_cpus(view)
    shared = "server" in view.run.layout.shared
    return f"The server had {count} CPU{'s' if count != 1 else ''}" + (
        ", shared with others." if shared else "."
    )


def _scaling(view: View, counts: Mapping[int, Row], workers: int) -> Any:
    """The `runner.scaling.Scaling` of a server; None where it was not measured with both numbers."""
    from runner.scaling import scaling

    if 1 not in counts or workers not in counts:
        return None
    return scaling(counts[1], counts[workers], workers=workers, cpus=_server_cpus(view))


def _words(view: View, rest: Key, servers: Mapping[str, Mapping[int, Row]], workers: int) -> list[str]:
    found = {name: _scaling(view, counts, workers) for name, counts in servers.items()}
    refused = dict.fromkeys(
        item.refusal for item in found.values() if item is not None and item.factor is None
    )
    firm = {
        name: item.factor
        for name, item in found.items()
        if item is not None
        and item.factor is not None
        and not doubts(servers[name][1], servers[name][workers])
    }
    place = f"<strong>{escape(describe_fixed(view, dict(rest)))}</strong>"
    items = []
    if firm:
        low, high = (pick(firm, key=lambda name: firm[name].value) for pick in (min, max))
        ends = [
            f"{times(firm[n].value)} ({view.label_html('server', n)})" for n in dict.fromkeys((low, high))
        ]
        items.append(f"{place}: from one to {workers} workers, {' to '.join(ends)}.")
    items += [
        f"{escape(text[:1].upper() + text[1:])}, so this run cannot show how anything scales to {workers}."
        for text in refused
        if text.startswith("not scaling")
    ]
    return items


def _table(
    view: View,
    metric: str,
    rest: Key,
    servers: Mapping[str, Mapping[int, Row]],
    several: list[int],
    styles: Mapping[str, Style],
) -> str:
    shown = METRICS[metric]
    heads = ["Server"]
    for workers in [1, *several]:
        heads.append(f"{workers} worker{'s' if workers != 1 else ''}, {shown.display_unit}")
    heads += [f"1 to {workers} workers" for workers in several]
    body = []
    for name, counts in servers.items():
        cells = [_figure(counts.get(workers)) for workers in [1, *several]]
        cells += [_factor(view, counts, workers) for workers in several]
        dot = swatch(styles.get(name, DEFAULT))
        body.append([f'<th scope="row">{dot}{view.label_html("server", name)}</th>', *cells])
    text = f"{heading(metric)} by workers ({describe_fixed(view, dict(rest))})"
    note = (
        ". Medians with their range and number of samples, and factors with the furthest that samples allow."
    )
    columns = [f'<th scope="col">{escape(head)}</th>' for head in heads]
    return framed(text, note, lines([columns]), lines(body))


def _figure(row: Row | None) -> str:
    if row is None:
        return empty_cell("not in this run")
    if not row["n"]:
        return empty_cell(str(row["untiered"]))
    words = [
        f'<span class="ls-value">{figure(row)}</span>',
        f'<span class="ls-spread">{spread(row)} · n = {row["n"]}</span>',
    ]
    words += [f'<span class="ls-remark">{escape(row["untiered"])}</span>'] if row["untiered"] else []
    return f"<td>{' '.join(words)}</td>"


def _factor(view: View, counts: Mapping[int, Row], workers: int) -> str:
    found = _scaling(view, counts, workers)
    if found is None:
        return empty_cell("not measured with both")
    if found.factor is None:
        return empty_cell(found.refusal)
    if found.factor.bound == "?":
        return empty_cell("both sides are bounds, so nothing bounds their ratio")
    return factor_cell(found.factor, doubts(counts[1], counts[workers]))
