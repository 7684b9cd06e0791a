"""What a chart's points tell when a reader hovers over them, in Plotly's markup.

A place of a chart (one case's figure) has several points, which share most of their words. So these travel
once, as `Hover.places`, and a point has the number of its place and the words that are its own; the page's
script puts them together, and gives each point the id of its case.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hooks.cells import figure, percent, spread
from hooks.markup import join_names, plotly_text
from hooks.view import Point, Row
from runner.metrics import METRICS

Columns = dict[str, list[Any]]
"""The points of a trace: x, y, ``customdata`` (the number of the place) and ``hovertext`` (own words)."""


def columns() -> Columns:
    return {"x": [], "y": [], "customdata": [], "hovertext": []}


def add(to: Columns, x: float, y: float, place: int, words: str = "") -> None:
    """Add a point; its y, or whatever is measured, need not be more exact than anyone can see."""
    to["x"].append(x)
    to["y"].append(y)
    to["customdata"].append(place)
    to["hovertext"].append(words)


def drawn(value: float) -> float:
    """A measured number as it is drawn: with five digits, which is finer than a pixel."""
    return float(f"{value:.5g}")


@dataclass
class Hover:
    """The places of a figure: case id (None without one), metric, head, and words."""

    places: list[tuple[str | None, str, str, str]] = field(default_factory=list)

    def place(self, head: str, row: Row) -> int:
        """The number of a new place that a summary's row stands at; ``head`` is in Plotly's markup."""
        self.places.append((row["case"], row["metric"], head, _row_words(row)))
        return len(self.places) - 1

    def empty(self, head: str, words: str) -> int:
        """The number of a new place at which there is no case."""
        self.places.append((None, "", head, words))
        return len(self.places) - 1


def attempt_words(text: str, point: Point) -> str:
    """An attempt's own: its figure and round, and why it does not count."""
    told = f"{text}, round {point.repeat}"
    if point.status != "accepted":
        told += f"<br>{point.status}, does not count: {plotly_text(point.reason)}"
    return told


def _row_words(row: Row) -> str:
    """Median, range, n, tier, noise band, and the samples that do not count."""
    unit, told = METRICS[row["metric"]].display_unit, []
    if row["n"]:
        told += [f"median {figure(row)} {unit}", f"range {spread(row)}, n = {row['n']}"]
    else:
        told.append(f"n = 0 of {row['wanted']}")
    tier = f"tier {row['tier']}" if row["tier"] is not None else plotly_text(row["untiered"])
    told += [tier] if tier else []
    if row["band"] == row["band"]:
        told.append(f"noise band {percent(row['band'])}")
    if outs := out_words(row["rejected"], row["failed"]):
        told.append(outs)
    return "<br>".join(told)


def out_words(rejected: int, failed: int) -> str:
    """``1 rejected and 2 failed``; empty where there is neither."""
    counts = {"rejected": rejected, "failed": failed}
    return join_names(f"{count} {name}" for name, count in counts.items() if count)
