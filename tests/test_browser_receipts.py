"""Receipts in headless Chromium: what they tell of a figure, and that Verify cannot be fooled."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import needs_chromium
from cheating import disagree, k9_shaped, rewrite, unfinished, with_raw
from receipt import CASE, OPEN, Receipt
from sites import EVIL, ROOT, Builder, pin, served

from benchmarks.synthetic import flawed, write_run
from runner import store
from runner.metrics import METRICS
from runner.model import Check, Note, Run, Sample

REFERENCE = sorted(path.parent.name for path in (ROOT / "artifacts").glob("ref-*/run.json"))
PUBLISHED = "ref-published-aiohttp-asgi"

pytestmark = needs_chromium


def evil(run: Run, samples: list[Sample]) -> tuple[Run, list[Sample]]:
    """Hostile text wherever a run has free text."""
    run, samples = flawed(run, samples)
    note = Note(code="<b>code</b>", message=EVIL)
    labels = {kind: {name: f"{EVIL} {name}" for name in names} for kind, names in run.labels.items()}
    layout = run.layout.model_copy(update={"note": EVIL})
    hostile = [
        sample.model_copy(
            update={
                "reasons": [note] if sample.reasons else [],
                "flags": [note],
                "checks": [check.model_copy(update={"detail": EVIL}) for check in sample.checks],
                "commands": {"server": [EVIL, "it's", "--port", str(sample.order)]},
            }
        )
        for sample in samples
    ]
    return run.model_copy(update={"title": EVIL, "labels": labels, "layout": layout}), hostile


def unchecked(run: Run, samples: list[Sample]) -> tuple[Run, list[Sample]]:
    """Samples that were accepted although a check failed."""
    failed = Check(name="loop", status="failed")
    return run, [s.model_copy(update={"checks": [*s.checks, failed]}) for s in samples]


def interrupted(run: Run, samples: list[Sample]) -> tuple[Run, list[Sample]]:
    return run, samples[: len(samples) * 3 // 5]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Builder:
    """The reference runs, and synthetic ones of every kind as local runs."""
    with pytest.MonkeyPatch.context() as patch:
        builder = Builder(tmp_path_factory.mktemp("receipts"), patch)
        for name in REFERENCE:
            shutil.copytree(ROOT / "artifacts" / name, builder.artifacts / name)
        write_run(builder.artifacts, "flawed", servers=4, mutate=flawed)
        write_run(builder.artifacts, "evil", servers=4, mutate=evil)
        k9_shaped(write_run(builder.artifacts, "k9", servers=2).folder)
        unfinished(write_run(builder.artifacts, "running", servers=2, mutate=interrupted).folder)
        write_run(builder.artifacts, "bare", servers=2, raw=False)
        lie(write_run(builder.artifacts, "lie", servers=2).folder)
        damage(write_run(builder.artifacts, "damaged", servers=2).folder)
        odd = write_run(builder.artifacts, "disagree", servers=2)
        disagree(odd.folder, raw_of(next(s for s in odd.samples if s.case == CASE), "oha.json"))
        write_run(builder.artifacts, "unchecked", servers=2, mutate=unchecked)
        pin(builder.artifacts, **{name: name for name in REFERENCE})
        builder.build(local=True, pages={"index.md": "# Receipts\n"})
        return builder


def raw_of(sample: Sample, name: str) -> str:
    """The path of one of a sample's raw files."""
    (path,) = (entry.path for entry in sample.raw if entry.path.endswith("/" + name))
    return path


def lie(folder: Path) -> None:
    """One stored throughput that its raw files do not give, with every hash made to follow."""

    def change(sample: Sample) -> Sample:
        if sample.case != CASE or sample.repeat != 2:
            return sample
        return sample.model_copy(update={"metrics": sample.metrics | {"rps": sample.metrics["rps"] * 1.5}})

    rewrite(folder, change)


def damage(folder: Path) -> None:
    """Raw files that were damaged before they were hashed: no JSON, another count, no such figure."""

    def change(sample: Sample) -> Sample:
        if sample.case != CASE:
            return sample
        raw = folder / store.RAW / f"{sample.order:04d}" / "oha.json"
        if sample.repeat == 1:
            return with_raw(folder, sample, "oha.json", raw.read_bytes()[:900])
        if sample.repeat == 2:
            return with_raw(folder, sample, "oha.json", b"[1, 2]")
        if sample.repeat == 3:
            output = json.loads(raw.read_text())
            output["latencyPercentiles"]["p99"] = None
            return with_raw(folder, sample, "oha.json", json.dumps(output).encode())
        return sample

    rewrite(folder, change)


@pytest.fixture(scope="module")
def address(site: Builder) -> Iterator[str]:
    with served(site.site) as url:
        yield url


# --- what a receipt shows ---------------------------------------------------------------------------


def test_receipt_tells_every_attempt(visit: Any, address: str, site: Builder) -> None:
    found = visit(address + "runs/flawed/")
    stored = store.read(site.artifacts / "flawed")
    for server in ("granian-rloop", "aiohttp-asgi-rloop"):
        case = f"{server}/get_item/w1/c100"
        receipt = Receipt(found, "flawed", case)
        samples = sorted((s for s in stored.samples if s.case == case), key=lambda s: (s.repeat, s.attempt))
        rows = receipt.rows(".ls-receipt-attempts")
        assert len(rows) == len(samples)
        for row, sample in zip(rows, samples, strict=True):
            assert row[0] == f"{sample.repeat}" + (", attempt 2" if sample.attempt > 1 else "")
            assert row[1] == METRICS["rps"].show(sample.metrics["rps"])
            assert row[2].startswith(sample.status)
            assert all(note.message in row[2] for note in [*sample.reasons, *sample.flags])
            assert row[3] == sample.started.strftime("%Y-%m-%d %H:%M:%S UTC")
            assert row[4] == str(sample.order)
    assert "kept, not repeated" in receipt.rows(".ls-receipt-attempts")[0][2]
    assert "2 of 5 samples failed" in receipt.text
    assert found.complaints == []


def test_receipt_tells_what_the_figure_is(visit: Any, address: str) -> None:
    found = visit(address + "runs/flawed/")
    floor = Receipt(found, "flawed", CASE).text
    assert "granian · get_item · workers 1 · connections 100" in floor
    assert "≥ 40,000 requests/smedian of 5 accepted samples · range 39,600–40,400" in floor
    assert "no tier: limited by the load generator · noise band" in floor
    assert "≥: the load generator or the upstream was at its limit, so the server may be better." in floor
    latency = Receipt(found, "flawed", CASE, "p99").text
    assert "≤ " in latency
    plain = Receipt(found, "flawed", "granian-rloop/get_item/w1/c100").text
    assert "tier 1" in plain
    assert "attempt 2" in plain
    assert "disturbed from outside: repeated as attempt 2" in plain
    broken = Receipt(found, "flawed", "aiohttp-asgi-uvloop/get_item/w1/c100")
    assert "no accepted sample of 5" in broken.text
    assert "there is nothing to verify" in broken.text
    assert broken.dialog.get_by_role("button", name="Verify").count() == 0


def test_receipt_has_command_cpus_checks_files_and_run(visit: Any, address: str, site: Builder) -> None:
    found = visit(address + "runs/ref-proxy-one-worker/")
    case = "granian/httpx-64k/w1/c25"
    receipt = Receipt(found, "ref-proxy-one-worker", case, "probe_gap_p50")
    stored = store.read(site.artifacts / "ref-proxy-one-worker")
    samples = sorted((s for s in stored.samples if s.case == case), key=lambda s: s.repeat)
    text = receipt.text
    shown = receipt.dialog.locator(".ls-command code").all_text_contents()
    first = samples[0].commands
    assert any(line.startswith("granian --interface asgi --host 127.0.0.1 --port") for line in shown)
    for role in ("server", "warmup", "generator", "probe"):
        words = [word if word[0] != "<" and " " not in word else f"'{word}'" for word in first[role]]
        assert " ".join(words) in shown
    assert any("echo.py" in line for line in shown)
    port = first["server"][first["server"].index("--port") + 1]
    assert f"Each attempt had its own: {port}" in text
    assert "upstream and generator share CPU 1" in text
    for sample in samples:
        for check in sample.checks:
            assert check.detail in text
        for entry in sample.raw:
            assert entry.sha256 in text
            link = receipt.dialog.locator(f'a[href$="files/{entry.path}"]')
            assert link.evaluate("async (a) => (await (await fetch(a.href)).blob()).size") == entry.size
    assert f"server: CPU {samples[0].witness['server'].cpus[0]}" in text
    assert f"{samples[1].witness['generator'].foreign * 100:.1f} %" in text
    assert "at its limit: server" in text
    assert "Seed" in text
    assert store.sha256_file(stored.folder / store.MANIFEST) in text
    assert receipt.dialog.locator('a[href$="runs/ref-proxy-one-worker/"]').count() == 1
    assert found.complaints == []


def test_hostile_text_is_text(visit: Any, address: str, site: Builder) -> None:
    found = visit(address + "runs/evil/")
    case = "granian-rloop/get_item/w1/c100"
    receipt = Receipt(found, "evil", case)
    text = receipt.text
    assert text.count(" ".join(EVIL.split())) > 8
    assert receipt.dialog.locator("img, script").count() == 0
    assert receipt.page.evaluate("window.pwned") is None
    command = receipt.dialog.locator("details:has-text('Commands') .ls-command code").first.text_content()
    quoted = EVIL.replace("'", "'\"'\"'")
    first = next(s for s in store.read(site.artifacts / "evil").samples if s.case == case)
    assert command == f"""'{quoted}' 'it'"'"'s' --port {first.order}"""
    assert receipt.verify().startswith("Verified: ")
    assert found.complaints == []


def test_receipt_of_a_run_that_goes_on(visit: Any, address: str) -> None:
    receipt = Receipt(visit(address + "runs/running/"), "running")
    assert "This run is running" in receipt.text
    assert receipt.verify() == (
        "Agrees with the files shown here, but nothing vouches for them yet: the run goes on, and no SHA-256 "
        "of samples.jsonl is recorded. Not checked: tier and noise band."
    )
    assert receipt.dialog.locator(".ls-verify-yes, .ls-verify-no").count() == 0
    assert receipt.outcome["samples.jsonl"][:2] == ["as shown here", "no SHA-256 is recorded yet"]


def test_receipt_of_what_is_not_there(visit: Any, address: str) -> None:
    page = visit(address + "runs/flawed/").page
    for run, case in (("flawed", "no/such/case"), ("nothing", CASE)):
        page.evaluate(OPEN, [run, case, "rps"])
        box = page.locator("dialog[open] .ls-receipt-failed")
        box.wait_for()
        assert "could not be shown" in box.text_content()


# --- verify: yes ------------------------------------------------------------------------------------

VERIFIED = [
    ("ref-rest-one-worker", "hypercorn-uvloop/get_item/w1/c100"),
    ("ref-proxy-one-worker", "granian/httpx-64k/w1/c25"),
    ("ref-rest-ladder", "uvicorn-httptools/get_item/w1/c100/load-80"),
    ("ref-rest-ladder", "uvicorn-httptools/get_item/w1/c100/load-capacity"),
    ("k9", CASE),
]


@pytest.mark.parametrize(("run_id", "case"), VERIFIED, ids=lambda name: name.replace("/", "-"))
def test_every_metric_is_verified(visit: Any, address: str, site: Builder, run_id: str, case: str) -> None:
    """Recomputed where the raw bytes allow it, else re-read, and it says which."""
    found = visit(address + f"runs/{run_id}/")
    stored = store.read(site.artifacts / run_id)
    samples = [s for s in stored.samples if s.case == case and s.status == "accepted"]
    metrics = sorted({key for sample in samples for key in sample.metrics})
    assert len(metrics) >= 9
    for metric in metrics:
        receipt = Receipt(found, run_id, case, metric)
        verdict = receipt.verify()
        count = 2 + sum(len(sample.raw) for sample in samples)
        files = f"{count} files have the recorded SHA-256"
        if metric in ("rps", "body_rate") or metric.startswith("probe_"):
            how = f"Verified: {files}, and the figure recomputed from the raw bytes"
        else:
            how = f"Verified as far as it can be: {files}, and the figure re-read from the raw files"
            assert "can only be re-read from there, not recomputed" in receipt.text
        assert verdict == f"{how} is the one shown. Not checked: tier and noise band."
        outcome = receipt.outcome
        for sample in samples:
            word, files, _, value = outcome[f"Round {sample.repeat}"]
            assert files == f"{len(sample.raw)} files: bytes match"
            assert METRICS[metric].show(sample.metrics[metric]) in value
            assert word == "value agrees"
        assert [outcome[name][0] for name in ("Median", "Lowest", "Highest")] == ["value agrees"] * 3
    assert found.complaints == []


def test_published_figure_says_that_nothing_was_computed(visit: Any, address: str, site: Builder) -> None:
    stored = store.read(site.artifacts / PUBLISHED)
    found = visit(address + "runs/flawed/")
    data = {"files": f"runs/{PUBLISHED}/files/", "url": f"runs/{PUBLISHED}/"}
    data |= {"id": PUBLISHED, "manifest": store.sha256_file(site.artifacts / PUBLISHED / store.MANIFEST)}
    script = next((site.site / f"runs/{PUBLISHED}").glob("receipts-*.js")).name
    data["receipts"] = f"runs/{PUBLISHED}/{script}"
    found.page.evaluate("async ([id, data]) => ((await lapsheet.page()).runs[id] = data)", [PUBLISHED, data])
    receipt = Receipt(found, PUBLISHED, stored.samples[0].case)
    assert "published by others, not measured here" in receipt.text
    assert receipt.verify() == (
        "The bytes match: 4 files have the recorded SHA-256. The figure is the stored one, and was not "
        "computed again."
    )
    assert "transcribed" in receipt.text
    assert found.complaints == []


# --- verify: no -------------------------------------------------------------------------------------


@pytest.fixture
def altered(site: Builder, tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A copy of the built site to tamper with, and its address."""
    folder = tmp_path / "site"
    shutil.copytree(site.site, folder, ignore=shutil.ignore_patterns("ref-p*", "ref-n*", "*.csv"))
    with served(folder) as url:
        yield folder, url


RUN = "ref-rest-one-worker"


def raw_file(site: Builder, name: str, repeat: int = 3) -> str:
    stored = store.read(site.artifacts / RUN)
    (sample,) = (s for s in stored.samples if s.case == CASE and s.repeat == repeat)
    return raw_of(sample, name)


def test_tampered_file_is_told(visit: Any, altered: tuple[Path, str], site: Builder) -> None:
    """One digit of the count: the same length, another figure."""
    folder, url = altered
    path = raw_file(site, "oha.json")
    file = folder / f"runs/{RUN}/files/{path}"
    data = json.loads(file.read_text())
    ok = data["statusCodeDistribution"]["200"]
    text = file.read_text().replace(f'"200": {ok}', f'"200": {ok + 1}')
    file.write_text(text)
    receipt = Receipt(visit(url + f"runs/{RUN}/"), RUN)
    assert receipt.verify().startswith("Not verified: 1 file of 22 not as recorded; ")
    word, files, _, value = receipt.outcome["Round 3"]
    assert f"{path}: altered: its SHA-256 is {store.sha256_file(file)}, recorded is " in files
    assert repr((ok + 1) / data["summary"]["total"]) in value
    assert word.startswith("2xx answers: stored")
    assert receipt.outcome["Round 2"][0] == "value agrees"
    assert (
        store.sha256_file(site.artifacts / RUN / "run.json")
        in receipt.dialog.locator(".ls-verify").inner_text()
    )
    assert receipt.dialog.locator(".ls-verify-no").count() == 1
    assert receipt.dialog.locator(".ls-verify-yes").count() == 0


def test_truncated_file_is_told(visit: Any, altered: tuple[Path, str], site: Builder) -> None:
    folder, url = altered
    path = raw_file(site, "oha.json")
    file = folder / f"runs/{RUN}/files/{path}"
    size = file.stat().st_size
    file.write_bytes(file.read_bytes()[:1000])
    receipt = Receipt(visit(url + f"runs/{RUN}/"), RUN)
    assert receipt.verify().startswith("Not verified: ")
    word, files, _, value = receipt.outcome["Round 3"]
    assert files == f"{path}: 1,000 bytes, {size:,} are recorded"
    assert value == "–"
    assert word.startswith("oha.json: not JSON")


def test_missing_file_is_told(visit: Any, altered: tuple[Path, str], site: Builder) -> None:
    folder, url = altered
    for name in ("oha.json", "server.log"):
        (folder / f"runs/{RUN}/files" / raw_file(site, name, 3 if name == "oha.json" else 4)).unlink()
    receipt = Receipt(visit(url + f"runs/{RUN}/"), RUN)
    assert receipt.verify().startswith("Not verified: 2 files of 22 not as recorded; 1 value ")
    assert receipt.outcome["Round 3"][1] == f"{raw_file(site, 'oha.json')}: missing (404)"
    assert receipt.outcome["Round 3"][0] == "oha.json: missing"
    assert receipt.outcome["Round 4"][0] == "bytes differ"


def test_git_lfs_pointer_is_told(visit: Any, altered: tuple[Path, str], site: Builder) -> None:
    folder, url = altered
    path = raw_file(site, "oha.json")
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 2631\n"
    (folder / f"runs/{RUN}/files/{path}").write_text(pointer)
    receipt = Receipt(visit(url + f"runs/{RUN}/"), RUN)
    assert receipt.verify().startswith("Not verified: ")
    assert receipt.outcome["Round 3"][1] == f"{path}: a Git LFS pointer in place of the file"


def test_altered_samples_are_told(visit: Any, altered: tuple[Path, str]) -> None:
    folder, url = altered
    file = folder / f"runs/{RUN}/files/samples.jsonl"
    file.write_bytes(file.read_bytes().replace(b'"rps":3050.159', b'"rps":3950.159'))
    receipt = Receipt(visit(url + f"runs/{RUN}/"), RUN)
    assert receipt.verify() == "Not verified: 1 file of 22 not as recorded."
    assert "samples.jsonl: altered: its SHA-256 is" in receipt.outcome["samples.jsonl"][1]


def test_altered_manifest_is_told(visit: Any, altered: tuple[Path, str], site: Builder) -> None:
    """The hash of a raw file in it, with the raw file to match."""
    folder, url = altered
    path = raw_file(site, "oha.json")
    manifest = folder / f"runs/{RUN}/files/run.json"
    raw = folder / f"runs/{RUN}/files/{path}"
    before = store.sha256_file(raw)
    raw.write_bytes(raw.read_bytes().replace(b'"total": 5', b'"total": 4', 1))
    manifest.write_text(manifest.read_text().replace(before, store.sha256_file(raw)))
    receipt = Receipt(visit(url + f"runs/{RUN}/"), RUN)
    assert receipt.verify().startswith("Not verified: 2 files of 22 not as recorded; ")
    assert "run.json: altered: its SHA-256 is" in receipt.outcome["run.json"][1]
    assert "altered: its SHA-256 is" in receipt.outcome["Round 3"][1]


def test_page_that_shows_other_samples_is_told(visit: Any, altered: tuple[Path, str], site: Builder) -> None:
    """The receipt's own script with another throughput, whatever the files say."""
    folder, url = altered
    (script,) = (folder / f"runs/{RUN}").glob("receipts-*.js")
    stored = store.read(site.artifacts / RUN)
    number, sample = next((n, s) for n, s in enumerate(stored.samples, 1) if s.case == CASE and s.repeat == 3)
    value = f'"rps":{sample.metrics["rps"]!r}'
    assert script.read_text().count(value) == 1
    script.write_text(script.read_text().replace(value, '"rps":9999.5'))
    receipt = Receipt(visit(url + f"runs/{RUN}/"), RUN)
    assert receipt.verify().startswith("Not verified: 1 file of 22 not as recorded; ")
    told = f"samples.jsonl: line {number} is not the sample this receipt shows"
    assert receipt.outcome["samples.jsonl"][1] == told
    assert receipt.outcome["Round 3"][0] == "value differs"


def test_page_that_shows_another_median_is_told(visit: Any, altered: tuple[Path, str], site: Builder) -> None:
    folder, url = altered
    (script,) = (folder / f"runs/{RUN}").glob("receipts-*.js")
    receipt = Receipt(visit(url + f"runs/{RUN}/"), RUN)
    stored = store.read(site.artifacts / RUN)
    values = sorted(s.metrics["rps"] for s in stored.samples if s.case == CASE)
    head, _, about = script.read_text().rpartition("], {")
    assert about.count(f"{values[2]!r},") == 1
    script.write_text(head + "], {" + about.replace(f"{values[2]!r},", "9999.5,"))
    receipt = Receipt(visit(url + f"runs/{RUN}/"), RUN)
    assert "9,999 requests/s" in receipt.text or "10,000 requests/s" in receipt.text
    assert receipt.verify() == "Not verified: 1 value not as stored."
    assert receipt.outcome["Median"][0] == "value differs"
    assert repr(values[2]) in receipt.outcome["Median"][3]


def test_stored_value_that_the_raw_files_do_not_give_is_told(visit: Any, address: str, site: Builder) -> None:
    """With every hash made to follow: only the computation finds it out."""
    receipt = Receipt(visit(address + "runs/lie/"), "lie")
    assert receipt.verify().startswith("Not verified: ")
    outcome = receipt.outcome
    assert outcome["samples.jsonl"][0] == "as recorded"
    assert outcome["Round 2"][0] == "value differs"
    (sample,) = (s for s in store.read(site.artifacts / "lie").samples if s.case == CASE and s.repeat == 2)
    assert repr(sample.metrics["rps"]) in outcome["Round 2"][2]
    assert repr(sample.counts["ok"] / sample.timing["measured"])[:8] in outcome["Round 2"][3]
    assert outcome["Round 1"][0] == "value agrees"


def test_raw_files_that_were_damaged_before_they_were_hashed_are_told(visit: Any, address: str) -> None:
    receipt = Receipt(visit(address + "runs/damaged/"), "damaged", metric="p99")
    assert receipt.verify() == "Not verified: 3 values not as stored."
    outcome = receipt.outcome
    assert outcome["Round 1"][1] == "2 files: bytes match"
    assert outcome["Round 1"][0].startswith("oha.json: not JSON")
    assert outcome["Round 2"][0] == "oha.json: not a JSON object"
    assert outcome["Round 3"][0] == "the raw files have no such figure"
    assert outcome["Round 4"][0] == "value agrees"


def test_manifest_that_contradicts_the_samples_is_told(visit: Any, address: str) -> None:
    receipt = Receipt(visit(address + "runs/disagree/"), "disagree")
    assert receipt.verify() == "Not verified: 1 file of 12 not as recorded."
    assert f"run.json lists another SHA-256, {'a' * 64}" in receipt.outcome["Round 1"][1]


def test_accepted_sample_whose_check_failed_is_told(visit: Any, address: str) -> None:
    receipt = Receipt(visit(address + "runs/unchecked/"), "unchecked")
    assert receipt.verify().startswith("Not verified: ")
    assert receipt.outcome["Round 1"][0] == "accepted, but these checks failed: loop"


def test_file_that_the_server_unpacks_is_told(visit: Any, address: str) -> None:
    found = visit(address + "runs/ref-nagle/")
    case = store.read(ROOT / "artifacts" / "ref-nagle").samples[0].case
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    found.page.route("**/*.jsonl.gz", lambda route: route.fulfill(headers=headers, body=gzip.compress(b"{}")))
    receipt = Receipt(found, "ref-nagle", case, "probe_gap_p50")
    assert receipt.verify().startswith("Not verified: ")
    assert "sent with Content-Encoding gzip: the browser unpacked it" in receipt.outcome["Round 1"][1]


def test_run_without_raw_files_is_told(visit: Any, address: str) -> None:
    receipt = Receipt(visit(address + "runs/bare/"), "bare")
    assert receipt.verify().startswith("Not verified: ")
    assert receipt.outcome["Round 1"][0] == "no raw file is recorded"


# --- other places -----------------------------------------------------------------------------------


def test_from_a_file_the_reader_picks_the_folder(visit: Any, site: Builder) -> None:
    found = visit((site.site / f"runs/{RUN}/index.html").as_uri())
    receipt = Receipt(found, RUN)
    assert receipt.dialog.get_by_role("button", name="Verify").count() == 0
    assert "This page was opened from a file" in receipt.text
    receipt.dialog.get_by_label("The folder").set_input_files(site.site / f"runs/{RUN}/files")
    assert receipt.verdict().startswith("Verified: 22 files have the recorded SHA-256")
    assert found.complaints == []


def test_from_a_file_the_reader_picks_files_one_by_one(visit: Any, site: Builder, tmp_path: Path) -> None:
    found = visit((site.site / f"runs/{RUN}/index.html").as_uri())
    receipt = Receipt(found, RUN, metric="p99")
    files = site.site / f"runs/{RUN}/files"
    picker = receipt.dialog.get_by_label("Files", exact=True)
    picker.set_input_files([files / "run.json", files / "samples.jsonl"])
    receipt.dialog.get_by_text("2 of 22 files are there.").wait_for()
    assert receipt.verdict().startswith("Not verified: 20 files of 22 not as recorded; ")
    assert "oha.json: not picked" in receipt.outcome["Round 3"][1]
    changed = tmp_path / "oha.json"
    original = files / raw_file(site, "oha.json")
    changed.write_bytes(original.read_bytes().replace(b"0.0", b"0.1"))
    picker.set_input_files(changed)
    receipt.dialog.get_by_text("no file of this figure, or altered: its SHA-256 is ").wait_for()
    assert receipt.verdict().startswith("Not verified: 1 picked file not of this figure, or altered; ")
    stored = store.read(site.artifacts / RUN)
    picker.set_input_files([files / entry.path for s in stored.samples if s.case == CASE for entry in s.raw])
    receipt.dialog.get_by_text("22 of 22 files are there.").wait_for()
    receipt.dialog.locator(".ls-verify-yes").wait_for()
    assert receipt.verdict().startswith("Verified as far as it can be: 22 files")


def test_from_a_file_a_tampered_folder_is_told(visit: Any, site: Builder, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    shutil.copytree(site.site / f"runs/{RUN}/files", folder)
    path = raw_file(site, "oha.json")
    (folder / path).write_bytes((folder / path).read_bytes().replace(b"0.0", b"0.1"))
    receipt = Receipt(visit((site.site / f"runs/{RUN}/index.html").as_uri()), RUN)
    receipt.dialog.get_by_label("The folder").set_input_files(folder)
    assert receipt.verdict().startswith("Not verified: 1 file of 22 not as recorded")
    assert f"{path}: altered: its SHA-256 is" in receipt.outcome["Round 3"][1]


def test_from_a_file_each_pick_is_judged_by_itself(visit: Any, site: Builder, tmp_path: Path) -> None:
    """The good folder first, then one with an altered file, and one where two rounds changed places."""
    good = site.site / f"runs/{RUN}/files"
    altered, swapped = tmp_path / "altered", tmp_path / "swapped"
    shutil.copytree(good, altered)
    shutil.copytree(good, swapped)
    one, other = raw_file(site, "oha.json"), raw_file(site, "oha.json", 4)
    (altered / one).write_bytes((altered / one).read_bytes().replace(b"0.0", b"0.1"))
    shutil.copy(good / one, swapped / other)
    shutil.copy(good / other, swapped / one)
    receipt = Receipt(visit((site.site / f"runs/{RUN}/index.html").as_uri()), RUN)
    folder = receipt.dialog.get_by_label("The folder")

    def verdict(*picks: Path, of: Any = folder) -> str:
        receipt.dialog.evaluate("dialog => dialog.querySelector('.ls-verify-verdict')?.remove()")
        of.set_input_files(picks[0] if of is folder else list(picks))
        return receipt.verdict()

    assert verdict(good).startswith("Verified: 22 files")
    assert verdict(altered).startswith("Not verified: 1 file of 22 not as recorded")
    assert verdict(good).startswith("Verified: 22 files")
    assert verdict(swapped).startswith("Not verified: 2 files of 22 not as recorded")
    assert receipt.outcome["Round 3"][1].startswith(f"{one}: ")
    assert receipt.outcome["Round 4"][1].startswith(f"{other}: ")
    # What lies at a file's own path is what is judged, whatever else there is of the right bytes.
    files = receipt.dialog.get_by_label("Files", exact=True)
    assert verdict(good / one, good / other, of=files).startswith("Not verified: 2 files of 22")
    assert verdict(good).startswith("Verified: 22 files")
    assert verdict(altered / one, of=files).startswith("Not verified: 1 picked file not of this figure")
    assert verdict(good / one, of=files).startswith("Verified: 22 files")


def test_from_a_file_a_folder_of_several_runs_is_not_guessed_at(visit: Any, site: Builder) -> None:
    receipt = Receipt(visit((site.site / f"runs/{RUN}/index.html").as_uri()), RUN)
    picker = receipt.dialog.get_by_label("The folder")
    picker.set_input_files(site.site / f"runs/{RUN}")
    assert receipt.verdict().startswith("Verified: 22 files")
    receipt.dialog.evaluate("dialog => dialog.querySelector('.ls-verify-verdict').remove()")
    picker.set_input_files(site.artifacts)
    assert receipt.verdict().startswith("Not verified: 22 files of 22 not as recorded")
    assert "runs in it: pick the one of this run" in receipt.outcome["run.json"][1]


def test_hashes_can_be_checked_by_hand(visit: Any, address: str, site: Builder) -> None:
    """The command that the receipt offers, run by a shell in the run's folder."""
    import subprocess

    receipt = Receipt(visit(address + f"runs/{RUN}/"), RUN)
    (command,) = (
        text
        for text in receipt.dialog.locator(".ls-verify .ls-command code").all_text_contents()
        if text.startswith("sha256sum")
    )
    done = subprocess.run(
        ["sh", "-c", command], cwd=site.artifacts / RUN, capture_output=True, text=True, timeout=20
    )
    assert (done.returncode, done.stdout.count(": OK")) == (0, 22), done.stderr
    assert f"lapsheet verify {RUN}" in receipt.text


def test_without_a_secure_connection_there_are_commands(visit: Any, address: str) -> None:
    found = visit(address + f"runs/{RUN}/")
    found.page.evaluate("Object.defineProperty(crypto, 'subtle', { value: undefined })")
    receipt = Receipt(found, RUN)
    assert "insecure connection" in receipt.text
    assert receipt.dialog.get_by_role("button", name="Verify").count() == 0
    assert "sha256sum --check" in receipt.text


def test_without_decompression_it_says_so(visit: Any, address: str) -> None:
    found = visit(address + "runs/ref-nagle/")
    found.page.evaluate("delete window.DecompressionStream")
    case = store.read(ROOT / "artifacts" / "ref-nagle").samples[0].case
    receipt = Receipt(found, "ref-nagle", case, "probe_gap_p50")
    assert receipt.verify().startswith("Not verified: ")
    assert "this browser cannot unpack gzip" in receipt.outcome["Round 1"][0]
