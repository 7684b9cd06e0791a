"""What is taken from Material's stylesheet, and that no page misses it."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import material
import pytest
from sites import ROOT, Builder

from hooks.trimming import OPTIONAL, optional, trim, trim_styles

ALL = frozenset(OPTIONAL)
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
    assert trim(css, ALL) == left


def test_material_is_lighter_and_whole() -> None:
    before = STYLES.read_text("utf-8")
    after = trim(before, ALL)
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
    assert trim(after, ALL) == after


def test_no_page_has_a_class_whose_rules_are_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    builder = Builder(tmp_path, monkeypatch)
    builder.artifacts = ROOT / "artifacts"
    site = builder.build(local=False)
    (styles,) = (site / "assets" / "stylesheets").glob("main.*.min.css")
    assert styles.read_text("utf-8") == trim(STYLES.read_text("utf-8"), ALL)
    pages = list(site.rglob("*.html"))
    assert len(pages) > 20
    classes = {
        name
        for page in pages
        for value in re.findall(r'\sclass="([^"]*)"', page.read_text("utf-8"))
        for name in value.split()
    }
    assert "md-grid" in classes
    assert sorted(name for name in classes if name.startswith(OPTIONAL)) == []


def test_what_a_page_has_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    builder = Builder(tmp_path, monkeypatch)
    builder.build(
        pages={"index.md": "# A\n\n<div class='grid cards' markdown>\n\n- one\n\n</div>\n\n{{ runs() }}\n"}
    )
    (styles,) = (builder.site / "assets" / "stylesheets").glob("main.*.min.css")
    css = styles.read_text("utf-8")
    assert css == trim(STYLES.read_text("utf-8"), ALL - {"grid", "card"})
    assert ".md-typeset .grid" in css


def test_classes_are_found_by_how_they_begin() -> None:
    assert optional('<p class="a admonition-title"><b class="md-grid md-code__x">') == {
        "admonition",
        "md-code",
    }
    assert optional("<p>admonition</p>") == set()


def test_features_that_act_in_the_browser_keep_their_classes(tmp_path: Path) -> None:
    folder = tmp_path / "assets" / "stylesheets"
    folder.mkdir(parents=True)
    for features, kept in ((["content.code.copy"], True), (["navigation.tabs"], False)):
        (folder / "main.1.min.css").write_text(".md-code__button{x:y}.md-grid{x:y}", "utf-8")
        trim_styles(tmp_path, set(), features)
        assert (".md-code__button" in (folder / "main.1.min.css").read_text("utf-8")) is kept
