"""The statements of a source, as predicates over cases: what is said of which figures.

They are judged, on the published figures and on a run of ours, by `hooks.judging`; here is only what
a mapping or a page may say.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from runner.model import Id

Where = dict[Id, str | int]
Among = dict[Id, Annotated[list[str | int], Field(min_length=1)]]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Table(BaseModel):
    """Base of all tables of a mapping: a wrong key or type is an error, never ignored or converted."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Pair(Table):
    """Two cases, told apart by the same dimensions."""

    of: Where
    to: Where

    @model_validator(mode="after")
    def _alike(self) -> Self:
        if not self.of or set(self.of) != set(self.to):
            raise ValueError("of and to must name the same dimensions, at least one")
        return self


class Part(Table):
    """One figure of a statement: in the cases ``where``, this value."""

    where: Where
    value: Positive


class Leader(Table):
    """In the cases ``where``, ``first`` is ahead of all others."""

    where: Where
    first: str


class _Statement(Table):
    """``topic`` is what a page asks for; ``where`` holds in all cases, and a page may replace it for a run
    that was measured otherwise; ``among`` lists the values of the dimensions in which cases vary."""

    topic: Id
    metric: str = "rps"
    where: Where = {}
    among: Among = {}


class Within(_Statement):
    """Every pair's ratio, in every case of ``among``, lies from ``low`` to ``high``, rounded as written."""

    kind: Literal["within"]
    pairs: Annotated[list[Pair], Field(min_length=1)]
    low: Positive
    high: Positive

    @model_validator(mode="after")
    def _span(self) -> Self:
        if self.low > self.high:
            raise ValueError("low is above high")
        return self


class Ahead(_Statement):
    """``of`` is better than ``to`` in every case of ``among``."""

    kind: Literal["ahead"]
    pairs: Annotated[list[Pair], Field(min_length=1)]


class Behind(_Statement):
    """``of`` is worse than ``to`` in every case of ``among``."""

    kind: Literal["behind"]
    pairs: Annotated[list[Pair], Field(min_length=1)]


class Alike(_Statement):
    """``of`` and ``to`` cannot be told apart in any case of ``among``; only samples can say so."""

    kind: Literal["alike"]
    pairs: Annotated[list[Pair], Field(min_length=1)]


class Larger(_Statement):
    """The smallest factor of the pairs exceeds the largest that ``values`` of ``dimension`` make of each
    other in any case of ``over``."""

    kind: Literal["larger"]
    pairs: Annotated[list[Pair], Field(min_length=1)]
    dimension: Id
    values: Annotated[list[str], Field(min_length=2)]
    over: Among


class Order(_Statement):
    """Among ``values`` of ``dimension``, these lead; ``unlike`` those conditions, the order is another."""

    kind: Literal["order"]
    dimension: Id
    values: Annotated[list[str], Field(min_length=2)]
    leaders: Annotated[list[Leader], Field(min_length=1)]
    unlike: Where = {}

    @model_validator(mode="after")
    def _known(self) -> Self:
        for leader in self.leaders:
            if leader.first not in self.values:
                raise ValueError(f"the leader {leader.first!r} is not among the values")
        if not self.unlike.keys() <= self.where.keys():
            raise ValueError("unlike must name dimensions of where")
        return self


class Share(_Statement):
    """The pair's ratio is the part's value, rounded as written."""

    kind: Literal["share"]
    pair: Pair
    parts: Annotated[list[Part], Field(min_length=1)]


class Headroom(_Statement):
    """A control's figure is so many times that of the best row that it bounds, rounded as written.

    Each part's ``where`` names the control by its workload.
    """

    kind: Literal["headroom"]
    parts: Annotated[list[Part], Field(min_length=1)]


Statement = Annotated[Within | Ahead | Larger | Order | Share | Headroom, Field(discriminator="kind")]
"""What a mapping may say of published figures."""
Predicate = Within | Ahead | Behind | Alike | Larger | Order | Share | Headroom
"""What a page may claim of a run (`hooks.claims`)."""
