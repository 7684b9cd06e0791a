"""The front page's answer to three questions: what was measured, on what, and what does it show."""

from __future__ import annotations

from hooks.catalogue import Entry
from hooks.cells import figure
from hooks.chart_blocks import chart_block
from hooks.claims_tiers import possible_rivals
from hooks.context import PageContext
from hooks.environment import summary_line, title_of
from hooks.factors import plain, row_ratio
from hooks.facts import note_words
from hooks.findings import alike, groups, like, name_of, place_of
from hooks.grid import grids
from hooks.listing import dated
from hooks.markup import escape, join_names, sentence
from hooks.view import Row, View
from runner.metrics import METRICS


def overview_block(page: PageContext, entry: Entry, metric: str) -> str:
    """The three answers, and beside them the chart of the metric's first column.

    Raises AnalysisError for a metric that the run does not have.
    """
    view = entry.view
    view.metric(metric)
    what, _, machine = summary_line(view).partition("; ")
    parameters = view.run.parameters
    sampled = f"{parameters.repeats} samples of {parameters.duration:g} s a case, in shuffled rounds"
    cautions = "".join(f"<li>{escape(sentence(note_words(note.message)))}</li>" for note in view.run.warnings)
    shown = "".join(f"<li>{_shown(view, key, rows)}</li>" for key, rows in groups(view, metric))
    items = [
        (
            "Measured",
            f"<p>{page.link(entry.url, f'<bdi>{escape(title_of(view))}</bdi>')}: {escape(what)}, "
            f"{escape(sampled)}.</p>",
        ),
        ("On", f"<p>{escape(machine)}. {escape(dated(view.run))}.</p><ul>{cautions}</ul>"),
        ("It shows", f"<ul>{shown}</ul>"),
    ]
    listed = "".join(f"<div><dt>{name}</dt><dd>{html}</dd></div>" for name, html in items)
    first = grids(view, ["server"], "workload" if "workload" in view.dimensions else None, [metric], {})[:1]
    chart = chart_block(page, entry, [grid.first_column() for grid in first])
    return f'<div class="ls-overview"><dl>{listed}</dl><div>{chart}</div></div>'


def _shown(view: View, key: dict[str, str | int], rows: list[Row]) -> str:
    """One group in a sentence: who is at the top, how many of them, and how far the last is."""
    metric = METRICS[rows[0]["metric"]]
    head = f"<strong>{place_of(view, key)}</strong>: "
    tiered = [row for row in rows if row["n"] and row["tier"] is not None]
    if not tiered:
        reasons = join_names(dict.fromkeys(row["untiered"] for row in rows if row["untiered"]))
        return f"{head}no order is claimed ({escape(reasons) or 'no tier'})."
    leader, last = tiered[0], tiered[-1]
    rest, lower = alike(leader, tiered[1:])
    unit = escape(metric.display_unit)
    if leader["tier"] > 1 or possible_rivals(rows, leader):
        text = f"{name_of(view, leader)} is the best of the ranked with {figure(leader)} {unit}"
    else:
        text = f"{name_of(view, leader)} leads with {figure(leader)} {unit}"
    if rest or lower:
        below = f"{_few(view, lower, 'others')}, of a lower tier,"
        told = f"{_few(view, rest, 'others')} of its tier" if rest else below
        text += f"; this run cannot tell {told} from it"
        text += f", nor {below.removesuffix(',')}" if rest and lower else ""
    if last["tier"] != leader["tier"]:
        top, bottom = (leader, last) if metric.better == "higher" else (last, leader)
        found = None if like(leader, last) else row_ratio(top, bottom)
        times = "" if found is None else f", a factor of {plain(found.value)}"
        text += f". Last comes {name_of(view, last)} with {figure(last)}{times}"
    return f"{head}{text}."


def _few(view: View, rows: list[Row], noun: str) -> str:
    """The names of one or two rows; of more, their number."""
    return join_names(name_of(view, row) for row in rows) if len(rows) < 3 else f"{len(rows)} {noun}"
