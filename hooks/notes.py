"""What a table's signs mean, and the noise band of its columns: the words below it.

The browser says the same of a table as its reader chose to see it (site_src/assets/notes.js), in these words.
"""

from __future__ import annotations

from hooks.cells import percent
from hooks.charts import band_of
from hooks.environment import limiters
from hooks.grid import Grid
from hooks.view import View
from runner.metrics import METRICS

_BAND = "Noise band (the same configuration, run twice): "
_NO_BAND = "Noise band: unknown (no configuration was measured twice)"


def sign_words(view: View) -> dict[str, str]:
    """What a note may say of a run's tables, by what calls for it; text."""

    def limited(probe: bool) -> str:
        return (
            f"≥ (for latencies ≤): {limiters(view, probe=probe)} was at its limit, so the server may be "
            "better than the figure; such a row has no tier."
        )

    return {
        "band": _BAND,
        "noBand": f"{_NO_BAND}.",
        "noBandTiers": f"{_NO_BAND}; the ranges alone decide on tiers.",
        "floor": limited(False),
        "probeFloor": limited(True),
        "unsent": "≥ of an open-loop latency: requests that were due were never sent and are left out, so "
        "the latency is higher than the figure; such a row has no tier.",
        "rejected": "Rejected samples were disturbed from outside, and were repeated.",
        "failed": "Failed samples are the server's own doing, and were not repeated.",
        "percentile": "A percentile here is the median of the samples' percentiles, which is not the "
        "percentile of all their requests merged.",
    }


def notes(grid: Grid) -> list[str]:
    """The sentences below a table; text."""
    rows = grid.all_rows()
    limits = [
        "unsent" if row.get("unsent") else "probeFloor" if METRICS[row["metric"]].probe else "floor"
        for row in rows
        if row["n"] and (row["floor"] or row.get("unsent")) and not (row["floor"] and row.get("unsent"))
    ]
    called = {
        "floor": "floor" in limits,
        "probeFloor": "probeFloor" in limits,
        "unsent": "unsent" in limits,
        "rejected": any(row["rejected"] for row in rows),
        "failed": any(row["failed"] for row in rows),
        "percentile": any(metric.startswith(("p", "open_p")) for metric in grid.metrics),
    }
    words = sign_words(grid.view)
    return [_bands(grid, words), *[words[name] for name, on in called.items() if on]]


def _bands(grid: Grid, words: dict[str, str]) -> str:
    bands: dict[str, list[str]] = {}
    known = False
    for metric in grid.metrics:
        for column in grid.columns:
            rows = [row for (_, c, m), row in grid.cells.items() if c == column and m == metric]
            band = band_of(rows)
            known = known or band is not None
            text = "unknown" if band is None else percent(band)
            label = grid.column_label(column)
            bands.setdefault(METRICS[metric].label, []).append(f"{text} on {label}" if label else text)
    if not known:
        return words["noBandTiers" if grid.tiers else "noBand"]
    listed = "; ".join(f"{label} {', '.join(texts)}" for label, texts in bands.items())
    return f"{words['band']}{listed}."
