"""Stored runs as pandas frames: one row an attempt, or one row an attempt and metric."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from runner.errors import AnalysisError
from runner.metrics import METRICS
from runner.model import SATURATED, Run, Sample, rounds
from runner.store import StoredRun

CASE_COLUMNS = ["run", "case", "series", "role", "twin_of"]
ATTEMPT_COLUMNS = ["repeat", "attempt", "order", "status", "reasons", "flags", "floor"]
SUMMARY_COLUMNS = [
    *["metric", "n", "wanted", "median", "low", "high", "floor", "rejected", "failed", "missing"],
    *["reasons", "band", "tier", "untiered"],
]
# A dimension of one of these names would hide a column of the frames.
RESERVED = frozenset(
    [*CASE_COLUMNS, *ATTEMPT_COLUMNS, *SUMMARY_COLUMNS, "environment", "value", "limited_by"]
)


@dataclass(frozen=True)
class Frames:
    """Runs as frames that join on the case number (a case's position among all cases of all runs).

    ``cases``: index case number; run, case, series, role, twin_of, one column a dimension, environment,
    kind, origin, wanted. ``attempts``: one row an attempt in stored order, with ``number``, the columns of
    ATTEMPT_COLUMNS and ``limited_by`` (the saturated roles of a floor). ``values``: the same rows, one
    float column a metric, NaN where the sample has none. ``dimensions``: in order of appearance.
    """

    cases: pd.DataFrame
    attempts: pd.DataFrame
    values: pd.DataFrame
    dimensions: list[str]


@dataclass(frozen=True)
class Taken:
    """What the frames take of a run: its manifest, and of its attempts one list each, in stored order.

    ``reasons`` and ``flags`` are codes joined by "; "; ``limited_by`` the roles that were saturated, joined
    by ", ", empty where the server itself set the figure; ``metrics`` the values of each, None for none.
    """

    run: Run
    case: Sequence[str]
    repeat: Sequence[int]
    attempt: Sequence[int]
    order: Sequence[int]
    status: Sequence[str]
    reasons: Sequence[str]
    flags: Sequence[str]
    limited_by: Sequence[str]
    metrics: Mapping[str, Sequence[float | None]]


def frames(runs: Iterable[StoredRun | Taken]) -> Frames:
    """The frames of some runs, in one pass that keeps no sample, so that ``runs`` may be read as it goes.

    Raises AnalysisError if a sample or a twin names a case its run does not have, if a case has two
    accepted attempts in one round, or if a dimension has the name of a column.
    """
    cases: list[dict[str, Any]] = []
    dimensions: dict[str, None] = {}
    columns: dict[str, list[Any]] = {name: [] for name in ("number", *_TAKEN)}
    values: dict[str, list[float | None]] = {}
    for one in runs:
        run, first, before = one.run, len(cases), len(columns["number"])
        known = {case.id: first + position for position, case in enumerate(run.cases)}
        for case in run.cases:
            dimensions.update(dict.fromkeys(case.dimensions))
            if case.twin_of is not None and case.twin_of not in known:
                raise AnalysisError(f"run {run.id}: {case.id!r} is the twin of unknown case {case.twin_of!r}")
            cases.append(
                case.dimensions
                | {
                    "run": run.id,
                    "case": case.id,
                    "series": case.series,
                    "role": case.role,
                    "twin_of": case.twin_of,
                    "environment": case.environment,
                    "kind": run.kind,
                    "origin": run.origin,
                    # Of what was published there is one figure a case, of however many samples.
                    "wanted": 1 if run.origin == "published" else len(rounds(case, run.parameters)),
                }
            )
        part = one if isinstance(one, Taken) else taken(one)
        _check_attempts(part)
        columns["number"] += [known[case] for case in part.case]
        for name in _TAKEN:
            columns[name] += getattr(part, name)
        for key, found in part.metrics.items():
            column = values.setdefault(key, [])
            column += [None] * (before - len(column))
            column += found
    clash = RESERVED.intersection(dimensions)
    if clash:
        raise AnalysisError(f"a dimension is named {min(clash)!r}, which is a column's name", "Rename it.")
    names = [*CASE_COLUMNS, *dimensions, "environment", "kind", "origin", "wanted"]
    table = {name: pd.Series([case.get(name) for case in cases], dtype=object) for name in names}
    return Frames(
        cases=pd.DataFrame(table).astype({"wanted": "int64"}),
        attempts=_attempts(columns),
        values=_values(values, len(columns["number"])),
        dimensions=list(dimensions),
    )


_TAKEN = ["repeat", "attempt", "order", "status", "reasons", "flags", "limited_by"]


def taken(stored: StoredRun) -> Taken:
    """What the frames take of a stored run. Raises AnalysisError for a sample of an unknown case."""
    run, samples = stored.run, stored.samples
    roles: dict[str, str] = {case.id: case.role for case in run.cases}
    for sample in samples:
        if sample.case not in roles:
            raise AnalysisError(f"run {run.id}: a sample of unknown case {sample.case!r}")
    keys = dict.fromkeys(key for sample in samples for key in sample.metrics)
    return Taken(
        run=run,
        case=[sample.case for sample in samples],
        repeat=[sample.repeat for sample in samples],
        attempt=[sample.attempt for sample in samples],
        order=[sample.order for sample in samples],
        status=[sample.status for sample in samples],
        reasons=[_codes(sample.reasons) for sample in samples],
        flags=[_codes(sample.flags) for sample in samples],
        limited_by=[_limited_by(sample, roles[sample.case]) for sample in samples],
        metrics={key: [sample.metrics.get(key) for sample in samples] for key in keys},
    )


def _check_attempts(part: Taken) -> None:
    """Raise AnalysisError if a case has two accepted attempts in one round."""
    told = zip(part.case, part.repeat, part.status, strict=True)
    accepted = [(case, repeat) for case, repeat, status in told if status == "accepted"]
    if len(set(accepted)) < len(accepted):
        case, repeat = next(place for place, count in Counter(accepted).items() if count > 1)
        place = f"case {case!r}, round {repeat}"
        raise AnalysisError(f"run {part.run.id}: {place}: two accepted attempts, one is possible")


def _attempts(columns: Mapping[str, Sequence[Any]]) -> pd.DataFrame:
    """The attempts' frame from its columns."""
    whole = {"number", "repeat", "attempt", "order"}
    table: dict[str, Any] = {
        name: np.array(values, dtype="int64") if name in whole else pd.Series(values, dtype=object)
        for name, values in columns.items()
    }
    floor = np.array([bool(limit) for limit in columns["limited_by"]], dtype=bool)
    return pd.DataFrame(table | {"floor": floor})


def _values(metrics: dict[str, list[float | None]], size: int) -> pd.DataFrame:
    """One column a metric: registered ones in the registry's order, then any others by name."""
    keys = [key for key in METRICS if key in metrics] + sorted(metrics.keys() - METRICS.keys())
    for column in metrics.values():
        column += [None] * (size - len(column))
    return pd.DataFrame({key: np.array(metrics[key], dtype=float) for key in keys}, index=pd.RangeIndex(size))


def _codes(notes: Iterable[Any]) -> str:
    return "; ".join(dict.fromkeys(note.code for note in notes)) if notes else ""


def _limited_by(sample: Sample, case_role: str) -> str:
    """The saturated roles of a sample, joined; empty where the server itself set the figure.

    A control's server is the upstream, whose limit is what it measures.
    """
    roles = []
    for role in ("generator",) if case_role == "control" else ("generator", "upstream"):
        witness = sample.witness.get(role)
        if witness and max(witness.busiest_cpu, witness.busiest_thread) >= SATURATED:
            roles.append(role)
    return ", ".join(roles)


def attempts(runs: Iterable[StoredRun]) -> pd.DataFrame:
    """One row an attempt, in stored order.

    Columns: run, case, series, role, twin_of, one a dimension (server, workload, workers, connections,
    …), environment, repeat, attempt, order, status, reasons and flags (codes joined by "; "), floor
    (the load generator or the upstream was saturated). Raises AnalysisError as `frames`.
    """
    parts = frames(runs)
    described = parts.cases.loc[parts.attempts["number"]].reset_index(drop=True)
    columns = [*CASE_COLUMNS, *parts.dimensions, "environment"]
    return pd.concat([described[columns], parts.attempts[ATTEMPT_COLUMNS]], axis=1)


def long(runs: Iterable[StoredRun]) -> pd.DataFrame:
    """One row an attempt and metric, whatever its status, in stored order.

    Columns: run, case, series, role, one a dimension, repeat, attempt, status, floor, metric, value
    (SI base units). Raises AnalysisError as `frames`.
    """
    parts = frames(runs)
    matrix = parts.values.to_numpy(dtype=float)
    row, column = np.nonzero(~np.isnan(matrix))
    attempt = parts.attempts.iloc[row].reset_index(drop=True)
    described = parts.cases.loc[attempt["number"]].reset_index(drop=True)
    result = pd.concat(
        [
            described[["run", "case", "series", "role", *parts.dimensions]],
            attempt[["repeat", "attempt", "status", "floor"]],
        ],
        axis=1,
    )
    names = np.array(parts.values.columns, dtype=object)
    return result.assign(metric=names[column], value=matrix[row, column])
