"""What a page is about, in a line: what search engines show of it."""

from __future__ import annotations

import html
import re

LENGTH = 160
_PARAGRAPH = re.compile(r"<p[ >].*?</p>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")


def describe(content: str) -> str:
    """The text of the first paragraph of a page's HTML, as an attribute's value.

    At most `LENGTH` characters: whole sentences where the first fits, or else whole words. Empty if the
    page has no paragraph.
    """
    found = _PARAGRAPH.search(content)
    spaced = found[0].replace("<br>", " ") if found else ""
    text = " ".join(html.unescape(_TAG.sub("", spaced)).split())
    if len(text) > LENGTH:
        start = text[:LENGTH]
        sentences = start.rpartition(". ")[0]
        text = f"{sentences}." if sentences else f"{start[: LENGTH - 1].rpartition(' ')[0]}…"
    return html.escape(text)
