"""Claims: sentences rendered from their own predicate, so that words and data cannot part.

A claim that the data does not support is an AnalysisError that says what was claimed and what the data
says; it fails the build. No claim uses a row without a tier (one sample, samples missing, a floor).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hooks.cells import figure, spread
from hooks.grid import describe_fixed
from hooks.markup import escape, join_names
from hooks.near import near
from hooks.view import Row, View
from runner.errors import AnalysisError
from runner.metrics import METRICS, Metric

Where = Mapping[str, Any]
Pair = tuple[Row, Row]


def claim(view: View, kind: str, arguments: Mapping[str, Any]) -> str:
    """The claim's sentence as HTML.

    Kinds and their arguments, where ``where`` stands for dimensions such as ``workload="get_item"``:

    - ``faster``, ``slower``: server, than, metric, where. Holds in every case that is left open.
    - ``indistinguishable``: server, than, metric, where.
    - ``top_tier``: metric, where, and ``servers`` if the first tier must be exactly these.
    - ``within``: of, to (tables of dimensions), low, high, metric, where: every ratio of medians,
      rounded as the bounds are written, lies within them.

    Raises AnalysisError if it is false, or if there is no such kind, case or metric.
    """
    if kind not in _KINDS:
        raise AnalysisError(f"no kind of claim {kind!r}", near(kind, _KINDS))
    check = _KINDS[kind]
    try:
        inspect.signature(check).bind(view, **arguments)
    except TypeError as error:
        raise AnalysisError(f"claim {kind!r}: {error}", f"It takes {_arguments(check)}.") from None
    return check(view, **arguments)


def pairs(view: View, metric: str, of: Where, to: Where, where: Where) -> list[Pair]:
    """The rows of ``of`` and of ``to`` that agree in everything else, in case order.

    Raises AnalysisError if there is none, or if a pair differs in more than ``of`` and ``to`` name.
    """
    from runner.verdicts import comparable

    named = set(of) | set(to)
    if not named or set(of) != set(to):
        raise AnalysisError(f"a comparison needs the same dimensions on both sides, not {of} and {to}")
    others = {_rest(view, row, named): row for row in view.select(metric, {**where, **to})}
    found = []
    for row in view.select(metric, {**where, **of}):
        other = others.get(_rest(view, row, named))
        if other is not None:
            found.append((row, other))
    if not found:
        raise AnalysisError(f"run {view.id} has no two cases that differ only as {dict(of)} and {dict(to)}")
    for a, b in found:
        differing = comparable(view.run, view.cases[a["case"]], view.run, view.cases[b["case"]], named)
        if differing:
            raise AnalysisError(f"{a['case']} and {b['case']} also differ in {', '.join(differing)}")
    return found


def _rest(view: View, row: Row, named: set[str]) -> tuple[tuple[str, str | int], ...]:
    return tuple((k, v) for k, v in view.cases[row["case"]].dimensions.items() if k not in named)


def _faster(view: View, *, server: str, than: str, metric: str = "rps", **where: Any) -> str:
    return _ordered(view, "faster", server, than, metric, where)


def _slower(view: View, *, server: str, than: str, metric: str = "rps", **where: Any) -> str:
    return _ordered(view, "slower", server, than, metric, where)


def _ordered(view: View, relation: str, server: str, than: str, metric: str, where: Where) -> str:
    shown = METRICS[view.metric(metric).key]
    found = pairs(view, metric, {"server": server}, {"server": than}, where)
    for a, b in found:
        _require(view, relation, a, b)
    direction = "higher" if (relation == "faster") == (shown.better == "higher") else "lower"
    a_name, b_name = view.label_html("server", server), view.label_html("server", than)
    figures = [f"{_both(a, b, 'against')} {escape(shown.display_unit)}{_times(a, b)}" for a, b in found]
    return f"{a_name} has a {direction} {_noun(shown)} than {b_name} {_listed(view, found, figures)}."


def _indistinguishable(view: View, *, server: str, than: str, metric: str = "rps", **where: Any) -> str:
    shown = METRICS[view.metric(metric).key]
    found = pairs(view, metric, {"server": server}, {"server": than}, where)
    reasons = [_require(view, "indistinguishable", a, b) for a, b in found]
    names = f"{view.label_html('server', server)} and {view.label_html('server', than)}"
    figures = [
        f"{_both(a, b, 'and')} {escape(shown.display_unit)}, {escape(reason)}"
        for (a, b), reason in zip(found, reasons, strict=True)
    ]
    return f"{names} cannot be told apart by {_noun(shown)} {_listed(view, found, figures)}."


def _top_tier(view: View, *, metric: str = "rps", servers: Sequence[str] | None = None, **where: Any) -> str:
    shown = METRICS[view.metric(metric).key]
    rows = view.select(metric, where)
    apart = view.varying(rows, ["server"])
    if apart:
        raise AnalysisError(f"tiers hold within one group, and {', '.join(apart)} varies", "Choose one.")
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
            f"false claim: top_tier, {metric}: claimed {', '.join(sorted(servers))}; "
            f"the data says {', '.join(sorted(names))}"
        )
    second = [row for row in rows if row["tier"] == 2]
    second.sort(key=lambda row: _key(row))
    text = f"By {_noun(shown)}, the first tier {_place(view, rows)} is {_with_figures(view, first)}"
    if second:
        text += f"; {_with_figures(view, second[:1])} leads the second"
    return f"{text} ({escape(shown.display_unit)})."


def _within(
    view: View, *, of: Where, to: Where, low: float, high: float, metric: str = "rps", **where: Any
) -> str:
    from runner.verdicts import ratio

    shown = METRICS[view.metric(metric).key]
    digits = max(_digits(low), _digits(high))
    figures, found = [], pairs(view, metric, of, to, where)
    for a, b in found:
        _tiered(a, b)
        value = round(ratio(a, b).value, digits)
        if not low <= value <= high:
            raise AnalysisError(
                f"false claim: within {low}–{high}: the data says {value} for {a['case']} over {b['case']}"
            )
        figures.append(f"{value:.{digits}f}×")
    span = f"{low:.{digits}f}–{high:.{digits}f}×"
    ends = f"{_side(view, of)} over {_side(view, to)}"
    return f"{ends} is within {span} in {_noun(shown)} {_listed(view, found, figures)}."


_KINDS: dict[str, Callable[..., str]] = {
    "faster": _faster,
    "slower": _slower,
    "indistinguishable": _indistinguishable,
    "top_tier": _top_tier,
    "within": _within,
}


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


def _require(view: View, relation: str, a: Row, b: Row) -> str:
    """The verdict's reason. Raises AnalysisError if the verdict on a against b is another."""
    from runner.verdicts import verdict

    found = verdict(a, b, a["metric"])
    if found.relation != relation:
        why = f" ({found.reason})" if found.reason else ""
        raise AnalysisError(
            f"false claim: {a['case']} {relation} against {b['case']} by {a['metric']}; the data says "
            f"{found.relation}{why}: {figure(a)} ({spread(a) if a['n'] else 'no sample'}) against "
            f"{figure(b)} ({spread(b) if b['n'] else 'no sample'})"
        )
    return found.reason


def _tiered(a: Row, b: Row) -> None:
    for row in (a, b):
        if row["untiered"]:
            raise AnalysisError(f"no claim may use {row['case']}: {row['untiered']}")


def _key(row: Row) -> float:
    return -row["median"] if METRICS[row["metric"]].better == "higher" else float(row["median"])


def _noun(metric: Metric) -> str:
    """The metric inside a sentence: ``throughput``, ``p99 latency``."""
    return escape(metric.label[:1].lower() + metric.label[1:])


def _both(a: Row, b: Row, between: str) -> str:
    return f"{figure(a)} {between} {figure(b)}"


def _times(a: Row, b: Row) -> str:
    from runner.verdicts import indivisible, ratio

    return "" if indivisible(b) else f", {ratio(a, b).value:.2f}×"


def _listed(view: View, found: Sequence[Pair], figures: Sequence[str]) -> str:
    """``on GET: …`` for one pair, ``in all 2 cases: on GET …; on POST …`` for several."""
    places = [_place(view, [a], [row for row, _ in found]) for a, _ in found]
    parts = [f"{place}: {text}" for place, text in zip(places, figures, strict=True)]
    if len(parts) == 1:
        return parts[0]
    return f"in all {len(parts)} cases, {'; '.join(parts)}"


def _place(view: View, rows: Sequence[Row], among: Sequence[Row] | None = None) -> str:
    """``on GET /items``, with what else tells the rows' case from others of the run or of ``among``."""
    dimensions = view.cases[rows[0]["case"]].dimensions
    differs = view.varying(among) if among else {}
    words = [f"on {view.label_html('workload', dimensions['workload'])}"] if "workload" in dimensions else []
    fixed = {
        name: value
        for name, value in dimensions.items()
        if name not in ("server", "workload") and (name in differs or len(view.dimensions.get(name, [])) > 1)
    }
    if fixed:
        words.append(f"with {escape(describe_fixed(view, fixed))}")
    return " ".join(words) or "in this run"


def _with_figures(view: View, rows: Sequence[Row]) -> str:
    return join_names(
        f"{view.label_html('server', view.cases[row['case']].dimensions['server'])} ({figure(row)})"
        for row in rows
    )


def _side(view: View, where: Where) -> str:
    return join_names(view.label_html(name, value) for name, value in where.items())


def _digits(bound: float) -> int:
    text = repr(bound)
    return len(text.partition(".")[2].rstrip("0")) if "." in text else 0


def _arguments(check: Callable[..., str]) -> str:
    names = [name for name in inspect.signature(check).parameters if name not in ("view", "where")]
    return ", ".join(names) + ", and dimensions to choose cases by"
