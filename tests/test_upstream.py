"""Captures with an upstream, controls, a probe and a ladder: each fault ends in its kind of failure."""

from __future__ import annotations

import itertools
import json
import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from runner import analysis, probing, store, verify
from runner.cases import stages
from runner.errors import SuiteError
from runner.model import Case, Sample, rounds
from runner.store import StoredRun
from tests.capturing import TRUTH, Silent, capture_run, have, suite_text

pytestmark = pytest.mark.skipif(bool(have("oha")), reason="needs oha (cargo install oha --locked)")

PROXY = Path(__file__).with_name("truth_proxy.py")


def python(program: Path, *arguments: str) -> str:
    return json.dumps([sys.executable, "-S", str(program), "--port", "{port}", *arguments])


def proxied(
    upstream: list[str], proxy: list[str] | None = None, *, slow: float = 10.0, extra: str = ""
) -> str:
    """A suite of the truth proxy in front of a truth server, with a control, which gets no other faults."""
    control = (
        '[[control]]\nname = "direct"\npath = "/"\ncovers = ["root"]\nexpect = { json = { ok = true } }\n'
        f"[upstream]\ncommand = {python(TRUTH, *upstream)}\nready = '/_identity'\nslow = {slow}\n"
    )
    text = suite_text({}, extra=control + extra)
    return (
        text + f'[[server]]\nname = "proxy"\ncommand = {python(PROXY, *(proxy or []))}\nstart_timeout = 5\n'
    )


def of(stored: StoredRun, role: str) -> list[Sample]:
    named = {case.id for case in stored.run.cases if case.role == role}
    return [sample for sample in stored.samples if sample.case in named]


def codes(sample: Sample) -> list[str]:
    return [note.code for note in sample.reasons]


def test_a_proxy_with_its_control_before_and_after(tmp_path: Path) -> None:
    stored = capture_run(tmp_path, proxied([]), twin=False, repeats=2)
    assert stored.run.state == "complete"
    assert [s.status for s in stored.samples] == ["accepted"] * 5, [codes(s) for s in stored.samples]
    assert [s.case.split("/")[0] for s in stored.samples] == [
        "upstream", "proxy", "upstream", "proxy", "upstream",
    ]  # fmt: skip
    assert [s.repeat for s in of(stored, "control")] == [1, 2, 3]
    sample, control = of(stored, "case")[0], of(stored, "control")[0]
    assert {check.name for check in sample.checks if check.status == "ok"} >= {
        "timeouts",
        "counter",
        "workers",
    }
    assert set(sample.witness) == {"server", "upstream", "generator", "runner"}
    assert set(control.witness) == {"upstream", "generator", "runner"}
    assert stored.run.upstream
    assert stored.run.upstream.processes == 1
    assert stored.run.layout.roles["upstream"]
    table = analysis.summary([stored])
    rows = table[table["metric"] == "rps"].set_index("role")
    assert rows.loc["control", "wanted"] == rows.loc["control", "n"] == 3
    # A proxy waits for its upstream, and this one makes a connection for each request besides.
    assert rows.loc["control", "median"] > rows.loc["case", "median"]
    report = verify.verify(stored.folder)
    assert report.ok, report.problems


class Trigger(Silent):
    """Makes the file while the first sample of a proxy is being taken."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path

    def measuring(self, case: Case, repeat: int, attempt: int) -> None:
        super().measuring(case, repeat, attempt)
        if case.role == "case":
            threading.Timer(0.8, self.path.touch).start()


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (["--mode", "die"], "ended with status 3"),
        (["--mode", "two-mode", "--slow", "2.5", "--every", "1"], "timed out"),
        (["--mode", "altered", "--every", "1"], "not JSON"),
    ],
    ids=["dies", "too slow", "alters a byte"],
)
def test_what_is_wrong_with_the_upstream_rejects(tmp_path: Path, fault: list[str], told: str) -> None:
    """The proxy's own timeout fires too where the upstream is slow: the upstream explains it."""
    trigger = tmp_path / "trigger"
    text = proxied([*fault, "--trigger", str(trigger)], ["--timeout", "0.5"], slow=1.0)
    stored = capture_run(tmp_path, text, Trigger(trigger), twin=False, duration=1.5)
    assert stored.run.state == "complete"
    before, *samples = stored.samples
    assert before.status == "accepted"
    # The proxy's three attempts, and as many of the control after it.
    assert [(s.status, *codes(s)) for s in samples] == [("rejected", "upstream")] * 6
    assert all(told in s.reasons[0].message for s in samples), [s.reasons for s in samples]
    assert "oha.json" in {Path(entry.path).name for entry in samples[0].raw}


@pytest.mark.parametrize(
    ("proxy", "reasons"),
    [
        (["--fault", "late", "--timeout", "0.3"], ["status", "timeouts"]),
        (["--fault", "alter", "--after", "6"], ["response"]),
        (["--fault", "drop", "--after", "6"], ["errors", "collapse", "response"]),
    ],
    ids=["a timeout fires", "the proxy alters a byte", "the proxy drops"],
)
def test_the_proxys_own_failures_are_kept(tmp_path: Path, proxy: list[str], reasons: list[str]) -> None:
    stored = capture_run(tmp_path, proxied([], proxy), twin=False)
    (sample,) = of(stored, "case")
    assert sample.status == "failed"
    assert codes(sample) == reasons, sample.reasons


def test_an_upstream_that_does_not_start_ends_the_run_before_it_begins(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match=r"(?s)upstream.*no-such-option"):
        capture_run(tmp_path, proxied(["--no-such-option"]), twin=False)
    (run,) = (tmp_path / "artifacts").iterdir()
    assert store.read(run).samples == []


def test_a_saturated_upstream_makes_the_figure_a_floor(tmp_path: Path) -> None:
    """A second process of the upstream keeps its CPU busy all the time."""
    spin = [sys.executable, "-S", "-c", "while True: pass"]
    program = tmp_path / "busy.py"
    program.write_text(
        "import os, subprocess, sys\n"
        f"subprocess.Popen({spin!r})\n"
        f"os.execv(sys.executable, [sys.executable, '-S', {str(TRUTH)!r}, *sys.argv[1:]])\n"
    )
    text = proxied([]).replace(json.dumps(str(TRUTH)), json.dumps(str(program)), 1)
    stored = capture_run(tmp_path, text, twin=False)
    (sample,) = of(stored, "case")
    assert sample.status == "accepted"
    assert "saturated" in [flag.code for flag in sample.flags]
    table = analysis.summary([stored])
    row = table[(table["metric"] == "rps") & (table["role"] == "case")].iloc[0]
    assert row["floor"]


PROBED = "[probe]\nrequests = 400\n"


@pytest.mark.skipif(bool(have("oha")), reason="needs oha")
def test_the_probe_follows_the_load(tmp_path: Path) -> None:
    stored = capture_run(tmp_path, suite_text({"good": ["--delay", "0.004"]}, extra=PROBED), twin=False)
    (sample,) = stored.samples
    assert sample.status == "accepted", sample.reasons
    assert sample.metrics["probe_headers_p50"] >= 0.004
    assert sample.timing["probe"] >= 400 / 4 * 0.004
    names = {Path(entry.path).name for entry in sample.raw}
    assert set(probing.RAW_FILES) <= names
    assert stored.run.probe
    assert stored.run.probe.requests == 400
    assert sample.counts["server"] <= sample.counts["ok"] + 4  # the probe's requests are not the load's
    report = verify.verify(stored.folder)
    assert report.ok, report.problems
    assert report.figures == len(sample.metrics)


def test_a_connection_that_the_probe_loses_is_the_servers_failure(tmp_path: Path) -> None:
    """Four connections and 10 ms an answer: the load never gets as far as request 300, the probe does."""
    server = ["--delay", "0.01", "--mode", "abort", "--every", "1", "--after", "300"]
    stored = capture_run(tmp_path, suite_text({"bad": server}, extra=PROBED), twin=False)
    (sample,) = stored.samples
    assert sample.status == "failed"
    assert codes(sample) == ["probe", "response"]
    assert "disconnected" in sample.reasons[0].message
    assert sample.metrics["rps"] > 0


def test_an_upstream_that_dies_under_the_probe_is_not_the_servers_failure(tmp_path: Path) -> None:
    """The probe meets 502s, which the upstream explains; the load before it met none."""
    trigger = tmp_path / "trigger"
    text = proxied(["--mode", "die", "--trigger", str(trigger)], extra="[probe]\nrequests = 20000\n")

    class Later(Trigger):
        def measuring(self, case: Case, repeat: int, attempt: int) -> None:
            Silent.measuring(self, case, repeat, attempt)
            if case.role == "case" and attempt == 1:
                threading.Thread(target=self.when_probed).start()

        def when_probed(self) -> None:
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline and not list(tmp_path.rglob("probe-plan.json")):
                time.sleep(0.01)
            time.sleep(1.0)  # the probe itself takes a while to start
            self.path.touch()

    stored = capture_run(tmp_path, text, Later(trigger), twin=False)
    first = of(stored, "case")[0]
    assert (first.status, *codes(first)) == ("rejected", "upstream")
    assert "ended with status 3" in first.reasons[0].message
    assert "probe.jsonl.gz" in {Path(entry.path).name for entry in first.raw}
    assert first.metrics["rps"] > 0


def test_a_probe_that_breaks_rejects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("raise SystemExit('no probe today')")
    monkeypatch.setattr(probing, "PROGRAM", broken)
    stored = capture_run(tmp_path, suite_text({"good": []}, extra=PROBED), twin=False)
    assert [s.status for s in stored.samples] == ["rejected"] * 3
    assert codes(stored.samples[0]) == ["probe"]
    assert "no probe today" in stored.samples[0].reasons[0].message


def test_a_ladder_measures_the_capacity_and_then_shares_of_it(tmp_path: Path) -> None:
    text = suite_text({"good": ["--delay", "0.01"]})
    stored = capture_run(tmp_path, text, ladder=True, repeats=2, duration=0.5, twin=False)
    assert [s.status for s in stored.samples] == ["accepted"] * 16, [s.reasons for s in stored.samples]
    capacity, rungs = stored.samples[:2], stored.samples[2:]
    assert {s.dimensions["load"] for s in capacity} == {"capacity"}
    assert sorted({int(s.dimensions["load"]) for s in rungs}) == [20, 35, 50, 65, 80, 90, 95]
    flags = stored.run.generator.flags
    assert flags[flags.index("-q") :] == ["-q", "{rate}", "--latency-correction"]
    best = statistics.median(s.metrics["rps"] for s in capacity)
    for sample in rungs:
        asked = json.loads((stored.folder / "raw" / f"{sample.order:04d}" / "load.json").read_text())
        assert asked["rate"] == pytest.approx(best * int(sample.dimensions["load"]) / 100)
        assert "p99" not in sample.metrics
        assert sample.metrics["open_p99"] >= 0.01
    assert all("open_p99" not in s.metrics for s in capacity)
    low = [s.metrics["rps"] for s in rungs if s.dimensions["load"] == 20]
    assert statistics.median(low) == pytest.approx(0.2 * best, rel=0.5)
    report = verify.verify(stored.folder)
    assert report.ok, report.problems


def test_without_a_capacity_there_is_no_ladder(tmp_path: Path) -> None:
    stored = capture_run(tmp_path, suite_text({"bad": ["--mode", "errors"]}), ladder=True, twin=False)
    first, *rest = stored.samples
    assert first.status == "failed"
    assert {(s.status, *codes(s)) for s in rest} == {("rejected", "capacity")}
    assert len(rest) == 7 * 3
    assert stored.run.state == "complete"


def test_an_interrupted_proxy_series_resumes_to_the_same_order(tmp_path: Path) -> None:
    path = tmp_path / "truth.toml"
    path.write_text(proxied([]).replace("repeats = 1", "repeats = 2"))
    command = [sys.executable, "-m", "runner", "run", "truth.toml", "--id", "broken"]
    runner = subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, env=os.environ | {"COLUMNS": "200"}
    )
    samples = tmp_path / "artifacts" / "broken" / "samples.jsonl"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (samples.exists() and samples.read_bytes().count(b"\n") >= 3):
        time.sleep(0.02)
    runner.send_signal(signal.SIGINT)
    assert runner.wait(60) == 130, runner.stderr.read() if runner.stderr else ""
    half = store.read(samples.parent)
    assert half.run.state == "interrupted"
    assert 3 <= len(half.samples) < half.run.samples
    done = subprocess.run([*command, "--resume"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    whole = store.read(samples.parent)
    wanted = [
        (case.id, repeat) for repeat, stage in stages(whole.run.cases, whole.run.parameters) for case in stage
    ]
    assert [(s.case, s.repeat) for s in whole.samples] == wanted
    assert (
        len(wanted) == whole.run.samples == sum(len(rounds(c, whole.run.parameters)) for c in whole.run.cases)
    )
    assert [s.order for s in whole.samples] == list(range(1, len(wanted) + 1))
    assert all(a.started <= b.started for a, b in itertools.pairwise(whole.samples))
    assert verify.verify(whole.folder).ok


def test_an_upstream_that_drips_its_answer_or_fails_its_readiness_is_rejected(tmp_path: Path) -> None:
    """Each byte comes in time, the whole does not; and a status is looked at, not only an answer."""
    program = tmp_path / "drip.py"
    program.write_text(
        "import http.server, sys, time\n"
        "class Handler(http.server.BaseHTTPRequestHandler):\n"
        "    asked = 0\n"
        "    def log_message(self, *a): pass\n"
        "    def do_GET(self):\n"
        "        Handler.asked += 1\n"
        "        bad = sys.argv[2] == 'fail' and Handler.asked > 1\n"
        "        self.send_response(500 if bad else 200)\n"
        "        self.send_header('content-length', '12'); self.end_headers()\n"
        "        for byte in b'{\"ok\": true}':\n"
        "            time.sleep(0.2 if sys.argv[2] == 'drip' and self.path == '/' else 0)\n"
        "            self.wfile.write(bytes([byte])); self.wfile.flush()\n"
        "http.server.ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), Handler).serve_forever()\n"
    )
    for mode, told in (("drip", "not whole after 1 s"), ("fail", "expected a 2xx, got 500")):
        command = json.dumps([sys.executable, "-S", str(program), "{port}", mode])
        text = proxied([], slow=1.0).replace(python(TRUTH), command)
        if mode == "fail":
            text = text[: text.index("[[control]]")] + text[text.index("[upstream]") :]
        assert command in text
        folder = tmp_path / mode
        folder.mkdir()
        stored = capture_run(folder, text, twin=False)
        assert {(s.status, *codes(s)) for s in stored.samples} == {("rejected", "upstream")}
        assert told in stored.samples[0].reasons[0].message
