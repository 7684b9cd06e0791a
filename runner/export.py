"""A run's summary as CSV and as JSON.

Labels are free text; a CSV cell never starts like a spreadsheet's formula.
"""

from __future__ import annotations

import csv
import io
import math
from typing import Any

import orjson
import pandas as pd

from runner.analysis import summary
from runner.metrics import metric
from runner.model import Run
from runner.store import StoredRun

MEDIAN_NOTE = (
    "Every figure is the median of the accepted samples; the median of the samples' p99 is not the p99 of "
    "all their requests merged."
)

# How a spreadsheet recognises a formula: these, also after a tab or a return, also in full width.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def as_csv(stored: StoredRun, frame: pd.DataFrame | None = None) -> str:
    """The run's summary as CSV (RFC 4180), one row a case and metric; values in SI base units.

    Columns are those of `runner.analysis.summary` with ``unit`` after ``metric``, and ``<dimension>_label``
    after each dimension that has labels. Unknown figures are empty. A text that would start like a
    formula, or with an apostrophe, has one apostrophe put in front, which a reading program takes off.
    ``frame`` saves computing the summary again: all or some of this run's rows of it.
    """
    names, columns = _columns(stored.run, summary([stored]) if frame is None else frame)
    output = io.StringIO()
    # The line end of the RFC is also what makes every Python version quote a lone return in a cell.
    writer = csv.writer(output, lineterminator="\r\n")
    writer.writerow([csv_cell(name) for name in names])
    writer.writerows(zip(*([csv_cell(value) for value in column] for column in columns), strict=True))
    return output.getvalue()


def as_json(stored: StoredRun, frame: pd.DataFrame | None = None) -> str:
    """The run's summary as JSON: ``run``, ``suite``, ``title``, ``state``, ``note``, ``warnings``, ``rows``.

    A row has the columns of `as_csv`, with text as it is, numbers as numbers and null where unknown.
    """
    run = stored.run
    names, columns = _columns(run, summary([stored]) if frame is None else frame)
    document = {
        "run": run.id,
        "suite": run.suite,
        "title": run.title,
        "state": run.state,
        "note": MEDIAN_NOTE,
        "warnings": [{"code": note.code, "message": note.message} for note in run.warnings],
        "rows": [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)],
    }
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def label(run: Run, dimension: str, value: object) -> str:
    """The free-text label of a dimension's value, or the value itself."""
    return run.labels.get(dimension, {}).get(str(value)) or str(value)


def csv_cell(value: Any) -> str:
    """A value as text for a CSV cell: empty for None, and no text that a spreadsheet takes for a formula."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f"'{value}" if value.startswith(("'", *_FORMULA)) else value
    return repr(value)


def _columns(run: Run, frame: pd.DataFrame) -> tuple[list[str], list[list[Any]]]:
    """Column names and values as plain Python objects, with None for what is unknown."""
    names: list[str] = []
    columns: list[list[Any]] = []
    for name in frame.columns:
        values = [None if unknown(value) else value for value in frame[name].tolist()]
        names.append(name)
        columns.append(values)
        if name == "metric":
            names.append("unit")
            columns.append([metric(str(key)).unit for key in values])
        elif name in run.labels:
            names.append(f"{name}_label")
            columns.append([None if value is None else label(run, name, value) for value in values])
    return names, columns


def unknown(value: object) -> bool:
    """Whether a cell of a summary is empty: None, NA or NaN."""
    return value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value))
