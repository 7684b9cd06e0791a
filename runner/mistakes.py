"""A mistake in a suite file, said with its file, table and key."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from runner.model import ID_RULE

# What is said of a wrong type, by pydantic's name of the error.
_TYPES = {
    "bool_type": "must be true or false",
    "dict_type": "must be a table",
    "float_type": "must be a number",
    "int_type": "must be a whole number",
    "list_type": "must be a list",
    "model_type": "must be a table",
    "string_type": "must be text, in quotes",
}


def explain(name: str, data: dict[str, Any], error: dict[str, Any]) -> str:
    """One validation error as `file: [[table]] name: key: what is wrong`."""
    place: list[str] = []
    here: Any = data
    for part in error["loc"]:
        if part == "[key]":  # pydantic's mark of a table whose key is wrong, not its value
            continue
        if isinstance(part, int) and isinstance(here, list) and part < len(here):
            here = here[part]
            label = here.get("name") if isinstance(here, dict) else None
            if label:
                place[-1] = f"[[{place[-1]}]] {label!r}"
            else:
                place[-1] += f"[{part}]"
        else:
            here = here.get(part) if isinstance(here, dict) else None
            place.append(str(part) or repr(part))
    return ": ".join([name, *place, _message(error)])


def _message(error: dict[str, Any]) -> str:
    value = error.get("input")
    match error["type"]:
        case "extra_forbidden":
            return "unknown key"
        case "missing":
            return "missing"
        case "too_short":
            return "must not be empty"
        case "string_pattern_mismatch":
            return f"{value!r} is not an id: {ID_RULE}"
        case kind:
            message = _TYPES.get(kind, error["msg"].removeprefix("Value error, "))
            return f"{message} (found {found(value)})" if kind in _TYPES or _is_plain(value) else message


def _is_plain(value: object) -> bool:
    """Whether it says more than that it is a table."""
    return not isinstance(value, dict | list | BaseModel)


def found(value: object) -> str:
    """A TOML value as a message shows it, cut after 60 characters."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict | list):
        return "a table" if isinstance(value, dict) else "a list"
    text = repr(value) if isinstance(value, str | int | float) else str(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
