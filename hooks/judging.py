"""Whether a statement is borne out: by published figures as they are, or by the samples of a run of ours.

All kinds go by one rule: a statement holds where whatever the samples and the noise band allow bears it
out, does not hold where nothing of it does, and else cannot be said. So noise alone never decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from hooks.judging_factors import headroom, larger, share, within
from hooks.judging_orders import ahead, alike, behind, order
from hooks.judgment import Judgment, Part
from hooks.sides import Side
from runner.importers.published.predicates import (
    Ahead,
    Alike,
    Behind,
    Headroom,
    Larger,
    Order,
    Predicate,
    Share,
    Within,
)


def judge(statement: Predicate, side: Side) -> Judgment:
    """What a side says of a statement."""
    return Judgment(list(_JUDGES[type(statement)](statement, side)))


_JUDGES: dict[type, Callable[[Any, Side], Iterator[Part]]] = {
    Within: within,
    Ahead: ahead,
    Behind: behind,
    Alike: alike,
    Larger: larger,
    Order: order,
    Share: share,
    Headroom: headroom,
}
