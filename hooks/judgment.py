"""What a side says of a statement: a verdict on each of its parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

Status = Literal["holds", "fails", "unsaid"]
WORST: tuple[Status, ...] = ("fails", "unsaid", "holds")


@dataclass(frozen=True)
class Part:
    """One figure of a judgment: where, what, and what follows from it; all HTML.

    ``factor`` is the ratio that the figures make, where they make one.
    """

    status: Status
    place: str
    figures: str
    why: str = ""
    factor: float | None = None


@dataclass(frozen=True)
class Judgment:
    """What a side says of a statement, with the figures that it follows from."""

    parts: list[Part]

    @property
    def status(self) -> Status:
        """One part that fails decides; without one, one that cannot be said."""
        return next((status for status in WORST if self.count(status)), "holds")

    def count(self, status: Status) -> int:
        """How many parts have that status."""
        return sum(part.status == status for part in self.parts)


def spread_out(among: Mapping[str, Sequence[str | int]]) -> list[dict[str, str | int]]:
    """Every combination of the values, as conditions."""
    return [dict(zip(among, values, strict=True)) for values in product(*among.values())]
