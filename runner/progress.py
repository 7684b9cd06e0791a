"""What a person sees while a run is captured: a line a sample, and on a terminal a live one below."""

from __future__ import annotations

import time

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Column

from runner.bounds import bound
from runner.ladder import NOT_REACHED
from runner.metrics import METRICS
from runner.model import MAX_ATTEMPTS, Case, Run, Sample


class Display:
    """Shows each sample's figures and, on a terminal, the current case with elapsed and remaining time.

    Use as a context manager. Everything goes to standard error, so that output can be piped.
    """

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(stderr=True, highlight=False)
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._started = time.monotonic()
        self._run: Run | None = None
        self._total = self._done = self._done_before = 0

    def __enter__(self) -> Display:
        if self.console.is_terminal:
            self._bar = Progress(
                TextColumn("[bold]{task.description}"),
                BarColumn(bar_width=16),
                MofNCompleteColumn(),
                TimeElapsedColumn(table_column=Column(min_width=7)),
                TextColumn("{task.fields[left]}", table_column=Column(no_wrap=True)),
                console=self.console,
                refresh_per_second=2,  # a redraw costs CPU that may be the generator's
            )
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def begin(self, run: Run, total: int, done: int) -> None:
        self._run, self._total, self._done, self._done_before = run, total, done, done
        self._started = time.monotonic()
        resumed = f", {done} done before" if done else ""
        self.console.print(
            f"run {run.id}: {total} {'sample' if total == 1 else 'samples'}{resumed}, "
            f"generator {run.generator.name} {run.generator.version}",
            markup=False,
            soft_wrap=True,
        )
        if self._bar is not None:
            self._task = self._bar.add_task("starting", total=total, completed=done, left="")

    def measuring(self, case: Case, repeat: int, attempt: int) -> None:
        again = f", attempt {attempt}" if attempt > 1 else ""
        if self._bar is not None and self._task is not None:
            self._bar.update(
                self._task,
                description=escape(f"{case.id} round {repeat}{again}"),
                left=self._left(),
            )

    def stored(self, case: Case, sample: Sample) -> None:
        if sample.status != "rejected" or sample.attempt >= MAX_ATTEMPTS:
            self._done += 1
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=self._done, left=self._left())
        # The bar tells what is left; without one each line does.
        left = f"  {self._left()}" if self._bar is None else ""
        place = f"[{self._done}/{self._total}] {case.id} round {sample.repeat}"
        self.console.print(
            f"{place}: {describe(sample)}{left}".rstrip(),
            markup=False,
            soft_wrap=True,
        )

    def message(self, text: str) -> None:
        self.console.print(text, markup=False, soft_wrap=True)

    def _left(self) -> str:
        fresh = self._done - self._done_before
        if not fresh:
            return ""
        seconds = (time.monotonic() - self._started) / fresh * (self._total - self._done)
        return f"{duration(seconds)} left"


def describe(sample: Sample) -> str:
    """One attempt in a few words: its throughput and p99, or why there is none."""
    if sample.status != "accepted":
        first = sample.reasons[0] if sample.reasons else None
        reason = first.message.splitlines()[0] if first else ""
        return f"{sample.status}: {first.code + ': ' if first else ''}{reason}"
    codes = {flag.code for flag in sample.flags}
    shown = []
    for key, name in (("rps", ""), ("p99", "p99 "), ("open_p99", "p99 ")):
        if key in sample.metrics:
            short = key.startswith("open_") and NOT_REACHED in codes
            sign = bound({"metric": key, "floor": "saturated" in codes, "unsent": short}).strip("?")
            figure = f"{METRICS[key].show(sample.metrics[key])} {METRICS[key].display_unit}"
            shown.append(f"{name}{sign} {figure}" if sign else f"{name}{figure}")
    return ", ".join(shown)


def duration(seconds: float) -> str:
    """``75`` → ``1 min 15 s``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
