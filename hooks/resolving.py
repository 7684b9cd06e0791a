"""The Markdown of a page with its calls resolved, from the cache where nothing it asked for has changed."""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from hooks import figures
from hooks.cache import Cache
from hooks.calls import Calls
from hooks.catalogue import Catalogue
from hooks.context import PageContext
from hooks.placeholders import Placeholders
from hooks.template import resolve

_CACHED = "calls"


@dataclass(frozen=True)
class Resolved:
    """Markdown with placeholders, what they stand for, and the page's file of figures (path, content)."""

    markdown: str
    places: Placeholders
    figures: tuple[str, bytes] | None


def resolve_page(
    catalogue: Catalogue, cache: Cache, uri: str, url: str, markdown: str, first_line: int
) -> Resolved:
    """The page of that source and address; ``first_line`` is where its Markdown begins in the file.

    Raises PageError as `hooks.template.resolve`.
    """
    key = f"{uri} {url} {first_line} {markdown}"
    parts = cache.get(_CACHED, key)
    if parts is not None:
        asked, told, places, path, content = parts
        if all(catalogue.answer(question) == answer for question, answer in orjson.loads(asked).items()):
            known = (path.decode(), content) if path else None
            return Resolved(told.decode(), Placeholders(**orjson.loads(places)), known)
    page = PageContext(catalogue.unasked(), url)
    calls = Calls(page)
    text = resolve(markdown, calls.functions(), uri, first_line)
    made = figures.script(url, page.data) if page.data else None
    answers, held = orjson.dumps(page.catalogue.asked()), orjson.dumps(calls.places.held())
    name, script = made or ("", b"")
    cache.put(_CACHED, key, [answers, text.encode(), held, name.encode(), script])
    return Resolved(text, calls.places, made)
