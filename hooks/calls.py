"""What a page's Markdown may call: ``{{ table("rest") }}`` and the like, first argument a pin."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hooks.beside import beside_block
from hooks.blocks import table_block
from hooks.catalogue import Entry
from hooks.chart_blocks import chart_block, curve_block, heatmap_block, percentile_block
from hooks.checking import Count, Level, checked
from hooks.comparing import compare_block, steps_block
from hooks.controls import controls_beside_block, headroom_block
from hooks.differences import differences_block
from hooks.downloads import downloads_block
from hooks.environment import environment_block
from hooks.findings import findings_block
from hooks.grid import grids
from hooks.ladders import ladder_block
from hooks.listing import newest_local, runs_block, summary_block
from hooks.methodology import Section, sections
from hooks.near import near
from hooks.overview import overview_block
from hooks.probing import probe_limits_block
from hooks.prose_calls import ProseCalls
from hooks.ratios import ratios_block
from hooks.scale import scaling_block
from hooks.statements import statements_block
from runner.errors import AnalysisError

CHARTS = ["range", "against", "scaling", "percentiles", "heatmap"]


class Calls(ProseCalls):
    """The calls of one page, by name in `functions`."""

    def functions(self) -> dict[str, Callable[..., object]]:
        """What a page may call."""
        calls: dict[str, Callable[..., object]] = {
            "table": self._table,
            "chart": self._chart,
            "value": self._value,
            "ratio": self._ratio,
            "param": self._param,
            "count": self._count,
            "rule": self._rule,
            "ratios": self._ratios,
            "compare": self._compare,
            "steps": self._steps,
            "headroom": self._headroom,
            "probe_limits": self._probe_limits,
            "scaling": self._scaling,
            "ladder": self._ladder,
            "claim": self._claim,
            "findings": self._findings,
            "methodology": self._methodology,
            "environment": self._environment,
            "summary": self._summary,
            "overview": self._overview,
            "downloads": self._downloads,
            "published": self._published,
            "beside": self._beside,
            "controls_beside": self._controls_beside,
            "differences": self._differences,
            "statements": self._statements,
            "publications": self._publications,
            "runs": self._runs,
            "newest_local": self._newest_local,
            "pinned": self._pinned,
        }
        return {name: checked(name, call, self._dimensions) for name, call in calls.items()}

    def _table(
        self,
        pin: str,
        rows: str | Sequence[str] = "server",
        columns: str | None = "workload",
        metrics: str | Sequence[str] = ("rps", "p99"),
        also: str | Sequence[str] = (),
        tiers: bool = True,
        **where: Any,
    ) -> str:
        """A table of medians, with ranges, tiers and remarks; without ``tiers`` of several series at once.

        ``also`` are metrics one click away: each in a table of its own that is closed at first.
        """
        names, keys = _names(rows), _names(metrics)

        def render(entry: Entry) -> str:
            shown, *more = (
                grids(entry.view, names, columns, these, where, tiers=tiers)
                for these in [keys, *([key] for key in _names(also))]
            )
            return table_block(self.page, entry, shown, more)

        return self._hold_block(pin, render)

    def _chart(
        self,
        pin: str,
        kind: str = "range",
        metric: str = "rps",
        rows: str | Sequence[str] = "server",
        columns: str | None = "workload",
        x: str = "connections",
        **where: Any,
    ) -> str:
        """A chart for each value of ``columns``, or a heat map of all of them, by its ``kind``:

        ``range``; ``against`` the number ``x``, or ``scaling``, which is against the workers;
        ``percentiles`` of the family of ``metric``; ``heatmap``.
        """
        if kind not in CHARTS:
            raise AnalysisError(f"no kind of chart {kind!r}", near(kind, CHARTS))
        names = _names(rows)

        def render(entry: Entry) -> str:
            if kind in ("against", "scaling"):
                number = "workers" if kind == "scaling" else x
                return curve_block(self.page, entry, number, names, columns, metric, where)
            if kind == "percentiles":
                return percentile_block(self.page, entry, names, columns, metric, where)
            draw = heatmap_block if kind == "heatmap" else chart_block
            return draw(self.page, entry, grids(entry.view, names, columns, [metric], where))

        return self._hold_block(pin, render)

    def _ratios(
        self,
        pin: str,
        of: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        to: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        rows: str = "server",
        metric: str = "rps",
        **where: Any,
    ) -> str:
        """A table of ratios with their ranges, a column for each pair of ``of`` and ``to``."""
        styles = self.page.catalogue.styles
        return self._hold_block(pin, lambda e: ratios_block(e.view, of, to, rows, metric, where, styles))

    def _compare(
        self,
        pin: str,
        of: Mapping[str, Any],
        to: Mapping[str, Any],
        metric: str | Sequence[str] = "rps",
        **where: Any,
    ) -> str:
        """What the data says of one side against the other, whichever way it falls."""
        return self._hold_block(pin, lambda e: compare_block(e.view, of, to, _names(metric), where))

    def _steps(self, pin: str, dimension: str, metric: str | Sequence[str] = "rps", **where: Any) -> str:
        """What the data says of each step from one number of a dimension to the next."""
        return self._hold_block(pin, lambda e: steps_block(e.view, dimension, _names(metric), where))

    def _headroom(self, pin: str, rows: str = "server", **where: Any) -> str:
        """The upstream's own capacity over each row, and the controls it comes from."""
        styles = self.page.catalogue.styles
        return self._hold_block(pin, lambda e: headroom_block(e.view, rows, where, styles))

    def _probe_limits(self) -> str:
        """What the probe can and cannot see, as on the page of every run that has one."""
        return self.places.block(probe_limits_block())

    def _scaling(self, pin: str, metric: str = "rps", **where: Any) -> str:
        """From one worker to several, with factors where the server's CPUs allow any."""
        styles = self.page.catalogue.styles
        return self._hold_block(pin, lambda e: scaling_block(e.view, metric, where, styles))

    def _ladder(self, pin: str) -> str:
        """Latency against load in an open loop, with its knee."""
        return self._hold_block(pin, lambda e: ladder_block(self.page, e))

    def _findings(self, pin: str, metrics: str | Sequence[str] = ("rps", "p99"), **where: Any) -> str:
        """What the run shows of these metrics, in sentences."""
        return self._hold_block(pin, lambda e: findings_block(e.view, _names(metrics), where))

    def _environment(self, pin: str) -> str:
        """CPU layout, machine and software."""
        return self._hold_block(pin, lambda e: environment_block(e.view))

    def _summary(self, pin: str) -> str:
        """The run in one box: name, date, what was measured on what, and what to know of it."""
        return self._hold_block(pin, lambda e: summary_block(self.page, e))

    def _overview(self, pin: str, metric: str = "rps") -> str:
        """What was measured, on what, and what it shows, beside a chart: for a front page."""
        return self._hold_block(pin, lambda e: overview_block(self.page, e, metric))

    def _downloads(self, pin: str) -> str:
        """Every file of the run."""
        return self._hold_block(pin, lambda e: downloads_block(self.page, e))

    def _methodology(self, pin: str, level: Level = 2) -> str:
        """The whole method, as sections with headings."""
        entry = self._entry(pin)
        if entry is None:
            return self._no_run()
        return self.sections(sections(entry.view), level)

    def _beside(
        self,
        pin: str,
        published: str,
        baseline: Mapping[str, Any],
        metric: str = "rps",
        rows: str | Sequence[str] = "server",
        columns: str | None = "workload",
        here: Mapping[str, Any] | None = None,
        there: Mapping[str, Any] | None = None,
        common: bool = False,
        **where: Any,
    ) -> str:
        """Our figures beside published ones: each ratio within its own side, then one over the other.

        ``where`` holds on both sides, ``here`` and ``there`` on one; ``common`` leaves out rows that one side
        lacks, and an empty ``baseline`` the ratios.
        """
        styles, given = self.page.catalogue.styles, (where, here or {}, there or {})
        return self._hold_both(
            pin,
            published,
            lambda ours, theirs: beside_block(
                ours, theirs, metric, baseline, _names(rows), columns, *given, styles, common
            ),
        )

    def _controls_beside(self, pin: str, published: str) -> str:
        """The upstream's own capacity on two sides, over the best row that it bounds."""
        return self._hold_both(pin, published, controls_beside_block)

    def _differences(self, pin: str, published: str) -> str:
        """How two runs differ in everything but their figures."""
        return self._hold_both(pin, published, differences_block)

    def _statements(
        self,
        published: str,
        topic: str | None = None,
        run: str | None = None,
        here: Mapping[str, Any] | None = None,
    ) -> str:
        """What was stated with published figures, computed on them and on a run of ours.

        ``here`` replaces conditions of the statements on our side.
        """
        if run is None:
            return self._hold_block(published, lambda e: statements_block(e.view, topic, None))
        return self._hold_both(
            run, published, lambda ours, theirs: statements_block(theirs, topic, ours, here)
        )

    def _publications(self, level: Level = 2) -> str:
        """Every published run with its files, each under a heading."""
        if self.page.catalogue.empty:
            return self._no_run()
        parts = []
        for entry in self.page.catalogue.published():
            parts.append(
                f"{'#' * level} {entry.view.id}\n\n{self.places.block(summary_block(self.page, entry))}"
            )
            parts.append(self.places.block(downloads_block(self.page, entry)))
        return "\n\n".join(parts)

    def _runs(self, newest: Count | None = None) -> str:
        """All runs that have a page."""
        return self.places.block(runs_block(self.page, newest=newest))

    def _newest_local(self) -> str:
        """The newest run that is not published, where this build shows such runs."""
        return self.places.block(newest_local(self.page))

    def _pinned(self, pin: str) -> bool:
        """Whether that run is there, for what a page says only then; a wrong name is an error."""
        return self._entry(pin) is not None

    def sections(self, parts: Sequence[Section], level: int) -> str:
        """Sections as Markdown: their headings, so that the table of contents has them, and placeholders."""
        return "\n\n".join(f"{'#' * level} {part.title}\n\n{self.places.block(part.html)}" for part in parts)


def _names(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)
