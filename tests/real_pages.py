"""Markdown resolved against the runs that this repository pins, without a build."""

from __future__ import annotations

from sites import ROOT

from hooks.cache import Cache
from hooks.calls import Calls
from hooks.catalogue import Catalogue, read_catalogue
from hooks.context import PageContext
from hooks.settings import Settings
from hooks.template import resolve


class Pages:
    """Resolves pages over a catalogue."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def resolve(self, markdown: str, source: str = "page.md") -> list[str]:
        """What each of the page's calls made, as HTML. Raises PageError as a build would."""
        calls = Calls(PageContext(self._catalogue, "page/"))
        resolve(markdown, calls.functions(), source)
        held = calls.places.held()
        made = {int(number): html for kind in held.values() for number, html in kind.items()}
        return [made[number] for number in sorted(made)]


def pages_of_this_repository() -> Pages:
    """Its pinned runs, none of the others."""
    return Pages(read_catalogue(Settings(ROOT / "artifacts", local=False), Cache(None)))
