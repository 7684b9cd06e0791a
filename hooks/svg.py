"""A Plotly figure as a small static SVG: in the page from the start, in print, and without JavaScript.

It is made from the figure's own spec, for the kinds of trace that this site draws, with the same geometry:
`hooks.axes` decides ranges, ticks and margins for both. Colours stay CSS variables, so that the picture
follows light and dark by itself. Texts of the spec are escaped already, as Plotly wants them.
"""

from __future__ import annotations

from typing import Any

from hooks.markup import escape
from hooks.svg_marks import WIDE, Marks, dashes, places

_LINE = 17
_MIDDLE = 4.6


def static_svg(spec: dict[str, Any], name: str, title: str, words: str) -> str:
    """The figure ``name`` as an ``<svg>`` that lies over its plot area; labels stand outside of it.

    ``title`` names it to a screen reader and ``words`` tell what it shows, both as text. A spec's "narrow"
    tells how it is drawn in a narrow figure, by lapsheet.css here and by figure.js in Plotly: names above
    their rows, ``left`` pixels from the edge, and ``every`` which label of the x axis.
    """
    layout, narrow = spec["layout"], spec.get("narrow")
    margin = layout["margin"]
    height = layout["height"] - margin["t"] - margin["b"]
    marks = Marks(name, layout, height)
    for trace in spec["data"]:
        marks.add(trace)
    box = f"--ls-left:{margin['l']}px;--ls-right:{margin['r']}px;top:{margin['t']}px;height:{height}px"
    kind = f"ls-static ls-above ls-every-{narrow['every']}" if narrow else "ls-static"
    stretch = f'width="100%" height="{height}" viewBox="0 0 {WIDE} {height}" preserveAspectRatio="none"'
    above = "".join(_shapes(layout, height, below=False))
    shapes = f"<defs>{''.join(marks.shapes.values())}</defs>" if marks.shapes else ""
    return (
        f'<svg class="{kind}" role="img" aria-labelledby="{name}-title {name}-desc" style="{box}">'
        f'<title id="{name}-title">{escape(title)}</title><desc id="{name}-desc">{escape(words)}</desc>'
        f"{shapes}"
        f'<svg {stretch} class="ls-stretch">{_ground(layout, height)}{"".join(marks.stretched)}{above}</svg>'
        f"{''.join(marks.fixed)}{_labels(layout, height)}</svg>"
    )


def _ground(layout: dict[str, Any], height: float) -> str:
    """The shapes below everything, and the lines of the grid."""
    parts = _shapes(layout, height, below=True)
    across, down = layout["xaxis"], layout["yaxis"]
    lines = []
    if across.get("showgrid", True):
        lines += [f"M{x:.4g} 0v{height}" for x in places(across["tickvals"], across, WIDE) if x is not None]
    if down.get("showgrid", True):
        ys = places(down["tickvals"], down, height, flip=True)
        lines += [f"M0 {y:.4g}h{WIDE}" for y in ys if y is not None]
    if lines:
        parts.append(f'<path class="ls-grid" d="{"".join(lines)}"/>')
    return "".join(parts)


def _shapes(layout: dict[str, Any], height: float, *, below: bool) -> list[str]:
    shapes = layout.get("shapes", ())
    return [_shape(shape, layout, height) for shape in shapes if (shape.get("layer") == "below") == below]


def _shape(shape: dict[str, Any], layout: dict[str, Any], height: float) -> str:
    """A band or a line over the whole height."""
    first, last = places([shape["x0"], shape["x1"]], layout["xaxis"], WIDE)
    if first is None or last is None:
        return ""
    line = shape["line"]
    if shape["type"] == "line":
        style = (
            f'stroke="{line["color"]}" stroke-width="{line["width"]}"{dashes(line["dash"], line["width"])}'
        )
        return f'<path d="M{first:.4g} 0v{height}" {style}/>'
    first, last = max(0.0, first), min(float(WIDE), last)
    return f'<path d="M{first:.4g} 0H{last:.4g}V{height}H{first:.4g}z" fill="{shape["fillcolor"]}"/>'


def _labels(layout: dict[str, Any], height: float) -> str:
    across, down, margin = layout["xaxis"], layout["yaxis"], layout["margin"]
    top = across.get("side") == "top"
    parts = ['<g class="ls-across" text-anchor="middle">']
    for x, text in zip(places(across["tickvals"], across, 100), across["ticktext"], strict=True):
        if x is not None:
            lines = text.split("<br>")
            foot = -4 - _LINE * (len(lines) - 1) if top else height + 14
            parts.append(_text(lines, f"{x:.4g}%", foot))
    if across.get("title"):
        parts.append(f'<text x="50%" y="{height + 35}">{across["title"]["text"]}</text>')
    if down.get("title"):
        turned = f"translate({22 - margin['l']} {height / 2:g}) rotate(-90)"
        parts.append(f'<text transform="{turned}">{down["title"]["text"]}</text>')
    parts.append('</g><g class="ls-names" text-anchor="end">')
    gap = -2 - down.get("ticklabelstandoff", 0)
    for y, text in zip(places(down["tickvals"], down, height, flip=True), down["ticktext"], strict=True):
        if y is not None:
            lines = text.split("<br>")
            parts.append(_text(lines, str(gap), y + _MIDDLE - _LINE / 2 * (len(lines) - 1)))
    return "".join(parts) + "</g>"


def _text(lines: list[str], x: str, y: float) -> str:
    if len(lines) == 1:
        return f'<text x="{x}" y="{y:.4g}">{lines[0]}</text>'
    rest = "".join([f'<tspan x="{x}" dy="{_LINE}">{line}</tspan>' for line in lines[1:]])
    return f'<text x="{x}" y="{y:.4g}">{lines[0]}{rest}</text>'
