"""The errors a person is meant to read.

LapsheetError            anything that ends a command with a clear message
├── SuiteError           a suite file is wrong (file, table, key)
├── ArtifactError        a run folder is wrong (file, line, field)
├── MachineError         this machine cannot do what was asked (CPUs, ports)
├── GeneratorError       no load generator, or its output cannot be read
├── ServerError          a server under test did not do what it must: a result
├── RejectionError       the surroundings spoilt a sample: it is rejected and retried
└── AnalysisError        a comparison or a selection that the data does not allow
"""

from __future__ import annotations


class LapsheetError(Exception):
    """A message for the person at the terminal, and what to do next.

    ``hint`` is a full sentence naming the remedy, or empty where the message already does.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n  {self.hint}" if self.hint else self.message


class SuiteError(LapsheetError):
    """A suite file is wrong; the message names file, table and key."""


class ArtifactError(LapsheetError):
    """A run folder is wrong; the message names file, line or field."""


class MachineError(LapsheetError):
    """This machine cannot do what was asked."""


class GeneratorError(LapsheetError):
    """No load generator, or one whose output cannot be read."""


class ServerError(LapsheetError):
    """A server under test did not do what it must.

    ``code`` is the short reason kept in the sample (``start``, ``loop``, ``response`` …).
    """

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.code = code


class RejectionError(LapsheetError):
    """The surroundings spoilt a sample (foreign load, a dead generator, a lost port).

    ``code`` is the short reason kept in the sample.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class AnalysisError(LapsheetError):
    """A comparison or a selection that the data does not allow."""
