"""A catalogue of 2,000 items, the same on every machine: made by rule, held in memory."""

from __future__ import annotations

from decimal import Decimal
from functools import cache
from typing import Literal, NamedTuple

SIZE = 2000

TaxClass = Literal["standard", "reduced"]

_MATERIALS = ("Oak", "Steel", "Linen", "Glass", "Cotton", "Bamboo", "Copper", "Walnut")


class Category(NamedTuple):
    """A department: its tax class, its dearest price in cents and its things."""

    name: str
    tax_class: TaxClass
    ceiling: int
    things: tuple[str, ...]


# The number of things differs, so that names do not repeat in step.
_CATEGORIES = (
    Category("kitchen", "standard", 7_900, ("Bowl", "Jug", "Spoon", "Board", "Kettle")),
    Category("books", "reduced", 3_500, ("Notebook", "Atlas", "Cookbook")),
    Category("garden", "standard", 19_900, ("Trowel", "Planter", "Bench", "Lantern")),
    Category("pantry", "reduced", 1_500, ("Tea", "Honey", "Flour", "Salt", "Pepper", "Oats", "Rice")),
    Category("office", "standard", 49_900, ("Desk", "Shelf")),
)


class Item(NamedTuple):
    """One item: ``price`` in EUR without tax, ``weight`` in grams, ``stock`` in pieces."""

    id: int
    sku: str
    name: str
    category: str
    tax_class: TaxClass
    price: Decimal
    weight: int
    stock: int


@cache
def items() -> dict[int, Item]:
    """Every item by its id, from 1 to `SIZE`; made on the first call."""
    return {number: _make(number) for number in range(1, SIZE + 1)}


def _make(number: int) -> Item:
    category = _CATEGORIES[number % len(_CATEGORIES)]
    material = _MATERIALS[number % len(_MATERIALS)]
    thing = category.things[number % len(category.things)]
    # Multiplying by a prime spreads prices, weights and stock without a random generator.
    return Item(
        id=number,
        sku=f"{category.name[:2].upper()}-{number:05d}",
        name=f"{material} {thing}",
        category=category.name,
        tax_class=category.tax_class,
        price=Decimal(149 + number * 7919 % category.ceiling).scaleb(-2),
        weight=80 + number * 613 % 4_900,
        stock=20 + number * 389 % 1_500,
    )
