"""The first tier: who is in it, and who else might be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hooks.cells import figure, noun
from hooks.grid import describe_fixed
from hooks.markup import escape, join_names
from hooks.near import near
from hooks.view import Row, View
from runner.errors import AnalysisError
from runner.metrics import METRICS


def top_tier(view: View, *, metric: str = "rps", servers: Sequence[str] | None = None, **where: Any) -> str:
    """The first tier of a group of cases; ``servers`` if it must be exactly these. As HTML.

    Raises AnalysisError if it is another, or uncertain.
    """
    shown = METRICS[view.metric(metric).key]
    rows = view.select(metric, where)
    for name in servers or []:
        if name not in view.dimensions["server"]:
            raise AnalysisError(
                f"run {view.id} has no server {name!r}", near(name, view.dimensions["server"])
            )
    apart = view.varying(rows, ["server"])
    if apart:
        raise AnalysisError(
            f"tiers hold within one group, and {', '.join(apart)} varies",
            f"Choose one: {view.choices(rows, ['server'])}.",
        )
    if len({row["series"] for row in rows}) > 1:
        raise AnalysisError("tiers hold within one series, and these cases are of several")
    first = first_tier(rows)
    if not first:
        reasons = sorted({row["untiered"] for row in rows if row["untiered"]})
        raise AnalysisError(f"no row of {metric} has a tier: {'; '.join(reasons) or 'no leader'}")
    rivals = possible_rivals(rows, first[0])
    if rivals:
        told = "; ".join(f"{row['case']} ({row['untiered']})" for row in rivals)
        raise AnalysisError(f"the first tier is uncertain: without a tier but not worse: {told}")
    names = [str(view.cases[row["case"]].dimensions["server"]) for row in first]
    if servers is not None and set(servers) != set(names):
        raise AnalysisError(
            f"false claim: the first tier by {metric} is {', '.join(sorted(servers))}. The data says: "
            f"{', '.join(f'{name} {figure(row)}' for name, row in zip(names, first, strict=True))}",
            "Change the claim to what the data says, or leave servers out of it.",
        )
    second = [row for row in rows if row["tier"] == 2]
    second.sort(key=_key)
    text = f"By {escape(noun(shown))}, the first tier {_place(view, rows[0])} is {_with_figures(view, first)}"
    if second:
        text += f"; {_with_figures(view, second[:1])} leads the second"
    return f"{text} ({escape(shown.display_unit)})."


def first_tier(rows: Sequence[Row]) -> list[Row]:
    """The members of tier 1, the leader first; empty where nothing has a tier or a floor leads."""
    return sorted((row for row in rows if row["tier"] == 1), key=_key)


def possible_rivals(rows: Sequence[Row], leader: Row) -> list[Row]:
    """Rows without a tier whose best sample reaches the leader's range: they might belong beside it.

    A floor counts whatever its figure, since the server behind it may be better.
    """
    higher = METRICS[leader["metric"]].better == "higher"
    found = []
    for row in rows:
        if row["tier"] is not None or not row["n"]:
            continue
        reaches = row["high"] >= leader["low"] if higher else row["low"] <= leader["high"]
        if row["floor"] or reaches:
            found.append(row)
    return found


def _key(row: Row) -> float:
    return -row["median"] if METRICS[row["metric"]].better == "higher" else float(row["median"])


def _place(view: View, row: Row) -> str:
    """``on GET /items``, with what else tells the row's case from others of the run."""
    dimensions = view.cases[row["case"]].dimensions
    words = [f"on {view.label_html('workload', dimensions['workload'])}"] if "workload" in dimensions else []
    fixed = {
        name: value
        for name, value in dimensions.items()
        if name not in ("server", "workload") and len(view.dimensions.get(name, [])) > 1
    }
    if fixed:
        words.append(f"with {escape(describe_fixed(view, fixed))}")
    return " ".join(words) or "in this run"


def _with_figures(view: View, rows: Sequence[Row]) -> str:
    return join_names(
        f"{view.label_html('server', view.cases[row['case']].dimensions['server'])} ({figure(row)})"
        for row in rows
    )
