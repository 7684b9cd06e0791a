"""What a published run brings along: its mapping, and its figures with the digits of the source."""

from __future__ import annotations

from hooks.view import Row, View
from runner.errors import AnalysisError, ArtifactError
from runner.importers.published import decimals
from runner.importers.published.mapping import Mapping, parse
from runner.metrics import METRICS

_DECIMALS = "published decimals"


def must_be_published(view: View) -> None:
    """Raise AnalysisError for a run of our own."""
    if view.run.origin != "published":
        raise AnalysisError(
            f"run {view.id} was {view.run.origin}, not published by others",
            "Use value() and table() for it.",
        )


def mapping_of(view: View) -> Mapping:
    """The mapping that travels in the run.

    Raises AnalysisError for a run of our own, ArtifactError if the mapping is damaged.
    """
    must_be_published(view)
    file = view.run.suite_file
    return parse(file.text, f"{view.id}: {file.name}", file.name).mapping


def figure_text(view: View, row: Row) -> str:
    """A published figure without unit, as transcribed: ``15.841``, ``2.0``; thousands parted: ``18,925``.

    Where the run's CSV files are not at hand, with the digits that the figure needs.
    """
    metric = row["metric"]
    shown = row["median"] * METRICS[metric].scale
    places = _decimals(view).get((row["case"], metric))
    return f"{shown:,.10g}" if places is None else f"{shown:,.{places}f}"


def _decimals(view: View) -> dict[tuple[str, str], int]:
    """(case id, metric) → decimals in the metric's display unit; read once a run."""
    kept = view.fragments
    if _DECIMALS not in kept:
        try:
            kept[_DECIMALS] = decimals(view.folder, view.run)
        except ArtifactError:
            # Missing, or a Git LFS pointer: said on the run's own page, and no reason to show no figure.
            kept[_DECIMALS] = {}
    found: dict[tuple[str, str], int] = kept[_DECIMALS]
    return found
