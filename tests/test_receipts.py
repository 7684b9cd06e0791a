"""The script that brings a run's evidence to its receipts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sites import EVIL, Builder, page_data, pin

from benchmarks.synthetic import flawed, write_run
from hooks.addresses import receipts
from hooks.catalogue import Catalogue
from hooks.context import PageContext
from hooks.loading import load
from hooks.receipts import about_figures, receipts_script
from hooks.view import View
from runner import store
from runner.errors import ArtifactError
from runner.model import Run, Sample


def view_of(artifacts: Path, run_id: str) -> View:
    view = load(artifacts, [run_id])[run_id]
    assert isinstance(view, View), view
    return view


def script_of(view: View) -> bytes:
    return receipts_script(view, about_figures(view))


def arguments(script: bytes) -> list[Any]:
    """The arguments of the one call: id, manifest, samples, about."""
    text = script.decode()
    assert text.startswith("lapsheetReceipts(")
    assert text.endswith(");\n")
    found: list[Any] = json.loads("[" + text.removeprefix("lapsheetReceipts(").removesuffix(");\n") + "]")
    return found


def test_script_is_manifest_and_samples_as_they_are_on_disk(tmp_path: Path) -> None:
    stored = write_run(tmp_path, "rest-1", servers=4, mutate=flawed)
    script = script_of(view_of(tmp_path, "rest-1"))
    run_id, manifest, samples, about = arguments(script)
    assert run_id == "rest-1"
    assert Run.model_validate(manifest) == stored.run
    assert [Sample.model_validate(sample) for sample in samples] == stored.samples
    raw = stored.folder / store.MANIFEST
    assert about["manifest"] == {
        "path": "run.json",
        "size": raw.stat().st_size,
        "sha256": store.sha256_file(raw),
    }
    assert raw.read_bytes() in script
    for line in (stored.folder / store.SAMPLES).read_bytes().splitlines():
        assert line in script


def test_script_has_what_the_summary_says_of_each_figure(tmp_path: Path) -> None:
    write_run(tmp_path, "rest-1", servers=4, mutate=flawed)
    about = arguments(script_of(view_of(tmp_path, "rest-1")))[3]
    rows = [dict(zip(about["rows"], row, strict=True)) for row in zip(*about["rows"].values(), strict=True)]
    throughput = {row["case"]: row for row in rows if row["metric"] == "rps"}
    floor, noisy, shaky, broken = (
        throughput[f"{server}/get_item/w1/c100"]
        for server in ("granian", "granian-rloop", "aiohttp-asgi-rloop", "aiohttp-asgi-uvloop")
    )
    assert (floor["floor"], floor["n"], floor["tier"]) == (True, 5, None)
    assert (noisy["floor"], noisy["n"], noisy["untiered"]) == (False, 5, "")
    assert shaky["untiered"] == "2 of 5 samples failed"
    assert (broken["n"], broken["median"], broken["low"]) == (0, None, None)
    assert about["metrics"]["p99"]["label"] == "p99 latency"
    assert about["metrics"]["p99"]["scale"] == 1000
    assert about["metrics"]["p99"]["small"] == ""


def test_torn_last_line_and_later_samples_are_left_out(tmp_path: Path) -> None:
    """A capture writes on while the site is built: the script holds what the pages were made of."""
    stored = write_run(tmp_path, "rest-1", servers=2, repeats=2)
    view = view_of(tmp_path, "rest-1")
    before = script_of(view)
    with (stored.folder / store.SAMPLES).open("ab") as file:
        file.write(stored.samples[0].model_dump_json().encode() + b"\n" + b'{"case":"granian/get_it')
    assert script_of(view) == before


def test_file_that_went_away_is_named(tmp_path: Path) -> None:
    stored = write_run(tmp_path, "rest-1", servers=2, repeats=2)
    view = view_of(tmp_path, "rest-1")
    (stored.folder / store.SAMPLES).unlink()
    with pytest.raises(ArtifactError, match=r"samples\.jsonl: No such file"):
        script_of(view)


def test_run_without_samples(tmp_path: Path) -> None:
    def begun(run: Run, samples: list[Sample]) -> tuple[Run, list[Sample]]:
        return run.model_copy(update={"state": "running"}), []

    stored = write_run(tmp_path, "rest-1", servers=2, mutate=begun)
    (stored.folder / store.SAMPLES).unlink()
    manifest = json.loads((stored.folder / store.MANIFEST).read_text())
    del manifest["files"]
    (stored.folder / store.MANIFEST).write_text(json.dumps(manifest))
    _, manifest, samples, about = arguments(script_of(view_of(tmp_path, "rest-1")))
    assert manifest["state"] == "running"
    assert samples == []
    assert set(about["rows"]) >= {"case", "metric", "median"}


def test_text_of_every_kind_survives(tmp_path: Path) -> None:
    """U+2028 and U+2029 end a line of old scripts, and `</script>` would end an inline one."""
    text = EVIL + "\u2028\u2029</script>\\"

    def labelled(run: Run, samples: list[Sample]) -> tuple[Run, list[Sample]]:
        return run.model_copy(update={"title": text, "labels": {"server": {"granian": text}}}), samples

    write_run(tmp_path, "rest-1", servers=2, repeats=2, mutate=labelled)
    manifest = arguments(script_of(view_of(tmp_path, "rest-1")))[1]
    assert manifest["title"] == text
    assert manifest["labels"]["server"]["granian"] == text


def test_name_follows_the_content(tmp_path: Path) -> None:
    stored = write_run(tmp_path, "rest-1", servers=2, repeats=2)
    first = receipts(view_of(tmp_path, "rest-1"))
    assert first == receipts(view_of(tmp_path, "rest-1"))
    assert first.startswith("runs/rest-1/receipts-")
    manifest = stored.folder / store.MANIFEST
    manifest.write_bytes(manifest.read_bytes() + b"\n")
    assert receipts(view_of(tmp_path, "rest-1")) != first


def test_page_tells_its_scripts_of_a_run_once(tmp_path: Path) -> None:
    write_run(tmp_path, "rest-1", servers=2, repeats=2)
    view = view_of(tmp_path, "rest-1")
    page = PageContext(Catalogue(str(tmp_path)), "rest/")
    page.about(view)["frame"] = "of a table"
    assert page.about(view) == {
        "id": "rest-1",
        "created": "2026-01-01",
        "manifest": store.sha256_file(tmp_path / "rest-1" / store.MANIFEST),
        "url": "runs/rest-1/",
        "files": "runs/rest-1/files/",
        "receipts": receipts(view),
        "frame": "of a table",
    }
    assert list(page.data.runs) == ["rest-1"]


def test_built_site_has_the_script_where_its_pages_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    builder = Builder(tmp_path, monkeypatch)
    write_run(builder.artifacts, "rest-1", servers=4)
    write_run(builder.artifacts, "local-1", servers=2)
    pin(builder.artifacts, rest="rest-1")
    site = builder.build(local=True, pages={"index.md": '# Page\n\n{{ table("rest") }}\n'})
    for page, run_id in (
        ("index.html", "rest-1"),
        ("runs/rest-1/index.html", "rest-1"),
        ("runs/local-1/index.html", "local-1"),
    ):
        run = page_data(site, page)["runs"][run_id]
        found = arguments((site / run["receipts"]).read_bytes())
        assert found[0] == run_id
        assert (site / run["files"] / "samples.jsonl").is_file()
        assert len(found[2]) == len((site / run["files"] / "samples.jsonl").read_bytes().splitlines())
