"""Axes of figures, their range, ticks and margin decided here, so that Plotly draws what was there before.

Plotly would decide them in the browser, where the static picture of the same figure cannot know of it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any

PHONE = 358
"""The width of a figure on a small phone, in CSS pixels."""
NARROW = 640
"""A figure that is not this wide (CSS pixels) is drawn as on a phone; lapsheet.css has the same width."""
TITLE: dict[str, Any] = {"standoff": 8, "font": {"size": 13}}
_PAD = 0.04
# Mantissas of the ticks of a logarithmic axis, the densest first.
_MANTISSAS = [range(1, 10), (1, 2, 5), (1, 3), (1,)]
# Widths in CSS pixels at 13 px, on the wide side: fonts differ, and a label must not be cut.
_NARROW, _OTHER, _WIDE, _FULL = 4.6, 7.4, 9.6, 13.5


def linear(
    values: Collection[float], count: int, *, zero: bool = True, beyond: bool = False
) -> dict[str, Any]:
    """The parts of a Plotly axis that holds these values, with at most ``count`` steps between its ticks.

    It begins at zero, unless there are values below or ``zero`` is False; ``beyond`` ends it at a tick past
    the data.
    """
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    low = min(0.0, low) if zero else low
    high = high if high > low else low + (abs(low) or 1.0)
    pad = _PAD * (high - low)
    first, last = low - pad if low or not zero else 0.0, high + pad
    rough = (last - first) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10, 20) if power * factor >= rough * (1 - 1e-9))
    if beyond:
        last = step * math.ceil((high + pad / 2) / step)
    steps = range(math.ceil(first / step - 1e-9), math.floor(last / step + 1e-9) + 1)
    ticks = [round(place * step, 12) for place in steps]
    axis = _axis("linear", (first, last), ticks, [number(tick) for tick in ticks])
    return {**axis, "zeroline": True, "zerolinecolor": "var(--ls-line)"}


def logarithmic(values: Collection[float], count: int) -> dict[str, Any]:
    """The same for values above zero on a logarithmic axis, with at most ``count`` ticks where they fit."""
    low, high = math.log10(min(values)), math.log10(max(values))
    pad = max(_PAD * (high - low), 0.04)
    first, last = low - pad, high + pad
    ticks: list[float] = []
    for mantissas in _MANTISSAS:
        powers = range(math.floor(first), math.floor(last) + 1)
        ticks = [m * 10.0**p for p in powers for m in mantissas if first <= math.log10(m * 10.0**p) <= last]
        if len(ticks) <= count:
            break
    ticks = ticks[:: -(-len(ticks) // count) or 1]
    return _axis("log", (first, last), ticks, [number(tick) for tick in ticks])


def at(values: Sequence[float], texts: Sequence[str], *, log: bool = False) -> dict[str, Any]:
    """The same for an axis whose ticks are its few values themselves."""
    places = [math.log10(value) for value in values] if log else list(values)
    low, high = (min(places), max(places)) if places else (0.0, 1.0)
    pad = _PAD * (high - low) or 0.5
    return _axis("log" if log else "linear", (low - pad, high + pad), values, texts)


def _axis(
    kind: str, span: tuple[float, float], ticks: Sequence[float], texts: Sequence[str]
) -> dict[str, Any]:
    return {
        "type": kind,
        "range": list(span),
        "tickmode": "array",
        "tickvals": list(ticks),
        "ticktext": list(texts),
        "tickangle": 0,
        "ticks": "",
        "zeroline": False,
        "fixedrange": True,
    }


def number(value: float) -> str:
    """A round number for a tick: ``0.05``, ``2,000``."""
    text = f"{value:,.9f}"
    return text.rstrip("0").rstrip(".")


def fitting(texts: Sequence[str], room: float, most: int) -> int:
    """How many labels as wide as the widest of these fit side by side in ``room`` CSS pixels; at least 2."""
    widest = max(map(pixels, texts), default=0.0) + 12
    return max(2, min(most, int(room / widest)))


def every(texts: Sequence[str], room: float) -> int:
    """Of evenly spaced labels, every which one to show so that they fit in ``room`` CSS pixels: 1 is all."""
    return max(1, -(-(len(texts) - 1) // fitting(texts, room, len(texts))))


def label_margin(ticks: Sequence[str], gap: float) -> int:
    """The left margin that labels need; "<br>" begins a new line of a label."""
    widest = max((pixels(line) for tick in ticks for line in tick.split("<br>")), default=0.0)
    return math.ceil(widest + gap)


@lru_cache(maxsize=1 << 14)
def pixels(text: str) -> float:
    """About how wide a text is at 13 px, on the wide side; markup of Plotly's counts as one character."""
    width, markup = 0.0, False
    for character in text:
        if markup:
            markup = character != ";"
        elif character in "iljtfrI.,:;|'!()[]- \u00a0·/":
            width += _NARROW
        elif character in "mwMW@%&<>—":
            markup = character == "&"
            width += _WIDE
        elif character.isupper():
            width += _WIDE - 0.8
        else:
            width += _FULL if ord(character) >= 0x1100 else _OTHER
    return width
