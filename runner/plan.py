"""What a run will do, before anything starts: parameters, cases, CPUs, generator, time."""

from __future__ import annotations

import math
import resource
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import TypeVar

from runner import client
from runner import suite as suites
from runner.cases import cases_of
from runner.errors import MachineError, SuiteError
from runner.generators import pick
from runner.generators.base import Load, LoadGenerator
from runner.layout import MOST, parse_overrides, plan_layout
from runner.model import UPSTREAM, Case, Layout, Parameters, rounds
from runner.progress import duration
from runner.suite import LoadedSuite
from runner.tables import Request
from runner.upstream import processes

# What starting, checking and stopping a server takes, beside warm-up and sample; for the estimate only.
OVERHEAD_S = 2.0
PROBE_S = 1.5
MOST_RATE = 1e7
# The loads of a load ladder, as shares of the measured capacity.
LADDER = (0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95)
# Open files of a server or a generator beside its connections: libraries, pipes, event loops.
SPARE_FILES = 64

T = TypeVar("T")


@dataclass(frozen=True)
class Options:
    """The command line's choices; None or empty means the suite's own.

    Among ``workers``, "cpus" stands for as many as the server has CPUs.
    """

    servers: list[str] = field(default_factory=list)
    workloads: list[str] = field(default_factory=list)
    workers: list[int | str] = field(default_factory=list)
    connections: int | None = None
    duration: float | None = None
    warmup: float | None = None
    repeats: int | None = None
    seed: int | None = None
    rate: float | None = None
    twin: bool | None = None
    foreign_limit: float | None = None
    generator: str | None = None
    cpus: list[str] = field(default_factory=list)
    ladder: bool = False


@dataclass(frozen=True)
class Plan:
    """A run, decided: everything a capture needs and ``lapsheet plan`` shows."""

    loaded: LoadedSuite
    parameters: Parameters
    cases: list[Case]
    layout: Layout
    generator: LoadGenerator
    generator_version: str

    @property
    def samples(self) -> int:
        """How many samples a complete run has, without retries."""
        return sum(len(rounds(case, self.parameters)) for case in self.cases)

    @property
    def seconds(self) -> float:
        """The estimated wall time in seconds."""
        probe = PROBE_S if self.loaded.suite.probe else 0.0
        return self.samples * (self.parameters.warmup + self.parameters.duration + probe + OVERHEAD_S)


def make(loaded: LoadedSuite, options: Options) -> Plan:
    """Decide a run.

    The A/A lane is on where nothing was deselected, unless ``options.twin`` says otherwise. Raises
    SuiteError for an unknown name, an option that is no number, or no case at all; MachineError for CPUs
    that are not there or more connections than open files; GeneratorError for no generator, or one that
    cannot send this load. Whether the servers are installed is for `check_installed`.
    """
    _check_finite(options)
    _check_rate(options.rate, options.ladder)
    suite, defaults = loaded.suite, loaded.suite.defaults
    full = not options.servers and not options.workloads
    cpus = _server_cpus(options, suite)
    parameters = Parameters(
        servers=suites.select(suite, "server", options.servers),
        workloads=suites.select(suite, "workload", options.workloads),
        workers=list(dict.fromkeys(cpus if n == "cpus" else int(n) for n in options.workers)),
        connections=_or(options.connections, defaults.connections),
        connections_chosen=options.connections is not None,
        duration=_or(options.duration, defaults.duration),
        warmup=_or(options.warmup, defaults.warmup),
        repeats=_or(options.repeats, defaults.repeats),
        seed=_or(options.seed, defaults.seed),
        rate=options.rate,
        twin=full and not options.ladder if options.twin is None else options.twin,
        foreign_limit=_or(options.foreign_limit, defaults.foreign_limit),
        ladder=list(LADDER) if options.ladder else [],
    )
    cases = cases_of(suite, parameters, cpus)
    if not cases:
        raise SuiteError(
            f"suite {suite.name!r} has no case for this choice of servers and workloads",
            "A workload may need a lifespan that the chosen server never runs; see `lapsheet plan`.",
        )
    _check_environments(suite, parameters)
    _check_open_files(cases)
    most = max(int(case.dimensions["workers"]) for case in cases if case.role != "control")
    layout = _layout(options.cpus, suite, most)
    if suite.upstream:
        cases = cases_of(suite, parameters, cpus, processes(suite.upstream, layout.roles[UPSTREAM]))
    generator, found = _generator(options.generator)
    plan = Plan(loaded, parameters, cases, layout, generator, found)
    _check_generator(plan)
    return plan


def check_installed(loaded: LoadedSuite, parameters: Parameters) -> None:
    """Raise SuiteError if a chosen server, the upstream or the probe needs a distribution that is missing."""
    suite = loaded.suite
    needed = {server.name: server.requires for server in suite.server if server.name in parameters.servers}
    if suite.upstream:
        needed["the upstream"] = suite.upstream.requires
    if suite.probe:
        needed["the probe"] = ["aiohttp"]
    missing: dict[str, list[str]] = {}
    for what, distributions in needed.items():
        for name in distributions:
            try:
                version(name)
            except PackageNotFoundError:
                missing.setdefault(name, []).append(what)
    if missing:
        raise SuiteError(
            "not installed: "
            + "; ".join(f"{name} (needed by {', '.join(whose)})" for name, whose in missing.items()),
            "Install with `uv sync --group bench` (or run by `uv run --group bench lapsheet …`), "
            "or choose other servers with --server.",
        )


def as_json(plan: Plan) -> dict[str, object]:
    """A plan as plain values, for `lapsheet plan --json`."""
    return {
        "suite": plan.loaded.suite.name,
        "parameters": plan.parameters.model_dump(),
        "generator": {"name": plan.generator.name, "version": plan.generator_version},
        "layout": plan.layout.model_dump(),
        "samples": plan.samples,
        "seconds": plan.seconds,
        "cases": [case.model_dump(exclude_none=True) for case in plan.cases],
    }


def describe(plan: Plan) -> list[str]:
    """A plan in lines for a person."""
    parameters = plan.parameters
    loop = f"open loop at {parameters.rate:g} requests/s" if parameters.rate else "closed loop"
    if parameters.ladder:
        loop = "closed loop for the capacity, then open loop at shares of it"
    probe = plan.loaded.suite.probe
    lines = [
        f"suite {plan.loaded.suite.name}: {plan.loaded.suite.title}",
        f"generator {plan.generator.name} {plan.generator_version}, {loop}",
        f"{len(plan.cases)} cases × {parameters.repeats} samples of {parameters.duration:g} s after "
        f"{parameters.warmup:g} s warm-up, seed {parameters.seed}: {plan.samples} samples, "
        f"about {duration(plan.seconds)}",
        "CPUs: " + "; ".join(f"{role} {cpus}" for role, cpus in plan.layout.roles.items()),
    ]
    if plan.layout.note:
        lines.append(f"note: {plan.layout.note}")
    if probe:
        lines.append(f"after each sample, {probe.requests} requests timed one by one by the probe")
    marks = {"twin": " (A/A twin)", "control": " (control, once more after the last round)"}
    lines += [f"  {case.id}{marks.get(case.role, '')}" for case in plan.cases]
    return lines


def _check_finite(options: Options) -> None:
    for name in ("duration", "warmup", "rate", "foreign_limit"):
        value = getattr(options, name)
        if value is not None and not math.isfinite(value):
            raise SuiteError(
                f"--{name.replace('_', '-')} {value} is not a finite number",
                "For as much as a server can answer, leave --rate out: that is closed loop."
                if name == "rate"
                else "Give a number.",
            )


def _check_rate(rate: float | None, ladder: bool) -> None:
    if rate is not None and ladder:
        raise SuiteError(
            "--rate and --ladder exclude each other",
            "A ladder takes its rates from the capacity that it measures first.",
        )
    if rate is not None and rate > MOST_RATE:
        raise SuiteError(
            f"--rate {rate:g} requests/s is more than any generator sends",
            "For as much as a server can answer, leave --rate out: that is closed loop.",
        )


def _check_open_files(cases: list[Case]) -> None:
    wanted = max(int(case.dimensions["connections"]) for case in cases) + SPARE_FILES
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and wanted > hard:
        raise MachineError(
            f"{wanted - SPARE_FILES} connections need {wanted} open files, and {hard} is the hard limit here",
            "Raise the limit (`ulimit -n`, as root or in /etc/security/limits.conf), or choose fewer with "
            "--connections.",
        )


def _check_generator(plan: Plan) -> None:
    """Have the generator look at the load of every case, before the first of them has run."""
    suite = plan.loaded.suite
    requests: dict[str, Request] = {request.name: request for request in [*suite.workload, *suite.control]}
    for case in plan.cases:
        workload = requests[str(case.dimensions["workload"])]
        rung = isinstance(case.dimensions.get("load"), int)
        plan.generator.refuse(
            Load(
                url=f"http://{client.LOOPBACK}{workload.path}",
                connections=int(case.dimensions["connections"]),
                duration=plan.parameters.duration,
                method=workload.method,
                headers=workload.headers,
                body=workload.content,
                rate=1.0 if rung else plan.parameters.rate,
                threads=len(plan.layout.roles["generator"]),
            )
        )


def _check_environments(suite: suites.Suite, parameters: Parameters) -> None:
    for server in suite.server:
        if server.name in parameters.servers and server.environment is not None:
            raise SuiteError(
                f"[[server]] {server.name!r}: environment: environments of their own are not built yet",
                "Install what the server needs in this environment and leave the key out.",
            )


def _layout(cpus: list[str], suite: suites.Suite, workers: int) -> Layout:
    roles = ["server", *([UPSTREAM] if suite.upstream else []), "generator"]
    return plan_layout(roles, workers=workers, overrides=parse_overrides(cpus))


def _server_cpus(options: Options, suite: suites.Suite) -> int:
    """How many CPUs a server gets that may have as many as any role."""
    return len(_layout(options.cpus, suite, MOST).roles["server"])


def _generator(name: str | None) -> tuple[LoadGenerator, str]:
    generator = pick(name)
    found = generator.version()
    assert found is not None, "pick() returns only generators that are there"
    return generator, found


def _or(chosen: T | None, default: T) -> T:
    return default if chosen is None else chosen
