"""Whether a published statement is borne out: by its own figures, and by a run of ours.

All kinds go by one rule: a statement holds where whatever the samples and the noise band allow bears it
out, does not hold where nothing of it does, and else cannot be said. So noise alone never decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from hooks.judging_factors import headroom, larger, share, within
from hooks.judging_orders import ahead, order
from hooks.judgment import Judgment, Part
from hooks.sides import Side
from runner.importers.published.predicates import (
    Ahead,
    Headroom,
    Larger,
    Order,
    Share,
    Statement,
    Within,
)


def judge(statement: Statement, side: Side) -> Judgment:
    """What a side says of a statement."""
    return Judgment(list(_JUDGES[type(statement)](statement, side)))


_JUDGES: dict[type, Callable[[Any, Side], Iterator[Part]]] = {
    Within: within,
    Ahead: ahead,
    Larger: larger,
    Order: order,
    Share: share,
    Headroom: headroom,
}
