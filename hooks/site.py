"""MkDocs events to pages. Everything of substance is in the other modules of this package.

MkDocs loads this file under a name of its own and keeps it over the rebuilds of ``mkdocs serve``; the
modules it imports are the package's, so they and their caches are there once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

from hooks import pages, publish
from hooks.calls import Calls
from hooks.catalogue import Catalogue, Entry, read_catalogue
from hooks.context import Outputs, PageContext
from hooks.placeholders import has_placeholder
from hooks.settings import read_settings
from hooks.template import resolve
from runner.errors import LapsheetError

T = TypeVar("T")
log = logging.getLogger("mkdocs.hooks.lapsheet")


class Build:
    """What one build knows; made anew for each."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self.outputs = Outputs()
        self.run_pages: dict[str, Entry] = {}
        self.calls: dict[str, Calls] = {}

    def page(self, page: Page) -> PageContext:
        return PageContext(self.catalogue, self.outputs, page.url)


_serving = False
_build = Build(Catalogue(""))


def on_startup(*, command: str, **_: Any) -> None:
    global _serving
    _serving = command == "serve"


def on_pre_build(*, config: MkDocsConfig) -> None:
    """Read the runs, before MkDocs empties the site: what is broken leaves the last good one in place."""
    global _build
    _build = Build(_told(lambda: _read(config)))


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add a page for each run."""
    for entry in _build.catalogue.entries():
        source = pages.SOURCE.format(entry.view.id)
        _build.run_pages[source] = entry
        files.append(File.generated(config, source, content=" ", inclusion=InclusionLevel.NOT_IN_NAV))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    source = page.file.src_uri
    context = _build.page(page)
    entry = _build.run_pages.get(source)
    if entry is not None:
        page.meta.update(pages.META, title=entry.view.id)
        text, _build.calls[source] = _told(lambda: pages.render(_build.outputs, context, entry))
        return text
    if has_placeholder(markdown):
        raise PluginError(f"{source}: contains U+E000 or U+E001: remove these private-use characters.")
    calls = _build.calls[source] = Calls(context)
    # Front matter was taken off the top, and a message must name the line of the file.
    first = page.file.content_string.count("\n") - markdown.count("\n") + 1
    return _told(lambda: resolve(markdown, calls.functions(), source, first))


def on_page_content(html: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    source = page.file.src_uri
    if any(has_placeholder(item.title) for item in _headings(page.toc)):
        raise PluginError(f"{source}: a call stands in a heading. Give it a paragraph of its own.")
    return _told(lambda: _build.calls[source].places.fill(html, source))


def on_post_build(*, config: MkDocsConfig) -> None:
    """Write figures, exports and copies of the runs' files."""

    def write() -> None:
        if any(path.startswith("figures/") for path in _build.outputs.contents):
            publish.add_plotly(_build.outputs)
        publish.write(_build.outputs, _build.catalogue, Path(config.site_dir), serving=_serving)

    _told(write)


def _read(config: MkDocsConfig) -> Catalogue:
    settings = read_settings(config.extra, config.config_file_path, serving=_serving)
    catalogue = read_catalogue(settings)
    for item in catalogue.unreadable:
        # Not a warning: a run that is being written must not fail a strict build. The page tells it too.
        log.info("Skipped local run %s: %s", item.id, item.error.message)
    return catalogue


def _headings(toc: Any) -> list[Any]:
    return [found for item in toc for found in (item, *_headings(item.children))]


def _told(work: Callable[[], T]) -> T:
    """Run something; what a person must read comes out as MkDocs' own kind of error."""
    try:
        return work()
    except LapsheetError as error:
        raise PluginError(str(error)) from error
