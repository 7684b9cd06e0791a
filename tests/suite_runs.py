"""Stored runs of the bundled suites whose figures are written down in a test, on disk for a site to show."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from runner import suite as suites
from runner.cases import cases_of, stages
from runner.model import (
    Case,
    Check,
    CpuSetWitness,
    FileEntry,
    Generator,
    Layout,
    Note,
    Parameters,
    Probe,
    Run,
    Sample,
    Source,
    Upstream,
)
from runner.store import MANIFEST, SAMPLES

PUBLISHED = Path(__file__).parent.parent / "artifacts" / "ref-published-aiohttp-asgi"
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)

Figures = Callable[[Case, int], dict[str, float] | None]
"""The metrics of a case in a round (from 1); None where that sample failed."""


def latencies(rps: float, connections: int = 100) -> dict[str, float]:
    """Closed-loop figures of that throughput, of one shape."""
    mean = connections / rps
    return {"rps": rps, "mean": mean, "p50": 0.9 * mean, "p95": 1.8 * mean, "p99": 2.5 * mean}


def probed(scale: float, gap: float = 0.000004) -> dict[str, float]:
    """The probe's figures of that scale in seconds."""
    shape = {"p50": 1.0, "p95": 2.0, "p99": 3.0}
    parts = {"headers": scale, "first_body": scale + gap, "gap": gap, "total": scale + gap}
    return {f"probe_{key}_{p}": value * times for key, value in parts.items() for p, times in shape.items()}


def write_suite_run(
    artifacts: Path,
    run_id: str,
    suite: str,
    figures: Figures,
    *,
    servers: list[str] | None = None,
    workloads: list[str] | None = None,
    workers: list[int] | None = None,
    repeats: int = 3,
    ladder: list[float] | None = None,
    twin: bool = True,
    saturated: Callable[[Case, int], str] = lambda case, repeat: "",
    flagged: Callable[[Case, int], str] = lambda case, repeat: "",
    server_cpus: int = 1,
) -> Run:
    """Write the run folder ``artifacts/<run_id>`` without raw files, and return its manifest.

    ``saturated`` names the role that was at its limit in a sample, ``flagged`` a flag of it, or nothing.
    """
    loaded = suites.load(suite)
    asked, defaults = loaded.suite, loaded.suite.defaults
    parameters = Parameters(
        servers=servers or [server.name for server in asked.server],
        workloads=workloads or [workload.name for workload in asked.workload],
        workers=workers or [],
        connections=defaults.connections,
        duration=defaults.duration,
        warmup=defaults.warmup,
        repeats=repeats,
        seed=defaults.seed,
        twin=twin,
        ladder=ladder or [],
    )
    found = cases_of(asked, parameters)
    roles = {"server": list(range(server_cpus)), "upstream": [server_cpus], "generator": [server_cpus + 1]}
    if asked.upstream is None:
        del roles["upstream"]
    samples = list(_samples(found, parameters, figures, saturated, flagged, loaded))
    lines = b"".join(sample.model_dump_json(exclude_none=True).encode() + b"\n" for sample in samples)
    run = Run(
        id=run_id,
        suite=asked.name,
        title=asked.title,
        state="complete",
        created=EPOCH,
        finished=EPOCH + timedelta(minutes=10),
        suite_file=loaded.file,
        parameters=parameters,
        command_line=["lapsheet", "run", asked.name],
        source=Source(revision="0" * 40, dirty=False),
        machine={"cpu_model": "Made-up CPU", "cpus": server_cpus + 2},
        packages={"aiohttp": "3.14.5", "httpcore": "1.0.9", "httpx": "0.28.1"},
        python={"version": "3.11.2"},
        layout=Layout(roles=roles),
        generator=Generator(name="oha", version="1.16.0", threads=1),
        upstream=Upstream(label=asked.upstream.label, processes=1) if asked.upstream else None,
        probe=Probe(requests=asked.probe.requests, client="aiohttp 3.14.5") if asked.probe else None,
        labels={
            "server": {server.name: server.label for server in asked.server},
            "workload": {item.name: item.label for item in [*asked.workload, *asked.control]},
            "series": {series.name: series.label for series in asked.series},
        },
        cases=found,
        comparable={"duration": defaults.duration},
        files=[FileEntry(path=SAMPLES, size=len(lines), sha256=hashlib.sha256(lines).hexdigest())],
    )
    folder = artifacts / run_id
    folder.mkdir(parents=True)
    (folder / SAMPLES).write_bytes(lines)
    (folder / MANIFEST).write_bytes(run.model_dump_json(indent=1, exclude_none=True).encode() + b"\n")
    return run


def _samples(
    found: list[Case],
    parameters: Parameters,
    figures: Figures,
    saturated: Callable[[Case, int], str],
    flagged: Callable[[Case, int], str],
    loaded: suites.LoadedSuite,
) -> Iterator[Sample]:
    order = 0
    for repeat, those in stages(found, parameters):
        for case in those:
            order += 1
            metrics, role = figures(case, repeat), saturated(case, repeat)
            code = flagged(case, repeat)
            fields: dict[str, Any] = {"status": "accepted", "metrics": metrics}
            if metrics is None:
                note = {"code": "timeouts", "message": "3 of the server's own timeouts fired"}
                fields = {"status": "failed", "reasons": [note]}
            checks = [Check(name="status", status="ok")]
            if loaded.suite.upstream is not None and case.role != "control":
                checks.append(Check(name="timeouts", status="failed" if metrics is None else "ok"))
            witness = {role: _busy()} if role else {}
            rate = ["-q", "1"] if case.series == "ladder" else []
            yield Sample(
                case=case.id,
                dimensions=case.dimensions,
                repeat=repeat,
                order=order,
                started=EPOCH + timedelta(seconds=8 * order),
                checks=checks,
                witness=witness,
                flags=[Note(code=code, message="made up")] if code else [],
                commands={"generator": ["oha", *rate, "-z", "5s"]},
                **fields,
            )


def _busy() -> CpuSetWitness:
    return CpuSetWitness(cpus=[1], busy=0.9, busiest_cpu=0.97, busiest_thread=0.97, own=0.9, threads=1)


PROXY_SERVERS = ["uvicorn-httptools", "granian", "aiohttp-asgi-uvloop", "aiohttp-asgi-rloop", "uvicorn-h11"]
CONTROL_RPS = {"direct-1k": 16_000.0, "direct-64k": 7_000.0}
BISTABLE = [10.0, 130.0, 128.0]
"""The throughputs of uvicorn-h11 with httpx and the small body, by round."""


def proxy_rps(case: Case, repeat: int) -> float | None:
    """Granian comes within twice of its control; uvicorn-h11 is bistable, and fails a round of httpx-64k."""
    server, workload = str(case.dimensions["server"]), str(case.dimensions["workload"])
    wobble = 1 + 0.01 * (repeat - 2)
    if case.role == "control":
        return CONTROL_RPS[workload] * (1 + 0.02 * (repeat - 1))
    if (server, workload) == ("uvicorn-h11", "httpx-1k"):
        return BISTABLE[repeat - 1]
    if (server, workload) == ("uvicorn-h11", "httpx-64k") and repeat == 2:
        return None
    base = {"granian": 9_000.0}.get(server, 4_000.0 - 500.0 * PROXY_SERVERS.index(server))
    return (
        base * {"aiohttp-1k": 1.0, "httpx-1k": 0.25, "aiohttp-64k": 0.4, "httpx-64k": 0.12}[workload] * wobble
    )


def proxy_figures(case: Case, repeat: int) -> dict[str, float] | None:
    rps = proxy_rps(case, repeat)
    if rps is None:
        return None
    figures = latencies(rps) | {
        "body_rate": rps * (65_548 if "64k" in str(case.dimensions["workload"]) else 1_036)
    }
    gap = 0.041 if case.dimensions["server"] == "uvicorn-h11" else 0.000004 + 0.0000001 * repeat
    return figures if case.role == "control" else figures | probed(50 / rps, gap)


def proxy_saturated(case: Case, repeat: int) -> str:
    """Granian's large bodies by aiohttp meet the upstream's limit."""
    at_limit = (case.dimensions["server"], case.dimensions["workload"]) == ("granian", "aiohttp-64k")
    return "upstream" if at_limit else ""


def nagle_figures(case: Case, repeat: int) -> dict[str, float]:
    held = case.dimensions["server"] == "uvicorn-h11" and case.dimensions["workers"] == 2
    rps = (600.0 if held else 4_000.0) + repeat
    return latencies(rps, 25) | probed(0.004 + 0.0001 * repeat, 0.0437 if held else 0.000004 + 1e-7 * repeat)


def pool_figures(case: Case, repeat: int) -> dict[str, float]:
    connections = int(case.dimensions["connections"])
    if case.role == "control":
        return latencies(16_000.0 + repeat, connections)
    if case.dimensions["workload"] == "aiohttp-1k":
        return latencies(4_000.0 + 10 * repeat, connections)
    rps = BISTABLE[repeat - 1] if connections == 100 else 1_200.0 - 10 * connections + repeat
    return latencies(rps, connections) | {"p99": 4.0 if rps < 50 else 3 * connections / rps}


def workers_figures(case: Case, repeat: int) -> dict[str, float]:
    base = 5_000.0 - 300.0 * ["uvloop", "rloop", "asyncio"].index(
        str(case.dimensions["server"]).split("-")[-1]
    )
    base *= 0.9 if case.dimensions["workload"] == "create_order" else 1.0
    return latencies(base * int(case.dimensions["workers"]) ** 0.9 * (1 + 0.01 * repeat))


CAPACITY = 5_000.0


def ladder_figures(case: Case, repeat: int) -> dict[str, float]:
    """Capacity 5,000/s; the p99 climbs from 80 % on, 95 % is not reached; one outlier at the lowest load."""
    load = case.dimensions["load"]
    if load == "capacity":
        return latencies(CAPACITY * (1 + 0.01 * (repeat - 2)))
    share = int(load) / 100
    p99 = {0.8: 0.05, 0.95: 0.8}.get(share, 0.004) * (1 + 0.1 * repeat)
    if (share, repeat) == (0.2, 3):
        p99 = 0.04
    achieved = CAPACITY * min(share, 0.9)
    return {"rps": achieved, "open_p50": 0.002 + share / 1000, "open_p95": p99 / 2, "open_p99": p99}


def ladder_flags(case: Case, repeat: int) -> str:
    """All of 95 %, and one sample of 80 % although it achieved its rate."""
    missed = case.dimensions["load"] == 95 or (case.dimensions["load"], repeat) == (80, 1)
    return "rate-not-reached" if missed else ""


LOOPS = ["aiohttp-asgi-uvloop", "aiohttp-asgi-rloop", "aiohttp-asgi-asyncio"]
LADDER = [0.2, 0.4, 0.6, 0.8, 0.95]


def write_all(artifacts: Path, *, server_cpus: int = 1) -> dict[str, str]:
    """A run for each pin of the proxy pages and investigations; gives pin → run id."""
    write_suite_run(
        artifacts,
        "made-proxy",
        "proxy",
        proxy_figures,
        servers=PROXY_SERVERS,
        workers=[1],
        saturated=proxy_saturated,
    )
    write_suite_run(artifacts, "made-nagle", "nagle", nagle_figures, repeats=5)
    write_suite_run(artifacts, "made-pool", "pool", pool_figures)
    write_suite_run(
        artifacts,
        "made-workers",
        "rest",
        workers_figures,
        servers=LOOPS,
        workers=[1, 2],
        server_cpus=server_cpus,
    )
    write_suite_run(
        artifacts,
        "made-ladder",
        "rest",
        ladder_figures,
        servers=["uvicorn-httptools"],
        workloads=["get_item"],
        workers=[1],
        ladder=LADDER,
        twin=False,
        flagged=ladder_flags,
    )
    return {name: f"made-{name}" for name in ("proxy", "nagle", "pool", "workers", "ladder")}


def write_others(artifacts: Path) -> dict[str, str]:
    """All that the project's pages ask for beside the run ``rest``; gives pin → run id."""
    shutil.copytree(PUBLISHED, artifacts / PUBLISHED.name)
    return write_all(artifacts) | {"published": PUBLISHED.name}
