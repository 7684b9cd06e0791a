"""What a run shows, as sentences computed from it; never more than its rows support.

Unlike a claim (`hooks.claims`), which an author writes and the data must bear out, a finding is whatever
the data says, so it works on anybody's run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hooks.cells import figure, noun, percent, spread
from hooks.charts import band_of
from hooks.claims_tiers import possible_rivals
from hooks.controls import headroom_words
from hooks.environment import attempt_words, limiters
from hooks.factors import plain, span
from hooks.grid import describe_fixed, fixed_of, group_of
from hooks.ladders import ladder_words
from hooks.markup import escape, join_names
from hooks.view import Row, View
from runner.cases import LADDER
from runner.metrics import METRICS

Group = tuple[str, tuple[tuple[str, str | int], ...]]


METRICS_TOLD = ("rps", "p99")
_NAMED, _LISTED = 3, 6


def findings_block(
    view: View, metrics: Sequence[str] = METRICS_TOLD, where: Mapping[str, Any] | None = None
) -> str:
    """One item for each group of cases that may be compared, then what all of them have to bear in mind.

    A ladder's loads are no groups: at a given rate every server that keeps up has the same throughput. What
    the ladder shows is told instead. ``where`` chooses cases by their dimensions. Raises AnalysisError for
    a metric, dimension or value that the run does not have, beside those told where nothing is asked for.
    """
    if tuple(metrics) == METRICS_TOLD:
        metrics = [metric for metric in metrics if metric in view.metrics]
    chosen = {metric: {row["case"] for row in view.select(metric, where or {})} for metric in metrics}
    found = {
        metric: [
            (shared, rows)
            for shared, rows in groups(view, metric)
            if all(row["case"] in chosen[metric] for row in rows)
        ]
        for metric in metrics
    }
    reaching: list[Row] = []
    items = [_group(view, shared, rows, reaching) for those in found.values() for shared, rows in those]
    items += ladder_words(view)
    if reaching:
        items.append(
            "<strong>Tiers</strong>: a row is compared with its own tier's leader only, so a row of a lower "
            "tier may overlap the first leader."
        )
    items += _caveats(view, found)
    return f'<ul class="ls-findings">{"".join(f"<li>{item}</li>" for item in items)}</ul>'


def groups(view: View, metric: str) -> list[tuple[dict[str, str | int], list[Row]]]:
    """The rows of one metric by everything but the server, best median first, and what they share."""
    found: dict[Group, list[Row]] = {}
    for row in view.rows(metric):
        if row["role"] != "case" or row["series"] == LADDER:
            continue
        found.setdefault(group_of(view, row, ["server"]), []).append(row)
    sign = -1 if METRICS[metric].better == "higher" else 1
    for rows in found.values():
        rows.sort(key=lambda row: (not row["n"], sign * row["median"] if row["n"] else 0.0))
    return [(fixed_of(key, found), rows) for key, rows in found.items()]


def _group(view: View, key: dict[str, str | int], rows: list[Row], reaching: list[Row]) -> str:
    """One item; ``reaching`` collects the rows of lower tiers that it cannot tell from its leader."""
    metric = METRICS[rows[0]["metric"]]
    unit = escape(metric.display_unit)
    head = f"<strong>{place_of(view, key)}</strong>, {escape(noun(metric))}: "
    measured = [row for row in rows if row["n"]]
    if not measured:
        return f"{head}no accepted sample, so nothing can be said."
    tiered = [row for row in measured if row["tier"] is not None]
    if not tiered:
        return head + _unranked(view, measured, unit)
    leader = tiered[0]
    small = _unresolved(tiered)
    several = len(small) > 1
    rest, lower = alike(leader, [row for row in tiered[1:] if row not in small])
    if several:
        text = _none_leads(view, tiered, small, unit)
    elif leader["tier"] > 1 or possible_rivals(rows, leader):
        # Something without a tier may belong above, so nobody can be said to lead.
        text = f"{name_of(view, leader)} is the best of the ranked with {_figures(leader)} {unit}"
    elif rest:
        text = f"{name_of(view, leader)} leads with {_figures(leader)} {unit}"
    else:
        text = f"{name_of(view, leader)} is alone in the first tier with {_figures(leader)} {unit}"
    if rest:
        names = join_names(f"{name_of(view, row)} ({figure(row)})" for row in rest)
        if len(rest) > _LISTED:
            names = f"{len(rest)} others ({figure(rest[0])} to {figure(rest[-1])})"
        text += f"; of the same tier, this run cannot tell {names} from {'them' if several else 'it'}"
    text += "."
    apart = [row for row in tiered if several and row not in small and row not in rest]
    if 0 < len(apart) <= _NAMED:
        text += _above(view, apart, unit)
    elif tiered[-1] not in small:
        if lower and not several:
            reaching += lower
            text += _overlapping(view, leader, lower, bool(rest))
        text += _last(view, tiered, unit)
    return f"{head}{text}{_without_tier(view, rows)}"


def _none_leads(view: View, tiered: list[Row], small: list[Row], unit: str) -> str:
    """Several figures that cannot be told from nothing; of many the number, for the table has them all."""
    why = escape(METRICS[small[0]["metric"]].too_small)
    if len(small) > _NAMED:
        return f"none leads: {len(small)} of {len(tiered)} are {why}"
    names = join_names(f"{name_of(view, row)} ({figure(row)})" for row in small)
    return f"none leads: {names} {unit} are all {why}"


def _above(view: View, rows: list[Row], unit: str) -> str:
    """The few rows that stand apart from those too small to be told from nothing."""
    names = join_names(f"{name_of(view, row)} with {_figures(row)} {unit}" for row in rows)
    return f" Above {'is' if len(rows) == 1 else 'are'} {names}."


def _overlapping(view: View, leader: Row, lower: list[Row], either: bool) -> str:
    """Rows of lower tiers that are like the leader, and how that can be."""
    names = join_names(f"{name_of(view, row)} ({figure(row)}, tier {row['tier']})" for row in lower)
    them = f"{name_of(view, leader)}{' either' if either else ''}"
    are = "is of a lower tier" if len(lower) == 1 else "are of lower tiers"
    return f" {names} {are}, but cannot be told from {them}."


def _unresolved(rows: Sequence[Row]) -> list[Row]:
    """The rows whose figure is below what can be told from nothing."""
    from runner.verdicts import unresolved

    return [row for row in rows if unresolved(row)]


def alike(leader: Row, rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """The rows that this run cannot tell from the leader: those of its tier, and those of lower tiers.

    Tiers compare a row with its own tier's leader only, because overlap is not transitive.
    """
    found = [row for row in rows if like(leader, row)]
    return (
        [row for row in found if row["tier"] == leader["tier"]],
        [row for row in found if row["tier"] != leader["tier"]],
    )


def like(leader: Row, row: Row) -> bool:
    """Whether this run cannot tell a row from the leader."""
    from runner.verdicts import verdict

    return verdict(leader, row, str(leader["metric"])).relation == "indistinguishable"


def _unranked(view: View, measured: list[Row], unit: str) -> str:
    """No tiers: the span of the figures, and why there is no order."""
    reasons = join_names(dict.fromkeys(row["untiered"] for row in measured if row["untiered"]))
    best, worst = measured[0], measured[-1]
    span = f"{name_of(view, best)} measured {_figures(best)} {unit}"
    if best is not worst:
        ends = [f"{figure(row)} ({name_of(view, row)})" for row in (best, worst)]
        span = f"medians from {ends[0]} to {ends[1]} {unit}"
    return f"{span}; no order is claimed ({escape(reasons) or 'no tier'})."


def _last(view: View, tiered: list[Row], unit: str) -> str:
    """The last tier's last row, and the factor between it and the best."""
    from runner.verdicts import indivisible, ratio

    leader, last = tiered[0], tiered[-1]
    if leader["tier"] == last["tier"]:
        return ""
    text = f" Last of {last['tier']} tiers comes {name_of(view, last)} with {figure(last)} {unit}"
    top, bottom = (leader, last) if METRICS[leader["metric"]].better == "higher" else (last, leader)
    for row in (bottom, top):
        if why := indivisible(row):
            return f"{text}; no factor, because the figure of {name_of(view, row)} is {escape(why)}."
    if like(leader, last):
        return f"{text}; no factor, because this run cannot tell the two apart."
    found = ratio(top, bottom)
    return f"{text}: a factor of {plain(found.value)} (samples allow {span(found)})."


def _without_tier(view: View, rows: list[Row]) -> str:
    outside = [row for row in rows if row["tier"] is None]
    if not outside:
        return ""
    told = join_names(f"{name_of(view, row)} ({escape(row['untiered'] or 'no tier')})" for row in outside)
    return f" Not ranked: {told}."


def _caveats(view: View, found: Mapping[str, list[tuple[dict[str, str | int], list[Row]]]]) -> list[str]:
    """Noise, floors, rejected and failed samples."""
    items, spans, small = [], [], []
    for metric, those in found.items():
        told = [rows for _, rows in those if not _unresolved(rows)]
        bands = [band for rows in told if (band := band_of(rows)) is not None]
        if len(told) < len(those):
            small.append(metric)
        if bands:
            low, high = percent(min(bands)), percent(max(bands))
            span = low if low == high else f"{low} to {high}"
            spans.append(f"{span} in {escape(noun(METRICS[metric]))}")
    if spans:
        items.append(
            "<strong>Noise</strong>: one configuration, run twice in each round, differed from itself by "
            f"{join_names(spans)}; a smaller difference is not called one."
        )
    elif not small:
        items.append(
            "<strong>Noise</strong>: unknown, because no configuration was measured twice in at least two "
            "rounds; the ranges alone decide."
        )
    for metric in small:
        least = METRICS[metric].resolution * METRICS[metric].scale
        name, unit = escape(noun(METRICS[metric])), escape(METRICS[metric].display_unit)
        items.append(f"A {name} below {least:g} {unit} has no noise band.")
    cases = sum(case.role != "control" for case in view.run.cases)
    for probe in (False, True):
        floors = _floors(view, probe=probe)
        if floors:
            figures = "its figure is a bound" if len(floors) == 1 else "their figures are bounds"
            better = "marked ≤, and a server may be faster"
            if not probe:
                better = "marked ≥ or ≤, and the server may be better"
            limiter = limiters(view, probe=probe)
            items.append(
                f"In {len(floors)} of {cases} cases {limiter} was at its limit: {figures}, {better}."
            )
    if any(case.role == "control" for case in view.run.cases):
        items.append(f"<strong>Head-room</strong>: {headroom_words(view)}")
    items.append(f"<strong>Samples</strong>: {escape(attempt_words(view))}")
    return items


def _floors(view: View, *, probe: bool) -> set[str]:
    """The cases, controls apart, whose figures of the probe, or of all else, are bounds."""
    names = ("case", "role", "metric", "floor")
    told = zip(*(view.columns.get(name, []) for name in names), strict=True)
    return {
        case
        for case, role, metric, floor in told
        if floor and role == "case" and METRICS[metric].probe == probe
    }


def place_of(view: View, key: dict[str, str | int]) -> str:
    """What a group's rows share, as HTML: ``GET /items``."""
    workload = key.get("workload")
    rest = {
        name: v
        for name, v in key.items()
        if name != "workload" and (name not in view.dimensions or len(view.dimensions[name]) > 1)
    }
    words = [view.label_html("workload", workload)] if workload is not None else []
    if rest:
        words.append(escape(describe_fixed(view, rest)))
    return ", ".join(words) or "All cases"


def name_of(view: View, row: Row) -> str:
    """The row's server, or its case where it has none, as HTML."""
    dimensions = view.cases[row["case"]].dimensions
    if "server" in dimensions:
        return view.label_html("server", dimensions["server"])
    return f"<bdi>{escape(row['case'])}</bdi>"


def _figures(row: Row) -> str:
    return f"{figure(row)} ({spread(row)})"
