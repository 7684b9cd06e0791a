"""Lists of runs: those published, and in local mode those that are not."""

from __future__ import annotations

from hooks.catalogue import Catalogue, Entry
from hooks.context import PageContext
from hooks.environment import summary_line, title_of
from hooks.facts import note_words
from hooks.markup import escape, row, sentence, table
from runner.model import Run

NEWEST = 10

NO_RUN = (
    '<div class="admonition note ls-empty"><p class="admonition-title">No run yet</p>'
    "<p>This page shows a published run, and none is published here. "
    "Run <code>lapsheet quickstart</code> for a first one of your own.</p></div>"
)


def newest_local(page: PageContext) -> str:
    """A box with the newest local run, for whoever has just captured it; nothing where there is none."""
    local = page.catalogue.local
    if not local:
        return ""
    return f'<p class="ls-title">Your newest local run</p>{summary_block(page, local[0])}'


def runs_block(page: PageContext, *, newest: int | None = NEWEST) -> str:
    """The published runs, then the ``newest`` local ones (None is all of them)."""
    catalogue = page.catalogue
    parts = []
    if catalogue.empty:
        parts.append("<p>No run is published yet.</p>")
    else:
        heads = ["Run", "Pin", "Captured", "What, on what", "Samples"]
        rows = [_row(page, entry, ", ".join(entry.pins)) for entry in catalogue.published()]
        parts.append(table("Published runs", heads, rows, "ls-runs"))
    parts.append(local_runs(page, newest))
    return "".join(parts)


def local_runs(page: PageContext, newest: int | None = NEWEST) -> str:
    """The local runs, newest first, and those that cannot be read; nothing where there is none."""
    catalogue = page.catalogue
    parts = []
    if catalogue.local:
        shown = catalogue.local[:newest]
        heads = ["Run", "State", "Captured", "What, on what", "Samples"]
        rows = [_row(page, entry, state_words(entry.view.run)) for entry in shown]
        parts.append(table("Local runs, not published", heads, rows, "ls-runs"))
        if len(shown) < len(catalogue.local):
            text = f"All {len(catalogue.local):,} local runs"
            parts.append(f"<p>{page.link('runs/', escape(text))}</p>")
    parts.append(_unreadable(catalogue))
    return "".join(parts)


def banner(entry: Entry) -> str:
    """What a reader of this run's page must know first."""
    run = entry.view.run
    words = []
    if entry.local:
        words.append("Local, not published: no pin names this run, so a published site does not have it.")
    if run.state == "running":
        taken, wanted = entry.view.head.taken, run.samples
        words.append(f"In progress: {taken} of {wanted} samples taken so far.")
    elif run.state == "interrupted":
        words.append("Interrupted: samples are missing. `lapsheet run … --resume` completes it.")
    if run.origin == "imported":
        words.append("Imported from another tool's output.")
    elif run.origin == "published":
        words.append("Published by others, not measured here; there is no raw data behind the figures.")
    words += [note_words(note.message) for note in run.warnings]
    if not words:
        return ""
    items = "".join(f'<div role="listitem">{escape(sentence(word))}</div>' for word in words)
    return f'<div class="ls-banner" role="list" aria-label="About this run">{items}</div>'


def summary_block(page: PageContext, entry: Entry) -> str:
    """The run in one box."""
    view = entry.view
    return (
        '<div class="ls-summary"><p class="ls-summary-title">'
        f"{page.link(entry.url, f'<bdi>{escape(title_of(view))}</bdi>')}</p>"
        f"<p>{escape(summary_line(view))}. {dated(view.run)}"
        f"{f' · {escape(entry.note)}' if entry.note else ''}</p>{banner(entry)}</div>"
    )


def dated(run: Run) -> str:
    """When a run was made; when others measured what they published is theirs to say."""
    if run.origin == "published":
        return f"Published by others; imported {run.created:%Y-%m-%d}"
    verb = "Imported" if run.origin == "imported" else "Captured"
    return f"{verb} {run.created:%Y-%m-%d %H:%M} UTC"


def state_words(run: Run) -> str:
    """The run's state for a list."""
    return {"running": "in progress", "complete": "complete"}.get(run.state, run.state)


def _row(page: PageContext, entry: Entry, second: str) -> str:
    view = entry.view
    name = page.link(entry.url, f"<bdi>{escape(title_of(view))}</bdi>")
    badge = ' <span class="ls-badge">local, not published</span>' if entry.local else ""
    return row(
        f'{name}{badge}<br><code class="ls-id">{escape(view.id)}</code>',
        escape(second),
        dated(view.run).removeprefix("Captured "),
        escape(summary_line(view)),
        "–" if view.run.origin == "published" else f"{view.head.taken:,}",
    )


def _unreadable(catalogue: Catalogue) -> str:
    if not catalogue.unreadable:
        return ""
    items = "".join(
        f"<li><code>{escape(item.id)}</code>: {_message(catalogue, item.error.message)}"
        f"{f' <em>{_message(catalogue, item.error.hint)}</em>' if item.error.hint else ''}</li>"
        for item in catalogue.unreadable
    )
    return (
        '<div class="admonition warning"><p class="admonition-title">Local runs that cannot be read</p>'
        f"<ul>{items}</ul></div>"
    )


def _message(catalogue: Catalogue, text: str) -> str:
    """An error's text without the place of the folder on this machine."""
    return escape(text.replace(catalogue.artifacts.rstrip("/") + "/", ""))
