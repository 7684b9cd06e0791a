"""What the texts of a suite file may hold: all that can reach a server and come back the same.

Each rule is a pydantic type; what it refuses it explains, and `runner.suite` adds file, table and key.
"""

from __future__ import annotations

import datetime
import math
import re
import string
from typing import Annotated, Any

from pydantic import AfterValidator

from runner.mistakes import found

PLACEHOLDERS = {"app", "host", "port", "workers", "python"}

# RFC 3986, appendix A, without the fragment; the project name of
# https://packaging.python.org/en/latest/specifications/name-normalization/; the token of RFC 9110, 5.6.2.
_TARGET = re.compile(r"[A-Za-z0-9._~:/?\[\]@!$&'()*+,;=%-]")
_DISTRIBUTION = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


def _no_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("has a NUL character, which no process can be given")
    return text


def _target(text: str) -> str:
    if not text.startswith("/"):
        raise ValueError("must begin with '/'")
    for character in text:
        if not _TARGET.fullmatch(character):
            raise ValueError(
                f"{character!r} cannot be in a path: percent-encode it, or each client sends it its own way"
            )
    return text


def _distribution(text: str) -> str:
    if not _DISTRIBUTION.fullmatch(text):
        raise ValueError("is not the name of a distribution (no version and no extras)")
    return text


def _variable(text: str) -> str:
    if not text or "=" in text or "\0" in text:
        raise ValueError("a variable's name must not be empty, nor have '=' or NUL")
    return text


def _header_name(text: str) -> str:
    if not _TOKEN.fullmatch(text):
        raise ValueError("is not a header's name: ASCII letters, digits and !#$%&'*+-.^_`|~")
    return text


def _header_value(text: str) -> str:
    # Beyond ASCII one client sends Latin-1 and the next UTF-8: the check would not send what the load does.
    for character in text:
        if character != "\t" and not " " <= character <= "~":
            raise ValueError(f"{character!r} cannot be in a header: printable ASCII only, without newlines")
    return text


def _argument(text: str) -> str:
    _no_nul(text)
    try:
        parts = list(string.Formatter().parse(text))
    except ValueError as error:
        raise ValueError(f"{error}; {{{{ and }}}} mean braces") from None
    for _, name, spec, conversion in parts:
        if name is None:
            continue
        known = ", ".join(f"{{{name}}}" for name in sorted(PLACEHOLDERS))
        if name not in PLACEHOLDERS:
            raise ValueError(f"unknown placeholder {{{name}}}; known are {known}; {{{{ and }}}} mean braces")
        if spec or conversion:
            raise ValueError(f"a placeholder is its name alone, without ':' and '!': {{{name}}}")
    return text


def _json(value: Any) -> Any:
    _check_json(value, "")
    return value


def _check_json(value: Any, place: str) -> None:
    if isinstance(value, dict):
        for key, inner in value.items():
            _check_json(inner, f"{place}.{key}")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            _check_json(inner, f"{place}[{number}]")
    else:
        where = f"{place.lstrip('.')}: " if place else ""
        if isinstance(value, datetime.date | datetime.time):
            raise ValueError(f"{where}JSON has no dates and times: put {found(value)} in quotes")
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"{where}JSON has no {found(value)}")


def _workers(value: Any) -> Any:
    if value != "cpus" and (isinstance(value, bool) or not isinstance(value, int)):
        raise ValueError('must be a whole number, or "cpus"')
    if value != "cpus" and not 1 <= value <= 1024:
        raise ValueError('must be from 1 to 1024, or "cpus"')
    return value


Text = Annotated[str, AfterValidator(_no_nul)]
Argument = Annotated[str, AfterValidator(_argument)]
Variable = Annotated[str, AfterValidator(_variable)]
Distribution = Annotated[str, AfterValidator(_distribution)]
Target = Annotated[str, AfterValidator(_target)]
HeaderName = Annotated[str, AfterValidator(_header_name)]
HeaderValue = Annotated[str, AfterValidator(_header_value)]
Json = Annotated[Any, AfterValidator(_json)]
Workers = Annotated[Any, AfterValidator(_workers)]
"""A whole number from 1 to 1024, or "cpus"."""
