"""MkDocs events to pages. Everything of substance is in the other modules of this package.

MkDocs loads this file under a name of its own and keeps it over the rebuilds of ``mkdocs serve``; the
modules it imports are the package's, so they and their caches are there once.
"""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page
from mkdocs.structure.toc import get_toc
from mkdocs.utils.templates import TemplateContext

from hooks import figures, pages, publish
from hooks.cache import NO_CACHE, Cache
from hooks.catalogue import Catalogue, Entry, read_catalogue
from hooks.context import root_of
from hooks.description import describe
from hooks.frame import CONTENT, Frames
from hooks.loading import analyse
from hooks.pages import RunPage
from hooks.placeholders import has_placeholder
from hooks.resolving import Resolved, resolve_page
from hooks.settings import read_settings
from hooks.trimming import optional, trim_styles
from runner.errors import LapsheetError

T = TypeVar("T")
log = logging.getLogger("mkdocs.hooks.lapsheet")


class Build:
    """What one build knows; made anew for each.

    ``figures`` are files of the site, path → content; ``pages`` the pages of runs that MkDocs has yet to
    write; ``classes`` the optional ones of `hooks.trimming` that pages have.
    """

    def __init__(self, catalogue: Catalogue, cache: Cache) -> None:
        self.catalogue = catalogue
        self.cache = cache
        self.runs: dict[str, Entry] = {}
        self.resolved: dict[str, Resolved] = {}
        self.figures: dict[str, bytes] = {}
        self.pages: dict[str, RunPage] = {}
        self.classes: set[str] = set()
        self.frames = Frames()


class _MadePage(Page):
    """A run's page, which is HTML from the start, so that no Markdown is set up for it."""

    def render(self, config: MkDocsConfig, files: Files) -> None:
        self.content = ""


_serving = False
_build = Build(Catalogue(""), NO_CACHE)


def on_startup(*, command: str, **_: Any) -> None:
    global _serving
    _serving = command == "serve"


def on_pre_build(*, config: MkDocsConfig) -> None:
    """Read the runs, before MkDocs empties the site: what is broken leaves the last good one in place."""
    global _build
    # A build makes a great many small objects with hardly a cycle among them, and the collector would walk
    # through them again and again.
    gc.disable()
    _build = _told(lambda: _read(config))


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add a page for each run."""
    wanting = []
    for entry in _build.catalogue.entries():
        uri = pages.SOURCE.format(entry.view.id)
        _build.runs[uri] = entry
        file = File.generated(config, uri, content=" ", inclusion=InclusionLevel.NOT_IN_NAV)
        files.append(file)
        _MadePage(None, file, config)  # which makes itself the file's
        if not pages.is_cached(_build.catalogue, entry, file.url, _build.cache):
            wanting.append(entry.view)
    analyse(wanting)
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Resolve the page's calls; a run's page has none, and is made when Markdown is done."""
    uri = page.file.src_uri
    if uri in _build.runs:
        page.meta.update(pages.META, title=_build.runs[uri].view.id)
        return ""
    if has_placeholder(markdown):
        raise PluginError(f"{uri}: contains U+E000 or U+E001: remove these private-use characters.")
    # Front matter was taken off the top, and a message must name the line of the file.
    first = page.file.content_string.count("\n") - markdown.count("\n") + 1
    made = _told(lambda: resolve_page(_build.catalogue, _build.cache, uri, page.url, markdown, first))
    _build.resolved[uri] = made
    return made.markdown


def on_page_content(html: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Fill in what the calls made, or the run's page."""
    uri = page.file.src_uri
    if uri in _build.runs:
        made = _told(lambda: pages.run_page(_build.catalogue, _build.runs[uri], page.url, _build.cache))
        page.toc = get_toc(made.headings)  # type: ignore[arg-type]
        if made.figures:
            _build.figures.update([made.figures])
        _build.pages[uri] = made
        page.meta.setdefault("description", describe(made.html))
        _build.frames.enter(page, made.contents)
        return CONTENT
    if any(has_placeholder(item.title) for item in _headings(page.toc)):
        raise PluginError(f"{uri}: a call stands in a heading. Give it a paragraph of its own.")
    resolved = _build.resolved[uri]
    html = _told(lambda: resolved.places.fill(html, uri))
    page.meta.setdefault("description", describe(html))
    if resolved.figures:
        _build.figures.update([resolved.figures])
        html += figures.source(resolved.figures[0], root_of(page.url))
    return html


def on_page_context(
    context: TemplateContext, *, page: Page, config: MkDocsConfig, nav: Navigation
) -> TemplateContext:
    """Let the first page of its kind become the frame of all."""
    made = _build.pages.get(page.file.src_uri)
    if made:
        context["page"] = _build.frames.seen(page, made.contents)
    return context


def on_post_page(output: str, *, page: Page, config: MkDocsConfig) -> str:
    """Put a run's page into its frame, past the plugins that would search and copy it."""
    made = _build.pages.pop(page.file.src_uri, None)
    if made:
        return _build.frames.fill(page, made.contents, output, made.html)
    _build.classes |= optional(output)
    return output


def on_post_build(*, config: MkDocsConfig) -> None:
    """Write figures, exports and copies of the runs' files; take from the theme's what no page has."""
    site = Path(config.site_dir)
    trim_styles(site, _build.classes, config.theme.get("features", []))
    _told(lambda: publish.write(_build.figures, _build.catalogue, site, _build.cache, serving=_serving))
    _build.cache.prune()
    gc.enable()


def on_build_error(*, error: Exception) -> None:
    """Leave the collector as it was, for `mkdocs serve` goes on."""
    gc.enable()


def _read(config: MkDocsConfig) -> Build:
    settings = read_settings(config.extra, config.config_file_path, serving=_serving)
    cache = Cache(settings.cache)
    catalogue = read_catalogue(settings, cache)
    for item in catalogue.unreadable:
        # Not a warning: a run that is being written must not fail a strict build. The page tells it too.
        log.info("Skipped local run %s: %s", item.id, item.error.message)
    return Build(catalogue, cache)


def _headings(toc: Any) -> list[Any]:
    return [found for item in toc for found in (item, *_headings(item.children))]


def _told(work: Callable[[], T]) -> T:
    """Run something; what a person must read comes out as MkDocs' own kind of error."""
    try:
        return work()
    except LapsheetError as error:
        raise PluginError(str(error)) from error
