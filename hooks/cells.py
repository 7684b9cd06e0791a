"""What one figure is, as words: value, range, number of samples, tier, and everything held against it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from hooks.view import Row
from runner.bounds import bound
from runner.metrics import METRICS, Metric
from runner.model import PUBLISHED

_PROBE = "Probe: "
# From this factor between smallest and largest sample on, a cell lists them all: it may be bistable.
SCATTERED = 3.0


@dataclass(frozen=True)
class Cell:
    """A figure's parts, as text without markup.

    ``value`` has its "≥" or "≤" and no unit; ``spread`` its range and n; ``tier`` is empty where there
    is none; ``remarks`` say what a reader must know before using it, ``short`` the same in few words.
    """

    value: str
    spread: str
    tier: str
    remarks: list[str]
    short: str


EMPTY = Cell("–", "not in this run", "", [], "")
UNMEASURED = Cell("–", "not measured for this case", "", [], "")


@lru_cache(maxsize=1 << 16)
def shown(metric: str, value: float) -> str:
    """The shown number of a value; a page shows each several times."""
    return METRICS[metric].show(value)


def noun(metric: Metric) -> str:
    """The metric inside a sentence: ``throughput``, ``p99 latency``, ``gap p50 (probe)``. Text."""
    label = metric.label
    if label.startswith(_PROBE):
        return f"{label.removeprefix(_PROBE)} (probe)"
    return label[:1].lower() + label[1:]


def percent(share: float) -> str:
    """A relative noise band for reading: ``1.2 %``."""
    return f"{share * 100:.1f} %"


def floor_sign(row: Row) -> str:
    """``≥ `` or ``≤ `` of a figure that is a bound, by `runner.bounds`."""
    return _SIGNS[bound(row)]


_SIGNS = {"": "", "≥": "≥ ", "≤": "≤ ", "?": ""}


def unsent_words(row: Row) -> str:
    """Why an open-loop latency is a lower bound, or nothing."""
    if not row.get("unsent"):
        return ""
    told = f"the rate was not reached in {row['unsent']} of {row['n']} samples, whose percentiles leave out"
    told += " what was never sent"
    return f"{told}; and the figure was limited as well, so that it is no bound" if row["floor"] else told


def figure(row: Row, stat: str = "median") -> str:
    """The shown number of a row with its bound, without unit; "–" without an accepted sample."""
    if not row["n"]:
        return "–"
    return f"{floor_sign(row)}{shown(row['metric'], row[stat])}"


def spread(row: Row) -> str:
    """``36,900–39,100``; one number where all samples show alike."""
    low, high = shown(row["metric"], row["low"]), shown(row["metric"], row["high"])
    return low if low == high else f"{low}–{high}"


def scattered(row: Row) -> bool:
    """Whether its accepted samples lie so far apart that a median alone would mislead.

    What lies below the metric's resolution counts as being there: such samples are not far apart.
    """
    if not row["n"] > 1:
        return False
    least = max(row["low"], METRICS[row["metric"]].resolution)
    return bool(least > 0 and row["high"] / least >= SCATTERED)


def apart_words(row: Row) -> str:
    """How far a scattered row's samples are apart, as a factor where there is one."""
    kind = METRICS[row["metric"]]
    if row["low"] <= 0 or row["low"] < kind.resolution:
        return f"samples far apart, some {kind.too_small}" if kind.resolution else "samples far apart"
    return f"samples {row['high'] / row['low']:,.0f}-fold apart"


def cell(row: Row | None) -> Cell:
    """The parts of a summary's row; `EMPTY` where the run has no such case."""
    if row is None:
        return EMPTY
    if row["untiered"] == PUBLISHED:
        return Cell(figure(row), PUBLISHED, "", [], "")
    outs = [f"{row[status]} {status}" for status in ("failed", "rejected") if row[status]]
    remarks = [row["untiered"]] if row["untiered"] else []
    remarks += [words] if (words := unsent_words(row)) else []
    told = [text for text in outs if not ("failed" in text and "failed" in row["untiered"])]
    if told:
        remarks.append(", ".join(told))
    if row["reasons"] and remarks:
        remarks[-1] += f" ({row['reasons']})"
    short = " · ".join([*outs, *(["no tier"] if row["untiered"] else [])])
    if not row["n"]:
        return Cell("–", f"n = 0 of {row['wanted']}", "", remarks, short)
    return Cell(
        value=figure(row),
        spread=f"{spread(row)} · n = {row['n']}",
        tier=f"tier {row['tier']}" if row["tier"] is not None else "",
        remarks=remarks,
        short=short,
    )
