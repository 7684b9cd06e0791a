"""Forged evidence in headless Chromium, with every hash made to follow: Verify tells it by what it says."""

from __future__ import annotations

import hashlib
import json
import shutil
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import needs_chromium
from receipt import CASE, Receipt
from sites import ROOT, Builder, pin, served

from benchmarks.synthetic import flawed, write_run
from runner import store
from runner.ladder import NOT_REACHED

NOISY, SHAKY = "granian-rloop/get_item/w1/c100", "aiohttp-asgi-rloop/get_item/w1/c100"
PUBLISHED = "ref-published-aiohttp-asgi"
CAPTURED = sorted(path.parent.name for path in (ROOT / "artifacts").glob("ref-*/run.json"))

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Builder:
    with pytest.MonkeyPatch.context() as patch:
        builder = Builder(tmp_path_factory.mktemp("forged"), patch)
        for name in CAPTURED:
            shutil.copytree(ROOT / "artifacts" / name, builder.artifacts / name)
        write_run(builder.artifacts, "plain", servers=4)
        write_run(builder.artifacts, "flawed", servers=4, mutate=flawed)
        pin(builder.artifacts, **{name: name for name in CAPTURED})
        builder.build(local=True, pages={"index.md": "# Forged\n"})
        return builder


class Forgery:
    """A run's part of a built site, to be changed; `write` lets script, files, hashes and page follow."""

    def __init__(self, folder: Path, run: str) -> None:
        self.page = folder / "runs" / run
        self.files = self.page / "files"
        (self.script,) = self.page.glob("receipts-*.js")
        text = self.script.read_text().removeprefix("lapsheetReceipts(").removesuffix(");\n")
        self.id, self.manifest, self.samples, self.about = json.loads(f"[{text}]")
        self.shown = self.samples

    def at(self, case: str = CASE) -> list[dict[str, Any]]:
        """The attempts at a case, in the order of rounds."""
        own = [sample for sample in self.samples if sample["case"] == case]
        return sorted(own, key=lambda sample: (sample["repeat"], sample.get("attempt", 1)))

    def row(self, case: str = CASE, metric: str = "rps", **values: Any) -> None:
        """Change the row of the summary."""
        rows = self.about["rows"]
        (at,) = (at for at, id in enumerate(rows["case"]) if (id, rows["metric"][at]) == (case, metric))
        for name, value in values.items():
            rows[name][at] = value

    def figures(self, case: str = CASE, **values: Any) -> None:
        """Let the row of the summary follow from the samples."""
        told = [
            s["metrics"]["rps"] for s in self.at(case) if s["status"] == "accepted" and "rps" in s["metrics"]
        ]
        low, high = min(told), max(told)
        self.row(case, n=len(told), median=statistics.median(told), low=low, high=high, **values)

    def raw(self, sample: dict[str, Any], content: dict[str, bytes]) -> None:
        """Give a sample other raw files."""
        folder = f"raw/{sample['order']:04d}"
        for name, data in content.items():
            (self.files / folder / name).write_bytes(data)
        sample["raw"] = [hashed(f"{folder}/{name}", data) for name, data in sorted(content.items())]

    def write(self, *, page: bool = True) -> None:
        lines = "".join(json.dumps(sample) + "\n" for sample in self.samples).encode()
        (self.files / "samples.jsonl").write_bytes(lines)
        raw = {entry["path"]: entry for sample in self.samples for entry in sample["raw"]}
        files = {entry["path"]: entry for entry in self.manifest["files"]} | raw
        files["samples.jsonl"] = hashed("samples.jsonl", lines)
        self.manifest["files"] = list(files.values())
        manifest = json.dumps(self.manifest).encode()
        (self.files / "run.json").write_bytes(manifest)
        before = self.about["manifest"]["sha256"]
        self.about["manifest"] = hashed("run.json", manifest)
        told = [json.dumps(part) for part in (self.id, self.manifest, self.shown, self.about)]
        self.script.write_text(f"lapsheetReceipts({', '.join(told)});\n")
        if page:
            (data,) = self.page.glob("figures-*.js")
            text = data.read_text()
            assert text.count(before) == 1
            data.write_text(text.replace(before, self.about["manifest"]["sha256"]))


def hashed(path: str, data: bytes) -> dict[str, Any]:
    return {"path": path, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}


@pytest.fixture
def forged(site: Builder, tmp_path: Path) -> Iterator[Callable[[str], tuple[Forgery, str]]]:
    """A copy of a run's part of the site to forge, and its address."""
    folder = tmp_path / "site"
    ignored = shutil.ignore_patterns(*(run for run in CAPTURED if run != PUBLISHED))
    shutil.copytree(site.site, folder, ignore=ignored)
    with served(folder) as url:
        yield lambda run: (Forgery(folder, run), f"{url}runs/{run}/")


def copies(forgery: Forgery) -> None:
    """The best sample five times over."""
    best = max(forgery.at(), key=lambda sample: sample["metrics"]["rps"])
    for at, sample in enumerate(forgery.samples):
        if sample["case"] == CASE:
            forgery.samples[at] = best
    forgery.figures()


def copies_in_order(forgery: Forgery) -> None:
    """The same, each with its own place in the run, and the raw files to match."""
    numbered_copies(forgery)
    for sample in forgery.at():
        sample["repeat"] = 1


def numbered_copies(forgery: Forgery) -> None:
    """The same, and each in a round of its own."""
    best = max(forgery.at(), key=lambda sample: sample["metrics"]["rps"])
    content = {
        Path(entry["path"]).name: (forgery.files / entry["path"]).read_bytes() for entry in best["raw"]
    }
    for at, sample in enumerate(forgery.samples):
        if sample["case"] == CASE:
            forgery.samples[at] = best | {"order": sample["order"], "repeat": sample["repeat"]}
            forgery.raw(forgery.samples[at], content)
    forgery.figures()


def no_attempt(forgery: Forgery) -> None:
    """The worst sample handed to another case, as a rejected one."""
    worst = min(forgery.at(), key=lambda sample: sample["metrics"]["rps"])
    other = forgery.at("granian-rloop/get_item/w1/c100")[0]
    note = {"code": "foreign", "message": "31 %"}
    worst |= {"case": other["case"], "attempt": 3, "status": "rejected", "reasons": [note]}
    worst.pop("dimensions", None)
    forgery.figures(tier=None, untiered="1 of 5 samples missing")


def other_case(forgery: Forgery) -> None:
    """A sample with the dimensions of another case."""
    sample = forgery.at()[2]
    sample["dimensions"] = {
        "server": "granian-rloop",
        "workload": "get_item",
        "workers": 1,
        "connections": 100,
    }


def unknown_case(forgery: Forgery) -> None:
    forgery.samples[3]["case"] = "nobody/get_item/w1/c100"


def rejected(forgery: Forgery) -> None:
    """The rejected attempt counted, and the one that repeated it left out."""
    first, again = (sample for sample in forgery.at(NOISY) if sample["repeat"] == 2)
    first["status"], again["status"] = "accepted", "rejected"
    forgery.figures(NOISY)


def errors(forgery: Forgery) -> None:
    """What the server answered with errors counted, and every sign of them gone but the raw files."""
    for sample in forgery.at(SHAKY):
        sample |= {"status": "accepted", "reasons": []}
        sample["checks"] = [check for check in sample["checks"] if check["status"] == "ok"]
    forgery.figures(SHAKY, tier=2, untiered="")


def hidden(forgery: Forgery) -> None:
    """The worst sample accepted, but without its throughput."""
    worst = min(forgery.at(), key=lambda sample: sample["metrics"]["rps"])
    del worst["metrics"]["rps"]
    forgery.figures(tier=None, untiered="1 of 5 samples missing")


def other_run(forgery: Forgery) -> None:
    forgery.manifest["id"] = "another"


def one_line_more(forgery: Forgery) -> None:
    """A sample in the file that the receipt keeps back."""
    forgery.shown = list(forgery.samples)
    last = forgery.samples[-1]
    note = {"code": "foreign", "message": "31 %"}
    again = {"order": last["order"] + 1, "attempt": 2, "status": "rejected", "reasons": [note], "raw": []}
    forgery.samples.append(last | again)


FORGED: list[tuple[str, str, Callable[[Forgery], None], str, str]] = [
    ("plain", CASE, copies, "samples.jsonl", "a line is missing or moved"),
    ("plain", CASE, copies_in_order, "samples.jsonl", f"a second accepted attempt at {CASE}, round 1"),
    ("plain", CASE, numbered_copies, "Round 2", "its oha.json is a copy of that of round 1"),
    ("plain", CASE, no_attempt, "samples.jsonl", f"no attempt at {CASE}, round "),
    ("plain", CASE, other_case, "samples.jsonl", f"dimensions are not those of case {CASE}"),
    (
        "plain",
        CASE,
        unknown_case,
        "samples.jsonl",
        "line 4: case nobody/get_item/w1/c100 is not in the manifest",
    ),
    ("flawed", NOISY, rejected, "samples.jsonl", "accepted, and yet rejected: foreign"),
    ("flawed", SHAKY, errors, "Round 1", "accepted, with 12 answers without 2xx"),
    ("plain", CASE, hidden, "Round ", "the raw files have a figure, none is stored"),
    ("plain", CASE, other_run, "run.json", "the manifest of another run, another"),
    ("plain", CASE, one_line_more, "samples.jsonl", "lines, this receipt was made of"),
]


@pytest.mark.parametrize(
    ("run", "case", "forge", "of", "told"), FORGED, ids=[forge.__name__ for _, _, forge, _, _ in FORGED]
)
def test_samples_that_contradict_themselves_are_told(
    visit: Any,
    forged: Any,
    run: str,
    case: str,
    forge: Callable[[Forgery], None],
    of: str,
    told: str,
) -> None:
    forgery, url = forged(run)
    forge(forgery)
    forgery.write()
    receipt = Receipt(visit(url), run, case)
    assert receipt.verify().startswith("Not verified: ")
    assert receipt.dialog.locator(".ls-verify-yes").count() == 0
    assert [
        cells for name, cells in receipt.outcome.items() if name.startswith(of) and told in "".join(cells)
    ]


def test_forgery_that_changes_nothing_is_verified(visit: Any, forged: Any) -> None:
    """Or the tests above would find out something else."""
    forgery, url = forged("plain")
    forgery.figures()
    forgery.write()
    receipt = Receipt(visit(url), "plain")
    assert receipt.verify().startswith("Verified: 12 files have the recorded SHA-256")
    assert receipt.outcome["Tier"] == ["not contradicted", "", "tier 1", "may have one"]


def test_evidence_that_the_page_was_not_made_of_is_told(visit: Any, forged: Any) -> None:
    """Manifest, samples, script and files of one kind, and the page of another."""
    forgery, url = forged("plain")
    forgery.manifest["title"] = "Another"
    forgery.write(page=False)
    receipt = Receipt(visit(url), "plain")
    assert receipt.verify() == "Not verified: 1 file of 12 not as recorded."
    assert "this page was made of another manifest" in receipt.outcome["run.json"][1]


def test_manifest_that_the_files_have_not_is_told(visit: Any, forged: Any) -> None:
    forgery, url = forged("plain")
    text = forgery.script.read_text()
    assert text.count('"Synthetic run"') > 0
    forgery.script.write_text(text.replace('"Synthetic run"', '"Another run"'))
    receipt = Receipt(visit(url), "plain")
    assert receipt.verify() == "Not verified: 1 file of 12 not as recorded."
    assert receipt.outcome["run.json"][1] == "run.json: not the manifest this receipt was made of"


ROWS: list[tuple[str, dict[str, Any], str, list[str]]] = [
    ("a floor hidden", {"floor": False}, "Limited", ["no", "yes"]),
    ("a tier given", {"tier": 1, "untiered": ""}, "Tier", ["tier 1", "none"]),
    ("a sample less", {"n": 4}, "Samples", ["4 of 5", "5 of 5"]),
    ("fewer wanted", {"wanted": 4}, "Samples", ["5 of 4", "5 of 5"]),
    ("lowest", {"low": 39_999.0}, "Lowest", []),
    ("highest", {"high": 40_001.0}, "Highest", []),
]


@pytest.mark.parametrize(("values", "of", "told"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_row_that_its_samples_do_not_give_is_told(
    visit: Any, forged: Any, values: dict[str, Any], of: str, told: list[str]
) -> None:
    forgery, url = forged("flawed")
    forgery.row(**values)
    forgery.write()
    receipt = Receipt(visit(url), "flawed")
    assert receipt.verify() == "Not verified: 1 value not as stored."
    assert receipt.outcome[of][0] == "value differs"
    assert receipt.outcome[of][2:] == told or not told


def test_published_figure_that_is_not_the_stored_one_is_told(visit: Any, forged: Any) -> None:
    forgery, url = forged(PUBLISHED)
    case = forgery.samples[0]["case"]
    forgery.row(case, median=98_765.0, low=98_765.0, high=98_765.0)
    forgery.write(page=False)
    # Its own page has no table, so that no script knows the run there.
    found = visit(url.replace(PUBLISHED, "plain"))
    folder = f"runs/{PUBLISHED}/"
    about = {
        "id": PUBLISHED,
        "files": f"{folder}files/",
        "url": folder,
        "receipts": folder + forgery.script.name,
    }
    about["manifest"] = forgery.about["manifest"]["sha256"]
    found.page.evaluate("async (data) => ((await lapsheet.page()).runs[data.id] = data)", about)
    receipt = Receipt(found, PUBLISHED, case)
    assert receipt.verify() == "Not verified: 3 values not as stored."
    assert receipt.outcome["Median"][0] == "value differs"
    assert "98765" in receipt.outcome["Median"][2]


def test_what_a_literal_inherits_is_not_read(visit: Any, forged: Any) -> None:
    """Seen by every reader of the object, and by no comparison of texts."""
    forgery, url = forged("plain")
    text = forgery.script.read_text()
    inherited = '"status":"accepted","__proto__":{"reasons":[{"code":"x","message":"inherited"}]},'
    forgery.script.write_text(text.replace('"status":"accepted",', inherited).replace('"reasons":[],', ""))
    assert "inherited" in forgery.script.read_text()
    receipt = Receipt(visit(url), "plain")
    assert "inherited" not in receipt.text


STANDING = """async ([address, script]) => {
    let told;
    window.lapsheetReceipts = (id, manifest, samples, about) => (told = { manifest, samples, about });
    await lapsheet.load(address + script);
    const { manifest, samples, about } = told;
    return about.rows.case.map(function (id, at) {
        const one = manifest.cases.find((item) => item.id === id);
        const accepted = samples.filter((sample) => sample.case === id && sample.status === "accepted");
        return lapsheet.standing.of({ manifest, case: one, metric: about.rows.metric[at], accepted });
    });
}"""


@pytest.mark.parametrize("run", [*CAPTURED, "flawed"])
def test_standing_is_that_of_the_summary(visit: Any, site: Builder, run: str) -> None:
    """Of every row of every run, twins and controls too."""
    with served(site.site) as url:
        page = visit(url + "runs/plain/").page
        page.evaluate("lapsheet.part('dom.js').then(() => lapsheet.part('standing.js'))")
        (script,) = (site.site / "runs" / run).glob("receipts-*.js")
        found = page.evaluate(STANDING, [url, f"runs/{run}/{script.name}"])
    forgery = Forgery(site.site, run)
    rows = forgery.about["rows"]
    assert len(found) > 10
    for at, one in enumerate(found):
        wanted = {name: rows[name][at] for name in ("n", "wanted", "floor")} | {
            "ranked": rows["tier"][at] is not None
        }
        assert {name: one[name] for name in wanted} == wanted, (rows["case"][at], rows["metric"][at])
    stored = store.read(site.artifacts / run)
    short = {
        (sample.case, sample.order)
        for sample in stored.samples
        if sample.status == "accepted" and any(flag.code == NOT_REACHED for flag in sample.flags)
    }
    for at, one in enumerate(found):
        own = [case for case, _ in short if case == rows["case"][at]]
        assert one["unsent"] == (len(own) if rows["metric"][at].startswith("open_") else 0)
