"""A run as the pages see it: manifest, samples, and the rows of its summary as plain dicts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from hooks.attempts import Attempts, Columns
from hooks.markup import escape
from hooks.near import near
from runner.errors import AnalysisError
from runner.ladder import NOT_REACHED
from runner.metrics import METRICS, Metric
from runner.model import Case, Run

Row = dict[str, Any]
"""One row of `runner.analysis.summary`: None for what is unknown, but NaN among `FIGURES`.

Rows of open-loop latency also have ``unsent``, see `View.unsent`.
"""

OPEN = "open_"
FIGURES = ("median", "low", "high", "band")


@dataclass(frozen=True, slots=True)
class Point:
    """One attempt: its figure in base units (None without), its status, round, and why it does not count."""

    value: float | None
    status: str
    repeat: int
    reason: str


@dataclass(frozen=True)
class Head:
    """What catalogue, hues and copies need of a run, which need not be read for it.

    ``created`` in seconds since the epoch; ``servers`` sorted; ``taken`` the number of attempts; ``files``
    are path, size and SHA-256 of what the manifest lists.
    """

    state: str
    created: float
    servers: list[str]
    taken: int
    files: list[tuple[str, int, str]]


@dataclass(frozen=True, eq=False)
class View:
    """A run that was read and summarised; its samples are in `Attempts`, and as files.

    ``id`` is its folder's name, and its name in every address; ``columns`` those of
    `runner.analysis.summary`. ``key`` is the hash of manifest and samples: two views of one key show the
    same. ``fragments`` holds what was made of it on the way to a page, and is needed again.
    """

    id: str
    key: str
    manifest_sha256: str
    manifest_size: int
    folder: Path
    run: Run
    attempts: Attempts
    columns: Columns
    fragments: dict[Any, Any] = field(default_factory=dict, repr=False)

    @cached_property
    def head(self) -> Head:
        run = self.run
        return Head(
            state=run.state,
            created=run.created.timestamp(),
            servers=sorted(str(value) for value in self.dimensions.get("server", [])),
            taken=len(self.attempts),
            files=[(entry.path, entry.size, entry.sha256) for entry in run.files],
        )

    @cached_property
    def cases(self) -> dict[str, Case]:
        return {case.id: case for case in self.run.cases}

    @cached_property
    def dimensions(self) -> dict[str, list[str | int]]:
        """Dimension → its values, in the order of cases; a control's are its own affair."""
        found: dict[str, dict[str | int, None]] = {}
        for case in self.run.cases:
            if case.role == "control":
                continue
            for name, value in case.dimensions.items():
                found.setdefault(name, {})[value] = None
        return {name: list(values) for name, values in found.items()}

    @cached_property
    def metrics(self) -> list[str]:
        """The metrics of this run, in the registry's order."""
        return [key for key in METRICS if key in self._places]

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        """Metric → the places of its rows in ``columns``."""
        found: dict[str, list[int]] = {}
        for place, metric in enumerate(self.columns.get("metric", [])):
            found.setdefault(metric, []).append(place)
        return found

    def forget(self) -> None:
        """Drop what was made on the way to a page, and is made again if it is asked for."""
        for name in ("_rows", "_places", "order"):
            self.__dict__.pop(name, None)

    def rows(self, metric: str) -> list[Row]:
        """All rows of one metric, twins and controls too, in case order."""
        if metric not in self._rows:
            places = self._places.get(metric, [])
            columns = {name: [values[place] for place in places] for name, values in self.columns.items()}
            for name in FIGURES:
                columns[name] = [math.nan if value is None else value for value in columns.get(name, [])]
            self._rows[metric] = [
                dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
            ]
            if metric.startswith(OPEN):
                for found in self._rows[metric]:
                    found["unsent"] = self.unsent(found["case"])
        return self._rows[metric]

    def unsent(self, case: str) -> int:
        """In how many of the case's accepted samples not every request that was due was sent."""
        status, flags = self.attempts.columns["status"], self.attempts.columns["flags"]
        return sum(status[i] == "accepted" and NOT_REACHED in flags[i].split("; ") for i in self.order[case])

    @cached_property
    def _rows(self) -> dict[str, list[Row]]:
        return {}

    @cached_property
    def order(self) -> dict[str, list[int]]:
        """Case id → the places of its attempts in ``attempts.columns``, in the order of rounds."""
        found: dict[str, list[int]] = {case.id: [] for case in self.run.cases}
        columns = self.attempts.columns
        for place, case in enumerate(columns["case"]):
            found[str(case)].append(place)
        for places in found.values():
            places.sort(key=lambda place: (columns["repeat"][place], columns["attempt"][place]))
        return found

    def points(self, case: str, metric: str) -> list[Point]:
        """Every attempt at a case, in the order of rounds."""
        columns = self.attempts.columns
        values = columns.get(metric) or [None] * len(self.attempts)
        status, repeat, reasons = columns["status"], columns["repeat"], columns["reasons"]
        return [Point(values[i], status[i], repeat[i], reasons[i]) for i in self.order[case]]

    def label(self, dimension: str, value: str | int) -> str:
        """The free-text label of a dimension's value; not escaped."""
        return self.run.labels.get(dimension, {}).get(str(value)) or str(value)

    def label_html(self, dimension: str, value: str | int) -> str:
        """The label as HTML; isolated, so that right-to-left text does not reorder what follows."""
        return f'<bdi class="ls-name">{escape(self.label(dimension, value))}</bdi>'

    def metric(self, key: str) -> Metric:
        """The metric of that key. Raises AnalysisError if this run has none."""
        if key not in self.metrics:
            raise AnalysisError(f"run {self.id} has no metric {key!r}", near(key, self.metrics))
        return METRICS[key]

    def select(self, metric: str, where: Mapping[str, Any]) -> list[Row]:
        """The rows of plain cases of one metric whose dimensions have these values, in case order.

        Raises AnalysisError with the near matches for a metric, dimension or value that the run does
        not have, and if no case is left.
        """
        self.metric(metric)
        self.must_have(where)
        rows = [
            row
            for row in self.rows(metric)
            if row["role"] == "case" and _matches(self.cases[row["case"]], where)
        ]
        if not rows:
            raise AnalysisError(f"run {self.id} has no case with {_words(where)}")
        return rows

    def must_have(self, where: Mapping[str, Any]) -> None:
        """Raise AnalysisError with the near matches for a dimension or value that no case has."""
        for name, value in where.items():
            if name not in self.dimensions:
                raise AnalysisError(f"run {self.id} has no dimension {name!r}", near(name, self.dimensions))
            if value not in self.dimensions[name]:
                raise AnalysisError(
                    f"run {self.id} has no {name} {value!r}", near(value, self.dimensions[name])
                )

    def one(self, metric: str, where: Mapping[str, Any]) -> Row:
        """The one row that these values single out. Raises AnalysisError naming what is left open."""
        rows = self.select(metric, where)
        if len(rows) > 1:
            raise AnalysisError(
                f"{len(rows)} cases of run {self.id} have {_words(where)}",
                f"Say which: {self.choices(rows, where)}.",
            )
        return rows[0]

    def choices(self, rows: Iterable[Row], apart_from: Iterable[str] = ()) -> str:
        """What `varying` finds, as words of an error's hint."""
        still = self.varying(rows, apart_from)
        return "; ".join(f"{name} = {', '.join(map(str, values))}" for name, values in still.items())

    def varying(self, rows: Iterable[Row], apart_from: Iterable[str] = ()) -> dict[str, list[str | int]]:
        """The dimensions in which these rows differ, and the values they take."""
        skip = set(apart_from)
        found: dict[str, dict[str | int, None]] = {}
        for row in rows:
            for name, value in self.cases[row["case"]].dimensions.items():
                if name not in skip:
                    found.setdefault(name, {})[value] = None
        return {name: list(values) for name, values in found.items() if len(values) > 1}


def _matches(case: Case, where: Mapping[str, Any]) -> bool:
    return all(case.dimensions.get(name) == value for name, value in where.items())


def _words(where: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in where.items()) or "these dimensions"
