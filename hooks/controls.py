"""The upstream asked directly: head-room over the rows that forward to it, and how it drifted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hooks.cells import figure, spread
from hooks.charts import counted_and_not
from hooks.curves import stop
from hooks.factors import divided, empty_cell, factor, factor_cell, times
from hooks.grid import Grid, describe_fixed, grids
from hooks.hues import DEFAULT, Style
from hooks.markup import escape, framed, join_names, lines, row, table
from hooks.tables import caption, swatch
from hooks.transcribed import figure_text, must_be_published
from hooks.view import Row, View
from runner.metrics import METRICS

if TYPE_CHECKING:
    from runner.headroom import Headroom
    from runner.verdicts import Ratio

METRIC = "rps"


def controls_of(view: View, metric: str = METRIC) -> list[Row]:
    """The rows of the run's controls, in case order."""
    return [row for row in view.rows(metric) if row["role"] == "control"]


def headroom_block(view: View, rows: str, where: Mapping[str, Any], styles: Mapping[str, Style]) -> str:
    """The head-room of each row as a table, the rows that lack it named, and the controls themselves."""
    from runner.headroom import headroom

    found = {item.case: item for item in headroom(view.rows(METRIC), view.cases)}
    those = grids(view, [rows], "workload", [METRIC], where, tiers=rows == "server")
    tables = "".join(_table(grid, found, styles) for grid in those)
    chosen = [found[row["case"]] for grid in those for row in grid.all_rows()]
    return f'<div class="ls-block"><p>{_words(view, chosen)}</p>{tables}</div>{controls_block(view)}'


def headroom_words(view: View) -> str:
    """How many rows of the run have enough head-room, and which has the least, as HTML sentences."""
    from runner.headroom import headroom

    return _words(view, headroom(view.rows(METRIC), view.cases))


def _words(view: View, found: list[Headroom]) -> str:
    from runner.headroom import LITTLE

    if not found:
        return "This run has no row to say it of."
    bounded = [(item, item.factor) for item in found if item.factor and item.factor.bound != "?"]
    items = []
    if bounded:
        least, smallest = min(bounded, key=lambda pair: pair[1].value)
        items.append(
            f"The least head-room measured is {escape(factor(smallest))}, of {_case(view, least.case)}."
        )
    else:
        items.append("No row has a head-room that can be given as a figure.")
    marks = {
        "little head-room": f"a head-room below {LITTLE:g}×, so that the upstream may be part of the figure",
        "may be little head-room": f"a head-room that may be below {LITTLE:g}×: the control's figure is a "
        "lower bound, so that the factor is one too",
        "cannot be said": f"a head-room of which cannot be said whether it reaches {LITTLE:g}×: the row's "
        "figure is a bound itself",
        "no control": "no accepted sample of a control, so that nobody can say what the upstream could do",
        "no accepted sample": "no accepted sample, and so nothing that head-room could be over",
    }
    for mark, words in marks.items():
        count = sum(item.mark == mark for item in found)
        if count:
            have = "row has" if len(found) == 1 else "rows has" if count == 1 else "rows have"
            items.append(f"{count} of {len(found)} {have} {words}; it is marked.")
    if not any(item.mark for item in found):
        those = "The one row has" if len(found) == 1 else f"All {len(found)} rows have"
        items.append(f"{those} a head-room of {LITTLE:g}× or more.")
    return " ".join(items)


def _case(view: View, case: str) -> str:
    """The case by whatever tells it from the run's others."""
    dimensions = view.cases[case].dimensions
    apart = {name: value for name, value in dimensions.items() if len(view.dimensions.get(name, [])) > 1}
    return f'<bdi class="ls-name">{escape(describe_fixed(view, apart or dimensions))}</bdi>'


def _table(grid: Grid, found: Mapping[str, Headroom], styles: Mapping[str, Style]) -> str:
    from runner.headroom import LITTLE

    name = grid.row_dimensions[0]
    heads = [f'<th scope="col">{escape(name.capitalize())}</th>']
    heads += [f'<th scope="col"><bdi>{escape(grid.column_label(c))}</bdi></th>' for c in grid.columns]
    body = []
    for key in grid.rows:
        cells = []
        for column in grid.columns:
            those = grid.cells.get((key, column, METRIC))
            cells.append(empty_cell("not in this run") if those is None else _cell(found[those["case"]]))
        dot = swatch(styles.get(str(key[0]), DEFAULT)) if name == "server" else ""
        head = f'<th scope="row">{dot}{grid.view.label_html(name, key[0])}</th>'
        body.append([head, *cells])
    text = caption(grid).replace(METRICS[METRIC].label, "Head-room", 1)
    note = (
        ". The control's median over the row's; below it the furthest that samples allow. A row is marked "
        f"where the factor of the medians is below {LITTLE:g}×."
    )
    return framed(text, note, lines([heads]), lines(body))


def _cell(item: Headroom) -> str:
    from runner.headroom import LITTLE

    if item.factor is None:
        return empty_cell(item.mark)
    if item.factor.bound == "?":
        return empty_cell("cannot be said: both sides are bounds, so nothing bounds their ratio")
    remarks = {
        "may be little head-room": f"may be below {LITTLE:g}×",
        "cannot be said": f"whether it reaches {LITTLE:g}× cannot be said",
    }
    return factor_cell(item.factor, [remarks.get(item.mark, item.mark)] if item.mark else [])


def controls_block(view: View) -> str:
    """The controls: what each covers, its median, every sample, and the change from first to last."""
    from runner.headroom import drift

    rows = controls_of(view)
    if not rows:
        return "<p>This run has no control: nobody asked the upstream directly.</p>"
    names = {"connections": "Connections", "workers": "Processes"}
    asked = {name: [view.cases[one["case"]].dimensions.get(name) for one in rows] for name in names}
    told = [name for name in names if len(set(asked[name])) > 1]
    body = []
    for one in rows:
        case = view.cases[one["case"]]
        place = stop(view, 0, one)
        accepted = [p.value for p in place.points if p.status == "accepted" and p.value is not None]
        moved = drift(accepted)
        covers = join_names(view.label_html("workload", name) for name in case.covers) or "–"
        counted, rest = counted_and_not(place.points, place.shown)
        body.append(
            row(
                view.label_html("workload", case.dimensions.get("workload", case.id)),
                f'<span class="ls-list">{covers}</span>',
                *(escape(case.dimensions.get(name, "–")) for name in told),
                f'<span class="ls-value">{figure(one)}</span> <span class="ls-spread">{spread(one)}</span>'
                if one["n"]
                else "–",
                f'<span class="ls-list">{counted}</span>',
                f"{moved.change * 100:+.1f} %" if moved else "–",
                rest,
            )
        )
    heads = ["Control", "Covers", *(names[name] for name in told), "Median, requests/s"]
    heads += ["Samples, in the order taken", "First to last", "Attempts that do not count"]
    same = [
        f"{names[name].lower()}: {asked[name][0]:,}" for name in names if name not in told and asked[name][0]
    ]
    text = "The controls: the upstream asked directly, before each round and after the last"
    return table(f"{text} ({', '.join(same)})" if same else text, heads, body, "ls-samples")


def controls_beside_block(ours: View, theirs: View) -> str:
    """The controls of two sides: each one's figure, how many times the best row it bounds that is, and our
    factor over theirs.

    Raises AnalysisError if the second run was not published by others.
    """
    must_be_published(theirs)
    here, there = _best_bounded(ours), _best_bounded(theirs)
    body = []
    for name in dict.fromkeys([*here, *there]):
        mine, other = here.get(name), there.get(name)
        least, stated = mine[1] if mine else None, other[1] if other else None
        cells = [empty_cell("not in this run"), empty_cell("not in this run")]
        if mine is not None:
            told = f"{figure(mine[0])} ({spread(mine[0])})" if mine[0]["n"] else "–"
            cells = [f"<td>{told}</td>", factor_cell(least) if least else empty_cell("no factor")]
        if other is not None and other[0]["n"]:
            value, told = figure_text(theirs, other[0]), times(stated.value) if stated else "–"
            cells += [f'<td class="ls-elsewhere">{value}</td>', f'<td class="ls-elsewhere">{told}</td>']
        else:
            cells += [empty_cell("not published"), empty_cell("not published")]
        cells.append(_apart(least, stated))
        labels = ours if name in here else theirs
        body.append([f'<th scope="row">{labels.label_html("workload", name)}</th>', *cells])
    if not body:
        return "<p>Neither side has a control.</p>"
    heads = ["Control", "Here, requests/s", "Here, over the best row it bounds"]
    published = ["Published, requests/s", "Published, over the best row it bounds"]
    cells = [f'<th scope="col">{escape(head)}</th>' for head in heads]
    cells += [f'<th scope="col" class="ls-elsewhere">{escape(head)}</th>' for head in published]
    cells.append('<th scope="col">Here ÷ published, of the factors</th>')
    text = "The upstream by itself, beside published figures"
    note = ". Here: the median with its range. Published: not measured here, no range."
    return f'<div class="ls-block">{framed(text, note, lines([cells]), lines(body), "ls-beside")}</div>'


def _apart(here: Ratio | None, there: Ratio | None) -> str:
    """Our factor over theirs, with our range and bound; or why there is none."""
    if here is None or there is None:
        return empty_cell("no factor here" if here is None else "no published factor")
    if here.bound == "?":
        return empty_cell("both sides are bounds, so nothing bounds their ratio")
    return factor_cell(divided(here, there.value))


def _best_bounded(view: View) -> dict[str, tuple[Row, Ratio | None]]:
    """Each control by its workload, with its figure over the best row that it bounds."""
    from runner.headroom import headroom

    found = headroom(view.rows(METRIC), view.cases)
    result = {}
    for one in controls_of(view):
        factors = [item.factor for item in found if item.control == one["case"] and item.factor]
        least = min(factors, key=lambda ratio: ratio.value, default=None)
        result[str(view.cases[one["case"]].dimensions["workload"])] = one, least
    return result
