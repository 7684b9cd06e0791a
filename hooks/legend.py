"""A chart's legend as HTML, from its Plotly spec: it folds on a phone, and stays when Plotly is drawn."""

from __future__ import annotations

from typing import Any

from hooks.svg_marks import dashes, outline


def legend(spec: dict[str, Any]) -> str:
    """An entry for each trace and shape with a name; names are escaped in the spec already.

    Traces of one ``legendgroup`` share an entry. Empty where nothing has a name.
    """
    pictures: dict[str, tuple[str, str]] = {}
    for number, trace in enumerate(spec["data"]):
        if not trace.get("name"):
            continue
        key = trace.get("legendgroup", f"trace-{number}")
        name, drawn = pictures.get(key, (trace["name"], ""))
        pictures[key] = name, drawn + _trace(trace)
    for number, shape in enumerate(spec["layout"].get("shapes", ())):
        pictures[f"shape-{number}"] = shape["name"], _shape(shape)
    items = "".join(
        f'<li><svg width="22" height="12" viewBox="-11 -6 22 12" aria-hidden="true">{drawn}</svg>'
        f"<bdi>{name}</bdi></li>"
        for name, drawn in pictures.values()
    )
    return f'<ul class="ls-legend" data-search-exclude>{items}</ul>' if items else ""


def _trace(trace: dict[str, Any]) -> str:
    if trace["mode"] == "lines":
        line = trace["line"]
        return _line("M-11 0H11", line)
    marker = trace["marker"]
    colour, symbol = marker.get("color", "none"), marker.get("symbol", "circle")
    # Where each row has its own, the entry stands for all of them.
    colour = "var(--ls-muted)" if isinstance(colour, list) else colour
    symbol = "circle" if isinstance(symbol, list) else symbol
    border = marker.get("line", {"color": "none", "width": 0})
    edge = f' stroke="{border["color"]}" stroke-width="{border["width"]}"' if border["width"] > 1 else ""
    return f'<path d="{outline(symbol, min(marker["size"], 9) / 2)}" fill="{colour}"{edge}/>'


def _shape(shape: dict[str, Any]) -> str:
    if shape["type"] == "line":
        return _line("M0 -6V6", shape["line"])
    return f'<path d="M-11 -6h22v12h-22z" fill="{shape["fillcolor"]}"/>'


def _line(path: str, line: dict[str, Any]) -> str:
    width = line["width"]
    return (
        f'<path d="{path}" fill="none" stroke="{line["color"]}" stroke-width="{width}"'
        f"{dashes(line.get('dash'), width)}/>"
    )
