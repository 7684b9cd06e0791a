"""Places in a page's Markdown that become HTML after Markdown has run.

Free text then cannot be read as Markdown, and tables do not slow the conversion.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from hooks.template import PageError

# Private-use characters: no page contains them, and Markdown leaves them alone.
_OPEN, _CLOSE = "\ue000", "\ue001"
_TOKEN = re.compile(f"{_OPEN}(\\d+){_CLOSE}")
_ALONE = re.compile(f"<p>{_OPEN}(\\d+){_CLOSE}</p>")


class Placeholders:
    """The placeholders of one page, by number."""

    def __init__(
        self, inline: Mapping[str, str] | None = None, block: Mapping[str, str] | None = None
    ) -> None:
        self._inline = {int(number): html for number, html in (inline or {}).items()}
        self._block = {int(number): html for number, html in (block or {}).items()}

    def held(self) -> dict[str, dict[str, str]]:
        """What is held, as the arguments that make the same again."""
        kinds = {"inline": self._inline, "block": self._block}
        return {kind: {str(number): html for number, html in of.items()} for kind, of in kinds.items()}

    def inline(self, html: str) -> str:
        """A placeholder for HTML that may stand within a sentence."""
        return self._hold(self._inline, html)

    def block(self, html: str) -> str:
        """A placeholder for HTML that needs a paragraph of its own."""
        return self._hold(self._block, html)

    def fill(self, html: str, source: str) -> str:
        """The page's HTML with every placeholder replaced, once; what was filled in is not looked at.

        Raises PageError for a block that stands inside something else.
        """
        parts = _ALONE.split(html)
        for index in range(1, len(parts), 2):
            number = int(parts[index])
            parts[index] = self._block[number] if number in self._block else f"<p>{self._inline[number]}</p>"
        parts[::2] = [self._fill_inline(part, source) for part in parts[::2]]
        return "".join(parts)

    def _fill_inline(self, html: str, source: str) -> str:
        parts = _TOKEN.split(html)
        for index in range(1, len(parts), 2):
            number = int(parts[index])
            if number not in self._inline:
                raise PageError(
                    f"{source}: a table, chart or other block stands inside a line, list or heading",
                    "Give the call a paragraph of its own.",
                )
            parts[index] = self._inline[number]
        return "".join(parts)

    def _hold(self, where: dict[int, str], html: str) -> str:
        number = len(self._inline) + len(self._block)
        where[number] = html
        return f"{_OPEN}{number}{_CLOSE}"


def has_placeholder(text: str) -> bool:
    """Whether a text holds a placeholder, or characters that would be taken for one."""
    return _OPEN in text or _CLOSE in text
