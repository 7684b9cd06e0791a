"""CSV and JSON of a run, and Parquet of a published one, for those who want the numbers and not the page.

The summary is what ``lapsheet summarize`` prints, by the same code; the samples are one record an
attempt, accepted or not. Values are in SI base units (seconds, 1/s).
"""

from __future__ import annotations

from collections.abc import Iterable

from hooks.catalogue import Entry
from hooks.view import View

NAMES = {
    "summary.csv": "the summary, one row a case and metric",
    "summary.json": "the same as JSON",
    "summary.parquet": "the same as Parquet, with the types of its columns",
    "samples.csv": "every attempt, one row each (as JSON they are in samples.jsonl)",
    "samples.parquet": "the same as Parquet",
}


def names(entry: Entry) -> dict[str, str]:
    """File name → what it is. A local run has no Parquet, which costs as much as all the rest."""
    return {name: text for name, text in NAMES.items() if not (entry.local and name.endswith(".parquet"))}


def export(view: View, wanted: Iterable[str] = NAMES) -> dict[str, bytes]:
    """File name → content, of those of the `NAMES`."""
    # Imported here because pandas is slow to, and most builds find all exports in the cache.
    from runner.export import csv_text, described, json_text

    summary, samples = described(view.run, view.columns), view.attempts.columns
    found = {
        "summary.csv": csv_text(summary).encode(),
        "summary.json": json_text(view.run, summary, indent=False).encode(),
        "samples.csv": csv_text(samples).encode(),
    }
    if "summary.parquet" in wanted:
        from hooks.parquet import parquet_bytes  # which takes pyarrow

        found |= {"summary.parquet": parquet_bytes(summary), "samples.parquet": parquet_bytes(samples)}
    return {name: found[name] for name in wanted}
