"""A run's files: what can be downloaded, with size and SHA-256."""

from __future__ import annotations

from hooks.addresses import evidence, folder
from hooks.catalogue import Entry
from hooks.context import PageContext
from hooks.exports import NAMES
from hooks.markup import details, escape, row, table
from hooks.view import View
from runner import store
from runner.model import FileEntry


def files_of(view: View) -> list[FileEntry]:
    """The manifest and the files it lists; none of a run that is not complete, whose list is not made yet."""
    if view.run.state != "complete":
        return []
    manifest = FileEntry(path=store.MANIFEST, size=view.manifest_size, sha256=view.manifest_sha256)
    return [manifest, *view.run.files]


def export_links(page: PageContext, entry: Entry) -> str:
    """CSV and JSON of the summary and of all samples."""
    links = [page.link(folder(entry.view) + name, escape(name), " download") for name in NAMES]
    return f'<p class="ls-note">Download: {" · ".join(links)}</p>'


def downloads_block(page: PageContext, entry: Entry) -> str:
    """The exports, then every file of the run."""
    view = entry.view
    items = "".join(
        f"<li>{page.link(folder(view) + name, escape(name), ' download')}: {escape(text)}</li>"
        for name, text in NAMES.items()
    )
    exports = f"<p>Derived from the files below when this site was built:</p><ul>{items}</ul>"
    files = files_of(view)
    if not files:
        return f"{exports}<p>The run is {view.run.state}: its files are listed when it is complete.</p>"
    total = sum(entry.size for entry in files)
    made = "transcribed" if view.run.origin == "published" else "captured"
    summary = f"{len(files):,} files, {size(total)}, as {made}"
    return exports + details(summary, _table(page, view, files))


def _table(page: PageContext, view: View, files: list[FileEntry]) -> str:
    root = escape(page.root + evidence(view))
    # Paths and hashes are safe as they are: the model allows nothing that HTML would have to escape.
    rows = (
        row(
            f'<a href="{root}{entry.path}" download>{entry.path}</a>',
            f"{entry.size:,}",
            f"<code>{entry.sha256}</code>",
        )
        for entry in files
    )
    return table(f"Files of run {view.id}", ["File", "Bytes", "SHA-256"], rows, "ls-files")


def size(count: int) -> str:
    """A size for reading: ``1.2 MB`` (powers of ten)."""
    value = float(count)
    for unit in ("bytes", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"
