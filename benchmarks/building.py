"""Sites to build again and again: of plain pages, and of runs; and what a build costs."""

from __future__ import annotations

import json
import os
import random
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from benchmarks.synthetic import write_run
from runner import store
from runner.errors import LapsheetError

ROOT = Path(__file__).parent.parent
# Where Linux keeps files in memory: some file systems take longest for what was deleted a minute ago, and
# that is neither MkDocs' nor ours.
_MEMORY = Path("/dev/shm")
_ROOM = 4 * 2**30

# A short page of documentation: five sections of three paragraphs.
SECTIONS, PARAGRAPHS, WORDS = 5, 3, 25
_VOCABULARY = (
    "server worker loop sample round case table figure median range tier noise band seed page site query "
    "evidence claim report reader number method limit check answer request response header body route order "
    "machine kernel thread process core cache memory disk port address time second share rate count hash"
)


class Site:
    """A site that can be built again and again.

    ``cache`` is its cache of what earlier builds made; a ``cold`` build starts without one.
    """

    def __init__(self, folder: Path, config: Path, environment: Mapping[str, str]) -> None:
        self.config = config
        self.output = folder / "site"
        self.cache = folder / "cache"
        self.environment = {**environment, "LAPSHEET_CACHE": str(self.cache)}
        self.spent: list[float] = []

    @property
    def median(self) -> float:
        """The median of ``spent``, the processor times of its measured builds, in seconds."""
        return statistics.median(self.spent)

    def build(self, *, cold: bool = True) -> float:
        """Build into an empty folder; the processor time in seconds."""
        shutil.rmtree(self.output, ignore_errors=True)
        if cold:
            shutil.rmtree(self.cache, ignore_errors=True)
        command = [sys.executable, "-m", "mkdocs", "build", "--quiet"]
        command += ["--config-file", str(self.config), "--site-dir", str(self.output)]
        return processor_time(command, self.environment)


@contextmanager
def workspace() -> Iterator[Path]:
    """An empty folder for as long as it is needed, in memory where there is room."""
    memory = _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _ROOM
    with tempfile.TemporaryDirectory(prefix="lapsheet-bench-", dir=_MEMORY if memory else None) as name:
        yield Path(name)


def synthetic_runs(folder: Path, count: int) -> list[Path]:
    """The folders of that many runs of the suite ``rest``'s shape: 14 servers, two routes, five samples."""
    folder.mkdir()
    return [write_run(folder, f"synthetic-{seed:04}", seed=seed, raw=False).folder for seed in range(count)]


def run_site(folder: Path, runs: list[Path]) -> Site:
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
    return Site(folder, ROOT / "mkdocs.yml", environment)


def plain_site(folder: Path, pages: int) -> Site:
    """A site of MkDocs and Material alone, with that many short pages outside the nav."""
    docs = folder / "docs"
    (docs / "pages").mkdir(parents=True)
    (docs / "index.md").write_text("# Plain\n\nNothing but pages.\n", "utf-8")
    for number in range(pages):
        (docs / "pages" / f"{number:04}.md").write_text(prose(number), "utf-8")
    config = {
        "site_name": "Plain",
        "theme": {"name": "material", "font": False},
        "nav": [{"Home": "index.md"}],
        "not_in_nav": "pages/*.md",
    }
    (folder / "mkdocs.yml").write_text(json.dumps(config), "utf-8")  # JSON is YAML
    return Site(folder, folder / "mkdocs.yml", {})


def prose(number: int) -> str:
    """A page of Markdown, the same for the same number."""
    dice, words = random.Random(number), _VOCABULARY.split()
    parts = [f"# Page {number}"]
    for section in range(SECTIONS):
        parts.append(f"## Section {section + 1}")
        for _ in range(PARAGRAPHS):
            parts.append(" ".join(dice.choices(words, k=WORDS)).capitalize() + ".")
    return "\n\n".join(parts) + "\n"


def processor_time(command: list[str], environment: Mapping[str, str]) -> float:
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
