"""Stored runs as pandas frames: one row an attempt, or one row an attempt and metric."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from runner.errors import AnalysisError
from runner.metrics import METRICS
from runner.model import Sample
from runner.store import StoredRun

# A load generator (or upstream) with a CPU or a thread this busy may itself be what limits the figure.
FLOOR_SHARE = 0.95

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
    kind, wanted. ``attempts``: one row an attempt in stored order, with ``number``, the columns of
    ATTEMPT_COLUMNS and ``limited_by`` (the saturated roles of a floor). ``values``: the same rows, one
    float column a metric, NaN where the sample has none. ``dimensions``: in order of appearance.
    """

    cases: pd.DataFrame
    attempts: pd.DataFrame
    values: pd.DataFrame
    dimensions: list[str]


def frames(runs: Iterable[StoredRun]) -> Frames:
    """The frames of some runs, in one pass.

    Raises AnalysisError if a sample or a twin names a case its run does not have, if a case has two
    accepted attempts in one round, or if a dimension has the name of a column.
    """
    runs = list(runs)
    cases: list[dict[str, Any]] = []
    dimensions: dict[str, None] = {}
    numbers: list[int] = []
    samples: list[Sample] = []
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
                | {"wanted": run.parameters.repeats}
            )
        accepted: set[tuple[str, int]] = set()
        for sample in stored.samples:
            if sample.case not in known:
                raise AnalysisError(f"run {run.id}: a sample of unknown case {sample.case!r}")
            if sample.status == "accepted":
                if (sample.case, sample.repeat) in accepted:
                    place = f"case {sample.case!r}, round {sample.repeat}"
                    raise AnalysisError(f"run {run.id}: {place}: two accepted attempts, one is possible")
                accepted.add((sample.case, sample.repeat))
            numbers.append(known[sample.case])
        samples += stored.samples
    clash = RESERVED.intersection(dimensions)
    if clash:
        raise AnalysisError(f"a dimension is named {min(clash)!r}, which is a column's name", "Rename it.")
    columns = [*CASE_COLUMNS, *dimensions, "environment", "kind", "wanted"]
    table = {name: pd.Series([case.get(name) for case in cases], dtype=object) for name in columns}
    return Frames(
        cases=pd.DataFrame(table).astype({"wanted": "int64"}),
        attempts=_attempts(numbers, samples),
        values=_values(samples),
        dimensions=list(dimensions),
    )


def _attempts(numbers: list[int], samples: list[Sample]) -> pd.DataFrame:
    limits = [_limited_by(sample) for sample in samples]
    return pd.DataFrame(
        {
            "number": np.array(numbers, dtype="int64"),
            "repeat": np.array([sample.repeat for sample in samples], dtype="int64"),
            "attempt": np.array([sample.attempt for sample in samples], dtype="int64"),
            "order": np.array([sample.order for sample in samples], dtype="int64"),
            "status": pd.Series([sample.status for sample in samples], dtype=object),
            "reasons": pd.Series([_codes(sample.reasons) for sample in samples], dtype=object),
            "flags": pd.Series([_codes(sample.flags) for sample in samples], dtype=object),
            "floor": np.array([bool(limit) for limit in limits], dtype=bool),
            "limited_by": pd.Series(limits, dtype=object),
        }
    )


def _values(samples: list[Sample]) -> pd.DataFrame:
    """One column a metric: registered ones in the registry's order, then any others by name."""
    seen: set[str] = set()
    for sample in samples:
        seen.update(sample.metrics)
    keys = [key for key in METRICS if key in seen] + sorted(seen - METRICS.keys())
    return pd.DataFrame(
        {key: np.array([sample.metrics.get(key, np.nan) for sample in samples], dtype=float) for key in keys},
        index=pd.RangeIndex(len(samples)),
    )


def _codes(notes: Iterable[Any]) -> str:
    return "; ".join(dict.fromkeys(note.code for note in notes))


def _limited_by(sample: Sample) -> str:
    """The saturated roles of a sample, joined; empty where the server itself set the figure."""
    roles = []
    for role in ("generator", "upstream"):
        witness = sample.witness.get(role)
        if witness and max(witness.busiest_cpu, witness.busiest_thread) >= FLOOR_SHARE:
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
