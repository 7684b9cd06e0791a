"""Where and with what a run was captured."""

from __future__ import annotations

from hooks.drawing import cpu_drawing
from hooks.facts import facts_table, facts_table_html, rows_of
from hooks.markup import details, escape, join_names
from hooks.view import View
from runner.model import Run


def environment_block(view: View) -> str:
    """The CPU layout drawn, then machine and software."""
    run = view.run
    return cpu_drawing(run) + facts_table("Machine", rows_of(run.machine)) + software_block(view)


def software_block(view: View) -> str:
    """Interpreter, generator, lock, source, and every installed distribution."""
    run = view.run
    rows = [(name, escape(value)) for name, value in rows_of({"Python": run.python})]
    threads = f", {_count(run.generator.threads, 'thread')} seen" if run.generator.threads else ""
    rows.append(("Load generator", escape(f"{run.generator.name} {run.generator.version}{threads}")))
    if run.generator.flags:
        rows.append(("Flags of the load generator", f"<code>{escape(' '.join(run.generator.flags))}</code>"))
    if run.upstream is not None:
        rows.append(("Upstream", escape(upstream_words(run))))
    if run.probe is not None:
        rows.append(("Probe", escape(probe_words(run))))
    rows.append(("Lock", _lock(run)))
    rows.append(("Source", _source(run)))
    packages = ""
    if run.packages:
        listing = facts_table("Installed distributions", sorted(run.packages.items()))
        packages = details(f"{len(run.packages)} installed distributions", listing)
    return facts_table_html("Software", rows) + packages


def title_of(view: View) -> str:
    """The run's title, which is its suite's, with what was chosen of the suite; free text."""
    chosen = ["load ladder"] if view.run.parameters.ladder else []
    servers = view.dimensions.get("server", [])
    if len(servers) < _known(view, "server"):
        chosen.append(_count(len(servers), "server"))
        workers = view.dimensions.get("workers", [])
        if len(workers) > 1:
            chosen.append(f"{join_names(map(str, workers))} workers")
    return " · ".join([view.run.title, *([", ".join(chosen)] if chosen else [])])


def summary_line(view: View) -> str:
    """What was measured, on what, as one line of text."""
    run = view.run
    controls = sum(case.role == "control" for case in run.cases)
    what = [_of(view, name) for name in ("server", "workload")]
    what.append(_count(len(run.cases) - controls, "case"))
    if controls:
        what.append(_count(controls, "control"))
    cpu = next((run.machine[key] for key in ("cpu_model", "model", "cpu") if run.machine.get(key)), None)
    where = [str(cpu)] if isinstance(cpu, str) else []
    count = run.machine.get("cpus")
    if isinstance(count, int):
        where.append(_count(count, "CPU"))
    virtual = next((run.machine[key] for key in ("virtualisation", "virtual") if run.machine.get(key)), None)
    if isinstance(virtual, str) and virtual not in ("none", "bare metal", "unknown"):
        where.append(f"virtual ({virtual})")
    return f"{', '.join(what)}; {', '.join(where) or 'machine not recorded'}"


def _of(view: View, dimension: str) -> str:
    """``3 of 14 servers`` where the run has some of its suite's, whose title speaks of all."""
    known, count = _known(view, dimension), len(view.dimensions.get(dimension, []))
    return f"{count} of {_count(known, dimension)}" if known > count else _count(count, dimension)


def _known(view: View, dimension: str) -> int:
    """How many values the suite has, controls apart."""
    beside = {str(c.dimensions.get(dimension)) for c in view.run.cases if c.role == "control"}
    return len(view.run.labels.get(dimension, {}).keys() - beside)


def upstream_words(run: Run) -> str:
    """The helper behind the server: what it is, and how many processes. Free text; empty without one."""
    if run.upstream is None:
        return ""
    return f"{run.upstream.label or 'unnamed'}, {_count(run.upstream.processes, 'process', 'es')}"


def probe_words(run: Run) -> str:
    """What times single requests after a sample's load. Free text; empty without one."""
    if run.probe is None:
        return ""
    by = f", by {run.probe.client}" if run.probe.client else ""
    return f"{_count(run.probe.requests, 'request')} after each sample's load{by}"


def limiters(view: View, *, probe: bool = False) -> str:
    """What may have been at its limit where a figure is a bound, as words; ``probe`` for the probe's own."""
    if probe:
        return "the probe"
    return "the load generator or the upstream" if view.run.upstream is not None else "the load generator"


def attempt_words(view: View) -> str:
    """How many attempts there were and what became of them, as one sentence."""
    counts = view.attempts.statuses
    words = f"{_count(len(view.attempts), 'sample')} taken: {counts['accepted']:,} accepted"
    words += f", {counts['rejected']:,} rejected (disturbed from outside)"
    return f"{words}, {counts['failed']:,} failed (the server's own doing)."


def _count(number: int, noun: str, plural: str = "s") -> str:
    return f"{number:,} {noun}{'' if number == 1 else plural}"


def _lock(run: Run) -> str:
    lock = run.lock
    if lock is None:
        return "none: captured without a lock file"
    state = "installed packages match it" if lock.matches else "<strong>installed packages differ</strong>"
    drift = f": {escape('; '.join(lock.drift))}" if lock.drift else ""
    return f"{escape(lock.path)}, SHA-256 <code>{lock.sha256}</code>; {state}{drift}"


def _source(run: Run) -> str:
    source = run.source
    if source.revision is None:
        return "not in a git repository"
    state = {True: ", with uncommitted changes", False: ", clean", None: ""}[source.dirty]
    return f"<code>{escape(source.revision)}</code>{state}"
