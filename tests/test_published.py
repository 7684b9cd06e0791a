"""Published figures: how they get in, what keeps them out, and what was stated with them."""

from __future__ import annotations

import csv
import hashlib
import html
import json
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from evidence import case, failed, sample, saturated, stored
from typer.testing import CliRunner

from hooks import loading
from hooks.attempts import attempts_of
from hooks.claims import claim
from hooks.judging import judge
from hooks.sentences import sentence_of
from hooks.sides import Side
from hooks.statements import statements_block, statements_of
from hooks.view import View
from runner import store, suite
from runner.analysis import summary, verdict
from runner.cli import app
from runner.errors import AnalysisError, ArtifactError
from runner.export import as_csv
from runner.importers import by_name, rebuild
from runner.importers.published import mapping as mappings
from runner.importers.published import placing
from runner.model import PUBLISHED, SuiteFile
from runner.store import StoredRun
from runner.verify import verify

REAL = Path(__file__).parent.parent / "artifacts" / "ref-published-aiohttp-asgi"

MAPPING = """
name = "source"
title = "Published: a source"
unknown = ["warm-up", "seed"]
parameters = { connections = 100, duration = 5.0, samples = 3 }
generator = { name = "oha", version = "1.16.0" }
layout = { roles = { server = [1], generator = [2] } }

[source]
title = "The source"
measured_with = "a machine"

[labels]
server = { a = "Server A", b = "Server B", upstream = "Upstream" }
workload = { get = "GET", x-1k = "X, 1 KiB", direct = "Direct" }

[[file]]
name = "rest.csv"
title = "REST"
series = "rest"
keys = ["server"]
dimensions = { server = "{server}", workload = "get", workers = 4 }
value = [
  { column = "rps", metric = "rps", unit = "1/s" },
  { column = "p99_ms", metric = "p99", unit = "ms" },
]

[[file]]
name = "workers.csv"
title = "Workers"
series = "workers"
keys = ["server"]
dimensions = { server = "{server}", workload = "get" }
value = [
  { column = "one", metric = "rps", unit = "1/s", dimensions = { workers = 1 } },
  { column = "four", metric = "rps", unit = "1/s", dimensions = { workers = 4 }, again = true },
]

[[file]]
name = "rate.csv"
title = "Rate"
series = "proxy"
keys = ["server", "client", "payload"]
dimensions = { server = "{server}", workload = "{client}-{payload}", workers = 4 }
value = [{ column = "mib", metric = "body_rate", unit = "MiB/s" }]

[[file]]
name = "control.csv"
title = "Control"
series = "control"
role = "control"
keys = ["target"]
dimensions = { server = "{target}", workload = "direct" }
covers = { direct = ["get"] }
value = [{ column = "rps", metric = "rps", unit = "1/s" }]
"""
FILES = {
    "rest.csv": "server,rps,p99_ms\na,200,15.841\nb,100,9.27\n",
    "workers.csv": "server,one,four\na,60,200\n",
    "rate.csv": "server,client,payload,mib\na,x,1k,101.7\n",
    "control.csv": "target,rps\nupstream,1000\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of transcribed files; their mapping is beside it."""
    found = tmp_path / "figures"
    found.mkdir()
    for name, text in FILES.items():
        (found / name).write_text(text)
    (tmp_path / "source.toml").write_text(MAPPING)
    return found


def bring(folder: Path, **options: Any) -> StoredRun:
    given = {"run_id": None, "mapping": folder.parent / "source.toml", "command_line": ["lapsheet"]} | options
    run = by_name("published").bring([folder], folder.parent / "artifacts", **given)
    return store.read(folder.parent / "artifacts" / run.id)


def nothing_left(folder: Path) -> bool:
    artifacts = folder.parent / "artifacts"
    return not artifacts.exists() or not list(artifacts.iterdir())


def test_a_byte_order_mark_is_no_part_of_a_column(folder: Path) -> None:
    path = folder / "rest.csv"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    run = bring(folder)
    assert (run.folder / "raw" / "rest.csv").read_bytes().startswith(b"\xef\xbb\xbf")
    assert verify(run.folder).ok


def test_percentiles_that_fall_are_refused(folder: Path, tmp_path: Path) -> None:
    mapping = tmp_path / "source.toml"
    mapping.write_text(
        mapping.read_text().replace(
            'metric = "rps", unit = "1/s" },\n  { column = "p99_ms"',
            'metric = "p50", unit = "ms" },\n  { column = "p99_ms"',
        )
    )
    for name in ("workers.csv", "rate.csv", "control.csv"):
        (folder / name).unlink()
    mapping.write_text(mapping.read_text().split('[[file]]\nname = "workers.csv"')[0])
    with pytest.raises(
        ArtifactError, match=r"rest\.csv, line 2, column rps and .*column p99_ms: .*p99 is below p50"
    ):
        bring(folder)
    assert nothing_left(folder)


# --- what gets in -----------------------------------------------------------------------------------


def test_import_keeps_files_and_figures(folder: Path) -> None:
    run = bring(folder)
    assert (run.run.id, run.run.origin, run.run.state) == ("ref-published-source", "published", "complete")
    assert {sample.case: sample.metrics for sample in run.samples} == {
        "a/get/w4": {"rps": 200.0, "p99": 0.015841},
        "b/get/w4": {"rps": 100.0, "p99": 0.00927},
        "a/get/w1": {"rps": 60.0},
        "a/x-1k/w4": {"body_rate": 101.7 * 2**20},
        "upstream/direct": {"rps": 1000.0},
    }
    for name, text in FILES.items():
        assert (run.folder / "raw" / name).read_text() == text
    assert [entry.path for entry in run.samples[0].raw] == ["raw/rest.csv", "raw/workers.csv"]
    control = run.run.cases[-1]
    assert (control.role, control.covers) == ("control", ["get"])
    assert run.run.facts["unknown"] == ["warm-up", "seed"]
    assert run.run.facts["samples_a_case"] == 3
    assert run.run.lock is None
    assert [path.name for path in (folder.parent / "artifacts").iterdir()] == [run.run.id]


def test_real_source_is_what_is_pinned(tmp_path: Path) -> None:
    run = by_name("published").bring([REAL / "raw"], tmp_path, None, None, ["lapsheet"])
    pinned = store.read(REAL)
    again = store.read(tmp_path / run.id)
    assert [(s.case, s.metrics) for s in again.samples] == [(s.case, s.metrics) for s in pinned.samples]
    assert run.cases == pinned.run.cases
    figures = {sample.case: sample.metrics for sample in again.samples}
    assert len(figures) == 14 * 2 + 3 * 2 + 13 * 4 + 2
    assert figures["uvicorn-h11/get_item/w4/c100"] == {"rps": 2397.0, "p99": 0.047064}
    assert figures["aiohttp-asgi-rloop/httpx-1k/w4/c100"]["probe_headers_p99"] == 1.10926
    assert figures["aiohttp-asgi-rloop/httpx-64k/w4/c100"]["body_rate"] == 101.7 * 2**20
    assert store.read_pins(REAL.parent)["published"].run == REAL.name
    assert verify(REAL, store.read_pins(REAL.parent)["published"]).problems == []


def test_ids_and_labels_are_those_of_the_suites() -> None:
    real = mappings.load(mappings.BUNDLED / "aiohttp-asgi.toml").mapping
    servers, workloads = dict[str, str](), dict[str, str]()
    for name in ("rest", "proxy"):
        loaded = suite.load(name).suite
        servers |= {server.name: server.label for server in loaded.server}
        workloads |= {item.name: item.label for item in [*loaded.workload, *loaded.control]}
    assert real.labels["server"] == servers | {"upstream": "Upstream"}
    assert real.labels["workload"] == workloads


def test_no_tier_claim_or_range_of_what_was_published(folder: Path) -> None:
    run = bring(folder)
    frame = summary([run])
    assert set(frame["untiered"]) == {PUBLISHED}
    assert frame["tier"].isna().all()
    assert set(frame["missing"]) == {0}
    rows = [row for row in frame.to_dict("records") if row["metric"] == "rps" and row["workers"] == 4]
    assert verdict(rows[0], rows[1], "rps").relation == "not comparable"
    view = view_of(run)
    for kind, arguments in (("indistinguishable", {"server": "a", "than": "b"}), ("top_tier", {})):
        with pytest.raises(AnalysisError, match="published"):
            claim(view, kind, {"workers": 4, **arguments})
    # Which of two figures is higher can be said of figures alone, and is marked.
    assert plain(claim(view, "faster", {"server": "a", "than": "b", "workers": 4})).endswith("(published).")
    line = next(csv.DictReader(as_csv(run).splitlines()))
    assert (line["median"], line["n"], line["low"], line["high"]) == ("200.0", "", "", "")


# --- what keeps them out ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("rest.csv", None, r"rest\.csv: missing, and source\.toml reads it"),
        ("more.csv", "a,b\n1,2\n", r"more\.csv: source\.toml does not say what it means"),
        ("rest.csv", "", r"rest\.csv, line 1: no header"),
        ("rest.csv", "server,rps,p99_ms\n", r"rest\.csv: no row below its header"),
        ("rest.csv", "server,rps\na,1\n", r"rest\.csv, line 1: no column 'p99_ms'"),
        ("rest.csv", "server,rps,p99_ms,x\na,1,2,3\n", r"line 1: column 'x' is not in the mapping"),
        ("rest.csv", "server,rps,p99_ms,rps\na,1,2,3\n", r"line 1: two columns 'rps'"),
        ("rest.csv", "server,rps,p99_ms\na,1\n", r"rest\.csv, line 2: 2 cells, the header has 3"),
        ("rest.csv", "server,rps,p99_ms\na,1,2,3\n", r"line 2: 4 cells, the header has 3"),
        ("rest.csv", "server,rps,p99_ms\na,1,2\n\nb,1,2\n", r"line 3: 0 cells"),
        (
            "rest.csv",
            "server,rps,p99_ms\na,fast,2\n",
            r"rest\.csv, line 2, column rps: 'fast' is not a number",
        ),
        ("rest.csv", "server,rps,p99_ms\na,200,NaN\n", r"line 2, column p99_ms: 'NaN' is not a number"),
        ("rest.csv", "server,rps,p99_ms\na,inf,2\n", r"column rps: 'inf' is not a number"),
        ("rest.csv", "server,rps,p99_ms\na,1e3,2\n", r"column rps: '1e3' is not a number"),
        ("rest.csv", "server,rps,p99_ms\na,1_000,2\n", r"column rps: '1_000' is not a number"),
        ("rest.csv", "server,rps,p99_ms\na,١٢,2\n", r"column rps: '١٢' is not a number"),
        ("rest.csv", 'server,rps,p99_ms\na,"1,000",2\n', r"column rps: '1,000' is not a number"),
        ("rest.csv", "server,rps,p99_ms\na,,2\n", r"column rps: '' is not a number"),
        ("rest.csv", "server,rps,p99_ms\na,-1,2\n", r"line 2, column rps: '-1' is negative"),
        ("rest.csv", 'server,rps,p99_ms\na,"1,2\n', r"rest\.csv, line 2: not CSV"),
        ("rest.csv", "server,rps,p99_ms\na,200,2\na,200,2\n", r"line 3: a is in line 2 already"),
        ("rest.csv", "server,rps,p99_ms\nc,200,2\n", r"line 2, column server: unknown server 'c'"),
        ("rate.csv", "server,client,payload,mib\na,y,1k,1\n", r"rate\.csv, line 2.*unknown workload 'y-1k'"),
        ("workers.csv", "server,one,four\na,60,201\n", r"line 2, column four: not the rps of a/get/w4"),
        ("workers.csv", "server,one,four\nupstream,60,2\n", r"no other table has upstream/get/w4"),
        ("rest.csv", b"server,rps,p99_ms\n\xff,1,2\n", r"rest\.csv, line 2: not UTF-8"),
        (
            "rest.csv",
            f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 1\n",
            r"rest\.csv: a Git LFS pointer",
        ),
    ],
)
def test_fault_is_named_and_nothing_is_left(
    folder: Path, name: str, text: str | bytes | None, told: str
) -> None:
    if text is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ArtifactError, match=told):
        bring(folder)
    assert nothing_left(folder)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('name = "source"', 'name = "source', "source.toml: not valid TOML"),
        ("unknown =", "unknwon =", "source.toml: unknwon: unknown key"),
        ('metric = "p99"', 'metric = "p98"', "no metric 'p98'"),
        ('unit = "ms"', 'unit = "min"', "no unit 'min'"),
        ('unit = "ms"', 'unit = "1/s"', "'1/s' is no unit of 'p99'"),
        (
            'server = "{server}", workload = "get" }',
            'server = "{name}" }',
            "'name', which is not among the keys",
        ),
        ('column = "p99_ms"', 'column = "rps"', r"\[\[file\]\] 'rest\.csv': a column is named twice"),
        ('keys = ["target"]', 'keys = ["rps"]', r"\[\[file\]\] 'control\.csv': a column is named twice"),
        ('name = "workers.csv"', 'name = "rest.csv"', "a file is named twice"),
        ('name = "workers.csv"', 'name = "../x.csv"', r"'\.\./x\.csv': name: "),
        ("connections = 100", "connections = 0", "parameters: connections"),
    ],
)
def test_wrong_mapping_is_named(folder: Path, old: str, new: str, told: str) -> None:
    assert old in MAPPING
    (folder.parent / "source.toml").write_text(MAPPING.replace(old, new, 1))
    with pytest.raises(ArtifactError, match=told):
        bring(folder)
    assert nothing_left(folder)


def test_run_is_never_overwritten(folder: Path) -> None:
    first = bring(folder)
    before = {path: path.read_bytes() for path in first.folder.rglob("*") if path.is_file()}
    with pytest.raises(ArtifactError, match=r"ref-published-source exists already"):
        bring(folder)
    assert {path: path.read_bytes() for path in first.folder.rglob("*") if path.is_file()} == before
    assert bring(folder, run_id="another").run.id == "another"
    assert sorted(path.name for path in first.folder.parent.iterdir()) == ["another", first.run.id]


def test_run_that_appears_meanwhile_is_not_overwritten(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another import finishes between the check and the last step."""
    finish = placing.RunWriter.finish
    other = folder.parent / "artifacts" / "ref-published-source"

    def late(writer: placing.RunWriter, run: Any) -> Any:
        other.mkdir()
        (other / "run.json").write_text("{}")
        return finish(writer, run)

    monkeypatch.setattr(placing.RunWriter, "finish", late)
    with pytest.raises(ArtifactError, match="exists already"):
        bring(folder)
    assert (other / "run.json").read_text() == "{}"
    assert [path.name for path in other.parent.iterdir()] == [other.name]


def test_failing_disk_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(placing.RunWriter, "finish", full)
    with pytest.raises(ArtifactError, match="No space left on device"):
        bring(folder)
    assert nothing_left(folder)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["other", "{folder}"], "no format 'other' to import"),
        (["published", "{folder}/none"], "no such file or folder"),
        (["published", "{folder}/empty"], "no CSV file"),
        (["published", "{folder}/rate.csv"], "no mapping reads rate.csv"),
        (["published", "{folder}", "--mapping", "{folder}/none.toml"], "none.toml: cannot be read"),
        (["published", "{folder}", "--mapping", "{mapping}", "--into", "No Id"], "'No Id' is not an id"),
        (["published", "{folder}/rest.csv", "{folder}/rest.csv", "--mapping", "{mapping}"], "two files"),
    ],
)
def test_command_line_says_what_is_wrong(
    folder: Path, tmp_path: Path, arguments: list[str], told: str
) -> None:
    (folder / "empty").mkdir()
    places = {"folder": str(folder), "mapping": str(tmp_path / "source.toml")}
    output = ["--output", str(tmp_path / "artifacts")]
    result = CliRunner().invoke(app, ["import", *[item.format(**places) for item in arguments], *output])
    assert result.exit_code != 0
    assert told in str(result.exception)
    assert nothing_left(folder)


def test_command_imports(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["lapsheet", "import", "published", str(folder)])
    output, mapping = str(tmp_path / "artifacts"), str(tmp_path / "source.toml")
    arguments = ["import", "published", str(folder), "--mapping", mapping, "--output", output]
    result = CliRunner().invoke(app, arguments)
    assert (result.exit_code, result.exception) == (0, None)
    assert "imported 7 figures of 5 cases" in " ".join(result.output.split())
    run = store.read(tmp_path / "artifacts" / "ref-published-source").run
    # Where the files lay is nobody's business.
    assert run.command_line == ["lapsheet", "import", "published", "figures"]
    assert str(tmp_path) not in (tmp_path / "artifacts" / run.id / store.MANIFEST).read_text()
    assert CliRunner().invoke(app, ["verify", "--output", output]).exit_code == 0
    shown = CliRunner().invoke(app, ["summarize", run.id, "--output", output]).output
    assert "not measured here" in shown
    assert "[200" not in shown


def test_nearest_mapping_says_what_is_missing() -> None:
    names = [path.name for path in sorted((REAL / "raw").iterdir())]
    assert mappings.choose(names).name == "aiohttp-asgi.toml"
    with pytest.raises(ArtifactError, match=r"ttfb_ms\.csv: missing, and aiohttp-asgi\.toml reads it"):
        mappings.choose([name for name in names if name != "ttfb_ms.csv"])


# --- verify -----------------------------------------------------------------------------------------


def reseal(folder: Path, change: Callable[[dict[str, Any]], None] | None = None) -> None:
    """Make the manifest's hashes those of the files as they are, as a forger would."""
    path = folder / store.MANIFEST
    manifest = json.loads(path.read_text())
    if change:
        change(manifest)
    for entry in manifest["files"]:
        data = (folder / entry["path"]).read_bytes()
        entry |= {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    path.write_text(json.dumps(manifest))


def test_verify_computes_every_figure_again(folder: Path) -> None:
    run = bring(folder)
    report = verify(run.folder)
    assert (report.problems, report.notes) == ([], [])
    assert report.figures == 7
    assert report.files == 5
    again = rebuild(run)
    assert again is not None
    assert again[1] == run.samples


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"rps":200.0', '"rps":201.0', "rps is 201.0, its files say 200.0"),
        ('"p99":0.015841', '"p50":0.015841', "p50 is 0.015841, its files say None"),
        ('"status":"accepted"', '"status":"failed"', "not the sample that its files and their mapping say"),
    ],
)
def test_verify_finds_a_forged_sample(folder: Path, old: str, new: str, told: str) -> None:
    run = bring(folder)
    path = run.folder / store.SAMPLES
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    reseal(run.folder)
    assert any(told in problem for problem in verify(run.folder).problems)


def test_verify_finds_a_dropped_sample(folder: Path) -> None:
    run = bring(folder)
    path = run.folder / store.SAMPLES
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    reseal(run.folder)
    assert any("4 lines, its files have 5 cases" in problem for problem in verify(run.folder).problems)


@pytest.mark.parametrize("field", ["title", "labels", "facts", "machine"])
def test_verify_finds_a_forged_manifest(folder: Path, field: str) -> None:
    run = bring(folder)
    forged = {"title": "Measured here", "labels": {}, "facts": {}, "machine": {"cpus": 64}}[field]
    reseal(run.folder, lambda manifest: manifest.update({field: forged}))
    assert [p for p in verify(run.folder).problems if f"{field} is not what its files" in p]


def test_verify_finds_changed_files_and_mappings(folder: Path) -> None:
    run = bring(folder)
    shutil.copytree(run.folder, folder.parent / "copies" / run.run.id)
    (run.folder / "raw" / "rest.csv").write_text(FILES["rest.csv"].replace("200,", "999,"))
    assert "a byte was changed" in verify(run.folder).problems[0]

    copy = folder.parent / "copies" / run.run.id

    def remap(manifest: dict[str, Any]) -> None:
        text = MAPPING.replace('unit = "ms"', 'unit = "s"')
        manifest["suite_file"] |= {"text": text, "sha256": hashlib.sha256(text.encode()).hexdigest()}

    reseal(copy, remap)
    assert any("p99 is 0.015841, its files say 15.841" in problem for problem in verify(copy).problems)


# --- statements -------------------------------------------------------------------------------------

SPAN = """
kind = "within"
where = { workers = 4 }
pairs = [{ of = { workload = "fast" }, to = { workload = "slow" } }]
among = { server = ["a", "b"] }
low = 3.5
high = 4.1
"""
AHEAD = """
kind = "ahead"
where = { workers = 4 }
pairs = [{ of = { server = "a" }, to = { server = "b" } }]
among = { workload = ["fast", "slow"] }
"""
LARGER = """
kind = "larger"
where = { workers = 4 }
pairs = [{ of = { workload = "fast" }, to = { workload = "slow" } }]
among = { server = ["a", "b"] }
dimension = "server"
values = ["a", "b"]
over = { workload = ["fast", "slow"] }
"""
ORDER = """
kind = "order"
where = { workers = 1 }
unlike = { workers = 4 }
dimension = "server"
values = ["a", "b"]
leaders = [{ where = { workload = "fast" }, first = "b" }]
"""
SHARE = """
kind = "share"
where = { workers = 4 }
pair = { of = { server = "b" }, to = { server = "a" } }
parts = [{ where = { workload = "fast" }, value = 0.78 }]
"""
HEADROOM = """
kind = "headroom"
where = { workers = 4 }
parts = [{ where = { workload = "direct" }, value = 5 }]
"""
PUBLISHED_FIGURES = {
    ("a", "fast", 4): 1000.0,
    ("b", "fast", 4): 780.0,
    ("a", "slow", 4): 250.0,
    ("b", "slow", 4): 210.0,
    ("a", "fast", 1): 300.0,
    ("b", "fast", 1): 310.0,
    ("upstream", "direct", 4): 5170.0,
}
Figures = dict[tuple[str, str, int], float]


def view_of(run: StoredRun) -> View:
    columns = loading._parts(summary([run]))[run.run.id]
    attempts = attempts_of(run.run, run.samples)
    return View(run.run.id, "key", "0" * 64, 0, Path("run"), run.run, attempts, columns)


def cases_of(figures: Figures) -> dict[tuple[str, str, int], Any]:
    return {
        key: case(key[0], "control", workload=key[1], workers=key[2]).model_copy(update={"covers": ["fast"]})
        if key[0] == "upstream"
        else case(key[0], workload=key[1], workers=key[2])
        for key in figures
    }


def theirs(statement: str, figures: Figures | None = None, **labels: str) -> View:
    figures = figures or PUBLISHED_FIGURES
    cases = cases_of(figures)
    text = f'{MAPPING}\n[[statement]]\ntopic = "topic"\n{statement}'
    return view_of(
        stored(
            list(cases.values()),
            [sample(cases[key], 1, value) for key, value in figures.items()],
            repeats=1,
            id="theirs",
            origin="published",
            suite_file=SuiteFile(name="source.toml", sha256="0" * 64, text=text),
            labels={"server": labels},
        )
    )


def ours(
    changed: Figures | None = None, without: Sequence[int] = (), spread: float = 0.01, **flaws: Any
) -> View:
    """A run of five samples a case around those figures. ``flaws`` of the case a/fast/w4."""
    figures = {
        key: value for key, value in (PUBLISHED_FIGURES | (changed or {})).items() if key[2] not in without
    }
    cases = cases_of(figures)
    samples = []
    for key, value in figures.items():
        flawed = key == ("a", "fast", 4)
        for i, step in enumerate((-1, 0.5, 0, -0.5, 1, 0), 1):
            if i == 6 and key[0] != "upstream":
                continue
            if flawed and flaws.get("missing") and i == 5:
                samples.append(failed(cases[key], i))
                continue
            busy = (flawed and flaws.get("floor")) or (key[0] == "upstream" and flaws.get("control_floor"))
            witness = {"witness": saturated("generator")} if busy else {}
            samples.append(sample(cases[key], i, value * (1 + spread * step), **witness))
    twin = []
    if "noise" in flaws:
        base = cases["a", "fast", 4]
        twin = [base.model_copy(update={"id": f"{base.id}/twin", "role": "twin", "twin_of": base.id})]
        samples += [sample(twin[0], i, 1000 * (1 + flaws["noise"])) for i in range(1, 6)]
    return view_of(stored([*cases.values(), *twin], samples, id="ours"))


def status(statement: str, view: View, **instead: Any) -> str:
    (parsed,) = statements_of(theirs(statement))
    return judge(parsed, Side(view, False, instead)).status


@pytest.mark.parametrize("statement", [SPAN, AHEAD, LARGER, ORDER, SHARE, HEADROOM])
def test_statement_holds_of_its_figures_and_of_the_like(statement: str) -> None:
    (parsed,) = statements_of(theirs(statement))
    assert judge(parsed, Side(theirs(statement), plain=True)).status == "holds"
    # A figure given to two digits holds only where nothing the samples allow is another.
    assert status(statement, ours(spread=0.001)) == "holds"


@pytest.mark.parametrize(
    ("statement", "changed"),
    [
        (SPAN, {("a", "slow", 4): 500.0}),
        (AHEAD, {("b", "slow", 4): 400.0}),
        (LARGER, {("a", "slow", 4): 1000.0, ("b", "fast", 4): 250.0}),
        (ORDER, {("b", "fast", 1): 200.0}),
        (ORDER, {("b", "fast", 4): 2000.0}),
        (SHARE, {("b", "fast", 4): 950.0}),
        (HEADROOM, {("upstream", "direct", 4): 9000.0}),
    ],
)
def test_statement_that_figures_contradict_fails_on_either_side(statement: str, changed: Figures) -> None:
    assert status(statement, ours(changed)) == "fails"
    wrong = theirs(statement, PUBLISHED_FIGURES | changed)
    (parsed,) = statements_of(wrong)
    assert judge(parsed, Side(wrong, plain=True)).status != "holds"
    with pytest.raises(AnalysisError, match="the published figures contradict a"):
        statements_block(wrong, "topic", None)


@pytest.mark.parametrize(
    ("statement", "view", "why"),
    [
        (SPAN, ours(without=[4]), "this run has no case with 4 workers"),
        (ORDER, ours(without=[4]), "this run has no case with 4 workers"),
        (ORDER, ours(without=[1]), "this run has no case with 1 worker"),
        (AHEAD, ours(missing=True), "1 of 5 samples failed"),
        (SPAN, ours(missing=True), "1 of 5 samples missing"),
        (SHARE, ours(floor=True), "a bound only"),
        (AHEAD, ours(floor=True), "limited by the load generator"),
        (AHEAD, ours({("b", "fast", 4): 995.0}), "the ranges overlap"),
        (AHEAD, ours({("b", "fast", 4): 950.0}, noise=0.2), "within the noise band of"),
        (SPAN, ours({("a", "slow", 4): 230.0}, spread=0.04), "its samples allow 4.01–4.71×"),
        # Inside as it stands, but its samples are not.
        (SPAN, ours(spread=0.04), "its samples allow 3.69–4.33×"),
        (SHARE, ours({("b", "fast", 4): 740.0}, spread=0.04), "its samples allow 0.68–0.80×"),
        (SHARE, ours(spread=0.04), "its samples allow 0.72–0.85×"),
        # Whether it is 0.78, nobody can say whose twins are 11 % apart: neither of 0.70 nor of 0.78 itself.
        (
            SHARE,
            ours({("b", "fast", 4): 700.0}, spread=0.001, noise=0.118),
            "and the noise band of 11.1 % allow 0.63–",
        ),
        (SHARE, ours(spread=0.001, noise=0.118), "its samples and the noise band of 11.1 % allow 0.70–0.87×"),
        (SPAN, ours(spread=0.001, noise=0.118), "its samples and the noise band of 11.1 % allow 3.58–4.47×"),
        (
            LARGER,
            ours({("a", "slow", 4): 700.0, ("b", "slow", 4): 580.0}, spread=0.001, noise=0.118),
            "the noise band allow of the one reaches",
        ),
        (HEADROOM, ours({("upstream", "direct", 4): 4000.0}, control_floor=True), "a bound only"),
        (LARGER, ours(spread=0.8), "what the samples and the noise band allow of the one reaches the other"),
    ],
)
def test_statement_that_cannot_be_said_says_why(statement: str, view: View, why: str) -> None:
    (parsed,) = statements_of(theirs(statement))
    found = judge(parsed, Side(view, False))
    assert found.status == "unsaid"
    assert why in plain(" ".join(part.why for part in found.parts))


def test_bound_decides_where_it_can() -> None:
    """At least nine times is not five times, however much more it may be."""
    high = ours({("upstream", "direct", 4): 9000.0}, control_floor=True)
    assert status(HEADROOM, high) == "fails"


def test_condition_may_be_another_on_our_side() -> None:
    one = ours({("a", "slow", 1): 75.0, ("b", "slow", 1): 77.0}, without=[4])
    assert status(SPAN, one) == "unsaid"
    assert status(SPAN, one, workers=1) == "holds"
    # What a statement itself compares stays what it is.
    assert status(ORDER, ours(), workers=4) == "holds"
    text = plain(statements_block(theirs(SPAN), "topic", one, {"workers": 1}))
    assert "Holds (with 1 worker instead of 4 workers)" in text
    with pytest.raises(AnalysisError, match=r"no dimension 'wrkers'\n  Did you mean 'workers'"):
        statements_block(theirs(SPAN), "topic", one, {"wrkers": 1})


def test_verdict_stands_with_its_figures() -> None:
    block = statements_block(theirs(SPAN), "topic", ours({("a", "slow", 4): 500.0}))
    text = plain(block)
    assert "a: 4.00× b: 3.71×" in text
    told = "Does not hold in 1 of 2 parts; 1 holds a: 2.00× (1.96–2.04) (does not hold) "
    assert f"{told}b: 3.71× (3.64–3.79) (holds)" in text


def test_each_reason_stands_beside_its_own_part() -> None:
    """One part fails, the other cannot be said: neither explains the other."""
    block = statements_block(theirs(ORDER), "topic", ours({("b", "fast", 1): 200.0}, without=[4]))
    text = plain(block)
    told = (
        "Does not hold in 1 of 2 parts; 1 cannot be said fast · 1 worker: a 300.0, b 200.0 (does not hold) "
    )
    assert f"{told}fast · 4 workers: cannot be said: this run has no case with 4 workers" in text
    head = re.search(r"<strong[^>]*>(.*?)</strong>(.*?)<ul>", block)
    assert head is not None
    assert "this run" not in head.group(0)


def test_reason_of_all_parts_is_said_once() -> None:
    text = plain(statements_block(theirs(SPAN), "topic", ours(without=[4])))
    assert text.endswith("Cannot be said this run has no case with 4 workers")
    text = plain(statements_block(theirs(SPAN), "topic", ours(missing=True)))
    assert "Cannot be said in 1 of 2 parts; 1 holds" in text
    assert "a: cannot be said: a: 1 of 5 samples missing" in text


def test_larger_fails_whatever_else_is_missing() -> None:
    """A factor of 1.0 on one server decides, though the other has lost a sample."""
    figures = {("b", "slow", 4): 780.0, ("b", "fast", 4): 780.0, ("a", "slow", 4): 200.0}
    found = ours(figures, missing=True)
    (parsed,) = statements_of(theirs(LARGER))
    judgment = judge(parsed, Side(found, False))
    assert judgment.status == "fails"
    assert (judgment.count("fails"), judgment.count("unsaid")) == (1, 2)
    assert "the smallest 1.00× (0.98–1.02) (b)" in plain(judgment.parts[0].figures)


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        (SPAN, "fast has 3.5–4.1× the throughput of slow for each of A & <b> and b with 4 workers."),
        (AHEAD, "A & <b> has a higher throughput than b on each of fast and slow with 4 workers."),
        (
            LARGER,
            "In throughput, fast over slow is a larger factor for each of A & <b> and b than lies between "
            "these on the same workload with 4 workers.",
        ),
        (
            LARGER.replace('["fast", "slow"]', '["slow"]'),
            "In throughput, fast over slow is a larger factor for each of A & <b> and b than lies between "
            "these on slow with 4 workers.",
        ),
        (
            ORDER,
            "Of A & <b> and b with 1 worker, b has the highest throughput on fast; "
            "with 4 workers their order is different.",
        ),
        (SHARE, "b has 78 % of the throughput of A & <b> on fast, with 4 workers."),
        (
            HEADROOM,
            "The upstream by itself has 5 times (direct) the throughput of the best row that it bounds, "
            "with 4 workers.",
        ),
    ],
)
def test_sentence_comes_from_its_predicate(statement: str, sentence: str) -> None:
    view = theirs(statement, a="A & <b>")
    (parsed,) = statements_of(view)
    found = sentence_of(parsed, view)
    assert plain(found) == sentence
    assert "<b>" not in found


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("low = 3.5", "low = 4.5", "low is above high"),
        ('of = { workload = "fast" }', 'of = { server = "a" }', "the same dimensions"),
        ('kind = "within"', 'kind = "beyond"', r"statement.*beyond"),
        ("low = 3.5", 'low = "3.5"', "low: must be a number"),
    ],
)
def test_wrong_statement_keeps_a_mapping_out(folder: Path, old: str, new: str, told: str) -> None:
    statement = f'[[statement]]\ntopic = "topic"\n{SPAN.replace(old, new)}'
    (folder.parent / "source.toml").write_text(f"{MAPPING}\n{statement}")
    with pytest.raises(ArtifactError, match=told):
        bring(folder)


def test_topic_and_origin_are_checked() -> None:
    with pytest.raises(AnalysisError, match=r"states nothing on 'topics'\n  Did you mean 'topic'"):
        statements_of(theirs(SPAN), "topics")
    with pytest.raises(AnalysisError, match="run ours was captured"):
        statements_of(ours())


def test_statements_of_the_real_source_hold() -> None:
    loaded = loading.load(REAL.parent, [REAL.name])[REAL.name]
    assert isinstance(loaded, View)
    found = statements_of(loaded)
    assert {statement.kind for statement in found} == {
        "share", "within", "order", "larger", "ahead", "headroom"
    }  # fmt: skip
    text = plain(statements_block(loaded, None, None))
    assert "4 workers have 3.4–3.7× the throughput of 1 worker for each of" in text
    assert "Direct, 1 KiB: 5.17×: 66,100 over 12,778 (Granian, rloop)" in text


def plain(markup: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", markup.replace("<li>", " "))).split())
