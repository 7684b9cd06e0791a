"""Prices, discounts, shipping and tax: pure functions over `Decimal`, rounded half up to the currency's unit.

Every amount is computed in the currency it is shown in, from the item's EUR price converted once; so the
lines of a receipt add up to its total.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from enum import StrEnum


class Currency(StrEnum):
    """What a customer can pay in."""

    EUR = "EUR"
    USD = "USD"
    GBP = "GBP"
    CHF = "CHF"
    JPY = "JPY"


class Country(StrEnum):
    """Where an order can go."""

    DE = "DE"
    FR = "FR"
    GB = "GB"
    CH = "CH"
    US = "US"
    JP = "JP"


class Tier(StrEnum):
    """A customer's standing."""

    STANDARD = "standard"
    SILVER = "silver"
    GOLD = "gold"


# One EUR in each currency. Fixed, so that an answer never changes.
RATES = {
    Currency.EUR: Decimal("1"),
    Currency.USD: Decimal("1.0825"),
    Currency.GBP: Decimal("0.8550"),
    Currency.CHF: Decimal("0.9450"),
    Currency.JPY: Decimal("163.20"),
}
_UNIT = {currency: Decimal("1") if currency == Currency.JPY else Decimal("0.01") for currency in Currency}

# Pieces of one item from which a volume discount holds, and its per cent; the largest that fits counts.
VOLUME = ((100, Decimal(15)), (50, Decimal(10)), (10, Decimal(5)))
LOYALTY = {Tier.STANDARD: Decimal(0), Tier.SILVER: Decimal(3), Tier.GOLD: Decimal(5)}

# Per cent of tax by country and tax class; exports go out untaxed.
TAX = {
    Country.DE: {"standard": Decimal(19), "reduced": Decimal(7)},
    Country.FR: {"standard": Decimal(20), "reduced": Decimal("5.5")},
    Country.GB: {"standard": Decimal(20), "reduced": Decimal(0)},
    Country.CH: {"standard": Decimal("8.1"), "reduced": Decimal("2.6")},
    Country.US: {"standard": Decimal(0), "reduced": Decimal(0)},
    Country.JP: {"standard": Decimal(0), "reduced": Decimal(0)},
}

# EUR for the parcel and for every kilogram begun.
_NEAR = (Decimal("4.90"), Decimal("0.80"))
_FAR = (Decimal("14.90"), Decimal("2.50"))
SHIPPING = {
    Country.DE: _NEAR,
    Country.FR: _NEAR,
    Country.GB: _NEAR,
    Country.CH: _NEAR,
    Country.US: _FAR,
    Country.JP: _FAR,
}
FREE_SHIPPING_FROM = Decimal("250.00")  # EUR of goods after discounts


def rounded(amount: Decimal, currency: Currency) -> Decimal:
    """The amount in whole cents (or yen), half a unit up."""
    return amount.quantize(_UNIT[currency], ROUND_HALF_UP)


def converted(euros: Decimal, currency: Currency) -> Decimal:
    """An amount in EUR in that currency, rounded."""
    return rounded(euros * RATES[currency], currency)


def share(amount: Decimal, percent: Decimal, currency: Currency) -> Decimal:
    """That many per cent of the amount, rounded."""
    return rounded(amount * percent / 100, currency)


def volume_percent(quantity: int) -> Decimal:
    """The volume discount of that many pieces of one item, in per cent."""
    for pieces, percent in VOLUME:
        if quantity >= pieces:
            return percent
    return Decimal(0)


def shipping(grams: int, country: Country, currency: Currency) -> Decimal:
    """What a parcel of that weight costs; a kilogram begun counts whole."""
    parcel, kilogram = SHIPPING[country]
    return converted(parcel + kilogram * -(-grams // 1000), currency)


def tax(goods: dict[str, Decimal], paid: Decimal, country: Country, currency: Currency) -> Decimal:
    """Tax on goods (amount by tax class) for which ``paid`` is left after the order's discounts.

    Those discounts fall on the classes in proportion; the tax of each class is rounded once.
    """
    total = sum(goods.values())
    rates = TAX[country]
    parts = (rounded(amount * paid / total * rates[kind] / 100, currency) for kind, amount in goods.items())
    return sum(parts, rounded(Decimal(0), currency))
