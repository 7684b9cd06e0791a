"""Plotly of the site's own traces: pinned, as the Python package has it, and chosen where it was built."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import plotly
import pytest
from browsing import needs_chromium
from node import BUNDLE, PLOTLY, ROOT, needs_bundle

from hooks.publish import BUILD, plotly_script
from runner.errors import LapsheetError

WHOLE = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"


def package() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((BUNDLE / "package.json").read_text("utf-8"))
    return found


def packages_of_the_lock() -> dict[str, dict[str, Any]]:
    """Path below bundle/ → what the lock has for it; that of the bundle itself left out."""
    lock = json.loads((BUNDLE / "package-lock.json").read_text("utf-8"))
    assert lock["packages"].pop("")["dependencies"] == package()["dependencies"]
    return dict(lock["packages"])


# --- package.json and its lock ----------------------------------------------------------------------


def test_every_package_is_pinned_and_locked() -> None:
    locked = packages_of_the_lock()
    pinned = package()["dependencies"] | package()["devDependencies"]
    assert pinned.keys() == {"plotly.js", "esbuild", "axe-core", "lighthouse"}
    for name, version in pinned.items():
        assert re.fullmatch(r"\d+\.\d+\.\d+", version), name
        assert locked[f"node_modules/{name}"]["version"] == version


def test_lock_has_every_hash_and_no_address() -> None:
    locked = packages_of_the_lock()
    assert len(locked) > 100
    for name, entry in locked.items():
        assert entry["integrity"].startswith("sha512-"), name
        assert "resolved" not in entry, name
    # Without addresses npm asks what "latest" is, and a lock of yesterday no longer fits.
    asked = [entry.get("dependencies", {}) for entry in locked.values()]
    named = {name for each in asked for name, version in each.items() if version == "latest"}
    held = {name for each in package()["overrides"].values() for name in each}
    assert named == held
    assert "omit-lockfile-registry-resolved=true" in (BUNDLE / ".npmrc").read_text("utf-8").splitlines()


def test_bundle_has_the_version_of_the_python_package() -> None:
    version = package()["dependencies"]["plotly.js"]
    assert f"* plotly.js v{version}\n" in WHOLE.read_text("utf-8")[:200]


def test_contributing_has_the_commands() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    assert BUILD in text
    assert "npm --prefix bundle ci && npm --prefix bundle run build" in text
    assert "npm --prefix bundle ci" in (ROOT / ".ci" / "run").read_text("utf-8")


# --- which one a site gets --------------------------------------------------------------------------


def test_without_a_bundle_the_site_has_the_python_packages_own(tmp_path: Path) -> None:
    assert plotly_script(tmp_path / "none.js") == WHOLE


def test_a_bundle_of_the_same_version_is_taken(tmp_path: Path) -> None:
    built = tmp_path / "plotly.min.js"
    built.write_text(f"/* plotly.js v{package()['dependencies']['plotly.js']} (scatter) */\n")
    assert plotly_script(built) == built


@pytest.mark.parametrize(
    ("start", "told"),
    [
        ("/* plotly.js v3.7.0 (scatter) */", "Plotly 3.7.0, where the Python package has 4."),
        ("var Plotly = 1;", "Plotly of no known version, where"),
        ("", "Plotly of no known version, where"),
    ],
)
def test_a_stale_bundle_is_refused_with_the_command_that_mends_it(
    tmp_path: Path, start: str, told: str
) -> None:
    built = tmp_path / "plotly.min.js"
    built.write_text(start)
    with pytest.raises(LapsheetError) as error:
        plotly_script(built)
    assert str(built) in error.value.message
    assert told in error.value.message
    assert BUILD in error.value.hint


# --- what was built ---------------------------------------------------------------------------------


@needs_bundle
def test_bundle_is_small_and_asks_nobody() -> None:
    data = PLOTLY.read_bytes()
    assert len(gzip.compress(data, 6)) < 400_000
    # No text is run as code, which a strict content security policy would refuse; and there is no map.
    assert not re.search(rb"\beval\(|new Function\b", data)
    assert not re.search(rb"maplibregl|mapboxgl", data)
    assert plotly_script() == PLOTLY


@needs_bundle
@needs_chromium
def test_bundle_has_the_traces_and_no_other(chromium: Any) -> None:
    page = chromium.new_page()
    page.set_content("<div id=box style='width:600px;height:400px'></div>")
    page.add_script_tag(path=str(PLOTLY))
    assert page.evaluate("Plotly.version") == package()["dependencies"]["plotly.js"]
    traces = page.evaluate("Object.keys(Plotly.PlotSchema.get().traces).sort()")
    assert traces == ["bar", "box", "heatmap", "scatter", "table"]
    drawn = page.evaluate(
        """async () => {
            const data = [{type: 'bar', y: [1, 2]}, {type: 'box', y: [1, 2, 5]}, {y: [2, 3]},
                {type: 'heatmap', z: [[1, 2], [3, 4]], xaxis: 'x2', yaxis: 'y2'}];
            const layout = {xaxis: {domain: [0, 0.4]}, xaxis2: {domain: [0.6, 1]}, yaxis2: {anchor: 'x2'},
                shapes: [{type: 'rect', x0: 0, x1: 1, y0: 1, y1: 2}]};
            await Plotly.newPlot('box', data, layout);
            const found = ['.barlayer .point', '.boxlayer path.box', '.scatterlayer .point',
                '.heatmaplayer image', '.shapelayer path'].map(q => document.querySelectorAll(q).length);
            const svg = decodeURIComponent(await Plotly.toImage('box', {format: 'svg'}));
            const cells = {values: [['b', 'c']]};
            await Plotly.newPlot('box', [{type: 'table', header: {values: ['a']}, cells}]);
            return [found, svg.includes('<svg'), document.querySelectorAll('.column-cell').length];
        }"""
    )
    assert drawn == [[2, 1, 2, 1, 1], True, 3]
    page.close()
