"""A page for each run, generated: table, charts, method and files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hooks.blocks import chart_block, table_block
from hooks.calls import Calls
from hooks.catalogue import Entry
from hooks.context import Outputs, PageContext
from hooks.downloads import downloads_block
from hooks.environment import summary_line
from hooks.findings import findings_block
from hooks.listing import banner
from hooks.markup import escape
from hooks.methodology import sections

SOURCE = "runs/{}/index.md"
METRICS = ("rps", "p99")
# They would make the index that every page loads grow with every run; the Runs page is in it.
META: Mapping[str, Any] = {"search": {"exclude": True}, "hide": ["navigation"]}


def run_page(calls: Calls, entry: Entry) -> str:
    """The page as Markdown headings and placeholders."""
    page, view = calls.page, entry.view
    block = calls.places.block
    parts = [block(_head(entry)), "## Findings", block(findings_block(view)), "## Results"]
    metrics = [key for key in METRICS if key in view.metrics] or view.metrics[:1]
    rows, columns = axes(entry)
    if metrics and rows:
        parts.append(block(table_block(page, entry, rows=rows, columns=columns, metrics=metrics)))
        percentiles = [key for key in ("p50", "p95", "p99") if key in view.metrics]
        parts += ["## Charts"] + [
            block(chart_block(page, entry, metric=key, rows=rows, columns=columns)) for key in metrics
        ]
        if len(percentiles) > 1:
            text = block(table_block(page, entry, rows=rows, columns=columns, metrics=percentiles))
            parts += ["## Percentiles", text]
    else:
        parts.append("No sample has been taken yet.")
    parts += ["## Method", calls.sections(sections(view), 3), "## Files", block(downloads_block(page, entry))]
    return "\n\n".join(parts)


def axes(entry: Entry) -> tuple[list[str], str | None]:
    """The dimensions of a run's table: servers down, workloads across, where it has them."""
    dimensions = list(entry.view.dimensions)
    rows = ["server"] if "server" in dimensions else dimensions[:1]
    columns = "workload" if "workload" in dimensions and "workload" not in rows else None
    return rows, columns


def render(outputs: Outputs, context: PageContext, entry: Entry) -> tuple[str, Calls]:
    """The page's Markdown and the calls that fill it, kept with the run while its content is the same.

    ``outputs`` gets the figures the page needs.
    """
    key = (
        "page",
        context.url,
        entry.pins,
        entry.note,
        tuple(sorted(context.catalogue.styles.items(), key=str)),
    )
    if key not in entry.view.fragments:
        own = Outputs()
        calls = Calls(PageContext(context.catalogue, own, context.url))
        entry.view.fragments.clear()
        entry.view.fragments[key] = (run_page(calls, entry), calls, own)
    markdown, calls, own = entry.view.fragments[key]
    outputs.contents.update(own.contents)
    return markdown, calls


def _head(entry: Entry) -> str:
    view = entry.view
    pins = f" · pinned as {escape(', '.join(entry.pins))}" if entry.pins else ""
    note = f"<p>{escape(entry.note)}</p>" if entry.note else ""
    return (
        f'<h1 id="run"><bdi>{escape(view.run.title)}</bdi></h1>'
        f'<p class="ls-lead"><code class="ls-id">{escape(view.id)}</code>{pins}<br>'
        f"{escape(summary_line(view))}. Captured {view.run.created:%Y-%m-%d %H:%M} UTC.</p>"
        f"{note}{banner(entry)}"
    )
