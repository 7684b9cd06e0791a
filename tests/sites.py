"""Sites built for tests: synthetic runs, pins, MkDocs in this process, and the built pages to look at."""

from __future__ import annotations

import functools
import hashlib
import http.server
import json
import logging
import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest
import yaml
from mkdocs.commands.build import build
from mkdocs.config import load_config

from runner import store

ROOT = Path(__file__).parent.parent

# What a label may hold: markup, quotes, a path, a new line, Markdown, Jinja, wide and right-to-left text.
EVIL = (
    '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script> '
    "\"q' & ../..\n*x* {{ 7*7 }} | é漢 שלום"
)


class BuildFailed(Exception):
    """A build that MkDocs gave up; the message is what it told."""


def pin(artifacts: Path, **names: str) -> None:
    """Write pins.toml: pin name → run folder."""
    tables = []
    for name, run in names.items():
        sha = hashlib.sha256((artifacts / run / store.MANIFEST).read_bytes()).hexdigest()
        tables.append(f'[{name}]\nrun = "{run}"\nsha256 = "{sha}"\n')
    (artifacts / store.PINS).write_text("\n".join(tables))


class Builder:
    """Builds this project's site, or one of other pages, from a folder of runs."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.artifacts = folder / "artifacts"
        self.artifacts.mkdir()
        self.site = folder / "site"
        self._patch = monkeypatch

    def build(
        self, *, local: bool | None = None, pages: dict[str, str] | None = None, cache: Path | None = None
    ) -> Path:
        """Build with ``--strict`` and return the site's folder. Raises BuildFailed with all errors.

        ``pages`` are Markdown files to build instead of the project's own, of which those that ask for
        another run than are pinned are left out. Without ``cache`` nothing of an earlier build is used but
        what is in memory.
        """
        self._patch.setenv("LAPSHEET_CACHE", "off" if cache is None else str(cache))
        self._patch.setenv("LAPSHEET_ARTIFACTS", str(self.artifacts))
        if local is None:
            self._patch.delenv("LAPSHEET_LOCAL", raising=False)
        else:
            self._patch.setenv("LAPSHEET_LOCAL", str(int(local)))
        options: dict[str, Any] = {"site_dir": str(self.site), "strict": True}
        options |= self._own() if pages is None else self._other(pages)
        told = _Told()
        logger = logging.getLogger("mkdocs")
        logger.addHandler(told)
        try:
            config = load_config(str(ROOT / "mkdocs.yml"), **options)
            config.plugins.on_startup(command="build", dirty=False)
            build(config)
        except SystemExit as error:
            raise BuildFailed("\n".join([*told.lines, str(error)])) from error
        finally:
            logger.removeHandler(told)
        return self.site

    def text(self, page: str) -> str:
        return (self.site / page).read_text("utf-8")

    def _own(self) -> dict[str, Any]:
        """The project's pages whose pins are there; all of them where nothing is pinned.

        Without links to pages left out, and without claims, which the pinned runs of this repository bear out
        and no made-up run need.
        """
        docs = self.folder / "own"
        shutil.copytree(ROOT / "site_src", docs, dirs_exist_ok=True)
        pinned = store.read_pins(self.artifacts) if (self.artifacts / store.PINS).is_file() else {}
        wanting = [name for name, pins in _asked().items() if pinned and pins - pinned.keys()]
        away = re.compile(rf"\[([^\]]+)\]\((?:{'|'.join(map(re.escape, wanting)) or '(?!)'})(?:#[^)]*)?\)")
        for page in docs.rglob("*.md"):
            page.write_text(away.sub(r"\1", _CLAIM.sub("", page.read_text("utf-8"))), "utf-8")
        nav = yaml.load((ROOT / "mkdocs.yml").read_text("utf-8"), _Loader)["nav"]
        excluded = "\n".join(f"/{name}" for name in wanting)
        return {"docs_dir": str(docs), "exclude_docs": excluded, "nav": _without(nav, wanting)}

    def _other(self, pages: dict[str, str]) -> dict[str, Any]:
        docs = self.folder / "docs"
        (docs / "assets").mkdir(parents=True, exist_ok=True)
        for asset in (ROOT / "site_src" / "assets").iterdir():
            (docs / "assets" / asset.name).write_bytes(asset.read_bytes())
        for name, text in pages.items():
            (docs / name).write_text(text, "utf-8")
        return {"docs_dir": str(docs), "nav": [{"Page": name} for name in pages]}


_CLAIM = re.compile(r"^(?:- )?\{\{ claim\(.*?\) \}\}$", re.MULTILINE)
_PIN = re.compile(r"\{\{ *(?!rule\b)\w+\(\"([a-z0-9.-]+)\"(?:, \"(published)\")?")


@functools.cache
def _asked() -> dict[str, set[str]]:
    """Page of the project → the pins that its calls name, those of the first page's run apart."""
    source = ROOT / "site_src"
    return {
        str(path.relative_to(source)): {
            pin for pins in _PIN.findall(path.read_text("utf-8")) for pin in pins if pin not in ("", "rest")
        }
        for path in sorted(source.rglob("*.md"))
    }


class _Loader(yaml.SafeLoader):
    """Reads mkdocs.yml without its ``!ENV`` values."""


_Loader.add_constructor("!ENV", lambda loader, node: None)


def _without(nav: list[dict[str, Any]], pages: list[str]) -> list[dict[str, Any]]:
    kept: list[dict[str, Any]] = []
    for item in nav:
        ((title, target),) = item.items()
        target = _without(target, pages) if isinstance(target, list) else target
        if target and target not in pages:
            kept.append({title: target})
    return kept


class _Told(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


class Node:
    """An element of a page: tag, attributes, children, and its text."""

    def __init__(self, tag: str, attributes: dict[str, str]) -> None:
        self.tag = tag
        self.attributes = attributes
        self.children: list[Node | str] = []

    @property
    def text(self) -> str:
        """The text, with single spaces."""
        parts = [child if isinstance(child, str) else child.text for child in self.children]
        return " ".join(" ".join(parts).split())

    def all(self, tag: str) -> list[Node]:
        """Every element of that tag below this one, in order."""
        found = []
        for child in self.children:
            if isinstance(child, Node):
                found += [child] if child.tag == tag else []
                found += child.all(tag)
        return found

    def classed(self, name: str) -> list[Node]:
        """Every element of that class below this one, in order."""
        found = []
        for child in self.children:
            if isinstance(child, Node):
                found += [child] if name in child.attributes.get("class", "").split() else []
                found += child.classed(name)
        return found


class _Tree(HTMLParser):
    VOID = frozenset(["area", "base", "br", "col", "hr", "img", "input", "link", "meta", "path", "source"])

    def __init__(self) -> None:
        super().__init__()
        self.root = Node("", {})
        self._open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, {name: value or "" for name, value in attrs})
        self._open[-1].children.append(node)
        if tag not in self.VOID:
            self._open.append(node)

    def handle_endtag(self, tag: str) -> None:
        for place in range(len(self._open) - 1, 0, -1):
            if self._open[place].tag == tag:
                del self._open[place:]
                return

    def handle_data(self, data: str) -> None:
        self._open[-1].children.append(data)


def tree(html: str) -> Node:
    """A page as elements."""
    parser = _Tree()
    parser.feed(html)
    return parser.root


def table_of(html: str, caption: str) -> Node:
    """The first table whose caption begins so."""
    for table in tree(html).all("table"):
        captions = table.all("caption")
        if captions and captions[0].text.startswith(caption):
            return table
    raise AssertionError(f"no table {caption!r}")


def page_data(site: Path, page: str) -> dict[str, Any]:
    """The data file of a page (figures, tables, runs), as its browser gets it."""
    (box,) = tree((site / page).read_text("utf-8")).classed("ls-figures")
    path = site / urlsplit(urljoin(f"http://site/{page}", box.attributes["data-figures"])).path.lstrip("/")
    script = path.read_text("utf-8")
    assert script.startswith("lapsheetPage(")
    assert script.endswith(");\n")
    found: dict[str, Any] = json.loads(script.removeprefix("lapsheetPage(").removesuffix(");\n"))
    return found


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The folder on a loopback port; gives the address."""
    handler = functools.partial(_Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass
