"""Writing the files of the site that are no pages, at the end of a build."""

from __future__ import annotations

import hashlib
import importlib.util
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from hooks.addresses import evidence, folder, receipts
from hooks.cache import Cache
from hooks.catalogue import Catalogue, Entry
from hooks.downloads import files_of
from hooks.exports import export, names
from hooks.figures import PLOTLY
from hooks.receipts import about_figures, receipts_script
from runner.errors import ArtifactError, LapsheetError

# Plotly with only the traces that the site draws, and the command that builds it.
BUNDLE = Path(__file__).parent.parent / "bundle" / "dist" / "plotly.min.js"
BUILD = "npm --prefix bundle ci --omit=dev && npm --prefix bundle run build"
_CHUNK = 1 << 20


def write(
    figures: Mapping[str, bytes], catalogue: Catalogue, site: Path, cache: Cache, *, serving: bool
) -> None:
    """Write below ``site``: figures (path → content) with Plotly, and of each run exports,
    receipts and its own files.

    A published run's files are copied, and each hash is checked on the way, so that no page can show one
    hash and offer another file: raises ArtifactError naming it. A local run's folder is only linked to,
    and while ``serving`` so is every run's, because MkDocs then empties the site at every change.
    """
    for path, content in figures.items():
        _place(site / path).write_bytes(content)
    if figures:
        shutil.copyfile(plotly_script(), _place(site / PLOTLY))
    for entry in catalogue.entries():
        view = entry.view
        for path, content in _derived(entry, cache).items():
            (site / path).write_bytes(content)
        target = site / evidence(view)
        if serving or entry.local:
            target.symlink_to(view.folder.absolute(), target_is_directory=True)
        else:
            for path, size, sha256 in files_of(view):
                _copy(view.folder / path, _place(target / path), size, sha256)


def _derived(entry: Entry, cache: Cache) -> dict[str, bytes]:
    """A run's exports and receipts: path from the site's root → content."""
    view, wanted = entry.view, names(entry)
    key = f"{view.key} {' '.join(wanted)}"
    contents = cache.get("files", key)
    if contents is None:
        contents = [*export(view, wanted).values(), about_figures(view)]
        cache.put("files", key, contents)
    paths = [*(folder(view) + name for name in wanted), receipts(view)]
    # The manifest and samples that the script repeats are at hand, and would be most of what is cached.
    return dict(zip(paths, [*contents[:-1], receipts_script(view, contents[-1])], strict=True))


def _place(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def plotly_script(bundle: Path = BUNDLE) -> Path:
    """Plotly for the site: ``bundle`` where it was built, or else the Python package's own, thrice as large.

    The package itself is never imported: it is slow to. Raises LapsheetError if it is not there, or if the
    bundle is of another version, which would draw what was never looked at.
    """
    spec = importlib.util.find_spec("plotly")
    package = Path(spec.origin).parent if spec and spec.origin else None
    whole = package / "package_data" / "plotly.min.js" if package else None
    if whole is None or not whole.is_file():
        raise LapsheetError("plotly is not installed, or has no plotly.min.js", "Run `uv sync`.")
    if not bundle.is_file():
        return whole
    wanted, built = _plotly_version(whole), _plotly_version(bundle)
    if built != wanted:
        raise LapsheetError(
            f"{bundle}: Plotly {built or 'of no known version'}, where the Python package has {wanted}",
            f"Run `{BUILD}`, or delete the file.",
        )
    return bundle


def _plotly_version(script: Path) -> str | None:
    with script.open("rb") as file:
        found = re.search(rb"plotly\.js v([0-9][0-9.]*)", file.read(200))
    return found[1].decode() if found else None


def _copy(source: Path, target: Path, size: int, sha256: str) -> None:
    digest, count = hashlib.sha256(), 0
    try:
        with source.open("rb") as reader, target.open("wb") as writer:
            while chunk := reader.read(_CHUNK):
                digest.update(chunk)
                count += len(chunk)
                writer.write(chunk)
    except OSError as error:
        raise ArtifactError(f"{error.filename or source}: {error.strerror}") from None
    if (count, digest.hexdigest()) != (size, sha256):
        target.unlink(missing_ok=True)
        raise ArtifactError(
            f"{source}: its SHA-256 is not the manifest's",
            "The file was altered after its capture; restore it (`lapsheet verify` names all of them).",
        )
