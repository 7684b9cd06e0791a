"""Error hints for a name that does not exist."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def near(name: object, known: Iterable[object]) -> str:
    """A sentence for the reader who mistyped ``name``: the near matches first, then all there are."""
    names = [str(item) for item in known]
    if not names:
        return "There is none."
    close = difflib.get_close_matches(str(name), names, n=3, cutoff=0.5)
    meant = f"Did you mean {' or '.join(repr(item) for item in close)}? " if close else ""
    return f"{meant}There are: {', '.join(names)}."
