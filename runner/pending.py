"""A sample between its measurement and the disk."""

from __future__ import annotations

import gzip
import shutil
import time
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from runner.checks import Findings
from runner.model import Case, Sample
from runner.redact import Redactor
from runner.subject import Subject
from runner.writer import RunWriter

# Some servers log a traceback for each connection that a load generator leaves at the deadline.
PACK_LOG_FROM = 4096


@dataclass
class Pending:
    """A sample that was measured, whose server is still stopping; ``settle`` stores it.

    The stop overlaps the start of the next server: nothing of the next sample is measured before this
    one is on the disk.
    """

    case: Case
    repeat: int
    attempt: int
    order: int
    started: datetime
    findings: Findings = field(default_factory=Findings)
    fields: dict[str, Any] = field(default_factory=dict)
    timing: dict[str, float] = field(default_factory=dict)
    commands: dict[str, list[str]] = field(default_factory=dict)
    raw: dict[str, bytes] = field(default_factory=dict)
    folder: Path | None = None
    subject: Subject | None = None
    _lapped: float = field(default_factory=time.monotonic)

    def lap(self, name: str) -> None:
        """Time the step that ends now, from the end of the one before it."""
        now = time.monotonic()
        self.timing[name] = now - self._lapped
        self._lapped = now

    def begin_stop(self) -> None:
        """Ask the server to stop."""
        if self.subject is not None and self.subject.tree is not None:
            self.subject.tree.begin_stop(self.subject.stop_timeout)

    def abandon(self) -> None:
        """Kill the server at once; the sample is lost."""
        if self.subject is not None and self.subject.tree is not None:
            self.subject.tree.stop(0.0)

    def settle(self, writer: RunWriter, redactor: Redactor) -> Sample:
        """Wait for the server's end, store the raw files, then the sample."""
        if self.subject is not None:
            self._finish(self.subject)
        files = dict(_packed(name, redactor.bytes(data)) for name, data in self.raw.items())
        entries = [writer.raw(f"{self.order:04d}/{name}", data) for name, data in sorted(files.items())]
        findings = self.findings
        sample = Sample(
            case=self.case.id,
            dimensions=self.case.dimensions,
            repeat=self.repeat,
            attempt=self.attempt,
            order=self.order,
            started=self.started,
            status=findings.status,
            reasons=redactor.value([note.model_dump() for note in findings.failures + findings.rejections]),
            flags=redactor.value([note.model_dump() for note in findings.flags]),
            checks=redactor.value([check.model_dump() for check in findings.checks]),
            timing={key: round(value, 6) for key, value in self.timing.items()},
            commands=redactor.value(self.commands),
            raw=entries,
            **self.fields,
        )
        writer.append(sample)
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
        return sample

    def _finish(self, subject: Subject) -> None:
        if subject.tree is not None:
            limit = subject.stop_timeout
            stopped = subject.tree.finish_stop(limit)
            self.timing["stop"] = stopped.seconds
            if stopped.killed:
                self.findings.flag(
                    "stop",
                    f"{len(stopped.killed)} processes did not end within {limit:.0f} s of SIGTERM "
                    "and were killed",
                )
        log = subject.captured_log()
        if log:
            self.raw["server.log"] = log


def _packed(name: str, data: bytes) -> tuple[str, bytes]:
    """A long log as ``.gz``; everything else as it is, because `verify` and readers parse it."""
    if name.endswith(".log") and len(data) > PACK_LOG_FROM:
        return f"{name}.gz", gzip.compress(data, mtime=0)
    return name, data
