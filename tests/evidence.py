"""Small runs in memory, from figures written down in a test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from runner.model import (
    Case,
    CpuSetWitness,
    Generator,
    Layout,
    Note,
    Parameters,
    Run,
    Sample,
    Source,
    SuiteFile,
)
from runner.store import StoredRun

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def case(server: str, role: str = "case", series: str = "all", **dimensions: Any) -> Case:
    """A case ``server/workload/w1`` (``…/twin`` for a twin)."""
    coordinates = {"server": server, "workload": "get", "workers": 1, "connections": 100} | dimensions
    name = f"{server}/{coordinates['workload']}/w{coordinates['workers']}"
    twin = {"id": f"{name}/twin", "twin_of": name} if role == "twin" else {"id": name}
    return Case.model_validate(twin | {"series": series, "role": role, "dimensions": coordinates})


def sample(case: Case, repeat: int, value: float | None, metric: str = "rps", **fields: Any) -> Sample:
    """An accepted attempt with that value, unless ``fields`` say otherwise."""
    metrics = {} if value is None else {metric: value}
    defaults = {"repeat": repeat, "order": repeat, "started": NOW, "status": "accepted", "metrics": metrics}
    return Sample.model_validate({"case": case.id} | defaults | fields)


def failed(
    case: Case, repeat: int, code: str = "timeouts", status: str = "failed", attempt: int = 1
) -> Sample:
    note = Note(code=code, message=f"told of {code}")
    return sample(case, repeat, None, status=status, reasons=[note], attempt=attempt)


def saturated(role: str, share: float = 0.97) -> dict[str, CpuSetWitness]:
    """The witness of a sample in which one thread of that role was that busy."""
    return {
        role: CpuSetWitness(cpus=[1], busy=0.5, busiest_cpu=0.6, busiest_thread=share, own=0.5, threads=1)
    }


def stored(cases: Sequence[Case], samples: Sequence[Sample], repeats: int = 5, **fields: Any) -> StoredRun:
    """A run of those cases and samples."""
    servers = list(dict.fromkeys(str(case.dimensions["server"]) for case in cases))
    defaults: dict[str, Any] = {
        "id": "run",
        "suite": "suite",
        "title": "Suite",
        "state": "complete",
        "created": NOW,
        "suite_file": SuiteFile(name="suite.toml", sha256="0" * 64, text=""),
        "parameters": Parameters(
            servers=servers,
            workloads=list(dict.fromkeys(str(case.dimensions["workload"]) for case in cases)),
            workers=[1],
            connections=100,
            duration=5,
            warmup=1,
            repeats=repeats,
            seed=42,
        ),
        "command_line": [],
        "source": Source(),
        "layout": Layout(roles={"server": [0], "generator": [1]}),
        "generator": Generator(name="oha", version="1.16.0"),
        "cases": list(cases),
    }
    run = Run.model_validate(defaults | fields)
    return StoredRun(Path(run.id), run, list(samples))


def measured(
    rows: Mapping[str, Sequence[float]],
    twin: Mapping[str, Sequence[float]] | None = None,
    metric: str = "rps",
    repeats: int = 5,
    **fields: Any,
) -> StoredRun:
    """A run of server → accepted values of rounds 1, 2, …; ``twin`` the second lane of some of them."""
    cases: list[Case] = []
    samples: list[Sample] = []
    for role, lanes in (("case", rows), ("twin", twin or {})):
        for server, values in lanes.items():
            cases.append(case(server, role))
            samples += [sample(cases[-1], i, value, metric) for i, value in enumerate(values, 1)]
    return stored(cases, samples, repeats, **fields)
