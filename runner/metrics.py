"""The metric registry: what each figure is called, its unit, and which direction is better.

Values are stored in SI base units (seconds, bytes, 1/s); ``scale`` and ``display_unit`` say how a page
shows them. Two figures are of one kind only if they have one key: the closed-loop and the open-loop
p99 have two, so that they can never share a column, and so has a percentile that its tool corrected
for coordinated omission.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from runner.errors import AnalysisError

Direction = Literal["higher", "lower"]


@dataclass(frozen=True)
class Metric:
    """One kind of figure.

    ``unit`` is the SI base unit of the stored value; a shown value is ``value * scale`` in
    ``display_unit`` with ``digits`` significant digits. ``resolution``, in ``unit``, is what the way of
    measuring can tell from nothing: two figures closer than that are one, and nothing is divided by a
    figure below it. Figures are shown as measured all the same.
    """

    key: str
    label: str
    unit: str
    better: Direction
    scale: float = 1.0
    display_unit: str = ""
    digits: int = 3
    resolution: float = 0.0

    @property
    def too_small(self) -> str:
        """What is said of a figure below the resolution; empty where the metric has none."""
        if not self.resolution:
            return ""
        by = "the probe" if self.probe else "the measurement"
        return f"below what {by} resolves ({self.resolution * self.scale:g} {self.display_unit})"

    @property
    def probe(self) -> bool:
        """Whether it is the probe's, which a saturated load generator does not limit."""
        return self.key.startswith("probe_")

    def show(self, value: float) -> str:
        """The shown number, without its unit: thousands grouped, ``digits`` significant digits."""
        shown = value * self.scale
        if shown == 0:
            return "0"
        magnitude = len(str(int(abs(shown)))) if abs(shown) >= 1 else 0
        return f"{shown:,.{max(0, self.digits - magnitude)}f}"


def _latency(key: str, label: str) -> list[Metric]:
    closed = Metric(key, f"{label} latency", "s", "lower", 1e3, "ms")
    opened = Metric(f"open_{key}", f"{label} latency (open loop, corrected)", "s", "lower", 1e3, "ms")
    return [closed, opened]


def _probe(key: str, label: str, resolution: float = 0.0) -> list[Metric]:
    """Of the probe, which is another client than the generator: keys of their own, never one column."""
    return [
        Metric(
            *(f"probe_{key}_{percentile}", f"Probe: {label} {percentile}", "s", "lower", 1e3, "ms"),
            resolution=resolution,
        )
        for percentile in ("p50", "p95", "p99")
    ]


# Headers and body of one read of the socket reach the probe a few microseconds apart, which is the time its
# client library takes and no property of the server. This is far above that, on a slow or busy machine too,
# and far below the milliseconds that a server brings about by sending them apart.
GAP_RESOLUTION = 1e-4

METRICS: dict[str, Metric] = {
    metric.key: metric
    for metric in [
        Metric("rps", "Throughput", "1/s", "higher", 1.0, "requests/s", digits=4),
        Metric("body_rate", "Body rate", "B/s", "higher", 1 / 2**20, "MiB/s"),
        *_latency("mean", "mean"),
        *_latency("p50", "p50"),
        *_latency("p75", "p75"),
        *_latency("p90", "p90"),
        *_latency("p95", "p95"),
        *_latency("p99", "p99"),
        *_latency("p999", "p99.9"),
        *_latency("max", "slowest"),
        *_probe("headers", "headers"),
        *_probe("first_body", "first body"),
        *_probe("gap", "gap", GAP_RESOLUTION),
        *_probe("total", "total"),
    ]
}


def metric(key: str) -> Metric:
    """The metric of that key.

    Raises AnalysisError with the near matches if there is none.
    """
    try:
        return METRICS[key]
    except KeyError:
        raise AnalysisError(f"unknown metric {key!r}", f"Known: {', '.join(METRICS)}.") from None
