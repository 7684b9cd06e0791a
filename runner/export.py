"""A run's summary as CSV and as JSON.

Labels are free text; a CSV cell never starts like a spreadsheet's formula.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from types import NoneType
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
_GUARDED = ("'", *_FORMULA)
_QUOTED = re.compile('[,"\r\n]')

Columns = dict[str, list[Any]]
_OURS = ("n", "wanted", "low", "high", "rejected", "failed", "missing")


def as_csv(stored: StoredRun, frame: pd.DataFrame | None = None) -> str:
    """The run's summary as CSV (RFC 4180), one row a case and metric; values in SI base units.

    Columns are those of `runner.analysis.summary` with ``unit`` after ``metric``, and ``<dimension>_label``
    after each dimension that has labels. Unknown figures are empty. A text that would start like a
    formula, or with an apostrophe, has one apostrophe put in front, which a reading program takes off.
    ``frame`` saves computing the summary again: all or some of this run's rows of it.
    """
    return csv_text(described(stored.run, _plain(summary([stored]) if frame is None else frame)))


def as_json(stored: StoredRun, frame: pd.DataFrame | None = None) -> str:
    """The run's summary as JSON: ``run``, ``suite``, ``title``, ``state``, ``note``, ``warnings``, ``rows``.

    A row has the columns of `as_csv`, with text as it is, numbers as numbers and null where unknown.
    """
    return json_text(stored.run, described(stored.run, _plain(summary([stored]) if frame is None else frame)))


def described(run: Run, columns: Columns) -> Columns:
    """A summary's columns with unit and labels beside them; None is what is unknown, in and out."""
    result: Columns = {}
    if run.origin == "published":  # of what was published there is one figure, and no range or count of ours
        size = len(columns.get("metric", []))
        columns = columns | {name: [None] * size for name in _OURS if name in columns}
    for name, values in columns.items():
        result[name] = values
        if name == "metric":
            result["unit"] = [metric(str(key)).unit for key in values]
        elif name in run.labels:
            labels = {value: None if value is None else label(run, name, value) for value in set(values)}
            result[f"{name}_label"] = [labels[value] for value in values]
    return result


def csv_text(columns: Columns) -> str:
    """Columns of equal length as CSV, by the rules of `as_csv`."""
    head = ",".join(_cell(name) for name in columns)
    rows = map(",".join, zip(*map(_cells, columns.values()), strict=True))
    return "\r\n".join([head, *rows, ""])


def json_text(run: Run, columns: Columns, *, indent: bool = True) -> str:
    """A summary's columns as the JSON of `as_json`; without ``indent`` for programs only."""
    document = {
        "run": run.id,
        "suite": run.suite,
        "title": run.title,
        "state": run.state,
        "note": MEDIAN_NOTE,
        "warnings": [{"code": note.code, "message": note.message} for note in run.warnings],
        "rows": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
    }
    option = orjson.OPT_APPEND_NEWLINE | (orjson.OPT_INDENT_2 if indent else 0)
    return orjson.dumps(document, option=option).decode()


def label(run: Run, dimension: str, value: object) -> str:
    """The free-text label of a dimension's value, or the value itself."""
    return run.labels.get(dimension, {}).get(str(value)) or str(value)


def _cells(values: list[Any]) -> list[str]:
    """A column's cells."""
    if values and isinstance(values[0], str) and values.count(values[0]) == len(values):
        return [_cell(values[0])] * len(values)
    kinds = set(map(type, values))
    if kinds and kinds <= {int, float, NoneType}:
        cells = orjson.dumps(values).decode()[1:-1].split(",")
        return ["" if text == "null" else text for text in cells] if None in values else cells
    if kinds <= {str, NoneType} or kinds == {bool}:  # most stand in many rows, and are made once
        made = {value: _cell(value) for value in set(values)}
        return [made[value] for value in values]
    return [_cell(value) for value in values]


def _cell(value: Any) -> str:
    """One cell, quoted where RFC 4180 asks for it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        return repr(value)
    return _text(value)


@lru_cache(maxsize=1 << 14)
def _text(value: str) -> str:
    """A cell of text; runs of one suite share most of theirs."""
    text = f"'{value}" if value.startswith(_GUARDED) else value
    if _QUOTED.search(text):
        return '"' + text.replace('"', '""') + '"'
    return text


def _plain(frame: pd.DataFrame) -> Columns:
    """The frame's columns as plain Python objects, with None for what is unknown."""
    return {
        str(name): [None if unknown(value) else value for value in frame[name].tolist()]
        for name in frame.columns
    }


def unknown(value: object) -> bool:
    """Whether a cell of a summary is empty: None, NA or NaN."""
    return value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value))
