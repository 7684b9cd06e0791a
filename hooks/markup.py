"""Free text into HTML, and into the pseudo-HTML that Plotly reads in every label."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache

# Anything here may be shown by a browser as something other than itself, or hide what follows.
_CONTROL = dict.fromkeys([*range(32), 0x7F, 0x85, 0x2028, 0x2029], " ")


def escape(text: object) -> str:
    """The text for HTML content and quoted attributes."""
    return _escaped(str(text))


@lru_cache(maxsize=1 << 14)
def _escaped(text: str) -> str:
    return html.escape(text)


@lru_cache(maxsize=1 << 14)
def plotly_text(text: str) -> str:
    """The text for a Plotly label, which would otherwise read ``<b>`` and ``&amp;`` as markup."""
    return html.escape(text.translate(_CONTROL), quote=False)


@lru_cache(maxsize=1 << 14)
def plotly_lines(text: str, width: int) -> tuple[str, ...]:
    """The text in lines of at most ``width`` columns (wide characters take two), each for a Plotly label.

    Lines break at spaces where they can, and inside a longer word where they must.
    """
    lines, line, used = [], "", 0
    for word in text.translate(_CONTROL).split():
        for piece in _pieces(word, width):
            columns = text_width(piece)
            if line and used + 1 + columns > width:
                lines.append(line)
                line, used = piece, columns
            else:
                line, used = f"{line} {piece}".lstrip(), used + columns + bool(line)
    return tuple(plotly_text(item).replace(" ", "\u00a0") for item in [*lines, line])


def text_width(text: str) -> int:
    """Columns that a text takes: wide (East Asian) characters take two."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def _pieces(word: str, width: int) -> list[str]:
    pieces, piece, used = [], "", 0
    for character in word:
        columns = text_width(character)
        if piece and used + columns > width:
            pieces.append(piece)
            piece, used = "", 0
        piece, used = piece + character, used + columns
    return [*pieces, piece]


def text_of(markup: str) -> str:
    """The text of HTML that this package made, for a message."""
    return html.unescape(re.sub(r"<[^>]*>", "", markup))


def join_names(names: Iterable[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    items = list(names)
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"


def sentence(text: str) -> str:
    """The text with a capital at its beginning and a full stop at its end."""
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else f"{text}."


def scroll(table: str, label: str) -> str:
    """A table in a box that scrolls sideways on a narrow screen, reachable by keyboard."""
    return f'<div class="ls-scroll" role="region" tabindex="0" aria-label="{escape(label)}">{table}</div>'


def table(caption: str, heads: Sequence[str], rows: Iterable[str], kind: str = "") -> str:
    """A scrolling table of rows made by `row`; ``caption`` and ``heads`` are text, ``kind`` a CSS class.

    Without ``heads`` it has no head: a list of names and values.
    """
    head = lines([[f'<th scope="col">{escape(text)}</th>' for text in heads]]) if heads else ""
    return framed(caption, "", head, "".join(rows), kind)


def framed(label: str, note: str, head: str, body: str, kind: str = "") -> str:
    """A scrolling table of rows that are HTML already, its caption ``label`` and then ``note``, both text."""
    css = f"ls-table {kind}".strip()
    thead = f"<thead>{head}</thead>" if head else ""
    caption = f"<caption>{escape(label)}{escape(note)}</caption>"
    return scroll(f'<table class="{css}">{caption}{thead}<tbody>{body}</tbody></table>', label)


def lines(rows: Iterable[Sequence[str]]) -> str:
    """Rows of cells, with spaces between them, or a search would find their words grown together."""
    return "".join([f"<tr>{' '.join(cells)}</tr>\n" for cells in rows])


def row(head: str, *cells: object) -> str:
    """A table's row, of HTML: the cell that names it, then the others.

    With spaces between them, or a search would find their words grown together.
    """
    return f'<tr><th scope="row">{head}</th> {" ".join([f"<td>{cell}</td>" for cell in cells])}</tr>\n'


def details(summary: str, content: str, *, searched: bool = False) -> str:
    """Content that opens on demand; ``summary`` is text. It stays out of the search index by default."""
    attribute = "" if searched else " data-search-exclude"
    return f'<details class="ls-data"{attribute}><summary>{escape(summary)}</summary>{content}</details>'
