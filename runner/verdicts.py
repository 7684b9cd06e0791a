"""What may be said of two rows of a summary: faster, slower, by what factor, or nothing."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal

from runner.bounds import Bound, Bounded, bound, ratio_bound
from runner.errors import AnalysisError
from runner.metrics import Metric
from runner.metrics import metric as registered
from runner.model import Case, Run
from runner.tiers import distinct

_MISSING = object()


Row = Bounded
"""One row of `runner.analysis.summary`: a pandas Series or a dict."""


@dataclass(frozen=True)
class Verdict:
    """What the evidence says of ``a`` against ``b``.

    ``faster`` means better in the metric's direction (a lower latency is faster). ``reason`` is why two
    rows are not comparable or not distinguishable, as words for a page; ``band`` the relative noise
    band used, NaN where none is known and the ranges alone decided.
    """

    relation: Literal["faster", "slower", "indistinguishable", "not comparable"]
    reason: str = ""
    band: float = math.nan


def verdict(a: Row, b: Row, metric: str, band: float | None = None) -> Verdict:
    """Whether row ``a`` is faster or slower than ``b``.

    ``band`` is relative; None takes the larger of the two rows' own. An untiered row (one sample,
    attempts missing, a floor, a twin) carries no claim: ``not comparable``. Whether the two cases were
    measured alike is `comparable`'s question. Raises AnalysisError if a row is of another metric.
    """
    for row in (a, b):
        if row["metric"] != metric:
            raise AnalysisError(f"a row of {row['metric']!r} cannot be judged by {metric!r}")
    if band is None:
        band = _larger(float(a["band"]), float(b["band"]))
    for row in (a, b):
        if row["untiered"]:
            return Verdict("not comparable", f"{row['case']}: {row['untiered']}", band)
    here, there = _figures(a), _figures(b)
    if not distinct(here, there, band, registered(metric).resolution):
        return Verdict("indistinguishable", _alike(here, there, registered(metric), band), band)
    better = here[0] > there[0] if registered(metric).better == "higher" else here[0] < there[0]
    return Verdict("faster" if better else "slower", "", band)


def _alike(
    here: tuple[float, float, float], there: tuple[float, float, float], metric: Metric, band: float
) -> str:
    """Why two figures are not distinct, as words."""
    if here[0] < metric.resolution and there[0] < metric.resolution:
        return f"both are {metric.too_small}"
    if abs(here[0] - there[0]) < metric.resolution:
        return f"the difference is {metric.too_small}"
    if here[1] <= there[2] and there[1] <= here[2]:
        return "the ranges overlap"
    return f"the difference is within the noise band of {band * 100:.1f} %"


@dataclass(frozen=True)
class Ratio:
    """``value`` is median over median; ``low`` and ``high`` are the furthest apart that samples allow.

    ``bound`` is "≥" or "≤" where a side is a bound, so that the ratio is one itself, and "?" where
    nothing bounds it.
    """

    value: float
    low: float
    high: float
    bound: Bound = ""


def unresolved(row: Row) -> str:
    """Why a row's figure is too small to mean more than nothing, as words for a page; or nothing."""
    kind = registered(str(row["metric"]))
    return kind.too_small if row["n"] and float(row["median"]) < kind.resolution else ""


def indivisible(row: Row) -> str:
    """Why no ratio may have a row's figure on either side, as words for a page; or nothing."""
    if not row["n"] or math.isnan(float(row["median"])):
        return "no accepted sample"
    return "nought" if float(row["low"]) <= 0 else unresolved(row)


def refusal(a: Row, b: Row) -> str:
    """Why a page shows no ratio of row ``a`` over row ``b``, as words; or nothing. As in assets/rows.js."""
    for row in (a, b):
        if not row["n"]:
            return row["untiered"] or indivisible(row)
        if small := indivisible(row):
            return f"no ratio with what is {small}"
    if ratio_bound(a, b) != "?":
        return ""
    sides = "a side is no bound at all" if "?" in (bound(a), bound(b)) else "both sides are bounds"
    return f"{sides}, so nothing bounds their ratio"


def ratio(a: Row, b: Row) -> Ratio:
    """Row ``a`` over row ``b``, with its range [low a / high b, high a / low b].

    Raises AnalysisError for rows of two metrics, without an accepted sample, or if a side is `indivisible`.
    """
    if a["metric"] != b["metric"]:
        raise AnalysisError(f"no ratio of {a['metric']!r} to {b['metric']!r}", "Give both the same metric.")
    here, there = _figures(a), _figures(b)
    for row, figures in ((a, here), (b, there)):
        if any(math.isnan(figure) for figure in figures):
            raise AnalysisError(f"{row['case']} has no accepted sample of {row['metric']}, so no ratio")
    for row in (a, b):
        if small := indivisible(row):
            told = "of nought" if small == "nought" else small
            raise AnalysisError(f"{row['case']} has a {row['metric']} {told}, so no ratio")
    return Ratio(here[0] / there[0], here[1] / there[2], here[2] / there[1], ratio_bound(a, b))


def comparable(run_a: Run, case_a: Case, run_b: Run, case_b: Case, varies: Collection[str]) -> list[str]:
    """The names that differ between two cases beyond what is meant to vary; empty means comparable.

    Names are dimensions and the runs' stored ``comparable`` fields. A field called after a dimension in
    the plural (``workloads``) and holding a table by that dimension's values is compared only at the
    two cases' own values, and varies with the dimension. A field that one of the runs does not have
    differs, since nobody can say that it agrees; two runs that store none at all differ in
    ``comparable``. ``environment`` goes with ``server``: another server may have another environment.
    """
    differing = [
        name
        for name in dict.fromkeys([*case_a.dimensions, *case_b.dimensions])
        if case_a.dimensions.get(name, _MISSING) != case_b.dimensions.get(name, _MISSING)
    ]
    if case_a.environment != case_b.environment and "server" not in varies:
        differing.append("environment")
    if run_a.id != run_b.id and not (run_a.comparable and run_b.comparable):
        differing.append("comparable")
    for name in dict.fromkeys([*run_a.comparable, *run_b.comparable]):
        if name.endswith("s") and name[:-1] in varies:
            continue
        if _field(run_a, case_a, name) != _field(run_b, case_b, name):
            differing.append(name)
    return [name for name in dict.fromkeys(differing) if name not in varies]


def _field(run: Run, case: Case, name: str) -> Any:
    value = run.comparable.get(name, _MISSING)
    dimension = name.removesuffix("s")
    if isinstance(value, dict) and dimension != name and dimension in case.dimensions:
        return value.get(str(case.dimensions[dimension]), _MISSING)
    return value


def _figures(row: Row) -> tuple[float, float, float]:
    return float(row["median"]), float(row["low"]), float(row["high"])


def _larger(a: float, b: float) -> float:
    known = [band for band in (a, b) if not math.isnan(band)]
    return max(known, default=math.nan)
