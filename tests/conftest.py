"""Rules and fixtures of the whole suite.

In CI, a skipped engine or namespace test is a failure: a suite that skips its sandboxes proves
nothing and would still be green. One store and one back end a process serve all tests, since
making the base image takes a minute.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cligym.errors import SandboxUnavailableError
from cligym.sandboxes import base_image as base_image_module
from cligym.sandboxes.base_image import base
from cligym.sandboxes.image import Image
from cligym.sandboxes.namespace import NamespaceBackend

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


@pytest.fixture(scope="session")
def store_home() -> Path:
    """`CLIGYM_TEST_HOME`, or a folder that outlives the run, so that the next one is fast."""
    recipe = hashlib.sha256(Path(base_image_module.__file__).read_bytes()).hexdigest()[:8]
    default = Path(tempfile.gettempdir()) / f"cligym-test-home-{os.geteuid()}-{recipe}"
    home = Path(os.environ.get("CLIGYM_TEST_HOME") or default)
    home.mkdir(parents=True, exist_ok=True)
    return home


@pytest.fixture(scope="session")
def backend(store_home: Path) -> Iterator[NamespaceBackend]:
    """The namespace back end; tests that use it carry the mark `userns`."""
    backend = NamespaceBackend(home=store_home)
    try:
        _ = backend.keeper
    except SandboxUnavailableError as error:
        pytest.skip(f"namespace sandbox: {error}")
    with backend:
        yield backend


@pytest.fixture(scope="session")
def base_image(backend: NamespaceBackend) -> Image:
    """`debian:bookworm-slim`."""
    return base(backend.store)
