"""Evidence to figures: medians, ranges, noise bands and tiers of any number of runs, without I/O.

This is the one entrance: `attempts` and `long` are in `runner.frames`, bands and tiers in
`runner.tiers`, `verdict`, `ratio` and `comparable` in `runner.verdicts`.

Every figure is a median over samples, with the smallest and largest of them as its range. So the p99
of a row is the median of the p99 of its samples, which is **not** the p99 of all its requests merged:
percentiles of percentiles cannot be had, and the raw files say no more.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from runner.frames import CASE_COLUMNS, SUMMARY_COLUMNS, Frames, Taken, attempts, frames, long
from runner.ladder import NOT_REACHED
from runner.metrics import METRICS
from runner.model import PUBLISHED
from runner.store import StoredRun
from runner.tiers import assign_tiers, bands, distinct, relative_difference
from runner.verdicts import Ratio, Verdict, comparable, ratio, verdict

__all__ = [
    "Ratio",
    "Verdict",
    "attempts",
    "comparable",
    "distinct",
    "long",
    "ratio",
    "relative_difference",
    "summary",
    "verdict",
]


def summary(runs: Iterable[StoredRun | Taken]) -> pd.DataFrame:
    """One row a run, case and metric, in the order of runs, cases and the metric registry.

    Columns: run, case, series, role, twin_of, one a dimension, environment, metric, then

    - ``n`` accepted samples, of ``wanted``; ``missing`` is how many are not there;
    - ``median``, ``low``, ``high`` of the accepted samples, in SI base units, NaN without any;
    - ``floor``: in some accepted sample the load generator or the upstream was saturated (for the probe's
      own metrics: the probe), so the true value is at least as good as this one;
    - ``rejected``, ``failed``: attempts that were, and ``reasons`` their codes, joined by "; ";
    - ``band``: the relative noise band of the row's group (0.02 is 2 %), NaN without a twin;
    - ``tier`` from 1 (Int64), or NA and the reason in ``untiered``.

    A group, within which bands and tiers hold, is one run, series, metric and all dimensions except
    ``server``. A case without any accepted sample has a row for each metric that its series has. Metrics
    that this version does not know (of a later minor version) are left out here, and kept by `long`.
    Raises AnalysisError as `runner.frames.frames`.
    """
    parts = frames(runs)
    cases = parts.cases
    metrics = [key for key in METRICS if key in parts.values.columns] or ["rps"]
    values = parts.values.reindex(columns=metrics)
    ok = (parts.attempts["status"] == "accepted").to_numpy(dtype=bool)
    accepted = parts.attempts[ok]
    grouped = values[ok].groupby(accepted["number"])
    n = grouped.count().reindex(cases.index, fill_value=0).to_numpy(dtype="int64")
    shown = _shown(parts, values)
    number, column = np.nonzero(shown)

    def pick(frame: pd.DataFrame) -> npt.NDArray[np.float64]:
        return frame.reindex(cases.index).to_numpy(dtype=float)[number, column]

    group = _groups(parts)
    band = bands(cases, accepted, values[ok]).groupby(pd.Series(group, cases.index)).max()
    described = cases.loc[number].reset_index(drop=True)
    result = described[[*CASE_COLUMNS, *parts.dimensions, "environment"]].assign(
        metric=np.array(metrics, dtype=object)[column],
        n=n[number, column],
        wanted=described["wanted"],
        median=pick(grouped.median()),
        low=pick(grouped.min()),
        high=pick(grouped.max()),
        **_counts(parts, accepted, number),
        band=band.reindex(group).to_numpy(dtype=float)[number, column],
    )
    result["missing"] = (result["wanted"] - result["n"]).clip(lower=0)
    limited_by = _limits(accepted, len(cases))[number]
    probed = np.array([METRICS[key].probe for key in metrics], dtype=bool)[column]
    overrun = _flagged(accepted, "probe-saturated", len(cases))[number]
    # A probe that is late sees headers late, and takes from the gap what it adds to them: no bound for that.
    gap = np.array([key.startswith("probe_gap") for key in metrics], dtype=bool)[column]
    result["floor"] = np.where(probed, overrun & ~gap, result["floor"])
    limited_by = np.where(probed, np.where(overrun, "probe", ""), limited_by)
    # What was never sent is in no percentile, and would have waited longest.
    opened = np.array([key.startswith("open_") for key in metrics], dtype=bool)[column]
    unsent = opened & _flagged(accepted, NOT_REACHED, len(cases))[number]
    limited_by = np.where(unsent & (limited_by == ""), "rate", limited_by)
    counts = [result[name].tolist() for name in ("n", "wanted", "failed")]
    told = zip(result["role"], *counts, limited_by, strict=True)
    foreign = (described["origin"] == "published").to_numpy(dtype=bool)
    result["untiered"] = pd.Series(
        [PUBLISHED if theirs else _untiered(*row) for theirs, row in zip(foreign, told, strict=True)],
        dtype=object,
    )
    rankable = (result["role"] == "case") & (result["n"] >= 2) & (result["missing"] == 0) & ~foreign & ~unsent
    rankable &= (limited_by != "probe") | result["floor"].to_numpy(dtype=bool)
    tier = assign_tiers(
        group=group[number] * len(metrics) + column,
        higher=np.array([METRICS[key].better == "higher" for key in metrics], dtype=bool)[column],
        median=result["median"].to_numpy(dtype=float),
        low=result["low"].to_numpy(dtype=float),
        high=result["high"].to_numpy(dtype=float),
        band=result["band"].to_numpy(dtype=float),
        rankable=rankable.to_numpy(dtype=bool),
        floor=result["floor"].to_numpy(dtype=bool),
        resolution=np.array([METRICS[key].resolution for key in metrics], dtype=float)[column],
    )
    result["tier"] = pd.array(tier, dtype="Int64")
    result.loc[tier == 0, "tier"] = pd.NA
    return result[[*CASE_COLUMNS, *parts.dimensions, "environment", *SUMMARY_COLUMNS]]


def _groups(parts: Frames) -> npt.NDArray[np.int64]:
    """A number for each case: the same where run, series and all dimensions except server are."""
    keys = ["run", "series", *[name for name in parts.dimensions if name != "server"]]
    groups = parts.cases.groupby(keys, sort=False, dropna=False).ngroup()
    return np.asarray(groups, dtype=np.int64)


def _shown(parts: Frames, values: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Which metrics each case has a row for: those that any attempt of its series has.

    Failing that those of its run; and throughput where a run that drives load has nothing at all, so
    that a run in which every server failed still lists them.
    """
    cases, number = parts.cases, parts.attempts["number"].to_numpy()
    seen = pd.DataFrame(False, index=cases.index, columns=values.columns)
    found = values.notna().groupby(number).any()
    seen.loc[found.index] = found
    by_series = seen.groupby([cases["run"], cases["series"]]).transform("any").to_numpy(dtype=bool)
    by_run = seen.groupby(cases["run"]).transform("any").to_numpy(dtype=bool)
    result = np.where(by_series.any(axis=1, keepdims=True), by_series, by_run)
    bare = ~result.any(axis=1) & (cases["kind"] == "http").to_numpy(dtype=bool)
    if "rps" in values.columns:
        result[bare, list(values.columns).index("rps")] = True
    return result


def _counts(parts: Frames, accepted: pd.DataFrame, number: npt.NDArray[np.intp]) -> dict[str, Any]:
    """floor, rejected, failed and reasons of the row's case."""
    size = len(parts.cases)
    columns: dict[str, Any] = {
        "floor": np.bincount(accepted.loc[accepted["floor"], "number"], minlength=size)[number] > 0
    }
    for status in ("rejected", "failed"):
        those = parts.attempts.loc[parts.attempts["status"] == status, "number"]
        columns[status] = np.bincount(those, minlength=size)[number]
    reasons: list[dict[str, None]] = [{} for _ in range(size)]
    told = parts.attempts[parts.attempts["status"] != "accepted"]
    for case, codes in zip(told["number"].tolist(), told["reasons"].tolist(), strict=True):
        reasons[case].update(dict.fromkeys(code for code in codes.split("; ") if code))
    joined = np.array(["; ".join(codes) for codes in reasons], dtype=object)
    return columns | {"reasons": joined[number]}


def _limits(accepted: pd.DataFrame, size: int) -> npt.NDArray[np.object_]:
    """By case number: the saturated roles of its accepted samples, joined."""
    roles: list[set[str]] = [set() for _ in range(size)]
    floors = accepted[accepted["floor"]]
    for case, limits in zip(floors["number"].tolist(), floors["limited_by"].tolist(), strict=True):
        roles[case].update(limits.split(", "))
    return np.array([", ".join(sorted(names)) for names in roles], dtype=object)


def _flagged(accepted: pd.DataFrame, code: str, size: int) -> npt.NDArray[np.bool_]:
    """By case number: whether some accepted sample has that flag."""
    flags = accepted["flags"]  # of many rows few differ
    those = flags.isin([codes for codes in set(flags) if code in codes.split("; ")]).to_numpy(dtype=bool)
    return np.bincount(accepted.loc[those, "number"], minlength=size) > 0


_LIMITS = {
    "probe": "limited by the probe",
    "rate": "the rate was not reached",
    "generator": "limited by the load generator",
    "upstream": "limited by the upstream",
    "generator, upstream": "limited by the load generator and the upstream",
}


def _untiered(role: str, n: int, wanted: int, failed: int, limits: str) -> str:
    """Why a row has no tier, or nothing."""
    if role != "case":
        return "the second lane of the A/A pair" if role == "twin" else "a control"
    if n == 0:
        return "no accepted sample"
    if n < wanted:
        return f"{wanted - n} of {wanted} samples {'failed' if failed >= wanted - n else 'missing'}"
    if n == 1:
        return "one sample only"
    return _LIMITS.get(limits, "")
