"""What tests need of the npm packages in bundle/: where they are, and the reason where they are not."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BUNDLE = ROOT / "bundle"
NODE = shutil.which("node")
AXE = BUNDLE / "node_modules" / "axe-core" / "axe.min.js"
LIGHTHOUSE = BUNDLE / "node_modules" / "lighthouse" / "cli" / "index.js"
PLOTLY = BUNDLE / "dist" / "plotly.min.js"

_INSTALL = "`npm --prefix bundle ci && npm --prefix bundle run build` brings it"
needs_axe = pytest.mark.skipif(not AXE.is_file(), reason=f"axe-core is not there: {_INSTALL}")
needs_bundle = pytest.mark.skipif(not PLOTLY.is_file(), reason=f"the bundle was not built: {_INSTALL}")
needs_lighthouse = pytest.mark.skipif(
    NODE is None or not LIGHTHOUSE.is_file(), reason=f"Node or Lighthouse is not there: {_INSTALL}"
)
