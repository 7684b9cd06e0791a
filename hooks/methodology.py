"""How a run was made, generated from its manifest and samples: nothing here is written by hand."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from hooks.attempts import Outcast
from hooks.cells import figure, percent
from hooks.drawing import cpu_drawing
from hooks.environment import attempt_words, probe_words, software_block, upstream_words
from hooks.facts import facts_table, note_words, rows_of, seconds
from hooks.markup import details, escape, row, sentence, table
from hooks.probing import probe_limits
from hooks.tables import heading
from hooks.view import View
from runner.model import Run

_FEW = 12


@dataclass(frozen=True)
class Section:
    """``title`` is ours and safe as Markdown; ``html`` is the section's content."""

    title: str
    html: str


def sections(view: View) -> list[Section]:
    """The whole method, in reading order; a section with nothing to say is left out."""
    parts: list[tuple[str, Callable[[View], str]]] = [
        ("Parameters", _parameters),
        ("CPU layout", lambda view: cpu_drawing(view.run)),
        (
            "Machine",
            lambda view: facts_table("Machine", rows_of(view.run.machine)) if view.run.machine else "",
        ),
        ("Software", software_block),
        ("Commands", _commands),
        ("Checks", _checks),
        ("Rejected and failed samples", _rejected),
        ("Noise", _noise),
        ("Limits", _limits),
        ("Suite file", _suite),
    ]
    return [Section(title, html) for title, build in parts if (html := build(view))]


def _parameters(view: View) -> str:
    run, asked = view.run, view.run.parameters
    loop = "closed loop (each connection sends its next request when the last was answered)"
    if asked.ladder:
        shares = ", ".join(f"{100 * share:g}" for share in asked.ladder)
        loop = f"{loop} for the capacity, then open loop at {shares} % of it"
    if asked.rate is not None:
        loop = f"open loop, {asked.rate:,g} requests/s"
    rows = [
        ("Suite", f"{run.suite} ({run.suite_file.name}, SHA-256 {run.suite_file.sha256})"),
        ("Captured", f"{run.created:%Y-%m-%d %H:%M} UTC" + (_until(view) if run.finished else "")),
        ("Servers", " · ".join(view.label("server", name) for name in asked.servers)),
        ("Workloads", " · ".join(view.label("workload", name) for name in asked.workloads)),
        ("Workers", ", ".join(map(str, view.dimensions.get("workers", asked.workers)))),
        ("Connections", ", ".join(map(str, view.dimensions.get("connections", [asked.connections])))),
        ("Load", loop),
        (
            "A sample",
            f"{seconds(asked.duration)} after {seconds(asked.warmup)} of warm-up, on a fresh server",
        ),
        ("Samples a case", str(asked.repeats)),
        ("Order", f"each round in a permutation of its own, from seed {asked.seed}"),
        ("A/A lane", "one configuration runs twice a round" if asked.twin else "none"),
        *_helpers(view),
        *rows_of(run.facts),
    ]
    return facts_table("Parameters", rows)


def _helpers(view: View) -> list[tuple[str, str]]:
    """Upstream, controls, probe, bodies and the servers' own timeouts; of each only where the run has it."""
    run, rows = view.run, []
    if run.upstream is not None:
        rows.append(("Upstream", f"{upstream_words(run)}; one for the whole run"))
    controls = [case for case in run.cases if case.role == "control"]
    if controls:
        names = " · ".join(
            view.label("workload", case.dimensions.get("workload", case.id)) for case in controls
        )
        rows.append(("Controls", f"{names}: straight to the upstream, before each round and after the last"))
    if run.probe is not None:
        rows.append(("Probe", probe_words(run)))
    sizes = body_sizes(run)
    if sizes:
        told = " · ".join(f"{view.label('workload', name)}: {size:,} bytes" for name, size in sizes.items())
        rows.append(("Request bodies", told))
    fired = view.attempts.checks["timeouts", "failed"]
    looked = fired + view.attempts.checks["timeouts", "ok"]
    if looked:
        told = f"fired in {fired:,}" if fired else "none fired in any"
        when = "before the load and after the probe" if run.probe is not None else "before and after the load"
        rows.append(("The servers' own timeouts", f"counted {when}; {told} of {looked:,} samples"))
    return rows


def body_sizes(run: Run) -> dict[str, int]:
    """Workload or control → bytes of its generated body, as its suite file says; empty where none has one."""
    if "payload" not in run.suite_file.text:  # most have none, and reading TOML is slow
        return {}
    try:
        suite = tomllib.loads(run.suite_file.text)
    except tomllib.TOMLDecodeError:
        return {}
    found: dict[str, int] = {}
    for kind in ("workload", "control"):
        tables = suite.get(kind)
        for item in tables if isinstance(tables, list) else []:
            payload = item.get("payload") if isinstance(item, dict) else None
            if isinstance(payload, dict) and isinstance(payload.get("size"), int):
                around = f"{payload.get('before', '')}{payload.get('after', '')}"
                found[str(item.get("name", ""))] = payload["size"] + len(around.encode())
    return found


def _until(view: View) -> str:
    finished = view.run.finished
    assert finished is not None
    return f", in {(finished - view.run.created).total_seconds() / 60:.0f} min"


def _commands(view: View) -> str:
    """The runner's own command, each server's and each workload's first one of its accepted samples."""
    lines = [_command("Lapsheet", view.run.command_line)]
    found = sorted(view.attempts.commands.items(), key=lambda item: item[0][0] != "server")
    rows = [
        row(
            escape(role),
            view.label_html("server" if role == "server" else "workload", value),
            f"<code>{escape(shlex.join(argv))}</code>",
        )
        for (role, value), argv in found
    ]
    if rows:
        each = (
            "each workload, in a closed and in an open loop"
            if view.run.parameters.ladder
            else "each workload"
        )
        caption = f"One command of each server, and of the load generator for {each}; "
        caption += "ports differ from sample to sample" + (
            ", rates by load" if view.run.parameters.ladder else ""
        )
        listing = table(caption, ["Role", "For", "Command"], rows, "ls-facts")
        lines.append(details("The exact commands", listing))
    return "".join(lines)


def _command(name: str, argv: Iterable[str]) -> str:
    return f"<p>{escape(name)}: <code>{escape(shlex.join(argv))}</code></p>"


def _checks(view: View) -> str:
    counts, why = view.attempts.checks, view.attempts.unchecked
    names = dict.fromkeys(name for name, _ in counts)
    if not names:
        return ""
    caption = "Checks made before and after the samples, and what they found"
    heads = ["Check", "Passed", "Failed", "Not checked", "Why not"]
    rows = (
        row(
            escape(name),
            *(f"{counts[name, status]:,}" for status in ("ok", "failed", "not checked")),
            escape("; ".join(why.get(name, []))),
        )
        for name in names
    )
    return table(caption, heads, rows)


def _rejected(view: View) -> str:
    """Every attempt that does not count, with its reasons; then the flags of those that do."""
    parts = [f"<p>{escape(attempt_words(view))}</p>"]
    outs = view.attempts.outcasts
    if outs:
        heads = ["Case", "Round", "Attempt", "Became", "Why"]
        rows = (_attempt(view, attempt) for attempt in outs)
        listing = table("Attempts that do not count", heads, rows, "ls-facts")
        parts.append(listing if len(outs) <= _FEW else details(f"All {len(outs):,} of them", listing))
    if view.attempts.flags:
        items = "".join(
            f"<li>{count:,} × <strong>{escape(code)}</strong>, for example: {escape(message)}</li>"
            for code, (count, message) in view.attempts.flags.items()
        )
        parts.append(f"<p>Flags, on samples whatever became of them:</p><ul>{items}</ul>")
    return "".join(parts)


def _attempt(view: View, attempt: Outcast) -> str:
    why = "; ".join(f"{note.code}: {note.message}" for note in attempt.reasons) or "no reason recorded"
    case = escape(case_words(view, attempt.case))
    return row(case, attempt.repeat, attempt.attempt, attempt.status, escape(why))


def case_words(view: View, case_id: str) -> str:
    """A case by its labels; free text, not escaped."""
    case = view.cases[case_id]
    words = [
        view.label(name, value) if name not in ("workers", "connections") else f"{value} {name}"
        for name, value in case.dimensions.items()
        if len(view.dimensions.get(name, [])) > 1 or name in ("server", "workload")
    ]
    if case.role != "case":
        words.append(f"({case.role})")
    return " · ".join(words) or case.id


def _noise(view: View) -> str:
    """The A/A lane: the two medians of one configuration, and the band that follows from them."""
    pairs = []
    for metric in ("rps", "p50", "p99", "open_p50", "open_p99", "probe_headers_p50"):
        rows = {row["case"]: row for row in view.rows(metric)}
        pairs += [(twin, rows[twin["twin_of"]]) for twin in rows.values() if twin["role"] == "twin"]
    body = []
    for twin, base in pairs:
        band = "unknown" if twin["band"] != twin["band"] else percent(twin["band"])
        name = escape(case_words(view, twin["twin_of"]))
        body.append(row(name, escape(heading(twin["metric"])), figure(base), figure(twin), band))
    if not body:
        return (
            "<p>No configuration was measured twice, so the noise of this run is unknown, and the ranges "
            "of the samples alone decide on tiers.</p>"
        )
    text = (
        "<p>One configuration ran twice in every round, under two labels. Their difference is noise by "
        "construction, and no difference between servers within it is called one.</p>"
    )
    heads = ["Configuration", "Metric", "Median", "Its twin", "Noise band"]
    return text + table("The A/A lane", heads, body)


def _limits(view: View) -> str:
    """What the run itself says against its figures."""
    run = view.run
    items = [note_words(note.message) for note in run.warnings]
    items += [f"{run.generator.name}: {note.message}" for note in run.generator.notes]
    if run.layout.shared and not any(note.code == "shared-cpus" for note in run.warnings):
        items.append("Roles share CPUs, so the load generator takes time from the server.")
    if view.dimensions.get("workers") == [1]:
        items.append("One worker on one CPU: nothing here says how a server scales.")
    closed = (
        "a slow server is asked less often, so a stall delays requests that are never sent and never timed "
        "(coordinated omission)"
    )
    if run.parameters.ladder:
        items.append(
            f"The capacity was measured in a closed loop: {closed}. Its latencies are those at full load. "
            "The ladder's loads are an open loop at given rates: latency counts from when a request was due."
        )
        items.append(
            "The loads of the ladder are shares of a capacity that was itself measured, with its own noise; "
            "loads between them were not tried."
        )
    elif run.parameters.rate is None:
        items.append(f"Closed loop: {closed}. Latencies are those at full load, not at a given rate.")
    if run.upstream is not None:
        items.append(
            "The upstream answers at once and from memory. What it cannot deliver no server here can, so "
            "head-room comes first; and a slow or distant upstream would show other differences."
        )
    if run.probe is not None:
        items += probe_limits()
    items.append("Loopback: no network, no TLS, one machine for both ends.")
    return f"<ul>{''.join(f'<li>{escape(sentence(item))}</li>' for item in items)}</ul>"


def _suite(view: View) -> str:
    file = view.run.suite_file
    return details(f"{file.name}, verbatim", f"<pre><code>{escape(file.text)}</code></pre>")
