"""The real command: what it prints, what it refuses, and how it exits."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.synthetic import write_run
from runner import store, verify
from tests.capturing import have, suite_text

ROOT = Path(__file__).parent.parent


def lapsheet(*arguments: str, cwd: Path, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "runner", *arguments], cwd=cwd, capture_output=True, text=True, timeout=timeout
    )


def assert_refused(result: subprocess.CompletedProcess[str], *told: str) -> None:
    assert result.returncode == 2, result.stdout + result.stderr
    assert "Traceback" not in result.stderr
    for text in told:
        assert text in result.stderr


def test_suites_lists_the_bundled_ones(tmp_path: Path) -> None:
    assert "rest: " in lapsheet("suites", cwd=tmp_path).stdout
    names = [item["name"] for item in json.loads(lapsheet("suites", "--json", cwd=tmp_path).stdout)]
    assert "rest" in names


def test_plan_starts_nothing_and_tells_all(tmp_path: Path) -> None:
    result = lapsheet("plan", "rest", "--workers", "1", "--json", cwd=tmp_path)
    plan = json.loads(result.stdout)
    assert plan["samples"] == 150
    assert len(plan["cases"]) == 30
    assert plan["seconds"] >= 150 * 6
    assert {"server", "generator", "runner"} == set(plan["layout"]["roles"])
    assert list(tmp_path.iterdir()) == []
    text = lapsheet("plan", "rest", "--workers", "1", cwd=tmp_path).stdout
    assert "150 samples" in text
    assert "granian/get_item/w1/c100" in text


def test_doctor_tells_a_remedy_for_every_problem(tmp_path: Path) -> None:
    findings = json.loads(lapsheet("doctor", "--json", cwd=tmp_path).stdout)
    items = findings["findings"] if isinstance(findings, dict) else findings
    assert len(items) >= 8
    for item in items:
        assert item["status"] in ("ok", "warn", "fail")
        assert item["status"] == "ok" or item["remedy"], item


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["plan", "nothing"], ["no suite 'nothing'", "rest"]),
        (["plan", "rest", "--server", "granite"], ["no server 'granite'", "granian"]),
        (["plan", "rest", "--server", "../x"], ["not an id"]),
        (["plan", "rest", "--workload", "nope"], ["no workload 'nope'", "get_item"]),
        (["plan", "rest", "--cpus", "server=4000"], ["4000"]),
        (["plan", "rest", "--cpus", "nobody=0"], ["nobody"]),
        (["plan", "rest", "--generator", "wrk9"], ["wrk9"]),
        (["run", "rest", "--id", "No Id"], ["not an id"]),
        (["run", "rest", "--resume"], ["no unfinished run"]),
        (["run", "rest", "--resume", "--duration", "1"], ["--resume takes all parameters from the run"]),
        (["summarize", "nothing"], ["no run 'nothing'"]),
        (["summarize", "../../etc"], ["not a run id"]),
        (["verify", "nothing"], ["no run 'nothing'"]),
        (["verify"], ["no runs in"]),
        (["plan", "./missing.toml"], ["missing.toml"]),
    ],
)
def test_what_cannot_be_is_refused_with_what_there_is(
    tmp_path: Path, arguments: list[str], told: list[str]
) -> None:
    assert_refused(lapsheet(*arguments, cwd=tmp_path), *told)
    assert not any(tmp_path.rglob("run.json"))


def test_a_wrong_suite_file_names_file_table_and_key(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(suite_text({"a": []}).replace("command =", "comand ="))
    assert_refused(
        lapsheet("plan", "./mine.toml", cwd=tmp_path), "mine.toml", "[[server]] 'a'", "comand: unknown key"
    )


def test_summarize_and_verify(tmp_path: Path) -> None:
    write_run(tmp_path / "artifacts", "whole", servers=3, workloads=1, repeats=5)
    table = lapsheet("summarize", "whole", cwd=tmp_path)
    assert table.returncode == 0
    assert "tier" in table.stdout
    rows = json.loads(lapsheet("summarize", "whole", "--format", "json", cwd=tmp_path).stdout)["rows"]
    csv = lapsheet("summarize", "whole", "--format", "csv", cwd=tmp_path).stdout.splitlines()
    assert len(csv) == len(rows) + 1
    assert_refused(lapsheet("summarize", "whole", "--format", "pdf", cwd=tmp_path), "pdf")

    assert lapsheet("verify", cwd=tmp_path).returncode == 0
    raw = next((tmp_path / "artifacts" / "whole" / "raw").rglob("*.json"))
    raw.write_bytes(raw.read_bytes().replace(b"1", b"2", 1))
    result = lapsheet("verify", "whole", cwd=tmp_path)
    assert result.returncode == 1
    assert str(raw.relative_to(tmp_path)) in result.stdout.replace("\n", "")


def test_a_pinned_run_that_is_not_here_is_missed(tmp_path: Path) -> None:
    write_run(tmp_path / "artifacts", "whole", servers=1, repeats=1)
    (tmp_path / "artifacts" / "pins.toml").write_text(f'[gone]\nrun = "gone"\nsha256 = "{"0" * 64}"\n')
    result = lapsheet("verify", cwd=tmp_path)
    assert result.returncode == 1
    assert "missing gone" in result.stdout


def test_every_command_has_help(tmp_path: Path) -> None:
    commands = re.findall(
        r"^  (\w+) {2,}\S", lapsheet("--help", cwd=tmp_path).stdout.split("Commands:")[1], re.M
    )
    assert set(commands) >= {"doctor", "suites", "plan", "run", "summarize", "verify", "quickstart"}
    for command in commands:
        text = lapsheet(command, "--help", cwd=tmp_path).stdout
        assert len(text.split("Options:")[0].split()) > 8, command


@pytest.mark.skipif(bool(have("oha")), reason="needs oha (cargo install oha --locked)")
def test_a_failed_server_gives_exit_status_1_and_a_whole_run(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(suite_text({"good": [], "bad": ["--mode", "errors"]}))
    result = lapsheet("run", "./mine.toml", "--id", "mine", "--no-twin", cwd=tmp_path)
    assert result.returncode == 1, result.stderr
    assert "failed by the server's own doing" in result.stderr
    assert "bad/root/w1/c4" in result.stderr
    stored = store.read(tmp_path / "artifacts" / "mine")
    assert {sample.case.split("/")[0]: sample.status for sample in stored.samples} == {
        "good": "accepted",
        "bad": "failed",
    }
    assert verify.verify(stored.folder).ok


def test_quickstart_measures_and_builds_a_site_that_shows_it(tmp_path: Path) -> None:
    for name in ("mkdocs.yml", "pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, tmp_path)
    for name in ("hooks", "site_src", "runner", "locks", "overrides"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "artifacts").mkdir()
    shutil.copy(ROOT / "artifacts" / "pins.toml", tmp_path / "artifacts") if (
        ROOT / "artifacts" / "pins.toml"
    ).exists() else None
    for reference in (ROOT / "artifacts").glob("ref-*"):
        shutil.copytree(reference, tmp_path / "artifacts" / reference.name)
    before = set(store.run_ids(tmp_path / "artifacts"))
    result = lapsheet("quickstart", "--no-serve", "--server", "uvicorn-httptools", cwd=tmp_path, timeout=400)
    assert "Traceback" not in result.stderr
    (run,) = set(store.run_ids(tmp_path / "artifacts")) - before
    assert store.read_manifest(tmp_path / "artifacts" / run).state == "complete"
    page = tmp_path / "site" / "runs" / run / "index.html"
    assert page.is_file(), result.stderr
    assert "uvicorn" in page.read_text().lower()
    assert run in (tmp_path / "site" / "index.html").read_text()
