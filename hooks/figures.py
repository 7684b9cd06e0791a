"""A Plotly figure as a plain dict, its data file, and the box in the page that waits for it.

Figure data travels as a small script (``lapsheetFigure(name, {…})``) because a script tag, unlike fetch,
also works from ``file://``. The file is named by its content, so a chart on two pages is one file.
Colours in a figure are CSS variables (``var(--ls-…)``), which the page's script resolves, and resolves
again when the reader switches between light and dark.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import orjson

from hooks.markup import escape

PLOTLY = "assets/plotly.min.js"
_OPTIONS = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS


@dataclass(frozen=True)
class Figure:
    """``spec`` has data, layout and config; ``label`` describes it to those who cannot see it.

    ``height`` and ``min_width`` in CSS pixels: a figure that needs more width than there is scrolls.
    """

    name: str
    spec: dict[str, Any]
    label: str
    height: int
    min_width: int = 0

    def script(self) -> tuple[str, bytes]:
        """The path of the data file, from the root of the site, and its content."""
        body = orjson.dumps(self.spec, option=_OPTIONS)
        digest = hashlib.sha256(body).hexdigest()[:12]
        name = f"{self.name}-{digest}"
        return f"figures/{name}.js", b"lapsheetFigure(" + orjson.dumps(name) + b"," + body + b");\n"


def box(figure: Figure, path: str, root: str) -> str:
    """The figure's place in a page; ``root`` is the relative address of the site's root."""
    width = f"min-width:{figure.min_width}px;" if figure.min_width else ""
    return (
        f'<div class="ls-figure-scroll"><div class="ls-figure" role="img" aria-label="{escape(figure.label)}"'
        f' data-figure="{escape(root + path)}" data-plotly="{escape(root + PLOTLY)}"'
        f' style="{width}height:{figure.height}px"></div></div>'
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


def config(filename: str, *, static: bool = False) -> dict[str, Any]:
    """Plotly's own switches. Nothing is ever sent anywhere, and a finger on a chart scrolls the page."""
    return {
        "responsive": True,
        "displaylogo": False,
        "showSendToCloud": False,
        "typesetMath": False,
        "scrollZoom": False,
        "doubleClick": False,
        "staticPlot": static,
        "displayModeBar": False if static else "hover",
        "modeBarButtons": [["toImage"]],
        "toImageButtonOptions": {"format": "svg", "filename": filename},
    }
