"""The traces of a Plotly figure as SVG: lines, markers, texts, and the cells of a heat map.

A picture is as wide as its place, and its text and markers keep their size. So what has a width of its own
(markers, texts) stands at per cent of it, and what stretches (lines, and dots, which are lines of no length
with round ends) in a box of `WIDE` units that is drawn over the whole width, with strokes as wide as ever.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

WIDE = 1000
Places = list[float | None]
_MIDDLE = 4.6  # from the middle of a line of text at 13 px down to its foot


def places(
    values: Sequence[float | None], axis: dict[str, Any], scale: float, *, flip: bool = False
) -> Places:
    """Where values lie on an axis of that length; None for what cannot be shown there."""
    first, last = axis["range"]
    factor = scale / (last - first)
    offset = -first * factor
    if flip:
        factor, offset = -factor, scale - offset
    if axis["type"] == "log":
        log = math.log10
        return [log(v) * factor + offset if v is not None and 0 < v < math.inf else None for v in values]
    return [v * factor + offset if v is not None and -math.inf < v < math.inf else None for v in values]


class Marks:
    """What the traces of one figure are drawn with, in order.

    ``stretched`` and ``fixed`` hold SVG of the two kinds told above; ``shapes`` what markers look like.
    ``name`` is the figure's, ``height`` its plot's in pixels.
    """

    def __init__(self, name: str, layout: dict[str, Any], height: float) -> None:
        self.name, self.layout, self.height = name, layout, height
        self.stretched: list[str] = []
        self.fixed: list[str] = []
        self.shapes: dict[str, str] = {}

    def add(self, trace: dict[str, Any]) -> None:
        if trace["type"] == "heatmap":
            self._cells(trace)
            return
        y = places(trace["y"], self.layout["yaxis"], self.height, flip=True)
        mode = trace["mode"]
        if "lines" in mode:
            self._line(places(trace["x"], self.layout["xaxis"], WIDE), y, trace["line"])
        if "markers" in mode:
            self._markers(trace, y)
        if "text" in mode:
            x = places(trace["x"], self.layout["xaxis"], 100)
            self._texts(x, y, trace["text"], trace["textfont"]["color"])

    def _line(self, x: Places, y: Places, line: dict[str, Any]) -> None:
        parts, pen = [], "M"
        for across, down in zip(x, y, strict=True):
            if across is None or down is None:
                pen = "M"
                continue
            parts.append(f"{pen}{across:.4g} {down:.4g}")
            pen = "L"
        if parts:
            width = line["width"]
            style = f' stroke="{line["color"]}" stroke-width="{width}"{dashes(line.get("dash"), width)}'
            self.stretched.append(f'<path d="{"".join(parts)}"{style}/>')

    def _markers(self, trace: dict[str, Any], y: Places) -> None:
        marker = trace["marker"]
        symbol, colour, size = marker.get("symbol", "circle"), marker.get("color", ""), marker["size"]
        opacity = f' opacity="{marker["opacity"]}"' if "opacity" in marker else ""
        border = marker.get("line")
        if symbol == "circle" and border is None and isinstance(colour, str):
            x = places(trace["x"], self.layout["xaxis"], WIDE)
            dots = "".join(
                [f"M{a:.0f} {b:.0f}h0" for a, b in zip(x, y, strict=True) if a is not None and b is not None]
            )
            style = f'stroke="{colour}" stroke-width="{size}" stroke-linecap="round"{opacity}'
            self.stretched.append(f'<path d="{dots}" {style}/>')
            return
        x = places(trace["x"], self.layout["xaxis"], 100)
        symbols = symbol if isinstance(symbol, list) else [symbol] * len(x)
        colours = colour if isinstance(colour, list) else [colour] * len(x)
        edge = f' stroke="{border["color"]}" stroke-width="{border["width"]}"' if border else ""
        kind, href = None, ""
        parts: list[str] = []
        for across, down, shape, fill in zip(x, y, symbols, colours, strict=True):
            if across is None or down is None:
                continue
            if (shape, fill) != kind:
                kind, href = (shape, fill), self._shape(shape, size)
                parts.append(f'</g><g fill="{fill or "none"}">' if parts else f'<g fill="{fill or "none"}">')
            parts.append(f'<use href="#{href}" x="{across:.4g}%" y="{down:.4g}"/>')
        if parts:
            self.fixed.append(f"<g{edge}{opacity}>{''.join(parts)}</g></g>")

    def _shape(self, symbol: str, size: float) -> str:
        key = f"{symbol}-{size:g}"
        if key not in self.shapes:
            self.shapes[key] = f'<path id="{self.name}-{key}" d="{outline(symbol, size / 2)}"/>'
        return f"{self.name}-{key}"

    def _texts(self, x: Places, y: Places, texts: Sequence[str], colour: str) -> None:
        parts = [
            f'<text x="{a:.4g}%" y="{b + _MIDDLE:.4g}">{text}</text>'
            for a, b, text in zip(x, y, texts, strict=True)
            if a is not None and b is not None and text
        ]
        self.fixed.append(f'<g fill="{colour}" text-anchor="middle">{"".join(parts)}</g>')

    def _cells(self, trace: dict[str, Any]) -> None:
        """Each cell one unit wide and high, with the trace's gaps around it."""
        across, down = self.layout["xaxis"], self.layout["yaxis"]
        x, y = places(trace["x"], across, 100), places(trace["y"], down, self.height, flip=True)
        wide = 100 / (across["range"][1] - across["range"][0])
        high = self.height / (down["range"][1] - down["range"][0])
        (_, none), (_, full) = trace["colorscale"]
        gap, colour = trace["ygap"], trace["textfont"]["color"]
        cells = []
        for b, shares in zip(y, trace["z"], strict=True):
            for a, share in zip(x, shares, strict=True):
                if a is None or b is None or share is None:
                    continue
                mixed = f"color-mix(in srgb,{full} {share * 100:.3g}%,{none})"
                cells.append(
                    f'<rect x="{a - wide / 2:.4g}%" y="{b - high / 2:.4g}" style="fill:{mixed}"'
                    f' width="{wide:.4g}%" height="{high:.4g}"/>'
                )
        self.fixed.append(f'<g stroke="var(--ls-paper)" stroke-width="{gap}">{"".join(cells)}</g>')
        for b, texts in zip(y, trace["text"], strict=True):
            self._texts(x, [b] * len(x), texts, colour)


def dashes(dash: str | None, width: float) -> str:
    """Plotly's name of a dash pattern as an attribute."""
    lengths = {"dash": 3 * max(width, 3), "dot": max(width, 3)}
    return f' stroke-dasharray="{lengths[dash]:g}"' if dash in lengths else ""


def outline(symbol: str, r: float) -> str:
    """The path of a marker symbol around the origin, as large as Plotly draws it at radius ``r``."""
    return _OUTLINES[symbol](r)


def _star(r: float) -> str:
    corners = []
    for point in range(10):
        radius, angle = r * (1.4 if point % 2 == 0 else 0.5348), math.pi * (point / 5 - 0.5)
        corners.append(f"{radius * math.cos(angle):.2f} {radius * math.sin(angle):.2f}")
    return f"M{'L'.join(corners)}z"


def _cross(r: float) -> str:
    a, b = r * 0.4, r * 1.2
    return f"M{b:g} {a:g}H{a:g}V{b:g}H{-a:g}V{a:g}H{-b:g}V{-a:g}H{-a:g}V{-b:g}H{a:g}V{-a:g}H{b:g}z"


_OUTLINES: dict[str, Callable[[float], str]] = {
    "circle": lambda r: f"M{-r:g} 0a{r:g} {r:g} 0 1 1 {2 * r:g} 0a{r:g} {r:g} 0 1 1 {-2 * r:g} 0z",
    "square": lambda r: f"M{-r:g} {-r:g}h{2 * r:g}v{2 * r:g}h{-2 * r:g}z",
    "diamond": lambda r: f"M{-1.3 * r:g} 0L0 {-1.3 * r:g} {1.3 * r:g} 0 0 {1.3 * r:g}z",
    "triangle-up": lambda r: f"M{-1.15 * r:.2f} {r / 2:g}h{2.31 * r:.2f}L0 {-r:g}z",
    "cross": _cross,
    "star": _star,
    "line-ew": lambda r: f"M{1.4 * r:g} 0H{-1.4 * r:g}",
    "line-ns": lambda r: f"M0 {1.4 * r:g}V{-1.4 * r:g}",
    "x-thin": lambda r: f"M{-r:g} {-r:g}L{r:g} {r:g}M{-r:g} {r:g}L{r:g} {-r:g}",
}
