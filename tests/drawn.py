"""An interactive table in a browser, as a reader meets it, and the site that the tests of tables read."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from sites import EVIL, ROOT, Builder, pin

from benchmarks.synthetic import flawed, write_run
from hooks.loading import load
from hooks.view import View
from runner.model import Run, Sample

# What is drawn: heads and cells, column by column, each as its lines.
DRAWN = """box => {
  const columns = new Map();
  for (const cell of box.querySelectorAll('.column-cell')) {
    const block = cell.closest('.column-block').__data__;
    const lines = [...cell.querySelectorAll('.line')].map(line => line.textContent);
    const text = lines.length ? lines : [cell.textContent];
    const column = columns.get(block.specIndex) ?? {heads: [], cells: []};
    columns.set(block.specIndex, column);
    column[block.type === 'header' ? 'heads' : 'cells'][cell.__data__.rowNumber]
      = text.map(line => line.replace(/\\u00a0/g, ' '));
  }
  return [...columns.entries()].sort((a, b) => a[0] - b[0]).map(entry => entry[1]);
}"""


class Table:
    """One interactive table of a page."""

    def __init__(self, visit: Any, number: int = 0) -> None:
        self.page = visit.page
        self.complaints: list[str] = visit.complaints
        self.block = self.page.locator(".ls-block[data-table]").nth(number)
        self.block.scroll_into_view_if_needed()
        self.page.locator(".ls-block[data-table].ls-explored").nth(number).wait_for()
        self.box = self.block.locator(".ls-plotly")
        self.settle()

    def settle(self) -> None:
        """Wait until nothing is drawn any more."""
        self.page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 60)))")

    def drawn(self) -> list[Any]:
        self.settle()
        found: list[Any] = self.box.evaluate(DRAWN)
        return found

    def names(self) -> list[str]:
        """The rows' names, top down."""
        return [" ".join(cell) for cell in self.drawn()[1]["cells"]]

    def column(self, head: str) -> list[list[str]]:
        """The cells of the first column of that head, top down, each as its lines."""
        for column in self.drawn():
            if head in " ".join(" ".join(lines) for lines in column["heads"]):
                cells: list[list[str]] = column["cells"]
                return cells
        raise AssertionError(f"no column {head!r}")

    def heads(self) -> list[str]:
        return [" ".join(" ".join(lines) for lines in column["heads"]).strip() for column in self.drawn()[1:]]

    def chip(self, set: str, value: str) -> Any:
        return self.block.locator(f'[data-set="{set}"] button[value="{value}"]')

    def press(self, set: str, value: str) -> None:
        chip = self.chip(set, value)
        if not chip.is_visible():
            self.more()
        chip.click()

    def more(self) -> None:
        self.block.locator(".ls-more").click()

    def head(self, number: int) -> Any:
        """The lowest head of a column, counted without the dots."""
        return self.cell(-1, number)

    def cell(self, row: int, number: int) -> Any:
        """The element of a cell; Plotly makes columns anew, so that their order in the page tells nothing."""
        script = """(box, [row, number]) => {
          const columns = [...box.querySelectorAll('.y-column')];
          const column = columns.find(c => c.__data__.specIndex === number + 1);
          return [...column.querySelectorAll((row < 0 ? '#header' : '#cells1') + ' .column-cell')].at(row);
        }"""
        return self.box.evaluate_handle(script, [row, number]).as_element()

    def says(self) -> str:
        return self.block.locator(".ls-says").text_content() or ""

    def query(self) -> dict[str, list[str]]:
        return parse_qs(urlsplit(self.page.url).query)


def evil(run: Run, samples: list[Sample]) -> tuple[Run, list[Sample]]:
    labels = {
        kind: {name: f"{EVIL} {'long ' * 30}😀 {name}" for name in names}
        for kind, names in run.labels.items()
    }
    return run.model_copy(update={"title": EVIL, "labels": labels}), samples


PAGES = {
    "index.md": '# Tables\n\n{{ table("rest") }}\n\n{{ table("rest", metrics=["p50"]) }}\n',
    "more.md": '# More\n\n{{ table("rest", rows=["server", "workload"], columns=None, tiers=False) }}\n\n'
    '{{ chart("rest", metric="rps") }}\n',
    "real.md": '# Real\n\n{{ table("real", rows="server", columns="workload", metrics=["rps", "p99"]) }}\n',
    "ladder.md": '# Ladder\n\n{{ table("ladder", rows="load", columns=None, metrics=["open_p99", "rps"], '
    'tiers=False) }}\n\n{{ table("ladder", rows="server", columns="workload", metrics=["rps", "p50"], '
    'load="capacity") }}\n',
    "chart.md": '# Chart\n\n{{ chart("nagle", kind="against", x="workers", metric="rps", rows="server", '
    'columns="workload") }}\n',
    "many.md": '# Many\n\n{{ table("many") }}\n',
}
REAL = {"real": "ref-rest-one-worker", "ladder": "ref-rest-ladder", "nagle": "ref-nagle"}
"""Pin → run of this repository."""


def table_site(folder: Path) -> Builder:
    """A site of flawed, hostile and real runs."""
    with pytest.MonkeyPatch.context() as patch:
        builder = Builder(folder, patch)
        write_run(builder.artifacts, "ref-rest", mutate=flawed)
        write_run(builder.artifacts, "rest-evil", servers=3, mutate=evil)
        write_run(builder.artifacts, "many", servers=3, workloads=1, repeats=31, raw=False)
        for run_id in REAL.values():
            shutil.copytree(ROOT / "artifacts" / run_id, builder.artifacts / run_id)
        pin(builder.artifacts, rest="ref-rest", many="many", **REAL)
        builder.build(local=True, pages=PAGES)
        return builder


def view_of(artifacts: Path, run_id: str) -> View:
    found = load(artifacts, [run_id])[run_id]
    assert isinstance(found, View)
    return found


def rows_of(view: View, metric: str, workload: str) -> dict[str, Any]:
    """Label of the server → row of the summary."""
    return {
        view.label("server", row["server"]): row
        for row in view.rows(metric)
        if row["role"] == "case" and row["workload"] == workload
    }
