"""Jinja calls in Markdown, in a sandbox, with errors that name page and line."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Mapping

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

from hooks.near import near
from runner.errors import LapsheetError

_ENVIRONMENT = ImmutableSandboxedEnvironment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)

_SYNTAX = 'A call is written as {{ name("pin", argument=value) }}; PAGES.md has an example of each.'


class PageError(LapsheetError):
    """A call that failed; the message names page and line."""


def resolve(
    markdown: str, functions: Mapping[str, Callable[..., object]], source: str, first_line: int = 1
) -> str:
    """The Markdown with its calls replaced by what they return.

    ``source`` and ``first_line`` say where the Markdown stands, for messages. Raises PageError for a
    syntax error, an undefined name, a wrong argument, and any LapsheetError of a call.
    """

    def fail(line: int, message: str | None, hint: str = "") -> PageError:
        return PageError(f"{source}, line {line + first_line - 1}: {message}", hint)

    try:
        code = _ENVIRONMENT.compile(markdown, name=source, filename=source)
        names = _ENVIRONMENT.make_globals(dict(functions))
        return _ENVIRONMENT.template_class.from_code(_ENVIRONMENT, code, names).render()
    except jinja2.TemplateSyntaxError as error:
        raise fail(error.lineno, error.message, _SYNTAX) from None
    except LapsheetError as error:
        raise fail(_line(error, source), error.message, error.hint) from error
    except jinja2.UndefinedError as error:
        raise fail(_line(error, source), error.message, _hint(str(error), functions)) from None
    except (TypeError, ValueError, jinja2.exceptions.SecurityError) as error:
        raise fail(_line(error, source), str(error)) from error


def _line(error: BaseException, source: str) -> int:
    """The template's line in which a call failed; Jinja maps the frames of its code to lines."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == source]
    return (lines[-1] if lines else None) or 1


def _hint(message: str, functions: Mapping[str, object]) -> str:
    name = re.search(r"'([^']+)'", message)
    return f"{near(name[1], functions)} Text stands in quotes." if name else ""
