"""The arguments of a page's call, checked before it runs: a slip is told with the near matches."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, get_type_hints

import jinja2
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from hooks.near import near
from runner.errors import AnalysisError, LapsheetError

Call = Callable[..., object]
Dimensions = Callable[[str], Iterable[str] | None]
PINS = ("pin", "published", "run")
"""The arguments of any call that name a pin."""

Level = Annotated[int, Field(ge=1, le=6)]
Count = Annotated[int, Field(ge=1)]

_OPEN = inspect.Parameter.VAR_KEYWORD
_SIDE = 'dimensions with their values, as in {"workload": "get_item"}'
_TAKES: dict[Any, str] = {
    str: "text in quotes",
    str | None: "text in quotes, or none",
    str | Sequence[str]: 'text in quotes, or a list of it, as in ["rps", "p99"]',
    str | Sequence[str] | None: "text in quotes, or a list of it",
    Mapping[str, Any]: _SIDE,
    Mapping[str, Any] | None: _SIDE,
    Mapping[str, Any] | Sequence[Mapping[str, Any]]: f"{_SIDE}, or a list of such",
    Sequence[str] | None: 'a list of text in quotes, as in ["a", "b"]',
    Mapping[str, Any] | Sequence[Mapping[str, Any]] | None: f"{_SIDE}, or a list of such",
    str | Mapping[str, str]: 'text in quotes, or a table by case, as in {"get_item": "granian"}',
    float: "a number, as in 3.5",
    float | Mapping[str | int, float]: 'a number, or a table by case, as in {"get_item": 0.78}',
    Mapping[str, float]: 'a table of numbers, as in {"direct": 5}',
    bool: "true or false",
    Level: "the level of a heading, from 1 to 6",
    Count | None: "a number from 1",
}
"""What an argument of a type takes, for a page's author."""


def checked(name: str, call: Call, dimensions: Dimensions) -> Call:
    """A method that a page may call by that name; ``dimensions`` gives those of a pin, where any is there.

    Its errors name the call. Raises AnalysisError for an argument that it does not take, whose value is of
    another kind, or is missing; where it takes dimensions, also for one that no run of its pins has.
    """

    def run(*args: object, **given: object) -> object:
        for value in (*args, *given.values()):
            if isinstance(value, jinja2.Undefined):
                str(value)  # raises UndefinedError, which names it
        try:
            _check(call, args, given, dimensions)
            return call(*args, **given)
        except LapsheetError as error:
            shown = ", ".join(f'"{value}"' for value in args if isinstance(value, str))
            raise AnalysisError(f"{name}({shown}): {error.message}", error.hint) from error

    return run


def _check(
    call: Call,
    args: tuple[object, ...],
    given: Mapping[str, object],
    dimensions: Dimensions,
) -> None:
    signature = inspect.signature(call)
    names = [name for name, found in signature.parameters.items() if found.kind is not _OPEN]
    takes = f"It takes {', '.join(names)}." if names else "It takes nothing."
    unknown = [name for name in given if name not in signature.parameters]
    if unknown and len(names) == len(signature.parameters):
        raise AnalysisError(f"no argument {unknown[0]!r}", near(unknown[0], names) if names else takes)
    try:
        bound = signature.bind(*args, **given).arguments
    except TypeError as error:
        raise AnalysisError(str(error), takes) from None
    where = bound.pop("where", {})
    bound.pop("arguments", None)  # of a claim: its kind takes them, and checks them
    of_their_types(call, bound)
    pins = [bound[name] for name in PINS if isinstance(bound.get(name), str)]
    of_runs = [found for pin in pins if (found := dimensions(pin)) is not None]
    known = list(dict.fromkeys([*names, *(name for found in of_runs for name in found)]))
    for name in where:
        if of_runs and name not in known:
            raise AnalysisError(f"no argument and no dimension {name!r}", near(name, known))


def of_their_types(call: Call, given: Mapping[str, object]) -> None:
    """Raise AnalysisError for an argument by name whose value is of another kind than the call takes."""
    hints = _hints(getattr(call, "func", getattr(call, "__func__", call)))
    for name, value in given.items():
        try:
            _adapter(hints[name]).validate_python(value)
        except ValidationError:
            takes = _TAKES.get(hints[name], "another kind of value")
            raise AnalysisError(f"{name} cannot be {value!r}", f"It takes {takes}.") from None


@cache
def _hints(function: Call) -> dict[str, Any]:
    return get_type_hints(function, include_extras=True)


@cache
def _adapter(hint: Any) -> TypeAdapter[Any]:
    return TypeAdapter(hint, config=ConfigDict(strict=True))
