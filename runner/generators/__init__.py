"""The load generators Lapsheet can drive, one module each, behind `runner.generators.base`."""

from __future__ import annotations

from runner.errors import GeneratorError
from runner.generators import k9, oha
from runner.generators.base import Command, Load, LoadGenerator, Outcome

__all__ = ["GENERATORS", "Command", "Load", "LoadGenerator", "Outcome", "by_name", "pick"]

# In order of preference: oha's timeouts and open loop, then what comes with the bench group.
GENERATORS: dict[str, LoadGenerator] = {"oha": oha.Oha(), "k9": k9.K9()}

_INSTALL = {"oha": oha.INSTALL, "k9": k9.INSTALL}


def by_name(name: str) -> LoadGenerator:
    """The generator of that name, installed or not: enough to read a stored run.

    Raises GeneratorError listing the known names.
    """
    try:
        return GENERATORS[name]
    except KeyError:
        raise GeneratorError(f"no load generator {name!r}", f"Known: {', '.join(GENERATORS)}.") from None


def pick(name: str | None = None) -> LoadGenerator:
    """A generator that can run here: the named one, or the first there is.

    Raises GeneratorError saying how to install it where it is missing or too old.
    """
    wanted = list(GENERATORS.values()) if name is None else [by_name(name)]
    problems = []
    for generator in wanted:
        version = generator.version()
        if version is None:
            problems.append(f"{generator.name} is not on this machine")
        elif generator.name == "oha" and not oha.supported(version):
            problems.append(f"{generator.name} {version} is too old")
        else:
            return generator
    if name is None:
        either = f"Either: {_INSTALL['k9']} Or: {_INSTALL['oha']}"
        raise GeneratorError(f"no load generator: {', '.join(problems)}", either)
    raise GeneratorError(problems[0], _INSTALL[name])
