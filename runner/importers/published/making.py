"""A mapping and its files as a run: cases, one sample each, and everything that is known of the source."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from runner.errors import ArtifactError
from runner.importers.published.mapping import UNITS, File, LoadedMapping, Mapping, Value, same_files
from runner.importers.published.reading import Row, Source, rows
from runner.metrics import METRICS
from runner.model import (
    Case,
    FileEntry,
    Generator,
    Layout,
    Parameters,
    Run,
    Sample,
    SuiteFile,
)
from runner.model import Source as Revision
from runner.store import RAW

Dimensions = dict[str, str | int]
# As in captured runs, so that the same case has the same id.
_ORDER = ("server", "workload", "workers", "connections")


@dataclass
class _Made:
    """A case as it grows: its figures come from several files."""

    case: Case
    figures: dict[str, tuple[Decimal, str]] = field(default_factory=dict)
    decimals: dict[str, int] = field(default_factory=dict)
    files: dict[str, None] = field(default_factory=dict)


def make(
    loaded: LoadedMapping, sources: Sequence[Source], run_id: str, created: datetime, command_line: list[str]
) -> tuple[Run, list[Sample]]:
    """The complete run and its samples, in the order of the mapping's files and their rows.

    ``created`` is when it was imported, because when it was measured is not published; the manifest's
    list of files is left to the writer. Raises ArtifactError naming file, line and column.
    """
    made = _gather(loaded, sources)
    for one in made.values():
        _check_rising(one)
    entries = {source.name: _entry(source) for source in sources}
    samples = [
        Sample(
            case=one.case.id,
            dimensions=one.case.dimensions,
            repeat=1,
            order=number,
            started=created,
            status="accepted",
            metrics={metric: float(figure) for metric, (figure, _) in one.figures.items()},
            raw=[entries[name] for name in one.files],
        )
        for number, one in enumerate(made.values(), 1)
    ]
    return _run(loaded, [one.case for one in made.values()], run_id, created, command_line), samples


def decimals_of(loaded: LoadedMapping, sources: Sequence[Source]) -> dict[tuple[str, str], int]:
    """(case id, metric) → with how many decimals the figure was transcribed, in the metric's display unit.

    A figure transcribed in another unit is left out. Raises ArtifactError as `make` does.
    """
    return {
        (one.case.id, metric): places
        for one in _gather(loaded, sources).values()
        for metric, places in one.decimals.items()
    }


def _gather(loaded: LoadedMapping, sources: Sequence[Source]) -> dict[str, _Made]:
    """Case id → the case with its figures."""
    same_files(loaded, [source.name for source in sources])
    by_name = {source.name: source for source in sources}
    made: dict[str, _Made] = {}
    # First those that state a figure, then those that repeat it.
    for again in (False, True):
        for file in loaded.mapping.file:
            source = by_name[file.name]
            for row in rows(source, file):
                for value in file.value:
                    if value.again == again:
                        _put(made, loaded.mapping, source, file, row, value)
    return made


def _check_rising(one: _Made) -> None:
    """A higher percentile is not the smaller one: two columns were swapped."""
    for low, high in (("p50", "p95"), ("p95", "p99"), ("p50", "p99")):
        for prefix in ("", "probe_headers_", "probe_first_body_", "probe_gap_", "probe_total_"):
            below, above = one.figures.get(prefix + low), one.figures.get(prefix + high)
            if below and above and below[0] > above[0]:
                raise ArtifactError(
                    f"{below[1]} and {above[1]}: {one.case.id}: {prefix}{high} is below {prefix}{low}",
                    "Are two columns swapped, in the file or in its mapping?",
                )


def _put(
    made: dict[str, _Made], mapping: Mapping, source: Source, file: File, row: Row, value: Value
) -> None:
    """Add one figure to its case."""
    place = f"{source.place}, line {row.line}, column {value.column}"
    dimensions = _dimensions(mapping, file, row, value, f"{source.place}, line {row.line}")
    case = _case(file, dimensions)
    if value.again:
        if case.id not in made:
            raise ArtifactError(f"{place}: no other table has {case.id}, whose figure it repeats")
        one = made[case.id]
    else:
        one = made.setdefault(case.id, _Made(case))
        if one.case != case:
            raise ArtifactError(f"{place}: {case.id} is of series {one.case.series} in another table")
    figure = row.figures[value.column] * UNITS[value.unit][1]
    told = one.figures.get(value.metric)
    if told is not None and not value.again:
        raise ArtifactError(
            f"{place}: {value.metric} of {case.id} is in {told[1]} already", "A figure is published once."
        )
    if value.again and (told is None or told[0] != figure):
        where = f"; {told[1]} has another" if told else ""
        raise ArtifactError(
            f"{place}: not the {value.metric} of {case.id} that it repeats{where}",
            "The source's two tables must agree; look for a slip in the transcription.",
        )
    if told is None:
        one.figures[value.metric] = (figure, place)
        exponent = row.figures[value.column].as_tuple().exponent
        scale = float(UNITS[value.unit][1]) * METRICS[value.metric].scale
        if isinstance(exponent, int) and math.isclose(scale, 1):
            one.decimals[value.metric] = -exponent
    one.files[source.name] = None


def _dimensions(mapping: Mapping, file: File, row: Row, value: Value, place: str) -> Dimensions:
    """The case's coordinates. Raises ArtifactError for a server or workload that the mapping lacks."""
    found: Dimensions = {}
    for name, text in {**file.dimensions, **value.dimensions}.items():
        found[name] = text.format(**row.keys) if isinstance(text, str) else text
    for name, text in found.items():
        known = mapping.labels.get(name)
        if known is not None and str(text) not in known:
            columns = ", ".join(file.keys)
            raise ArtifactError(
                f"{place}, column {columns}: unknown {name} {text!r}", f"Known: {', '.join(known)}."
            )
    order = dict.fromkeys([*_ORDER, *found])
    return {name: found[name] for name in order if name in found}


def _case(file: File, dimensions: Dimensions) -> Case:
    parts = [f"{name[0]}{v}" if isinstance(v, int) else v for name, v in dimensions.items()]
    return Case(
        id="/".join(parts),
        series=file.series,
        role=file.role,
        covers=file.covers.get(str(dimensions.get("workload")), []),
        dimensions=dimensions,
    )


def _entry(source: Source) -> FileEntry:
    return FileEntry(
        path=f"{RAW}/{source.name}",
        size=len(source.data),
        sha256=hashlib.sha256(source.data).hexdigest(),
    )


def _run(
    loaded: LoadedMapping, cases: list[Case], run_id: str, created: datetime, command_line: list[str]
) -> Run:
    mapping = loaded.mapping
    plain = [case for case in cases if case.role == "case"]

    def values(name: str) -> list[str]:
        return list(dict.fromkeys(str(case.dimensions[name]) for case in plain if name in case.dimensions))

    workers = {count for case in plain if isinstance(count := case.dimensions.get("workers"), int)}
    asked = mapping.parameters
    return Run(
        id=run_id,
        suite=mapping.name,
        title=mapping.title,
        origin="published",
        state="complete",
        created=created,
        suite_file=SuiteFile(name=loaded.name, sha256=loaded.sha256, text=loaded.text),
        # Warm-up and seed are not optional in the model; `unknown` says that these two mean nothing here.
        parameters=Parameters(
            servers=values("server"),
            workloads=values("workload"),
            workers=sorted(workers),
            connections=asked.connections,
            duration=asked.duration,
            warmup=0.0,
            repeats=1,
            seed=0,
            twin=False,
        ),
        command_line=command_line,
        source=Revision(),
        packages=mapping.packages,
        python=mapping.python,
        machine=mapping.machine,
        layout=Layout(roles=mapping.layout.roles, note=mapping.layout.note),
        generator=Generator(name=mapping.generator.name, version=mapping.generator.version),
        labels=mapping.labels,
        cases=cases,
        facts={
            "source": mapping.source.title,
            "measured_with": mapping.source.measured_with,
            **({"transcription": mapping.source.transcription} if mapping.source.transcription else {}),
            "samples_a_case": asked.samples,
            **mapping.facts,
            "unknown": mapping.unknown,
        },
    )
