"""A Plotly figure as a plain dict, a page's figures as one file, and the boxes that wait for them.

A page's data travels as a small script (``lapsheetPage({…})``) because a script tag, unlike fetch, also
works from ``file://``; one for a page, named by its content. Colours in a figure are CSS variables
(``var(--ls-…)``), which the page's script resolves, and resolves again when the reader switches between
light and dark.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

import orjson

from hooks.legend import legend
from hooks.markup import escape
from hooks.svg import static_svg
from hooks.view import View

PLOTLY = "assets/plotly.min.js"


@dataclass(frozen=True)
class Figure:
    """``spec`` has data, layout, config and about; ``label`` names it, ``words`` tell what it shows.

    ``height`` and ``min_width`` in CSS pixels: a figure that needs more width than there is scrolls.
    """

    spec: dict[str, Any]
    label: str
    height: int
    min_width: int = 0
    words: str = ""


def box(figure: Figure, name: str) -> str:
    """The figure in a page, where ``name`` is its own: legend, static picture, and a button for its file."""
    picture = static_svg(figure.spec, name, figure.label, figure.words)
    width, scroll, ends = "", "", ("", "")
    if figure.min_width:
        ends = '<div class="ls-goes-on">', "</div>"
        width = f"min-width:{figure.min_width}px;"
        scroll = f' role="region" tabindex="0" aria-label="{escape(figure.label)}"'
    return (
        f'<div class="ls-chart">{legend(figure.spec)}{ends[0]}'
        f'<div class="ls-figure-scroll" data-search-exclude{scroll}>'
        f'<div class="ls-figure" role="group" aria-labelledby="{name}-title" data-figure="{name}"'
        f' style="{width}height:{figure.height}px">'
        f"{picture}</div></div>{ends[1]}"
        f'<button type="button" class="ls-picture" data-search-exclude data-of="{name}">'
        "Download SVG</button></div>"
    )


def about_figure(view: View, metric: str, title: str, drawn: str, file: str) -> dict[str, str]:
    """What receipts and a downloaded picture need of a figure; ``drawn`` are the words at its foot."""
    return {"run": view.id, "metric": metric, "title": title, "drawn": drawn, "file": file}


@dataclass
class PageData:
    """What a page's scripts need, each by its name.

    ``figures`` are Plotly specs; ``tables`` what each interactive table shows at first; ``runs`` the runs
    (by id) that tables and receipts are about.
    """

    figures: dict[str, dict[str, Any]] = field(default_factory=dict)
    tables: dict[str, dict[str, Any]] = field(default_factory=dict)
    runs: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.figures or self.tables)


def script(page: str, data: PageData) -> tuple[str, bytes]:
    """The data file of a page: its path from the site's root, and its content.

    ``page`` is the page's address, in whose folder the file is.
    """
    known = {"figures": data.figures, "tables": data.tables, "runs": data.runs}
    content = b"lapsheetPage(" + orjson.dumps(known) + b");\n"
    folder = page.rpartition("/")[0]
    name = f"figures-{hashlib.sha256(content).hexdigest()[:12]}.js"
    return f"{folder}/{name}" if folder else name, content


def source(path: str, root: str) -> str:
    """What tells the page's script where figures and Plotly are; ``root`` is the way to the site's root."""
    return (
        f'<div class="ls-figures" hidden data-root="{escape(root)}" data-figures="{escape(root + path)}"'
        f' data-plotly="{escape(root + PLOTLY)}"></div>'
    )


def base_layout(height: int, **more: Any) -> dict[str, Any]:
    """What every figure's layout shares: no own background, quiet axes, the page's font."""
    return {
        "height": height,
        "dragmode": False,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": "var(--ls-ink)", "size": 13, "family": "system-ui, -apple-system, sans-serif"},
        "hoverlabel": {
            "bgcolor": "var(--ls-raised)",
            "bordercolor": "var(--ls-line)",
            "font": {"color": "var(--ls-ink)", "size": 13},
            "align": "left",
        },
        **more,
    }


def config() -> dict[str, Any]:
    """Plotly's own switches. Nothing is ever sent anywhere, and a finger on a chart scrolls the page."""
    return {
        "responsive": True,
        "displaylogo": False,
        "showSendToCloud": False,
        "typesetMath": False,
        "scrollZoom": False,
        "doubleClick": False,
        "displayModeBar": False,
    }
