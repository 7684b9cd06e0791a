"""Published figures beside ours, as rendered: each ratio of its own side, and nothing as if measured here."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from evidence import case, failed, sample, saturated, stored
from jinja2 import Environment
from sites import EVIL, ROOT, Builder, BuildFailed, Node, pin, table_of, tree

from hooks import loading
from hooks.attempts import attempts_of
from hooks.beside import beside_block
from hooks.beside_sides import ratio_of
from hooks.calls import Calls
from hooks.controls import controls_beside_block
from hooks.differences import compared, differences_block
from hooks.published import published_text
from hooks.transcribed import figure_text
from hooks.view import View
from runner import store
from runner.analysis import summary
from runner.errors import AnalysisError
from runner.importers import by_name
from runner.model import Generator, Layout, SuiteFile, Upstream
from runner.store import StoredRun

BASE = {"server": "base"}
THERE = {
    ("base", "get"): 20000.0,
    ("fast", "get"): 30000.0,
    ("base", "post"): 10000.0,
    ("gone", "get"): 5000.0,
}
HERE = {("base", "get"): 2000.0, ("fast", "get"): 2400.0, ("base", "post"): 1000.0, ("own", "get"): 500.0}
GAP = "probe_gap_p50"
Figures = dict[tuple[str, str], float]


def view_of(run: StoredRun) -> View:
    columns = loading._parts(summary([run]))[run.run.id]
    attempts = attempts_of(run.run, run.samples)
    return View(run.run.id, "key", "0" * 64, 0, Path("run"), run.run, attempts, columns)


def theirs(figures: Figures | None = None, metric: str = "rps", **fields: Any) -> View:
    figures = THERE if figures is None else figures
    cases = {key: case(key[0], workload=key[1], workers=4) for key in figures}
    samples = [sample(cases[key], 1, value, metric) for key, value in figures.items()]
    defaults: dict[str, Any] = {
        "id": "theirs",
        "origin": "published",
        "facts": {"source": "A source", "samples_a_case": 3, "unknown": ["warm-up", "seed"]},
    }
    return view_of(stored(list(cases.values()), samples, repeats=1, **defaults | fields))


def ours(
    figures: Figures | None = None, floor: str = "", lost: str = "", metric: str = "rps", **fields: Any
) -> View:
    """Three samples a case, 1 % apart; ``floor`` and ``lost`` name a server with that flaw."""
    figures = HERE if figures is None else figures
    cases = {key: case(key[0], workload=key[1]) for key in figures}
    samples = []
    for key, value in figures.items():
        for i, step in enumerate((-0.01, 0, 0.01), 1):
            if key[0] == lost:
                samples.append(failed(cases[key], i))
                continue
            witness = {"witness": saturated("generator")} if key[0] == floor else {}
            samples.append(sample(cases[key], i, value * (1 + step), metric, **witness))
    return view_of(stored(list(cases.values()), samples, repeats=3, **{"id": "ours"} | fields))


def block(left: View | None = None, right: View | None = None, **options: Any) -> str:
    given: dict[str, Any] = {
        "metric": "rps",
        "baseline": BASE,
        "rows": "server",
        "columns": "workload",
        "where": {},
        "here": {},
        "there": {},
        "styles": {},
    }
    return beside_block(left or ours(), right or theirs(), **given | options)


def lines(markup: str, caption: str = "Throughput by server, get") -> dict[str, list[str]]:
    """Row head → the text of its cells, of the table whose caption begins so."""
    rows = table_of(markup, caption).all("tbody")[0].all("tr")
    return {row.all("th")[0].text: [cell.text for cell in row.all("td")] for row in rows}


# --- the table --------------------------------------------------------------------------------------


def test_each_ratio_is_of_its_own_side() -> None:
    found = lines(block())
    assert found["fast"] == [
        "2,400 tier 1 2,376–2,424 · n = 3",
        "1.20× 1.18–1.22×",
        "30,000",
        "1.50×",
        "0.80× 0.78–0.82×",
    ]
    assert found["base"] == ["2,000 tier 2 1,980–2,020 · n = 3", "baseline", "20,000", "baseline", "baseline"]


def test_missing_on_one_side_is_said() -> None:
    found = lines(block())
    assert found["own"][2:] == ["– not published", "– not published", "– no published ratio"]
    assert found["gone"] == [
        "– not in this run",
        "– this run has no such case",
        "5,000",
        "0.25×",
        "– no ratio here",
    ]
    assert list(found) == ["fast", "base", "own", "gone"]
    assert "gone" not in lines(block(common=True))


def test_each_column_is_a_table_in_its_own_order() -> None:
    here = HERE | {("fast", "post"): 900.0}
    found = block(ours(here), theirs(THERE | {("fast", "post"): 9000.0}))
    assert list(lines(found, "Throughput by server, post")) == ["base", "fast"]
    assert lines(found, "Throughput by server, post")["fast"][4] == "1.00× 0.98–1.02×"


def test_column_of_another_suite_is_left_out() -> None:
    found = block(right=theirs(THERE | {("base", "proxy"): 1.0, ("fast", "proxy"): 2.0}))
    assert "proxy" not in found
    # One that our suite knows, but this run lacks, is there, and says so.
    labels = {"workload": {"proxy": "Proxy"}}
    found = block(ours(labels=labels), theirs(THERE | {("base", "proxy"): 1.0}))
    assert lines(found, "Throughput by server, Proxy")["base"][0] == "– not in this run"


def test_floor_carries_its_sign_into_both_ratios() -> None:
    found = lines(block(ours(floor="fast")))
    assert found["fast"][0].startswith("≥ 2,400")
    assert found["fast"][1].startswith("≥ 1.20×")
    assert found["fast"][4].startswith("≥ 0.80×")
    found = lines(block(ours(floor="base")))
    assert found["fast"][1] == "≤ 1.20× ≤ 1.22× baseline: limited by the load generator"
    assert found["fast"][4].startswith("≤ 0.80×")


# Another column that can be compared, where a test spoils the first.
BOTH_POST = {("fast", "post"): 900.0}


def test_two_floors_bound_nothing() -> None:
    both = ours(HERE | BOTH_POST)
    for row in both.rows("rps"):
        row["floor"] = "get" in row["case"]
    found = lines(block(both, theirs(THERE | BOTH_POST)))
    assert found["fast"][1] == "– both sides are bounds, so nothing bounds their ratio"
    assert found["fast"][4] == "– no ratio here"


def test_lost_samples_and_lost_baseline_are_said() -> None:
    third = {("third", "get"): 700.0}
    found = lines(block(ours(HERE | third, lost="fast"), theirs(THERE | third), common=True))
    assert found["fast"][:2] == ["– n = 0 of 3 no accepted sample 3 failed (timeouts)", "– no figure"]
    both = ours(HERE | BOTH_POST)
    for row in both.rows("rps"):
        if row["case"].startswith("base/get"):
            row["n"] = 0
    found = lines(block(both, theirs(THERE | BOTH_POST)))
    assert found["fast"][1] == "– no figure of the baseline"
    assert found["base"][1] == "– no figure of the baseline"


def test_baseline_may_be_a_column() -> None:
    """Each row over its own figure there: 1,000 over 2,000 here, 10,000 over 20,000 published."""
    found = block(baseline={"workload": "get"})
    assert lines(found)["base"] == [
        "2,000 tier 2 1,980–2,020 · n = 3",
        "baseline",
        "20,000",
        "baseline",
        "baseline",
    ]
    post = lines(found, "Throughput by server, post")["base"]
    assert (post[1], post[3], post[4]) == ("0.50× 0.49–0.51×", "0.50×", "1.00× 0.98–1.02×")


def test_common_rows_are_those_that_both_have() -> None:
    found = block(common=True)
    assert list(lines(found)) == ["fast", "base"]
    assert list(lines(found, "Throughput by server, post")) == ["base"]
    assert "Rows that only one side has are left out." in tree(found).text
    assert "are left out" not in tree(block()).text


@pytest.mark.parametrize(
    ("left", "right"),
    [
        # Neither the baseline's own ratio nor one that a single side has is a comparison.
        (None, theirs({("base", "get"): 2.0, ("gone", "get"): 1.0})),
        (ours({("base", "get"): 2.0, ("own", "get"): 1.0}), None),
        (ours(lost="base"), None),
        (None, theirs({("base", "post"): 2.0, ("fast", "get"): 1.0})),
    ],
)
def test_baseline_that_compares_nothing_is_an_error(left: View | None, right: View | None) -> None:
    told = r"no row has a ratio to server = base both in run ours and in run theirs\n.*both have .*get"
    with pytest.raises(AnalysisError, match=told):
        block(left, right)


def test_figures_may_stand_without_ratios() -> None:
    found = block(baseline={}, common=True)
    heads = [head.text for head in tree(found).all("thead")[0].all("th")]
    assert heads == ["Server", "Here, requests/s", "Published, requests/s"]
    assert lines(found)["fast"] == ["2,400 tier 1 2,376–2,424 · n = 3", "30,000"]
    assert "aseline" not in tree(found).text
    assert "ratio" not in tree(found).text
    with pytest.raises(AnalysisError, match="no row has a figure both in run ours and in run theirs"):
        block(baseline={}, right=theirs({("gone", "get"): 1.0}))


def test_nothing_is_divided_by_what_the_probe_cannot_resolve() -> None:
    """Gaps of 2 µs and 3 ms over one of 2 µs here; 40 ms published. Nor is it divided by anything."""
    small = "below what the probe resolves (0.1 ms)"
    here = {("base", "get"): 2e-6, ("fast", "get"): 3e-3, ("slow", "get"): 6e-3}
    there = {("base", "get"): 40e-3, ("fast", "get"): 80e-3, ("slow", "get"): 160e-3}
    left = ours({**here, ("base", "post"): 3e-3}, metric=GAP)
    right = theirs({**there, ("base", "post"): 2e-6}, GAP)
    with pytest.raises(AnalysisError, match="no row has a ratio to server = base"):
        block(left, right, metric=GAP)
    found = lines(block(left, right, metric=GAP, baseline={"server": "fast"}), "Probe: gap p50 by server")
    assert found["base"][1] == f"– no ratio with what is {small}"
    assert found["base"][3] == "0.50×"
    assert found["base"][4] == "– no ratio here"
    assert found["slow"][4].startswith("1.00×")
    own = ratio_of((left.rows(GAP)[1], left.rows(GAP)[0]), "")
    assert own == (None, f"the baseline is {small}")


def test_every_call_of_the_real_pages_compares_something() -> None:
    """On the pinned runs: at least one row of each call has both ratios, and one of the last column."""
    pins = store.read_pins(ROOT / "artifacts")
    views = loading.load(ROOT / "artifacts", [entry.run for entry in pins.values()])
    made: list[str] = []

    def hold(pin: str, published: str, make: Any) -> str:
        made.append(make(views[pins[pin].run], views[pins[published].run]))
        return made[-1]

    calls = SimpleNamespace(page=SimpleNamespace(catalogue=SimpleNamespace(styles={})), _hold_both=hold)
    pages = set()
    for page in sorted((ROOT / "site_src").rglob("*.md")):
        for call in re.findall(r"\{\{ *beside\(.*?\) *\}\}", page.read_text("utf-8"), re.DOTALL):
            Environment(autoescape=False).from_string(call).render(beside=partial(Calls._beside, calls))
            pages.add(page.stem)
            rows = [
                [cell.text for cell in row.all("td")]
                for body in tree(made[-1]).all("tbody")
                for row in body.all("tr")
            ]
            if "baseline={}" in call:
                assert any("–" not in (row[0][0], row[1][0]) for row in rows), (page.name, call)
            else:
                assert any(all("×" in row[i] for i in (1, 3, 4)) for row in rows), (page.name, call)
    assert pages >= {"rest-published", "proxy", "latency", "headers", "body-rate", "workers"}
    assert len(made) >= 12


def test_published_cells_are_another_kind_of_thing() -> None:
    table = table_of(block(), "Throughput by server, get")
    heads = [head.text for head in table.all("thead")[0].all("th")]
    assert heads == [
        "Server",
        "Here, requests/s",
        "Here, to baseline",
        "Published, requests/s",
        "Published, to baseline",
        "Here ÷ published, of the ratios",
    ]
    assert all(head.attributes["scope"] == "col" for head in table.all("thead")[0].all("th"))
    assert "Published: not measured here" in table.all("caption")[0].text
    assert "here: 1 worker, 100 connections; published: 4 workers, 100 connections" in (
        table.all("caption")[0].text
    )
    for row in table.all("tbody")[0].all("tr"):
        assert row.all("th")[0].attributes["scope"] == "row"
        kinds = [cell.attributes.get("class", "") for cell in row.all("td")]
        assert kinds == ["", "", "ls-elsewhere", "ls-elsewhere", ""]
        for cell in row.classed("ls-elsewhere"):
            assert not cell.classed("ls-tier")
            assert "n =" not in cell.text
    box = tree(block()).classed("ls-scroll")[0]
    assert (box.attributes["role"], box.attributes["tabindex"]) == ("region", "0")


def test_latency_keeps_its_published_digits() -> None:
    left = view_of(
        stored(
            [case("base"), case("fast")],
            [
                sample(case(name), i, value, "p99")
                for name, value in (("base", 0.02), ("fast", 0.01))
                for i in (1, 2)
            ],
            2,
            id="ours",
        )
    )
    right = theirs({("base", "get"): 0.0314, ("fast", "get"): 0.015841}, "p99")
    found = lines(block(left, right, metric="p99"), "p99 latency by server, get")
    assert found["fast"][2:4] == ["15.841", "0.50×"]
    assert found["fast"][4].startswith("0.99×")
    assert list(found) == ["fast", "base"]


def test_conditions_may_differ_and_none_may_be_left_open() -> None:
    cases = [case(name, workers=workers) for name in ("base", "fast") for workers in (1, 4)]
    samples = [sample(c, i, 100.0 * (1 + n)) for n, c in enumerate(cases) for i in (1, 2, 3)]
    left = view_of(stored(cases, samples, 3, id="ours"))
    with pytest.raises(AnalysisError, match=r"several cases for base\n.*workers = 1, 4"):
        block(left)
    found = lines(block(left, here={"workers": 4}))
    assert found["fast"][1].startswith("2.00×")
    assert lines(block(left, here={"workers": 1}))["fast"][1].startswith("3.00×")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"baseline": {"server": "bas"}}, r"run ours has no server 'bas'\n  Did you mean 'base'"),
        ({"baseline": {"server": "own"}}, r"run theirs has no server 'own'"),
        ({"baseline": {"serv": "base"}}, r"no dimension 'serv'"),
        ({"metric": "p98"}, r"no metric 'p98'"),
        ({"there": {"workers": 8}}, r"run theirs has no workers 8"),
        ({"right": ours()}, r"run ours was captured, not published by others"),
        ({"left": theirs()}, r"run theirs was published by others"),
    ],
)
def test_wrong_call_is_named(options: dict[str, Any], told: str) -> None:
    with pytest.raises(AnalysisError, match=told):
        block(options.pop("left", None), options.pop("right", None), **options)


def test_hostile_labels_are_text() -> None:
    labels = {"server": {"fast": EVIL}, "workload": {"get": EVIL}}
    facts = {"source": EVIL, "samples_a_case": 3, "unknown": []}
    markup = block(ours(labels=labels), theirs(labels=labels, facts=facts))
    markup += block(ours({("base", "get"): 1.0, ("fast", "get"): 1.0}), theirs(labels=labels, facts=facts))
    markup += differences_block(
        ours(layout=Layout(roles={"server": [0]}, note=EVIL), machine={"cpu_model": EVIL}),
        theirs(generator=Generator(name=EVIL, version=EVIL), packages={EVIL: EVIL}),
    )
    root = tree(markup)
    assert not root.all("img")
    assert not root.all("script")
    assert " ".join(EVIL.split()) in root.text


# --- single figures and differences -----------------------------------------------------------------


def test_single_figure_says_that_it_is_published() -> None:
    (found,) = tree(published_text(theirs(), "rps", {"server": "fast"})).all("span")
    assert found.text == "30,000 requests/s (published)"
    assert found.attributes["title"] == "published by others, not measured here"
    with pytest.raises(AnalysisError, match="run ours was captured"):
        published_text(ours(), "rps", {"server": "fast"})
    with pytest.raises(AnalysisError, match=r"2 cases of run theirs have server = base"):
        published_text(theirs(), "rps", {"server": "base"})


@pytest.mark.parametrize(
    ("metric", "value", "text"),
    [
        ("p99", 0.015841, "15.841"),
        ("p99", 1.10926, "1,109.26"),
        ("probe_gap_p50", 0.000002, "0.002"),
        ("body_rate", 101.7 * 2**20, "101.7"),
        ("rps", 66100.0, "66,100"),
    ],
)
def test_figure_has_the_digits_it_needs(metric: str, value: float, text: str) -> None:
    """Of a run whose files are not at hand."""
    view = theirs({("base", "get"): value}, metric)
    assert figure_text(view, view.rows(metric)[0]) == text


def test_figure_has_the_digits_it_was_transcribed_with() -> None:
    view = loading.load(ROOT / "artifacts", ["ref-published-aiohttp-asgi"])["ref-published-aiohttp-asgi"]
    assert isinstance(view, View)
    shown = {
        (metric, row["case"]): figure_text(view, row)
        for metric in view.metrics
        for row in view.rows(metric)
        if row["n"]
    }
    server = "aiohttp-asgi-rloop"
    assert shown["body_rate", f"{server}/httpx-1k/w4/c100"] == "2.0"
    assert shown["p50", f"{server}/aiohttp-64k/w4/c100"] == "14.49"
    assert shown["probe_headers_p99", f"{server}/httpx-1k/w4/c100"] == "1,109.26"
    assert shown["rps", f"{server}/get_item/w4/c100"] == "18,925"
    # Every figure is, sign for sign, one that stands in the files.
    files = (ROOT / "artifacts" / view.id / "raw").glob("*.csv")
    written = {cell for path in files for cell in re.split(r"[,\n]", path.read_text("utf-8"))}
    assert {text.replace(",", "") for text in shown.values()} <= written
    assert len(shown) == 28 * 2 + 6 + 52 + 12 * 3 + 6 * 4 + 4 + 2


def test_differences_are_read_from_both_manifests() -> None:
    left = ours(
        layout=Layout(roles={"server": [0], "generator": [1], "runner": [1]}, shared=["runner"]),
        packages={"uvloop": "0.23.0", "aiohttp": "3.14.5", "more": "1"},
        python={"implementation": "CPython", "version": "3.11.7"},
        machine={"cpus": 2, "kernel": "6.18"},
    )
    right = theirs(
        layout=Layout(roles={"server": [1, 2, 3, 4], "generator": [12, 13]}),
        packages={"uvloop": "0.23.0", "aiohttp": "3.14.4"},
        python={"implementation": "CPython", "version": "3.13.16"},
        machine={"cpus": 16},
    )
    found = {name: (here, there) for name, here, there in compared(left, right)}
    assert found["Workers"] == ("1", "4")
    assert found["Connections"] == ("100", "100")
    assert found["Connections a worker"] == ("100 (100 over 1)", "25 (100 over 4)")
    assert found["Samples a case"] == ("3", "3")
    assert found["Warm-up"] == ("1 s", "unknown")
    assert found["Seed of the order"] == ("42", "unknown")
    assert found["CPUs of the server"] == ("1 (0)", "4 (1-4)")
    assert found["CPUs shared by roles"] == ("runner", "none")
    assert found["CPUs of the machine"] == ("2", "16")
    assert found["Kernel"] == ("6.18", "unknown")
    assert found["Python"] == ("CPython 3.11.7", "CPython 3.13.16")
    assert found["aiohttp"] == ("3.14.5", "3.14.4")
    assert found["uvloop"] == ("0.23.0", "0.23.0")
    assert found["Measured"] == ("2026-01-01", "unknown")
    assert "more" not in found
    # The one had no upstream, the other does not say.
    assert found["CPUs of the upstream"] == ("none", "unknown")
    assert found["Processes of the upstream"] == ("none", "unknown")
    table = table_of(differences_block(left, right), "How the two sides differ")
    rows = {row.all("th")[0].text: row for row in table.all("tbody")[0].all("tr")}
    assert "Connections" not in rows
    assert [cell.text for cell in rows["Kernel"].all("td")] == ["6.18", "unknown"]
    same = tree(differences_block(left, right)).classed("ls-note")[0].text
    assert "Connections (100)" in same
    assert "uvloop (0.23.0)" in same


def test_differences_count_the_upstreams_processes() -> None:
    roles = {"server": [0], "upstream": [1, 2]}
    left = ours(layout=Layout(roles=roles), upstream=Upstream(label="Echo", processes=2))
    found = {name: (here, there) for name, here, there in compared(left, theirs(layout=Layout(roles=roles)))}
    assert found["CPUs of the upstream"] == ("2 (1-2)", "2 (1-2)")
    assert found["Processes of the upstream"] == ("2", "unknown")


# --- controls ---------------------------------------------------------------------------------------


def with_control(published: bool, direct: float, floor: str = "") -> View:
    """A run whose rows reach 1,000 at most, with a control; ``floor`` names a server limited by others."""
    control = case("upstream", "control", workload="direct").model_copy(update={"covers": ["get"]})
    cases = [case("base"), case("fast"), control]
    values = {"base": 500.0, "fast": 1000.0, "upstream": direct}
    steps = (0,) if published else (-0.01, 0, 0.01)
    samples = []
    for one in cases:
        server = str(one.dimensions["server"])
        witness: dict[str, Any] = {"witness": saturated("generator")} if server == floor else {}
        samples += [sample(one, i, values[server] * (1 + step), **witness) for i, step in enumerate(steps, 1)]
    origin = "published" if published else "captured"
    return view_of(stored(cases, samples, repeats=len(steps), id=origin, origin=origin))


@pytest.mark.parametrize(
    ("floor", "factor", "apart"),
    [
        ("", "4.00× 3.92–4.08×", "0.80× 0.78–0.82×"),
        ("upstream", "≥ 4.00× ≥ 3.92×", "≥ 0.80× ≥ 0.78×"),
        ("fast", "≤ 4.00× ≤ 4.08×", "≤ 0.80× ≤ 0.82×"),
    ],
)
def test_controls_have_a_ratio_of_their_factors(floor: str, factor: str, apart: str) -> None:
    """Four times the best row here, five times published."""
    markup = controls_beside_block(with_control(False, 4000.0, floor), with_control(True, 5000.0))
    heads = [head.text for head in tree(markup).all("thead")[0].all("th")]
    assert heads[-1] == "Here ÷ published, of the factors"
    (cells,) = lines(markup, "The upstream by itself").values()
    assert cells[1:] == [factor, "5,000", "5.00×", apart]


def test_controls_without_a_counterpart_say_so() -> None:
    (cells,) = lines(controls_beside_block(ours(), with_control(True, 5000.0)), "The upstream").values()
    assert cells[-1] == "– no factor here"
    (cells,) = lines(controls_beside_block(with_control(False, 4000.0), theirs()), "The upstream").values()
    assert cells[2:] == ["– not published", "– not published", "– no published factor"]


# --- in a site --------------------------------------------------------------------------------------

MAPPING = """
name = "source"
title = "Published: a <b>source</b>"
unknown = ["warm-up", "seed"]
parameters = { connections = 100, duration = 5.0, samples = 3 }
generator = { name = "oha", version = "1.16.0" }
layout = { roles = { server = [1], generator = [2] } }

[source]
title = "The <i>source</i>"
measured_with = "a machine"

[labels]
server = { a = "Server <b>A</b>", b = "Server B" }
workload = { get = "GET" }

[[file]]
name = "rest.csv"
title = "REST"
series = "rest"
keys = ["server"]
dimensions = { server = "{server}", workload = "get", workers = 4 }
value = [{ column = "rps", metric = "rps", unit = "1/s" }, { column = "p99", metric = "p99", unit = "ms" }]

[[statement]]
topic = "rest"
kind = "ahead"
pairs = [{ of = { server = "a" }, to = { server = "b" } }]
among = { workload = ["get"] }
"""


@pytest.fixture
def builder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Builder:
    """A site with one published run, pinned as ``published``."""
    made = Builder(tmp_path, monkeypatch)
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "rest.csv").write_text("server,rps,p99\na,200,15.841\nb,100,9.27\n")
    (tmp_path / "source.toml").write_text(MAPPING)
    by_name("published").bring(
        [tmp_path / "figures"], made.artifacts, None, tmp_path / "source.toml", ["lapsheet", "import"]
    )
    pin(made.artifacts, published="ref-published-source")
    return made


def test_run_page_is_of_published_figures(builder: Builder) -> None:
    calls = ['published("published", server="a")', 'statements("published", "rest")', "runs()"]
    page = "\n\n".join(f"{{{{ {call} }}}}" for call in [*calls, "publications()"])
    builder.build(pages={"index.md": page})
    text = builder.text("runs/ref-published-source/index.html")
    article: Node = tree(text).all("article")[0]
    assert "Published by others, not measured here" in article.text
    assert "imported" in article.text
    for word in (
        "captured",
        "Captured",
        "median;",
        "n = 1",
        "tier",
        "warm-up of",
        "Noise",
        "accepted",
        "as captured",
    ):
        assert word not in article.text, word
    table = table_of(text, "REST (4 workers), from rest.csv")
    assert [row.text for row in table.all("tbody")[0].all("tr")] == [
        "Server <b>A</b> 200 15.841",
        "Server B 100 9.27",
    ]
    facts = {
        row.all("th")[0].text: row.all("td")[0].text
        for row in table_of(text, "What is known of these figures").all("tr")
    }
    assert facts["Source"] == "The <i>source</i>"
    assert facts["Not published"] == "warm-up, seed"
    assert facts["Samples a case"] == "3, of which the median was published"
    files = builder.site / "runs" / "ref-published-source" / "files" / "raw" / "rest.csv"
    assert files.read_text().startswith("server,rps")
    index = builder.text("index.html")
    assert "200 requests/s (published)" in tree(index).text.replace("  ", " ")
    assert "Server <b>A</b> has a higher throughput than Server B on GET." in tree(index).text.replace(
        " .", "."
    )
    assert "Captured 2" not in index


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (
            'published("published", server="c")',
            "index.md, line 1: published(\"published\"): run ref-published-source has no server 'c'",
        ),
        ("published()", "index.md, line 1:"),
        ('statements("published", "proxy")', "states nothing on 'proxy'"),
        ('beside("published", "published", baseline={"server": "a"})', "was published by others"),
        ('differences("rest", "published")', "no pin 'rest'"),
    ],
)
def test_wrong_call_names_page_and_line(builder: Builder, call: str, told: str) -> None:
    with pytest.raises(BuildFailed, match=r"index\.md") as failure:
        builder.build(pages={"index.md": f"{{{{ {call} }}}}\n"})
    assert told in str(failure.value)


def test_contradicted_statement_fails_the_build(builder: Builder) -> None:
    run = store.read(builder.artifacts / "ref-published-source").run
    text = MAPPING.replace(
        'of = { server = "a" }, to = { server = "b" }', 'of = { server = "b" }, to = { server = "a" }'
    )
    wrong = run.model_copy(update={"suite_file": SuiteFile(name="source.toml", sha256="0" * 64, text=text)})
    (builder.artifacts / run.id / store.MANIFEST).write_text(wrong.model_dump_json())
    pin(builder.artifacts, published=run.id)
    with pytest.raises(BuildFailed, match="the published figures contradict a 'ahead' statement on rest"):
        builder.build(pages={"index.md": '{{ statements("published", "rest") }}\n'})
