"""Stored runs as pandas frames: one row an attempt, or one row an attempt and metric."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from runner.errors import AnalysisError
from runner.metrics import METRICS
from runner.model import SATURATED, Sample, rounds
from runner.store import StoredRun

# A load generator (or upstream) with a CPU or a thread this busy may itself be what limits the figure.

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


def frames(runs: Iterable[StoredRun]) -> Frames:
    """The frames of some runs, in one pass that keeps no sample, so that ``runs`` may be read as it goes.

    Raises AnalysisError if a sample or a twin names a case its run does not have, if a case has two
    accepted attempts in one round, or if a dimension has the name of a column.
    """
    cases: list[dict[str, Any]] = []
    dimensions: dict[str, None] = {}
    records: list[tuple[Any, ...]] = []
    for stored in runs:
        run, first = stored.run, len(cases)
        known = {case.id: first + position for position, case in enumerate(run.cases)}
        for case in run.cases:
            dimensions.update(dict.fromkeys(case.dimensions))
            if case.twin_of is not None and case.twin_of not in known:
                raise AnalysisError(f"run {run.id}: {case.id!r} is the twin of unknown case {case.twin_of!r}")
            cases.append(
                case.dimensions
                | {"run": run.id, "case": case.id, "series": case.series, "role": case.role}
                | {"twin_of": case.twin_of, "environment": case.environment, "kind": run.kind}
                | {"origin": run.origin}
                | {"wanted": len(rounds(case, run.parameters))}
            )
        if run.origin == "published":  # one figure a case, of however many samples
            for described in cases[first:]:
                described["wanted"] = 1
        accepted: set[tuple[str, int]] = set()
        for sample in stored.samples:
            if sample.case not in known:
                raise AnalysisError(f"run {run.id}: a sample of unknown case {sample.case!r}")
            if sample.status == "accepted":
                if (sample.case, sample.repeat) in accepted:
                    place = f"case {sample.case!r}, round {sample.repeat}"
                    raise AnalysisError(f"run {run.id}: {place}: two accepted attempts, one is possible")
                accepted.add((sample.case, sample.repeat))
            number = known[sample.case]
            records.append(_record(number, sample, cases[number]["role"]))
    clash = RESERVED.intersection(dimensions)
    if clash:
        raise AnalysisError(f"a dimension is named {min(clash)!r}, which is a column's name", "Rename it.")
    columns = [*CASE_COLUMNS, *dimensions, "environment", "kind", "origin", "wanted"]
    table = {name: pd.Series([case.get(name) for case in cases], dtype=object) for name in columns}
    columns_of = list(zip(*records, strict=True)) or [()] * len(_RECORD)
    return Frames(
        cases=pd.DataFrame(table).astype({"wanted": "int64"}),
        attempts=_attempts(*columns_of[:-1]),
        values=_values(columns_of[-1]),
        dimensions=list(dimensions),
    )


_RECORD = ["number", "repeat", "attempt", "order", "status", "reasons", "flags", "limited_by", "metrics"]


def _record(number: int, sample: Sample, role: str) -> tuple[Any, ...]:
    """What the frames need of a sample, by `_RECORD`."""
    return (
        number,
        sample.repeat,
        sample.attempt,
        sample.order,
        sample.status,
        _codes(sample.reasons) if sample.reasons else "",
        _codes(sample.flags) if sample.flags else "",
        _limited_by(sample, role),
        sample.metrics,
    )


def _attempts(*columns: Sequence[Any]) -> pd.DataFrame:
    """The columns of `_RECORD` up to the metrics, as a frame."""
    whole = {"number", "repeat", "attempt", "order"}
    table: dict[str, Any] = {
        name: np.array(values, dtype="int64") if name in whole else pd.Series(list(values), dtype=object)
        for name, values in zip(_RECORD[:-1], columns, strict=True)
    }
    floor = np.array([bool(limit) for limit in table["limited_by"]], dtype=bool)
    return pd.DataFrame(table | {"floor": floor})


def _values(metrics: Sequence[dict[str, float]]) -> pd.DataFrame:
    """One column a metric: registered ones in the registry's order, then any others by name."""
    seen: set[str] = set()
    for found in metrics:
        seen.update(found)
    keys = [key for key in METRICS if key in seen] + sorted(seen - METRICS.keys())
    return pd.DataFrame(
        {key: np.array([found.get(key, np.nan) for found in metrics], dtype=float) for key in keys},
        index=pd.RangeIndex(len(metrics)),
    )


def _codes(notes: Iterable[Any]) -> str:
    return "; ".join(dict.fromkeys(note.code for note in notes))


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
