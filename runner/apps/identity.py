"""Who answers, and how often it did: a pure-ASGI wrapper around the application under test.

It stands outside the framework, so that a request costs one comparison and one increment more than
without it; `cost` measures that.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runner.apps.counter import Counter

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

PATH = "/_identity"


class Identity:
    """Answers `PATH` itself and counts every other HTTP request on entry, before the application sees it.

    ``timeouts`` is for an application that counts those of its own timeouts that fire.
    """

    def __init__(self, app: Application, counter: Counter, timeouts: Counter | None = None) -> None:
        self.app = app
        self.counter = counter
        self.timeouts = timeouts

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            if scope["path"] == PATH:
                return await self._answer(scope, send)
            self.counter.increment()
        return await self.app(scope, receive, send)

    async def _answer(self, scope: Message, send: Send) -> None:
        body = json.dumps(self.describe(scope)).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def describe(self, scope: Message) -> dict[str, Any]:
        """What the endpoint says; call it inside the running event loop.

        ``loop`` is the full class name of the event loop, ``affinity`` the CPUs of the calling thread,
        ``workers`` the count by pid of all workers that share the counter, ``requests`` their sum,
        ``http`` the protocol version of this very request. ``timeouts``, there only for an application
        that counts them, is how many have fired in all workers. Raises CounterError without a free slot.
        """
        self.counter.claim()
        workers = self.counter.totals()
        loop = type(asyncio.get_running_loop())
        description: dict[str, Any] = {
            "pid": os.getpid(),
            "ppid": os.getppid(),
            "loop": f"{loop.__module__}.{loop.__qualname__}",
            "affinity": sorted(os.sched_getaffinity(0)),
            "requests": sum(workers.values()),
            "workers": {str(pid): count for pid, count in workers.items()},
            "http": scope.get("http_version"),
        }
        if self.timeouts is not None:
            self.timeouts.claim()  # without it this process does not see the others' counts
            description["timeouts"] = sum(self.timeouts.totals().values())
        return description


def cost(counter: Counter, n: int = 50_000) -> float:
    """Seconds a request that wrapper and counter add to an application: the best of five batches.

    The same call of an empty application without the wrapper is measured and taken off. Counts into
    ``counter``.
    """
    batch = max(n // 5, 1)
    counter.claim()
    return (_best(Identity(_nothing, counter), batch) - _best(_nothing, batch)) / batch


async def _nothing(scope: Message, receive: Receive, send: Send) -> None:
    return None


async def _never() -> Message:
    raise AssertionError("not called")


async def _nowhere(message: Message) -> None:
    raise AssertionError("not called")


def _best(app: Application, batch: int) -> float:
    async def call() -> None:
        scope = {"type": "http", "path": "/items/42"}
        for _ in range(batch):
            await app(scope, _never, _nowhere)

    times = []
    for _ in range(5):
        start = time.perf_counter()
        asyncio.run(call())
        times.append(time.perf_counter() - start)
    return min(times)
