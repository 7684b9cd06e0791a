"""CSV and JSON of a run, for those who want the numbers and not the page.

The summary is what ``lapsheet summarize`` prints, by the same code; the samples are one record an
attempt, accepted or not. Values are in SI base units (seconds, 1/s).
"""

from __future__ import annotations

from hooks.view import View

NAMES = {
    "summary.csv": "the summary, one row a case and metric",
    "summary.json": "the same as JSON",
    "samples.csv": "every attempt, one row each (as JSON they are in samples.jsonl)",
}


def export(view: View) -> dict[str, bytes]:
    """File name → content, of the `NAMES`."""
    from runner.export import csv_text, described, json_text

    summary = described(view.run, view.columns)
    return {
        "summary.csv": csv_text(summary).encode(),
        "summary.json": json_text(view.run, summary, indent=False).encode(),
        "samples.csv": csv_text(view.attempts.columns).encode(),
    }
