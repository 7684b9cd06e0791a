"""Orders: the models of a request and of a receipt, and the way from one to the other."""

from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, NamedTuple, Self
from zlib import crc32

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

if TYPE_CHECKING:
    from runner.apps import catalogue, pricing
else:
    import catalogue
    import pricing

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=120)]
Email = Annotated[str, StringConstraints(pattern=r"^[^@\s]{1,64}@[^@\s]{1,180}\.[a-z]{2,24}$", to_lower=True)]
Quantity = Annotated[int, Field(ge=1, le=1000)]


class Refused(Exception):
    """An order or quote that is well-formed and cannot be had; ``status`` is the HTTP status that says so."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Strict(BaseModel):
    """Base of what customers send: a field that nobody asked for is an error."""

    model_config = ConfigDict(extra="forbid")


class Customer(Strict):
    """Who orders."""

    name: Text
    email: Email
    tier: pricing.Tier = pricing.Tier.STANDARD


class Address(Strict):
    """Where it goes."""

    street: Text
    city: Text
    postal_code: Annotated[str, StringConstraints(pattern=r"^[A-Z0-9][A-Z0-9 -]{2,9}$")]
    country: pricing.Country


class Line(Strict):
    """Some pieces of one item."""

    item_id: Annotated[int, Field(ge=1, le=1_000_000)]
    quantity: Quantity


class Coupon(Strict):
    """A code that was given out."""

    code: Annotated[str, StringConstraints(pattern=r"^[A-Z]{3,12}[0-9]{0,4}$")]


class Order(Strict):
    """What ``POST /orders`` takes: up to fifty lines, each item on one line only."""

    customer: Customer
    address: Address
    lines: Annotated[list[Line], Field(min_length=1, max_length=50)]
    coupon: Coupon | None = None
    currency: pricing.Currency = pricing.Currency.EUR

    @model_validator(mode="after")
    def _each_item_once(self) -> Self:
        seen = {line.item_id for line in self.lines}
        if len(seen) < len(self.lines):
            raise ValueError("an item is on more than one line")
        return self


class PricedLine(BaseModel):
    """A line of a receipt. ``total`` is what is left of ``gross`` after the volume discount, without tax."""

    item_id: int
    sku: str
    name: str
    quantity: int
    unit_price: Decimal
    gross: Decimal
    discount_percent: Decimal
    discount: Decimal
    total: Decimal


class Quote(PricedLine):
    """What ``GET /items/{id}`` answers: the item, and what some pieces of it cost."""

    category: str
    currency: pricing.Currency
    in_stock: bool


class Receipt(BaseModel):
    """What ``POST /orders`` answers; amounts in ``currency``, ``total`` what the customer pays."""

    reference: str
    customer: str
    email: str
    ship_to: str
    currency: pricing.Currency
    lines: list[PricedLine]
    pieces: int
    weight_grams: int
    subtotal: Decimal
    loyalty_discount: Decimal
    coupon_code: str | None
    coupon_discount: Decimal
    shipping: Decimal
    tax: Decimal
    total: Decimal


class Offer(NamedTuple):
    """What a coupon gives on the goods or the shipping; ``euros`` and ``minimum`` are EUR of goods."""

    percent: Decimal = Decimal(0)
    euros: Decimal = Decimal(0)
    free_shipping: bool = False
    minimum: Decimal = Decimal(0)


OFFERS = {
    "WELCOME10": Offer(percent=Decimal(10)),
    "FIVE": Offer(euros=Decimal("5.00"), minimum=Decimal("50.00")),
    "BULK20": Offer(percent=Decimal(20), minimum=Decimal("1000.00")),
    "FREESHIP": Offer(free_shipping=True),
}


def quote(item_id: int, quantity: int, currency: pricing.Currency) -> Quote:
    """The price of some pieces of an item. Raises Refused if there is no such item."""
    item = _find(item_id)
    return Quote(
        **_priced(item, quantity, currency),
        category=item.category,
        currency=currency,
        in_stock=quantity <= item.stock,
    )


def receipt(order: Order) -> Receipt:
    """The order priced. Raises Refused: an unknown item or coupon, too little stock, too small an order."""
    currency, country = order.currency, order.address.country
    lines: list[PricedLine] = []
    goods: dict[str, Decimal] = {}
    weight = 0
    for line in order.lines:
        item = _find(line.item_id)
        if line.quantity > item.stock:
            raise Refused(409, f"item {item.id}: {item.stock} in stock, {line.quantity} ordered")
        priced = PricedLine(**_priced(item, line.quantity, currency))
        lines.append(priced)
        goods[item.tax_class] = goods.get(item.tax_class, Decimal(0)) + priced.total
        weight += item.weight * line.quantity
    subtotal = sum((line.total for line in lines), Decimal(0))
    loyalty = pricing.share(subtotal, pricing.LOYALTY[order.customer.tier], currency)
    offer = _offer(order.coupon, subtotal, currency)
    # The coupon counts on what the loyalty discount left, and never makes the goods cost less than nothing.
    left = subtotal - loyalty
    off = pricing.share(left, offer.percent, currency) + pricing.converted(offer.euros, currency)
    off = min(off, left)
    paid = left - off
    shipping = pricing.shipping(weight, country, currency)
    if offer.free_shipping or paid >= pricing.converted(pricing.FREE_SHIPPING_FROM, currency):
        shipping = pricing.converted(Decimal(0), currency)
    tax = pricing.tax(goods, paid, country, currency)
    return Receipt(
        reference=_reference(order),
        customer=order.customer.name,
        email=order.customer.email,
        ship_to=f"{order.address.street}, {order.address.postal_code} {order.address.city}, {country}",
        currency=currency,
        lines=lines,
        pieces=sum(line.quantity for line in lines),
        weight_grams=weight,
        subtotal=subtotal,
        loyalty_discount=loyalty,
        coupon_code=order.coupon.code if order.coupon else None,
        coupon_discount=off,
        shipping=shipping,
        tax=tax,
        total=paid + shipping + tax,
    )


def _find(item_id: int) -> catalogue.Item:
    item = catalogue.items().get(item_id)
    if item is None:
        raise Refused(404, f"no item {item_id}")
    return item


def _priced(item: catalogue.Item, quantity: int, currency: pricing.Currency) -> dict[str, object]:
    unit = pricing.converted(item.price, currency)
    gross = unit * quantity
    percent = pricing.volume_percent(quantity)
    discount = pricing.share(gross, percent, currency)
    return {
        "item_id": item.id,
        "sku": item.sku,
        "name": item.name,
        "quantity": quantity,
        "unit_price": unit,
        "gross": gross,
        "discount_percent": percent,
        "discount": discount,
        "total": gross - discount,
    }


def _offer(coupon: Coupon | None, subtotal: Decimal, currency: pricing.Currency) -> Offer:
    if coupon is None:
        return Offer()
    offer = OFFERS.get(coupon.code)
    if offer is None:
        raise Refused(404, f"no coupon {coupon.code}")
    minimum = pricing.converted(offer.minimum, currency)
    if subtotal < minimum:
        raise Refused(409, f"coupon {coupon.code} needs goods for {minimum} {currency}")
    return offer


def _reference(order: Order) -> str:
    # A checksum of the order itself: equal orders get equal receipts, on every worker.
    lines = ",".join(f"{line.item_id}x{line.quantity}" for line in order.lines)
    return f"R{crc32(f'{order.customer.email} {order.currency} {lines}'.encode()):08X}"
