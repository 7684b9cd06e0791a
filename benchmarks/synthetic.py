"""Runs that nobody measured, of known structure, for tests and for measuring Lapsheet itself.

A synthetic run is a valid run folder in every way (``lapsheet verify`` passes: hashes, the order of a
real suite, figures that follow from the raw files) whose numbers come from a seed. Its manifest carries
a warning of code ``synthetic``, so that it can never pass for evidence.

The structure that a reader of it must find again:

- servers come in pairs of equal true speed, each pair 10 % slower than the one before, so that pair *k*
  is tier *k* (`true_rate`);
- the samples of a case lie evenly within ±`SPREAD` of its true rate, in a shuffled order, so that its
  median is the true rate, and the noise band at most twice `SPREAD`;
- mean latency is connections / throughput (Little's law, closed loop), percentiles are log-normal.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson

from benchmarks.synthetic_oha import latencies, oha_json
from runner import suite as suites
from runner.cases import cases_of, round_order
from runner.generators.base import Load
from runner.generators.reading import write_load
from runner.model import (
    Case,
    Check,
    CpuSetWitness,
    FileEntry,
    Generator,
    Layout,
    Lock,
    Note,
    Parameters,
    Run,
    Sample,
    Source,
    SuiteFile,
)
from runner.store import MANIFEST, RAW, SAMPLES, StoredRun

Mutate = Callable[[Run, list[Sample]], tuple[Run, list[Sample]]]

CONNECTIONS = 100
DURATION = 5.0
WARMUP = 1.0
SPREAD = 0.01
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)

SERVERS = [
    *["granian", "granian-rloop", "aiohttp-asgi-rloop", "aiohttp-asgi-uvloop", "uvicorn-rloop"],
    *["uvicorn-httptools", "gunicorn-asgi", "gunicorn-uvicorn", "aiohttp-asgi-asyncio", "hypercorn-uvloop"],
    *["hypercorn-asyncio", "uvicorn-h11", "anycorn", "daphne"],
]
WORKLOADS = ["get_item", "create_order"]

_CHECKS = ["response", "workers", "loop", "affinity", "errors", "foreign", "counter"]


def true_rate(server: int, workload: int = 0, workers: int = 1) -> float:
    """The true throughput (1/s) of a server and workload by position, from 0."""
    return float(40_000 * 0.9 ** (server // 2) * 0.6**workload * workers**0.9)


def true_tier(server: int) -> int:
    """The tier that the analysis must give a server by position, from 0."""
    return server // 2 + 1


def write_run(
    artifacts: Path,
    run_id: str,
    *,
    servers: int = 14,
    workloads: int = 2,
    workers: tuple[int, ...] = (1,),
    repeats: int = 5,
    seed: int = 42,
    twin: bool = True,
    raw: bool = True,
    mutate: Mutate | None = None,
) -> StoredRun:
    """Write a complete run folder ``artifacts/<run_id>`` and return what a reader of it gets.

    ``raw`` False leaves the raw files out, for many runs at once. ``mutate`` gets manifest and samples
    before anything is written, and returns what to write instead. Raises FileExistsError if the folder
    is there.
    """
    text = suite_text(servers, workloads)
    suite = suites.parse(text, "synthetic.toml")
    parameters = Parameters(
        servers=[server.name for server in suite.server],
        workloads=[workload.name for workload in suite.workload],
        workers=list(workers),
        connections=CONNECTIONS,
        duration=DURATION,
        warmup=WARMUP,
        repeats=repeats,
        seed=seed,
        twin=twin,
    )
    cases = cases_of(suite, parameters)
    folder = artifacts / run_id
    folder.mkdir(parents=True)
    samples = _samples(cases, parameters)
    run = _manifest(run_id, suite, text, parameters, cases, samples[-1].started + timedelta(seconds=DURATION))
    if mutate:
        run, samples = mutate(run, samples)
    if raw:
        samples = [_with_raw(folder, sample) for sample in samples]
    lines = b"".join(sample.model_dump_json(exclude_none=True).encode() + b"\n" for sample in samples)
    (folder / SAMPLES).write_bytes(lines)
    files = [entry for sample in samples for entry in sample.raw] + [_entry(SAMPLES, lines)]
    run = run.model_copy(update={"files": sorted(files, key=lambda entry: entry.path)})
    (folder / MANIFEST).write_bytes(run.model_dump_json(indent=1, exclude_none=True).encode() + b"\n")
    return StoredRun(folder, run, samples)


def flawed(run: Run, samples: list[Sample]) -> tuple[Run, list[Sample]]:
    """A `Mutate` that gives a run one of each flaw a page must show.

    Of the run's first workload: the fastest server is a floor, the second lost a sample to foreign CPU
    and repeated it at the end of the round, the third failed in two rounds, and the last in all.
    """
    first = [case for case in run.cases if case.dimensions["workload"] == run.parameters.workloads[0]]
    plain = [case.id for case in first if case.role == "case"]
    floor, noisy, shaky, broken = plain[0], plain[1], plain[2], plain[-1]
    result: list[Sample] = []
    again: list[Sample] = []
    for sample in samples:
        if again and sample.repeat > again[0].repeat:
            result.append(again.pop())
        if sample.case == floor:
            result.append(_saturated(sample))
        elif sample.case == noisy and sample.repeat == 2:
            again.append(sample.model_copy(update={"attempt": 2}))
            note = Note(code="foreign", message="31 % of the server's CPUs went to others")
            result.append(sample.model_copy(update={"status": "rejected", "reasons": [note]}))
        elif sample.case == broken or (sample.case == shaky and sample.repeat in (1, 4)):
            result.append(_failing(sample))
        else:
            result.append(sample)
    result += again
    return run, [sample.model_copy(update={"order": order}) for order, sample in enumerate(result, 1)]


def _saturated(sample: Sample) -> Sample:
    busy = sample.witness["generator"].model_copy(update={"busiest_thread": 0.98})
    note = Note(code="saturated", message="generator had a CPU or thread 98 % busy: the figure is a floor")
    return sample.model_copy(
        update={"witness": sample.witness | {"generator": busy}, "flags": [*sample.flags, note]}
    )


def _failing(sample: Sample) -> Sample:
    message = f"answers without 2xx: 12 × 500 beside {sample.counts['ok']} × 2xx"
    return sample.model_copy(
        update={
            "status": "failed",
            "reasons": [Note(code="status", message=message)],
            "counts": sample.counts | {"other_status": 12},
            "checks": [*sample.checks, Check(name="status", status="failed", detail=message)],
        }
    )


def suite_text(servers: int, workloads: int) -> str:
    """A suite file of that many servers and workloads, as TOML."""
    names = [SERVERS[i] if i < len(SERVERS) else f"server-{i + 1}" for i in range(servers)]
    parts = ['name = "synthetic"', 'title = "Synthetic run"', 'app = "app:app"']
    if names:
        parts += ["[twin]", f'server = "{names[0]}"']
    for name in names:
        loop = next((loop for loop in ("rloop", "uvloop") if loop in name), "asyncio")
        parts += ["[[server]]", f'name = "{name}"', f'label = "{name.replace("-", " · ")}"']
        parts += ['command = ["{python}", "-m", "server", "{host}", "{port}", "{workers}", "{app}"]']
        parts += [f'attributes = {{ loop = "{loop}" }}']
    for i in range(workloads):
        name = WORKLOADS[i] if i < len(WORKLOADS) else f"workload-{i + 1}"
        parts += ["[[workload]]", f'name = "{name}"', f'path = "/{name}"']
    parts += ["[[series]]", 'name = "all"', 'label = "All servers"']
    return "\n".join(parts) + "\n"


def _samples(cases: list[Case], parameters: Parameters) -> list[Sample]:
    rates = {case.id: _rates(case, parameters) for case in cases}
    rounds = range(1, parameters.repeats + 1)
    order = [(case, repeat) for repeat in rounds for case in round_order(cases, parameters.seed, repeat)]
    return [
        _sample(case, repeat, number, rates[case.id][repeat - 1])
        for number, (case, repeat) in enumerate(order, 1)
    ]


def _with_raw(folder: Path, sample: Sample) -> Sample:
    """The sample with its raw files, which are written."""
    name = f"{RAW}/{sample.order:04d}"
    path = folder / name
    path.mkdir(parents=True)
    load = Load("http://127.0.0.1:8000/", CONNECTIONS, DURATION)
    write_load(path, load)
    if sample.metrics:
        (path / "oha.json").write_bytes(orjson.dumps(oha_json(sample), option=orjson.OPT_INDENT_2))
    entries = [_entry(f"{name}/{file.name}", file.read_bytes()) for file in sorted(path.iterdir())]
    return sample.model_copy(update={"raw": entries})


def _rates(case: Case, parameters: Parameters) -> list[float]:
    """The rate of each round: evenly spread around the true rate, shuffled."""
    server = parameters.servers.index(str(case.dimensions["server"]))
    workload = parameters.workloads.index(str(case.dimensions["workload"]))
    true = true_rate(server, workload, int(case.dimensions["workers"]))
    count = parameters.repeats
    steps = [2 * i / (count - 1) - 1 for i in range(count)] if count > 1 else [0.0]
    random.Random(f"{parameters.seed}/{case.id}").shuffle(steps)
    return [true * (1 + SPREAD * step) for step in steps]


def _sample(case: Case, repeat: int, order: int, rate: float) -> Sample:
    """A sample at about that rate; the figures are of whole responses over the window, as read back."""
    window = DURATION + 0.001 * (order % 7)
    ok = round(rate * window)
    mean = CONNECTIONS / (ok / window)
    busy = min(0.9, rate / 50_000)
    return Sample(
        case=case.id,
        repeat=repeat,
        order=order,
        started=EPOCH + timedelta(seconds=order * (WARMUP + DURATION + 1)),
        status="accepted",
        metrics={"rps": ok / window} | latencies(mean),
        reported={"requests_per_second": (ok + CONNECTIONS) / window, "success_rate": 1.0},
        counts={
            **{"ok": ok, "other_status": 0, "errors": 0, "cut_off": CONNECTIONS},
            "server": ok + CONNECTIONS // 2,
        },
        checks=[Check(name=name, status="ok") for name in _CHECKS],
        witness={
            "server": _witness([0], busy=0.99, thread=0.99, threads=2),
            "generator": _witness([1], busy=busy, thread=busy * 0.95, threads=1),
        },
        timing={"start": 1.4, "warmup": WARMUP, "measured": window, "stop": 0.3},
        commands={"generator": ["oha", "--no-tui", "--output-format", "json", "-z", f"{DURATION:g}s"]},
    )


def _witness(cpus: list[int], *, busy: float, thread: float, threads: int) -> CpuSetWitness:
    return CpuSetWitness(
        cpus=cpus,
        busy=busy,
        foreign=0.004,
        busiest_cpu=busy,
        busiest_thread=thread,
        own=busy - 0.004,
        threads=threads,
    )


def _manifest(
    run_id: str, suite: suites.Suite, text: str, parameters: Parameters, cases: list[Case], finished: datetime
) -> Run:
    sha = hashlib.sha256(text.encode()).hexdigest()
    requests = {workload.name: f"GET {workload.path}" for workload in suite.workload}
    flags = ["--no-tui", "--output-format", "json"]
    machine = {"cpu_model": "Synthetic CPU", "cpus": 2, "virtualisation": "none"}
    return Run(
        id=run_id,
        suite=suite.name,
        title=suite.title,
        state="complete",
        created=EPOCH,
        finished=finished,
        suite_file=SuiteFile(name="synthetic.toml", sha256=sha, text=text),
        parameters=parameters,
        command_line=["lapsheet", "run", "synthetic.toml", "--seed", str(parameters.seed)],
        source=Source(revision="0" * 40, dirty=False),
        lock=Lock(path="locks/bench.txt", sha256="0" * 64, matches=True),
        packages={"fastapi": "0.162.0", "pydantic": "2.14.1"},
        python={"version": "3.11.2", "implementation": "CPython"},
        machine=machine,
        layout=Layout(roles={"server": [0], "generator": [1], "runner": [1]}, shared=["runner"]),
        generator=Generator(name="oha", version="1.16.0", threads=1, flags=flags),
        labels={
            "server": {server.name: server.label for server in suite.server},
            "workload": {workload.name: workload.label or workload.name for workload in suite.workload},
            "series": {series.name: series.label for series in suite.series},
        },
        cases=cases,
        comparable={
            "application": suite.app,
            "application_sha256": sha,
            "workloads": requests,
            "generator": "oha",
            "generator_version": "1.16.0",
            "generator_flags": flags,
            "duration": parameters.duration,
            "warmup": parameters.warmup,
            "rate": parameters.rate,
            "machine": "Synthetic CPU, 2 CPUs",
            "python": "3.11.2",
            "lock": "0" * 64,
            "layout": "server 1, generator 1, runner shared",
        },
        warnings=[Note(code="synthetic", message="These numbers come from a seed; nothing was measured.")],
    )


def _entry(path: str, data: bytes) -> FileEntry:
    return FileEntry(path=path, size=len(data), sha256=hashlib.sha256(data).hexdigest())
