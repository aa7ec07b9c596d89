"""Runs pytest inside a box and reports over the channel; passed to `python -c` as text.

Nothing of it lies in the box's file system. Python 3.7 and up, standard library and pytest only.
Arguments: a JSON object {nonce, program}, then pytest's own arguments. Every line that it writes
to the channel is a JSON object with the nonce; the reader is `graders/pytest_results.py`.
"""

from __future__ import annotations

import sys

sys.path[:] = [folder for folder in sys.path if folder]  # `-c` adds "", `pytest` does not

# Only below that line: a module of the working directory must not stand in for these.
import json  # noqa: E402
import os  # noqa: E402
import platform  # noqa: E402
from typing import Any  # noqa: E402


class Reporter:
    """A pytest plugin that tells outcomes to the other end of the channel."""

    def __init__(self, nonce: str) -> None:
        self.nonce = nonce
        self.channel = int(os.environ.pop("CLIGYM_CHANNEL"))
        os.set_inheritable(self.channel, False)
        self.process = os.getpid()
        self.reports = 0

    def tell(self, kind: str, **fields: object) -> None:
        """Writes one record; a forked child of a test has nothing to say."""
        if os.getpid() != self.process:
            return
        fields.update(kind=kind, nonce=self.nonce)
        data = (json.dumps(fields) + "\n").encode()
        while data:
            data = data[os.write(self.channel, data) :]

    def pytest_configure(self, config: Any) -> None:
        """Tells what runs, and from which configuration."""
        import pytest

        path = getattr(config, "inipath", None) or getattr(config, "inifile", None)
        root = getattr(config, "rootpath", None) or config.rootdir
        self.tell(
            "start",
            python=platform.python_version(),
            cache_tag=sys.implementation.cache_tag or "",
            pytest=pytest.__version__,
            rootdir=str(root),
            configuration=str(path or ""),
            workers=getattr(config.option, "numprocesses", None) or 0,
        )

    def pytest_collectreport(self, report: Any) -> None:
        """Tells files and classes that cannot be collected; a skipped module counts as such."""
        if report.failed:
            self.tell("collect-error", id=report.nodeid, text=str(report.longrepr)[-2000:])

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Tells one phase of one test; with xdist this is heard from the controller."""
        self.reports += 1
        text = str(report.longrepr)[-2000:] if report.failed else ""
        self.tell(
            "phase",
            id=report.nodeid,
            when=report.when,
            outcome=report.outcome,
            xfail=hasattr(report, "wasxfail"),
            text=text,
        )


def main() -> int:
    """Runs pytest as its own script would, and writes the final record."""
    settings = json.loads(sys.argv[1])
    reporter = Reporter(settings["nonce"])
    sys.argv = [settings["program"], *sys.argv[2:]]
    import pytest

    code = int(pytest.main(sys.argv[1:], plugins=[reporter]))
    reporter.tell("end", exit_code=code, reports=reporter.reports)
    sys.stdout.flush()
    return code


if __name__ == "__main__":
    sys.exit(main())
