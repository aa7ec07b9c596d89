"""A Docker engine of the tests' own: its data, socket and process live and die with the session."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

__all__ = ["running_engine"]

_START_S = 60.0


@contextmanager
def running_engine() -> Iterator[str]:
    """The URL of a fresh `dockerd`; skips with a reason where none can run."""
    program = shutil.which("dockerd")
    if os.geteuid() != 0:
        pytest.skip("starting a Docker engine needs root")
    if program is None:
        pytest.skip("no dockerd here (Debian: apt-get install docker.io tini)")
    with tempfile.TemporaryDirectory(prefix="cligym-engine-", ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "sock"
        with open(Path(folder) / "log", "wb") as log:
            process = subprocess.Popen(
                [program, "--data-root", f"{folder}/data", "--exec-root", f"{folder}/exec"]
                + ["--pidfile", f"{folder}/pid", "--host", f"unix://{path}"]
                + ["--bridge", "none", "--iptables=false", "--ip6tables=false"]
                + ["--storage-driver", "overlay2"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            _wait(process, path, Path(folder) / "log")
            yield f"unix://{path}"
        finally:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait(process: subprocess.Popen[bytes], path: Path, log: Path) -> None:
    deadline = time.monotonic() + _START_S
    while process.poll() is None and time.monotonic() < deadline:
        # not through the SDK: it leaks the socket of every try that fails
        with socket.socket(socket.AF_UNIX) as probe, contextlib.suppress(OSError):
            probe.settimeout(5)
            probe.connect(str(path))
            probe.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
            if b" 200 " in probe.recv(4096):
                return
        time.sleep(0.2)
    pytest.skip(f"dockerd does not come up here: {log.read_text()[-300:]}")
