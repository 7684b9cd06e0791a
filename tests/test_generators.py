"""Load generators held against a server that knows what it did, and their readers against damage.

Tolerances: counts are exact within one request a connection (what is in flight at the deadline).
Throughput agrees with the server's own count over its own clock within `THROUGHPUT_TOLERANCE`: the two
clocks differ by the first connect and the last request in flight. A latency is never below the delay
that the server kept, within `ROUNDING`, and above it by no more than the stated room. The machine that
runs the tests does other things, too, so what only a busy machine can spoil (throughput, how far above)
may succeed in any of `ATTEMPTS`; what no machine can spoil (counts, how far below) must hold in each.
"""

from __future__ import annotations

import http.client
import json
import math
import random
import shutil
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from truth_server import DIED, serving

from runner.errors import GeneratorError
from runner.generators import GENERATORS, Load, LoadGenerator, Outcome, by_name, oha, pick
from runner.generators.reading import LOAD_FILE, Asked, flags
from runner.metrics import METRICS

RECORDED = Path(__file__).parent / "data" / "generators"
CONNECTIONS = 10
THROUGHPUT_TOLERANCE = 0.05
ATTEMPTS = 3
# The three significant digits of a histogram.
ROUNDING = 0.999


@pytest.fixture(params=list(GENERATORS))
def generator(request: pytest.FixtureRequest) -> LoadGenerator:
    """Each generator that is installed here."""
    found = GENERATORS[request.param]
    if found.version() is None:
        pytest.skip(f"{found.name} is not installed")
    return found


@dataclass(frozen=True)
class Measured:
    """One load: what the generator says, what the server knows, and how long it all took, in seconds."""

    outcome: Outcome
    truth: dict[str, Any]
    elapsed: float


def execute(generator: LoadGenerator, load: Load, folder: Path, limit: float = 20.0) -> Outcome:
    """Run the generator as the capture does, without pinning, and read what it wrote."""
    folder.mkdir(exist_ok=True)
    command = generator.command(load, folder)
    with (folder / command.stdout).open("wb") as stdout, (folder / "generator.log").open("wb") as stderr:
        subprocess.run(command.argv, stdout=stdout, stderr=stderr, timeout=limit, check=True, cwd=folder)
    return generator.read(folder)


@pytest.fixture
def measure(generator: LoadGenerator, tmp_path: Path) -> Callable[..., Measured]:
    """Load a truth server with these arguments."""

    def run(*server: str, duration: float = 1.0, **asked: Any) -> Measured:
        with serving(server) as served:
            load = Load(served.url, asked.pop("connections", CONNECTIONS), duration, **asked)
            start = time.monotonic()
            outcome = execute(generator, load, tmp_path / "load")
            elapsed = time.monotonic() - start
            return Measured(outcome, served.identity()["truth"], elapsed)

    return run


def agree(outcome: Outcome, truth: dict[str, Any], connections: int = CONNECTIONS) -> None:
    """The counts of a load without failed requests are the server's, within the requests in flight."""
    assert outcome.ok <= truth["ok"] <= outcome.ok + connections
    wrong = sum(outcome.statuses.values()) - outcome.ok
    assert wrong <= truth["errors"] <= wrong + connections
    assert outcome.cut_off <= connections
    assert truth["arrived"] - sum(outcome.statuses.values()) <= connections


def steady(measure: Callable[[], Measured], below: dict[str, float]) -> Measured:
    """A measurement agreeing on throughput, its latencies below these seconds, in one of the attempts."""
    for _ in range(ATTEMPTS):
        measured = measure()
        agree(measured.outcome, measured.truth)
        served = measured.truth["ok"] / measured.truth["seconds"]
        told = {"throughput": abs(measured.outcome.throughput / served - 1), **measured.outcome.latency}
        limits = {"throughput": THROUGHPUT_TOLERANCE, **below}
        over = {key: (told[key], limit) for key, limit in limits.items() if told[key] > limit}
        if not over:
            return measured
    pytest.fail(f"above the limits in each of {ATTEMPTS} attempts, lastly {over}")


# --- against the truth -------------------------------------------------------------------------------


def test_fixed_delay(measure: Callable[..., Measured]) -> None:
    delay = 0.02
    below = {"p50": delay + 0.01, "p95": delay + 0.02, "p99": delay + 0.05}
    measured = steady(lambda: measure("--delay", str(delay), duration=1.5), below)
    outcome, latency = measured.outcome, measured.outcome.latency
    assert set(outcome.statuses) == {200}
    assert outcome.errors == {}
    assert outcome.window == pytest.approx(1.5, rel=0.2)
    assert min(latency[key] for key in below) >= delay * ROUNDING
    # In closed loop every connection always waits for one answer, or for the generator itself.
    assert 0.7 < outcome.ok * latency["mean"] / (CONNECTIONS * outcome.window) <= 1.01
    assert "unanswered" not in {flag.code for flag in outcome.flags}


def test_two_modes(measure: Callable[..., Measured]) -> None:
    """2 % of the replies take 200 ms, so p95 is a fast one and p99 a slow one."""
    fast, slow = 0.005, 0.2
    below = {"p50": fast + 0.01, "p95": slow / 2, "p99": slow + 0.05, "max": slow + 0.1}
    server = ["--mode", "two-mode", "--delay", str(fast), "--slow", str(slow)]
    latency = steady(lambda: measure(*server, duration=1.6), below).outcome.latency
    assert latency["p50"] >= fast * ROUNDING
    assert latency["p99"] >= slow * ROUNDING
    assert latency["max"] >= slow * ROUNDING


def test_one_reply_in_ten_a_500(measure: Callable[..., Measured]) -> None:
    outcome = steady(lambda: measure("--mode", "errors", "--delay", "0.005", duration=1.0), {}).outcome
    assert set(outcome.statuses) == {200, 500}
    assert outcome.ok == outcome.statuses[200]
    assert abs(outcome.statuses[500] - sum(outcome.statuses.values()) / 10) <= CONNECTIONS


def test_silent_aborts(generator: LoadGenerator, measure: Callable[..., Measured]) -> None:
    """oha sees them; k9 repeats the requests, and only the server's counter gives it away."""
    measured = measure("--mode", "abort", "--delay", "0.005", duration=0.8)
    outcome, truth = measured.outcome, measured.truth
    assert outcome.ok <= truth["ok"] <= outcome.ok + CONNECTIONS
    seen = sum(outcome.errors.values())
    unexplained = truth["arrived"] - sum(outcome.statuses.values()) - seen
    assert truth["aborted"] >= 20
    if generator.name == "oha":
        assert truth["aborted"] - CONNECTIONS <= seen <= truth["aborted"]
        assert unexplained <= CONNECTIONS
    else:
        assert seen < truth["aborted"] / 2
        assert unexplained > CONNECTIONS
        assert "silent-retries" in {note.code for note in generator.notes}


def test_stall_of_the_whole_process(measure: Callable[..., Measured]) -> None:
    stall = 0.4
    server = ["--mode", "stall", "--stall", str(stall), "--after", "200", "--delay", "0.005"]
    below = {"p50": stall / 4, "max": stall + 0.1}
    measured = steady(lambda: measure(*server, duration=1.2), below)
    assert measured.outcome.latency["max"] >= stall * ROUNDING
    assert "unanswered" not in {flag.code for flag in measured.outcome.flags}


def test_a_stall_past_the_deadline_is_flagged(measure: Callable[..., Measured]) -> None:
    """All ten requests in flight vanish from the percentiles, which look perfect."""
    measured = measure("--mode", "stall", "--stall", "1.2", "--after", "50", "--delay", "0.005", duration=0.6)
    assert measured.outcome.latency["max"] < 0.3
    assert "unanswered" in {flag.code for flag in measured.outcome.flags}


def test_hang(measure: Callable[..., Measured]) -> None:
    measured = measure("--mode", "hang", "--after", "100", "--delay", "0.005", duration=0.8)
    outcome = measured.outcome
    assert measured.elapsed < 5
    assert outcome.ok == measured.truth["ok"] == 100
    assert outcome.errors == {}
    assert outcome.cut_off == measured.truth["hung"] == CONNECTIONS
    assert outcome.throughput == pytest.approx(100 / 0.8, rel=0.2)
    [message] = [flag.message for flag in outcome.flags if flag.code == "unanswered"]
    assert f"The {CONNECTIONS} requests" in message


def test_hang_from_the_start_makes_up_no_metrics(measure: Callable[..., Measured]) -> None:
    measured = measure("--mode", "hang", duration=0.5)
    outcome = measured.outcome
    assert measured.elapsed < 5
    assert (outcome.ok, outcome.statuses, outcome.errors) == (0, {}, {})
    assert outcome.latency == {}
    assert outcome.throughput == 0
    assert outcome.cut_off == CONNECTIONS
    assert "unanswered" in {flag.code for flag in outcome.flags}


def test_death_of_the_server(generator: LoadGenerator, tmp_path: Path) -> None:
    with serving(["--mode", "die", "--after", "50", "--delay", "0.005"]) as served:
        outcome = execute(generator, Load(served.url, CONNECTIONS, 0.5), tmp_path)
        assert served.process.wait(5) == DIED
    assert 50 - CONNECTIONS <= outcome.ok <= 50
    assert sum(outcome.errors.values()) > 0
    assert outcome.throughput <= 50 / 0.5


def test_all_refused(generator: LoadGenerator, tmp_path: Path) -> None:
    """The generator's own requests/s are in the tens of thousands; ours are none."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/"
        outcome = execute(generator, Load(url, 2, 0.3), tmp_path)
    assert (outcome.ok, outcome.throughput, outcome.latency) == (0, 0.0, {})
    assert sum(outcome.errors.values()) > 100
    assert outcome.reported["requests_per_second"] > 100


def test_a_wrong_body_is_not_the_generators_to_see(measure: Callable[..., Measured]) -> None:
    """Which is why the capture checks the answer itself, before and after."""
    measured = measure("--mode", "wrong-body", "--delay", "0.005", duration=0.3)
    agree(measured.outcome, measured.truth)
    assert set(measured.outcome.statuses) == {200}


@pytest.mark.parametrize(
    "body",
    ['{"items": [{"sku": "a", "n": {"x": 1}}]}', "-=@ päck\n", "", "x" * 70_000],
    ids=["json", "odd", "empty", "large"],
)
def test_the_request_is_sent_as_asked(measure: Callable[..., Measured], body: str) -> None:
    headers = {"Content-Type": "application/json", "X-Trace": "a: b, c"}
    measured = measure("--delay", "0.005", duration=0.1, method="PUT", headers=headers, body=body)
    assert measured.outcome.ok > 0
    sent = measured.truth["last_request"]
    assert sent["line"] == "PUT / HTTP/1.1"
    assert sent["body"] == body
    assert sent["headers"]["content-type"] == "application/json"
    assert sent["headers"]["x-trace"] == "a: b, c"
    assert sent["headers"].get("accept-encoding", "identity") == "identity"
    assert sent["headers"]["accept"] == "*/*"
    assert sent["headers"].get("connection", "keep-alive") == "keep-alive"


def test_as_many_connections_as_asked(measure: Callable[..., Measured]) -> None:
    measured = measure("--delay", "0.005", duration=0.3, connections=37)
    # One more is the identity's.
    assert measured.truth["connections"] == 37 + 1
    agree(measured.outcome, measured.truth, 37)


# --- open loop ---------------------------------------------------------------------------------------


def test_open_loop(generator: LoadGenerator, measure: Callable[..., Measured], tmp_path: Path) -> None:
    """A stall makes later requests late as well, which only a corrected latency shows."""
    if generator.name == "k9":
        with pytest.raises(GeneratorError, match="open loop") as caught:
            generator.command(Load("http://127.0.0.1:1/", 1, 1.0, rate=10.0), tmp_path)
        assert "oha" in caught.value.hint
        return
    server = ["--mode", "stall", "--stall", "0.4", "--after", "50", "--delay", "0.005"]
    below = {"open_p50": 0.1, "open_p90": 0.4 + 0.1, "open_max": 0.4 + 0.2}
    outcome = steady(lambda: measure(*server, duration=1.2, rate=200.0), below).outcome
    assert all(key.startswith("open_") for key in outcome.latency)
    assert outcome.ok == pytest.approx(1.2 * 200, abs=CONNECTIONS + 5)
    # About 80 of the 240 requests fall into the stall or the queue behind it, each earlier than the next.
    assert outcome.latency["open_p50"] >= 0.005 * ROUNDING
    assert outcome.latency["open_p90"] > 0.1
    assert outcome.latency["open_max"] >= 0.4 * ROUNDING
    assert "rate-not-reached" not in {flag.code for flag in outcome.flags}


def test_an_open_loop_that_could_not_keep_its_rate_is_flagged(
    generator: LoadGenerator, measure: Callable[..., Measured]
) -> None:
    if generator.name == "k9":
        return
    outcome = measure("--delay", "0.1", duration=1.0, rate=500.0).outcome
    assert outcome.ok <= 100
    assert "rate-not-reached" in {flag.code for flag in outcome.flags}


def test_oha_times_out_a_request_of_its_own(
    generator: LoadGenerator, measure: Callable[..., Measured], monkeypatch: pytest.MonkeyPatch
) -> None:
    if generator.name == "k9":
        assert "no-timeout" in {note.code for note in generator.notes}
        return
    monkeypatch.setattr(oha, "TIMEOUT", 1)
    outcome = measure("--mode", "hang", duration=1.5).outcome
    assert outcome.errors == {"timeout": CONNECTIONS}
    assert outcome.cut_off == CONNECTIONS
    assert outcome.latency == {}


# --- recorded outputs --------------------------------------------------------------------------------


def recorded(pattern: str = "*-*") -> list[str]:
    return sorted(path.name for path in RECORDED.glob(pattern) if path.is_dir())


def read(folder: Path, name: str | None = None) -> Outcome:
    return by_name((name or folder.name).partition("-")[0]).read(folder)


def truth_of(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RECORDED / name / "truth.json").read_text())
    return found


@pytest.mark.parametrize("name", recorded())
def test_a_recorded_output_says_what_the_server_did(name: str) -> None:
    outcome, truth = read(RECORDED / name), truth_of(name)
    if name.endswith("aborts"):
        assert outcome.ok <= truth["ok"] <= outcome.ok + CONNECTIONS
        assert sum(outcome.errors.values()) <= truth["aborted"]
    elif name.endswith("refused"):
        assert sum(outcome.errors.values()) > 1000
    else:
        agree(outcome, truth)
        assert outcome.errors == {}
    assert set(outcome.latency) <= set(METRICS)
    responses = sum(outcome.statuses.values())
    keys = {"mean", "p50", "p75", "p90", "p95", "p99", "p999", "max"} if responses else set()
    assert {key.removeprefix("open_") for key in outcome.latency} == keys
    assert all(key.startswith("open_") == name.endswith("open") for key in outcome.latency)
    assert outcome.window == pytest.approx(1.0, rel=0.03)


@pytest.mark.parametrize("name", recorded("*-hang") + recorded("*-silent"))
def test_a_recorded_hang_is_flagged(name: str) -> None:
    assert "unanswered" in {flag.code for flag in read(RECORDED / name).flags}


@pytest.mark.parametrize("name", recorded("*-fixed") + recorded("*-two-mode") + recorded("oha-open"))
def test_recorded_soundness_is_not_flagged(name: str) -> None:
    assert read(RECORDED / name).flags == []


@pytest.mark.parametrize(("name", "p50", "p99"), [("fixed", 0.02, 0.02), ("two-mode", 0.005, 0.2)])
@pytest.mark.parametrize("tool", list(GENERATORS))
def test_recorded_percentiles(tool: str, name: str, p50: float, p99: float) -> None:
    latency = read(RECORDED / f"{tool}-{name}").latency
    assert latency["p50"] == pytest.approx(p50, abs=0.003)
    assert latency["p99"] == pytest.approx(p99, abs=0.01)


# --- damage ------------------------------------------------------------------------------------------


def raw_files(name: str) -> list[str]:
    files = {"oha": ["oha.json", LOAD_FILE], "k9": ["k9-summary.json", "k9.txt", LOAD_FILE]}
    return files[name.partition("-")[0]]


DAMAGE = [(name, file) for name in ("oha-errors", "k9-errors") for file in raw_files(name)]


@pytest.fixture
def copy(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, str]:
    """A recorded folder to damage, under its own name."""
    name, file = request.param
    shutil.copytree(RECORDED / name, tmp_path / name)
    return tmp_path / name, file


def no_traceback(folder: Path, file: str) -> Outcome | None:
    """The outcome, its figures finite, or None after an error that names the file."""
    message = None
    try:
        outcome = read(folder)
    except GeneratorError as error:
        message = error.message
    if message is not None:
        assert file in message
        assert "\n" not in message
        return None
    figures = [outcome.window, outcome.throughput, *outcome.latency.values(), *outcome.reported.values()]
    assert all(math.isfinite(figure) and figure >= 0 for figure in figures)
    assert outcome.window > 0
    return outcome


@pytest.mark.parametrize("copy", DAMAGE, indirect=True, ids="/".join)
def test_a_truncated_file(copy: tuple[Path, str]) -> None:
    folder, file = copy
    whole = (folder / file).read_bytes()
    end = whole.index(b" interrupted") if file == "k9.txt" else len(whole.rstrip()) - 1
    for length in {*range(0, end, max(1, end // 80)), end}:
        (folder / file).write_bytes(whole[:length])
        assert no_traceback(folder, file) is None, length


@pytest.mark.parametrize("copy", DAMAGE, indirect=True, ids="/".join)
def test_a_missing_file_and_a_pointer(copy: tuple[Path, str]) -> None:
    folder, file = copy
    (folder / file).unlink()
    with pytest.raises(GeneratorError, match=f"{file}: missing"):
        read(folder)
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 12\n"
    (folder / file).write_text(pointer)
    with pytest.raises(GeneratorError, match="LFS pointer") as caught:
        read(folder)
    assert "git lfs pull" in caught.value.hint
    (folder / file).unlink()
    (folder / file).mkdir()
    assert no_traceback(folder, file) is None


@pytest.mark.parametrize("copy", DAMAGE, indirect=True, ids="/".join)
def test_random_bytes(copy: tuple[Path, str]) -> None:
    folder, file = copy
    whole = (folder / file).read_bytes()
    chance = random.Random(7)
    for _ in range(300):
        damaged = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        (folder / file).write_bytes(damaged)
        no_traceback(folder, file)


def places(value: Any, here: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The path of every value of nested objects, whole objects included."""
    if isinstance(value, dict):
        for key in value:
            yield (*here, key)
            yield from places(value[key], (*here, key))


@pytest.mark.parametrize(
    "copy", [case for case in DAMAGE if case[1].endswith(".json")], indirect=True, ids="/".join
)
def test_every_value_replaced(copy: tuple[Path, str]) -> None:
    folder, file = copy
    whole = json.loads((folder / file).read_text())
    strange: list[Any] = [None, "12", "", -1, True, [], {}, math.nan, math.inf, 1e300, 2**64, 10**400, 0.5]
    # Of k9's counters by status, which are all alike, two that are counted and one that is not.
    counters = {f"http_reqs{{status:{status}}}" for status in (0, 200, 404)}
    for place in list(places(whole)):
        if any("{status:" in key and key not in counters for key in place):
            continue
        target = whole
        for key in place[:-1]:
            target = target[key]
        right = target[place[-1]]
        for wrong in strange:
            target[place[-1]] = wrong
            (folder / file).write_text(json.dumps(whole))
            no_traceback(folder, file)
        del target[place[-1]]
        (folder / file).write_text(json.dumps(whole))
        no_traceback(folder, file)
        target[place[-1]] = right


@pytest.mark.parametrize(
    "text",
    ["[" * 200_000, '{"a":' * 100_000, "[]", "null", "3", "", "{}", "\ufeff{}", "{'a': 1}", '{"a": 1}{}'],
    ids=["arrays", "objects", "array", "null", "number", "nothing", "empty", "bom", "quotes", "two"],
)
@pytest.mark.parametrize(("name", "file"), [("oha-fixed", "oha.json"), ("k9-fixed", "k9-summary.json")])
def test_what_is_no_result_at_all(tmp_path: Path, name: str, file: str, text: str) -> None:
    shutil.copytree(RECORDED / name, tmp_path / name)
    (tmp_path / name / file).write_text(text)
    with pytest.raises(GeneratorError, match=file):
        read(tmp_path / name)


def edited(tmp_path: Path, name: str, file: str, edit: Callable[[dict[str, Any]], None]) -> Path:
    folder = tmp_path / name
    shutil.copytree(RECORDED / name, folder)
    data = json.loads((folder / file).read_text())
    edit(data)
    (folder / file).write_text(json.dumps(data))
    return folder


@pytest.mark.parametrize("nothing", [None, math.nan, math.inf])
def test_no_value_is_no_metric(tmp_path: Path, nothing: float | None) -> None:
    """oha prints null or NaN where it has nothing to count."""

    def empty(data: dict[str, Any]) -> None:
        data["latencyPercentiles"] |= {"p99": nothing, "p99.9": nothing}
        data["summary"]["average"] = nothing

    latency = read(edited(tmp_path, "oha-fixed", "oha.json", empty)).latency
    assert set(latency) == {"p50", "p75", "p90", "p95", "max"}


def test_an_older_oha_has_no_p999(tmp_path: Path) -> None:
    def older(data: dict[str, Any]) -> None:
        del data["latencyPercentiles"]["p99.9"], data["firstBytePercentiles"], data["metrics"]

    latency = read(edited(tmp_path, "oha-fixed", "oha.json", older)).latency
    assert "p999" not in latency
    assert "p99" in latency


def test_percentiles_that_fall_are_refused(tmp_path: Path) -> None:
    def fall(data: dict[str, Any]) -> None:
        data["latencyPercentiles"]["p99"] = data["latencyPercentiles"]["p50"] / 2

    folder = edited(tmp_path, "oha-fixed", "oha.json", fall)
    with pytest.raises(GeneratorError, match=r"oha\.json: p99 .* is below p95"):
        read(folder)


def test_counts_too_large_to_be_true_are_refused(tmp_path: Path) -> None:
    def swell(data: dict[str, Any]) -> None:
        data["statusCodeDistribution"] = {"200": 2**64 - 1, "500": 2**64 - 1}

    folder = edited(tmp_path, "oha-fixed", "oha.json", swell)
    with pytest.raises(GeneratorError, match=r"statusCodeDistribution\.200: .*too large"):
        read(folder)


def test_k9_statuses_must_add_up(tmp_path: Path) -> None:
    def more(data: dict[str, Any]) -> None:
        data["metrics"]["http_reqs"]["count"] += 3

    def fewer(data: dict[str, Any]) -> None:
        data["metrics"]["http_reqs"]["count"] -= 3

    outcome = read(edited(tmp_path / "more", "k9-fixed", "k9-summary.json", more))
    assert list(outcome.errors.values()) == [3]
    folder = edited(tmp_path / "fewer", "k9-fixed", "k9-summary.json", fewer)
    with pytest.raises(GeneratorError, match=r"http_reqs\.count: below"):
        read(folder)


def test_another_status_than_2xx_is_not_ok(tmp_path: Path) -> None:
    def redirect(data: dict[str, Any]) -> None:
        data["statusCodeDistribution"] = {"201": 5, "302": 7, "404": 2, "200": 1}

    outcome = read(edited(tmp_path, "oha-fixed", "oha.json", redirect))
    assert outcome.ok == 6
    assert outcome.statuses == {200: 1, 201: 5, 302: 7, 404: 2}


# --- flags -------------------------------------------------------------------------------------------


def codes(asked: Asked, **found: Any) -> list[str]:
    values: dict[str, Any] = {
        "window": asked.duration,
        "responses": 1000,
        "failures": 0,
        "cut_off": asked.connections,
        "mean": asked.connections * asked.duration / 1000,
        "slowest": 0.2,
    }
    return [note.code for note in flags(asked, **(values | found))]


def test_flags() -> None:
    closed, opened = Asked(10, 5.0, None), Asked(10, 5.0, 200.0)
    assert codes(closed) == []
    assert codes(closed, window=4.0, mean=0.04) == ["window"]
    assert codes(closed, responses=99, mean=10 * 5 / 99) == ["few-responses"]
    # Half of the connections' time is not explained by the responses: 2.5 s a cut-off request.
    assert codes(closed, mean=0.025) == ["unanswered"]
    # … unless there were answers as slow as that, or failures that may have taken the time.
    assert codes(closed, mean=0.025, slowest=3.0) == []
    assert codes(closed, mean=0.025, failures=1) == []
    # A fifth may be the generator's own idling.
    assert codes(closed, mean=0.040) == []
    assert codes(opened, mean=0.025) == []
    assert codes(opened, responses=960) == ["rate-not-reached"]


# --- choosing one ------------------------------------------------------------------------------------


@pytest.fixture
def nothing_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No generator to be found; the folder returned is on PATH."""
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("CARGO_HOME", str(tmp_path / "cargo"))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "venv" / "python"))
    return programs


def install(folder: Path, name: str, says: str) -> None:
    program = folder / name
    program.write_text(f"#!/bin/sh\necho '{says}'\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)


def test_pick_without_any_says_how_to_install(nothing_installed: Path) -> None:
    with pytest.raises(GeneratorError) as caught:
        pick()
    assert "cargo install oha --locked" in caught.value.hint
    assert "uv run --group bench" in caught.value.hint
    with pytest.raises(GeneratorError, match="oha is not on this machine"):
        pick("oha")
    with pytest.raises(GeneratorError, match="k9 is not on this machine"):
        pick("k9")
    for known in GENERATORS.values():
        assert known.version() is None
        with pytest.raises(GeneratorError, match="is not"):
            known.command(Load("http://127.0.0.1:1/", 1, 1.0), nothing_installed)


def test_pick_prefers_oha(nothing_installed: Path) -> None:
    install(nothing_installed, "k9", "k9 0.1.0")
    assert pick().name == "k9"
    install(nothing_installed, "oha", "oha 1.16.0")
    assert pick().name == "oha"
    assert pick().version() == "1.16.0"
    assert pick("k9").version() == "0.1.0"


def test_pick_passes_over_an_old_oha(nothing_installed: Path) -> None:
    install(nothing_installed, "oha", "oha 1.4.7")
    with pytest.raises(GeneratorError, match=r"oha 1\.4\.7 is too old"):
        pick("oha")
    with pytest.raises(GeneratorError, match=r"oha 1\.4\.7 is too old"):
        pick()
    with pytest.raises(GeneratorError, match="too old"):
        by_name("oha").command(Load("http://127.0.0.1:1/", 1, 1.0), nothing_installed)
    install(nothing_installed, "k9", "k9 0.1.0")
    assert pick().name == "k9"


def test_another_program_of_that_name_is_not_a_generator(nothing_installed: Path) -> None:
    install(nothing_installed, "oha", "Ohayou!")
    install(nothing_installed, "k9", "Usage: k9 [dog]")
    with pytest.raises(GeneratorError, match="no load generator"):
        pick()


def test_by_name_needs_nothing_installed(nothing_installed: Path) -> None:
    assert read(RECORDED / "oha-fixed").ok == by_name("oha").read(RECORDED / "oha-fixed").ok > 0
    with pytest.raises(GeneratorError, match="no load generator 'wrk'") as caught:
        by_name("wrk")
    assert "oha, k9" in caught.value.hint


@pytest.mark.parametrize("tool", list(GENERATORS))
def test_manifest_fields(tool: str) -> None:
    found = by_name(tool)
    assert found.name == tool
    told = {note.code for note in found.notes}
    assert len(told) == len(found.notes)
    assert {"censored-tail", "closed-loop"} <= told
    shown = found.flags(Load("http://x/", 100, 5.0, body="secret"))
    assert "100" in " ".join(shown)
    assert not any("secret" in text or "http://x/" in text for text in shown)
    assert shown != found.flags(Load("http://x/", 100, 6.0))


@pytest.mark.parametrize(
    "load",
    [
        Load("http://127.0.0.1:1/{{ uuid() }}", 1, 1.0),
        Load("http://127.0.0.1:1/", 1, 1.0, "POST", {}, "{{ x }}"),
        Load("http://127.0.0.1:1/", 1, 1.0, headers={"x": "{{ y }}"}),
        Load("http://127.0.0.1:1/", 1, 1.0, "TRACE"),
    ],
    ids=["url", "body", "header", "method"],
)
def test_k9_refuses_what_it_would_change(nothing_installed: Path, load: Load) -> None:
    install(nothing_installed, "k9", "k9 0.1.0")
    with pytest.raises(GeneratorError, match="k9") as caught:
        by_name("k9").command(load, nothing_installed)
    assert "oha" in caught.value.hint


def test_a_summary_of_an_earlier_execution_does_not_pass_for_this_one(
    nothing_installed: Path, tmp_path: Path
) -> None:
    install(nothing_installed, "k9", "k9 0.1.0")
    shutil.copytree(RECORDED / "k9-fixed", tmp_path / "k9-fixed")
    by_name("k9").command(Load("http://127.0.0.1:1/", 1, 1.0), tmp_path / "k9-fixed")
    with pytest.raises(GeneratorError, match=r"k9-summary\.json: missing"):
        read(tmp_path / "k9-fixed")


# --- the truth server itself -------------------------------------------------------------------------


def get(connection: http.client.HTTPConnection, path: str = "/", method: str = "GET") -> tuple[int, bytes]:
    connection.request(method, path)
    answer = connection.getresponse()
    return answer.status, answer.read()


def test_truth_server_counts_and_identity() -> None:
    with serving(["--mode", "errors", "--every", "3"]) as served:
        connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=5)
        answers = [get(connection) for _ in range(7)]
        assert [status for status, _ in answers] == [200, 200, 500, 200, 200, 500, 200]
        assert json.loads(answers[0][1]) == {"ok": True}
        assert get(connection, method="HEAD") == (200, b"")
        found = served.identity()
        assert found == served.identity() | {"truth": found["truth"]}
        assert found["requests"] == 8
        assert found["workers"] == {str(served.process.pid): 8}
        assert found["pid"] == served.process.pid
        assert found["loop"] == "asyncio.unix_events._UnixSelectorEventLoop"
        assert found["affinity"]
        truth = found["truth"]
        assert (truth["arrived"], truth["ok"], truth["errors"], truth["unfinished"]) == (8, 6, 2, 0)
        connection.close()


def test_truth_server_answers_pipelined_requests_in_order() -> None:
    with (
        serving(["--delay", "0.01", "--mode", "errors", "--every", "2"]) as served,
        socket.create_connection(("127.0.0.1", served.port), timeout=5) as raw,
    ):
        raw.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n" * 3 + b"GET / HTTP/1.1\r\nconnection: close\r\n\r\n")
        received = b""
        while data := raw.recv(65536):
            received += data
        lines = [line for line in received.split(b"\r\n") if b"HTTP/1.1 " in line]
        assert [line[-3:] for line in lines] == [b" OK", b"ror", b" OK", b"ror"]


@pytest.mark.parametrize(
    "request_bytes", [b"\r\n\r\n", b"GET / HTTP/1.1\r\ncontent-length: -1\r\n\r\n", b"x" * 70_000]
)
def test_truth_server_survives_garbage(request_bytes: bytes) -> None:
    with serving([]) as served:
        with socket.create_connection(("127.0.0.1", served.port), timeout=5) as raw:
            raw.sendall(request_bytes)
            assert raw.recv(100).startswith(b"HTTP/1.1 4")
        assert served.identity()["truth"]["arrived"] == 0


def test_truth_server_faults_begin_after_the_given_number() -> None:
    with serving(["--mode", "abort", "--after", "2", "--every", "1"]) as served:
        connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=5)
        assert [get(connection)[0] for _ in range(2)] == [200, 200]
        with pytest.raises(http.client.RemoteDisconnected):
            get(connection)
        truth = served.identity()["truth"]
        assert (truth["arrived"], truth["ok"], truth["aborted"]) == (3, 2, 1)


def test_truth_server_may_hang_to_the_identity_too() -> None:
    with serving(["--mode", "hang", "--hang-identity"]) as served:
        assert served.identity()["requests"] == 0
        connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=0.2)
        for path in ("/", "/_identity"):
            with pytest.raises(TimeoutError):
                get(connection, path)
            connection.close()
