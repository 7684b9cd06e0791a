"""The options of the command line, each declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

ARTIFACTS = Path("artifacts")

SuiteName = Annotated[
    str, typer.Argument(help="A bundled suite's name (see `suites`) or a .toml file's path.")
]
Servers = Annotated[list[str] | None, typer.Option("--server", help="Only this server; repeat for more.")]
Workloads = Annotated[
    list[str] | None, typer.Option("--workload", help="Only this workload; repeat for more.")
]


def _workers(text: str) -> int | str:
    if text != "cpus" and not (text.isascii() and text.isdigit() and 1 <= int(text) <= 1024):
        raise typer.BadParameter(f"{text!r} is neither a number from 1 to 1024 nor cpus")
    return text if text == "cpus" else int(text)


Workers = Annotated[
    list[Any] | None,
    typer.Option(
        "--workers",
        metavar="N|cpus",
        parser=_workers,
        help="Worker processes, instead of each series' own; cpus: one a CPU of the server; repeatable.",
    ),
]
Duration = Annotated[float | None, typer.Option(min=0.1, max=3600, help="Seconds a sample is measured.")]
Warmup = Annotated[float | None, typer.Option(min=0, max=3600, help="Seconds of load before each sample.")]
Repeats = Annotated[int | None, typer.Option(min=1, max=1000, help="Samples a case; rankings want five.")]
Connections = Annotated[
    int | None, typer.Option(min=1, max=100_000, help="Keep-alive connections, instead of the suite's own.")
]
Seed = Annotated[int | None, typer.Option(help="Seed of the order of each round.")]
Rate = Annotated[
    float | None,
    typer.Option(min=0.1, help="Open loop: requests/s sent whatever comes back. Without it, closed loop."),
]
Ladder = Annotated[
    bool,
    typer.Option(
        "--ladder",
        help="A load ladder: measure the capacity in closed loop, then 20 to 95 % of it in open loop.",
    ),
]
GeneratorName = Annotated[
    str | None, typer.Option("--generator", help="oha or k9; by default oha where it is installed.")
]
Cpus = Annotated[
    list[str] | None,
    typer.Option(
        "--cpus", metavar="ROLE=LIST", help="CPUs of a role, as in server=1-4; repeat for each role."
    ),
]
TwinLane = Annotated[
    bool | None,
    typer.Option(
        "--twin/--no-twin",
        help="The A/A lane: one server runs twice a round, which shows the noise. On unless servers or "
        "workloads are selected.",
    ),
]
ForeignLimit = Annotated[
    float | None,
    typer.Option(
        min=0.01, max=1, help="Share of the server's CPUs that others may take before a sample is rejected."
    ),
]
Output = Annotated[Path, typer.Option("--output", "--artifacts", help="The folder that holds the runs.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
