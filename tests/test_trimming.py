"""What is taken from Material's stylesheet, and that no page misses it."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import material
import pytest
from sites import ROOT, Builder

from hooks.trimming import UNUSED, trim

(STYLES,) = (Path(material.__file__).parent / "templates" / "assets" / "stylesheets").glob("main.*.min.css")


@pytest.mark.parametrize(
    ("css", "left"),
    [
        (".a{x:y}.admonition{x:y}", ".a{x:y}"),
        (".a,.admonition{x:y}", ".a,.admonition{x:y}"),
        (".b .admonition,.md-tag:hover{x:y}.c{}", ".c{}"),
        (".a:not(.admonition){x:y}", ".a:not(.admonition){x:y}"),
        (".a:is(.b,.keys:not(.c)){x:y}", ".a:is(.b,.keys:not(.c)){x:y}"),
        ("@media print{.tabbed-set{x:y}}.a{x:y}", ".a{x:y}"),
        ("@media print{.tabbed-set{x:y}.a{x:y}}", "@media print{.a{x:y}}"),
        ('@charset "UTF-8";html{x:y}.hll{x:y}', '@charset "UTF-8";html{x:y}'),
        (':root{--md-tag-icon:url("data:x;y");--md-a:1}', ":root{--md-a:1}"),
        (".md-grid{x:y}.grid{x:y}", ".md-grid{x:y}"),
        ("@keyframes k{from{x:y}to{x:z}}", "@keyframes k{from{x:y}to{x:z}}"),
        ("not css {", "not css {"),
        ("", ""),
    ],
)
def test_rules_of_unused_classes_alone_go(css: str, left: str) -> None:
    assert trim(css) == left


def test_material_is_lighter_and_whole() -> None:
    before = STYLES.read_text("utf-8")
    after = trim(before)
    assert len(gzip.compress(after.encode(), 6)) < 0.65 * len(gzip.compress(before.encode(), 6))
    assert after.count("{") == after.count("}")
    for kept in (
        ".md-header",
        ".md-search",
        ".md-nav",
        ".md-typeset table",
        ".md-typeset details",
        ".md-tabs",
    ):
        assert kept in after
    assert trim(after) == after


def test_no_page_has_a_class_whose_rules_are_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    builder = Builder(tmp_path, monkeypatch)
    builder.artifacts = ROOT / "artifacts"
    site = builder.build(local=False)
    (styles,) = (site / "assets" / "stylesheets").glob("main.*.min.css")
    assert styles.read_text("utf-8") == trim(STYLES.read_text("utf-8"))
    pages = list(site.rglob("*.html"))
    assert len(pages) > 20
    classes = {
        name
        for page in pages
        for value in re.findall(r'\sclass="([^"]*)"', page.read_text("utf-8"))
        for name in value.split()
    }
    assert "md-grid" in classes
    assert sorted(name for name in classes if name.startswith(UNUSED)) == []
