"""A page for each run, generated: table, charts, method and files.

It is made as HTML at once, because turning its headings through Markdown would cost more than making it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from hooks.blocks import table_block
from hooks.cache import Cache
from hooks.catalogue import Catalogue, Entry, entry_key
from hooks.chart_blocks import chart_block
from hooks.context import PageContext
from hooks.controls import headroom_block
from hooks.downloads import downloads_block, export_links
from hooks.environment import summary_line, title_of
from hooks.figures import script, source
from hooks.findings import findings_block
from hooks.grid import grids
from hooks.ladders import is_ladder, ladder_block
from hooks.listing import banner, dated
from hooks.markup import escape, sentence
from hooks.methodology import sections
from hooks.published import published_sections

SOURCE = "runs/{}/index.md"
METRICS = ("rps", "p99")
_CACHED = "page"
PROBE_METRICS = ("probe_headers_p50", "probe_headers_p99", "probe_gap_p50")
# They would make the index that every page loads grow with every run.
META: Mapping[str, Any] = {"search": {"exclude": True}, "hide": ["navigation", "toc"]}

Heading = dict[str, Any]
"""An entry of the table of contents, as MkDocs takes it: level, id, name, children."""


@dataclass(frozen=True)
class RunPage:
    """A page's HTML, its headings, and its file of figures (path from the site's root, content)."""

    html: str
    headings: list[Heading]
    figures: tuple[str, bytes] | None

    @property
    def contents(self) -> tuple[tuple[str, str], ...]:
        """What its list of contents shows."""
        return tuple((heading["id"], heading["name"]) for heading in self.headings)


def run_page(catalogue: Catalogue, entry: Entry, url: str, cache: Cache) -> RunPage:
    """The page of a run at that address, from the cache where it is there."""
    key = _key(catalogue, entry, url)
    parts = cache.get(_CACHED, key)
    if parts is not None:
        html, headings, path, content = parts
        figures = (path.decode(), content) if path else None
        return RunPage(html.decode(), orjson.loads(headings), figures)
    page = _render(PageContext(catalogue, url), entry)
    entry.view.forget()
    script, content = page.figures or ("", b"")
    cache.put(_CACHED, key, [page.html.encode(), orjson.dumps(page.headings), script.encode(), content])
    return page


def is_cached(catalogue: Catalogue, entry: Entry, url: str, cache: Cache) -> bool:
    """Whether `run_page` will most likely not have to render it."""
    return cache.has(_CACHED, _key(catalogue, entry, url))


def _key(catalogue: Catalogue, entry: Entry, url: str) -> str:
    return f"{url} {entry_key(entry, catalogue.styles)}"


def _render(page: PageContext, entry: Entry) -> RunPage:
    view = entry.view
    parts = [_head(entry)]
    headings: list[Heading] = []

    def add(title: str, html: str, level: int = 2) -> None:
        anchor = title.lower().replace(" ", "-")
        if level == 2:  # each entry of the table of contents costs Material a template
            headings.append({"level": level, "id": anchor, "name": title, "children": []})
        link = f'<a class="headerlink" href="#{anchor}" title="Permanent link">&para;</a>'
        parts.append(f'<h{level} id="{anchor}">{title}{link}</h{level}>{html}')

    if view.run.origin == "published":
        for section in published_sections(page, view, export_links(page, entry)):
            add(section.title, section.html)
        add("Files", downloads_block(page, entry))
        return RunPage("".join(parts), headings, None)
    add("Findings", findings_block(view))
    rows, columns = axes(entry)
    metrics = [key for key in METRICS if key in view.metrics] or view.metrics[:1]
    if is_ladder(view):
        add("Results", ladder_block(page, entry, told=True))
    elif metrics and rows:
        those = grids(view, rows, columns, metrics, {})
        add("Results", table_block(page, entry, those))
        # Of the first metric only: the table shows every other at a click, and a chart is what a page costs.
        add("Every sample", chart_block(page, entry, [grid.only(metrics[:1]) for grid in those]))
        probed = [key for key in PROBE_METRICS if key in view.metrics]
        if probed:
            add("Headers and body", table_block(page, entry, grids(view, rows, columns, probed, {})))
        if any(case.role == "control" for case in view.run.cases) and "rps" in view.metrics:
            add("Head-room", headroom_block(view, "server", {}, page.catalogue.styles))
    else:
        add("Results", "<p>No sample has been taken yet.</p>")
    add("Method", "")
    for section in sections(view):
        add(section.title, section.html, 3)
    add("Files", downloads_block(page, entry))
    figures = None
    if page.data:
        figures = script(page.url, page.data)
        parts.append(source(figures[0], page.root))
    return RunPage("".join(parts), headings, figures)


def axes(entry: Entry) -> tuple[list[str], str | None]:
    """The dimensions of a run's table: servers down, workloads across, where it has them."""
    dimensions = list(entry.view.dimensions)
    rows = ["server"] if "server" in dimensions else dimensions[:1]
    columns = "workload" if "workload" in dimensions and "workload" not in rows else None
    return rows, columns


def _head(entry: Entry) -> str:
    view = entry.view
    pins = f" · pinned as {escape(', '.join(entry.pins))}" if entry.pins else ""
    note = f"<p>{escape(sentence(entry.note))}</p>" if entry.note else ""
    return (
        f'<h1 id="run"><bdi>{escape(title_of(view))}</bdi></h1>'
        f'<p class="ls-lead"><code class="ls-id">{escape(view.id)}</code>{pins}<br>'
        f"{escape(summary_line(view))}. {dated(view.run)}.</p>"
        f"{note}{banner(entry)}"
    )
