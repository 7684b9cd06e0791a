"""Session-wide rules of the test suite.

On a person's machine a test that needs Chromium, oha or git-lfs skips with its reason. With
``LAPSHEET_NO_SKIP=1``, as CI sets it, a skip fails the session: what is never run there is run nowhere.
"""

from __future__ import annotations

import os

import pytest
from browsing import chromium, visit

__all__ = ["chromium", "visit"]  # fixtures

# No test may find what an earlier build of this checkout left, nor leave anything for the next.
os.environ["LAPSHEET_CACHE"] = "off"

_skipped: list[str] = []


def _note_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.skipped and not hasattr(report, "wasxfail"):
        # A skip's longrepr is (path, line, "Skipped: reason").
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        _skipped.append(f"{report.nodeid}: {reason.removeprefix('Skipped: ')}")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _note_skip(report)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    _note_skip(report)


def _skips_fail() -> bool:
    return bool(_skipped) and os.environ.get("LAPSHEET_NO_SKIP") == "1"


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if exitstatus == pytest.ExitCode.OK and _skips_fail():
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _skips_fail():
        terminalreporter.section("skipped, and LAPSHEET_NO_SKIP=1 allows none", red=True)
        for line in _skipped:
            terminalreporter.line(line)
