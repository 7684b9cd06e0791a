"""The application under test that asks another server: a FastAPI proxy in front of an echo upstream.

``proxy:app`` is what servers run. Each route forwards the request's body to the upstream that the
environment variable ``LAPSHEET_UPSTREAM`` names (``http://host:port``) and returns the upstream's answer:
status, content type and bytes, each body held whole in memory and neither parsed nor serialised. A route
uses one client library, through one client a worker that lives as long as the worker.

What both clients share: a pool of at most 100 connections, idle ones kept for 30 s; no settings from the
environment; no compression asked for or undone; no redirect followed. What they cannot share is the
meaning of their timeout of 5 s: of aiohttp it limits the whole exchange, of httpx each phase by itself
(a place in the pool, connecting, each write, each read).
"""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

# As in the shop: no look through the metadata of every installed distribution at each start.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

import aiohttp
import httpx
from fastapi import FastAPI, Request, Response

if TYPE_CHECKING:
    from runner.apps.counter import Counter
    from runner.apps.identity import Identity
else:
    from counter import Counter
    from identity import Identity

UPSTREAM = "LAPSHEET_UPSTREAM"
POOL = 100  # connections a client, and so a worker
IDLE_S = 30.0
TIMEOUT_S = 5.0


def aiohttp_client() -> aiohttp.ClientSession:
    """A new aiohttp client with the settings above; needs a running event loop."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=POOL, keepalive_timeout=IDLE_S),
        timeout=aiohttp.ClientTimeout(total=TIMEOUT_S),
        trust_env=False,
        auto_decompress=False,
        skip_auto_headers=["Accept-Encoding"],
    )


def httpx_client() -> httpx.AsyncClient:
    """A new httpx client with the settings above."""
    client = httpx.AsyncClient(
        limits=httpx.Limits(max_connections=POOL, max_keepalive_connections=POOL, keepalive_expiry=IDLE_S),
        timeout=httpx.Timeout(TIMEOUT_S),
        trust_env=False,
    )
    del client.headers["accept-encoding"]
    return client


@asynccontextmanager
async def lifespan(api: FastAPI) -> AsyncIterator[None]:
    """Both clients of this worker, open from its start to its end.

    Raises RuntimeError where ``LAPSHEET_UPSTREAM`` names no upstream.
    """
    upstream = os.environ.get(UPSTREAM, "")
    if not upstream.startswith("http://"):
        raise RuntimeError(f"{UPSTREAM} is {upstream!r}: it must be the http://host:port of an echo upstream")
    async with aiohttp_client() as session, httpx_client() as client:
        api.state.echo, api.state.session, api.state.client = f"{upstream}/echo", session, client
        yield


api = FastAPI(title="Proxy", lifespan=lifespan, openapi_url=None)


@api.post("/proxy/aiohttp")
async def by_aiohttp(request: Request) -> Response:
    """Forward the body with aiohttp."""
    session: aiohttp.ClientSession = request.app.state.session
    body = await request.body()
    try:
        async with session.post(
            request.app.state.echo, data=body, headers=_described(request.headers), allow_redirects=False
        ) as answer:
            return Response(await answer.read(), answer.status, _described(answer.headers))
    except TimeoutError as error:  # before ClientError: some of aiohttp's timeouts are both
        return _timed_out("aiohttp", error)
    except aiohttp.ClientError as error:
        return _failed("aiohttp", error)


@api.post("/proxy/httpx")
async def by_httpx(request: Request) -> Response:
    """Forward the body with httpx."""
    client: httpx.AsyncClient = request.app.state.client
    body = await request.body()
    try:
        # A stream, because a plain `post` would undo a compression that nobody asked for.
        async with client.stream(
            "POST", request.app.state.echo, content=body, headers=_described(request.headers)
        ) as answer:
            whole = b"".join([part async for part in answer.aiter_raw()])
            return Response(whole, answer.status_code, _described(answer.headers))
    except httpx.TimeoutException as error:
        return _timed_out("httpx", error)
    except httpx.HTTPError as error:
        return _failed("httpx", error)


def _described(headers: Mapping[str, str]) -> dict[str, str]:
    """Of a body's headers those that say what its bytes are."""
    return {name: headers[name] for name in ("content-type", "content-encoding") if name in headers}


def _timed_out(client: str, error: Exception) -> Response:
    timeouts.increment()
    return Response(f"{client} timed out: {error!r}", 504, media_type="text/plain")


def _failed(client: str, error: Exception) -> Response:
    return Response(f"{client} failed: {error!r}", 502, media_type="text/plain")


_requests = Counter.from_environment()
timeouts = _requests.beside(".timeouts")
app = Identity(api, _requests, timeouts)
