"""Captures of servers of known behaviour: each fault ends in its kind of failure, with its name."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from runner import beginning, capture, plan, store, suite, verify
from runner.attempt import Bench
from runner.cases import round_order
from runner.errors import ArtifactError, MachineError, SuiteError
from runner.model import Sample
from runner.plan import Options
from runner.program import free_port, port_is_free
from tests.capturing import TRUTH, Silent, capture_run, have, suite_text

pytestmark = pytest.mark.skipif(bool(have("oha")), reason="needs oha (cargo install oha --locked)")


def only(samples: list[Sample]) -> Sample:
    assert len(samples) == 1, [(sample.status, sample.reasons) for sample in samples]
    return samples[0]


def codes(notes) -> list[str]:
    return [note.code for note in notes]


def left_over(project: Path) -> list[str]:
    """What a capture in this folder started and that is still alive."""
    found = [child.name() for child in psutil.Process().children(recursive=True) if "oha" in child.name()]
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get("LAPSHEET_COUNTERS", "").startswith(str(project)):
                found.append(" ".join(process.cmdline()))
    return found


@pytest.fixture(autouse=True)
def _nothing_left_over(tmp_path: Path):
    yield
    deadline = time.monotonic() + 5
    while left_over(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left_over(tmp_path) == []


def test_a_healthy_server(tmp_path: Path) -> None:
    stored = capture_run(tmp_path, suite_text({"good": ["--delay", "0.002"]}), twin=False)
    sample = only(stored.samples)
    assert sample.status == "accepted", sample.reasons
    assert stored.run.state == "complete"
    assert {check.name: check.status for check in sample.checks} == {
        "response": "ok",
        "affinity": "ok",
        "loop": "ok" if stored.run.suite_file.text.count("loop =") else "not checked",
        "status": "ok",
        "errors": "ok",
        "foreign": "ok",
        "counter": "ok",
        "workers": "ok",
    }
    # Four connections, 2 ms a reply: never more than 2,000 requests/s, and the loop keeps up with most.
    assert 400 < sample.metrics["rps"] <= 2000
    assert sample.metrics["p50"] >= 0.002
    assert sample.counts["ok"] <= sample.counts["server"] <= sample.counts["ok"] + 4
    assert {"server", "generator", "runner"} == set(sample.witness)
    assert sample.witness["generator"].threads >= 1
    assert set(sample.timing) == {
        "start", "checks_before", "warmup", "measured", "runner_cpu", "checks_after", "stop",
    }  # fmt: skip
    assert {Path(entry.path).name for entry in sample.raw} >= {"identity.json"}
    assert stored.run.generator.threads == sample.witness["generator"].threads
    report = verify.verify(stored.folder)
    assert report.ok, report.problems
    assert report.figures == len(sample.metrics)


def test_the_manifest_tells_no_names(tmp_path: Path) -> None:
    stored = capture_run(tmp_path, suite_text({"good": []}), twin=False)
    for path in stored.folder.rglob("*"):
        if path.is_file() and path.suffix in (".json", ".jsonl", ".log", ".txt"):
            assert str(tmp_path) not in path.read_text(errors="replace").replace(str(sys.executable), ""), (
                path
            )


@pytest.mark.parametrize(
    ("arguments", "reasons"),
    [
        (["--mode", "errors"], ["status"]),
        (["--mode", "abort"], ["errors"]),
        (["--mode", "wrong-body"], ["response"]),
        (["--mode", "wrong-body", "--after", "50"], ["response"]),
        (["--mode", "die", "--after", "50"], ["died"]),
    ],
)
def test_the_servers_own_failures_are_kept_and_not_retried(
    tmp_path: Path, arguments: list[str], reasons: list[str]
) -> None:
    sample = only(capture_run(tmp_path, suite_text({"bad": arguments}), twin=False).samples)
    assert sample.status == "failed"
    assert codes(sample.reasons)[: len(reasons)] == reasons, sample.reasons


def test_a_hang_ends_in_a_failure_in_bounded_time(tmp_path: Path) -> None:
    begin = time.monotonic()
    sample = only(
        capture_run(tmp_path, suite_text({"bad": ["--mode", "hang", "--after", "50"]}), twin=False).samples
    )
    assert sample.status == "failed"
    assert "response" in codes(sample.reasons), sample.reasons
    assert time.monotonic() - begin < 60


def test_a_stall_is_flagged(tmp_path: Path) -> None:
    text = suite_text({"slow": ["--mode", "stall", "--after", "200", "--stall", "0.4"]})
    sample = only(capture_run(tmp_path, text, twin=False, duration=1.5, warmup=0).samples)
    assert "stall" in codes(sample.flags), (sample.flags, sample.reasons, sample.metrics)


def test_silently_repeated_requests_are_caught_by_the_servers_counter(tmp_path: Path) -> None:
    text = suite_text({"bad": ["--mode", "abort", "--every", "5"]})
    sample = only(capture_run(tmp_path, text, twin=False, generator="k9", duration=1.0).samples)
    assert sample.status == "failed"
    assert "retries" in codes(sample.reasons), sample.reasons


def test_k9_captures_and_verifies(tmp_path: Path) -> None:
    stored = capture_run(
        tmp_path, suite_text({"good": ["--delay", "0.005"]}), twin=False, generator="k9", duration=1
    )
    assert only(stored.samples).status == "accepted", stored.samples[0].reasons
    report = verify.verify(stored.folder)
    assert report.ok, report.problems
    assert report.figures >= 4


def test_a_long_log_is_kept_packed(tmp_path: Path) -> None:
    code = (
        "print('x' * 9000, flush=True); import runpy, sys; sys.argv[1:] = ['--port', '{port}']; "
        f"runpy.run_path({str(TRUTH)!r}, run_name='__main__')"
    )
    command = [sys.executable, "-c", code]
    text = suite_text({}) + f'[[server]]\nname = "loud"\ncommand = {json.dumps(command)}\n'
    stored = capture_run(tmp_path, text, twin=False)
    (entry,) = [entry for entry in only(stored.samples).raw if "server.log" in entry.path]
    assert entry.path.endswith("server.log.gz")
    assert entry.size < 1000
    assert gzip.decompress((stored.folder / entry.path).read_bytes()).startswith(b"x" * 9000)
    assert verify.verify(stored.folder).ok


def test_the_wrong_loop(tmp_path: Path) -> None:
    text = suite_text({"bad": []}).replace("start_timeout = 5", 'start_timeout = 5\nloop = "uvloop.Loop"')
    sample = only(capture_run(tmp_path, text, twin=False).samples)
    assert codes(sample.reasons) == ["loop"]
    assert "uvloop.Loop" in sample.reasons[0].message


def test_servers_that_do_not_start_do_not_stop_the_others(tmp_path: Path) -> None:
    text = suite_text({"good": [], "crash": ["--no-such-option"]})
    text += '[[server]]\nname = "absent"\ncommand = ["no-such-server", "{port}"]\n'
    silent = json.dumps([sys.executable, "-c", "import time; time.sleep(60)"])
    text += f'[[server]]\nname = "silent"\ncommand = {silent}\nstart_timeout = 1\n'
    samples = {
        sample.case.split("/")[0]: sample for sample in capture_run(tmp_path, text, twin=False).samples
    }
    assert samples["good"].status == "accepted"
    for name, told in (
        ("crash", "no-such-option"),
        ("absent", "No such file"),
        ("silent", "no answer of the server within 1 s"),
    ):
        assert samples[name].status == "failed"
        assert codes(samples[name].reasons) == ["start"]
        assert told in samples[name].reasons[0].message


def test_a_suite_without_identity_says_what_it_did_not_check(tmp_path: Path) -> None:
    """Somebody's server that knows nothing of Lapsheet."""
    (tmp_path / "index.html").write_text("hello\n")
    text = suite_text({}, identity=False).replace("{ json = { ok = true } }", '{ text = "hello\\n" }')
    command = [
        sys.executable,
        "-m",
        "http.server",
        "{port}",
        "--bind",
        "{host}",
        "--directory",
        str(tmp_path),
    ]
    text += f'[[server]]\nname = "files"\nlabel = "<b>Files</b>"\ncommand = {json.dumps(command)}\n'
    stored = capture_run(tmp_path, text, twin=False)
    sample = only(stored.samples)
    assert {check.name for check in sample.checks if check.status == "not checked"} == {
        "workers",
        "loop",
        "counter",
    }
    assert stored.run.labels["server"]["files"] == "<b>Files</b>"


def test_foreign_load_rejects_and_every_attempt_is_kept(tmp_path: Path) -> None:
    text = suite_text({"good": ["--delay", "0.002"]}, foreign_limit=0.1)
    cpu = min(os.sched_getaffinity(0))
    # Not a child of this process: what the runner itself started is never foreign.
    shell = f"taskset -c {cpu} {sys.executable} -c 'while True: pass' >/dev/null 2>&1 & echo $!"
    burner = int(subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=True).stdout)
    try:
        stored = capture_run(
            tmp_path, text, twin=False, duration=1.0, cpus=[f"server={cpu}", f"generator={cpu}"]
        )
    finally:
        os.kill(burner, signal.SIGKILL)
    told = [(sample.status, [r.message for r in sample.reasons]) for sample in stored.samples]
    assert [status for status, _ in told] == ["rejected"] * 3, told
    assert [sample.attempt for sample in stored.samples] == [1, 2, 3]
    for sample in stored.samples:
        assert "foreign" in codes(sample.reasons)
        assert sample.metrics  # measured, kept, not used
        assert all((stored.folder / entry.path).is_file() for entry in sample.raw)
    assert verify.verify(stored.folder).ok


def test_a_generator_that_dies_is_the_surroundings_fault(tmp_path: Path) -> None:
    killed: list[int] = []

    def kill_generators() -> None:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and len(killed) < 1:
            for process in psutil.process_iter(["name", "cmdline"]):
                if process.info["name"] == "oha" and "1500ms" in " ".join(process.info["cmdline"] or []):
                    time.sleep(0.3)
                    process.kill()
                    killed.append(process.pid)
            time.sleep(0.02)

    thread = threading.Thread(target=kill_generators)
    thread.start()
    stored = capture_run(tmp_path, suite_text({"good": ["--delay", "0.005"]}), twin=False, duration=1.5)
    thread.join()
    assert len(killed) == 1
    assert [sample.status for sample in stored.samples] == ["rejected", "accepted"]
    assert codes(stored.samples[0].reasons) == ["generator"]


def test_a_stranger_on_the_port_is_never_measured(tmp_path: Path) -> None:
    """Without an identity endpoint too: somebody else answers rightly where our server is still starting."""
    port = free_port()
    slow = f"import time; time.sleep(5); import runpy, sys; sys.argv[1:] = ['--port', '{port}']; "
    slow += f"runpy.run_path({str(TRUTH)!r}, run_name='__main__')"
    text = suite_text({}, identity=False)
    text += f'[[server]]\nname = "slow"\ncommand = {json.dumps([sys.executable, "-c", slow])}\n'
    (tmp_path / "truth.toml").write_text(text)
    made = plan.make(suite.load(str(tmp_path / "truth.toml")), Options(twin=False))
    with beginning.begin(made, tmp_path / "artifacts", tmp_path, []) as writer:
        bench = Bench(made, writer, beginning.redactor(tmp_path, made), port)
        stranger = subprocess.Popen([sys.executable, str(TRUTH), "--port", str(port)])
        try:
            deadline = time.monotonic() + 10
            while port_is_free(port) and time.monotonic() < deadline:
                time.sleep(0.02)
            pending = bench.attempt(made.cases[0], 1, 1, 1, lambda: None)
            sample = pending.settle(writer, bench.redactor)
        finally:
            stranger.kill()
            stranger.wait()
    assert sample.status == "rejected"
    assert codes(sample.reasons) == ["port"]
    assert not sample.metrics


SERIAL = """
import http.server, sys, time
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(0.12)
        self.send_response(200)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
    def log_message(self, *arguments):
        pass
class Server(http.server.HTTPServer):
    request_queue_size = 100
Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def test_a_slow_but_right_server_is_no_failure(tmp_path: Path) -> None:
    """What the generator left in the queue takes longer than an impatient check would wait."""
    text = suite_text({}, identity=False).replace("{ json = { ok = true } }", '{ text = "ok" }')
    (tmp_path / "serial.py").write_text(SERIAL)
    command = json.dumps([sys.executable, str(tmp_path / "serial.py"), "{port}"])
    text += f'[[server]]\nname = "serial"\ncommand = {command}\n'
    sample = only(capture_run(tmp_path, text, twin=False, connections=60, duration=1.0, warmup=0).samples)
    assert sample.status == "accepted", sample.reasons


def test_a_disk_all_but_full_ends_with_the_stored_samples_safe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)
    calls: list[int] = []

    def shrinking(path: object) -> object:
        calls.append(1)
        return usage._replace(free=usage.free if len(calls) < 3 else 1000)

    monkeypatch.setattr(shutil, "disk_usage", shrinking)
    with pytest.raises(ArtifactError, match="disk full"):
        capture_run(tmp_path, suite_text({"a": [], "b": [], "c": []}), twin=False, duration=0.3, warmup=0)
    monkeypatch.undo()
    (name,) = store.run_ids(tmp_path / "artifacts")
    assert len(store.read(tmp_path / "artifacts" / name).samples) == 2


def test_twins_and_rounds(tmp_path: Path) -> None:
    text = suite_text({"a": [], "b": []}, extra='[twin]\nserver = "b"')
    stored = capture_run(tmp_path, text, repeats=2, duration=0.3, warmup=0)
    expected = [
        (case.id, repeat)
        for repeat in (1, 2)
        for case in round_order(stored.run.cases, stored.run.parameters.seed, repeat)
    ]
    first_attempts = [(sample.case, sample.repeat) for sample in stored.samples if sample.attempt == 1]
    assert first_attempts == expected
    assert sorted(case.role for case in stored.run.cases) == ["case", "case", "twin"]
    assert [sample.order for sample in stored.samples] == list(range(1, len(stored.samples) + 1))


def test_a_busy_port_and_too_few_cpus_are_refused_before_anything_starts(tmp_path: Path) -> None:
    path = tmp_path / "truth.toml"
    path.write_text(suite_text({"good": []}))
    loaded = suite.load(str(path))
    with pytest.raises(MachineError, match="9999"):
        plan.make(loaded, Options(cpus=["server=9999"]))
    made = plan.make(loaded, Options())
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with beginning.begin(made, tmp_path / "artifacts", tmp_path, []) as writer:
            with pytest.raises(MachineError, match=f"port {port} is in use"):
                capture.execute(made, writer, tmp_path, Silent(), port)
            assert writer.samples == []


def test_what_is_not_installed_is_named(tmp_path: Path) -> None:
    path = tmp_path / "truth.toml"
    path.write_text(suite_text({"good": []}) + 'requires = ["no-such-distribution"]\n')
    with pytest.raises(SuiteError, match=r"no-such-distribution.*good"):
        beginning.begin(plan.make(suite.load(str(path)), Options()), tmp_path / "artifacts", tmp_path, [])
    assert not (tmp_path / "artifacts").exists()


@pytest.mark.parametrize("field", ["machine", "lock", "application_sha256", "generator_version"])
def test_resume_refuses_what_changed_and_names_it(tmp_path: Path, field: str) -> None:
    path = tmp_path / "truth.toml"
    path.write_text(suite_text({"good": []}))
    made = plan.make(suite.load(str(path)), Options())
    with beginning.begin(made, tmp_path / "artifacts", tmp_path, []) as writer:
        folder = writer.folder
    manifest = json.loads((folder / "run.json").read_text())
    manifest["comparable"][field] = "another"
    changed = json.dumps(manifest)
    (folder / "run.json").write_text(changed)
    with pytest.raises(ArtifactError, match=f"changed since it began: {field}"):
        beginning.resume(made, folder, tmp_path)
    assert (folder / "run.json").read_text() == changed
