"""What search engines show of a page."""

from __future__ import annotations

import html

import pytest
from sites import EVIL

from hooks.description import LENGTH, describe
from hooks.markup import escape


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("<h1>Title</h1><p class='x'>One <b>two</b>,\nthree.</p><p>Four.</p>", "One two, three."),
        ("<p>one<br>two</p>", "one two"),
        ("<svg><path d='M0 0'/></svg><p>Text</p>", "Text"),
        ("<p>A &lt;b&gt; &quot;c&quot; &amp;</p>", "A &lt;b&gt; &quot;c&quot; &amp;"),
        ("<h1>No paragraph</h1>", ""),
        ("", ""),
        (f"<p>Whole. {'word ' * 60}</p>", "Whole."),
    ],
)
def test_first_paragraph(content: str, text: str) -> None:
    assert describe(content) == text


def test_long_text_ends_at_a_word() -> None:
    text = describe(f"<p>{'words ' * 60}</p>")
    assert LENGTH - 8 < len(text) <= LENGTH
    assert text.endswith("words…")


def test_hostile_text_stays_an_attribute() -> None:
    text = describe(f"<p>{escape(EVIL)}</p>")
    assert '"' not in text
    assert "<" not in text
    assert html.unescape(text) == " ".join(EVIL.split())[:LENGTH]
