"""The application under test: a FastAPI shop that does real work on every request.

``shop:app`` is what servers run. No database and no artificial delay: validation, look-ups, exact decimal
arithmetic and serialisation, with an answer that depends on the request alone.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated

# Pydantic would read the metadata of every installed distribution, looking for plugins; a server is
# started for every sample, and this shop has none.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

from fastapi import FastAPI, HTTPException, Path, Query

if TYPE_CHECKING:
    from runner.apps import catalogue, pricing
    from runner.apps.counter import Counter
    from runner.apps.identity import Identity
    from runner.apps.orders import Order, Quote, Receipt, Refused, quote, receipt
else:
    import catalogue
    import pricing
    from counter import Counter
    from identity import Identity
    from orders import Order, Quote, Receipt, Refused, quote, receipt


@asynccontextmanager
async def lifespan(api: FastAPI) -> AsyncIterator[None]:
    """Open the shop with its catalogue in memory. Without lifespan the first request makes it."""
    catalogue.items()
    yield
    catalogue.items.cache_clear()


# No schema and documentation routes: nobody asks a server under load for them.
api = FastAPI(title="Shop", lifespan=lifespan, openapi_url=None)


@api.get("/items/{item_id}")
async def get_item(
    item_id: Annotated[int, Path(ge=1, le=1_000_000)],
    quantity: Annotated[int, Query(ge=1, le=1000)] = 1,
    currency: pricing.Currency = pricing.Currency.EUR,
) -> Quote:
    """What some pieces of an item cost."""
    try:
        return quote(item_id, quantity, currency)
    except Refused as error:
        raise HTTPException(error.status, str(error)) from None


@api.post("/orders")
async def create_order(order: Order) -> Receipt:
    """The order priced, as a receipt; nothing is kept of it."""
    try:
        return receipt(order)
    except Refused as error:
        raise HTTPException(error.status, str(error)) from None


app = Identity(api, Counter.from_environment())
