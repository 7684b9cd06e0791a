"""What rendering one page needs to know: the runs, where the page stands, and what it puts on the site."""

from __future__ import annotations

from dataclasses import dataclass, field

from hooks.catalogue import Catalogue
from hooks.figures import Figure, box
from hooks.markup import escape


@dataclass
class Outputs:
    """What pages put on the site besides themselves: path from the site's root → content."""

    contents: dict[str, bytes] = field(default_factory=dict)


@dataclass
class PageContext:
    """``url`` is the page's address from the site's root, as ``runs/x/``; ``root`` the way back."""

    catalogue: Catalogue
    outputs: Outputs
    url: str

    @property
    def root(self) -> str:
        return "../" * self.url.count("/") or "./"

    def link(self, target: str, html: str, attributes: str = "") -> str:
        """A relative link to an address from the site's root; ``html`` is its content."""
        return f'<a href="{escape(self.root + target)}"{attributes}>{html}</a>'

    def figure(self, figure: Figure) -> str:
        """The figure's box; its data becomes a file of the site."""
        path, content = figure.script()
        self.outputs.contents[path] = content
        return box(figure, path, self.root)
