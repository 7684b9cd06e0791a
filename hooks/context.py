"""What rendering one page needs to know: the runs, where the page stands, and what it puts on the site."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hooks.addresses import evidence, folder, receipts
from hooks.catalogue import Catalogue
from hooks.figures import Figure, PageData, box
from hooks.markup import escape
from hooks.view import View


def root_of(url: str) -> str:
    """The way from an address to the site's root."""
    return "../" * url.count("/") or "./"


@dataclass
class PageContext:
    """``url`` is the page's address from the site's root, as ``runs/x/``; ``root`` the way back.

    ``data`` is what the page has shown so far and its scripts need.
    """

    catalogue: Catalogue
    url: str
    data: PageData = field(default_factory=PageData)

    @property
    def root(self) -> str:
        return root_of(self.url)

    def link(self, target: str, html: str, attributes: str = "") -> str:
        """A relative link to an address from the site's root; ``html`` is its content."""
        return f'<a href="{escape(self.root + target)}"{attributes}>{html}</a>'

    def figure(self, view: View, figure: Figure) -> str:
        """A figure about a run, as `box`; its data goes into the page's file of figures."""
        self.about(view)
        name = f"figure-{len(self.data.figures) + 1}"
        self.data.figures[name] = figure.spec
        return box(figure, name)

    def about(self, view: View) -> dict[str, Any]:
        """What the page's scripts know of a run, registered once a page; tables add to it.

        ``id``, ``created`` (ISO date), ``manifest`` (its SHA-256, by which a receipt's evidence is known to
        be this page's); ``url`` of its page, ``files`` (the folder of its own files) and ``receipts`` (the
        script with its samples), all from the site's root.
        """
        if view.id not in self.data.runs:
            self.data.runs[view.id] = {
                "id": view.id,
                "created": view.run.created.date().isoformat(),
                "manifest": view.manifest_sha256,
                "url": folder(view),
                "files": evidence(view),
                "receipts": receipts(view),
            }
        return self.data.runs[view.id]
