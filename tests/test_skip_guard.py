"""In CI, a run that skipped a docker or userns test fails, with and without workers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_CONFTEST = Path(__file__).with_name("conftest.py")
_SUITE = """
import pytest

def test_runs():
    pass

@pytest.mark.{mark}
def test_skips():
    pytest.skip("no engine here")

@pytest.mark.{mark}
@pytest.mark.xfail(reason="a known gap")
def test_known_gap():
    assert False
"""


def _run(folder: Path, *, mark: str, ci: str, workers: str) -> subprocess.CompletedProcess[str]:
    (folder / "conftest.py").write_text(_CONFTEST.read_text())
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n  docker\n  userns\n  gpu\n")
    (folder / "test_suite.py").write_text(_SUITE.format(mark=mark))
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "COV_"))}
    command = [sys.executable, "-m", "pytest", "-n", workers, "-p", "no:cacheprovider"]
    return subprocess.run(
        command, cwd=folder, env=environment | {"CI": ci}, capture_output=True, text=True
    )


@pytest.mark.parametrize(("mark", "workers"), [("docker", "0"), ("userns", "1")])
def test_ci_fails_when_a_sandbox_test_is_skipped(tmp_path: Path, mark: str, workers: str) -> None:
    run = _run(tmp_path, mark=mark, ci="true", workers=workers)
    assert run.returncode == 1, run.stdout
    assert f"test_suite.py::test_skips (marked {mark})" in run.stdout
    assert "test_known_gap (marked" not in run.stdout


@pytest.mark.parametrize(("mark", "ci"), [("docker", ""), ("gpu", "true")])
def test_other_skips_are_allowed(tmp_path: Path, mark: str, ci: str) -> None:
    run = _run(tmp_path, mark=mark, ci=ci, workers="0")
    assert run.returncode == 0, run.stdout
