"""A run's summary as a terminal table.

Labels are free text from suite files and foreign formats: they are never read as markup, and no control
character reaches the terminal. For CSV and JSON see `runner.export`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd
from rich.console import Console
from rich.table import Table
from rich.text import Text

from runner.analysis import summary
from runner.bounds import bound
from runner.export import MEDIAN_NOTE, as_csv, as_json, label, unknown
from runner.ladder import NOT_REACHED
from runner.metrics import Metric, metric
from runner.model import PUBLISHED, Run, Sample
from runner.store import StoredRun

__all__ = ["as_csv", "as_json", "printable", "render"]

# What a table shows first where a run has it; a run of other metrics shows its first three.
_HEADLINE = ["rps", "p50", "p99", "open_p50", "open_p99"]
# Without a terminal there is no width to fit, and a folded table is hard to read in a log.
_LOG_WIDTH = 150
# Below this the figures of a table would be folded out of sight.
_TABLE_WIDTH = 100


def render(stored: StoredRun, console: Console) -> None:
    """Print the run's summary: table, failures with reasons, rows without a tier, noise band, warnings.

    Raises AnalysisError if the samples contradict the manifest.
    """
    frame = summary([stored])
    frame["unsent"] = frame["case"].isin(_unsent(stored)) & frame["metric"].str.startswith("open_")
    run, width = stored.run, console.width
    metrics = _headline(frame)
    lines = [
        Text(f"{printable(run.title)} ({run.id})", style="bold"),
        Text(_parameters(run)),
        *([] if run.state == "complete" else [Text(_progress(stored), style="yellow")]),
        *(_body(run, frame, metrics, console) if metrics else [Text("No sample yet.")]),
        *[Text(line) for line in _notes(stored, frame, metrics)],
        *[Text(f"Warning: {printable(note.message)}", style="yellow") for note in run.warnings],
    ]
    try:
        if not console.is_terminal:
            console.width = max(width, _LOG_WIDTH)
        for line in lines:
            console.print(line, highlight=False)
    finally:
        console.width = width


def _body(run: Run, frame: pd.DataFrame, metrics: list[str], console: Console) -> list[Table | Text]:
    narrow = console.is_terminal and console.width < _TABLE_WIDTH
    return [*_list(run, frame, metrics)] if narrow else [_table(run, frame, metrics)]


def printable(text: str) -> str:
    """Text for one line of a terminal: line breaks and tabs become spaces, other controls "�".

    Otherwise a label could move the cursor, change colours or reverse the direction of a line.
    """
    return "".join(c if c.isprintable() else " " if c in "\n\r\t" else "�" for c in text)


def _headline(frame: pd.DataFrame) -> list[str]:
    present = list(dict.fromkeys(frame["metric"]))
    return [key for key in _HEADLINE if key in present] or present[:3]


def _parameters(run: Run) -> str:
    p, generator = run.parameters, run.generator
    if run.origin == "published":
        return f"Published by others, not measured here. Source: {printable(str(run.facts.get('source')))}"
    loop = "closed loop" if p.rate is None else f"open loop at {p.rate:g} requests/s"
    if p.ladder:
        shares = ", ".join(f"{100 * share:g}" for share in p.ladder)
        loop = f"closed loop for the capacity, then open loop at {shares} % of it"
    sampling = f"{p.repeats} × {p.duration:g} s after {p.warmup:g} s warm-up"
    load = (
        f"{printable(generator.name)} {printable(generator.version)}, {_connections(run)} connections, {loop}"
    )
    return f"{load}, {sampling}, seed {p.seed}"


def _connections(run: Run) -> str:
    """The numbers of connections of its cases, which their series may have of their own."""
    found = {case.dimensions.get("connections") for case in run.cases if case.role != "control"}
    numbers = sorted(value for value in found if isinstance(value, int))
    return ", ".join(map(str, numbers)) or str(run.parameters.connections)


def _limiters(stored: StoredRun) -> str:
    """What may have been at its limit where a figure is a bound, as words."""
    names = ["the load generator"]
    names += ["the upstream"] if stored.run.upstream is not None else []
    names += ["the probe"] if stored.run.probe is not None else []
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _unsent(stored: StoredRun) -> set[str]:
    """The cases with an accepted sample that did not send all that was due."""
    return {
        sample.case
        for sample in stored.samples
        if sample.status == "accepted" and any(note.code == NOT_REACHED for note in sample.flags)
    }


def _progress(stored: StoredRun) -> str:
    wanted = stored.run.samples
    ended = {(sample.case, sample.repeat) for sample in stored.samples if sample.status != "rejected"}
    return f"Not complete ({stored.run.state}): {len(ended)} of {wanted} samples are there."


def _ordered(run: Run, frame: pd.DataFrame, key: str) -> list[dict[Any, Any]]:
    """One row a case, sorted by the other dimensions, then from the best median of that metric."""
    first = metric(key)
    others = [name for name in _dimensions(run) if name != "server"]
    places = {name: _positions(run, frame, name) for name in others}

    def rank(row: dict[Any, Any]) -> tuple[Any, ...]:
        median = float(row["median"]) if row["metric"] == key else math.nan
        return (
            *[places[name][row[name]] for name in others],
            math.isnan(median),
            0.0 if math.isnan(median) else -median if first.better == "higher" else median,
        )

    return sorted(_heads(frame, key), key=rank)


def _shown(run: Run, frame: pd.DataFrame) -> list[str]:
    """The dimensions to show beside the server."""
    others = [name for name in _dimensions(run) if name != "server"]
    return [name for name in others if name != "connections" or frame[name].nunique() > 1]


def _table(run: Run, frame: pd.DataFrame, metrics: list[str]) -> Table:
    """The rows of `_ordered` as a table."""
    others = [name for name in _dimensions(run) if name != "server"]
    shown = _shown(run, frame)
    table = Table(title_justify="left")
    table.add_column("configuration", overflow="fold")
    for name in shown:
        table.add_column(
            Text(printable(name)), justify="right" if _is_number(frame[name]) else "left", overflow="fold"
        )
    for key in metrics:
        unit = metric(key).display_unit or metric(key).unit
        heading = f"{metric(key).label}, {unit}"
        if key == metrics[0] and run.origin != "published":
            heading += "\nmedian [low–high]"
        table.add_column(Text(heading), justify="right")
    counts = () if run.origin == "published" else ("tier", "n", "rejected", "failed")
    for heading in counts:
        table.add_column(heading, justify="right")
    by_case = {(row["case"], row["metric"]): row for row in frame.to_dict("records")}
    above: list[Any] | None = None
    for row in _ordered(run, frame, metrics[0]):
        here = [row[name] for name in others]
        if above is not None and here != above:
            table.add_section()
        above = here
        table.add_row(
            Text(_configuration(run, row)),
            *[Text(_value(run, row, name)) for name in shown],
            *[
                Text(_figure(by_case.get((row["case"], key)), metric(key), with_range=key == metrics[0]))
                for key in metrics
            ],
            *_counts(row)[: len(counts)],
            style="red" if row["n"] == 0 else "dim" if row["role"] != "case" else "",
        )
    return table


def _list(run: Run, frame: pd.DataFrame, metrics: list[str]) -> list[Text]:
    """The rows of `_ordered` as two lines each, for a terminal too narrow for the table."""
    shown = _shown(run, frame)
    by_case = {(row["case"], row["metric"]): row for row in frame.to_dict("records")}
    lines = []
    for row in _ordered(run, frame, metrics[0]):
        place = ", ".join(f"{printable(name)} {_value(run, row, name)}" for name in shown)
        figures = [
            f"{metric(key).label} {figure} {metric(key).display_unit or metric(key).unit}"
            for key in metrics
            if (figure := _figure(by_case.get((row["case"], key)), metric(key), with_range=key == metrics[0]))
            != "–"
        ]
        counts = (
            []
            if run.origin == "published"
            else [
                "no tier" if unknown(row["tier"]) else f"tier {row['tier']}",
                f"{row['n']}/{row['wanted']} samples",
                *[f"{row[name]} {name}" for name in ("rejected", "failed") if row[name]],
            ]
        )
        lines += [
            Text(f"{_configuration(run, row)} ({place})", style="bold"),
            Text("  " + "; ".join(figures + counts), style="red" if row["n"] == 0 else ""),
        ]
    return lines


def _counts(row: dict[Any, Any]) -> list[str]:
    """Tier, samples, rejected and failed attempts of a row."""
    tier = "–" if unknown(row["tier"]) else str(row["tier"])
    out = [str(row[name] or "") for name in ("rejected", "failed")]
    return [tier, f"{row['n']}/{row['wanted']}", *out]


def _heads(frame: pd.DataFrame, key: str) -> list[dict[Any, Any]]:
    """One row a case: of that metric, or of its own first metric where it has no such row."""
    heads: dict[str, dict[Any, Any]] = {}
    for row in frame.to_dict("records"):
        if row["metric"] == key or row["case"] not in heads:
            heads[row["case"]] = row
    return list(heads.values())


def _dimensions(run: Run) -> list[str]:
    return list(dict.fromkeys(name for case in run.cases for name in case.dimensions))


def _is_number(column: pd.Series[Any]) -> bool:
    return all(isinstance(value, int) for value in column)


def _positions(run: Run, frame: pd.DataFrame, name: str) -> dict[Any, int]:
    """Where each value of a dimension sorts: numbers by size, names in the order of the run's cases."""
    values = list(dict.fromkeys(frame[name]))
    if _is_number(frame[name]):
        values.sort()
    return {value: position for position, value in enumerate(values)}


def _configuration(run: Run, row: dict[Any, Any]) -> str:
    name = printable(label(run, "server", row["server"]) if row.get("server") else str(row["case"]))
    return f"{name} (A/A twin)" if row["role"] == "twin" else name


def _value(run: Run, row: dict[Any, Any], name: str) -> str:
    return "–" if unknown(row[name]) else printable(label(run, name, row[name]))


def _figure(row: dict[Any, Any] | None, kind: Metric, *, with_range: bool) -> str:
    if row is None or math.isnan(row["median"]):
        return next((word for word in ("failed", "rejected") if row is not None and row[word]), "–")
    sign = bound(row)
    figure = kind.show(row["median"]) if sign in ("", "?") else f"{sign} {kind.show(row['median'])}"
    if row["untiered"] == PUBLISHED or not with_range:
        return figure
    return f"{figure} [{kind.show(row['low'])}–{kind.show(row['high'])}]"


def _notes(stored: StoredRun, frame: pd.DataFrame, metrics: list[str]) -> list[str]:
    if not metrics or stored.run.origin == "published":
        return []
    heads = _heads(frame, metrics[0])
    floors = any(row["floor"] for row in heads)
    return [
        *_attempts(stored, heads),
        *_untiered(stored.run, heads),
        *_bands(stored.run, frame, metrics),
        *(
            [f"≥ and ≤ mark figures that {_limiters(stored)} limited: the server may be better."]
            if floors
            else []
        ),
        *(
            ["≥ marks latencies that leave out requests which were due and never sent: they are higher."]
            if frame["unsent"].any()
            else []
        ),
        MEDIAN_NOTE,
    ]


def _attempts(stored: StoredRun, rows: Iterable[dict[Any, Any]]) -> list[str]:
    """A line for every case with failed or rejected attempts: how many, and each kind of reason in words.

    Attempts of one kind differ in their figures only, so the first one's words stand for all of a code.
    """
    by_case: dict[str, list[Sample]] = {}
    for sample in stored.samples:
        if sample.status != "accepted":
            by_case.setdefault(sample.case, []).append(sample)
    lines = []
    for row in rows:
        for status in ("failed", "rejected"):
            those = [sample for sample in by_case.get(row["case"], []) if sample.status == status]
            if those:
                place = _place(stored.run, row)
                lines.append(f"{status.capitalize()}: {place}: {len(those)} × ({_reasons(those)})")
    return lines


def _reasons(samples: Iterable[Sample]) -> str:
    first: dict[str, str] = {}
    for note in (note for sample in samples for note in sample.reasons):
        first.setdefault(note.code, f"{note.code}: {note.message}" if note.message else note.code)
    return printable("; ".join(first.values())) or "no reason recorded"


def _place(run: Run, row: dict[Any, Any]) -> str:
    """The case in words: its configuration and its other coordinates, numbers with their name."""
    others = [name for name in _dimensions(run) if name not in ("server", "connections")]
    details = [
        f"{printable(name)} {row[name]}" if isinstance(row[name], int) else _value(run, row, name)
        for name in others
        if not unknown(row[name])
    ]
    return " · ".join([_configuration(run, row), *details])


def _untiered(run: Run, rows: Iterable[dict[Any, Any]]) -> list[str]:
    """One line a reason why rows have no tier. Twins and controls never have one, and say so by name."""
    reasons: dict[str, list[str]] = {}
    for row in rows:
        if row["untiered"] and row["role"] == "case":
            reasons.setdefault(row["untiered"], []).append(_place(run, row))
    return [f"No tier ({reason}): {'; '.join(places)}" for reason, places in reasons.items()]


def _bands(run: Run, frame: pd.DataFrame, metrics: Sequence[str]) -> list[str]:
    """The noise bands, one line a group, or that there are none."""
    twins = frame[(frame["role"] == "twin") & frame["metric"].isin(list(metrics))]
    lines = []
    for _, rows in twins.groupby("case", sort=False):
        records = rows.to_dict("records")
        known = [
            f"{metric(row['metric']).label} {row['band'] * 100:.1f} %"
            for row in records
            if not math.isnan(row["band"])
        ]
        bands = ", ".join(known) or "unknown (it takes two rounds in which both lanes were accepted)"
        lines.append(f"Noise band: {_place(run, records[0])}: {bands}")
    return lines or ["Noise band: unknown (no A/A lane), so ranges alone decide the tiers."]
