"""`scripts/setup` installs only what is missing, and says in one line what it cannot install."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout that misses one Debian package, and programs that only take notes."""
    root = tmp_path / "a checkout"
    shutil.copytree(_ROOT / "scripts", root / "scripts")
    shutil.copy(_ROOT / "setup.cfg", root)
    (root / "scripts/debian-packages.txt").write_text("# comment\nleftpad /no/such/file\n")
    (root / "scripts/debian-test-packages.txt").write_text("testpad /no/such/file\n")
    script = root / "scripts/setup"
    script.write_text(script.read_text().replace("/usr/bin/python3", "/no/python3"))
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    _program(bin_ / "apt-get", 'echo "apt-get $*" >>"$NOTES"')
    _program(bin_ / "sudo", "exit 1")
    _program(bin_ / "id", "echo 0")
    for name in ("python3", "python3.11", "python3.12", "python3.13", "python3.14"):
        _program(bin_ / name, "exit 1")  # no Python: the script stops before it makes a .venv
    return root


def _program(path: Path, body: str) -> None:
    path.write_text(f"#!/bin/bash\n{body}\n")
    path.chmod(0o755)


def _setup(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    bin_ = checkout.parent / "bin"
    environment = os.environ | {
        "PATH": f"{bin_}:/usr/bin:/bin",
        "NOTES": str(checkout.parent / "notes"),
        "PYTHON": "",
    }
    return subprocess.run(
        [str(checkout / "scripts/setup"), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )


def _notes(checkout: Path) -> list[str]:
    notes = checkout.parent / "notes"
    return notes.read_text().splitlines() if notes.exists() else []


def _up_to_date(checkout: Path) -> None:
    """Gives the checkout a .venv whose stamp says that nothing changed."""
    files = [checkout / name for name in ("setup.cfg", "scripts/setup")]
    content = f"{checkout}\n".encode() + b"".join(path.read_bytes() for path in files)
    digest = subprocess.run(["sha256sum"], input=content, capture_output=True, check=True).stdout
    (checkout / ".venv/bin").mkdir(parents=True)
    _program(checkout / ".venv/bin/cligym", "true")
    (checkout / ".venv/setup-stamp").write_text(digest.decode().split()[0] + "\n")


def test_a_missing_package_is_installed_after_an_update(checkout: Path) -> None:
    _up_to_date(checkout)
    run = _setup(checkout)
    assert run.returncode == 0, run.stderr
    update, install = _notes(checkout)
    assert update.startswith("apt-get update")
    assert install.startswith("apt-get install") and install.endswith(" leftpad")


def test_test_packages_are_installed_only_for_tests(checkout: Path) -> None:
    _up_to_date(checkout)
    assert _setup(checkout, "--tests").returncode == 0
    assert any(line.endswith(" testpad") for line in _notes(checkout))


def test_nothing_runs_when_nothing_is_missing(checkout: Path) -> None:
    _up_to_date(checkout)
    (checkout / "scripts/debian-packages.txt").write_text("bash /bin/bash\n")
    run = _setup(checkout)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
    assert _notes(checkout) == []


def test_without_rights_one_line_names_the_packages(checkout: Path) -> None:
    _program(checkout.parent / "bin/id", "echo 1000")
    run = _setup(checkout)
    assert run.returncode == 1
    assert run.stderr.count("\n") == 1
    assert "leftpad" in run.stderr
    assert _notes(checkout) == []
    assert not (checkout / ".venv").exists()


def test_a_failing_install_stops_with_its_last_lines(checkout: Path) -> None:
    _program(checkout.parent / "bin/apt-get", "echo E: no such package; exit 100")
    run = _setup(checkout)
    assert run.returncode == 1
    assert "E: no such package" in run.stderr
    assert "install these Debian packages and run again: leftpad" in run.stderr


def test_missing_test_packages_do_not_stop_the_rest(checkout: Path) -> None:
    _up_to_date(checkout)
    _program(checkout.parent / "bin/id", "echo 1000")
    (checkout / "scripts/debian-packages.txt").write_text("")
    run = _setup(checkout, "--tests")
    assert run.returncode == 0
    assert "testpad" in run.stderr


def test_a_changed_package_list_installs_again(checkout: Path) -> None:
    _up_to_date(checkout)
    (checkout / "scripts/debian-packages.txt").write_text("")
    with (checkout / "setup.cfg").open("a") as file:
        file.write("# changed\n")
    run = _setup(checkout)
    assert run.returncode == 1
    assert "no Python >= 3.11" in run.stderr
