"""The benchmarks of page loads see what they say, on pages of which it is known; and the server they use."""

from __future__ import annotations

import gzip
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from browsing import needs_chromium

from benchmarks import page_load
from benchmarks.serving import Answer, serve
from runner.errors import LapsheetError

FRAME = "<!doctype html><title>x</title><p>Text</p>{}<div class=md-footer></div>"
CHART = "<div class=ls-figure data-figure=one></div>"
LATE = (
    "<script>setTimeout(() => { document.querySelector('.ls-figure').innerHTML = "
    "'<svg width=99 height=99><rect width=99 height=99 /></svg>'; }, 900);</script>"
)
BUSY = (
    "<script>setTimeout(() => { const end = performance.now() + {};"
    " while (performance.now() < end); }, 200);</script>"
)


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The page that is measured instead of this project's site."""

    @contextmanager
    def site() -> Iterator[str]:
        with serve(tmp_path) as wire:
            yield wire.url

    monkeypatch.setattr(page_load, "_site", site)
    monkeypatch.setattr(page_load, "PAGES", {"One": ""})
    return tmp_path / "index.html"


@needs_chromium
def test_charts_that_come_late_are_late(page: Path) -> None:
    page.write_text(FRAME.format(CHART + LATE))
    late = page_load.charts_after_text(rounds=1)
    assert 0.5 < late.ratio < 30
    page.write_text(FRAME.format(CHART.replace("></", "><svg width=99 height=99></svg></")))
    assert page_load.charts_after_text(rounds=1).ratio < late.ratio


@needs_chromium
def test_blocking_is_what_tasks_take_over_50_ms(page: Path) -> None:
    page.write_text(FRAME.format(BUSY.replace("{}", "450")))
    # One task of 450 ms or, on a busy machine, a little more: 400 ms over.
    assert 400 / 300 - 0.01 <= page_load.blocking(rounds=1).ratio < 6
    page.write_text(FRAME.format(""))
    assert page_load.blocking(rounds=1).ratio < 1


def test_without_lighthouse_it_is_said(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_load, "LIGHTHOUSE", page.parent / "none.js")
    with pytest.raises(LapsheetError) as error:
        page_load.lighthouse_score(rounds=1)
    assert "npm --prefix bundle ci" in error.value.hint


# --- the server -------------------------------------------------------------------------------------


def test_text_is_sent_compressed_and_counted(tmp_path: Path) -> None:
    text = b"let a = 1;\n" * 1000
    (tmp_path / "a.js").write_bytes(text)
    (tmp_path / "b.png").write_bytes(text)
    with serve(tmp_path) as wire:
        with urllib.request.urlopen(wire.url + "a.js?x=1", timeout=10) as answer:
            body = answer.read()
            assert answer.headers["Content-Encoding"] == "gzip"
        with urllib.request.urlopen(wire.url + "b.png", timeout=10) as answer:
            assert answer.read() == text
    assert gzip.decompress(body) == text
    assert len(body) == len(gzip.compress(text, 6, mtime=0))
    assert wire.answers == [Answer("/a.js", 200, len(body)), Answer("/b.png", 200, len(text))]


def test_what_is_not_there_is_said_and_counted(tmp_path: Path) -> None:
    with serve(tmp_path) as wire:
        for name in ("gone.js", "../secret", "folder/"):
            with pytest.raises(urllib.error.HTTPError) as error:
                urllib.request.urlopen(wire.url + name, timeout=10)
            assert error.value.code == 404
    assert [answer.status for answer in wire.answers] == [404, 404, 404]
