"""What a page's reader waits for: on a slow phone, on the main thread, and by Lighthouse's marks.

In headless Chromium, from a loopback server that compresses as a web server does. Times are wall time, so
a busy machine moves them; each figure is the worse of Home and the REST page, from medians over rounds.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks.building import ROOT, Site, workspace
from benchmarks.figure import Figure
from benchmarks.serving import serve
from runner.errors import LapsheetError

PAGES = {"Home": "", "REST": "rest/"}
CHARTS_LIMIT = 1.0  # seconds
BLOCKING_LIMIT = 300.0  # ms
SCORE_LIMIT = 0.9
LIGHTHOUSE = ROOT / "bundle" / "node_modules" / "lighthouse" / "cli" / "index.js"
_QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
# Nobody else is asked, whatever a page or the browser wants.
_ALONE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"

# Sees the first frame after which every picture of a chart is laid out.
_CHARTS = """(function () {
  function look() {
    const boxes = [...document.querySelectorAll(".ls-figure[data-figure]")];
    const drawn = boxes.every(box => box.querySelector("svg")?.getBoundingClientRect().height > 0);
    const parsed = document.querySelector(".md-footer");
    if (parsed && boxes.length && drawn) {
      window.chartsAt = performance.now();
    } else {
      requestAnimationFrame(look);
    }
  }
  requestAnimationFrame(look);
})();"""
# Total blocking time: of each task, what is over 50 ms.
_TASKS = """window.tasks = [];
new PerformanceObserver(list => {
  for (const entry of list.getEntries()) window.tasks.push(entry.duration);
}).observe({type: "longtask", buffered: true});"""


def charts_after_text(rounds: int = 5) -> Figure:
    """Seconds from the first text to the charts on a slow phone, over the limit of a second.

    The phone has 1.6 Mbit/s, 150 ms each way to an answer, and a quarter of this machine's speed.
    """

    def measure(browser: Any, url: str) -> float:
        context = browser.new_context(viewport={"width": 390, "height": 800}, is_mobile=True, has_touch=True)
        page = context.new_page()
        devtools = context.new_cdp_session(page)
        devtools.send("Network.enable")
        bytes_a_second = 1.6e6 / 8
        slow = {"latency": 150, "downloadThroughput": bytes_a_second, "uploadThroughput": bytes_a_second}
        devtools.send("Network.emulateNetworkConditions", {"offline": False, **slow})
        devtools.send("Emulation.setCPUThrottlingRate", {"rate": 4})
        page.add_init_script(_CHARTS)
        page.goto(url, wait_until="load")
        page.wait_for_function("window.chartsAt")
        text, charts = page.evaluate(
            "[performance.getEntriesByName('first-contentful-paint')[0].startTime, window.chartsAt]"
        )
        context.close()
        wait: float = max(0.0, (charts - text) / 1e3)
        return wait

    waits = _medians(measure, rounds)
    _tell("charts after the text", waits, "s")
    return Figure("page-charts", max(waits.values()) / CHARTS_LIMIT, 1.0)


def blocking(rounds: int = 5) -> Figure:
    """Milliseconds that a load blocks the main thread, unthrottled, over their limit.

    Of each task longer than 50 ms what is over them, until what waits for an idle page has been drawn.
    """

    def measure(browser: Any, url: str) -> float:
        context = browser.new_context(viewport={"width": 1400, "height": 900})
        page = context.new_page()
        page.add_init_script(_TASKS)
        page.goto(url, wait_until="networkidle")
        page.wait_for_timeout(3000)
        tasks: list[float] = page.evaluate("window.tasks")
        context.close()
        return sum(max(0.0, task - 50) for task in tasks)

    blocked = _medians(measure, rounds)
    _tell("main thread blocked", blocked, "ms")
    return Figure("page-blocking", max(blocked.values()) / BLOCKING_LIMIT, 1.0)


def lighthouse_score(rounds: int = 5) -> Figure:
    """What is wanted of Lighthouse's mobile performance over what it gives."""
    node = shutil.which("node")
    if node is None or not LIGHTHOUSE.is_file():
        raise LapsheetError("Lighthouse is not there", "Run `npm --prefix bundle ci`.")
    flags = " ".join(["--headless=new", *_QUIET, f'"{_ALONE}"'])
    environment = os.environ | {"CHROME_PATH": _chromium()}
    scores: dict[str, float] = {}
    with _site() as url:
        for name, path in PAGES.items():
            command = [node, str(LIGHTHOUSE), url + path, "--quiet", "--output=json"]
            command += ["--only-categories=performance", "--no-enable-error-reporting"]
            command += ["--output-path=stdout", f"--chrome-flags={flags}"]
            found = []
            for _ in range(rounds):
                result = subprocess.run(
                    command, env=environment, capture_output=True, text=True, check=False, timeout=300
                )
                if result.returncode:
                    raise LapsheetError(f"Lighthouse failed: {result.stderr[-2000:]}", "Run it to see why.")
                found.append(json.loads(result.stdout)["categories"]["performance"]["score"])
            scores[name] = statistics.median(found)
    _tell("Lighthouse mobile performance", {name: 100 * score for name, score in scores.items()}, "")
    worst = min(scores.values())
    return Figure("page-lighthouse", SCORE_LIMIT / worst if worst else float("nan"), 1.0)


def _tell(what: str, values: dict[str, float], unit: str) -> None:
    print(f"{what}: {', '.join(f'{name} {value:.4g} {unit}'.strip() for name, value in values.items())}")


def _chromium() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        raise LapsheetError("no Chromium on the PATH", "Run `apt-get install chromium`.")
    return found


@contextmanager
def _site() -> Iterator[str]:
    """The address of this project's site of the runs it publishes."""
    with workspace() as folder:
        site = Site(folder, ROOT / "mkdocs.yml", {"LAPSHEET_LOCAL": "0"})
        site.build()
        with serve(site.output) as wire:
            yield wire.url


def _medians(measure: Callable[[Any, str], float], rounds: int) -> dict[str, float]:
    """Page → the median of what is measured of it, each time in a browser without a cache."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise LapsheetError("playwright is not installed", "Run `uv sync --group dev`.") from None
    with _site() as url, sync_playwright() as play:
        browser = play.chromium.launch(executable_path=_chromium(), args=[*_QUIET, _ALONE])
        found = {
            name: statistics.median([measure(browser, url + path) for _ in range(rounds)])
            for name, path in PAGES.items()
        }
        browser.close()
    return found
