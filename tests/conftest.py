"""Rules for the whole suite: in CI, a skipped engine or namespace test is a failure.

A suite that skips its sandboxes proves nothing and would still be green.
"""

from __future__ import annotations

import os

import pytest

_NEVER_SKIPPED_IN_CI = ("docker", "userns")


class _SkipGuard:
    """Collects skips of tests that CI must run, and fails the run if there is one."""

    def __init__(self) -> None:
        self._skipped: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.skipped or hasattr(report, "wasxfail"):
            return
        marks = [mark for mark in _NEVER_SKIPPED_IN_CI if mark in report.keywords]
        if marks:
            self._skipped.append(f"{report.nodeid} (marked {', '.join(marks)})")

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._skipped and session.exitstatus in (pytest.ExitCode.OK, 0):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._skipped:
            terminalreporter.section("skipped, but CI must run them: the run fails", red=True)
            for line in self._skipped:
                terminalreporter.write_line(line)


def pytest_configure(config: pytest.Config) -> None:
    """Installs the guard, once: not in xdist's workers, whose reports come to the controller."""
    if os.environ.get("CI") == "true" and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_SkipGuard(), "cligym-skip-guard")
