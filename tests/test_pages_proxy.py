"""The pages of the proxy, of workers, the ladder and the investigations, built from made-up runs."""

from __future__ import annotations

import posixpath
import re

import plotly.graph_objects as go
import pytest
from sites import ROOT, Builder, BuildFailed, Node, page_data, pin, table_of, tree
from suite_runs import (
    BISTABLE,
    LADDER,
    LOOPS,
    ladder_figures,
    latencies,
    nagle_figures,
    pool_figures,
    probed,
    workers_figures,
    write_others,
    write_suite_run,
)

from benchmarks.synthetic import write_run
from runner.model import Case

PAGES = [
    *("proxy", "latency", "headers", "body-rate", "workers", "ladder", "rest-published"),
    *("investigations", "investigations/nagle", "investigations/pool"),
]


WITHOUT_FIGURES = {"rest-published", "investigations"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Builder:
    """The whole site over a made-up run for every pin."""
    with pytest.MonkeyPatch.context() as patch:
        builder = Builder(tmp_path_factory.mktemp("site"), patch)
        write_run(builder.artifacts, "made-rest", servers=6, raw=False)
        pin(builder.artifacts, rest="made-rest", **write_others(builder.artifacts))
        builder.build()
        return builder


@pytest.fixture
def builder(tmp_path: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Builder:
    return Builder(tmp_path, monkeypatch)  # type: ignore[arg-type]


def article(site: Builder, page: str) -> Node:
    return tree(site.text(f"{page}/index.html")).all("article")[0]


def rows(table: Node) -> dict[str, list[str]]:
    """First cell → the others' text."""
    found = {}
    for line in table.all("tbody")[0].all("tr"):
        cells = [cell.text for cell in line.children if isinstance(cell, Node)]
        found[cells[0]] = cells[1:]
    return found


def table(site: Builder, page: str, caption: str) -> dict[str, list[str]]:
    return rows(table_of(site.text(f"{page}/index.html"), caption))


def figures(site: Builder, page: str) -> list[dict[str, object]]:
    return list(page_data(site.site, f"{page}/index.html")["figures"].values())


# --- every page -------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES)
def test_page_is_there_and_in_the_nav(site: Builder, page: str) -> None:
    """By its own link, the active one, and by a link on a page that is in another folder."""
    document = tree(site.text(f"{page}/index.html"))
    assert len(document.all("h1")) == 1
    assert not re.search(r"\{\{|\}\}|nan\b|None\b|[\ue000\ue001]", article(site, page).text)
    assert page in _nav(site, page, "md-nav__link--active")
    other = "methodology" if page != "methodology" else "raw"
    assert page in _nav(site, other, "md-nav__link")


def _nav(site: Builder, page: str, css: str) -> set[str]:
    """The pages that the navigation of a page leads to, by links of that class."""
    links = [link for nav in tree(site.text(f"{page}/index.html")).all("nav") for link in nav.classed(css)]
    targets = [link.attributes["href"] for link in links if link.tag == "a"]
    return {posixpath.normpath(posixpath.join(page, href)) for href in targets if not href.startswith("#")}


@pytest.mark.parametrize("page", PAGES)
def test_every_figure_is_valid_and_has_its_numbers_in_a_table(site: Builder, page: str) -> None:
    boxes = article(site, page).classed("ls-figure")
    if page in WITHOUT_FIGURES:
        assert not boxes
        return
    specs = figures(site, page)
    assert len(specs) == len(boxes) > 0
    drawn = set()
    for spec in specs:
        go.Figure({"data": spec["data"], "layout": spec["layout"]})
        for trace in spec["data"]:  # type: ignore[attr-defined]
            if trace["type"] == "heatmap":
                drawn |= set(re.findall(r"[\d.,]+", " ".join(" ".join(row) for row in trace["text"])))
                continue
            texts = trace.get("hovertext", [])
            drawn |= {found[1] for text in texts if (found := re.match(r"([\d.,]+) [^<]*, round", text))}
    tables = set(re.findall(r"[\d.,]+", " ".join(t.text for t in article(site, page).all("table"))))
    assert drawn
    assert drawn <= tables


# --- proxy ------------------------------------------------------------------------------------------


def test_client_ratios_are_formed_inside_one_server(site: Builder) -> None:
    found = table(site, "proxy", "Ratios of throughput by server")
    assert found["Uvicorn, uvloop, httptools"][0].startswith("4.00×")
    assert found["aiohttp-asgi, rloop"][1].startswith("3.33×")


def test_a_ratio_over_a_bound_carries_its_sign_and_its_reason(site: Builder) -> None:
    cell = table(site, "proxy", "Ratios of throughput by server")["Granian, uvloop"][1]
    assert cell.startswith("≥ 3.33×")
    assert "limited by the upstream" in cell


def test_rows_without_a_claim_are_left_out_of_the_span_and_counted(site: Builder) -> None:
    items = [item.text for item in article(site, "proxy").all("li")]
    (told,) = [text for text in items if text.startswith("aiohttp, 64 KiB over httpx, 64 KiB")]
    assert "3.33× throughout, over 3 servers" in told
    assert "2 of 5 rows carry no claim" in told


def test_headroom_is_a_factor_with_marks_and_the_bound_the_other_way_round(site: Builder) -> None:
    found = table(site, "proxy", "Head-room by server and workload")
    assert "1.83×" in found["Granian, uvloop"][0]
    assert "little head-room" in found["Granian, uvloop"][0]
    assert found["Granian, uvloop"][2].startswith("≤ 2.00×")
    assert found["aiohttp-asgi, rloop"][0].startswith("6.59×")
    assert "little head-room" not in " ".join(found["aiohttp-asgi, rloop"])


def test_a_headroom_that_is_at_most_something_is_not_called_enough(site: Builder) -> None:
    """Granian's large bodies met the upstream's limit, so that their factor is an upper bound."""
    cell = table(site, "proxy", "Head-room by server and workload")["Granian, uvloop"][2]
    assert cell.endswith("whether it reaches 2× cannot be said")
    text = article(site, "proxy").text
    assert "of 20 rows has a head-room of which cannot be said whether it reaches 2×" in text
    assert "rows have a head-room of 2× or more" not in text


def _one_row_over(builder: Builder, busy: str, *, failed: bool = False) -> str:
    """The words on head-room of one row of 4,000/s below a control of 9,200/s; ``busy`` was at its limit."""

    def figures(case: Case, repeat: int) -> dict[str, float] | None:
        if case.role == "control":
            return latencies(9_200.0)
        return None if failed else latencies(4_000.0)

    write_suite_run(
        *(builder.artifacts, "p", "proxy", figures),
        servers=["granian"],
        workloads=["aiohttp-1k"],
        workers=[1],
        twin=False,
        saturated=lambda case, repeat: "generator" if case.role == busy else "",
    )
    pin(builder.artifacts, proxy="p")
    builder.build(pages={"index.md": '# P\n\n{{ findings("proxy", metrics=["rps"]) }}\n'})
    items = [item.text for item in tree(builder.text("index.html")).all("li")]
    return next(text for text in items if text.startswith("Head-room"))


def test_headroom_is_claimed_only_where_its_bound_allows(builder: Builder) -> None:
    assert "The one row has a head-room of 2× or more" in _one_row_over(builder, "")


def test_headroom_of_a_floor_is_no_more_than_so_much(builder: Builder) -> None:
    text = _one_row_over(builder, "case")
    assert "≤ 2.30×" in text
    assert "1 of 1 row has a head-room of which cannot be said whether it reaches 2×" in text
    assert "2× or more" not in text


def test_headroom_without_an_accepted_sample_is_told_in_words(builder: Builder) -> None:
    text = _one_row_over(builder, "", failed=True)
    assert "No row has a head-room that can be given as a figure." in text
    assert "1 of 1 row has no accepted sample" in text


def test_controls_show_every_sample_and_their_drift(site: Builder) -> None:
    cells = table(site, "proxy", "The controls")["Direct, 1 KiB"]
    assert "16,000 · 16,320 · 16,640 · 16,960" in cells
    assert "+6.0 %" in cells


def test_a_bistable_case_shows_all_its_samples(site: Builder) -> None:
    cells = table(site, "proxy", "Throughput by server and workload")["Uvicorn, asyncio, h11"]
    assert "samples 13-fold apart: 10.00 · 130.0 · 128.0" in cells[1]
    assert "apart" not in cells[0]
    samples = [
        set(trace["x"])
        for spec in figures(site, "proxy")
        for trace in spec["data"]  # type: ignore[attr-defined]
        if trace.get("name") == "sample"
    ]
    assert sum(set(BISTABLE) <= drawn for drawn in samples) == 1


def test_the_upstreams_limit_is_told_as_such(site: Builder) -> None:
    text = article(site, "proxy").text
    assert "In 1 of 24 cases the load generator or the upstream was at its limit" in text
    assert "5 of 13 servers, 4 workloads, 24 cases, 2 controls" in text


def test_the_clients_settings_on_the_page_are_those_of_the_application(site: Builder) -> None:
    source = (ROOT / "runner" / "apps" / "proxy.py").read_text("utf-8")
    pool, idle, timeout = (
        f"{float(re.findall(rf'^{name} = ([0-9.]+)', source, re.M)[0]):g}"
        for name in ("POOL", "IDLE_S", "TIMEOUT_S")
    )
    found = rows(_plain_table(site))
    assert found["connections in the pool"] == [pool] * 2
    assert found["an idle connection is kept for"] == [f"{idle} s"] * 2
    assert found["timeout"] == [f"{timeout} s for the whole exchange", f"{timeout} s for each phase"]


def _plain_table(site: Builder) -> Node:
    return next(t for t in article(site, "proxy").all("table") if "connections in the pool" in t.text)


# --- latency, headers, body rate --------------------------------------------------------------------


def test_probe_and_generator_share_no_column(site: Builder) -> None:
    for page, wanted, unwanted in (("headers", "Probe", " latency, ms"), ("latency", "latency", "Probe")):
        heads = [head.text for t in article(site, page).all("table") for head in t.all("th")]
        assert any(wanted in head for head in heads)
        assert not any(unwanted in head for head in heads if head != wanted)


def test_a_gap_is_the_probes_and_its_client_is_named(site: Builder) -> None:
    text = article(site, "headers").text
    assert "1,000 requests after each sample's load, by aiohttp 3.14.5" in text
    cells = table(site, "headers", "Probe: gap p50 by server")["Uvicorn, asyncio, h11"]
    assert cells[0].startswith("41.0")


def test_gaps_below_what_the_probe_resolves_are_shown_but_not_ranked(site: Builder) -> None:
    items = [item.text for item in article(site, "headers").all("li")]
    (text,) = [text for text in items if text.startswith("aiohttp, 1 KiB , gap p50 (probe)")]
    assert "none leads: 4 of 5 are below what the probe resolves (0.1 ms)." in text
    assert re.search(r"Above is Uvicorn, asyncio, h11 with 41\.0 \(.*\) ms\.", text)
    assert not any("a factor of" in item for item in items if "gap" in item)
    assert any("Gaps below 0.1 ms are therefore shown as measured" in item for item in items)
    found = table(site, "headers", "Probe: gap p50 by server")
    tiers = {name: re.findall(r"tier \d", cells[0]) for name, cells in found.items()}
    assert tiers.pop("Uvicorn, asyncio, h11") == ["tier 2"]
    assert all(those == ["tier 1"] for those in tiers.values())


def test_a_gap_that_comes_and_goes_is_listed_without_a_factor(builder: Builder) -> None:
    write_suite_run(
        *(builder.artifacts, "n", "nagle"),
        lambda case, repeat: latencies(4_000.0) | probed(0.004, 0.0437 if repeat == 2 else 0.000004 * repeat),
    )
    pin(builder.artifacts, nagle="n")
    call = 'table("nagle", rows=["server", "workers"], columns=None, metrics=["probe_gap_p50"], tiers=False)'
    builder.build(pages={"index.md": f"# P\n\n{{{{ {call} }}}}\n"})
    text = tree(builder.text("index.html")).text
    assert "samples far apart, some below what the probe resolves (0.1 ms): 0.004 · 43.7 · 0.012" in text
    assert "-fold" not in text


def test_body_rate_is_in_mebibytes_and_the_sizes_are_told(site: Builder) -> None:
    cells = table(site, "body-rate", "Body rate by server and workload")["Uvicorn, uvloop, httptools"]
    assert cells[2].startswith(f"{1600 * 65_548 / 2**20:.0f}")
    assert "The bodies are 1,036 and 65,548 bytes." in article(site, "body-rate").text


# --- workers ----------------------------------------------------------------------------------------


def test_workers_that_share_a_cpu_scale_nothing_and_it_is_said(site: Builder) -> None:
    found = table(site, "workers", "Throughput, requests/s by workers (GET")
    assert all(cells[2] == "– not scaling: 2 workers share 1 CPU" for cells in found.values())
    assert "so this run cannot show how anything scales to 2" in article(site, "workers").text


def test_with_a_cpu_for_each_worker_there_is_a_factor_with_its_range(builder: Builder) -> None:
    write_suite_run(
        builder.artifacts, "w", "rest", workers_figures, servers=LOOPS, workers=[1, 2], server_cpus=2
    )
    pin(builder.artifacts, workers="w")
    builder.build(pages={"index.md": '# P\n\n{{ scaling("workers") }}\n'})
    found = rows(table_of(builder.text("index.html"), "Throughput, requests/s by workers (GET"))
    value = 2**0.9
    assert all(
        cells[2] == f"{value:.2f}× {value / 1.03 * 1.01:.2f}–{value * 1.03 / 1.01:.2f}×"
        for cells in found.values()
    )
    assert "from one to 2 workers" in builder.text("index.html")


# --- ladder -----------------------------------------------------------------------------------------


def test_ladder_has_a_row_a_load_and_marks_the_knee(site: Builder) -> None:
    found = table(site, "ladder", "Load ladder")
    assert [name.split()[0] for name in found] == [f"{100 * share:g}" for share in LADDER]
    assert [name for name in found if "knee" in name] == ["80 % the knee"]
    last = found["95 %"]
    assert last[0] == "4,750"
    assert last[1].startswith("4,500")
    assert last[2] == "0 of 3 samples the rate was not reached"
    assert [found[load][2] for load in ("60 %", "80 % the knee")] == [
        "3 of 3 samples",
        "2 of 3 samples the rate was not reached",
    ]
    assert "Knee : at 80 % of the capacity, the next above 60 %" in article(site, "ladder").text


def test_one_high_sample_at_the_lowest_load_hides_no_knee(site: Builder) -> None:
    """The lowest load's samples are 4.40, 4.80 and 40.0 ms: twice the highest is above the knee's lowest."""
    found = table(site, "ladder", "Load ladder")
    assert "4.40–40.0" in found["20 %"][5]
    assert found["80 % the knee"][5].startswith("≥ 60.0 55.0–65.0")
    text = article(site, "ladder").text
    assert "in each of its samples the p99 is over 2 times the lowest load's median" in text
    assert "exceeds 2 times the median of the lowest load" in text


def test_latencies_that_leave_out_what_was_not_sent_are_lower_bounds(site: Builder) -> None:
    found = table(site, "ladder", "Load ladder")
    for load, cells in found.items():
        assert all(cell.startswith("≥ ") == (load in ("80 % the knee", "95 %")) for cell in cells[3:6])
    every = table_of(site.text("ladder/index.html"), "Open-loop latency against load")
    assert sum("≥ " in line.text for line in every.all("tr")) == 6
    assert "Open-loop p99 : 4.80 ms (4.40–40.0) at 20 %" in article(site, "ladder").text
    assert "≥ 960 ms" in article(site, "ladder").text


def test_ladder_draws_every_sample_and_the_knee(site: Builder) -> None:
    chart = figures(site, "ladder")[0]
    (shape,) = chart["layout"]["shapes"]  # type: ignore[index]
    assert shape["x0"] == shape["x1"] == 80
    samples = [t for t in chart["data"] if t["mode"] == "markers"]  # type: ignore[attr-defined]
    assert [trace["name"] for trace in samples] == ["p50", "p95", "p99"]
    assert all(len(trace["x"]) == len(LADDER) * 3 for trace in samples)


def test_closed_and_open_loop_share_no_table(site: Builder) -> None:
    for found in article(site, "ladder").all("table"):
        assert ("(open loop)" in found.text) + ("p99 latency" in found.text) <= 1


def test_a_ladder_on_its_own_runs_page_ranks_no_loads(site: Builder) -> None:
    text = article(site, "runs/made-ladder").text
    assert "Knee : at 80 %" in text
    assert "20 % of capacity, throughput" not in text
    assert "then open loop at 20, 40, 60, 80, 95 % of it" in text


def test_a_ladders_page_tells_both_loops(site: Builder) -> None:
    page = article(site, "runs/made-ladder")
    assert "The capacity was measured in a closed loop" in page.text
    assert "The ladder's loads are an open loop at given rates" in page.text
    assert "not at a given rate" not in page.text
    commands = table_of(site.text("runs/made-ladder/index.html"), "One command of each server").all("tr")
    told = [line.text for line in commands]
    assert any(text.startswith("generator GET") and "oha -z 5s" in text for text in told)
    assert any(text.startswith("generator, open loop GET") and "oha -q 1 -z 5s" in text for text in told)


def test_a_closed_loop_alone_is_told_as_one(site: Builder) -> None:
    text = article(site, "runs/made-proxy").text
    assert "Latencies are those at full load, not at a given rate." in text
    assert "open loop" not in text


def test_timeouts_are_counted_over_the_probe_where_there_is_one(site: Builder) -> None:
    assert "counted before the load and after the probe" in article(site, "runs/made-proxy").text
    assert "counted before and after the load;" in article(site, "runs/made-pool").text


def test_a_saturated_probe_is_named_and_nothing_else_blamed(builder: Builder) -> None:
    write_suite_run(
        *(builder.artifacts, "n", "nagle", nagle_figures),
        flagged=lambda case, repeat: "probe-saturated" if case.dimensions["workers"] == 1 else "",
    )
    pin(builder.artifacts, nagle="n")
    both = (
        'findings("nagle", metrics=["probe_headers_p50"])',
        'table("nagle", metrics=["probe_headers_p50"])',
    )
    calls = "\n\n".join(f"{{{{ {call} }}}}" for call in both)
    builder.build(pages={"index.md": f"# P\n\n{calls}\n"})
    text = tree(builder.text("index.html")).text
    assert re.search(
        r"In \d of \d cases the probe was at its limit: their figures are bounds, marked ≤", text
    )
    assert "≥ (for latencies ≤): the probe was at its limit" in text
    assert "the load generator" not in text


def test_a_ladder_without_a_climb_has_no_knee(builder: Builder) -> None:
    write_suite_run(
        *(builder.artifacts, "l", "rest", ladder_figures),
        servers=["granian"],
        workloads=["get_item"],
        workers=[1],
        ladder=LADDER[:3],
        twin=False,
    )
    pin(builder.artifacts, ladder="l")
    builder.build(pages={"index.md": '# P\n\n{{ ladder("ladder") }}\n'})
    assert "Knee : none up to 60 % of the capacity" in tree(builder.text("index.html")).text


def test_a_run_without_a_ladder_is_an_error_that_says_how_to_get_one(builder: Builder) -> None:
    write_run(builder.artifacts, "ref", servers=2, workloads=1, raw=False)
    pin(builder.artifacts, rest="ref")
    with pytest.raises(BuildFailed, match=r"index\.md, line 1: .*: run ref has no load ladder"):
        builder.build(pages={"index.md": '{{ ladder("rest") }}\n'})


# --- investigations ---------------------------------------------------------------------------------


def test_nagle_is_told_by_comparisons_that_fall_either_way(site: Builder) -> None:
    items = [item.text for item in article(site, "investigations/nagle").all("li")]
    told = [text for text in items if "has a higher gap p50 (probe) than" in text and "43.7 ms" in text]
    assert len(told) == 2
    assert all("no factor, because no ratio with what is below what the probe" in text for text in told)
    assert any("both are below what the probe resolves (0.1 ms)" in text for text in items)
    assert any("1 worker cannot be told apart by gap p50 (probe)" in text for text in items)


def test_pool_curves_are_logarithmic_and_draw_every_sample(site: Builder) -> None:
    chart = figures(site, "investigations/pool")[0]
    assert chart["layout"]["xaxis"]["type"] == chart["layout"]["yaxis"]["type"] == "log"  # type: ignore[index]
    httpx = next(
        t
        for t in chart["data"]  # type: ignore[attr-defined]
        if t["name"] == "httpx, 1 KiB" and t["mode"] == "markers"
    )
    assert sorted(y for x, y in zip(httpx["x"], httpx["y"], strict=True) if x == 100) == sorted(BISTABLE)


def test_pool_figures_are_one_table_over_all_series_by_connections(site: Builder) -> None:
    found = table(site, "investigations/pool", "Throughput, p50 latency, p99 latency by connections")
    assert list(found) == ["5", "10", "25", "50", "100"]
    assert "tier" not in " ".join(cell for cells in found.values() for cell in cells)
    assert "apart" in found["100"][3]
    ratios = table(site, "investigations/pool", "Ratios of throughput by connections")
    assert list(ratios) == list(found)


def test_every_step_of_the_pool_is_told_whichever_way_it_goes(builder: Builder) -> None:
    """httpx falls, then rises, then cannot be told apart, then falls to nothing."""
    rps = {5: 900.0, 10: 500.0, 25: 620.0, 50: 621.0, 100: 60.0}

    def figures(case: Case, repeat: int) -> dict[str, float]:
        return latencies(rps[int(case.dimensions["connections"])] + 2 * repeat)

    write_suite_run(builder.artifacts, "p", "pool", figures)
    pin(builder.artifacts, pool="p")
    builder.build(
        pages={"index.md": '# P\n\n{{ steps("pool", dimension="connections", workload="httpx-1k") }}\n'}
    )
    items = [item.text for item in tree(builder.text("index.html")).all("li")]
    assert [text.split(":")[0].strip() for text in items[-5:]] == [
        "From 5 connections to 10 connections, throughput goes down",
        "From 10 connections to 25 connections, throughput goes up",
        "From 25 connections to 50 connections, throughput cannot be told apart",
        "From 50 connections to 100 connections, throughput goes down",
        "In throughput , 2 of 4 steps go down, 1 goes up and 1 cannot be told apart.",
    ]
    assert items[-5].endswith(
        "904.0 requests/s (902.0–906.0), then 504.0 requests/s (502.0–506.0): 0.56× (samples allow "
        "0.55–0.56×)."
    )
    assert items[-3].endswith("; the ranges overlap.")


def test_the_pool_page_tells_all_steps_of_both_clients(site: Builder) -> None:
    items = [item.text for item in article(site, "investigations/pool").all("li")]
    assert sum(text.startswith("From ") for text in items) == 16
    assert sum(" of 4 steps " in text for text in items) == 4


def test_a_comparison_without_a_basis_makes_no_claim(builder: Builder) -> None:
    write_suite_run(builder.artifacts, "p", "pool", pool_figures, repeats=1)
    pin(builder.artifacts, pool="p")
    call = 'compare("pool", of={"workload": "httpx-1k"}, to={"workload": "aiohttp-1k"}, connections=5)'
    builder.build(pages={"index.md": f"# P\n\n{{{{ {call} }}}}\n"})
    assert "No claim is made of them: one sample only." in tree(builder.text("index.html")).text


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ('chart("pool", kind="against", x="workload", rows="server")', "its workload is no number"),
        ('chart("pool", kind="against", x="conections")', "no dimension 'conections'"),
        ('steps("pool", dimension="conections")', "no dimension 'conections'"),
        ('steps("pool", dimension="workload")', "no steps of workload"),
        ('steps("pool", dimension="workers")', "no steps of workers"),
        ('scaling("pool")', "has no case with one worker and with several"),
        ('ratios("pool", of={"workload": "httpx-1k"}, to=[])', "give as many `to` as `of`"),
        (
            'ratios("pool", of={"workload": "httpx-1k"}, to={"workload": "aiohttp-1k"})',
            "several pairs of cases have server",
        ),
        ('headroom("pool", rows="conections")', "no dimension 'conections'"),
        ('findings("pool", metrics=["open_p99"])', "no metric 'open_p99'"),
    ],
)
def test_a_wrong_call_fails_with_page_and_line(builder: Builder, call: str, message: str) -> None:
    write_suite_run(builder.artifacts, "p", "pool", pool_figures)
    pin(builder.artifacts, pool="p")
    with pytest.raises(BuildFailed, match=rf"index\.md, line 1: .*{re.escape(message)}"):
        builder.build(pages={"index.md": f"{{{{ {call} }}}}\n"})
