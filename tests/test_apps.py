"""The application under test: its answers, its identity and its request counter."""

from __future__ import annotations

import asyncio
import http.client
import json
import multiprocessing
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest

from runner import suite
from runner.apps import counter as counters
from runner.apps import identity
from tests.capturing import ended

APPS = Path(counters.__file__).parent
REST = suite.load("rest")
# The shop's modules import each other by plain name, as they do under every server.
sys.path.insert(0, str(APPS))
import shop  # noqa: E402


def ask(method: str, path: str, app: Any = shop.app, **request: Any) -> httpx.Response:
    async def call() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://shop") as client:
            return await client.request(method, path, **request)

    return asyncio.run(call())


def quote(item: int, **query: Any) -> dict[str, Any]:
    answer = ask("GET", f"/items/{item}", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def order(**changes: Any) -> dict[str, Any]:
    return {
        "customer": {"name": "Grace Hopper", "email": "grace@example.org"},
        "address": {"street": "1 Main St", "city": "Paris", "postal_code": "75002", "country": "FR"},
        "lines": [{"item_id": 42, "quantity": 1}],
        **changes,
    }


def receipt(**changes: Any) -> dict[str, Any]:
    answer = ask("POST", "/orders", json=order(**changes))
    assert answer.status_code == 200, answer.text
    return answer.json()


# --- Quotes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workload", REST.suite.workload, ids=lambda workload: workload.name)
def test_answers_are_what_the_suite_expects(workload: suite.Workload) -> None:
    answer = ask(workload.method, workload.path, headers=workload.headers, content=workload.body)
    assert answer.status_code == workload.expect.status
    assert answer.json() == workload.expect.json_
    again = ask(workload.method, workload.path, headers=workload.headers, content=workload.body)
    assert again.content == answer.content


@pytest.mark.parametrize(
    ("currency", "unit", "gross"),
    [
        ("EUR", "143.47", "430.41"),
        ("USD", "155.31", "465.93"),  # 155.306275
        ("GBP", "122.67", "368.01"),  # 122.66685
        ("CHF", "135.58", "406.74"),  # 135.57915
        ("JPY", "23414", "70242"),  # 23414.304, and no smaller unit than the yen
    ],
)
def test_currencies(currency: str, unit: str, gross: str) -> None:
    answer = quote(42, quantity=3, currency=currency)
    assert (answer["unit_price"], answer["gross"], answer["total"]) == (unit, gross, gross)
    assert answer["currency"] == currency


@pytest.mark.parametrize(
    ("quantity", "percent", "discount", "total"),
    [
        (1, "0", "0.00", "5.01"),
        (9, "0", "0.00", "45.09"),
        (10, "5", "2.51", "47.59"),  # 2.505: half a cent goes up, to the even neighbour it would go down
        (49, "5", "12.27", "233.22"),  # 12.2745
        (50, "10", "25.05", "225.45"),
        (99, "10", "49.60", "446.39"),  # 49.599
        (100, "15", "75.15", "425.85"),
    ],
)
def test_volume_discounts(quantity: int, percent: str, discount: str, total: str) -> None:
    answer = quote(8, quantity=quantity)
    assert (answer["discount_percent"], answer["discount"], answer["total"]) == (percent, discount, total)


def test_a_quote_says_whether_the_stock_suffices() -> None:
    assert quote(8, quantity=132)["in_stock"] is True
    assert quote(8, quantity=133)["in_stock"] is False


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/items/0", ["path", "item_id"]),
        ("/items/1000001", ["path", "item_id"]),
        ("/items/one", ["path", "item_id"]),
        ("/items/42?quantity=0", ["query", "quantity"]),
        ("/items/42?quantity=1001", ["query", "quantity"]),
        ("/items/42?quantity=2.5", ["query", "quantity"]),
        ("/items/42?currency=eur", ["query", "currency"]),
    ],
)
def test_a_bad_quote_request_is_refused(path: str, place: list[str]) -> None:
    answer = ask("GET", path)
    assert answer.status_code == 422
    assert [error["loc"] for error in answer.json()["detail"]] == [place]


def test_an_unknown_item_is_not_found() -> None:
    answer = ask("GET", "/items/2001")
    assert (answer.status_code, answer.json()) == (404, {"detail": "no item 2001"})


# --- Orders ------------------------------------------------------------------------------------------


def test_discounts_shipping_and_tax_of_an_order() -> None:
    """Item 42 costs 143.47 (standard rate, 1,326 g), item 8 5.01 (reduced rate, 84 g)."""
    lines = [{"item_id": 42, "quantity": 2}, {"item_id": 8, "quantity": 10}]
    customer = {"name": "Grace Hopper", "email": "Grace@Example.org", "tier": "silver"}
    got = receipt(customer=customer, lines=lines, coupon={"code": "FIVE"})
    assert [line["total"] for line in got["lines"]] == ["286.94", "47.59"]
    assert got["subtotal"] == "334.53"
    assert got["loyalty_discount"] == "10.04"  # 3 % are 10.0359
    assert got["coupon_discount"] == "5.00"
    assert got["shipping"] == "0.00"  # 319.49 are left, free from 250.00
    # 286.94 × 319.49 / 334.53 × 20 % = 54.808 and 47.59 × 319.49 / 334.53 × 5.5 % = 2.4998
    assert got["tax"] == "57.31"
    assert got["total"] == "376.80"
    assert (got["pieces"], got["weight_grams"], got["email"]) == (12, 3492, "grace@example.org")


@pytest.mark.parametrize(
    ("country", "shipping", "tax"),
    [
        ("DE", "6.50", "27.26"),  # 4.90 and 0.80 for each of two kilograms begun; 19 % of 143.47
        ("FR", "6.50", "28.69"),
        ("CH", "6.50", "11.62"),
        ("US", "19.90", "0.00"),
    ],
)
def test_shipping_and_tax_depend_on_the_country(country: str, shipping: str, tax: str) -> None:
    got = receipt(address={**order()["address"], "country": country})
    assert (got["shipping"], got["tax"]) == (shipping, tax)


@pytest.mark.parametrize(
    ("code", "quantity", "discount", "shipping"),
    [
        ("WELCOME10", 1, "14.35", "6.50"),  # 14.347
        ("FREESHIP", 1, "0.00", "0.00"),
        ("FIVE", 1, "5.00", "6.50"),
        ("BULK20", 7, "200.86", "0.00"),  # of 1,004.29
    ],
)
def test_coupons(code: str, quantity: int, discount: str, shipping: str) -> None:
    got = receipt(lines=[{"item_id": 42, "quantity": quantity}], coupon={"code": code})
    assert (got["coupon_code"], got["coupon_discount"], got["shipping"]) == (code, discount, shipping)


@pytest.mark.parametrize(
    ("changes", "status", "detail"),
    [
        ({"coupon": {"code": "NOSUCH"}}, 404, "no coupon NOSUCH"),
        ({"coupon": {"code": "BULK20"}}, 409, "coupon BULK20 needs goods for 1000.00 EUR"),
        (
            {"coupon": {"code": "BULK20"}, "currency": "JPY"},
            409,
            "coupon BULK20 needs goods for 163200 JPY",
        ),
        ({"lines": [{"item_id": 1_000_000, "quantity": 1}]}, 404, "no item 1000000"),
        ({"lines": [{"item_id": 8, "quantity": 133}]}, 409, "item 8: 132 in stock, 133 ordered"),
    ],
)
def test_an_order_that_cannot_be_had(changes: dict[str, Any], status: int, detail: str) -> None:
    answer = ask("POST", "/orders", json=order(**changes))
    assert (answer.status_code, answer.json()) == (status, {"detail": detail})


LINE = {"item_id": 42, "quantity": 1}


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"gift": True}, ["body", "gift"]),
        ({"customer": {"name": " ", "email": "a@example.org"}}, ["body", "customer", "name"]),
        ({"customer": {"name": "A", "email": "nobody"}}, ["body", "customer", "email"]),
        ({"customer": {"name": "A", "email": "a@b.org", "tier": "tin"}}, ["body", "customer", "tier"]),
        ({"address": {**order()["address"], "country": "XX"}}, ["body", "address", "country"]),
        ({"address": {**order()["address"], "postal_code": "?"}}, ["body", "address", "postal_code"]),
        ({"lines": []}, ["body", "lines"]),
        ({"lines": [{"item_id": n, "quantity": 1} for n in range(1, 52)]}, ["body", "lines"]),
        ({"lines": [LINE, {"item_id": 7, "quantity": 0}]}, ["body", "lines", 1, "quantity"]),
        ({"lines": [LINE, LINE]}, ["body"]),
        ({"coupon": {"code": "welcome"}}, ["body", "coupon", "code"]),
        ({"currency": "XXX"}, ["body", "currency"]),
    ],
)
def test_a_bad_order_is_refused(changes: dict[str, Any], place: list[str | int]) -> None:
    answer = ask("POST", "/orders", json=order(**changes))
    assert answer.status_code == 422
    assert [error["loc"] for error in answer.json()["detail"]] == [place]


def test_a_body_that_is_no_json_is_refused() -> None:
    answer = ask("POST", "/orders", content="{", headers={"content-type": "application/json"})
    assert answer.status_code == 422


def test_every_receipt_adds_up() -> None:
    chance = random.Random(42)
    for _ in range(60):
        numbers = chance.sample(range(1, 2001), chance.randint(1, 8))
        got = receipt(
            customer={"name": "A", "email": "a@b.org", "tier": chance.choice(["standard", "silver", "gold"])},
            address={**order()["address"], "country": chance.choice(["DE", "FR", "GB", "CH", "US", "JP"])},
            lines=[{"item_id": number, "quantity": chance.randint(1, 20)} for number in numbers],
            coupon=chance.choice([None, {"code": "WELCOME10"}, {"code": "FREESHIP"}]),
            currency=chance.choice(["EUR", "USD", "GBP", "CHF", "JPY"]),
        )
        amount = {
            key: Decimal(got[key])
            for key in ("subtotal", "loyalty_discount", "coupon_discount", "shipping", "tax", "total")
        }
        exponent = 0 if got["currency"] == "JPY" else -2
        assert {value.as_tuple().exponent for value in amount.values()} == {exponent}
        for line in got["lines"]:
            assert Decimal(line["gross"]) == Decimal(line["unit_price"]) * line["quantity"]
            assert Decimal(line["total"]) == Decimal(line["gross"]) - Decimal(line["discount"])
        assert amount["subtotal"] == sum(Decimal(line["total"]) for line in got["lines"])
        paid = amount["subtotal"] - amount["loyalty_discount"] - amount["coupon_discount"]
        assert amount["total"] == paid + amount["shipping"] + amount["tax"]


def test_the_lifespan_opens_and_closes_the_catalogue() -> None:
    async def live() -> tuple[int, int]:
        shop.catalogue.items.cache_clear()
        async with shop.lifespan(shop.api):
            opened = shop.catalogue.items.cache_info().currsize
        return opened, shop.catalogue.items.cache_info().currsize

    assert asyncio.run(live()) == (1, 0)


# --- Identity and counter ----------------------------------------------------------------------------


def test_identity_names_the_process_and_counts_the_others_requests() -> None:
    app = identity.Identity(shop.api, counters.Counter())
    first = ask("GET", "/_identity", app).json()
    assert first == {
        "pid": os.getpid(),
        "ppid": os.getppid(),
        "loop": "asyncio.unix_events._UnixSelectorEventLoop",
        "affinity": sorted(os.sched_getaffinity(0)),
        "requests": 0,
        "workers": {str(os.getpid()): 0},
        "http": "1.1",
    }
    for path in ("/items/42", "/items/0", "/nothing"):
        ask("GET", path, app)
    assert ask("GET", "/_identity", app).json()["requests"] == 3


def test_a_request_counts_on_entry() -> None:
    count = counters.Counter()

    async def fails(scope: Any, receive: Any, send: Any) -> None:
        assert count.totals() == {os.getpid(): 1}
        raise RuntimeError("boom")

    with pytest.raises(RuntimeError, match="boom"):
        ask("GET", "/", identity.Identity(fails, count))
    assert count.totals() == {os.getpid(): 1}


def fork(work: Callable[[], None]) -> multiprocessing.process.BaseProcess:
    process = multiprocessing.get_context("fork").Process(target=work, daemon=True)
    process.start()
    return process


def test_concurrent_processes_lose_no_count(tmp_path: Path) -> None:
    path = tmp_path / "counters"
    counters.create(path, 8)
    count = counters.Counter(path)
    count.increment()
    # All are alive with a slot each before any goes on: a claim must not wait for another's end.
    meeting = multiprocessing.get_context("fork").Barrier(6)

    def work() -> None:
        count.increment()
        meeting.wait(10)
        for _ in range(20_000):
            count.increment()

    processes = [fork(work) for _ in range(6)]
    end = time.monotonic() + 15
    for process in processes:
        process.join(max(end - time.monotonic(), 0))
    assert [process.exitcode for process in processes] == [0] * 6
    expected = {process.pid: 20_001 for process in processes}
    assert counters.read(path) == {os.getpid(): 1, **expected}
    count.increment()
    assert count.totals() == {os.getpid(): 2, **expected}


def test_a_restarted_worker_takes_a_new_slot(tmp_path: Path) -> None:
    path = tmp_path / "counters"
    counters.create(path, 2)
    pids = []
    for _ in range(2):
        process = fork(counters.Counter(path).increment)
        process.join(10)
        pids.append(process.pid)
    assert counters.read(path) == dict.fromkeys(pids, 1)


def test_two_slots_of_one_pid_are_one_total(tmp_path: Path) -> None:
    path = tmp_path / "counters"
    counters.create(path, 2)
    for _ in range(2):
        counters.Counter(path).increment()
    assert counters.read(path) == {os.getpid(): 2}


def test_no_slot_left_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "counters"
    counters.create(path, 1)
    counters.Counter(path).increment()
    late = counters.Counter(path)
    for _ in range(2):
        with pytest.raises(counters.CounterError, match=r"counters: all 1 slots are taken, none for pid \d+"):
            late.increment()
    assert counters.read(path) == {os.getpid(): 1}


def test_a_wrong_counter_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = tmp_path / "counters"
    with pytest.raises(counters.CounterError, match=r"counters \(from LAPSHEET_COUNTERS\): No such file"):
        counters.Counter(path).increment()
    for size in (0, 17):
        path.write_bytes(bytes(size))
        with pytest.raises(counters.CounterError, match=f"counters: {size} bytes is not a number"):
            counters.Counter(path).increment()
    with pytest.raises(counters.CounterError, match="17 bytes"):
        counters.read(path)


def test_a_counter_file_is_never_cut_under_its_readers(tmp_path: Path) -> None:
    path = tmp_path / "counters"
    counters.create(path, 4)
    assert path.stat().st_size == 4 * 16
    with pytest.raises(FileExistsError):
        counters.create(path, 4)
    with pytest.raises(ValueError, match="slots: 0"):
        counters.create(tmp_path / "none", 0)


def test_private_counts_start_anew_in_a_child() -> None:
    count = counters.Counter()
    count.increment()

    def work() -> None:
        count.increment()
        assert count.totals() == {os.getpid(): 1}

    process = fork(work)
    process.join(10)
    assert process.exitcode == 0
    assert count.totals() == {os.getpid(): 1}


def test_counting_costs_little_beside_a_request() -> None:
    assert 0 < counters.cost(20_000) < 10e-6
    assert 0 < identity.cost(counters.Counter(), 20_000) < 30e-6


# --- The suite and real servers ----------------------------------------------------------------------


def test_the_suite_has_every_published_configuration() -> None:
    assert [server.name for server in REST.suite.server] == [
        "aiohttp-asgi-rloop",
        "aiohttp-asgi-uvloop",
        "aiohttp-asgi-asyncio",
        "anycorn",
        "granian",
        "granian-rloop",
        "gunicorn-asgi",
        "gunicorn-uvicorn",
        "hypercorn-asyncio",
        "hypercorn-uvloop",
        "uvicorn-h11",
        "uvicorn-httptools",
        "uvicorn-rloop",
        "daphne",
    ]
    assert all(server.loop and server.requires and server.attributes for server in REST.suite.server)
    assert [server.name for server in REST.suite.server if not server.lifespan] == ["daphne"]
    assert REST.directory == APPS


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


@contextmanager
def serving(name: str, port: int, workers: int, shared: Path) -> Iterator[subprocess.Popen[bytes]]:
    server = next(server for server in REST.suite.server if server.name == name)
    values = {"host": "127.0.0.1", "port": port, "workers": workers, "python": sys.executable}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    process = subprocess.Popen(
        server.argv(app=REST.suite.app, **values),
        cwd=REST.directory,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(APPS), counters.VARIABLE: str(shared)},
        start_new_session=True,
    )
    with ended(process):
        yield process


def fetch(port: int, path: str) -> Any:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()


def wait_until(true: Callable[[], bool], limit: float = 15) -> None:
    end = time.monotonic() + limit
    while time.monotonic() < end:
        try:
            if true():
                return
        except OSError:
            pass
        time.sleep(0.01)
    pytest.fail("timed out")


def test_a_real_server_tells_its_workers_and_its_loop(tmp_path: Path) -> None:
    shared = tmp_path / "counters"
    counters.create(shared, 16)
    port = free_port()
    seen: dict[int, dict[str, Any]] = {}

    def all_seen() -> bool:
        answer = fetch(port, "/_identity")
        seen[answer["pid"]] = answer
        return len(seen) == 2

    with serving("uvicorn-httptools", port, 2, shared) as process:
        wait_until(all_seen)
        for _ in range(20):
            assert fetch(port, "/items/42")["item_id"] == 42
        last = fetch(port, "/_identity")
    assert {answer["loop"] for answer in seen.values()} == {"uvloop.Loop"}
    assert {answer["ppid"] for answer in seen.values()} == {process.pid}
    assert last["requests"] == 20
    assert {int(pid): count for pid, count in last["workers"].items()} == counters.read(shared)
    assert set(counters.read(shared)) == set(seen)


def children(pid: int) -> set[int]:
    return {int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def running(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def test_daphne_workers_live_and_die_together(tmp_path: Path) -> None:
    shared = tmp_path / "counters"
    counters.create(shared, 16)
    port = free_port()
    with serving("daphne", port, 2, shared) as process:
        wait_until(lambda: fetch(port, "/items/42")["item_id"] == 42)
        wait_until(lambda: len(children(process.pid)) == 2)
        one, other = sorted(children(process.pid))
        # Halted and let go on is not ended.
        os.kill(one, signal.SIGSTOP)
        wait_until(lambda: state(one) == "T")
        os.kill(one, signal.SIGCONT)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.3)
        os.kill(one, signal.SIGKILL)
        assert process.wait(10) == 1
        assert not running(one)
        assert not running(other)


def test_daphne_workers_stop_on_sigterm_at_any_moment(tmp_path: Path) -> None:
    shared = tmp_path / "counters"
    counters.create(shared, 16)
    with serving("daphne", free_port(), 2, shared) as process:
        wait_until(lambda: bool(children(process.pid)))
        workers = children(process.pid)
        process.terminate()
        assert process.wait(10) == 0
        assert not any(map(running, workers))
