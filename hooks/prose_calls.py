"""The calls that stand within a sentence, and what all calls of a page share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from hooks.catalogue import Entry
from hooks.claims import claim
from hooks.context import PageContext
from hooks.listing import NO_RUN
from hooks.markup import escape
from hooks.placeholders import Placeholders
from hooks.published import published_text
from hooks.rules import rule_text
from hooks.values import count_text, param_text, ratio_text, value_text
from hooks.view import View


class ProseCalls:
    """The results of a page's calls are held in ``places``, until Markdown has run."""

    def __init__(self, page: PageContext) -> None:
        self.page = page
        self.places = Placeholders()
        self._told = False

    def _value(self, pin: str, metric: str = "rps", stat: str = "median", **where: Any) -> str:
        """One figure with its unit."""
        return self._hold_inline(pin, lambda e: value_text(e.view, metric, stat, where))

    def _ratio(
        self, pin: str, of: Mapping[str, Any], to: Mapping[str, Any], metric: str = "rps", **where: Any
    ) -> str:
        """One median over another: ``2.31×``, with "≥" or "≤" where a side is a bound."""
        return self._hold_inline(pin, lambda e: ratio_text(e.view, metric, of, to, where))

    def _param(self, pin: str, name: str, unit: bool = False) -> str:
        """A parameter of the run, or a name of its software: ``generator``, ``python``, a distribution."""
        return self._hold_inline(pin, lambda e: escape(param_text(e.view, name, unit)))

    def _count(self, pin: str, dimension: str, **where: Any) -> str:
        """How many servers, workloads or other values of a dimension a run has."""
        return self._hold_inline(pin, lambda e: count_text(e.view, dimension, where))

    def _rule(self, name: str) -> str:
        """A limit or definition that Lapsheet goes by, as its code has it."""
        return self.places.inline(escape(rule_text(name)))

    def _claim(self, pin: str, kind: str, **arguments: Any) -> str:
        """A sentence that the data bears out; see `hooks.claims.claim`."""
        return self._hold_inline(pin, lambda e: claim(e.view, kind, arguments))

    def _published(self, pin: str, metric: str = "rps", **where: Any) -> str:
        """One figure that others published, marked as such."""
        return self._hold_inline(pin, lambda e: published_text(e.view, metric, where))

    def _dimensions(self, pin: str) -> Iterable[str] | None:
        entry = self._entry(pin)
        return None if entry is None else entry.view.dimensions

    def _entry(self, pin: str) -> Entry | None:
        """The pinned run; None where nothing at all is published, which no page can help."""
        return None if self.page.catalogue.empty else self.page.catalogue.pin(pin)

    def _hold_block(self, pin: str, render: Callable[[Entry], str]) -> str:
        entry = self._entry(pin)
        return self._no_run() if entry is None else self.places.block(render(entry))

    def _hold_both(self, pin: str, other: str, render: Callable[[View, View], str]) -> str:
        first, second = self._entry(pin), self._entry(other)
        if first is None or second is None:
            return self._no_run()
        return self.places.block(render(first.view, second.view))

    def _hold_inline(self, pin: str, render: Callable[[Entry], str]) -> str:
        entry = self._entry(pin)
        return self.places.inline("–" if entry is None else render(entry))

    def _no_run(self) -> str:
        """The message, once a page."""
        told, self._told = self._told, True
        return self.places.block("" if told else NO_RUN)
