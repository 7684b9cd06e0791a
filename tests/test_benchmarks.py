"""The benchmarks of Lapsheet itself measure what they say; ``python -m benchmarks`` holds their limits."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from benchmarks import __main__ as command
from benchmarks import building, capture_overhead, site_build, site_serve
from benchmarks.figure import Figure
from benchmarks.synthetic import write_run
from runner.errors import AnalysisError, LapsheetError
from runner.model import Run, Sample

LINE = re.compile(r"[a-z-]+ ratio [0-9.e+-]+ limit [0-9.e+-]+")


def timed(run: Run, samples: list[Sample]) -> tuple[Run, list[Sample]]:
    """As a real capture of 8 s an attempt, 1 s + 5 s of which are asked for; the last is rejected."""
    timing = {
        "start": 1.0,
        "checks_before": 0.2,
        "warmup": 1.1,
        "measured": 5.2,
        "checks_after": 0.2,
        "stop": 0.3,
    }
    samples = [sample.model_copy(update={"timing": timing | {"runner_cpu": 0.0208}}) for sample in samples]
    samples[-1] = samples[-1].model_copy(update={"status": "rejected"})
    finished = run.created + timedelta(seconds=8 * len(samples))
    return run.model_copy(update={"finished": finished}), samples


def test_figure_keeps_its_limit_or_not() -> None:
    assert Figure("one", 1.0, 1.0).kept
    assert not Figure("one", 1.01, 1.0).kept
    assert not Figure("one", float("nan"), 1.0).kept
    assert Figure("site-page", 3.8123, 6).line() == "site-page ratio 3.81 limit 6"


def test_wall_cost_is_wall_over_what_was_asked_for(tmp_path: Path) -> None:
    stored = write_run(tmp_path, "timed", servers=2, repeats=2, raw=False, mutate=timed)
    count = len(stored.samples)
    figure = capture_overhead.wall_cost("timed", tmp_path)
    assert figure.ratio == pytest.approx(8 * count / (6 * (count - 1)))
    assert figure.limit == pytest.approx(1 / 0.75)
    assert LINE.fullmatch(figure.line())


def test_wall_cost_needs_a_complete_run_with_times(tmp_path: Path) -> None:
    write_run(tmp_path, "untimed", servers=1, repeats=1, raw=False, mutate=without_times)
    with pytest.raises(AnalysisError, match="no measured time"):
        capture_overhead.wall_cost("untimed", tmp_path)
    write_run(tmp_path, "half", servers=1, repeats=1, raw=False, mutate=interrupted)
    with pytest.raises(AnalysisError, match="not complete"):
        capture_overhead.wall_cost("half", tmp_path)


def without_times(run: Run, samples: list[Sample]) -> tuple[Run, list[Sample]]:
    return run, [sample.model_copy(update={"timing": {}}) for sample in samples]


def interrupted(run: Run, samples: list[Sample]) -> tuple[Run, list[Sample]]:
    return run.model_copy(update={"state": "interrupted", "finished": None}), samples


def test_runner_cpu_is_its_share_of_one_core(tmp_path: Path) -> None:
    write_run(tmp_path, "timed", servers=2, repeats=2, raw=False, mutate=timed)
    figure = capture_overhead.runner_cpu("timed", tmp_path)
    assert figure.ratio == pytest.approx(0.4)  # 0.4 % of one core, of 1 %
    assert figure.kept


def test_runner_cpu_needs_its_times(tmp_path: Path) -> None:
    write_run(tmp_path, "bare", servers=1, repeats=1, raw=False, mutate=without_times)
    with pytest.raises(AnalysisError, match="lacks the runner's times"):
        capture_overhead.runner_cpu("bare", tmp_path)


def test_capture_figures_want_a_pinned_run(tmp_path: Path) -> None:
    for measure in (capture_overhead.wall_cost, capture_overhead.runner_cpu):
        with pytest.raises(LapsheetError, match="no run is pinned as 'rest'"):
            measure(None, tmp_path)


def counted(site: building.Site) -> tuple[int, int]:
    """How many plain pages and how many synthetic runs a site has."""
    docs, artifacts = site.output.parent / "docs" / "pages", site.output.parent / "artifacts"
    return len(list(docs.glob("*.md"))), len(list(artifacts.glob("synthetic-*/run.json")))


@pytest.mark.parametrize(
    ("measure", "cold", "ratio"), [(site_build.page_cost, True, 5), (site_build.cached_cost, False, 0.5)]
)
def test_page_cost_is_the_ratio_of_slopes(
    measure: Callable[..., Figure],
    cold: bool,
    ratio: float,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    built: set[tuple[Path, bool]] = set()

    def build(site: building.Site, *, cold: bool = True) -> float:
        plain, runs = counted(site)
        assert (plain == 0) != (runs == 0)
        assert cold or not runs or (site.output, True) in built, "nothing could be in the cache"
        built.add((site.output, cold))
        return 1.0 + 0.004 * plain + (0.020 if cold else 0.002) * runs

    monkeypatch.setattr(building.Site, "build", build)
    figure = measure(few=2, many=5, rounds=1)
    assert figure.ratio == pytest.approx(ratio)
    assert LINE.fullmatch(figure.line())
    printed = capsys.readouterr().out
    assert "plain pages: 2 in 1.01 s, 5 in 1.02 s, one more 4.00 ms" in printed
    assert f"one more {4 * ratio:.2f} ms" in printed


@pytest.mark.parametrize("measure", [site_build.linear_cost, site_build.cached_linear_cost])
def test_linear_cost_leaves_the_rest_of_the_site_out(
    measure: Callable[..., Figure], monkeypatch: pytest.MonkeyPatch
) -> None:
    def build(site: building.Site, *, cold: bool = True) -> float:
        _, runs = counted(site)
        return 3.0 + 0.01 * runs + 0.001 * runs**2

    monkeypatch.setattr(building.Site, "build", build)
    assert measure(few=10, many=20, rounds=1).ratio == pytest.approx(0.03 / 0.02)


def test_both_sites_have_their_pages(tmp_path: Path) -> None:
    runs = building.synthetic_runs(tmp_path / "runs", 2)
    run_site = building.run_site(tmp_path / "run", runs)
    assert run_site.build() > 0
    assert len(list(run_site.output.glob("runs/synthetic-*/index.html"))) == 2
    assert len(list(run_site.output.glob("runs/synthetic-0001/*.csv"))) >= 1
    assert len(list(run_site.cache.iterdir())) > 6
    plain_site = building.plain_site(tmp_path / "plain", 2)
    assert plain_site.build() > 0
    assert len(list(plain_site.output.glob("pages/*/index.html"))) == 2


def test_change_is_seen_in_a_served_site(tmp_path: Path) -> None:
    site = building.plain_site(tmp_path / "plain", 1)
    page = tmp_path / "plain" / "docs" / "pages" / "0000.md"

    def write(turn: int) -> None:
        page.write_text(f"# Turn {turn}\n", "utf-8")

    assert 0 < site_serve._waits(site, "pages/0000/", write, 1) < 30


def test_start_cost_is_more_than_the_imports() -> None:
    figure = site_build.start_cost(rounds=1)
    assert 0.8 < figure.ratio < 3  # one round: the machine may have been busy in either half


def test_a_build_that_fails_says_why(tmp_path: Path) -> None:
    site = building.plain_site(tmp_path / "plain", 1)
    (tmp_path / "plain" / "mkdocs.yml").write_text("site_name: Plain\nplugins: [gone]\n", "utf-8")
    with pytest.raises(LapsheetError, match=r'(?s)exit status 1 .* "gone" plugin'):
        site.build()


@pytest.mark.parametrize(
    ("result", "status"),
    [
        (lambda: Figure("one", 1.0, 2.0), 0),
        (lambda: Figure("one", 3.0, 2.0), 1),
        (lambda: capture_overhead.wall_cost("gone"), 2),
    ],
)
def test_exit_status(
    result: Callable[[], Figure],
    status: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(command, "BENCHMARKS", {"one": result, "two": lambda: Figure("two", 0.5, 1.0)})
    assert command.main([]) == status
    assert capsys.readouterr().out.splitlines()[-1] == "two ratio 0.5 limit 1"
    assert command.main(["two"]) == 0
    with pytest.raises(SystemExit):
        command.main(["three"])
