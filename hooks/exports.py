"""CSV and JSON of a run, for those who want the numbers and not the page.

The summary is what ``lapsheet summarize`` prints, by the same code; the samples are one record an
attempt, accepted or not. Values are in SI base units (seconds, 1/s).
"""

from __future__ import annotations

import csv
import io
from typing import Any

import orjson

from hooks.view import View
from runner.metrics import METRICS

NAMES = {
    "summary.csv": "the summary, one row a case and metric",
    "summary.json": "the same as JSON",
    "samples.csv": "every attempt, one row each",
    "samples.json": "the same as JSON",
}


def export(view: View) -> dict[str, bytes]:
    """File name → content, of the `NAMES`."""
    from runner.export import as_csv, as_json

    columns, rows = samples(view)
    about = {
        "run": view.id,
        "title": view.run.title,
        "manifest_sha256": view.manifest_sha256,
        "units": {key: METRICS[key].unit for key in view.metrics},
    }
    records = [dict(zip(columns, row, strict=True)) for row in rows]
    return {
        "summary.csv": as_csv(view.stored, view.frame).encode(),
        "summary.json": as_json(view.stored, view.frame).encode(),
        "samples.csv": _csv(columns, rows),
        "samples.json": orjson.dumps(
            about | {"samples": records}, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
        ),
    }


def samples(view: View) -> tuple[list[str], list[list[Any]]]:
    """Columns and rows of all attempts, in stored order; one column a metric, None where there is none."""
    dimensions = list(view.dimensions)
    metrics = list(dict.fromkeys(key for sample in view.stored.samples for key in sample.metrics))
    columns = ["run", "case", "series", "role", *dimensions, "repeat", "attempt", "order", "started"]
    columns += ["status", "reasons", "flags", *metrics]
    rows = []
    for sample in view.stored.samples:
        case = view.cases[sample.case]
        rows.append(
            [
                *(view.id, sample.case, case.series, case.role),
                *(case.dimensions.get(name) for name in dimensions),
                *(sample.repeat, sample.attempt, sample.order, sample.started.isoformat(), sample.status),
                "; ".join(note.code for note in sample.reasons),
                "; ".join(note.code for note in sample.flags),
                *(sample.metrics.get(key) for key in metrics),
            ]
        )
    return columns, rows


def _csv(columns: list[str], rows: list[list[Any]]) -> bytes:
    from runner.export import csv_cell

    output = io.StringIO()
    writer = csv.writer(output, lineterminator="\r\n")
    writer.writerow([csv_cell(name) for name in columns])
    writer.writerows([csv_cell(value) for value in row] for row in rows)
    return output.getvalue().encode()
