"""Noise bands and tiers: which differences between rows are differences.

Two rows differ only if their ranges (smallest to largest accepted sample) are separate *and* their
medians are further apart than the run's noise band and not closer than the metric's resolution. Where the
band is unknown, the ranges alone decide and the band is NaN, for the reader to see.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pandas as pd

Floats = npt.NDArray[np.float64]

# A band from a single round would be one difference, which can be nought by luck.
MIN_BAND_ROUNDS = 2


def relative_difference(a: float, b: float) -> float:
    """|a − b| over the middle of the two: the same scale as the band's, and the same both ways round."""
    middle = (abs(a) + abs(b)) / 2
    return abs(a - b) / middle if middle else 0.0


def distinct(
    a: tuple[float, float, float], b: tuple[float, float, float], band: float, resolution: float = 0.0
) -> bool:
    """Whether two (median, low, high) differ: ranges separate, medians apart by more than ``band``.

    ``band`` is relative (0.02 is 2 %); NaN means unknown, and then the ranges alone decide. Medians closer
    than ``resolution`` (absolute, in the figures' unit) do not differ whatever the rest says; so two
    figures that are both below it never do.
    """
    if abs(a[0] - b[0]) < resolution:
        return False
    separate = a[1] > b[2] or b[1] > a[2]
    return separate and (math.isnan(band) or relative_difference(a[0], b[0]) > band)


def bands(cases: pd.DataFrame, accepted: pd.DataFrame, values: pd.DataFrame) -> pd.DataFrame:
    """The noise band of every twin: index the twin's case number, one column a metric, relative.

    For a case A and its twin B, the same configuration under two labels,

        band = max(|median A − median B|, median over rounds of |a_r − b_r|) / median of A and B pooled

    A difference of medians alone can be nought by luck, however far apart the samples lie; the median
    over rounds tells how far two samples of one configuration, taken in one round, typically are apart.
    Neither is a confidence interval: it is what this run did to two equal things. NaN with fewer than
    `MIN_BAND_ROUNDS` rounds in which both were accepted.

    ``cases`` has run, case, twin_of; ``accepted`` number and repeat of accepted attempts, with the same
    index as ``values``, one column a metric.
    """
    keys = cases[["run", "case"]].assign(base=cases.index)
    twins = cases.loc[cases["twin_of"].notna(), ["run", "twin_of"]].rename(columns={"twin_of": "case"})
    base = twins.assign(twin=twins.index).merge(keys, on=["run", "case"])
    if base.empty or values.columns.empty:
        return pd.DataFrame(columns=values.columns, dtype=float)
    table = pd.concat([accepted[["number", "repeat"]], values], axis=1)
    metrics = list(values.columns)
    left = base[["twin", "base"]].merge(table, left_on="base", right_on="number")
    right = base[["twin"]].merge(table, left_on="twin", right_on="number")
    pairs = left.merge(right, on=["twin", "repeat"], suffixes=("_a", "_b"))
    apart = pd.DataFrame({key: (pairs[f"{key}_a"] - pairs[f"{key}_b"]).abs() for key in metrics})
    by_round = apart.groupby(pairs["twin"])
    typical = by_round.median().where(by_round.count() >= MIN_BAND_ROUNDS)
    medians = (left.groupby("twin")[metrics].median() - right.groupby("twin")[metrics].median()).abs()
    pooled = pd.concat([left, right]).groupby("twin")[metrics].median().abs()
    spread = typical.clip(lower=medians.reindex(typical.index))
    return spread / pooled.reindex(spread.index)


def assign_tiers(
    group: npt.NDArray[np.int64],
    higher: npt.NDArray[np.bool_],
    median: Floats,
    low: Floats,
    high: Floats,
    band: Floats,
    rankable: npt.NDArray[np.bool_],
    floor: npt.NDArray[np.bool_],
    resolution: Floats,
) -> npt.NDArray[np.int64]:
    """The tier of each row within its group, from 1; 0 where it has none.

    Walking down from the best median, a row joins the current tier unless it is `distinct` from that
    tier's *leader*; then it leads the next. Only the leader counts, because overlap is not transitive:
    the last row of a tier may overlap the first of the next. So a tier is a reading aid, and whether
    two given rows differ is for `runner.verdicts.verdict`.

    A **floor** (``floor``, only of rankable rows) is limited by the load generator: the server itself
    may be better than the figure, never worse. Nothing may therefore be ranked above it, and it gets
    no tier. But what is distinctly worse than a floor is worse than the server behind it all the more,
    so a floor on top of its group leads tier 1, which then may have no member: without that, a row
    known to be second would read as first. Further down a floor is passed over. (For latency in a
    closed loop the same holds by Little's law, connections = throughput × mean latency: time spent in
    a saturated generator is part of the mean, which is then a ceiling. Percentiles are taken to follow.)
    """
    tiers = np.zeros(len(group), dtype=np.int64)
    key = np.where(higher, -median, median)
    ranked = np.flatnonzero(rankable)
    order = ranked[np.lexsort((ranked, key[ranked], group[ranked]))]
    current, tier, leader = -1, 0, (0.0, 0.0, 0.0)
    # As lists, because taking one number out of an array costs more than all else here.
    figures = zip(*(values[order].tolist() for values in (median, low, high)), strict=True)
    facts = zip(*(values[order].tolist() for values in (group, band, resolution, floor)), strict=True)
    for row, here, (of, noise, least, bound) in zip(order.tolist(), figures, facts, strict=True):
        if of != current:
            current, tier, leader = of, 1, here
        elif not bound and distinct(leader, here, noise, least):
            tier, leader = tier + 1, here
        if not bound:
            tiers[row] = tier
    return tiers
