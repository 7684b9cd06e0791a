"""The command `lapsheet`: parses, calls, prints."""

from __future__ import annotations

import errno
import json
import shlex
import sys
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from runner import __version__, beginning, capture, doctor, importers, quickstart, store, suite, verify
from runner import plan as plans
from runner.errors import ArtifactError, LapsheetError
from runner.export import as_csv, as_json
from runner.model import ID_RULE, UPSTREAM, Run, Sample, is_id
from runner.options import (
    ARTIFACTS,
    AsJson,
    Connections,
    Cpus,
    Duration,
    ForeignLimit,
    GeneratorName,
    Ladder,
    Output,
    Rate,
    Repeats,
    Seed,
    Servers,
    SuiteName,
    TwinLane,
    Warmup,
    Workers,
    Workloads,
)
from runner.plan import Options
from runner.progress import Display
from runner.summarize import render

app = typer.Typer(
    name="lapsheet",
    help="Benchmark reports that readers can check: capture pinned runs, publish them as a site.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
# What a machine refuses and its owner can mend.
_MENDABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EMFILE, errno.EACCES, errno.EROFS)
_out = Console(highlight=False)
_err = Console(stderr=True, highlight=False)


def main() -> None:
    """Run the command line; errors that a person can mend are printed without a traceback."""
    try:
        app()
    except LapsheetError as error:
        _err.print(f"[red]error:[/red] {escape(error.message)}")
        if error.hint:
            _err.print(error.hint, markup=False, soft_wrap=True)
        sys.exit(2)
    except OSError as error:
        if error.errno not in _MENDABLE:
            raise
        _err.print(f"error: {error.filename or 'a file'}: {error.strerror}", markup=False, soft_wrap=True)
        _err.print("Mend this and try again; every sample that was stored is safe.")
        sys.exit(2)
    except KeyboardInterrupt:
        _err.print("stopped; every stored sample is safe, and `run … --resume` completes an unfinished run")
        sys.exit(130)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"lapsheet {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command("doctor")
def doctor_command(output: Output = ARTIFACTS, json_: AsJson = False) -> None:
    """Examine this machine: what would spoil or prevent a run, and the remedy for each.

    Exits 1 if something prevents a run.
    """
    findings = doctor.examine(output)
    if json_:
        print(doctor.as_json(findings))
    else:
        doctor.render(findings)
    if any(finding.status == "fail" for finding in findings):
        raise typer.Exit(1)


@app.command()
def suites(json_: AsJson = False) -> None:
    """List the bundled suites."""
    loaded = [suite.load(path.stem).suite for path in suite.bundled()]
    if json_:
        fields = {"name", "title", "description"}
        print(json.dumps([item.model_dump(include=fields) for item in loaded], indent=1))
        return
    for item in loaded:
        _out.print(f"{item.name}: {item.title}", markup=False, style="bold")
        _out.print(
            f"  {len(item.server)} servers × {len(item.workload)} workloads; {item.description.strip()}",
            markup=False,
            soft_wrap=True,
        )


@app.command("plan")
def plan_command(
    context: typer.Context,
    suite_name: SuiteName,
    server: Servers = None,
    workload: Workloads = None,
    workers: Workers = None,
    connections: Connections = None,
    duration: Duration = None,
    warmup: Warmup = None,
    repeats: Repeats = None,
    seed: Seed = None,
    rate: Rate = None,
    ladder: Ladder = False,
    generator: GeneratorName = None,
    cpus: Cpus = None,
    twin: TwinLane = None,
    foreign_limit: ForeignLimit = None,
    json_: AsJson = False,
) -> None:
    """Show what `run` would do: cases, CPU layout, generator, time. Starts nothing."""
    plan = plans.make(suite.load(suite_name), _options(context.params))
    if json_:
        print(json.dumps(plans.as_json(plan), indent=1))
    else:
        for line in plans.describe(plan):
            _out.print(line, markup=False, soft_wrap=True)


@app.command()
def run(
    context: typer.Context,
    suite_name: SuiteName,
    server: Servers = None,
    workload: Workloads = None,
    workers: Workers = None,
    connections: Connections = None,
    duration: Duration = None,
    warmup: Warmup = None,
    repeats: Repeats = None,
    seed: Seed = None,
    rate: Rate = None,
    ladder: Ladder = False,
    generator: GeneratorName = None,
    cpus: Cpus = None,
    twin: TwinLane = None,
    foreign_limit: ForeignLimit = None,
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="A fixed port, instead of a free one a sample.")
    ] = None,
    output: Output = ARTIFACTS,
    run_id: Annotated[
        str | None, typer.Option("--id", help="The run's id, instead of <suite>-<UTC time>-<hash>.")
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Complete the newest unfinished run of the suite (or the one of --id)."
        ),
    ] = False,
) -> None:
    """Capture a run into the artifacts folder.

    Each sample starts a fresh server on its CPUs, checks its answers, workers and event loop, warms up,
    measures, checks again, and is stored before the next. Ctrl-C ends after the running sample, twice
    ends at once; `--resume` completes the run. Exits 1 if a sample failed or every attempt at one was
    rejected, 130 if interrupted.
    """
    final = _capture(suite.load(suite_name), _options(context.params), output, run_id, resume, port)
    _finish(final, output, suite_name)


@app.command()
def summarize(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="A run's id, or its folder.")],
    format_: Annotated[str, typer.Option("--format", help="table, csv or json.")] = "table",
    output: Output = ARTIFACTS,
) -> None:
    """Summarize a run: medians, ranges, tiers, and what was rejected or failed."""
    stored = store.read(_folder(output, run_id))
    if format_ == "table":
        render(stored, _out)
    elif format_ in ("csv", "json"):
        print({"csv": as_csv, "json": as_json}[format_](stored), end="")
    else:
        raise LapsheetError(f"unknown format {format_!r}", "Choose table, csv or json.")


@app.command("verify")
def verify_command(
    run_ids: Annotated[
        list[str] | None, typer.Argument(metavar="[RUN…]", help="Run ids or folders; none means all.")
    ] = None,
    output: Output = ARTIFACTS,
) -> None:
    """Check hashes, schema and samples of runs, and recompute every figure from the raw files.

    Exits 1 if anything is wrong, naming the file.
    """
    pins = {pin.run: pin for pin in store.read_pins(output).values()}
    folders = (
        [_folder(output, name) for name in run_ids]
        if run_ids
        else [output / name for name in store.run_ids(output)]
    )
    missing = [] if run_ids else sorted(pins.keys() - {folder.name for folder in folders})
    for name in missing:
        _out.print(f"[red]missing[/red] {name}: pinned in {escape(str(output / store.PINS))}, but not here")
    if not folders and not missing:
        there = "Capture one: `lapsheet run rest`." if output.is_dir() else "There is no such folder."
        raise ArtifactError(f"no runs in {output}", there)
    bad = bool(missing)
    for folder in folders:
        report = verify.verify(folder, pins.get(folder.name))
        if report.ok:
            _out.print(
                f"[green]ok[/green] {report.run}: {report.files} files, {report.bytes:,} bytes, "
                f"{report.figures:,} figures recomputed"
            )
        else:
            bad = True
            _out.print(f"[red]wrong[/red] {escape(report.run)}")
            for problem in report.problems:
                _out.print(f"  {problem}", markup=False, soft_wrap=True)
        for note in report.notes:
            _out.print(f"  {note}", markup=False, soft_wrap=True)
    if bad:
        raise typer.Exit(1)


@app.command("import")
def import_command(
    format_: Annotated[
        str, typer.Argument(metavar="FORMAT", help=f"Of what kind: {', '.join(importers.IMPORTERS)}.")
    ],
    files: Annotated[list[Path], typer.Argument(metavar="FILES…", help="Files, or a folder of them.")],
    into: Annotated[
        str | None, typer.Option(metavar="RUN-ID", help="The new run's id, instead of ref-FORMAT-SOURCE.")
    ] = None,
    mapping: Annotated[
        Path | None, typer.Option(help="What the files mean (TOML), instead of the bundled one that fits.")
    ] = None,
    output: Output = ARTIFACTS,
) -> None:
    """Import what others measured or published as a run of its own, marked as such everywhere.

    `published` reads transcribed CSV tables. The files are kept verbatim in the run, and `verify`
    computes its figures from them again. Nothing is written unless all of it is right.
    """
    importer = importers.by_name(format_)
    final = importer.bring(files, output, into, mapping, ["lapsheet", *sys.argv[1:]])
    figures = sum(len(sample.metrics) for sample in store.read_samples(output / final.id))
    _out.print(
        f"imported {figures} figures of {len(final.cases)} cases into {output / final.id}",
        markup=False, soft_wrap=True,
    )  # fmt: skip


@app.command("quickstart")
def quickstart_command(
    serve: Annotated[bool, typer.Option("--serve/--no-serve", help="Serve the site at the end.")] = True,
    server: Servers = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port of the site; the next free one is taken.")
    ] = 8000,
    output: Output = ARTIFACTS,
) -> None:
    """Measure a few servers briefly, build the site with that run on it, and serve it.

    A first look, in under two minutes: samples this short are for seeing the report, not for ranking.
    """
    quickstart.check(Path.cwd())
    final = _capture(suite.load("rest"), quickstart.options(server or []), output, None, False, None)
    if final.state == "interrupted":
        _finish(final, output, final.suite)
    site = quickstart.build(Path.cwd(), output)
    page = f"runs/{final.id}/"
    _err.print(
        f"site built; the page of this run: {site / page / 'index.html'}", markup=False, soft_wrap=True
    )
    if serve:
        quickstart.serve(site, port, page, _err)
    _exit_status(output / final.id)


def _options(given: dict[str, Any]) -> Options:
    """What `plan` and `run` were given, by the names of their parameters."""
    lists = {"servers": "server", "workloads": "workload", "workers": "workers", "cpus": "cpus"}
    chosen: dict[str, Any] = {name: list(given[key] or []) for name, key in lists.items()}
    chosen |= {item.name: given[item.name] for item in fields(Options) if item.name not in lists}
    return Options(**chosen)


def _capture(
    loaded: suite.LoadedSuite,
    options: Options,
    output: Path,
    run_id: str | None,
    resume: bool,
    port: int | None,
) -> Run:
    if run_id is not None and not is_id(run_id):
        raise ArtifactError(f"--id {run_id!r} is not an id", f"An id has {ID_RULE}.")
    project = Path.cwd()
    if resume:
        plan, folder = beginning.unfinished(loaded, options, output, run_id)
        writer = beginning.resume(plan, folder, project)
    else:
        plan = plans.make(loaded, options)
        writer = beginning.begin(plan, output, project, ["lapsheet", *sys.argv[1:]], run_id)
    with writer, capture.on_runner_cpus(plan.layout), Display(_err) as display:
        return capture.execute(plan, writer, project, display, port)


def _finish(final: Run, output: Path, suite_name: str) -> None:
    folder = output / final.id
    if final.state == "interrupted":
        _err.print(
            f"interrupted; complete it with: lapsheet run {shlex.quote(suite_name)} --resume --id {final.id}"
            f"{_where(output)}",
            markup=False,
            soft_wrap=True,
        )
        raise typer.Exit(130)
    render(store.read(folder), _out)
    check = f"lapsheet verify {final.id}{_where(output)}"
    _err.print(f"stored in {folder}; check it with: {check}", markup=False, soft_wrap=True)
    _exit_status(folder)


def _where(output: Path) -> str:
    """The option that a printed command needs to find the run."""
    return "" if output == ARTIFACTS else f" --output {shlex.quote(str(output))}"


def _exit_status(folder: Path) -> None:
    """Exit 1 if a sample failed or is missing: the run is whole, but somebody has to look."""
    samples = store.read_samples(folder)
    failed = {sample.case for sample in samples if sample.status == "failed"}
    settled = {(sample.case, sample.repeat) for sample in samples if sample.status != "rejected"}
    lost = {sample.case for sample in samples if (sample.case, sample.repeat) not in settled}
    if failed:
        _err.print(
            f"failed by the server's own doing (reasons above): {', '.join(sorted(failed))}", markup=False
        )
    if lost:
        _err.print(
            "without all their samples, because each attempt at one was rejected: "
            f"{', '.join(sorted(lost))}; {_remedy(samples, lost)}",
            markup=False,
            soft_wrap=True,
        )
    if failed or lost:
        raise typer.Exit(1)


def _remedy(samples: list[Sample], lost: set[str]) -> str:
    """Where to look for what kept these cases from all their samples."""
    codes = {note.code for s in samples if s.case in lost and s.status == "rejected" for note in s.reasons}
    if codes <= {UPSTREAM, "capacity"}:
        return "the reasons are above, the upstream's log is among the raw files"
    return "`lapsheet doctor` says what disturbs this machine"


def _folder(output: Path, run: str) -> Path:
    """The folder of a run id, or of a path to a run folder."""
    path = Path(run)
    if "/" in run and path.is_dir():
        return path.resolve()
    return store.run_folder(output, run.rstrip("/"))
