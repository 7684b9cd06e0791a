"""What the browser computes from raw files, against what Python computes from them."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import needs_chromium
from cheating import k9_shaped
from sites import ROOT, served

from benchmarks.synthetic import flawed, write_run
from runner import probing, store
from runner.errors import GeneratorError
from runner.generators import by_name

CAPTURED = sorted(
    path.parent.name for path in (ROOT / "artifacts").glob("ref-*/run.json") if "published" not in str(path)
)
PAGE = """<!doctype html><link rel="icon" href="data:,"><script>window.lapsheet = {};</script>
<script src="recompute.js"></script>"""

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def artifacts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reference runs and two synthetic ones, in a folder with a page that has the script."""
    folder = tmp_path_factory.mktemp("recompute")
    (folder / "index.html").write_text(PAGE)
    shutil.copy(ROOT / "site_src" / "assets" / "recompute.js", folder)
    artifacts = folder / "artifacts"
    artifacts.mkdir()
    for name in CAPTURED:
        (artifacts / name).symlink_to(ROOT / "artifacts" / name)
    write_run(artifacts, "flawed", servers=4, mutate=flawed)
    k9_shaped(write_run(artifacts, "k9", servers=2).folder)
    return artifacts


@pytest.fixture(scope="module")
def address(artifacts: Path) -> Iterator[str]:
    with served(artifacts.parent) as url:
        yield url


AGAIN = """async ([folder, name, samples]) => {
    const found = [];
    for (const [order, raw] of samples) {
        const files = new Map();
        for (const path of raw) {
            const answer = await fetch(folder + path);
            files.set(path.split("/").pop(), new Uint8Array(await answer.arrayBuffer()));
        }
        const { ok, metrics } = lapsheet.recompute.generator(name, files);
        const probed = files.has("probe.jsonl.gz") ? await lapsheet.recompute.probe(files) : {};
        found.push({ ok, metrics: { ...metrics, ...probed } });
    }
    return found;
}"""


@pytest.mark.parametrize("run_id", [*CAPTURED, "k9", "flawed"])
def test_browser_computes_what_python_computes(
    visit: Any, address: str, artifacts: Path, run_id: str
) -> None:
    """Of every raw file of every run, to the last bit."""
    stored = store.read(artifacts / run_id)
    generator = by_name(stored.run.generator.name)
    wanted = []
    for sample in stored.samples:
        folder = stored.folder / store.RAW / f"{sample.order:04d}"
        outcome = generator.read(folder)
        probed = probing.read(folder).metrics if (folder / probing.ROWS).exists() else {}
        wanted.append({"ok": outcome.ok, "metrics": outcome.metrics | probed})
    page = visit(address).page
    samples = [[sample.order, [entry.path for entry in sample.raw]] for sample in stored.samples]
    assert page.evaluate(AGAIN, [f"artifacts/{run_id}/", stored.run.generator.name, samples]) == wanted
    assert len(wanted) > 25


BROKEN: list[tuple[str, Callable[[dict[str, Any]], Any], str]] = [
    ("no window", lambda data: data["summary"].pop("total"), "summary.total: missing or zero"),
    ("a text", lambda data: data["summary"].update(total="5"), "summary.total: not a number"),
    ("negative", lambda data: data["summary"].update(total=-5), "summary.total: negative or too large"),
    ("half", lambda data: data["statusCodeDistribution"].update({"200": 1.5}), "not a whole number"),
    ("a code", lambda data: data["statusCodeDistribution"].update({"2xx": 5}), "is not a status code"),
    ("no codes", lambda data: data.pop("statusCodeDistribution"), "statusCodeDistribution: missing"),
    ("falling", lambda data: data["latencyPercentiles"].update(p99=1e-9), "p99 is below p95"),
    ("true", lambda data: data["summary"].update(average=True), "summary.average: not a number"),
]


@pytest.mark.parametrize(("change", "told"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN])
def test_damaged_output_is_refused_where_python_refuses_it(
    visit: Any,
    address: str,
    artifacts: Path,
    tmp_path: Path,
    change: Callable[[dict[str, Any]], Any],
    told: str,
) -> None:
    raw = artifacts / "ref-rest-one-worker" / "raw" / "0001"
    output = json.loads((raw / "oha.json").read_text())
    change(output)
    (tmp_path / "oha.json").write_text(json.dumps(output))
    shutil.copy(raw / "load.json", tmp_path)
    with pytest.raises(GeneratorError):
        by_name("oha").read(tmp_path)
    assert told in read_in_browser(visit(address).page, tmp_path)


def test_numbers_that_json_has_not_are_read_as_python_reads_them(
    visit: Any, address: str, artifacts: Path, tmp_path: Path
) -> None:
    raw = artifacts / "ref-rest-one-worker" / "raw" / "0001"
    text = (raw / "oha.json").read_text()
    text = text.replace('"p99": 0.059667295', '"p99": NaN').replace(
        '"p99.9": 0.075607107', '"p99.9": Infinity'
    )
    assert (text.count("NaN"), text.count("Infinity")) == (1, 1)
    (tmp_path / "oha.json").write_text(text)
    shutil.copy(raw / "load.json", tmp_path)
    metrics = by_name("oha").read(tmp_path).metrics
    assert "p99" not in metrics
    found = json.loads(read_in_browser(visit(address).page, tmp_path))
    assert found["metrics"] == metrics


def read_in_browser(page: Any, folder: Path) -> str:
    """What the page's reader gives for oha's files of that folder, as JSON, or its complaint."""
    files = {path.name: path.read_text() for path in folder.iterdir()}
    return str(
        page.evaluate(
            """async (texts) => {
                const bytes = (text) => new TextEncoder().encode(text);
                const files = new Map(Object.entries(texts).map(([name, text]) => [name, bytes(text)]));
                try {
                    return JSON.stringify(lapsheet.recompute.generator("oha", files));
                } catch (error) {
                    return error.message;
                }
            }""",
            files,
        )
    )


ROWS: list[tuple[str, Callable[[list[str]], list[str]], str]] = [
    ("a row less", lambda lines: lines[:-1], "rows, the probe sent"),
    ("not JSON", lambda lines: [lines[0], "{", *lines[2:]], "line 2: not JSON"),
    ("two changed places", lambda lines: [lines[1], lines[0], *lines[2:]], "line 1: not row 1"),
    (
        "a time that contradicts",
        lambda lines: [re.sub(r'"total": [\d.e-]+', '"total": 0.0', lines[0]), *lines[1:]],
        "line 1: its times contradict each other",
    ),
    (
        "no time",
        lambda lines: [re.sub(r'"gap": [\d.e-]+', '"gap": null', lines[0]), *lines[1:]],
        "line 1: gap: missing or not a time",
    ),
]


@pytest.mark.parametrize(("change", "told"), [case[1:] for case in ROWS], ids=[case[0] for case in ROWS])
def test_damaged_rows_of_the_probe_are_refused(
    visit: Any,
    address: str,
    artifacts: Path,
    tmp_path: Path,
    change: Callable[[list[str]], list[str]],
    told: str,
) -> None:
    raw = artifacts / "ref-nagle" / "raw" / "0001"
    lines = change(gzip.decompress((raw / probing.ROWS).read_bytes()).decode().splitlines())
    packed = gzip.compress("".join(line + "\n" for line in lines).encode())
    (tmp_path / probing.ROWS).write_bytes(packed)
    shutil.copy(raw / probing.ABOUT, tmp_path)
    with pytest.raises(GeneratorError, match="line"):
        probing.read(tmp_path)
    assert told in probe_in_browser(visit(address).page, raw / probing.ABOUT, packed)


def test_gzip_that_is_cut_short_is_refused(visit: Any, address: str, artifacts: Path) -> None:
    raw = artifacts / "ref-nagle" / "raw" / "0001"
    packed = (raw / probing.ROWS).read_bytes()
    page = visit(address).page
    assert "not whole gzip" in probe_in_browser(page, raw / probing.ABOUT, packed[:-100])
    assert "not whole gzip" in probe_in_browser(page, raw / probing.ABOUT, b"plain text")
    page.evaluate("delete window.DecompressionStream")
    assert "this browser cannot unpack gzip" in probe_in_browser(page, raw / probing.ABOUT, packed)


def probe_in_browser(page: Any, about: Path, packed: bytes) -> str:
    return str(
        page.evaluate(
            """async ([about, packed]) => {
                const files = new Map([
                    ["probe.json", new TextEncoder().encode(about)],
                    ["probe.jsonl.gz", Uint8Array.from(packed)],
                ]);
                try {
                    return JSON.stringify(await lapsheet.recompute.probe(files));
                } catch (error) {
                    return error.message;
                }
            }""",
            [about.read_text(), list(packed)],
        )
    )
