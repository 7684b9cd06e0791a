"""A load ladder: latency against load in an open loop, every sample drawn, the knee marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hooks.cells import figure, spread
from hooks.context import PageContext
from hooks.curve_figure import curve_figure
from hooks.curves import Curve, Plot, curve_table, stop
from hooks.downloads import export_links
from hooks.factors import doubts
from hooks.grid import describe_fixed
from hooks.hues import neutral
from hooks.markup import details, escape, join_names, row, table
from hooks.view import Row, View
from runner.cases import CAPACITY, LADDER
from runner.errors import AnalysisError
from runner.metrics import METRICS

if TYPE_CHECKING:
    from hooks.catalogue import Entry
    from runner.ladder import Knee, Rung

PERCENTILES = ("open_p50", "open_p95", "open_p99")
Key = tuple[tuple[str, str | int], ...]


def is_ladder(view: View) -> bool:
    """Whether the run climbed a load ladder."""
    return any(case.series == LADDER for case in view.run.cases)


def ladder_block(page: PageContext, entry: Entry, *, told: bool = False) -> str:
    """For each configuration: what it shows, unless that is ``told`` already, its chart and its tables.

    Raises AnalysisError if the run is no ladder.
    """
    view = entry.view
    found = _ladders(view)
    if not found:
        raise AnalysisError(
            f"run {view.id} has no load ladder", "Capture one with `lapsheet run … --ladder`."
        )
    return "".join(_one(page, entry, key, rungs, told) for key, rungs in found.items())


def ladder_words(view: View) -> list[str]:
    """What each ladder of the run shows, as HTML sentences; none for a run without one."""
    found = _ladders(view)
    return [item for key, rungs in found.items() for item in _words(view, key, rungs, len(found) > 1)]


def _ladders(view: View) -> dict[Key, dict[int, dict[str, Row]]]:
    """Configuration → load in per cent → metric → row, loads in order."""
    found: dict[Key, dict[int, dict[str, Row]]] = {}
    for metric in [key for key in view.metrics if key == "rps" or key in PERCENTILES]:
        for one in view.rows(metric):
            dimensions = view.cases[one["case"]].dimensions
            load = dimensions.get("load")
            if one["series"] != LADDER or one["role"] != "case" or not isinstance(load, int):
                continue
            found.setdefault(_rest(dimensions), {}).setdefault(load, {})[metric] = one
    return {key: dict(sorted(rungs.items())) for key, rungs in found.items()}


def _rest(dimensions: Mapping[str, str | int]) -> Key:
    return tuple((name, value) for name, value in dimensions.items() if name != "load")


def _capacity(view: View, key: Key) -> Row | None:
    """The closed-loop row whose shares the loads are."""
    for one in view.rows("rps"):
        dimensions = view.cases[one["case"]].dimensions
        if one["series"] == CAPACITY and one["role"] == "case" and _rest(dimensions) == key:
            return one
    return None


def _rungs(view: View, key: Key, rungs: Mapping[int, Mapping[str, Row]]) -> list[Rung]:
    """What the knee is found in; the offered rate is the load's share of the median capacity."""
    from runner.ladder import Rung

    capacity = _capacity(view, key)
    found = []
    for load, rows in rungs.items():
        offered = capacity["median"] * load / 100 if capacity is not None and capacity["n"] else None
        p99 = rows.get("open_p99")
        if p99 is None:
            continue
        reached = None if offered is None or not p99["n"] else _reached(view, p99["case"], offered)
        found.append(Rung(load, offered, p99["median"], p99["low"], p99["n"], reached, bool(p99["floor"])))
    return found


def _reached(view: View, case: str, offered: float) -> int:
    """In how many accepted samples the offered rate was achieved, and all that was due was sent."""
    from runner.ladder import NOT_REACHED, REACHED

    columns = view.attempts.columns
    return sum(
        (columns["rps"][i] or 0) >= REACHED * offered and NOT_REACHED not in columns["flags"][i].split("; ")
        for i in view.order[case]
        if columns["status"][i] == "accepted"
    )


def _words(view: View, key: Key, rungs: Mapping[int, Mapping[str, Row]], named: bool) -> list[str]:
    """Capacity, latencies and knee of a configuration; ``named`` where it is one of several."""
    from runner.ladder import knee

    place = f"<strong>{escape(describe_fixed(view, dict(key)))}</strong>: " if named else ""
    capacity, points = _capacity(view, key), _rungs(view, key, rungs)
    items = []
    if capacity is not None and capacity["n"]:
        items.append(
            f"{place}<strong>Capacity</strong>: {figure(capacity)} requests/s ({spread(capacity)}) "
            "in a closed loop."
        )
    measured = [rung for rung in points if rung.n]
    if not measured:
        return [*items, f"{place}No load has an accepted sample, so nothing can be said."]
    low, high = rungs[measured[0].load]["open_p99"], rungs[measured[-1].load]["open_p99"]
    items.append(
        f"{place}<strong>Open-loop p99</strong>: {figure(low)} ms ({spread(low)}) at {measured[0].load} % of "
        f"the capacity and {figure(high)} ms ({spread(high)}) at {measured[-1].load} %."
    )
    items.append(f"{place}<strong>Knee</strong>: {_knee_words(knee(points), measured)}")
    return items


def _knee_words(found: Knee | None, measured: Sequence[Rung]) -> str:
    told = [rung for rung in measured if not rung.limited]
    limited = join_names(f"{rung.load} %" for rung in measured if rung.limited)
    note = f" At {limited} the load generator or the upstream was at its limit, which decides no knee."
    if not told:
        return f"none can be named.{note}"
    if found is None:
        text = f"none up to {told[-1].load} % of the capacity."
    else:
        after = (
            f", the next above {found.before} %" if found.before is not None else ", the lowest that tells"
        )
        text = f"at {found.load} % of the capacity{after}: {escape(found.reason)}."
    return f"{text}{note if limited else ''}"


def _one(
    page: PageContext, entry: Entry, key: Key, rungs: Mapping[int, Mapping[str, Row]], told: bool
) -> str:
    from runner.ladder import knee

    view = entry.view
    name = describe_fixed(view, dict(key))
    curves = [
        Curve(
            METRICS[metric].label.removesuffix(" latency (open loop, corrected)"),
            neutral(position),
            [stop(view, load, rows[metric]) for load, rows in rungs.items() if metric in rows],
        )
        for position, metric in enumerate(PERCENTILES)
    ]
    plot = Plot(
        view,
        f"Open-loop latency against load ({name})",
        "Offered load, % of the capacity",
        "open_p99",
        curves,
        "Open-loop latency, ms",
    )
    found = knee(_rungs(view, key, rungs))
    chart = curve_figure(plot, f"{view.id}-ladder", _mark(found) if found else ())
    items = [] if told else [f"<li>{item}</li>" for item in _words(view, key, rungs, named=False)]
    words = f'<ul class="ls-findings">{"".join(items)}</ul>' if items else ""
    text = curve_table(plot) + export_links(page, entry)
    return (
        f'<div class="ls-block"><p class="ls-title">{escape(plot.title)}</p>'
        f"{words}{page.figure(view, chart)}{_table(view, key, rungs, found)}"
        f"{details('Every sample as a table', text)}{_rule()}</div>"
    )


def _rule() -> str:
    from runner.ladder import CLIMB, REACHED

    return (
        '<p class="ls-note">The knee is the first load whose open-loop p99, at the lowest of its samples, '
        f"exceeds {CLIMB:g} times the median of the lowest load, or at which fewer than half of the samples "
        "reached the offered rate. A sample reached it if it achieved at least "
        f"{REACHED * 100:g} % of it and sent everything that was due. Where samples did not send "
        "everything, their percentiles leave out the requests that would have waited longest, so the "
        "latency is a lower bound, marked ≥. Loads between those measured were not tried.</p>"
    )


def _mark(found: Knee) -> list[dict[str, Any]]:
    """A line at the knee."""
    return [
        {
            "type": "line",
            "xref": "x",
            "yref": "paper",
            "x0": found.load,
            "x1": found.load,
            "y0": 0,
            "y1": 1,
            "line": {"color": "var(--ls-bad)", "width": 2, "dash": "dash"},
            "name": "knee",
            "showlegend": True,
        }
    ]


def _table(view: View, key: Key, rungs: Mapping[int, Mapping[str, Row]], found: Knee | None) -> str:
    """One row a load: what was offered and achieved, and the percentiles."""
    by_load = {rung.load: rung for rung in _rungs(view, key, rungs)}
    counts = {one["n"] for rows in rungs.values() for one in rows.values()}
    body = []
    for load, rows in rungs.items():
        rung = by_load.get(load)
        offered = rung.offered if rung is not None else None
        known = rung is not None and rung.reached is not None
        reached = f"{rung.reached} of {rung.n} samples" if rung is not None and known else "–"
        remark = "; ".join(doubts(*rows.values()))
        told = f' <span class="ls-remark">{escape(remark)}</span>' if remark else ""
        knee = ' <span class="ls-tier">the knee</span>' if found and found.load == load else ""
        body.append(
            row(
                f"{load} %{knee}",
                METRICS["rps"].show(offered) if offered is not None else "–",
                _cell(rows.get("rps"), len(counts) > 1),
                f"{reached}{told}",
                *(_cell(rows.get(metric), len(counts) > 1) for metric in PERCENTILES),
            )
        )
    heads = ["Load", "Offered, requests/s", "Achieved, requests/s", "Rate reached in"]
    heads += [f"{METRICS[metric].label.split(' ')[0]}, ms" for metric in PERCENTILES]
    text = f"Load ladder ({describe_fixed(view, dict(key))}): medians with range, latencies of the open loop"
    if len(counts) == 1:
        text += f", n = {counts.pop()}"
    return table(text, heads, body, "ls-samples")


def _cell(one: Row | None, counted: bool) -> str:
    """A median with its range; ``counted`` where not all have as many samples."""
    if one is None or not one["n"]:
        return "–"
    count = f" · n = {one['n']}" if counted else ""
    return f'<span class="ls-value">{figure(one)}</span> <span class="ls-spread">{spread(one)}{count}</span>'
