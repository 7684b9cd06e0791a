"""Material's stylesheet without the parts that no page of this site has: a third of its weight.

A browser draws nothing before it is there.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable
from pathlib import Path

# How names of classes begin that come with Markdown extensions, plugins and features, and are not needed
# where no page has one of them.
OPTIONAL = (
    *("admonition", "annotate", "arithmatex", "card", "critic", "footnote", "giscus", "grid", "highlight"),
    *("hll", "jp-", "jupyter", "keys", "lineno", "mermaid", "tabbed-", "task-list", "twemoji"),
    *("md-annotation", "md-author", "md-banner", "md-code", "md-consent", "md-feedback", "md-pagination"),
    *("md-path", "md-post", "md-profile", "md-progress", "md-select", "md-social", "md-source", "md-status"),
    *("md-tag", "md-version"),
)
# What these features put on a page only in the browser.
_BY_FEATURE = {
    "content.code": ("annotate", "highlight", "md-annotation", "md-code"),
    "navigation.instant.progress": ("md-progress",),
}
_CLASSES = re.compile(r'\sclass="([^"]*)"')
_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_GROUP = re.compile(r"\([^()]*\)")
_EMPTY = re.compile(r"@(?:media|supports)[^{};]*\{\}")
# Pictures as custom properties, which would be there whether or not a rule uses them, and whose they are.
_ICON = re.compile(
    r"--md-(admonition|annotation|code|footnotes|path|post|source|status|tabbed|tag|tasklist|version)"
    r'[\w-]*:url\("[^"]*"\);?'
)
_OF_ICON = {
    "annotation": "md-annotation",
    "footnotes": "footnote",
    "tabbed": "tabbed-",
    "tasklist": "task-list",
}
_OF_ICON |= {"admonition": "admonition"}


def optional(html: str) -> set[str]:
    """The members of `OPTIONAL` that some class of a page begins with."""
    names = {name for value in _CLASSES.findall(html) for name in value.split()}
    return {prefix for prefix in OPTIONAL if any(name.startswith(prefix) for name in names)}


def trim_styles(site: Path, used: Iterable[str], features: Collection[str]) -> None:
    """Trim Material's stylesheet in a built site whose pages have the `optional` classes ``used``.

    ``features`` are those of the theme, some of which need classes that no page has before it is shown.
    """
    kept = {name for key, names in _BY_FEATURE.items() for name in names if _has(features, key)}
    unused = frozenset(OPTIONAL) - kept - set(used)
    for path in (site / "assets" / "stylesheets").glob("main.*.min.css"):
        path.write_text(trim(path.read_text("utf-8"), unused), "utf-8")


@functools.lru_cache(maxsize=2)
def trim(css: str, unused: frozenset[str]) -> str:
    """A minified stylesheet without the rules that only ``unused`` classes (how they begin) meet.

    A rule stays where one of its selectors names none of them, or names one only within ``:is()``,
    ``:not()`` and the like.
    """
    if not unused:
        return css
    classes = re.compile(rf"\.(?:{'|'.join(map(re.escape, sorted(unused)))})")

    def icon(found: re.Match[str]) -> str:
        return "" if _OF_ICON.get(found[1], f"md-{found[1]}") in unused else found[0]

    def rule(found: re.Match[str]) -> str:
        plain, count = found[1], 1
        while count:
            plain, count = _GROUP.subn("", plain)
        return "" if all(classes.search(one) for one in plain.split(",")) else found[0]

    return _EMPTY.sub("", _RULE.sub(rule, _ICON.sub(icon, css)))


def _has(features: Collection[str], key: str) -> bool:
    return any(feature == key or feature.startswith(f"{key}.") for feature in features)
