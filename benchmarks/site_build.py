"""What a site build costs: of one more run, and before the first.

Times are processor time (user and system) of whole processes, because then a busy machine moves them
little, and every cost is a ratio of two that were measured in turn, round by round.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import statistics
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks.figure import Figure
from benchmarks.synthetic import write_run
from runner import store
from runner.errors import LapsheetError

ROOT = Path(__file__).parent.parent
PAGE_LIMIT = 6.0
START_LIMIT = 1.3

# A short page of documentation: five sections of three paragraphs.
SECTIONS, PARAGRAPHS, WORDS = 5, 3, 25
_VOCABULARY = (
    "server worker loop sample round case table figure median range tier noise band seed page site query "
    "evidence claim report reader number method limit check answer request response header body route order "
    "machine kernel thread process core cache memory disk port address time second share rate count hash"
)


def page_cost(few: int = 100, many: int = 300, rounds: int = 5) -> Figure:
    """The cost of one more run page over the cost of one more plain page.

    Each cost is the slope of the build's processor time between ``few`` and ``many`` pages, from the
    medians over rounds. A run page is that of a synthetic run of the suite ``rest``'s shape (14 servers,
    two routes, five samples), with its tables, charts, CSV and JSON; the index of runs and the rest of
    the site, which grow with it, count too. Raw files are left out, as they are only copied. A plain
    page is short prose in MkDocs and Material alone, outside the nav as run pages are.
    """
    with tempfile.TemporaryDirectory(prefix="lapsheet-bench-") as name:
        folder = Path(name)
        runs = _synthetic_runs(folder / "runs", many)
        plain_few, plain_many = (_plain_site(folder / f"plain-{n}", n) for n in (few, many))
        run_few, run_many = (_run_site(folder / f"run-{n}", runs[:n]) for n in (few, many))
        # The plain builds are short, so each is taken on both sides of the long ones.
        turn = [plain_few, plain_many, run_few, run_many, plain_many, plain_few]
        for site in (plain_few, run_few):
            site.build()  # compiled modules are warm for both alike
        for site in turn * rounds:
            site.spent.append(site.build())
    plain = (plain_many.median - plain_few.median) / (many - few)
    run = (run_many.median - run_few.median) / (many - few)
    for kind, slope, low, high in [("plain", plain, plain_few, plain_many), ("run", run, run_few, run_many)]:
        times = f"{few} in {low.median:.2f} s, {many} in {high.median:.2f} s"
        print(f"{kind} pages: {times}, one more {slope * 1e3:.2f} ms")
    return Figure("site-page", run / plain if plain > 0 else float("nan"), PAGE_LIMIT)


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
            seconds = _processor_time([sys.executable, "-c", code], {})
            if turn:  # the first warms compiled modules and file caches
                spent[name].append(seconds)
    medians = {name: statistics.median(found) for name, found in spent.items()}
    print(f"fixed start {medians['start']:.2f} s, importing pandas and MkDocs {medians['imports']:.2f} s")
    return Figure("site-start", medians["start"] / medians["imports"], START_LIMIT)


class _Site:
    """A site that can be built again and again."""

    def __init__(self, config: Path, output: Path, environment: Mapping[str, str]) -> None:
        self.output = output
        self._command = [sys.executable, "-m", "mkdocs", "build", "--quiet"]
        self._command += ["--config-file", str(config), "--site-dir", str(output)]
        self._environment = environment
        self.spent: list[float] = []

    @property
    def median(self) -> float:
        """The median of ``spent``, the processor times of its measured builds, in seconds."""
        return statistics.median(self.spent)

    def build(self) -> float:
        """Build into an empty folder; the processor time in seconds."""
        shutil.rmtree(self.output, ignore_errors=True)
        return _processor_time(self._command, self._environment)


def _synthetic_runs(folder: Path, count: int) -> list[Path]:
    folder.mkdir()
    return [write_run(folder, f"synthetic-{seed:04}", seed=seed, raw=False).folder for seed in range(count)]


def _run_site(folder: Path, runs: list[Path]) -> _Site:
    """This project's site, showing its pinned runs and those."""
    artifacts = folder / "artifacts"
    artifacts.mkdir(parents=True)
    pins = store.read_pins(ROOT / "artifacts")
    if pins:
        shutil.copy(ROOT / "artifacts" / store.PINS, artifacts)
    for run_id in {pin.run for pin in pins.values()}:
        shutil.copytree(ROOT / "artifacts" / run_id, artifacts / run_id)
    for run in runs:
        shutil.copytree(run, artifacts / run.name, copy_function=os.link)
    environment = {"LAPSHEET_ARTIFACTS": str(artifacts), "LAPSHEET_LOCAL": "1"}
    return _Site(ROOT / "mkdocs.yml", folder / "site", environment)


def _plain_site(folder: Path, pages: int) -> _Site:
    """A site of MkDocs and Material alone, with that many short pages outside the nav."""
    docs = folder / "docs"
    (docs / "pages").mkdir(parents=True)
    (docs / "index.md").write_text("# Plain\n\nNothing but pages.\n", "utf-8")
    for number in range(pages):
        (docs / "pages" / f"{number:04}.md").write_text(_prose(number), "utf-8")
    config = {
        "site_name": "Plain",
        "theme": {"name": "material", "font": False},
        "nav": [{"Home": "index.md"}],
        "not_in_nav": "pages/*.md",
    }
    (folder / "mkdocs.yml").write_text(json.dumps(config), "utf-8")  # JSON is YAML
    return _Site(folder / "mkdocs.yml", folder / "site", {})


def _prose(number: int) -> str:
    """A page of Markdown, the same for the same number."""
    dice, words = random.Random(number), _VOCABULARY.split()
    parts = [f"# Page {number}"]
    for section in range(SECTIONS):
        parts.append(f"## Section {section + 1}")
        for _ in range(PARAGRAPHS):
            parts.append(" ".join(dice.choices(words, k=WORDS)).capitalize() + ".")
    return "\n\n".join(parts) + "\n"


def _processor_time(command: list[str], environment: Mapping[str, str]) -> float:
    """User and system time, in seconds, of a process and of those it waited for.

    Raises LapsheetError with what it printed if it fails.
    """
    with tempfile.TemporaryFile() as output:
        number = output.fileno()
        pid = os.posix_spawn(
            command[0],
            command,
            {**os.environ, "NO_MKDOCS_2_WARNING": "1", **environment},
            file_actions=[(os.POSIX_SPAWN_DUP2, number, 1), (os.POSIX_SPAWN_DUP2, number, 2)],
        )
        _, status, usage = os.wait4(pid, 0)
        if code := os.waitstatus_to_exitcode(status):
            output.seek(0)
            tail = output.read().decode(errors="replace")[-2000:]
            raise LapsheetError(f"exit status {code} of: {' '.join(command)}\n{tail}", "Run it to see why.")
    return usage.ru_utime + usage.ru_stime
