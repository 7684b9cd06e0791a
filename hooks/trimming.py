"""Material's stylesheet without the parts that no page of this site has: a third of its weight.

A browser draws nothing before it is there.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

# How names of classes begin that belong to Markdown extensions, plugins and features which mkdocs.yml does
# not switch on.
UNUSED = (
    *("admonition", "annotate", "arithmatex", "card", "critic", "footnote", "giscus", "grid", "highlight"),
    *("hll", "jp-", "jupyter", "keys", "lineno", "mermaid", "tabbed-", "task-list", "twemoji"),
    *("md-annotation", "md-author", "md-banner", "md-code", "md-consent", "md-feedback", "md-pagination"),
    *("md-path", "md-post", "md-profile", "md-progress", "md-select", "md-social", "md-source", "md-status"),
    *("md-tag", "md-version"),
)
_CLASS = re.compile(rf"\.(?:{'|'.join(UNUSED)})")
_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_GROUP = re.compile(r"\([^()]*\)")
_EMPTY = re.compile(r"@(?:media|supports)[^{};]*\{\}")
# Pictures as custom properties, which would be there whether or not a rule uses them.
_ICON = re.compile(
    r"--md-(?:admonition|annotation|code|footnotes|path|post|source|status|tabbed|tag|tasklist|version)"
    r'[\w-]*:url\("[^"]*"\);?'
)


def trim_styles(site: Path) -> None:
    """Trim Material's stylesheet in a built site."""
    for path in (site / "assets" / "stylesheets").glob("main.*.min.css"):
        path.write_text(trim(path.read_text("utf-8")), "utf-8")


@functools.lru_cache(maxsize=1)
def trim(css: str) -> str:
    """A minified stylesheet without the rules that only `UNUSED` classes meet.

    A rule stays where one of its selectors names none of them, or names one only within ``:is()``,
    ``:not()`` and the like.
    """
    css = _RULE.sub(lambda rule: "" if _unused(rule[1]) else rule[0], _ICON.sub("", css))
    return _EMPTY.sub("", css)


def _unused(selectors: str) -> bool:
    plain, count = selectors, 1
    while count:
        plain, count = _GROUP.subn("", plain)
    return all(_CLASS.search(one) for one in plain.split(","))
