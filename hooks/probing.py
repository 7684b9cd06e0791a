"""What a probe written in Python can and cannot see, for every page that shows its figures."""

from __future__ import annotations

from hooks.markup import escape
from runner.metrics import METRICS


def probe_limits() -> list[str]:
    """The limits, each in sentences of free text."""
    gap = METRICS["probe_gap_p50"]
    least = f"{gap.resolution * gap.scale:g} {gap.display_unit}"
    return [
        "The probe is one Python process with one event loop. A time ends when that loop gets to run, so "
        "with many connections its own queue is part of every figure. On a fast server it may be the larger "
        "part: the header times of two fast servers can look alike because both wait for the probe.",
        "The probe cannot see when bytes reach the machine, only when its client library hands over parsed "
        "headers and the first part of the body. What arrives in one read of the socket has a gap of a few "
        "microseconds, which is the time the library takes and no property of the server.",
        f"Gaps below {least} are therefore shown as measured, but not told from each other or from nothing: "
        "they share a tier, none of them leads, and no ratio is formed over one. Nor are two gaps told apart "
        f"that differ by less. The probe does see what lies well above {least}, such as a body that comes "
        "milliseconds after its headers.",
        "The probe sends fewer requests a second than the load generator can, after the load and not during "
        "it, so the server is under another load than in the throughput table.",
        "The probe's figures compare servers with each other. They are never merged with those of the load "
        "generator, which is another program and measures another thing: no column and no ratio holds both.",
    ]


def probe_limits_block() -> str:
    """The limits as an HTML list."""
    return f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in probe_limits())}</ul>"
