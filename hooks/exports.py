"""CSV and JSON of a run, for those who want the numbers and not the page.

The summary is what ``lapsheet summarize`` prints, by the same code; the samples are one record an
attempt, accepted or not. Values are in SI base units (seconds, 1/s).
"""

from __future__ import annotations

import orjson

from hooks.view import Columns, View
from runner.metrics import METRICS

NAMES = {
    "summary.csv": "the summary, one row a case and metric",
    "summary.json": "the same as JSON",
    "samples.csv": "every attempt, one row each",
    "samples.json": "the same as JSON",
}


def export(view: View) -> dict[str, bytes]:
    """File name → content, of the `NAMES`."""
    from runner.export import csv_text, described, json_text

    summary, attempts = described(view.run, view.columns), samples(view)
    document = {
        "run": view.id,
        "title": view.run.title,
        "manifest_sha256": view.manifest_sha256,
        "units": {key: METRICS[key].unit for key in view.metrics},
        "samples": [dict(zip(attempts, row, strict=True)) for row in zip(*attempts.values(), strict=True)],
    }
    return {
        "summary.csv": csv_text(summary).encode(),
        "summary.json": json_text(view.run, summary, indent=False).encode(),
        "samples.csv": csv_text(attempts).encode(),
        "samples.json": orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE),
    }


def samples(view: View) -> Columns:
    """All attempts by column, in stored order; one column a metric, None where there is none."""
    attempts = view.stored.samples
    cases = [view.cases[sample.case] for sample in attempts]
    columns: Columns = {
        "run": [view.id] * len(attempts),
        "case": [sample.case for sample in attempts],
        "series": [case.series for case in cases],
        "role": [case.role for case in cases],
    }
    columns |= {name: [case.dimensions.get(name) for case in cases] for name in view.dimensions}
    columns |= {
        "repeat": [sample.repeat for sample in attempts],
        "attempt": [sample.attempt for sample in attempts],
        "order": [sample.order for sample in attempts],
        "started": [sample.started.isoformat() for sample in attempts],
        "status": [sample.status for sample in attempts],
        "reasons": ["; ".join(note.code for note in sample.reasons) for sample in attempts],
        "flags": ["; ".join(note.code for note in sample.flags) for sample in attempts],
    }
    metrics = dict.fromkeys(key for sample in attempts for key in sample.metrics)
    return columns | {key: [sample.metrics.get(key) for sample in attempts] for key in metrics}
