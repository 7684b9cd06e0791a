"""CSV, JSON and Parquet of a run, for those who want the numbers and not the page.

The summary is what ``lapsheet summarize`` prints, by the same code; the samples are one record an
attempt, accepted or not. Values are in SI base units (seconds, 1/s).
"""

from __future__ import annotations

from hooks.view import View

NAMES = {
    "summary.csv": "the summary, one row a case and metric",
    "summary.json": "the same as JSON",
    "summary.parquet": "the same as Parquet, with the types of its columns",
    "samples.csv": "every attempt, one row each (as JSON they are in samples.jsonl)",
    "samples.parquet": "the same as Parquet",
}


def export(view: View) -> dict[str, bytes]:
    """File name → content, of the `NAMES`."""
    # Imported here because pandas and pyarrow are slow to, and most builds find all exports in the cache.
    from hooks.parquet import parquet_bytes
    from runner.export import csv_text, described, json_text

    summary = described(view.run, view.columns)
    return {
        "summary.csv": csv_text(summary).encode(),
        "summary.json": json_text(view.run, summary, indent=False).encode(),
        "summary.parquet": parquet_bytes(summary),
        "samples.csv": csv_text(view.attempts.columns).encode(),
        "samples.parquet": parquet_bytes(view.attempts.columns),
    }
