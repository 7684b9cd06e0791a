"""The evidence behind a run's figures as one script, which a receipt loads when a reader asks for it.

A script tag, unlike fetch, also works from ``file://``. Manifest and samples are JSON on disk already, so
their bytes go in as they are: nothing is parsed again, whatever the number of samples.
"""

from __future__ import annotations

from dataclasses import asdict

import orjson

from hooks.view import View
from runner import store
from runner.errors import ArtifactError
from runner.metrics import METRICS

# What a receipt shows of a row of `runner.analysis.summary`.
_COLUMNS = ["case", "metric", "n", "wanted", "median", "low", "high", "floor", "band", "tier", "untiered"]


def about_figures(view: View) -> bytes:
    """What a receipt needs beside manifest and samples, as JSON.

    It has the ``manifest`` file's entry (path, size, SHA-256), ``rows`` (column → values of the summary) and
    ``metrics`` (key → fields of `runner.metrics.Metric`, and as ``small`` what is said of a figure below its
    resolution).
    """
    about = {
        "manifest": {"path": store.MANIFEST, "size": view.manifest_size, "sha256": view.manifest_sha256},
        "rows": {name: view.columns.get(name, []) for name in _COLUMNS},
        "metrics": {key: asdict(METRICS[key]) | {"small": METRICS[key].too_small} for key in view.metrics},
    }
    return orjson.dumps(about)


def receipts_script(view: View, about: bytes) -> bytes:
    """``lapsheetReceipts(id, manifest, [sample, …], about);``, for `hooks.addresses.receipts`.

    ``about`` is as of `about_figures`. Raises ArtifactError if a file went away since the run was read.
    """
    samples = view.folder / store.SAMPLES
    try:
        manifest = (view.folder / store.MANIFEST).read_bytes()
        lines = samples.read_bytes().splitlines() if view.head.taken else []
    except OSError as error:
        raise ArtifactError(f"{error.filename}: {error.strerror}", "Build the site again.") from None
    # A capture that goes on may have written more since, and half a line at the end.
    del lines[view.head.taken :]
    head = b"lapsheetReceipts(" + orjson.dumps(view.id) + b", "
    return b"".join([head, manifest, b", [\n", b",\n".join(lines), b"], ", about, b");\n"])
