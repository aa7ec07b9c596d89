"""What the machine must be like."""

import ctypes
import importlib
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path


def test_less_runs() -> None:
    assert subprocess.run(["/usr/bin/less", "--version"], check=False).returncode == 0


def test_less_is_the_systems() -> None:
    assert shutil.which("less") == "/usr/bin/less"


def test_names_are_looked_up_in_files() -> None:
    assert re.search(r"^hosts:\s+files", Path("/etc/nsswitch.conf").read_text(), re.MULTILINE)


def test_wheel_module() -> None:
    assert importlib.import_module("flit_core.wheel")


def test_locale() -> None:
    assert Path("/etc/default/locale").read_text() == "LANG=C.UTF-8\n"


def test_library_is_found() -> None:
    assert ctypes.CDLL("libworkshop.so.1").workshop() == 42


def test_start_is_clean() -> None:
    assert not hasattr(sys, "slipped_in")


def test_current_version() -> None:
    assert Path("/opt/current/version").read_text() == "two\n"


def test_tool() -> None:
    assert subprocess.run(["/opt/v2/tool"], capture_output=True, check=False).stdout == b"tool 2\n"


def test_capability() -> None:
    assert os.getxattr("/opt/v2/probe", "security.capability")


def test_attribute() -> None:
    assert os.getxattr("/opt/v2/version", "user.origin") == b"workshop"


def test_spool() -> None:
    assert stat.S_IMODE(os.stat("/var/spool/workshop").st_mode) == 0o1777


def test_assets() -> None:
    assert Path("/opt/v2/assets/logo.txt").read_text() == "logo\n"


def test_owner() -> None:
    assert os.stat("/opt/v2/assets/logo.txt").st_uid == 7


def test_folder_is_open() -> None:
    assert stat.S_IMODE(os.stat("/opt/v2/assets").st_mode) == 0o755


def test_bytecode() -> None:
    assert importlib.import_module("workshop.core").discount(100, 10) == 90
