"""A run's files: what can be downloaded, with size and SHA-256."""

from __future__ import annotations

from hooks.addresses import evidence, folder
from hooks.catalogue import Entry
from hooks.context import PageContext
from hooks.exports import names
from hooks.markup import details, escape, row, table
from hooks.view import View
from runner import store


def files_of(view: View) -> list[tuple[str, int, str]]:
    """Path, size and SHA-256 of the manifest and of the files it lists.

    None of a run that is not complete, whose list is not made yet.
    """
    if view.head.state != "complete":
        return []
    return [(store.MANIFEST, view.manifest_size, view.manifest_sha256), *view.head.files]


def export_links(page: PageContext, entry: Entry) -> str:
    """The summary and all samples, in each of the formats that the run has."""
    links = [page.link(folder(entry.view) + name, escape(name), " download") for name in names(entry)]
    return f'<p class="ls-note">Download: {" · ".join(links)}</p>'


def downloads_block(page: PageContext, entry: Entry) -> str:
    """The exports, then every file of the run."""
    view = entry.view
    items = "".join(
        f"<li>{page.link(folder(view) + name, escape(name), ' download')}: {escape(text)}</li>"
        for name, text in names(entry).items()
    )
    exports = f"<p>Derived from the files below when this site was built:</p><ul>{items}</ul>"
    files = files_of(view)
    if not files:
        return f"{exports}<p>The run is {view.run.state}: its files are listed when it is complete.</p>"
    total = sum(size for _, size, _ in files)
    made = "transcribed" if view.run.origin == "published" else "captured"
    summary = f"{len(files):,} files, {size(total)}, as {made}"
    return exports + details(summary, _table(page, view, files))


def _table(page: PageContext, view: View, files: list[tuple[str, int, str]]) -> str:
    root = escape(page.root + evidence(view))
    # Paths and hashes are safe as they are: the model allows nothing that HTML would have to escape.
    rows = (
        row(
            f'<a href="{root}{path}" download>{path}</a>',
            f"{count:,}",
            f"<code>{sha256}</code>",
        )
        for path, count, sha256 in files
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
