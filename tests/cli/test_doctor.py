"""`cligym doctor` tries what a machine can do and says it in plain words."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.userns

_CLIGYM = str(Path(sys.executable).with_name("cligym"))
_NO_NAMESPACES = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'


def _run(*argv: str, nested: bool = False) -> subprocess.CompletedProcess[str]:
    words = [_CLIGYM, *argv]
    if nested:
        words = ["unshare", "--user", "--map-root-user", "sh", "-c", _NO_NAMESPACES, "sh", *words]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)


def test_this_machine_runs_boxes() -> None:
    done = _run("doctor", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert "namespace" in report["usable"]
    assert {"backend", "check", "ok", "needed", "detail"} == set(report["checks"][0])
    names = [row["check"] for row in report["checks"] if row["backend"] == "namespace"]
    for name in ("user namespaces", "id range", "seccomp filter", "a box starts", "mmdebstrap"):
        assert name in names
    assert all(row["detail"] for row in report["checks"])


def test_the_table_is_for_people() -> None:
    done = _run("doctor")
    assert done.returncode == 0
    assert "Back ends that work here: namespace" in done.stdout
    assert "median of" in done.stdout


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare (util-linux)")
def test_a_machine_without_user_namespaces_is_told_so() -> None:
    done = _run("doctor", nested=True)
    assert done.returncode == 1
    assert "No back end works here" in done.stdout
    assert "user namespaces" in done.stdout and "MISSING" in done.stdout
    assert "max_user_namespaces" in done.stdout.replace("\n", "")
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare (util-linux)")
def test_a_command_that_needs_boxes_fails_with_one_line(tmp_path: Path) -> None:
    code = (
        "from cligym.sandboxes.namespace import NamespaceBackend\n"
        "from cligym.errors import SandboxUnavailableError\n"
        "from pathlib import Path\n"
        f"path = Path({str(tmp_path)!r})\n"
        "try: NamespaceBackend(path / 'home', path / 'scratch').keeper\n"
        "except SandboxUnavailableError as error: print('told:', error)\n"
    )
    words = ["unshare", "--user", "--map-root-user", "sh", "-c", _NO_NAMESPACES, "sh"]
    done = subprocess.run(
        [*words, sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith("told:") and len(done.stdout.splitlines()) == 1, done
    assert "user namespace" in done.stdout
    assert done.stderr == ""
