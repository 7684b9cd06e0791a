"""Replaces what identifies the person and the machine in everything a run stores."""

from __future__ import annotations

import getpass
import os
import re
import socket
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# Names that identify nobody, among them Lapsheet's own replacement words.
_GENERIC = """
    root user admin administrator app build builder runner ci test guest nobody ubuntu debian vagrant docker
    vscode jenkins gitlab github worker server client daemon www-data postgres python localhost
    localhost.localdomain vm host linux project env home tmp
"""
# People's names that are also words of generator output and of our own files: replaced only where the
# text around them shows that a person is meant, so that no figure is damaged.
_AMBIGUOUS = """
    max min mean med avg sum count rate total mark bill rich art page june may will grant chance case json
    http path text data time date run raw load status error summary order item
"""
# A name or path may start a word, or follow an escape of JSON ("\n") or of a URL ("%2F").
_ESCAPED = r"(?<=\\[nrtbf])|(?<=%2[Ff])"


Bytes = bytes  # the class below has a method of that name


class Redactor:
    """Replaces paths, the host's name and the user's name; leaves every other byte as it is.

    Longer originals are replaced first, a path only where it ends as a path segment does, a name only
    as a whole word. Applying it twice changes nothing more.
    """

    def __init__(self, paths: Mapping[str, str], *, host: str = "", user: str = "", home: str = "") -> None:
        """``paths`` maps a directory to the word that stands for it: ``{"/home/me/x": "<project>"}``."""
        rules: dict[str, tuple[str, str]] = {}
        places = {**paths, home: paths.get(home, "<home>")}
        # A path that goes on from a replaced one is not a path of its own.
        after = "".join(f"(?<!{re.escape(word)})" for word in {*places.values(), "<host>", "<user>"})
        for path, word in places.items():
            if _identifies(path):
                plain = path.rstrip("/")
                pattern = rf"(?:(?<![\w.-])|{_ESCAPED}){after}{re.escape(plain)}(?![\w-]|\.\w)"
                rules.setdefault(plain, (pattern, word))
        for name in (host, host.partition(".")[0]):
            rules.setdefault(name, (_name_pattern(name), "<host>"))
        rules.setdefault(user, (_name_pattern(user), "<user>"))
        ordered = [rules[key] for key in sorted(rules, key=len, reverse=True) if rules[key][0]]
        self._words = [word.encode() for _, word in ordered]
        self._originals = [key.encode().lower() for key in rules if rules[key][0]]
        self._pattern = re.compile("|".join(f"({pattern})" for pattern, _ in ordered).encode() or b"(?!)")

    @classmethod
    def of_this_machine(cls, project: Path, **extra: Path) -> Redactor:
        """A redactor for this host, user, home, project, environment and temporary directory.

        ``extra`` maps further words, without their angle brackets, to directories.
        """
        wanted = {"project": project, "env": Path(sys.prefix), "tmp": Path(tempfile.gettempdir())}
        paths: dict[str, str] = {}
        for word, path in {**extra, **wanted}.items():
            for form in (path.absolute(), path.resolve()):
                paths.setdefault(str(form), f"<{word}>")
        return cls(paths, host=socket.gethostname(), user=_user(), home=str(Path.home()))

    def bytes(self, data: Bytes) -> Bytes:
        """The data with every original replaced."""
        # Looking for the plain words first is a hundred times as fast as the pattern, and mostly enough.
        if not self._mentioned(data):
            return data
        return b"".join(
            self._pattern.sub(self._word, line) if self._mentioned(line) else line
            for line in data.splitlines(keepends=True)
        )

    def _mentioned(self, data: Bytes) -> bool:
        lower = data.lower()
        return any(original in lower for original in self._originals)

    def _word(self, match: re.Match[Bytes]) -> Bytes:
        return self._words[(match.lastindex or 1) - 1]

    def text(self, text: str) -> str:
        """The text with every original replaced."""
        return self.bytes(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def value(self, value: Any) -> Any:
        """A copy of a JSON-like structure with every string in it, keys too, replaced."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.value(key): self.value(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(item) for item in value]
        return value


def _identifies(path: str) -> bool:
    """Whether the path says anything of this machine: the root and the system's own folders do not."""
    return path.startswith("/") and path.rstrip("/") not in {"", "/usr", "/usr/local", "/opt", "/home"}


def _name_pattern(name: str) -> str:
    """The pattern of a host's or user's name, empty for one that must stay."""
    if len(name) < 2 or name.lower() in _GENERIC.split() or (name.isdigit() and len(name) < 8):
        return ""
    quoted = f"(?i:{re.escape(name)})"
    if name.lower() in _AMBIGUOUS.split():
        return rf"(?:(?:(?<=/home/)|(?<=/Users/)|(?<=-of-)){quoted}(?!\w)|(?<!\w){quoted}(?=@))"
    return rf"(?:(?<!\w)|{_ESCAPED}){quoted}(?!\w)"


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return os.environ.get("USER", "")
