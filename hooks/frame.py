"""What stands around the content of a run's page, rendered once for all runs with the same contents list.

Between two such pages only title, description and address differ. Rendering the theme's template again for
each of hundreds of runs would cost more than half of what their pages cost.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mkdocs.structure.pages import Page

# The template of the pages that are set into a frame, in overrides/: as little as MkDocs takes for a page.
TEMPLATE = "run.html"
# Material adds a heading of its own to a page that has no "<h1".
CONTENT = "<!-- <h1: the run's page -->"
# Private-use characters: no page contains them.
_TITLE, _DESCRIPTION, _ADDRESS = (f"\ue000{name}\ue001" for name in ("title", "description", "address"))


@dataclass
class Frames:
    """The frames of one build, by contents list: each is what the first page of its kind is rendered to."""

    _first: dict[Any, str] = field(default_factory=dict)
    _made: dict[Any, str] = field(default_factory=dict)

    def enter(self, page: Page, contents: Any) -> None:
        """Take a page, in the order in which they are rendered; ``contents`` is what its list depends on."""
        if self._first.setdefault(contents, page.file.src_uri) != page.file.src_uri:
            page.meta["template"] = TEMPLATE

    def seen(self, page: Page, contents: Any) -> Any:
        """The page as its template sees it: the first of its kind has marks in place of what is its own."""
        return _Marked(page) if self._first[contents] == page.file.src_uri else page

    def fill(self, page: Page, contents: Any, output: str, html: str) -> str:
        """The whole page, of what its template was rendered to and of its content."""
        frame = self._made.setdefault(contents, output)
        for mark, text in (
            (_TITLE, str(page.meta["title"])),
            (_DESCRIPTION, str(page.meta.get("description", ""))),
            (_ADDRESS, page.canonical_url or ""),
            (CONTENT, html),
        ):
            frame = frame.replace(mark, text)
        return frame


class _Marked:
    """A page as a template sees it, with marks for what is its own."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self.meta = dict(page.meta) | {"title": _TITLE}
        if page.meta.get("description"):
            self.meta["description"] = _DESCRIPTION
        self.canonical_url = page.canonical_url and _ADDRESS

    def __getattr__(self, name: str) -> Any:
        return getattr(self._page, name)
