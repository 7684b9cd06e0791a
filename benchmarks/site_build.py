"""What a site build costs: of one more run, the first time and again, and before the first.

Times are processor time (user and system) of whole processes, because then a busy machine moves them
little, and every cost is a ratio of two that were measured in turn, round by round.
"""

from __future__ import annotations

import statistics
import sys

from benchmarks.building import ROOT, Site, plain_site, processor_time, run_site, synthetic_runs, workspace
from benchmarks.figure import Figure

PAGE_LIMIT = 4.0
CACHED_LIMIT = 1.2
LINEAR_LIMIT = 1.15
START_LIMIT = 1.3


def page_cost(few: int = 100, many: int = 300, rounds: int = 5) -> Figure:
    """The cost of one more run page, built for the first time, over the cost of one more plain page.

    Each cost is the slope of the build's processor time between ``few`` and ``many`` pages, from the
    medians over rounds. A run page is that of a synthetic run of the suite ``rest``'s shape (14 servers,
    two routes, five samples), with its tables, charts, exports and receipts, and with storing all of it in
    the cache; the index of runs and the rest of the site, which grow with it, count too. Raw files are left
    out, as they are only copied. A plain page is short prose in MkDocs and Material alone, outside the nav
    as run pages are.
    """
    return Figure("site-page", _over_plain(few, many, rounds, cold=True), PAGE_LIMIT)


def cached_cost(few: int = 100, many: int = 300, rounds: int = 5) -> Figure:
    """As `page_cost`, of a run that an earlier build knew."""
    return Figure("site-cached", _over_plain(few, many, rounds, cold=False), CACHED_LIMIT)


def linear_cost(few: int = 300, many: int = 1000, rounds: int = 2) -> Figure:
    """The cost a run page among ``many`` over that among ``few``, all of them built for the first time.

    A cost is the build's processor time beyond that of the same site without them, by their number.
    """
    return Figure("site-linear", _many_over_few(few, many, rounds, cold=True), LINEAR_LIMIT)


def cached_linear_cost(few: int = 300, many: int = 1000, rounds: int = 3) -> Figure:
    """As `linear_cost`, of runs that an earlier build knew."""
    return Figure("site-cached-linear", _many_over_few(few, many, rounds, cold=False), LINEAR_LIMIT)


def start_cost(rounds: int = 7) -> Figure:
    """The fixed start of a build over importing pandas and MkDocs.

    The fixed start is a process that does all that a build of this site does before it reads the first
    run: import MkDocs and its build command, load mkdocs.yml with theme, plugins and hooks, import the
    analysis. The other process only imports pandas, MkDocs and its build command. Medians over rounds.
    """
    mkdocs = "import mkdocs.__main__, mkdocs.commands.build"
    codes = {
        "start": f"{mkdocs}; from mkdocs.config import load_config\n"
        f"load_config({str(ROOT / 'mkdocs.yml')!r}); import runner.analysis",
        "imports": f"import pandas; {mkdocs}",
    }
    spent: dict[str, list[float]] = {name: [] for name in codes}
    for turn in range(rounds + 1):
        for name, code in codes.items():
            seconds = processor_time([sys.executable, "-c", code], {})
            if turn:  # the first warms compiled modules and file caches
                spent[name].append(seconds)
    medians = {name: statistics.median(found) for name, found in spent.items()}
    print(f"fixed start {medians['start']:.2f} s, importing pandas and MkDocs {medians['imports']:.2f} s")
    return Figure("site-start", medians["start"] / medians["imports"], START_LIMIT)


def _over_plain(few: int, many: int, rounds: int, *, cold: bool) -> float:
    with workspace() as folder:
        runs = synthetic_runs(folder / "runs", many)
        plain_few, plain_many = (plain_site(folder / f"plain-{n}", n) for n in (few, many))
        run_few, run_many = (run_site(folder / f"run-{n}", runs[:n]) for n in (few, many))
        # The plain builds are short, so each is taken on both sides of the long ones.
        turn = [plain_few, plain_many, run_few, run_many, plain_many, plain_few]
        # Compiled modules are warm for both alike, and what a build leaves for the next is there.
        for site in (plain_few, run_few) if cold else (plain_few, run_few, run_many):
            site.build()
        for site in turn * rounds:
            site.spent.append(site.build(cold=cold))
    plain = (plain_many.median - plain_few.median) / (many - few)
    run = (run_many.median - run_few.median) / (many - few)
    for kind, slope, low, high in [("plain", plain, plain_few, plain_many), ("run", run, run_few, run_many)]:
        times = f"{few} in {low.median:.2f} s, {many} in {high.median:.2f} s"
        print(f"{kind} pages: {times}, one more {slope * 1e3:.2f} ms")
    return run / plain if plain > 0 else float("nan")


def _many_over_few(few: int, many: int, rounds: int, *, cold: bool) -> float:
    with workspace() as folder:
        runs = synthetic_runs(folder / "runs", many)
        none, some, all_ = (run_site(folder / f"run-{n}", runs[:n]) for n in (0, few, many))
        for site in (none,) if cold else (none, some, all_):
            site.build()
        for site in [none, some, all_, none] * rounds:
            site.spent.append(site.build(cold=cold))

    def cost(site: Site, count: int) -> float:
        found = (site.median - none.median) / count
        print(f"{count:,} run pages in {site.median:.2f} s, {found * 1e3:.2f} ms each")
        return found

    least, most = cost(some, few), cost(all_, many)
    return most / least if least > 0 else float("nan")
