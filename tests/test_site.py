"""The built site: what stands on its pages, what it offers for download, and when it refuses to be built."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag, urljoin, urlsplit

import plotly.graph_objects as go
import pytest
from sites import EVIL, ROOT, Builder, BuildFailed, page_data, pin, table_of, tree

from benchmarks.synthetic import flawed, write_run
from hooks import loading
from runner import analysis, store
from runner.export import as_csv
from runner.metrics import METRICS
from runner.model import SCHEMA_VERSION, Case, Note, Run, Sample


@pytest.fixture
def builder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Builder:
    return Builder(tmp_path, monkeypatch)


@pytest.fixture(scope="module")
def flawed_site(tmp_path_factory: pytest.TempPathFactory) -> Builder:
    """This project's pages over a run with one of each flaw, and two local runs that stay unseen."""
    with pytest.MonkeyPatch.context() as patch:
        builder = Builder(tmp_path_factory.mktemp("site"), patch)
        write_run(builder.artifacts, "ref-flawed", mutate=flawed)
        write_run(builder.artifacts, "rest-local", servers=2, workloads=1, raw=False)
        (builder.artifacts / "rest-broken").mkdir()
        (builder.artifacts / "rest-broken" / store.MANIFEST).write_text('{"id":')
        pin(builder.artifacts, rest="ref-flawed")
        builder.build()
        return builder


def html_files(site: Path) -> list[Path]:
    return sorted(site.rglob("*.html"))


# --- the whole site ---------------------------------------------------------------------------------


def test_every_page_is_there_and_local_runs_are_not(flawed_site: Builder) -> None:
    pages = {str(path.relative_to(flawed_site.site)) for path in html_files(flawed_site.site)}
    assert pages == {
        *("404.html", "index.html", "rest/index.html", "methodology/index.html", "raw/index.html"),
        *("runs/index.html", "runs/ref-flawed/index.html"),
    }
    assert not any("rest-local" in path.read_text("utf-8") for path in html_files(flawed_site.site))


def test_every_link_and_resource_resolves_within_the_site(flawed_site: Builder) -> None:
    site = flawed_site.site
    seen = 0
    for page in html_files(site):
        if page.name == "404.html":
            continue  # its links are absolute by design: it is shown at any address
        base = "http://site/" + str(page.relative_to(site)).removesuffix("index.html")
        document = tree(page.read_text("utf-8"))
        links = [
            (node, node.attributes[name])
            for tag, name in _LINKS
            for node in document.all(tag)
            if name in node.attributes
        ]
        for box in document.classed("ls-figures"):
            links += [(box, box.attributes["data-figures"]), (box, box.attributes["data-plotly"])]
        anchors = {
            node.attributes["id"]
            for tag in _ANCHORED
            for node in document.all(tag)
            if "id" in node.attributes
        }
        for node, link in links:
            target, fragment = urldefrag(urljoin(base, link))
            parts = urlsplit(target)
            if parts.netloc != "site":
                assert node.tag == "a", f"{page}: loads {link} from elsewhere"
                continue
            path = site / parts.path.lstrip("/")
            path = path / "index.html" if path.is_dir() else path
            assert path.is_file(), f"{page}: {link} leads nowhere"
            if fragment and path == page and fragment != "__skip":
                assert fragment in anchors, f"{page}: no #{fragment}"
            seen += 1
    assert seen > 100


_LINKS = [("a", "href"), ("link", "href"), ("script", "src"), ("img", "src")]
_ANCHORED = ["h1", "h2", "h3", "h4", "div", "a", "span", "p", "li"]


def test_every_page_has_one_title_and_unique_anchors(flawed_site: Builder) -> None:
    for path in html_files(flawed_site.site):
        document = tree(path.read_text("utf-8"))
        assert len(document.all("h1")) == 1, path
        (content,) = document.all("article")
        anchors = [
            node.attributes["id"] for tag in _ANCHORED for node in content.all(tag) if "id" in node.attributes
        ]
        assert len(anchors) == len(set(anchors)), path


def test_no_page_names_a_folder_of_this_machine(flawed_site: Builder) -> None:
    for path in flawed_site.site.rglob("*"):
        if path.suffix in (".html", ".js", ".json", ".csv") and path.name != "plotly.min.js":
            assert str(flawed_site.folder) not in path.read_text("utf-8")


def test_run_pages_and_samples_stay_out_of_the_search_index(flawed_site: Builder) -> None:
    index = json.loads((flawed_site.site / "search" / "search_index.json").read_text())
    entries = {entry["location"]: entry["text"] for entry in index["docs"]}
    assert not any(location.startswith("runs/") for location in entries)
    table = entries["rest/#throughput-and-p99-latency"]
    assert "granian" in table
    assert "Every sample as a table" not in " ".join(entries.values())


# --- figures on the pages ---------------------------------------------------------------------------


def test_html_table_says_what_the_summary_says(flawed_site: Builder) -> None:
    stored = store.read(flawed_site.artifacts / "ref-flawed")
    frame = analysis.summary([stored])
    frame = frame[(frame["role"] == "case") & frame["metric"].isin(["rps", "p99"])]
    table = table_of(flawed_site.text("rest/index.html"), "Throughput and p99 latency by server and workload")
    body = table.all("tbody")[0].all("tr")
    assert len(body) == 14
    cells = {row.all("th")[0].text: [cell.text for cell in row.all("td")] for row in body}
    places = [(w, m) for w in ("get_item", "create_order") for m in ("rps", "p99")]
    for row in frame.to_dict("records"):
        label = stored.run.labels["server"][row["server"]]
        text = cells[label][places.index((row["workload"], row["metric"]))]
        metric = METRICS[row["metric"]]
        if row["n"] == 0:
            assert "n = 0 of 5" in text
            assert "no accepted sample" in text
            continue
        sign = ("≥ " if row["metric"] == "rps" else "≤ ") if row["floor"] else ""
        assert text.startswith(f"{sign}{metric.show(row['median'])} ")
        assert f"{metric.show(row['low'])}–{metric.show(row['high'])} · n = {row['n']}" in text
        assert re.findall(r"\btier (\d+)", text) == ([] if row["untiered"] else [str(row["tier"])])
        for status in ("rejected", "failed"):
            assert (status in text) == bool(row[status])
        assert row["untiered"] in text


def test_html_table_has_caption_and_scopes(flawed_site: Builder) -> None:
    table = table_of(flawed_site.text("rest/index.html"), "Throughput and p99 latency")
    assert [head.attributes["scope"] for head in table.all("th") if "scope" not in head.attributes] == []
    top, second = table.all("thead")[0].all("tr")
    assert [cell.attributes["scope"] for cell in top.all("th")] == ["col", "colgroup", "colgroup"]
    assert [cell.attributes["colspan"] for cell in top.all("th")[1:]] == ["2", "2"]
    assert len(second.all("th")) == 4
    assert all(row.all("th")[0].attributes["scope"] == "row" for row in table.all("tbody")[0].all("tr"))
    # Cells of a row must be as many as there are heads, or a screen reader names the wrong one.
    assert {len(row.all("td")) for row in table.all("tbody")[0].all("tr")} == {4}


def test_page_says_what_its_signs_mean(flawed_site: Builder) -> None:
    text = tree(flawed_site.text("rest/index.html")).text
    assert "which is not the percentile of all requests of all samples merged" in text
    assert "Noise band (the same configuration, run twice): Throughput" in text
    assert "the load generator was at its limit" in text
    assert "Rejected samples were disturbed from outside" in text
    assert "Failed samples are the server's own doing" in text


def figures_of(site: Path, page: str) -> dict[str, dict[str, Any]]:
    """The figures of a page, by name."""
    found: dict[str, dict[str, Any]] = page_data(site, page)["figures"]
    return found


@pytest.mark.parametrize("page", ["rest/index.html", "runs/ref-flawed/index.html"])
def test_every_figure_is_valid_plotly_and_has_a_box(flawed_site: Builder, page: str) -> None:
    figures = figures_of(flawed_site.site, page)
    boxes = tree(flawed_site.text(page)).classed("ls-figure")
    assert [box.attributes["data-figure"] for box in boxes] == list(figures)
    for box, figure in zip(boxes, figures.values(), strict=True):
        # Colours are CSS variables, which only a browser knows.
        text = re.sub(r"var\(--ls-[a-z0-9-]+\)", "#123456", json.dumps(figure))
        spec = json.loads(text)
        go.Figure(data=spec["data"], layout=spec["layout"])
        assert f"height:{spec['layout']['height']}px" in box.attributes["style"]
        assert all(box.all(tag)[0].text for tag in ("title", "desc"))
        assert spec["config"]["showSendToCloud"] is False
        assert spec["layout"]["dragmode"] is False


def test_colours_of_figures_are_defined_for_light_and_dark(flawed_site: Builder) -> None:
    text = json.dumps(figures_of(flawed_site.site, "rest/index.html"))
    css = (ROOT / "site_src" / "assets" / "lapsheet.css").read_text()
    light, dark = css.split('[data-md-color-scheme="slate"] {')[:2]
    for name in set(re.findall(r"var\((--ls-[a-z0-9-]+)\)", text)):
        assert f"{name}:" in light
        assert f"{name}:" in dark.split("}")[0]


def test_range_chart_draws_every_sample(flawed_site: Builder) -> None:
    stored = store.read(flawed_site.artifacts / "ref-flawed")
    charts = [
        f
        for f in figures_of(flawed_site.site, "rest/index.html").values()
        if f["data"][0].get("name") == "range"
    ]
    assert len(charts) == 4
    chart = charts[0]
    ranges, samples, medians, others = chart["data"]
    of_first = [s for s in stored.samples if "/get_item/" in s.case and not s.case.endswith("/twin")]
    accepted = [s.metrics["rps"] for s in of_first if s.status == "accepted"]
    rest = [s.metrics["rps"] for s in of_first if s.status != "accepted" and "rps" in s.metrics]
    assert sorted(samples["x"]) == pytest.approx(sorted(accepted), rel=1e-4)
    assert sorted(others["x"]) == pytest.approx(sorted(rest), rel=1e-4)
    assert len(medians["x"]) == 13  # of 14 servers one failed always
    assert len(ranges["x"]) == 3 * 13
    (band,) = chart["layout"]["shapes"]
    summary = analysis.summary([stored])
    row = summary[(summary["workload"] == "get_item") & (summary["metric"] == "rps")].iloc[0]
    best = max(medians["x"])
    assert abs(best - band["x0"]) / ((best + band["x0"]) / 2) == pytest.approx(row["band"], rel=0.01)


def test_same_server_has_the_same_hue_everywhere(flawed_site: Builder) -> None:
    """In HTML and in what interactive tables are made from, on every page: by the server's label."""
    hues: dict[str, set[str]] = {}
    for page in ("rest/index.html", "runs/ref-flawed/index.html"):
        for head in tree(flawed_site.text(page)).all("th"):
            for dot in head.classed("ls-dot"):
                hues.setdefault(head.text, set()).add(dot.attributes["class"].split("ls-hue-")[1])
        for run in page_data(flawed_site.site, page)["runs"].values():
            servers = run["frame"]["dimensions"]["server"]
            for value, label, hue in zip(*(servers[n] for n in ("values", "labels", "hues")), strict=True):
                hues.setdefault(label or value, set()).add(str(hue))
    assert len(hues) == 14
    assert all(len(found) == 1 for found in hues.values()), hues
    assert hues["granian"] == hues["granian · rloop"] != hues["daphne"]


# --- downloads --------------------------------------------------------------------------------------


def test_every_file_of_the_run_is_offered_as_captured(flawed_site: Builder) -> None:
    stored = store.read(flawed_site.artifacts / "ref-flawed")
    for page in ("raw/index.html", "runs/ref-flawed/index.html"):
        table = table_of(flawed_site.text(page), "Files of run ref-flawed")
        rows = table.all("tbody")[0].all("tr")
        assert len(rows) == 1 + len(stored.run.files)
        for row in rows:
            link = row.all("a")[0]
            target = (flawed_site.site / page).parent / link.attributes["href"]
            size, sha = (cell.text for cell in row.all("td"))
            data = target.read_bytes()
            assert hashlib.sha256(data).hexdigest() == sha
            assert f"{len(data):,}" == size


def test_exports_are_those_of_the_command_line(flawed_site: Builder) -> None:
    stored = store.read(flawed_site.artifacts / "ref-flawed")
    folder = flawed_site.site / "runs" / "ref-flawed"
    own = stored.run.model_copy(update={"id": "ref-flawed"})
    expected = as_csv(store.StoredRun(stored.folder, own, stored.samples))
    assert (folder / "summary.csv").read_bytes().decode() == expected
    document = json.loads((folder / "summary.json").read_text())
    assert len(document["rows"]) == len(expected.splitlines()) - 1
    rows = list(csv.DictReader(io.StringIO((folder / "samples.csv").read_bytes().decode())))
    assert len(rows) == len(stored.samples)
    for row, sample in zip(rows, stored.samples, strict=True):
        assert row["case"] == sample.case
        assert row["status"] == sample.status
        assert row["reasons"] == "; ".join(note.code for note in sample.reasons)
        assert float(row["rps"]) == sample.metrics["rps"]


# --- methodology ------------------------------------------------------------------------------------


def test_methodology_tells_what_was_rejected_and_why(flawed_site: Builder) -> None:
    stored = store.read(flawed_site.artifacts / "ref-flawed")
    table = table_of(flawed_site.text("methodology/index.html"), "Attempts that do not count")
    told = [row.text for row in table.all("tbody")[0].all("tr")]
    outs = [sample for sample in stored.samples if sample.status != "accepted"]
    assert len(told) == len(outs) == 8
    for sample in outs:
        assert any(sample.reasons[0].message in text and sample.status in text for text in told)
    text = tree(flawed_site.text("methodology/index.html")).text
    assert "151 samples taken: 143 accepted, 1 rejected (disturbed from outside), 7 failed" in text


def test_methodology_counts_checks_and_shows_the_layout(flawed_site: Builder) -> None:
    stored = store.read(flawed_site.artifacts / "ref-flawed")
    html = flawed_site.text("methodology/index.html")
    table = table_of(html, "Checks made")
    for row in table.all("tbody")[0].all("tr"):
        name = row.all("th")[0].text
        counts = [int(cell.text) for cell in row.all("td")[:3]]
        checks = [check for sample in stored.samples for check in sample.checks if check.name == name]
        assert counts == [sum(c.status == s for c in checks) for s in ("ok", "failed", "not checked")]
    boxes = [box.text for box in tree(html).classed("ls-cpu")]
    assert boxes == ["CPU 0 server", "CPU 1 generator runner"]
    text = tree(html).text
    for part in (
        "Closed loop",
        "seed 42",
        "oha 1.16.0",
        "installed packages match it",
        stored.run.lock.sha256,
    ):
        assert part in text


# --- what is shown where ----------------------------------------------------------------------------


def test_nothing_published_still_builds_and_says_so(builder: Builder) -> None:
    builder.build()
    for page in ("index.html", "rest/index.html", "methodology/index.html", "raw/index.html"):
        text = tree(builder.text(page)).text
        assert text.count("No run yet") == 1, page
        assert "lapsheet quickstart" in text
    assert "No run is published yet." in tree(builder.text("runs/index.html")).text
    assert not (builder.site / "assets" / "plotly.min.js").exists()


def test_local_runs_show_where_asked_for(builder: Builder) -> None:
    write_run(builder.artifacts, "rest-20260101t000000z-aaaaaa", servers=2, workloads=1, raw=False)
    builder.build()
    assert not (builder.site / "runs" / "rest-20260101t000000z-aaaaaa").exists()
    builder.build(local=True)
    home = tree(builder.text("index.html")).text
    assert "Your newest local run Synthetic run" in home
    assert "local, not published" in home
    page = tree(builder.text("runs/rest-20260101t000000z-aaaaaa/index.html")).text
    assert "Local, not published" in page
    assert "No run yet" in tree(builder.text("rest/index.html")).text


def test_pages_claim_no_order_from_one_sample(builder: Builder) -> None:
    write_run(builder.artifacts, "ref-one", servers=3, workloads=1, repeats=1, raw=False)
    pin(builder.artifacts, rest="ref-one")
    builder.build()
    for page, kind in (("index.html", "ls-overview"), ("rest/index.html", "ls-findings")):
        (told,) = tree(builder.text(page)).classed(kind)
        assert "no order is claimed (one sample only)" in told.text
        assert "leads" not in told.text
        assert "first tier" not in told.text


def test_running_run_is_in_progress(builder: Builder) -> None:
    def begun(run: Run, samples: list[Sample]) -> tuple[Run, list[Sample]]:
        return run.model_copy(update={"state": "running"}), samples[:3]

    write_run(builder.artifacts, "rest-now", servers=2, workloads=1, mutate=begun)
    folder = builder.artifacts / "rest-now"
    manifest = json.loads((folder / store.MANIFEST).read_text())
    (folder / store.MANIFEST).write_text(json.dumps(manifest | {"files": []}))
    builder.build(local=True)
    assert "in progress" in tree(builder.text("runs/index.html")).text
    assert "In progress: 3 of 15 samples taken so far." in tree(builder.text("runs/rest-now/index.html")).text


def test_run_without_any_sample_has_a_page(builder: Builder) -> None:
    write_run(
        builder.artifacts,
        "rest-empty",
        servers=2,
        mutate=lambda run, samples: (run.model_copy(update={"state": "running"}), []),
    )
    builder.build(local=True)
    text = tree(builder.text("runs/rest-empty/index.html")).text
    assert "0 of" in text
    assert "no accepted sample" in text


def test_workers_make_tables_of_their_own(builder: Builder) -> None:
    """One worker and four are not to be ranked together."""
    write_run(builder.artifacts, "ref-two", servers=3, workloads=1, workers=(1, 4), raw=False)
    pin(builder.artifacts, rest="ref-two")
    builder.build()
    captions = [c.text for c in tree(builder.text("rest/index.html")).all("caption")]
    for words in ("1 worker, 100 connections", "4 workers, 100 connections"):
        assert any(caption.startswith("Throughput and p99") and words in caption for caption in captions)


def test_series_with_the_same_dimensions_are_not_ranked_together(builder: Builder) -> None:
    def split(run: Run, samples: list[Sample]) -> tuple[Run, list[Sample]]:
        cases = [
            case.model_copy(update={"series": "loops" if "rloop" in case.id else "all"}) for case in run.cases
        ]
        labels = run.labels | {"series": {"loops": "Loops", "all": "All servers"}}
        return run.model_copy(update={"cases": cases, "labels": labels}), samples

    write_run(builder.artifacts, "ref-series", servers=4, workloads=1, raw=False, mutate=split)
    pin(builder.artifacts, rest="ref-series")
    builder.build()
    captions = [c.text for c in tree(builder.text("rest/index.html")).all("caption")]
    assert any("Loops" in caption for caption in captions)
    assert any("All servers" in caption for caption in captions)


def test_two_pins_of_one_run_publish_it_once(builder: Builder) -> None:
    write_run(builder.artifacts, "ref-a", servers=2, workloads=1, raw=False)
    write_run(builder.artifacts, "ref-b", servers=2, workloads=1, raw=False, seed=7)
    pin(builder.artifacts, rest="ref-a", again="ref-a", other="ref-b")
    builder.build()
    table = table_of(builder.text("runs/index.html"), "Published runs")
    assert [row.all("td")[0].text for row in table.all("tbody")[0].all("tr")] == ["rest, again", "other"]


def test_labels_are_text_everywhere(builder: Builder) -> None:
    def evil(run: Run, samples: list[Sample]) -> tuple[Run, list[Sample]]:
        run, samples = flawed(run, samples)
        note = Note(code="<i>code</i>", message=EVIL)
        samples = [
            s.model_copy(
                update={
                    "flags": [note],
                    "reasons": [note] if s.reasons else [],
                    "commands": {"server": [EVIL]},
                }
            )
            for s in samples
        ]
        labels = {kind: {name: EVIL + name for name in names} for kind, names in run.labels.items()}
        update = {
            "title": EVIL,
            "labels": labels,
            "machine": {EVIL: EVIL, "cpu_model": EVIL},
            "warnings": [note],
        }
        return run.model_copy(update=update | {"packages": {EVIL: EVIL}, "command_line": [EVIL]}), samples

    write_run(builder.artifacts, "ref-evil", servers=4, mutate=evil)
    pin(builder.artifacts, rest="ref-evil")
    builder.build()
    shown = " ".join(EVIL.split())
    for path in html_files(builder.site):
        text = path.read_text("utf-8")
        assert "<script>window.pwned" not in text
        assert "<i>code" not in text
        document = tree(text)
        assert not [node for node in document.all("img") if node.attributes.get("src") == "x"]
        if path.parent.name in ("rest", "methodology", "ref-evil"):
            assert shown in document.text
            assert "49" not in re.findall(r"é漢 (\d+)", document.text)
    for page in ("rest/index.html", "runs/ref-evil/index.html"):
        for figure in figures_of(builder.site, page).values():
            del figure["about"]  # text, which the page's script escapes
            # Plotly reads tags in every text: only ours may be there.
            for tag in re.findall(r"<[^>]*>", json.dumps(figure, ensure_ascii=False).replace("\\u003c", "<")):
                assert tag in ("<b>", "</b>", "<br>")
    rows = list(
        csv.DictReader(io.StringIO((builder.site / "runs/ref-evil/summary.csv").read_bytes().decode()))
    )
    assert {row["server_label"] for row in rows} == {
        EVIL + name for name in ("granian", "granian-rloop", "aiohttp-asgi-rloop", "aiohttp-asgi-uvloop")
    }


# --- refusals ---------------------------------------------------------------------------------------


def broken(builder: Builder, what: str) -> str:
    """Damage the pinned run ``ref-run`` in that way, and give a pattern for what must be told."""
    folder = builder.artifacts / "ref-run"
    manifest, samples = folder / store.MANIFEST, folder / store.SAMPLES
    raw = next(path for path in sorted((folder / store.RAW).rglob("*")) if path.is_file())
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 5\n"
    if what == "folder":
        shutil.rmtree(folder)
        return r"pins\.toml: pin 'rest': no run 'ref-run'.*remove the pin"
    if what == "manifest":
        manifest.write_bytes(manifest.read_bytes()[:-40])
        return r"pin 'rest': .*ref-run/run\.json: .*\n  The manifest is damaged"
    if what == "manifest edited":
        manifest.write_text(manifest.read_text().replace("Synthetic run", "Another run"))
        return r"ref-run/run\.json is not the manifest that was pinned.*\n  Restore the run folder"
    if what == "version":
        manifest.write_text(
            manifest.read_text().replace(f'"schema_version": "{SCHEMA_VERSION}"', '"schema_version": "9.0"')
        )
        pin(builder.artifacts, rest="ref-run")
        return r"run\.json: schema_version is '9\.0'"
    if what == "samples pointer":
        samples.write_text(pointer)
        return r"ref-run/samples\.jsonl: a Git LFS pointer, not the file\n  Run `git lfs pull`"
    if what == "samples byte":
        samples.write_bytes(samples.read_bytes().replace(b'"accepted"', b'"rejected"', 1))
        return r"ref-run/samples\.jsonl: its SHA-256 is not the manifest's"
    if what == "samples torn":
        samples.write_bytes(samples.read_bytes()[:-30])
        return r"ref-run/samples\.jsonl, line \d+: .*Invalid JSON"
    if what == "samples missing":
        samples.unlink()
        return r"ref-run/samples\.jsonl: missing\n  Restore it"
    if what == "raw size":
        raw.write_bytes(raw.read_bytes() + b" ")
        return rf"{raw.name}: \d+ bytes, the manifest says \d+"
    if what == "raw byte":
        data = raw.read_bytes()
        raw.write_bytes(data[:-2] + bytes([data[-2] ^ 1]) + data[-1:])
        return rf"{raw.name}: its SHA-256 is not the manifest's\n  .*`lapsheet verify`"
    if what == "raw pointer":
        raw.write_text(pointer)
        return rf"{raw.name}: a Git LFS pointer, not the file\n  Run `git lfs pull`"
    if what == "raw missing":
        raw.unlink()
        return rf"{raw.name}: missing\n"
    if what == "incomplete":
        manifest.write_text(manifest.read_text().replace('"state": "complete"', '"state": "interrupted"'))
        pin(builder.artifacts, rest="ref-run")
        return r"pin 'rest': run 'ref-run' is interrupted, not complete\n  Complete it with `lapsheet run"
    if what == "path outside":
        document = json.loads(manifest.read_text())
        (builder.artifacts / "x").write_text("x")
        entry = {"path": "raw/../../x", "size": 1, "sha256": hashlib.sha256(b"x").hexdigest()}
        manifest.write_text(json.dumps(document | {"files": [*document["files"], entry]}))
        pin(builder.artifacts, rest="ref-run")
        return r"ref-run/run\.json: files\.\d+\.path: .*\n  The manifest is damaged"
    if what == "pins":
        (builder.artifacts / store.PINS).write_text("[rest\n")
        return r"pins\.toml: not valid TOML"
    raise AssertionError(what)


@pytest.mark.parametrize(
    "what",
    [
        *("folder", "manifest", "manifest edited", "version", "samples pointer", "samples byte"),
        *("samples torn", "samples missing", "raw size", "raw byte", "raw pointer", "raw missing"),
        *("incomplete", "path outside", "pins"),
    ],
)
def test_broken_pinned_run_fails_the_build(builder: Builder, what: str) -> None:
    write_run(builder.artifacts, "ref-run", servers=1, workloads=1, repeats=2)
    pin(builder.artifacts, rest="ref-run")
    pattern = broken(builder, what)
    with pytest.raises(BuildFailed) as caught:
        builder.build(pages={"index.md": "# Page\n"})
    assert re.search(pattern, str(caught.value), re.DOTALL), str(caught.value)


def test_broken_run_leaves_the_last_good_site(builder: Builder) -> None:
    write_run(builder.artifacts, "ref-run", servers=1, workloads=1, repeats=2)
    pin(builder.artifacts, rest="ref-run")
    builder.build(pages={"index.md": "# Page\n"})
    broken(builder, "samples byte")
    with pytest.raises(BuildFailed):
        builder.build(pages={"index.md": "# Page\n"})
    assert "Page" in builder.text("index.html")


@pytest.mark.parametrize("what", ["manifest", "samples pointer", "samples torn", "raw size"])
def test_broken_local_run_is_told_and_skipped(builder: Builder, what: str) -> None:
    write_run(builder.artifacts, "ref-run", servers=1, workloads=1, repeats=2)
    broken(builder, what)
    write_run(builder.artifacts, "rest-fine", servers=1, workloads=1, repeats=2)
    builder.build(local=True)
    text = tree(builder.text("runs/index.html")).text
    assert "Local runs that cannot be read ref-run :" in text
    assert str(builder.folder) not in text
    assert (builder.site / "runs" / "rest-fine" / "index.html").exists()
    assert not (builder.site / "runs" / "ref-run").exists()


def test_run_that_cannot_be_analysed_spoils_no_other(builder: Builder) -> None:
    def clash(run: Run, samples: list[Sample]) -> tuple[Run, list[Sample]]:
        cases = [
            Case.model_validate(c.model_dump() | {"dimensions": c.dimensions | {"tier": 1}})
            for c in run.cases
        ]
        return run.model_copy(update={"cases": cases}), samples

    write_run(builder.artifacts, "rest-clash", servers=1, workloads=1, repeats=2, mutate=clash)
    write_run(builder.artifacts, "rest-fine", servers=1, workloads=1, repeats=2)
    builder.build(local=True)
    assert "a dimension is named 'tier'" in tree(builder.text("runs/index.html")).text
    assert (builder.site / "runs" / "rest-fine" / "index.html").exists()


@pytest.mark.parametrize("value", ["perhaps", "2"])
def test_wrong_setting_is_named(tmp_path: Path, value: str) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "-q", "-d", str(tmp_path / "site")],
        env=os.environ | {"LAPSHEET_LOCAL": value, "NO_MKDOCS_2_WARNING": "1"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode != 0
    assert f"LAPSHEET_LOCAL) must be 0 or 1, not {value if value == '2' else repr(value)}" in result.stderr
    assert "Traceback" not in result.stderr


# --- rebuilding -------------------------------------------------------------------------------------


def test_unchanged_run_is_not_analysed_again(builder: Builder, monkeypatch: pytest.MonkeyPatch) -> None:
    write_run(builder.artifacts, "rest-a", servers=2, workloads=1, raw=False)
    builder.build(local=True)
    before = builder.text("runs/rest-a/index.html")

    def forbidden(runs: object) -> None:
        raise AssertionError("analysed again")

    with monkeypatch.context() as patch:
        patch.setattr(analysis, "summary", forbidden)
        builder.build(local=True)
    assert builder.text("runs/rest-a/index.html") == before


def test_changed_run_is_read_again(builder: Builder) -> None:
    write_run(builder.artifacts, "rest-a", servers=2, workloads=1, raw=False)
    builder.build(local=True)
    shutil.rmtree(builder.artifacts / "rest-a")
    write_run(builder.artifacts, "rest-a", servers=3, workloads=1, raw=False)
    builder.build(local=True)
    assert "3 servers" in tree(builder.text("runs/rest-a/index.html")).text
    assert len(loading._views) == 1


def test_summary_is_one_pass_for_all_runs(builder: Builder, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(4):
        write_run(builder.artifacts, f"rest-{seed}", servers=2, workloads=1, raw=False, seed=seed)
    calls = []
    real = analysis.summary
    monkeypatch.setattr(analysis, "summary", lambda runs: calls.append(1) or real(runs))
    builder.build(local=True)
    assert len(calls) == 1


# --- as a user runs it ------------------------------------------------------------------------------


def test_plain_strict_build_needs_no_server_package(builder: Builder) -> None:
    """The command as a user types it, with nothing of the capture stack imported."""
    code = (
        "import sys, runpy\n"
        f"sys.argv = ['mkdocs', 'build', '--strict', '-d', {str(builder.site)!r}]\n"
        "try:\n    runpy.run_module('mkdocs', run_name='__main__')\n"
        "except SystemExit as end:\n    assert not end.code, end.code\n"
        "names = 'fastapi starlette uvicorn granian aiohttp httpx k9 uvloop rloop hypercorn plotly'.split()\n"
        "print('IMPORTED', [name for name in names if name in sys.modules])\n"
    )
    environment = {key: value for key, value in os.environ.items() if key != "NO_MKDOCS_2_WARNING"}
    result = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    assert "IMPORTED []" in result.stdout
    assert (builder.site / "rest" / "index.html").exists()


def test_serve_shows_a_new_run_without_a_restart(builder: Builder) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = (builder.folder / "serve.log").open("w")
    server = subprocess.Popen(
        [sys.executable, "-m", "mkdocs", "serve", "-f", str(ROOT / "mkdocs.yml"), "-a", f"127.0.0.1:{port}"],
        env=os.environ | {"LAPSHEET_ARTIFACTS": str(builder.artifacts), "NO_MKDOCS_2_WARNING": "1"},
        stdout=log,
        stderr=log,
    )

    def fetch(path: str) -> bytes:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=30) as answer:
                return bytes(answer.read())
        except (urllib.error.URLError, OSError):
            return b""

    def wait(path: str, words: bytes) -> None:
        limit = time.monotonic() + 40
        while words not in fetch(path):
            assert server.poll() is None, "mkdocs serve ended"
            assert time.monotonic() < limit, (builder.folder / "serve.log").read_text()
            time.sleep(0.1)

    try:
        wait("", b"No run yet")
        write_run(builder.artifacts, "rest-new", servers=6, repeats=2)
        wait("", b"rest-new")
        wait("runs/rest-new/", b"Throughput")
        samples = (builder.artifacts / "rest-new" / store.SAMPLES).read_bytes()
        assert fetch("runs/rest-new/files/samples.jsonl") == samples
        half = builder.artifacts / "rest-half"
        half.mkdir()
        (half / store.MANIFEST).write_text('{"id": "rest-h')
        wait("", b"Local runs that cannot be read")
        assert b"rest-new" in fetch("")
        # What the pages claim, this repository's runs bear out.
        for run in (ROOT / "artifacts").glob("ref-*"):
            shutil.copytree(run, builder.artifacts / run.name)
        shutil.copy(ROOT / "artifacts" / store.PINS, builder.artifacts)
        wait("rest/", b"Every sample")
    finally:
        server.terminate()
        server.wait(30)
        log.close()
