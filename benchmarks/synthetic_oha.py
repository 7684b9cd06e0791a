"""What oha 1.16 would have printed for a synthetic sample, whose latencies are log-normal."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

from runner.model import Sample

# oha's percentile names, and ours of those we keep.
_QUANTILES = {"p10": 0.1, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p90": 0.9, "p95": 0.95, "p99": 0.99}
_QUANTILES |= {"p99.9": 0.999, "p99.99": 0.9999}
_SIGMA = 0.35
_FASTEST, _SLOWEST = 0.00005, 0.99999
_KEPT = ["p50", "p75", "p90", "p95", "p99", "p999"]
_NORMAL = NormalDist()


def latencies(mean: float) -> dict[str, float]:
    """The latency metrics, in seconds, of the distribution of that mean."""
    found = {name.replace(".", ""): _quantile(mean, q) for name, q in _QUANTILES.items()}
    return {"mean": mean} | {key: found[key] for key in _KEPT} | {"max": _quantile(mean, _SLOWEST)}


def _quantile(mean: float, q: float) -> float:
    """A quantile of the log-normal latencies of that mean, in seconds."""
    return mean * math.exp(_SIGMA * _NORMAL.inv_cdf(q) - _SIGMA**2 / 2)


def _share_below(mean: float, latency: float) -> float:
    return _NORMAL.cdf((math.log(latency / mean) + _SIGMA**2 / 2) / _SIGMA)


def oha_json(sample: Sample) -> dict[str, Any]:
    """The JSON (``--output-format json``) from which `runner.generators.oha` reads the sample's metrics."""
    ok, mean = sample.counts["ok"], sample.metrics["mean"]
    window = ok / sample.metrics["rps"]
    fastest, slowest = _quantile(mean, _FASTEST), sample.metrics["max"]
    percentiles = {name: _quantile(mean, q) for name, q in _QUANTILES.items()}
    edges = [fastest + (slowest - fastest) * i / 10 for i in range(11)]
    below = [1, *[round(ok * _share_below(mean, edge)) for edge in edges[1:-1]], ok]
    histogram = {
        repr(edge): count - before for edge, count, before in zip(edges, below, [0, *below], strict=False)
    }
    rate = sample.reported["requests_per_second"]
    statuses = {"200": ok, "500": sample.counts["other_status"]}
    small = {"average": 0.0004, "fastest": 0.0001, "slowest": 0.0012}
    return {
        "summary": {
            "successRate": 1.0,
            "total": window,
            "slowest": slowest,
            "fastest": fastest,
            "average": mean,
            "requestsPerSec": rate,
            "totalData": ok * 100,
            "sizePerRequest": 100,
            "sizePerSec": ok * 100 / window,
        },
        "metrics": {
            "success_rate": 1.0,
            "requests_per_sec": rate,
            "latency_ms": {
                "min": round(fastest * 1e3, 3),
                "mean": round(mean * 1e3, 3),
                **{name: round(percentiles[name] * 1e3, 3) for name in ("p50", "p95", "p99")},
                "max": round(slowest * 1e3, 3),
            },
        },
        "responseTimeHistogram": histogram,
        "latencyPercentiles": percentiles,
        "firstByteHistogram": histogram,
        "firstBytePercentiles": percentiles,
        "rps": {
            "mean": rate,
            "stddev": rate * 0.05,
            "max": rate * 1.1,
            "min": rate * 0.9,
            "percentiles": {name: rate * (1 + 0.02 * _NORMAL.inv_cdf(q)) for name, q in _QUANTILES.items()},
        },
        "details": {"DNSDialup": small, "DNSLookup": small, "firstByte": small | {"average": mean}},
        "statusCodeDistribution": {status: count for status, count in statuses.items() if count},
        "errorDistribution": {"aborted due to deadline": sample.counts["cut_off"]},
    }
