"""What was stated with the published figures, as claims on the run that this repository pins."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from sites import ROOT

from hooks import loading
from hooks.cache import Cache
from hooks.claims import claim
from hooks.view import View
from runner.errors import AnalysisError

RUN = "ref-published-aiohttp-asgi"
RLOOP, UVLOOP, ASYNCIO = LOOPS = ["aiohttp-asgi-rloop", "aiohttp-asgi-uvloop", "aiohttp-asgi-asyncio"]
PROXY = ["aiohttp-1k", "httpx-1k", "aiohttp-64k", "httpx-64k"]
CLIENTS = {
    "of": [{"workload": "aiohttp-1k"}, {"workload": "aiohttp-64k"}],
    "to": [{"workload": "httpx-1k"}, {"workload": "httpx-64k"}],
}
HTTPX = {"workload": "httpx-1k", "workers": 4}

# Kind, arguments, how the sentence begins; the case that a falsified copy changes, and by what factor.
REFERENCE: list[tuple[str, dict[str, Any], str, dict[str, Any], float]] = [
    (
        "within",
        {**CLIENTS, "low": 3.5, "high": 4.1, "server": LOOPS, "workers": 4},
        "aiohttp, 1 KiB has 3.5–4.1× the throughput of httpx, 1 KiB, as aiohttp, 64 KiB has of httpx, "
        "64 KiB, with 4 workers, in all 6 cases: ",
        {**HTTPX, "server": UVLOOP},
        1.2,
    ),
    (
        "larger",
        {**CLIENTS, "than": "server", "values": LOOPS, "workers": 4},
        "In throughput, aiohttp, 1 KiB over httpx, 1 KiB and aiohttp, 64 KiB over httpx, 64 KiB are larger "
        "factors for each of aiohttp-asgi, rloop, aiohttp-asgi, uvloop and aiohttp-asgi, asyncio than any "
        "between two of these on the same workload with 4 workers: the smallest 3.49× (aiohttp-asgi, asyncio "
        "· aiohttp, 64 KiB), the largest of the other 1.15× (httpx, 1 KiB) (published).",
        {**HTTPX, "server": UVLOOP},
        4.0,
    ),
    (
        "faster",
        {"server": UVLOOP, "than": RLOOP, "workload": PROXY, "workers": 4},
        "aiohttp-asgi, uvloop has a higher throughput than aiohttp-asgi, rloop with 4 workers, in all 4 "
        "cases: ",
        {**HTTPX, "server": UVLOOP},
        0.8,
    ),
    (
        "within",
        {"of": {"workers": 4}, "to": {"workers": 1}, "low": 3.4, "high": 3.7, "server": [RLOOP, UVLOOP]},
        "4 workers have 3.4–3.7× the throughput of 1 worker, in all 4 cases: ",
        {"server": RLOOP, "workload": "get_item", "workers": 1},
        1.1,
    ),
    (
        "order",
        {
            "first": {"get_item": UVLOOP, "create_order": ASYNCIO},
            "values": LOOPS,
            "unlike": {"workers": 4},
            "workers": 1,
        },
        "Of aiohttp-asgi, rloop, aiohttp-asgi, uvloop and aiohttp-asgi, asyncio with 1 worker, aiohttp-asgi, "
        "uvloop has the highest throughput on GET /items/{id} and aiohttp-asgi, asyncio on POST /orders; "
        "with 4 workers their order is different: ",
        {"server": UVLOOP, "workload": "get_item", "workers": 1},
        0.9,
    ),
    (
        "share",
        {
            "of": {"server": RLOOP},
            "to": {"server": "uvicorn-httptools"},
            "share": {"get_item": 0.78, "create_order": 0.73},
            "workers": 4,
        },
        "aiohttp-asgi, rloop has 78 % of the throughput of Uvicorn, uvloop, httptools on GET /items/{id} and "
        "73 % on POST /orders, with 4 workers: ",
        {"server": RLOOP, "workload": "create_order", "workers": 4},
        1.05,
    ),
    (
        "headroom",
        {"times": {"direct-1k": 5, "direct-64k": 4}, "workers": 4},
        "The upstream by itself has 5 times (Direct, 1 KiB) and 4 times (Direct, 64 KiB) the throughput of "
        "the best row that it bounds, with 4 workers: ",
        {"workload": "direct-64k"},
        1.2,
    ),
]
IDS = [f"{kind}-{i}" for i, (kind, *_) in enumerate(REFERENCE)]


@pytest.fixture(scope="module")
def published() -> View:
    found = loading.load(ROOT / "artifacts", [RUN], Cache(None))[RUN]
    assert isinstance(found, View)
    return found


def falsified(view: View, where: dict[str, Any], factor: float) -> View:
    """A copy in which the throughput of one case is another."""
    (case,) = (
        case.id
        for case in view.run.cases
        if all(case.dimensions.get(name) == value for name, value in where.items())
    )
    columns = {name: list(values) for name, values in view.columns.items()}
    for place, row in enumerate(zip(columns["case"], columns["metric"], strict=True)):
        if row == (case, "rps"):
            for name in ("median", "low", "high"):
                columns[name][place] *= factor
    seen = (view.id, view.key, view.manifest_sha256, view.manifest_size, view.folder)
    return View(*seen, view.run, view.attempts, columns)


@pytest.mark.parametrize(("kind", "arguments", "sentence", "where", "factor"), REFERENCE, ids=IDS)
def test_what_was_stated_is_a_claim_that_holds(
    published: View, kind: str, arguments: dict[str, Any], sentence: str, where: dict[str, Any], factor: float
) -> None:
    found = claim(published, kind, arguments)
    text = html.unescape(re.sub(r"<[^>]+>", "", found))
    assert text.startswith(sentence), text
    assert text.endswith("(published).")
    assert 'title="published by others, not measured here"' in found


@pytest.mark.parametrize(("kind", "arguments", "sentence", "where", "factor"), REFERENCE, ids=IDS)
def test_what_was_stated_fails_on_falsified_figures(
    published: View, kind: str, arguments: dict[str, Any], sentence: str, where: dict[str, Any], factor: float
) -> None:
    with pytest.raises(AnalysisError, match=r"^false claim: .*The data says: .*does not hold"):
        claim(falsified(published, where, factor), kind, arguments)


def test_the_claims_are_the_statements_of_the_mapping(published: View) -> None:
    """Each kind of the mapping is claimed above, under a claim's name for it."""
    from hooks.statements import statements_of

    names = {"ahead": "faster"}
    stated = sorted(names.get(item.kind, item.kind) for item in statements_of(published))
    assert stated == sorted(kind for kind, *_ in REFERENCE)
