"""The probe held against a server that knows what it did, and the reader of its files against damage.

What no machine can spoil (counts, times below what the server kept) must hold at once; what a busy one can
(how far above) may hold in any of `ATTEMPTS`.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
import random
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from truth_server import RIGHT, serving

from runner import probing
from runner.checks import Findings
from runner.errors import GeneratorError
from runner.metrics import METRICS
from runner.probe import main
from runner.probing import ProbeOutcome, ProbePlan, judge, percentile, read

ATTEMPTS = 3
LIMIT_S = 20.0
RIGHT_SHA256 = hashlib.sha256(RIGHT).hexdigest()


@dataclass(frozen=True)
class Probed:
    """One execution: what was read, its rows and its description, and what the server knows."""

    outcome: ProbeOutcome
    rows: list[dict[str, Any]]
    about: dict[str, Any]
    truth: dict[str, Any]


def rows_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress((folder / probing.ROWS).read_bytes()).splitlines()]


def execute(plan: ProbePlan, folder: Path) -> ProbeOutcome:
    """Run the program as the capture does, and read what it wrote."""
    folder.mkdir(exist_ok=True)
    done = subprocess.run(probing.command(plan, folder), capture_output=True, text=True, timeout=LIMIT_S)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "")
    return read(folder)


@pytest.fixture
def probe(tmp_path: Path) -> Callable[..., Probed]:
    """Probe a truth server with these arguments."""

    def run(*server: str, connections: int = 4, requests: int = 40, **asked: Any) -> Probed:
        asked.setdefault("expect_sha256", RIGHT_SHA256)
        with serving(server) as served:
            outcome = execute(ProbePlan(served.url, connections, requests, **asked), tmp_path / "probe")
            about = json.loads((tmp_path / "probe" / probing.ABOUT).read_text())
            return Probed(outcome, rows_of(tmp_path / "probe"), about, served.identity()["truth"])

    return run


def judged(outcome: ProbeOutcome) -> Findings:
    findings = Findings()
    judge(findings, outcome)
    assert [check.name for check in findings.checks] == ["probe"]
    assert not findings.rejections
    return findings


# --- times -------------------------------------------------------------------------------------------


def test_delay_and_gap_are_seen(probe: Callable[..., Probed]) -> None:
    delay, gap, room = 0.03, 0.05, 0.02
    for _ in range(ATTEMPTS):
        probed = probe("--delay", str(delay), "--gap", str(gap), requests=16)
        # The event loop of the server rounds its timers to its clock's resolution, far below this.
        for row in probed.rows:
            assert row["headers"] >= delay - 1e-4
            assert row["total"] >= delay + gap - 2e-4
            assert row["headers"] <= row["first_body"] <= row["total"]
        metrics = probed.outcome.metrics
        assert metrics["probe_gap_p50"] >= gap - room
        below = {"headers": delay, "gap": gap, "first_body": delay + gap, "total": delay + gap}
        if all(metrics[f"probe_{name}_p50"] <= seconds + room for name, seconds in below.items()):
            return
    pytest.fail(f"above the limits in each of {ATTEMPTS} attempts, lastly {metrics}")


def test_delay_alone_is_in_the_headers_and_not_in_the_gap(probe: Callable[..., Probed]) -> None:
    for _ in range(ATTEMPTS):
        metrics = probe("--delay", "0.03", requests=16).outcome.metrics
        assert metrics["probe_headers_p50"] >= 0.03 - 1e-4
        if metrics["probe_gap_p50"] < 0.005:
            return
    pytest.fail(f"a gap in each of {ATTEMPTS} attempts, lastly {metrics['probe_gap_p50']} s")


def test_closed_loop_keeps_every_connection_busy_and_no_more(probe: Callable[..., Probed]) -> None:
    probed = probe("--delay", "0.05", connections=5, requests=23)
    # Five rounds of at most five requests.
    assert probed.about["wall"] >= 5 * 0.05 - 1e-3
    under_way = sorted(
        change for row in probed.rows for change in ((row["start"], 1), (row["start"] + row["total"], -1))
    )
    most = running = 0
    for _, change in under_way:
        running += change
        most = max(most, running)
    assert most == 5
    assert probed.truth["arrived"] == 23


def test_requests_are_exact_numbered_and_in_order(probe: Callable[..., Probed]) -> None:
    probed = probe(connections=7, requests=100)
    assert probed.truth["arrived"] == probed.truth["ok"] == 100
    assert [row["n"] for row in probed.rows] == list(range(1, 101))
    starts = [row["start"] for row in probed.rows]
    assert starts[0] == 0
    assert starts == sorted(starts)
    assert probed.outcome.requests == probed.outcome.ok == 100
    assert probed.outcome.statuses == {200: 100}
    assert probed.outcome.opened == 7
    # The first requests warm the connections: each of them opens one.
    assert [row["n"] for row in probed.rows if row.get("opened")] == list(range(1, 8))
    assert {row["bytes"] for row in probed.rows} == {len(RIGHT)}
    assert judged(probed.outcome).status == "accepted"


def test_fewer_requests_than_connections_open_no_more_than_needed(probe: Callable[..., Probed]) -> None:
    probed = probe("--delay", "0.01", connections=50, requests=3)
    assert (probed.truth["arrived"], probed.outcome.opened, probed.outcome.ok) == (3, 3, 3)
    assert "probe-few" in {flag.code for flag in probed.outcome.flags}


def test_request_is_sent_as_planned(probe: Callable[..., Probed]) -> None:
    body = b'{"data": "\xc3\xa4"}'
    sent = probe(method="POST", body=body, headers={"Content-Type": "application/json", "X-One": "1"})
    request = sent.truth["last_request"]
    assert request["line"] == "POST / HTTP/1.1"
    assert request["body"].encode() == body
    assert request["headers"]["content-type"] == "application/json"
    assert request["headers"]["x-one"] == "1"
    # Nothing that invites a compressed answer or ends the connection.
    assert not {"accept-encoding", "connection", "cookie"} & request["headers"].keys()
    assert sent.outcome.ok == 40


def test_target_is_sent_verbatim(tmp_path: Path) -> None:
    with serving([]) as served:
        execute(ProbePlan(served.url + "a%2Fb%41?q=%7B%41+c", 1, 1), tmp_path)
        assert served.identity()["truth"]["last_request"]["line"] == "GET /a%2Fb%41?q=%7B%41+c HTTP/1.1"


def test_empty_body_has_its_first_piece_at_its_end(probe: Callable[..., Probed]) -> None:
    empty = hashlib.sha256(b"").hexdigest()
    for server, method in (("--size", "0"), "GET"), ((), "HEAD"):
        probed = probe(*server, method=method, expect_sha256=empty)
        assert all(row["first_body"] == row["total"] and row["bytes"] == 0 for row in probed.rows)
        assert judged(probed.outcome).status == "accepted"


def test_large_body_is_read_to_its_end(probe: Callable[..., Probed]) -> None:
    size = 2_000_000
    probed = probe("--size", str(size), requests=8, expect_sha256=hashlib.sha256(b"x" * size).hexdigest())
    assert {row["bytes"] for row in probed.rows} == {size}
    assert all(row["total"] > row["first_body"] for row in probed.rows)
    assert probed.outcome.ok == 8


# --- what goes wrong ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "name", "method"),
    [
        ("abort", "disconnected", "GET"),
        ("abort", "disconnected", "POST"),
        ("reset", "reset", "GET"),
        ("cut", "payload", "GET"),
        ("garbage", "malformed", "GET"),
    ],
)
def test_lost_request_is_an_error_and_never_sent_again(
    probe: Callable[..., Probed], mode: str, name: str, method: str
) -> None:
    # The first ten are well: those lost are on connections that were used before.
    probed = probe("--mode", mode, "--every", "5", "--after", "10", method=method)
    assert probed.outcome.errors == {name: 6}
    assert probed.truth["arrived"] == 40
    assert probed.outcome.ok == 34
    lost = [row for row in probed.rows if "error" in row]
    assert {row["error"] for row in lost} == {name}
    assert not any("total" in row for row in lost)
    # A body cut short came with its headers and a first piece.
    assert all(
        ("headers" in row and "gap" in row and row["status"] == 200) == (mode == "cut") for row in lost
    )
    findings = judged(probed.outcome)
    assert findings.status == "failed"
    assert findings.failures[0].code == "probe"
    assert f"6 × {name}" in findings.failures[0].message


def test_aiohttp_by_itself_would_send_again() -> None:
    """Without this the test above would show nothing."""
    import aiohttp

    async def twice(url: str) -> None:
        async with aiohttp.ClientSession() as session:
            for _ in range(2):
                async with session.get(url) as answer:
                    await answer.read()

    with serving(["--mode", "abort", "--every", "2"]) as served:
        asyncio.run(twice(served.url))
        assert served.identity()["truth"]["arrived"] == 3


def test_connection_closed_between_requests_is_seen(probe: Callable[..., Probed]) -> None:
    probed = probe("--mode", "leave", "--every", "5", connections=2)
    outcome = probed.outcome
    # Whether the next request is lost or the end seen before it, is a race that no client decides.
    assert outcome.errors.keys() <= {"disconnected", "reset"}
    failed = sum(outcome.errors.values())
    assert outcome.ok + failed == 40
    assert probed.truth["arrived"] == outcome.ok
    again = outcome.opened - 2 - failed
    assert failed + again >= probed.truth["arrived"] // 5 - 2
    assert (again > 0) == ("probe-reconnected" in {flag.code for flag in outcome.flags})


@pytest.mark.parametrize(
    ("mode", "statuses", "altered"),
    [
        ("errors", {200: 36, 500: 4}, 0),
        ("altered", {200: 40}, 4),
        ("created", {200: 36, 201: 4}, 4),
    ],
)
def test_wrong_answer_is_the_servers_own_failure(
    probe: Callable[..., Probed], mode: str, statuses: dict[int, int], altered: int
) -> None:
    probed = probe("--mode", mode)
    outcome = probed.outcome
    assert (outcome.statuses, outcome.altered, outcome.errors) == (statuses, altered, {})
    assert outcome.ok == 36
    wrong = [row["n"] for row in probed.rows if row["status"] == 500 or row.get("altered")]
    assert len(wrong) == 4
    findings = judged(outcome)
    assert findings.status == "failed"
    assert ("4 × status 500" if mode == "errors" else "4 × another answer") in findings.failures[0].message


def test_wrong_answers_stay_out_of_the_percentiles(probe: Callable[..., Probed]) -> None:
    outcome = probe("--mode", "altered", "--every", "1").outcome
    assert (outcome.ok, outcome.altered, outcome.metrics) == (0, 40, {})


def test_any_body_will_do_where_none_is_expected(probe: Callable[..., Probed]) -> None:
    outcome = probe("--mode", "altered", expect_sha256=None).outcome
    assert (outcome.ok, outcome.altered, outcome.compared) == (40, 0, False)
    assert "bodies not compared" in judged(outcome).checks[0].detail


def test_hang_is_a_timeout_after_the_time_asked_for(probe: Callable[..., Probed]) -> None:
    probed = probe("--mode", "hang", "--after", "4", connections=2, requests=16, timeout=0.05)
    assert probed.outcome.errors == {"timeout": 12}
    assert probed.outcome.ok == 4
    # Six in a row; rounded up to whole seconds, as aiohttp likes to, they would take five seconds or more.
    assert 6 * 0.05 - 1e-3 <= probed.about["wall"] < 4


def test_slow_body_is_a_timeout_of_the_whole_request(probe: Callable[..., Probed]) -> None:
    probed = probe("--gap", "2", requests=4, timeout=0.3)
    assert probed.outcome.errors == {"timeout": 4}
    assert all("headers" in row and "first_body" not in row for row in probed.rows)


def test_nobody_there_is_refused(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: nobody else gets the port
        outcome = execute(ProbePlan(f"http://127.0.0.1:{taken.getsockname()[1]}/", 3, 10), tmp_path)
    assert outcome.errors == {"refused": 10}
    assert outcome.metrics == {}
    assert judged(outcome).status == "failed"


def test_dead_server_ends_the_probe_and_not_its_result(tmp_path: Path) -> None:
    with serving(["--mode", "die", "--after", "10"]) as served:
        outcome = execute(ProbePlan(served.url, 2, 30, expect_sha256=RIGHT_SHA256), tmp_path)
    assert outcome.ok <= 10
    assert outcome.ok + sum(outcome.errors.values()) == 30
    assert outcome.errors.keys() <= {"disconnected", "reset", "refused"}
    assert "refused" in outcome.errors


# --- the process -------------------------------------------------------------------------------------


def test_killed_probe_leaves_no_result_not_even_an_earlier_one(tmp_path: Path) -> None:
    with serving(["--mode", "hang"]) as served:
        argv = probing.command(ProbePlan(served.url, 2, 1000), tmp_path)
        store(tmp_path, [answered(1)])
        with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            end = time.monotonic() + LIMIT_S
            while served.identity()["truth"]["arrived"] < 2 and time.monotonic() < end:
                time.sleep(0.02)
            assert process.poll() is None
            process.kill()
            assert process.wait(LIMIT_S) == -signal.SIGKILL
    with pytest.raises(GeneratorError, match=r"probe\.json: missing"):
        read(tmp_path)


def test_probe_that_never_began_leaves_no_result_either(tmp_path: Path) -> None:
    store(tmp_path, [answered(1)])
    probing.command(ProbePlan("http://127.0.0.1:1/", 1, 1), tmp_path)
    with pytest.raises(GeneratorError, match=r"probe\.json: missing"):
        read(tmp_path)


def test_loop_is_the_standard_librarys_whatever_the_policy(tmp_path: Path) -> None:
    pytest.importorskip("uvloop")
    with serving([]) as served:
        arguments = probing.command(ProbePlan(served.url, 2, 4), tmp_path)[2:]
        program = (
            "import asyncio, runpy, sys, uvloop\n"
            "asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())\n"
            f"sys.argv = {arguments!r}\n"
            "runpy.run_path(sys.argv[0], run_name='__main__')\n"
        )
        subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True, timeout=LIMIT_S)
    about = json.loads((tmp_path / probing.ABOUT).read_text())
    assert about["loop"] == "asyncio.unix_events._UnixSelectorEventLoop"
    assert read(tmp_path).ok == 4


def test_description_says_what_measured(probe: Callable[..., Probed]) -> None:
    probed = probe("--delay", "0.02", requests=20)
    about = probed.about
    assert about["client"] in probing.client()
    assert about["python"].endswith(".".join(map(str, sys.version_info[:3])))
    assert (about["requests"], about["connections"]) == (20, 4)
    assert about["cpu_share"] == pytest.approx(about["cpu_seconds"] / about["wall"])
    # It slept in the twenty milliseconds, and did not in the whole time.
    assert 0 < probed.outcome.busy_share < 0.95
    assert 0 < probed.outcome.cpu_share < 0.95
    assert "probe-saturated" not in {flag.code for flag in probed.outcome.flags}


def test_only_client_of_a_fast_server_is_saturated(probe: Callable[..., Probed]) -> None:
    outcome = probe(connections=64, requests=1500).outcome
    assert outcome.busy_share >= 0.5
    saturated = max(outcome.busy_share, outcome.cpu_share) >= 0.95
    assert saturated == ("probe-saturated" in {flag.code for flag in outcome.flags})


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("url", None, "url: missing"),
        ("url", "ftp://x/", "url"),
        ("connections", 0, "connections"),
        ("requests", -1, "requests"),
        ("timeout", "soon", "soon"),
        ("headers", [], "plan.json"),
        ("body", "/nowhere/at/all", "/nowhere/at/all"),
    ],
)
def test_broken_plan_is_no_result(
    tmp_path: Path, field: str, value: Any, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    probing.command(ProbePlan("http://127.0.0.1:1/", 1, 1), tmp_path)
    path = tmp_path / probing.PLAN
    plan = json.loads(path.read_text()) | {field: value}
    path.write_text(json.dumps({key: there for key, there in plan.items() if (key, there) != ("url", None)}))
    assert main([str(path), str(tmp_path)]) == 2
    shown = capsys.readouterr().err
    assert told in shown
    assert shown.count("\n") == 1
    assert not (tmp_path / probing.ABOUT).exists()


@pytest.mark.parametrize("arguments", [["plan.json"], ["/nowhere/plan.json", "."]], ids=len)
def test_wrong_arguments_are_no_result(tmp_path: Path, arguments: list[str]) -> None:
    argv = [sys.executable, "-I", str(probing.PROGRAM), *arguments]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=LIMIT_S, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "usage" in done.stderr or "/nowhere/plan.json" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_too_few_files_are_the_probes_own_failure(tmp_path: Path) -> None:
    with serving(["--delay", "0.1"]) as served:
        argv = probing.command(ProbePlan(served.url, 60, 60), tmp_path)
        done = subprocess.run(
            argv,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40)),
        )
    assert done.returncode == 2
    assert "want of resources" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / probing.ABOUT).exists()


def test_low_soft_limit_of_files_is_raised(tmp_path: Path) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    with serving(["--delay", "0.1"]) as served:
        argv = probing.command(ProbePlan(served.url, 60, 60), tmp_path)
        limit = (40, hard)
        lower = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limit)  # noqa: E731
        subprocess.run(argv, check=True, timeout=LIMIT_S, preexec_fn=lower)
    assert read(tmp_path).ok == 60


def test_reading_needs_no_client() -> None:
    program = "import sys, runner.probing; sys.exit('aiohttp' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=LIMIT_S)


def test_longest_time_has_every_request_time_out() -> None:
    assert ProbePlan("http://x/", 100, 1000, timeout=10).longest == 100
    assert ProbePlan("http://x/", 100, 1001, timeout=10).longest == 110
    assert ProbePlan("http://x/", 100, 1, timeout=2.5).longest == 2.5


# --- percentiles -------------------------------------------------------------------------------------


def test_percentile_is_the_smallest_value_that_so_many_reach() -> None:
    """Held against the definition itself, for every size to 210 and every whole percent."""
    for size in range(1, 211):
        values = list(range(10, 10 + size))
        for percent in range(1, 101):
            found = percentile(values, percent)
            reached = found - 10 + 1
            assert Fraction(reached, size) >= Fraction(percent, 100)
            assert Fraction(reached - 1, size) < Fraction(percent, 100)


@pytest.mark.parametrize(
    ("size", "percent", "rank"),
    [
        (1, 1, 1),
        (1, 100, 1),
        (2, 50, 1),
        (3, 50, 2),
        (100, 50, 50),
        (100, 7, 7),
        (100, 95, 95),
        (100, 99, 99),
        (101, 99, 100),
        (1000, 50, 500),
        (1000, 95, 950),
        (1000, 99, 990),
        (1000, 99.9, 999),
        (1001, 99.9, 1000),
        (1000, 28.9, 289),
        (1000, 0.1, 1),
        (1000, 100, 1000),
    ],
)
def test_percentile_rank(size: int, percent: float, rank: int) -> None:
    assert percentile(range(1, size + 1), percent) == rank


def test_percentile_of_equal_and_of_few_values() -> None:
    assert percentile([3.0, 3.0, 3.0], 99) == 3.0
    assert percentile([1.0, 1.0, 9.0], 50) == 1.0
    assert percentile([1.0, 1.0, 9.0], 67) == 9.0


@pytest.mark.parametrize(("values", "percent"), [([], 50), ([1.0], 0), ([1.0], -1), ([1.0], 100.1)])
def test_percentile_of_nothing_is_an_error(values: list[float], percent: float) -> None:
    with pytest.raises(ValueError, match="percentile"):
        percentile(values, percent)


def test_percentiles_are_over_the_good_answers_in_any_order(tmp_path: Path) -> None:
    totals = [number / 1000 for number in range(1, 201)]
    random.Random(7).shuffle(totals)
    rows = [answered(n, total=total) for n, total in enumerate(totals, 1)]
    rows += [answered(201, total=9.0, status=500), answered(202, total=9.0, altered=True)]
    rows += [{"n": 203, "start": 0.0, "headers": 9.0, "status": 200, "bytes": 5, "error": "payload"}]
    store(tmp_path, rows)
    outcome = read(tmp_path)
    assert (outcome.requests, outcome.ok, outcome.altered) == (203, 200, 1)
    assert (outcome.statuses, outcome.errors) == ({200: 201, 500: 1}, {"payload": 1})
    assert [outcome.metrics[f"probe_total_{p}"] for p in ("p50", "p95", "p99")] == [0.1, 0.19, 0.198]
    assert outcome.metrics["probe_gap_p99"] == 0.0002
    assert outcome.metrics.keys() <= METRICS.keys()
    assert len(outcome.metrics) == 12


def test_probe_metrics_are_seconds_shown_in_milliseconds() -> None:
    found = {key: metric for key, metric in METRICS.items() if key.startswith("probe_")}
    assert len(found) == 12
    assert {(metric.unit, metric.display_unit, metric.better) for metric in found.values()} == {
        ("s", "ms", "lower")
    }
    assert found["probe_first_body_p95"].label == "Probe: first body p95"
    assert found["probe_headers_p50"].show(0.00125) == "1.25"


# --- damage ------------------------------------------------------------------------------------------


def answered(n: int, total: float = 0.001, **other: Any) -> dict[str, Any]:
    """The row of a good answer; its gap is 0.2 ms."""
    row = {"n": n, "start": 0.0, "headers": 0.0003, "first_body": 0.0005, "gap": 0.0002}
    return {**row, "total": total, "status": 200, "bytes": 12, **other}


def store(folder: Path, rows: list[dict[str, Any]], **about: Any) -> None:
    """The two files with these rows; ``about`` replaces fields of the description."""
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / probing.ROWS).write_bytes(gzip.compress(text.encode(), mtime=0))
    fields = {"requests": len(rows), "connections": 1, "expect_sha256": None}
    fields |= {"cpu_share": 0.1, "busy_share": 0.2, **about}
    (folder / probing.ABOUT).write_text(json.dumps(fields))


def test_sound_files_are_read(tmp_path: Path) -> None:
    store(tmp_path, [answered(1), answered(2), answered(3)])
    assert read(tmp_path).ok == 3
    store(tmp_path, [answered(1), answered(2, of_a_later_version=True)])
    assert read(tmp_path).ok == 2


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"headers": None}, "headers"),
        ({"headers": "0.1"}, "headers"),
        ({"headers": True}, "headers"),
        ({"gap": float("nan")}, "gap"),
        ({"first_body": float("inf")}, "first_body"),
        ({"total": -0.001}, "total"),
        ({"total": 0.0004}, "total"),
        ({"total": 0.0002}, "total"),
        ({"first_body": 0.0001}, "first_body"),
        ({"gap": 0.0003}, "gap"),
        ({"start": -1.0}, "start"),
        ({"start": None}, "start"),
        ({"n": 3}, "n"),
        ({"n": 1}, "n"),
        ({"n": 2.0}, "n"),
        ({"n": True}, "n"),
        ({"status": None}, "status"),
        ({"status": 20}, "status"),
        ({"status": "200"}, "status"),
        ({"bytes": -1}, "bytes"),
        ({"bytes": 1.5}, "bytes"),
        ({"altered": 1}, "altered"),
        ({"opened": "yes"}, "opened"),
        ({"error": ""}, "error"),
        ({"error": 7}, "error"),
        ({"error": "a\nb"}, "error"),
    ],
    ids=str,
)
def test_wrong_field_is_named_with_file_and_line(tmp_path: Path, change: dict[str, Any], field: str) -> None:
    row = {key: value for key, value in {**answered(2), **change}.items() if value is not None}
    store(tmp_path, [answered(1), row, answered(3)])
    with pytest.raises(GeneratorError, match=rf"probe\.jsonl\.gz, line 2: {field}: ") as caught:
        read(tmp_path)
    assert "\n" not in caught.value.message
    assert caught.value.hint


def test_start_must_not_go_back(tmp_path: Path) -> None:
    store(tmp_path, [answered(1), answered(2, start=0.5), answered(3, start=0.4)])
    with pytest.raises(GeneratorError, match="line 3: start: "):
        read(tmp_path)
    store(tmp_path, [answered(1, start=0.1)])
    with pytest.raises(GeneratorError, match="line 1: start: "):
        read(tmp_path)


@pytest.mark.parametrize(("requests", "line"), [(2, 3), (4, 4), (0, 1)])
def test_wrong_count_of_rows(tmp_path: Path, requests: int, line: int) -> None:
    store(tmp_path, [answered(1), answered(2), answered(3)], requests=requests)
    with pytest.raises(GeneratorError, match=rf"probe\.jsonl\.gz, line {line}: n: .*{requests} requests"):
        read(tmp_path)


@pytest.mark.parametrize("line", ["[]", "7", "{", "", '{"n": 2', "[" * 3000, "x" * 5000], ids=lambda x: x[:9])
def test_line_that_is_no_row(tmp_path: Path, line: str) -> None:
    store(tmp_path, [answered(1)], requests=2)
    text = json.dumps(answered(1)) + "\n" + line + "\n"
    (tmp_path / probing.ROWS).write_bytes(gzip.compress(text.encode()))
    with pytest.raises(GeneratorError, match=r"probe\.jsonl\.gz, line 2"):
        read(tmp_path)


def test_every_truncation_is_an_error(tmp_path: Path) -> None:
    store(tmp_path, [answered(1), answered(2)])
    path = tmp_path / probing.ROWS
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(GeneratorError, match=r"probe\.jsonl\.gz, line \d"):
            read(tmp_path)


def test_flipped_bits_never_go_unnoticed_or_end_in_another_error(tmp_path: Path) -> None:
    store(tmp_path, [answered(1), answered(2)])
    path = tmp_path / probing.ROWS
    whole, sound = path.read_bytes(), read(tmp_path)
    unnoticed = []
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :])
        try:
            assert read(tmp_path) == sound
            unnoticed.append(place)
        except GeneratorError as error:
            told = error.message
            if "probe.jsonl.gz" not in told:
                pytest.fail(told)
    # No content: time, kind and system in the header, and what fills the last byte before the check sum.
    assert set(unnoticed) <= {4, 5, 6, 7, 8, 9, len(whole) - 9}


def test_last_line_without_its_end(tmp_path: Path) -> None:
    store(tmp_path, [answered(1), answered(2)])
    text = json.dumps(answered(1)) + "\n" + json.dumps(answered(2))
    (tmp_path / probing.ROWS).write_bytes(gzip.compress(text.encode()))
    with pytest.raises(GeneratorError, match="line 2: cut short"):
        read(tmp_path)


@pytest.mark.parametrize("name", probing.RAW_FILES)
def test_missing_file_and_pointer_instead_of_it(tmp_path: Path, name: str) -> None:
    store(tmp_path, [answered(1)])
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 1\n"
    (tmp_path / name).write_text(pointer)
    with pytest.raises(GeneratorError, match=rf"{name}: a Git LFS pointer") as caught:
        read(tmp_path)
    assert "git lfs pull" in caught.value.hint
    (tmp_path / name).unlink()
    with pytest.raises(GeneratorError, match=rf"{name}: missing"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("about", "field"),
    [
        ({"requests": None}, "requests"),
        ({"requests": 1.5}, "requests"),
        ({"requests": -1}, "requests"),
        ({"connections": "4"}, "connections"),
        ({"cpu_share": None}, "cpu_share"),
        ({"cpu_share": float("nan")}, "cpu_share"),
        ({"busy_share": -0.5}, "busy_share"),
        ({"expect_sha256": 7}, "expect_sha256"),
    ],
    ids=str,
)
def test_damaged_description(tmp_path: Path, about: dict[str, Any], field: str) -> None:
    store(tmp_path, [answered(1)], **about)
    with pytest.raises(GeneratorError, match=rf"probe\.json: {field}: "):
        read(tmp_path)


@pytest.mark.parametrize(
    ("about", "codes"),
    [
        ({}, set()),
        ({"cpu_share": 0.949, "busy_share": 0.949}, set()),
        ({"cpu_share": 0.95}, {"probe-saturated"}),
        ({"busy_share": 0.95}, {"probe-saturated"}),
    ],
)
def test_flag_of_a_saturated_probe(tmp_path: Path, about: dict[str, float], codes: set[str]) -> None:
    store(tmp_path, [answered(n, opened=n == 1) for n in range(1, 101)], **about)
    outcome = read(tmp_path)
    assert {flag.code for flag in outcome.flags} == codes
    findings = judged(outcome)
    assert findings.status == "accepted"
    assert {flag.code for flag in findings.flags} == codes


def test_flag_of_connections_opened_again(tmp_path: Path) -> None:
    rows = [answered(n, opened=n in (1, 50, 60)) for n in range(1, 111)]
    store(tmp_path, rows)
    (flag,) = read(tmp_path).flags
    assert flag.code == "probe-reconnected"
    assert flag.message.startswith("2 connections")
    # Those opened because a request had failed on the one before are told by the failure.
    rows[48:49] = [{"n": 49, "start": 0.0, "error": "reset"}]
    rows[58:59] = [{"n": 59, "start": 0.0, "error": "reset"}]
    store(tmp_path, rows)
    assert read(tmp_path).flags == []


def test_same_rows_are_the_same_bytes(probe: Callable[..., Probed], tmp_path: Path) -> None:
    probe()
    packed = (tmp_path / "probe" / probing.ROWS).read_bytes()
    assert packed[3] == 0  # no name
    assert packed[4:8] == bytes(4)  # no time
    assert sorted(path.name for path in (tmp_path / "probe").iterdir()) == [
        "probe-plan.json",
        "probe.json",
        "probe.jsonl.gz",
    ]
