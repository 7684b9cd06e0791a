"""The limits and definitions that Lapsheet goes by, from the code that applies them, for prose."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache
from pathlib import Path

from hooks.cells import SCATTERED
from hooks.facts import seconds
from hooks.near import near
from runner import apps, ladder, model
from runner.errors import AnalysisError
from runner.metrics import METRICS


def rule_text(name: str) -> str:
    """The rule's figure with its unit. Raises AnalysisError with the near matches."""
    if name not in RULES:
        raise AnalysisError(f"no rule {name!r}", near(name, RULES))
    return RULES[name]()


def _share(value: float) -> str:
    return f"{value * 100:g} %"


def _flagged() -> str:
    from runner.checks import FOREIGN_FLAG

    return _share(FOREIGN_FLAG)


def _gap() -> str:
    gap = METRICS["probe_gap_p50"]
    return f"{gap.resolution * gap.scale:g} {gap.display_unit}"


def _headroom() -> str:
    from runner.headroom import LITTLE

    return f"{LITTLE:g}×"


@cache
def _proxy(constant: str) -> float:
    """A constant of the proxy application, read from its source: importing it takes the bench's libraries."""
    path = Path(apps.__file__).with_name("proxy.py")
    for node in ast.parse(path.read_text("utf-8")).body:
        names = [target.id for target in getattr(node, "targets", []) if isinstance(target, ast.Name)]
        if isinstance(node, ast.Assign) and constant in names:
            return float(ast.literal_eval(node.value))
    raise AnalysisError(f"{path.name} has no constant {constant}")


RULES: dict[str, Callable[[], str]] = {
    "saturated": lambda: _share(model.SATURATED),
    "foreign": lambda: _share(model.Parameters.model_fields["foreign_limit"].default),
    "foreign flag": _flagged,
    "attempts": lambda: str(model.MAX_ATTEMPTS),
    "scattered": lambda: f"{SCATTERED:g}×",
    "little head-room": _headroom,
    "gap resolution": _gap,
    "climb": lambda: f"{ladder.CLIMB:g}×",
    "reached": lambda: _share(ladder.REACHED),
    "proxy pool": lambda: f"{_proxy('POOL'):g}",
    "proxy idle": lambda: seconds(_proxy("IDLE_S")),
    "proxy timeout": lambda: seconds(_proxy("TIMEOUT_S")),
}
"""Rule → its figure: the busy share that makes a floor; the foreign share that rejects a sample, and the one
that flags it; how often a sample is tried; how far apart samples are told; the head-room that is little; the
smallest gap told from nothing; what climbs on a ladder, and reaches its rate; the proxy's clients."""
