"""Figures that others published: single ones in a sentence, and the page of the run that holds them.

Nothing here was measured by this site's runs, and nothing may look as if it was: no range, no tier, no
number of samples, and always the word "published".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hooks.context import PageContext
from hooks.facts import facts_table, rows_of, seconds
from hooks.grid import describe_fixed
from hooks.hues import Style
from hooks.markup import details, escape, row, table
from hooks.methodology import Section
from hooks.statements import statements_block
from hooks.tables import heading, swatch
from hooks.transcribed import figure_text, mapping_of, must_be_published
from hooks.view import Row, View
from runner.errors import AnalysisError
from runner.importers.published.mapping import File
from runner.importers.published.mapping import Mapping as SourceMapping
from runner.metrics import METRICS
from runner.model import PUBLISHED


def published_text(view: View, metric: str, where: Mapping[str, Any]) -> str:
    """One published figure with its unit, marked as such; HTML. Raises AnalysisError without one."""
    must_be_published(view)
    found = view.one(metric, where)
    if not found["n"]:
        raise AnalysisError(f"{found['case']} has no {metric} in {view.id}")
    unit = escape(METRICS[metric].display_unit)
    text = f"{figure_text(view, found)} {unit}".strip()
    return f'<span class="ls-elsewhere" title="{PUBLISHED}">{text} <small>(published)</small></span>'


def published_sections(page: PageContext, view: View, exports: str) -> list[Section]:
    """The run's page: tables as published, statements, source, mapping."""
    mapping = mapping_of(view)
    styles = page.catalogue.styles
    tables = "".join(_table(view, file, styles) for file in mapping.file)
    stated = statements_block(view, None, None) if mapping.statement else ""
    found = [
        Section("Figures", f"<p>As published, each a figure by itself: {PUBLISHED}.</p>{tables}{exports}"),
        Section("Statements", stated),
        Section("Source", _source(view, mapping)),
        Section(
            "Mapping",
            "<p>What each column of the transcribed files means. <code>lapsheet verify</code> reads them by "
            "it again, and compares every figure.</p>"
            + details(
                f"{view.run.suite_file.name}, verbatim",
                f"<pre><code>{escape(view.run.suite_file.text)}</code></pre>",
            ),
        ),
    ]
    return [section for section in found if section.html]


def _source(view: View, mapping: SourceMapping) -> str:
    """What the source says of how it measured, and what it does not say."""
    run, asked = view.run, mapping.parameters
    rows = [
        ("Source", mapping.source.title),
        ("Measured with", mapping.source.measured_with),
        ("Transcription", mapping.source.transcription),
        ("Imported", f"{run.created:%Y-%m-%d}"),
        ("Load generator", f"{run.generator.name} {run.generator.version}"),
        ("Connections", f"{asked.connections:,}"),
        ("Workers", ", ".join(map(str, view.dimensions.get("workers", run.parameters.workers)))),
        ("A sample", seconds(asked.duration)),
        ("Samples a case", f"{asked.samples}, of which the median was published"),
        *(
            (_words(name), f"{count:,}" if isinstance(count, int) else count)
            for name, count in mapping.facts.items()
        ),
        *((f"CPUs: {role}", ", ".join(map(str, cpus))) for role, cpus in run.layout.roles.items()),
        ("CPU layout", run.layout.note),
        *rows_of(run.machine),
        *rows_of({"Python": run.python}),
        *run.packages.items(),
        ("Not published", ", ".join(mapping.unknown)),
    ]
    return facts_table("What is known of these figures", [(name, text) for name, text in rows if text])


def _words(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _table(view: View, file: File, styles: Mapping[str, Style]) -> str:
    """One of the source's tables: its rows, and a column for each metric and place."""
    values: dict[tuple[tuple[str, str | int], ...], dict[str, Row]] = {}
    heads: dict[str, None] = {}
    # Figures that stand in another table too come last: they make no rows of their own.
    for value in sorted(file.value, key=lambda value: value.again):
        across = {**{k: v for k, v in file.dimensions.items() if "{" not in str(v)}, **value.dimensions}
        own = describe_fixed(view, value.dimensions)
        head = f"{heading(value.metric)}{f', {own}' if own else ''}"
        for found in view.rows(value.metric):
            case = view.cases[found["case"]]
            inside = all(case.dimensions.get(name) == v for name, v in across.items())
            key = tuple(
                (name, v) for name, v in case.dimensions.items() if "{" in str(file.dimensions.get(name, ""))
            )
            if found["n"] and inside and (key in values if value.again else case.series == file.series):
                heads[head] = None
                values.setdefault(key, {})[head] = found
    body = [
        row(_head(view, dict(key), styles), *(_cell(view, cells.get(head)) for head in heads))
        for key, cells in values.items()
    ]
    fixed = {k: v for k, v in file.dimensions.items() if isinstance(v, int)}
    words = describe_fixed(view, fixed)
    caption = f"{file.title}{f' ({words})' if words else ''}, from {file.name}. Published, not measured here."
    return table(caption, ["Case", *heads], body, "ls-published")


def _head(view: View, key: Mapping[str, str | int], styles: Mapping[str, Style]) -> str:
    words = []
    for name, value in key.items():
        dot = swatch(styles[str(value)]) if name == "server" and str(value) in styles else ""
        words.append(f"{dot}{view.label_html(name, value)}")
    return " · ".join(words)


def _cell(view: View, found: Row | None) -> str:
    if found is None:
        return "–"
    return f'<span class="ls-elsewhere">{figure_text(view, found)}</span>'
